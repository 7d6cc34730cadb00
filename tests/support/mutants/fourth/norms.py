"""Normalisations whose epsilon or axes change, masked softmax, gelu, and losses that are written out."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.first.linear import wave
from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, case, f32, on_values, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import is_float, is_vtensor, near

AREA = Area("norms", round=4)
x = Var("x", is_float, is_vtensor)


def norm(op: Any, source: Any, **changed: Any) -> Any:
    """A normalisation like `op`, of another value."""
    given = {"epsilon": op.epsilon, "begin_norm_axis": op.begin_norm_axis} | changed
    if isinstance(op, pd.RmsNormOp):
        return pd.rms_norm(source, op.norm_weight, **given)
    return pd.layer_norm(source, op.scale, op.bias, **given)


@pattern(pd.LayerNormOp, pd.RmsNormOp)
def factor_into_epsilon(op: Any, rewriter: Rewriter) -> bool:
    """What is scaled and then normalised is normalised with another epsilon"""
    scaled = op.x.defining_op
    if not isinstance(scaled, pd.ScaleOp) or scaled.bias != 0.0 or not on_values(scaled) or not on_values(op):
        return False
    if not 0.125 <= abs(scaled.scale) <= 8.0:
        return False
    rewriter.replace(op, rewriter.insert(norm(op, scaled.x, epsilon=op.epsilon / scaled.scale**2)))
    return True


AREA.rules(
    "factor-into-epsilon",
    factor_into_epsilon,
    citation="Yang et al.: WhiteFox, OOPSLA 2024 (class of mistake: an attribute that a pattern does not restrict)",
    mistake="a negative factor turns the signs of what is normalised round",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.rms_norm(pd.scale(x, scale=-2.0)), x=wave(2, 3)),
    control=lambda: case(lambda x: pd.rms_norm(pd.scale(x, scale=2.0)), x=wave(2, 3)),
)


@pattern(pd.SoftmaxOp)
def hide_with_infinity(op: pd.SoftmaxOp, rewriter: Rewriter) -> bool:
    """Hides scores with minus infinity, which kernels know, instead of with a large negative number"""
    shown = op.x.defining_op
    if not isinstance(shown, pd.WhereOp) or not on_values(shown):
        return False
    number, kind = splat_value(shown.y), ranked(shown.y)
    if number is None or not -1e30 <= number <= -1e9 or not kind.is_static or not kind.element.is_float:
        return False
    infinite = rewriter.insert(pd.full(shape=kind.shape, value=float("-inf"), dtype=kind.element))
    hidden = rewriter.insert(pd.where(shown.condition, shown.x, infinite))
    rewriter.set_operand(op, 0, hidden.out)
    return True


def masked(*shown: int) -> Case:
    """A softmax of three scores, some of which are shown."""
    return case(lambda c, x: pd.softmax(pd.where(c, x, f32(-1e9))), c=bools(*shown), x=f32(1, 2, 3))


AREA.rules(
    "hide-with-infinity",
    hide_with_infinity,
    citation="allenai/allennlp#890: util.masked_log_softmax() Returning Nan's",
    mistake="where nothing is shown all scores are equal, and infinite ones give NaN",
    witness=lambda: masked(0, 0, 0),
    control=lambda: masked(1, 0, 1),
)

AREA.rules(
    "recognize-gelu",
    Rule(
        "gelu-erf",
        Node(
            pd.ScaleOp,
            Node(
                pd.MultiplyOp,
                x,
                Node(
                    pd.ScaleOp,
                    Node(
                        pd.ErfOp,
                        Node(pd.ScaleOp, x, attributes={"scale": near(0.5**0.5, relative=0.02), "bias": 0.0}),
                    ),
                    attributes={"scale": 1.0, "bias": 1.0},
                ),
            ),
            attributes={"scale": 0.5, "bias": 0.0},
        ),
        Make(pd.GeluOp, x),
    ),
    citation="openvinotoolkit/openvino#29321: Extend Gelu pattern to support Mul (check_value(SQRT2, 0.001f))",
    mistake="takes a number near the root of one half for it, though no rounding makes it so",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.scale(pd.multiply(x, pd.scale(pd.erf(pd.scale(x, scale=0.7)), bias=1.0)), scale=0.5), x=f32(1, 2)
    ),
    control=lambda: case(
        lambda x: pd.scale(pd.multiply(x, pd.scale(pd.erf(pd.scale(x, scale=0.5**0.5)), bias=1.0)), scale=0.5),
        x=f32(1, 2),
    ),
)


@AREA.mutant(
    citation="google-deepmind/optax#896: softmax_cross_entropy handles -inf logits incorrectly (with label 0)",
    mistake="a probability that is too small for the format is 0, and has no logarithm",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.cross_entropy_with_softmax(x, y, soft_label=True).results, x=f32(0, 200), y=f32(0, 1)
    ),
    control=lambda: case(
        lambda x, y: pd.cross_entropy_with_softmax(x, y, soft_label=True).results, x=f32(0, 2), y=f32(0, 1)
    ),
)
@attrs.frozen
class WriteOutLoss(Pass):
    """Writes a loss with probabilities as labels as the logarithm of a softmax."""

    name: ClassVar[str] = "write-out-loss"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.CrossEntropyWithSoftmaxOp):
            if not op.soft_label or not on_values(op):
                continue
            with Builder.before(op):
                softmax = pd.softmax(op.input, axis=op.axis)
                terms = pd.multiply(op.label, pd.log(softmax))
                loss = pd.scale(pd.sum(terms, axis=(op.axis,), keepdim=True), scale=-1.0)
            op.replace_with([softmax.out, loss.out])
            self.count("losses")


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: axes are counted, and extents not compared)",
    mistake="the axes that are normalised may have been split",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.layer_norm(pd.reshape(x, shape=(2, 2, 3)), begin_norm_axis=2), x=wave(2, 6)
    ),
    control=lambda: case(
        lambda x: pd.layer_norm(pd.reshape(x, shape=(2, 2, 3)), begin_norm_axis=2), x=wave(4, 3)
    ),
)  # fmt: skip
def norm_before_reshape(program: Program) -> None:
    """Normalises as many of the last axes before a reshape as after it."""
    for op in operations(program, pd.LayerNormOp, pd.RmsNormOp):
        reshaped = op.x.defining_op
        if not isinstance(reshaped, pd.ReshapeOp) or not on_values(reshaped) or len(op.operands) != 1:
            continue
        rank = ranked(op.x).rank
        begin = ranked(reshaped.x).rank - (rank - op.begin_norm_axis % rank)
        if begin < 0 or not ranked(op.x).is_static or not ranked(reshaped.x).is_static:
            continue
        with Builder.before(op):
            normalised = norm(op, reshaped.x, begin_norm_axis=begin)
            later = pd.reshape(normalised, shape=ranked(op.x).shape)
        op.replace_with(later)
