"""What the recognizers of normalisations have in common: epsilon, trailing axes, and weights that become operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tx8ir.core import Operation, RankedTensor, Value
from tx8ir.dialects import pd

from .constraints import Constraint
from .declarative import Attr, Match, Node, Number, OneOf, Pattern
from .rewriter import Rewriter


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


def _axes(op: Operation) -> tuple[int, ...]:
    assert isinstance(op, pd.ReductionOp)
    return op.axes


def _rank(value: Value) -> int:
    assert isinstance(value.type, RankedTensor)
    return value.type.rank


def begin_axis(found: Match, mean: str) -> int:
    """The first of the axes that the reduction called `mean` is over."""
    return _axes(found.ops[mean])[0]


def over_trailing_axes(*means: str) -> Constraint:
    """The reductions of these names are over the same axes, from one of them to the last."""

    def holds(found: Match) -> bool:
        axes = {_axes(found.ops[name]) for name in means}
        rank = _rank(found.ops[means[0]].operands[0])
        return len(axes) == 1 and (only := axes.pop()) == tuple(range(rank - len(only), rank)) and len(only) > 0

    def shown(found: Match) -> str:
        rank = _rank(found.ops[means[0]].operands[0])
        return ", ".join(f"{name} over {list(_axes(found.ops[name]))} of {rank} axes" for name in means)

    return Constraint("means over the same trailing axes", holds, shown)


def _normalized_shape(value: Value, begin: int) -> tuple[int, ...]:
    assert isinstance(value.type, RankedTensor)
    return value.type.shape[begin:]


def fits_normalized(weight: str, begin: Callable[[Match], int], norm: str = "") -> Constraint:
    """The value called `weight` has the shape of the axes that are normalised, after leading axes of extent 1.

    Args:
        weight: its name.
        begin: the first normalised axis.
        norm: the operation that already normalises, which the weight may not come from.
    """

    def normalized(found: Match) -> tuple[int, ...]:
        return _normalized_shape(found.root.results[0], begin(found))

    def holds(found: Match) -> bool:
        kind, wanted = found[weight].type, normalized(found)
        if norm and found[weight].defining_op is found.ops[norm]:
            return False
        if not isinstance(kind, RankedTensor):
            return False
        lead = kind.rank - len(wanted)
        return lead >= 0 and kind.shape == (1,) * lead + wanted

    def shown(found: Match) -> str:
        return f"{found[weight].type}, {list(normalized(found))} normalised"

    return Constraint(f"{weight!r} of the normalised shape", holds, shown)


def fitted(found: Match, weight: str, begin: int, rewriter: Rewriter) -> Value:
    """The value called `weight` without leading axes of extent 1."""
    value = found[weight]
    wanted = _normalized_shape(found.root.results[0], begin)
    return value if _rank(value) == len(wanted) else rewriter.insert(pd.ReshapeOp(value, shape=wanted)).out


def begins_at(op: Any) -> int:
    """The first normalised axis of a `pd.layer_norm` or `pd.rms_norm`, counted from the front."""
    return op.begin_norm_axis % _rank(op.x)


def begins_as_norm(found: Match) -> int:
    """The first normalised axis of the operation called `norm`."""
    return begins_at(found.ops["norm"])
