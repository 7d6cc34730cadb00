"""`recognize-layer-norm`: values less their mean, divided by their standard deviation, scaled and shifted."""

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

_x, _weight, _bias = Var("x"), Var("weight"), Var("bias")
_mean = mean(_x, "mean")
_centred = Node(pd.SubtractOp, _x, _mean)
_variance = plus_epsilon(mean(square(OneOf(_centred, Node(pd.SubtractOp, _x, _mean))), "variance"))
_inverse = reciprocal_root(_variance)
_inverse_weight = Node(pd.MultiplyOp, _inverse, _weight)


def _layer_norm(found: Match, rewriter: Rewriter) -> Operation:
    """The operation, with those weights that the match has."""
    begin = begins_at_mean(found)
    scale, bias = (fitted(found, name, begin, rewriter) for name in ("weight", "bias"))
    return pd.LayerNormOp(found["x"], scale=scale, bias=bias, epsilon=epsilon_of(found), begin_norm_axis=begin)


def _with_weights(found: Match, rewriter: Rewriter) -> Operation:
    """The operation called `norm` with one weight more."""
    norm = found.ops["norm"]
    assert isinstance(norm, pd.LayerNormOp)
    begin = begins_at(norm)
    scale, bias = (fitted(found, name, begin, rewriter) for name in ("weight", "bias"))
    scale = norm.scale if scale is None else scale
    return pd.LayerNormOp(norm.x, scale=scale, bias=bias, epsilon=norm.epsilon, begin_norm_axis=norm.begin_norm_axis)


def _of_rms_norm(found: Match, rewriter: Rewriter) -> Operation:
    norm = found.root
    assert isinstance(norm, pd.RmsNormOp)
    return pd.LayerNormOp(
        found["x"], scale=norm.norm_weight, epsilon=norm.epsilon, begin_norm_axis=norm.begin_norm_axis
    )


def _weights(op: Operation) -> str:
    assert isinstance(op, pd.LayerNormOp)
    return " and ".join(name for name in ("scale", "bias") if getattr(op, name) is not None) or "neither"


_UNSCALED: Final = Constraint("neither scale nor bias", lambda op: op.scale is None and op.bias is None, _weights)
_UNSHIFTED: Final = Constraint("no bias", lambda op: op.bias is None, _weights)
_SAME_AXES: Final = Constraint(
    "the mean over the normalised axes",
    lambda found: begins_at_mean(found) == begins_at(found.root),
    lambda found: f"mean from axis {begins_at_mean(found)}, normalised from axis {begins_at(found.root)}",
)
_MEANS: Final = means("mean", "variance")
_INNER: Final = (*_MEANS, HAS_EPSILON, fits_normalized("weight", begins_at_mean))

layer_norm: Final = Rule(
    "layer-norm",
    OneOf(Node(pd.DivideOp, _centred, root(_variance)), Node(pd.MultiplyOp, _centred, _inverse)),
    _layer_norm,
    where=[*_MEANS, *FUSIBLE, same_type("x")],
    doc="(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) → layer_norm(x)",
)
layer_norm_inner_scale: Final = Rule(
    "layer-norm-inner-scale",
    OneOf(
        Node(pd.DivideOp, Node(pd.MultiplyOp, _centred, _weight), root(_variance)),
        Node(pd.MultiplyOp, Node(pd.MultiplyOp, _centred, _weight), _inverse),
        Node(pd.MultiplyOp, _centred, _inverse_weight),
    ),
    _layer_norm,
    where=[*_INNER, *FUSIBLE, same_type("x")],
    doc="the same, the weight multiplied with something inside",
)
layer_norm_folded: Final = Rule(
    "layer-norm-folded",
    Node(
        pd.AddOp,
        Node(pd.MultiplyOp, _x, _inverse_weight),
        Node(pd.SubtractOp, _bias, Node(pd.MultiplyOp, _mean, _inverse_weight)),
    ),
    _layer_norm,
    where=[*_INNER, fits_normalized("bias", begins_at_mean), *FUSIBLE, same_type("x")],
    doc="x * k + (bias - mean(x) * k) with k = weight / sqrt(mean((x - mean(x))^2) + epsilon)",
)
layer_norm_scale: Final = Rule(
    "layer-norm-scale",
    Node(pd.MultiplyOp, Node(pd.LayerNormOp, _x, ..., name="norm", where=[_UNSCALED]), _weight),
    _with_weights,
    where=[fits_normalized("weight", begins_as_norm, "norm"), *FUSIBLE, same_type("x")],
    doc="layer_norm(x) * weight → layer_norm(x, weight)",
)
layer_norm_bias: Final = Rule(
    "layer-norm-bias",
    Node(pd.AddOp, Node(pd.LayerNormOp, _x, ..., name="norm", where=[_UNSHIFTED]), _bias),
    _with_weights,
    where=[fits_normalized("bias", begins_as_norm, "norm"), *FUSIBLE, same_type("x")],
    doc="layer_norm(x, weight) + bias → layer_norm(x, weight, bias)",
)
layer_norm_of_rms_norm: Final = Rule(
    "layer-norm-of-rms-norm",
    Node(pd.RmsNormOp, _centred, ...),
    _of_rms_norm,
    where=[*means("mean"), _SAME_AXES, *FUSIBLE, same_type("x")],
    doc="rms_norm(x - mean(x), weight) → layer_norm(x, weight)",
)


@register_pass
@attrs.frozen
class RecognizeLayerNorm(Recognizer):
    """Rewrites `(x - mean(x)) / sqrt(mean((x - mean(x))^2) + epsilon) * scale + bias` to `pd.layer_norm`.

    Over the last axis or several trailing ones. The square is a power, a product or `pd.square`, of the same
    difference or one computed again; the root divides, or its reciprocal multiplies; epsilon may be missing; means keep
    their axes, or get them back by unsqueeze or reshape, or are sums divided by the number of elements. Scale and bias
    may be missing, have leading axes of extent 1, and the scale may be multiplied with the difference or with the
    reciprocal root first, if epsilon is above 0, as Keras does (`x * k + (bias - mean(x) * k)`). Each is also taken
    over by a `pd.layer_norm` that has none. After Ba et al., arXiv:1607.06450, and what PyTorch, TensorFlow, JAX and
    ONNX function bodies write.

    A variance computed as mean(x^2) - mean(x)^2 is not recognised: it cancels where the mean is large, so that the
    values differ by more than rounding (and are not even positive).

    Assumes: nothing; `cse` before finds more. Fires on vtensors of one block, where no inner value is used elsewhere.
    Guarantees: equal up to rounding; infinities and NaN stay where they are, except those of a square that overflowed
    in a short format, which `pd.layer_norm` rounds only once. No such group is left. Idempotent. Cost: O(operations).
    Statistics: `layer-norm`, and which weights were found: `layer-norm-inner-scale`, `-folded`, `-scale`, `-bias`,
    `-of-rms-norm`.
    """

    name: ClassVar[str] = "recognize-layer-norm"
    rules: ClassVar[tuple[Rule, ...]] = (
        layer_norm,
        layer_norm_inner_scale,
        layer_norm_folded,
        layer_norm_scale,
        layer_norm_bias,
        layer_norm_of_rms_norm,
    )
