"""Programs that compute with constants: what folding, and every analysis of known values, evaluates itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tx8ir.core import Value, bf16, f16, i8, i64, ui8
from tx8ir.dialects import pd

from .draft import Draft
from .values import number, numbers, telling_numbers

_KINDS: Final[Mapping[str, Callable[[Value, Value], Any]]] = {
    "pd.add": pd.add,
    "pd.subtract": pd.subtract,
    "pd.multiply": pd.multiply,
    "pd.divide": pd.divide,
    "pd.maximum": pd.maximum,
    "pd.minimum": pd.minimum,
}


def constant_expressions(draft: Draft) -> Sequence[Value]:
    """Two to four operations on constants and on each other; some also on an input, which nothing knows.

    Numbers are those at which a format rounds, overflows or wraps: a result that was computed in another one shows.
    """
    rng = draft.rng
    if draft.perhaps():
        draft.type = draft.type.with_element(rng.choice((bf16, f16, bf16, i8, i64, ui8)))
    x = draft.input()
    one_kind = draft.perhaps()
    named = [name for name in _KINDS if name in draft.material.direction.ops]
    kind = _KINDS[rng.choice(named if named and draft.perhaps(0.8) else list(_KINDS))]

    def leaf() -> Value:
        with draft.at(draft.block):
            mark = pd.assign(x)
        if draft.perhaps(0.7):
            chosen = telling_numbers(draft.type.element) if draft.perhaps(0.7) else draft.material.numbers
            made = number(mark, draft.type, rng.choice(chosen), rng)
        else:
            made = numbers(mark, draft.type, rng)
        mark.erase()
        return made

    values = [leaf(), leaf()]
    for _ in range(rng.choice((1, 2, 2, 3))):
        other = leaf() if draft.perhaps(0.6) else x if draft.perhaps(0.3) else rng.choice(values)
        pair = (values[-1], other) if draft.perhaps(0.7) else (other, values[-1])
        with draft.at(draft.block):
            made = kind(*pair).out if one_kind else None
        values.append(draft.op(*pair) if made is None else made)
    last = values[-1] if draft.perhaps(0.6) else draft.op(values[-1], x)
    return [last, *(values[2:-1] if draft.perhaps(0.2) else ())]
