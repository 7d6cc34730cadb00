"""Programs with lists and dictionaries, and programs that read inputs and give results by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tx8ir.core import DictType, ListType, TensorType, Value
from tx8ir.dialects import builtin, pd

from .draft import Draft

_KEYS = ("b", "a", "c")
"""Keys in an order that sorting changes."""


def lists_and_dictionaries(draft: Draft) -> Sequence[Value]:
    """Values put together and taken out again: by place, by key or all at once, put together anew in another order.

    The whole may come through a branch, a loop or a function, and storage in it may be written in between.
    """
    rng = draft.rng
    values = [
        draft.input(draft.type.to_tensor() if draft.perhaps(0.3) else None) for _ in range(rng.choice((1, 2, 2, 3)))
    ]
    if draft.perhaps(0.25):
        values.append(values[0])
    if draft.perhaps(0.3):
        values[-1] = draft.op(values[-1], values[0])
    held = _together(draft, values)
    if draft.perhaps(0.35):
        held = _through(draft, held, _together(draft, values[::-1], like=held))
    if draft.perhaps(0.5):
        _write(draft, values)
    found = _taken(draft, held)
    if draft.perhaps(0.5):
        again = rng.sample(found, len(found)) if draft.perhaps() else [rng.choice(found) for _ in range(2)]
        found += _taken(draft, _together(draft, again if draft.perhaps(0.7) else found))
    if draft.perhaps(0.3):
        _write(draft, [*values, *found])
    with draft.at(draft.block):
        seen = [builtin.to_vtensor(v).out if isinstance(v.type, TensorType) else v for v in found]
        stored = next((v for v in values if isinstance(v.type, TensorType)), None)
        if stored is not None and draft.perhaps(0.6):
            seen.append(builtin.to_vtensor(stored).out)
    return [draft.op(*seen[:2]), *seen] if draft.perhaps(0.3) else seen


def _together(draft: Draft, values: Sequence[Value], *, like: Value | None = None) -> Value:
    """A list or a dictionary of the values; where it should be like another one and cannot be, that one."""
    is_dict = draft.perhaps(0.4) if like is None else isinstance(like.type, DictType)
    keys = _KEYS if like is None or not isinstance(like.type, DictType) else tuple(like.type.keys)
    with draft.at(draft.block):
        made: Any = (
            builtin.make_dict(values[: len(keys)], keys=keys[: len(values)]) if is_dict else builtin.combine(values)
        )
    return made.out if like is None or made.out.type is like.type else like


def _through(draft: Draft, held: Value, other: Value) -> Value:
    """The whole as a branch, a loop or a function gives it, or another one."""
    how = draft.rng.choice(("branch", "loop", "call"))
    if how == "branch":
        return draft.choice(draft.condition(), lambda: [held], lambda: [other], [held.type])[0]
    if how == "call":
        swapped = draft.perhaps(0.4)
        made = draft.function([held.type, other.type], lambda args: [args[swapped]])
        return draft.call(made, [held, other])[0]

    def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        return draft.is_below(args[0], draft.rng.randrange(3)), args

    def after(args: Sequence[Value]) -> Sequence[Value]:
        return [draft.one_more(args[0]), other]

    return draft.loop([draft.number(0), held], before, after)[1]


def _taken(draft: Draft, held: Value) -> list[Value]:
    """One of the values, several, or all."""
    rng = draft.rng
    with draft.at(draft.block):
        if isinstance(held.type, DictType):
            keys = tuple(held.type.keys)
            return [builtin.get_item(held, key=rng.choice(keys)).out for _ in range(rng.choice((1, 1, 2)))]
        assert isinstance(held.type, ListType)
        if draft.perhaps():
            return list(builtin.split(held).results)
        count = len(held.type.elements)
        return [builtin.slice_(held, index=rng.randrange(count)).out for _ in range(rng.choice((1, 1, 2)))]


def _write(draft: Draft, values: Sequence[Value]) -> None:
    stored = [v for v in values if isinstance(v.type, TensorType)]
    if stored:
        draft.write(draft.rng.choice(stored), draft.input() if draft.perhaps() else None)


def named_inputs_and_results(draft: Draft) -> Sequence[Value]:
    """Inputs that are read by name, as values or as storage that is written, and results that are given by name."""
    rng = draft.rng
    values: list[Value] = [draft.input()]
    for name in ("b", "a")[: rng.choice((1, 2))]:
        kind = draft.type.to_tensor() if draft.perhaps(0.4) else draft.type
        with draft.at(draft.block):
            read = pd.feed(feed_name=name, out=kind).out
        if isinstance(kind, TensorType):
            with draft.at(draft.block):
                values.append(builtin.to_vtensor(read).out)
            if draft.perhaps(0.7):
                draft.write(read, values[0])
            with draft.at(draft.block):
                read = builtin.to_vtensor(read).out
        values.append(read)
    for _ in range(rng.randrange(3)):
        values.append(draft.op(*rng.sample(values, 2)))
    for name in ("y", "x")[: rng.choice((1, 2, 2))]:
        with draft.at(draft.block):
            pd.fetch(values[-1] if draft.perhaps() else rng.choice(values), fetch_name=name)
    return [rng.choice(values)]
