"""Normalisations, softmax and activations: what they do not depend on, and what they are made of."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.first.linear import wave
from support.mutants.mutant import Area
from support.mutants.programs import INF, case, count, f32, on_values, operations, ranked
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, equals, is_float, is_vtensor

AREA = Area("norms", round=3)
x = Var("x", is_float, is_vtensor)


@pattern(pd.LayerNormOp, pd.RmsNormOp)
def drop_shift_before_norm(op: Any, rewriter: Rewriter) -> bool:
    """A number that is added to all elements does not change how they are normalised"""
    shifted = op.x.defining_op
    if not isinstance(shifted, pd.ScaleOp) or shifted.scale != 1.0 or not on_values(op):
        return False
    rewriter.set_operand(op, 0, shifted.x)
    return True


AREA.rules(
    "drop-shift-before-norm",
    drop_shift_before_norm,
    citation="sonos/tract#2749: onnx: lower SimplifiedLayerNormalization to RMS norm, not LayerNorm",
    mistake="an RMS norm subtracts no mean",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.rms_norm(pd.scale(x, bias=1.0)), x=wave(2, 3)),
    control=lambda: case(lambda x: pd.layer_norm(pd.scale(x, bias=1.0)), x=wave(2, 3)),
)


@pattern(pd.ArgmaxOp, pd.ArgminOp)
def place_without_softmax(op: Any, rewriter: Rewriter) -> bool:
    """Softmax keeps the order of its arguments"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.SoftmaxOp) or not on_values(op):
        return False
    rewriter.set_operand(op, 0, inner.x)
    return True


AREA.rules(
    "place-without-softmax",
    place_without_softmax,
    citation="fastmachinelearning/hls4ml#627: Argmax Softmax",
    mistake="keeps the order along its own axis, and not along another one",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.argmax(pd.softmax(x, axis=1), axis=0), x=f32(1, 1, 2, 9).reshape(2, 2)),
    control=lambda: case(lambda x: pd.argmax(pd.softmax(x, axis=1), axis=1), x=f32(1, 2, 2, 9).reshape(2, 2)),
)


@AREA.mutant(
    citation="kneron/ONNX_Convertor#42: fix keras 4d softmax wrong result issue",
    mistake="compares axes of which one counts from the end",
    witness=lambda: case(lambda x: pd.slice(pd.softmax(x), axes=(1,), starts=(0,), ends=(2,)), x=wave(2, 3)),
    control=lambda: case(lambda x: pd.slice(pd.softmax(x), axes=(0,), starts=(0,), ends=(1,)), x=wave(2, 3)),
)
@attrs.frozen
class SliceBeforeSoftmax(Pass):
    """Computes a softmax of those rows alone that are used."""

    name: ClassVar[str] = "slice-before-softmax"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.SliceOp):
            inner = op.input.defining_op
            if isinstance(inner, pd.SoftmaxOp) and on_values(op) and inner.axis not in op.axes and not op.decrease_axis:
                with Builder.before(op):
                    cut = pd.slice(inner.x, axes=op.axes, starts=op.starts, ends=op.ends)
                    softmax = pd.softmax(cut, axis=inner.axis)
                op.replace_with(softmax)
                self.count("slices")


AREA.rules(
    "relu-by-magnitude",
    Rule(
        "relu",
        Node(pd.ReluOp, x),
        Make(pd.ScaleOp, Make(pd.AddOp, x, Make(pd.AbsOp, x)), scale=0.5),
    ),
    citation="Panchekha et al.: Herbie, PLDI 2015 (class of mistake: identities of real numbers)",
    mistake="minus infinity and its magnitude add up to NaN",
    special_value=True,
    witness=lambda: case(lambda x: pd.relu(x), x=f32(1, -INF)),
    control=lambda: case(lambda x: pd.relu(x), x=f32(1, -2)),
)


@AREA.mutant(
    citation="Xilinx/brevitas#411: Fix batchnorm folding (Scaling bias by `mul_factor`)",
    mistake="the bias is added after the weight, and is scaled, too",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w, b: pd.scale(pd.layer_norm(x, w, b), scale=2.0), x=wave(2, 3), w=count(3), b=count(3)
    ),
    control=lambda: case(lambda x, w: pd.scale(pd.layer_norm(x, w), scale=2.0), x=wave(2, 3), w=count(3)),
)
def scale_into_norm_weight(program: Program) -> None:
    """Scales the weight of a layer normalisation instead of its result."""
    for op in operations(program, pd.ScaleOp):
        norm = op.x.defining_op
        if (
            isinstance(norm, pd.LayerNormOp)
            and on_values(op)
            and norm.scale is not None
            and norm.out.has_one_use
            and op.bias == 0.0
        ):
            with Builder.before(op):
                weight = pd.scale(norm.scale, scale=op.scale)
                scaled = pd.layer_norm(
                    norm.x, weight, norm.bias, epsilon=norm.epsilon, begin_norm_axis=norm.begin_norm_axis
                )
            op.replace_with(scaled)


@constraint("the last axis")
def over_last_axis(match: Match) -> bool:
    rank = ranked(match["x"]).rank
    return [axis % rank for axis in match.attributes["axis"]] == [rank - 1]


AREA.rules(
    "recognize-rms-norm-of-rows",
    Rule(
        "rms-norm",
        Node(
            pd.DivideOp,
            x,
            Node(
                pd.SqrtOp,
                Node(
                    pd.ScaleOp,
                    Node(pd.MeanOp, Node(pd.SquareOp, x), attributes={"axis": Attr("axis")}),
                    attributes={"scale": equals(1.0), "bias": Attr("epsilon")},
                ),
            ),
        ),
        Make(pd.RmsNormOp, x, epsilon=Attr("epsilon")),
        where=[
            over_last_axis,
            constraint("a positive epsilon")(lambda m: m.attributes["epsilon"] > 0),
            constraint("the type of x")(lambda m: m["x"].type is m.root.results[0].type),
        ],
    ),
    citation="microsoft/onnxruntime#31144: Do not fuse LayerNorm when ReduceMean has keepdims=0",
    mistake="without keepdim the means are of rows and divide columns, which a square has as many of",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.divide(x, pd.sqrt(pd.scale(pd.mean(pd.square(x), axis=(1,)), bias=0.1))), x=wave(2, 2)
    ),
    control=lambda: case(
        lambda x: pd.divide(x, pd.sqrt(pd.scale(pd.mean(pd.square(x), axis=(1,), keepdim=True), bias=0.1))),
        x=wave(2, 3),
    ),
)
