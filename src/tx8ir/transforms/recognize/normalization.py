"""What the recognizers of normalisations have in common: means, epsilon, and weights that become operands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tx8ir.core import Operation, RankedTensor, Value
from tx8ir.dialects import pd
from tx8ir.rewriting import Rewriter
from tx8ir.rewriting.declarative import Attr, Match, Node, Number, OneOf, Pattern
from tx8ir.rewriting.declarative.constraints import Constraint

from .arith_patterns import is_number, kept


def mean(x: Pattern, name: str) -> OneOf:
    """The mean of `x`, which broadcasts with it (`idioms.kept`); or the sum, divided by a number (see `means`).

    Args:
        x: of what.
        name: what the match calls the reduction.
    """
    total = kept(pd.SumOp, x, name)
    return OneOf(
        kept(pd.MeanOp, x, name),
        Node(pd.DivideOp, total, Number(f"{name}_count")),
        Node(pd.MultiplyOp, total, Number(f"{name}_share")),
        Node(pd.ScaleOp, total, attributes={"scale": Attr(f"{name}_share"), "bias": 0.0}),
    )


def plus_epsilon(x: Pattern) -> OneOf:
    """X + epsilon for any number, or `x` alone."""
    return OneOf(
        Node(pd.AddOp, x, Number("epsilon")),
        Node(pd.ScaleOp, x, attributes={"scale": 1.0, "bias": Attr("epsilon")}),
        x,
    )


def epsilon_of(found: Match) -> float:
    """The number that `plus_epsilon` has matched, 0 where there is none."""
    return float(found.constants.get("epsilon", found.attributes.get("epsilon", 0.0)))


def _stored_epsilon(found: Match) -> float:
    """The number as the element type holds it: 1e-8 is 0 in fp16."""
    kind = found.root.results[0].type
    assert isinstance(kind, RankedTensor)
    return float(np.asarray(epsilon_of(found)).astype(kind.element.dtype))


HAS_EPSILON: Final = Constraint(
    "an epsilon above 0",
    lambda found: _stored_epsilon(found) > 0,
    lambda found: f"{_stored_epsilon(found):g} in the format of the result",
)
"""Of squares that vanish the root is 0, and its reciprocal infinite. A product of x and a weight vanishes where x does
not: 0 times infinity is NaN, x times infinity is not."""


def _axes(op: Operation) -> tuple[int, ...]:
    assert isinstance(op, pd.ReductionOp)
    return op.axes


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, RankedTensor)
    return value.type.shape


def _rank(value: Value) -> int:
    return len(_shape(value))


def begin_axis(found: Match, mean: str) -> int:
    """The first of the axes that the reduction called `mean` is over."""
    return _axes(found.ops[mean])[0]


def begins_at_mean(found: Match) -> int:
    """The first of the axes that the reduction called `mean` is over."""
    return begin_axis(found, "mean")


def means(*names: str) -> tuple[Constraint, Constraint]:
    """What `mean` has matched under these names are means, over the same axes, from one of them to the last."""
    return _counted(*names), _over_trailing_axes(*names)


def _counted(*names: str) -> Constraint:
    def count(found: Match, name: str) -> int:
        op = found.ops[name]
        return math.prod(_shape(op.operands[0])[axis] for axis in _axes(op))

    def share(found: Match, name: str) -> float:
        divisor = found.constants.get(f"{name}_count")
        if divisor is not None:
            return 1 / divisor if divisor else math.inf
        return found.constants.get(f"{name}_share", found.attributes.get(f"{name}_share"))

    def wrong(found: Match) -> str | None:
        for name in names:
            op = found.ops[name]
            kind = op.results[0].type
            assert isinstance(kind, RankedTensor)
            n = count(found, name)
            if isinstance(op, pd.SumOp) and (n <= 0 or not is_number(share(found, name), 1 / n, kind.element)):
                return name
        return None

    def shown(found: Match) -> str:
        name = wrong(found)
        assert name is not None
        return f"{name} is {share(found, name):.8g} times the sum of {count(found, name)}"

    return Constraint("sums divided by the number of elements", lambda found: wrong(found) is None, shown)


def _over_trailing_axes(*means: str) -> Constraint:
    def holds(found: Match) -> bool:
        axes = {_axes(found.ops[name]) for name in means}
        rank = _rank(found.ops[means[0]].operands[0])
        return len(axes) == 1 and (only := axes.pop()) == tuple(range(rank - len(only), rank)) and len(only) > 0

    def shown(found: Match) -> str:
        rank = _rank(found.ops[means[0]].operands[0])
        return ", ".join(f"{name} over {list(_axes(found.ops[name]))} of {rank} axes" for name in means)

    return Constraint("means over the same trailing axes", holds, shown)


def fits_normalized(weight: str, begin: Callable[[Match], int], norm: str = "") -> Constraint:
    """The value called `weight` has the shape of the axes that are normalised, after leading axes of extent 1.

    Args:
        weight: its name.
        begin: the first normalised axis.
        norm: the operation that already normalises, which the weight may not come from.
    """

    def normalized(found: Match) -> tuple[int, ...]:
        return _shape(found.root.results[0])[begin(found) :]

    def holds(found: Match) -> bool:
        kind, wanted = found[weight].type, normalized(found)
        if norm and found[weight].defining_op is found.ops[norm]:
            return False
        if not isinstance(kind, RankedTensor):
            return False
        lead = kind.rank - len(wanted)
        # Nothing is normalised where an extent is 0; in the shape of a reshape it would stand for another one.
        return lead >= 0 and kind.shape == (1,) * lead + wanted and 0 not in wanted

    def shown(found: Match) -> str:
        return f"{found[weight].type}, {list(normalized(found))} normalised"

    return Constraint(f"{weight!r} of the normalised shape", holds, shown)


def fitted(found: Match, weight: str, begin: int, rewriter: Rewriter) -> Value | None:
    """The value called `weight` without leading axes of extent 1; None where the match has none."""
    if weight not in found.values:
        return None
    value = found[weight]
    wanted = _shape(found.root.results[0])[begin:]
    return value if _rank(value) == len(wanted) else rewriter.insert(pd.ReshapeOp(value, shape=wanted)).out


def begins_at(op: Any) -> int:
    """The first normalised axis of a `pd.layer_norm` or `pd.rms_norm`, counted from the front."""
    return op.begin_norm_axis % _rank(op.x)


def begins_as_norm(found: Match) -> int:
    """The first normalised axis of the operation called `norm`."""
    return begins_at(found.ops["norm"])
