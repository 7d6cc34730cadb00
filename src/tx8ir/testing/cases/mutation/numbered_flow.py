"""Programs whose control flow goes by index numbers: `scf.for`, `scf.index_switch` and `scf.execute_region`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tx8ir.core import Block, IndexType, IntAttr, Region, Type, Value, VTensorType, i32
from tx8ir.dialects import index, pd, scf, tensor

from .draft import Draft

_INDEX: Final = IndexType()
_MOST_ROUNDS: Final = 3


def _constant(draft: Draft, number: int) -> Value:
    with draft.at(draft.block):
        return index.ConstantOp(value=IntAttr(number, _INDEX)).out


def _number(draft: Draft, known: int, seen: Value | None) -> Value:
    """A number: a constant, or one that is known when the program runs, and no larger than loops should run."""
    if seen is None or draft.perhaps(0.6):
        return _constant(draft, known)
    with draft.at(draft.block):
        most = pd.full(shape=(), value=float(_MOST_ROUNDS), dtype=i32).out
        return index.CastSOp(tensor.ExtractOp(pd.minimum(seen, most).out, ()).out, out=_INDEX).out


def rounds_by_number(draft: Draft) -> Sequence[Value]:
    """An `scf.for` of 0 to 3 rounds, from anywhere and by any step, with an access or another loop in it perhaps.

    What it carries is computed, exchanged, left as it is, or not of the loop at all; twice the same loop, or one that
    takes what the first gives.
    """
    rng = draft.rng
    x, y = draft.input(), draft.input()
    seen = draft.input(VTensorType((), i32)) if draft.perhaps(0.4) else None
    name = draft.variable(mutable=True) if draft.perhaps(0.3) else None
    nests = draft.perhaps(0.25)

    def loop(carried: Sequence[Value], depth: int = 0) -> list[Value]:
        low, step = rng.choice((0, 0, 1, 2, -1)), rng.choice((1, 1, 2, 3))
        high = low + rng.choice((0, step * rng.randrange(_MOST_ROUNDS + 1), rng.randrange(1, 5), -1))
        first, last, by = _number(draft, low, seen), _number(draft, high, seen), _constant(draft, step)
        body = Block([_INDEX, *(v.type for v in carried)])
        how = rng.choice(
            ("accumulate", "accumulate", "exchange", "unchanged", "invariant", "first alone", "of the number")
        )

        def write() -> Sequence[Value]:
            given: list[Value] = list(body.args[1:])
            if name is not None and draft.perhaps(0.7):
                draft.store(name, rng.choice((given[0], y)))
                given[0] = draft.op(given[0], draft.read(name))
            if nests and not depth:
                given = loop(given, 1)
            if how == "exchange":
                return given[::-1]
            if how == "invariant":
                return [draft.op(draft.op(x, y), given[0]), *given[1:]]
            if how == "unchanged":
                return given
            if how == "of the number":
                with draft.at(draft.block):
                    whole = index.CastSOp(body.args[0], out=i32).out
                    spread = tensor.SplatOp(whole, (), out=VTensorType(draft.type.shape, i32)).out
                    counted = pd.cast(spread, dtype=draft.type.element).out
                return [draft.op(given[0], counted), *given[1:]]
            made = draft.op(given[0], given[-1] if how == "accumulate" and draft.perhaps() else y)
            return [made, *(given[1:] if how == "first alone" else [draft.op(v, x) for v in given[1:]])]

        draft.inside(body, write, scf.YieldOp)
        with draft.at(draft.block):
            made = scf.ForOp(first, last, by, carried, body=Region([body]), outputs=[v.type for v in carried])
        return list(made.results)

    carried = [x, y] if draft.perhaps(0.7) else [x]
    results = loop(carried)
    if draft.perhaps(0.35):
        results += loop(results[: len(carried)] if draft.perhaps() else carried)
    if draft.perhaps(0.2):
        results = results[:1]
    return [*results, draft.read(name)] if name is not None else results


def chosen_by_number(draft: Draft) -> Sequence[Value]:
    """An `scf.index_switch` of equal or different sides, of which one may write; and a region that is run once."""
    rng = draft.rng
    x, y = draft.input(), draft.input()
    stored = draft.input(draft.type.to_tensor()) if draft.perhaps(0.4) else None
    seen = draft.input(VTensorType((), i32))
    types: list[Type] = [x.type] * rng.choice((0, 1, 1, 2))

    def side() -> Region:
        block = Block()

        def write() -> Sequence[Value]:
            if stored is not None and draft.perhaps(0.6):
                draft.write(stored, rng.choice((x, y)))
            return [draft.op(x, y) if draft.perhaps(0.6) else rng.choice((x, y)) for _ in types]

        draft.inside(block, write, scf.YieldOp)
        return Region([block])

    results: list[Value] = []
    number = _number(draft, rng.randrange(3), seen)
    cases = tuple(rng.sample((0, 1, 2, -1, 3), rng.choice((0, 1, 2, 2))))
    sides = [side() for _ in range(len(cases) + 1)]
    with draft.at(draft.block):
        made = scf.IndexSwitchOp(
            number, cases=cases, default_region=sides[0], case_regions=tuple(sides[1:]), outputs=types
        )
        results += made.results
    if draft.perhaps(0.3):
        once = side()
        with draft.at(draft.block):
            results += scf.ExecuteRegionOp(body=once, outputs=types).results
    return [draft.op(*results[:2]), *results] if results and draft.perhaps(0.4) else results or [draft.op(x, y)]
