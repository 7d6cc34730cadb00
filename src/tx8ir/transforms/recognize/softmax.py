"""`recognize-softmax`: exponentials divided by their sum."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from tx8ir.core import Operation
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, register_pass
from tx8ir.rewriting.declarative import Make, Match, Node, OneOf, Pattern, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint

from .arith_patterns import kept, number
from .base import FUSIBLE, Recognizer, same_type


def _axes(op: Operation) -> tuple[int, ...]:
    assert isinstance(op, pd.ReductionOp)
    return op.axes


def _reductions(found: Match) -> dict[str, tuple[int, ...]]:
    return {name: _axes(found.ops[name]) for name in ("max", "sum") if name in found.ops}


@constraint(
    "one axis for all reductions", lambda m: ", ".join(f"{k} over {list(v)}" for k, v in _reductions(m).items())
)
def one_axis(found: Match) -> bool:
    """`pd.softmax` has one axis."""
    axes = set(_reductions(found).values())
    return len(axes) == 1 and len(axes.pop()) == 1


def _axis(found: Match) -> int:
    return _axes(found.ops["sum"])[0]


_x = Var("x")


def _normalized(powers: Pattern) -> OneOf:
    """Powers / sum(powers)."""
    total = kept(pd.SumOp, powers, "sum")
    return OneOf(
        Node(pd.DivideOp, powers, total),
        Node(pd.MultiplyOp, powers, OneOf(Node(pd.ReciprocalOp, total), Node(pd.DivideOp, number(1.0), total))),
    )


safe_softmax: Final = Rule(
    "safe-softmax",
    _normalized(Node(pd.ExpOp, Node(pd.SubtractOp, _x, kept(pd.MaxOp, _x, "max")))),
    Make(pd.SoftmaxOp, _x, axis=_axis),
    where=[one_axis, *FUSIBLE, same_type("x")],
    benefit=2,
    doc="exp(x - max(x)) / sum(exp(x - max(x))) → softmax(x)",
)
plain_softmax: Final = Rule(
    "plain-softmax",
    _normalized(Node(pd.ExpOp, _x)),
    Make(pd.SoftmaxOp, _x, axis=_axis),
    where=[one_axis, *FUSIBLE, same_type("x")],
    doc="exp(x) / sum(exp(x)) → softmax(x)",
)


@register_pass
@attrs.frozen
class RecognizeSoftmax(Recognizer):
    """Rewrites `exp(x) / sum(exp(x))`, and the same of `x - max(x)` ("safe softmax"), to `pd.softmax`.

    The quotient may be a product with the reciprocal; reductions keep their axis, or get it back by unsqueeze or
    reshape, and may be expanded (the forms that PyTorch, TensorFlow and ONNX function bodies write).

    Assumes: nothing. Fires on vtensors of one block, where no inner value is used elsewhere and all reductions are over
    the same single axis.
    Guarantees: equal up to rounding; `pd.softmax` is the safe form, bit for bit in reference precision. Without the
    shift, exp(x) overflows (fp32: x > 88.7) where `pd.softmax` does not: a NaN, or a 0 beside one, becomes the right
    number, and 0 / 0 of a row that underflows too. A row with +infinity, of which the plain form made NaN and zeros, is
    NaN throughout. No such group is left. Idempotent. Cost: O(operations). Statistics: `safe-softmax`, `plain-softmax`.
    """

    name: ClassVar[str] = "recognize-softmax"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.NO_NANS
    rules: ClassVar[tuple[Rule, ...]] = (safe_softmax, plain_softmax)
