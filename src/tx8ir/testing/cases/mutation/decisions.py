"""Programs that decide twice: what was asked before is asked again, or what one block decided is given to another.

What passes over branches get wrong is what the second question finds: something may have been written since, the
opposite of a comparison is not its negation where a NaN is compared, and a block that only branches may still do
something first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tx8ir.core import Block, Value, VTensorType, i1
from tx8ir.dialects import builtin, cf, pd

from .draft import Draft

COMPARISONS: Final[Mapping[str, Callable[[Value, Value], Any]]] = {
    "pd.equal": pd.equal,
    "pd.not_equal": pd.not_equal,
    "pd.less_than": pd.less_than,
    "pd.less_equal": pd.less_equal,
    "pd.greater_than": pd.greater_than,
    "pd.greater_equal": pd.greater_equal,
}
_OPPOSITE: Final = {
    "pd.equal": "pd.not_equal",
    "pd.not_equal": "pd.equal",
    "pd.less_than": "pd.greater_equal",
    "pd.less_equal": "pd.greater_than",
    "pd.greater_than": "pd.less_equal",
    "pd.greater_equal": "pd.less_than",
}


def comparison(draft: Draft) -> str:
    """The name of a comparison, mostly of one that the pass names."""
    named = [name for name in COMPARISONS if name in draft.material.direction.ops]
    return draft.rng.choice(named if named and draft.perhaps(0.8) else list(COMPARISONS))


def asked_again(draft: Draft) -> Sequence[Value]:
    """Two branches that compare the same, inside or after each other; in between, what they compare may be written."""
    rng = draft.rng
    draft.type = draft.type.with_shape(rng.choice(((), (1,))))
    element, shape = draft.type.element, draft.type.shape
    is_stored = draft.perhaps()
    seen = draft.input(draft.type.to_tensor() if is_stored else None)
    other = draft.input(draft.type.to_tensor())
    x = draft.input()
    y = x if draft.perhaps(0.6) else draft.number(rng.choice((0.0, *draft.material.numbers)), element, shape)
    kind = comparison(draft)
    how = rng.choice(("same", "same", "opposite", "opposite", "exchanged", "negated"))

    def ask(how: str) -> Value:
        with draft.at(draft.block):
            a, b = builtin.to_vtensor(seen).out if is_stored else seen, y
            name = _OPPOSITE[kind] if how == "opposite" else kind
            found = COMPARISONS[name](*((b, a) if how == "exchanged" else (a, b))).out
            return pd.logical_not(found).out if how == "negated" else found

    def act(share: float) -> list[Value]:
        """Perhaps writes what is compared, or something else."""
        if draft.perhaps(share):
            draft.effect(seen if is_stored and draft.perhaps() else other, x)
        return []

    def again() -> Sequence[Value]:
        question = ask(how)
        if draft.perhaps():
            with draft.at(draft.block):
                return [pd.where(question, draft.op(x), y).out]
        return draft.choice(question, lambda: [draft.op(x)], lambda: [y], [x.type])

    first = ask("same")
    results: list[Value] = []
    match rng.randrange(3):
        case 0:  # on one side of the first, or on both
            sides = [again, again if draft.perhaps(0.3) else lambda: [*act(0.3), draft.op(x)]]
            rng.shuffle(sides)
            results = draft.choice(first, sides[0], sides[1], [x.type])
        case 1:  # after it
            results = draft.choice(first, lambda: [*act(0.7), draft.op(x)], lambda: [*act(0.3), y], [x.type])
            act(0.2)
            results += again()
        case _:  # without results
            draft.choice(first, lambda: act(1.0), None, [])
            act(0.2)
            draft.choice(ask(how if draft.perhaps() else "same"), lambda: act(1.0), None, [])
    with draft.at(draft.block):
        stored = [builtin.to_vtensor(each).out for each in ((seen, other) if is_stored else (other,))]
    return [*results, *stored]


def decision_passed_on(draft: Draft) -> Sequence[Value]:
    """Blocks that go on in one which branches on what it is given, a constant perhaps, and may write before it does."""
    rng = draft.rng
    x, y = draft.input(), draft.input()
    stored = draft.input(draft.type.to_tensor()) if draft.perhaps(0.7) else None
    first, second = draft.condition(), draft.input(VTensorType((), i1))
    region, start = draft.block.parent, draft.block
    assert region is not None
    count = rng.randrange(3)
    there, end = Block([second.type, *[x.type] * count]), Block([x.type])

    def edge() -> list[Value]:
        """What an edge brings: what decides, and values."""
        truth = draft.number(float(draft.perhaps()), i1) if draft.perhaps(0.7) else rng.choice((first, second))
        return [truth, *(draft.op(x, y) if draft.perhaps(0.3) else rng.choice((x, y)) for _ in range(count))]

    def side() -> Block:
        block = Block()
        region.append(block)
        draft.inside(block, edge, lambda values: cf.br(values, dest=there))
        return block

    sides = [side(), side()]
    with draft.at(start):
        cf.cond_br(first, [], [], true_dest=sides[0], false_dest=sides[1])
    region.append(there)
    draft.block = there
    known = [*there.args[1:], x]
    if draft.perhaps():
        known.insert(0, draft.op(known[0], y))
    if stored is not None and draft.perhaps(0.7):
        draft.effect(stored, known[0])
    decided = there.args[0]
    if draft.perhaps(0.15):
        with draft.at(there):
            decided = pd.logical_not(decided).out
    exits: list[Block] = []
    brought: list[list[Value]] = []
    for _ in range(2):
        if draft.perhaps(0.4):  # to the end at once
            exits.append(end)
            brought.append([rng.choice((*known, y))])
            continue
        block = Block()
        region.append(block)
        draft.inside(block, lambda: [draft.op(rng.choice((x, y)), x)], lambda values: cf.br(values, dest=end))
        exits.append(block)
        brought.append([])
    with draft.at(there):
        cf.cond_br(decided, brought[0], brought[1], true_dest=exits[0], false_dest=exits[1])
    region.append(end)
    draft.block = end
    with draft.at(end):
        return [end.args[0], *([] if stored is None else [builtin.to_vtensor(stored).out])]
