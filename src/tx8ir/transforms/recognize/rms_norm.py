"""`recognize-rms-norm`: values divided by the root of their mean square."""

from __future__ import annotations

from typing import ClassVar, Final

import attrs

from tx8ir.core import Operation
from tx8ir.dialects import pd
from tx8ir.passes import register_pass
from tx8ir.rewriting import Rewriter
from tx8ir.rewriting.declarative import Match, Node, OneOf, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint

from .arith_patterns import reciprocal_root, root, square
from .base import FUSIBLE, Recognizer, same_type
from .normalization import (
    HAS_EPSILON,
    begins_as_norm,
    begins_at,
    begins_at_mean,
    epsilon_of,
    fits_normalized,
    fitted,
    mean,
    means,
    plus_epsilon,
)

_x, _weight = Var("x"), Var("weight")
_mean_square = plus_epsilon(mean(square(_x), "mean"))
_inverse = reciprocal_root(_mean_square)


def _rms_norm(found: Match, rewriter: Rewriter) -> Operation:
    """The operation, with the weight if the match has one."""
    begin = begins_at_mean(found)
    weight = fitted(found, "weight", begin, rewriter)
    return pd.RmsNormOp(found["x"], norm_weight=weight, epsilon=epsilon_of(found), begin_norm_axis=begin)


def _with_weight(found: Match, rewriter: Rewriter) -> Operation:
    norm = found.ops["norm"]
    assert isinstance(norm, pd.RmsNormOp)
    weight = fitted(found, "weight", begins_at(norm), rewriter)
    return pd.RmsNormOp(norm.x, norm_weight=weight, epsilon=norm.epsilon, begin_norm_axis=norm.begin_norm_axis)


_UNSCALED: Final = Constraint("no weight", lambda op: op.norm_weight is None, lambda op: f"{op.norm_weight.type}")
_MEANS: Final = means("mean")

rms_norm: Final = Rule(
    "rms-norm",
    OneOf(Node(pd.MultiplyOp, _x, _inverse), Node(pd.DivideOp, _x, root(_mean_square))),
    _rms_norm,
    where=[*_MEANS, *FUSIBLE, same_type("x")],
    doc="x * rsqrt(mean(x^2) + epsilon) → rms_norm(x)",
)
rms_norm_inner_scale: Final = Rule(
    "rms-norm-inner-scale",
    OneOf(
        Node(pd.MultiplyOp, Node(pd.MultiplyOp, _x, _weight), _inverse),
        Node(pd.MultiplyOp, _x, Node(pd.MultiplyOp, _inverse, _weight)),
        Node(pd.DivideOp, Node(pd.MultiplyOp, _x, _weight), root(_mean_square)),
    ),
    _rms_norm,
    where=[*_MEANS, HAS_EPSILON, fits_normalized("weight", begins_at_mean), *FUSIBLE, same_type("x")],
    doc="the same, the weight multiplied with something inside",
)
rms_norm_scale: Final = Rule(
    "rms-norm-scale",
    Node(pd.MultiplyOp, Node(pd.RmsNormOp, _x, ..., name="norm", where=[_UNSCALED]), _weight),
    _with_weight,
    where=[fits_normalized("weight", begins_as_norm, "norm"), *FUSIBLE, same_type("x")],
    doc="rms_norm(x) * weight → rms_norm(x, weight)",
)


@register_pass
@attrs.frozen
class RecognizeRmsNorm(Recognizer):
    """Rewrites `x * rsqrt(mean(x^2) + epsilon) * weight` to `pd.rms_norm`.

    Over the last axis or several trailing ones. The square is a power, a product or `pd.square`; the root divides, or
    its reciprocal multiplies; epsilon may be missing; the mean keeps its axes, or gets them back by unsqueeze or
    reshape, or is a sum divided by the number of elements. The weight may be missing, have leading axes of extent 1,
    and be multiplied with x or with the reciprocal root first, if epsilon is above 0. A `pd.rms_norm` without a weight
    also takes one over.
    After Zhang and Sennrich, arXiv:1910.07467, and how models of the Llama and T5 families are exported.

    On the TX8 the operation is lowered as the arithmetic it was made of. Of `x - mean(x)` it becomes a `pd.layer_norm`
    by `recognize-layer-norm`, before or after.

    Assumes: nothing; `cse` before finds more. Fires on vtensors of one block, where no inner value is used elsewhere.
    Guarantees: equal up to rounding; infinities and NaN stay where they are, except those of a square that overflowed
    in a short format, which `pd.rms_norm` rounds only once. No such group is left. Idempotent. Cost: O(operations).
    Statistics: `rms-norm`, and how weights were found: `rms-norm-inner-scale`, `rms-norm-scale`.
    """

    name: ClassVar[str] = "recognize-rms-norm"
    rules: ClassVar[tuple[Rule, ...]] = (rms_norm, rms_norm_inner_scale, rms_norm_scale)
