"""Mutants of normalisation and activation functions: epsilon, axes, missing weights, one-pass formulas."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import case, count, f32, operations, ranked
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Attr, Make, Node, Rule, Var
from tx8ir.rewriting.declarative.constraints import constraint, equals

AREA = Area("norms", round=1)
x = Var("x")


def wave(*shape: int) -> Any:
    """Numbers of both signs."""
    return np.sin(count(*shape)).astype(np.float32)


@AREA.mutant(
    citation="microsoft/onnxruntime#25855: LayerNormFusion produces incorrect results due to broadcast/shape mismatch",
    mistake="counts the elements of the factor: one for each row is taken as one for each column",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, g: pd.multiply(pd.layer_norm(x), g), x=wave(2, 2), g=np.array([[1], [5]], np.float32)
    ),
    control=lambda: case(lambda x, g: pd.multiply(pd.layer_norm(x), g), x=wave(2, 2), g=f32(1, 5)),
)
def factor_into_layer_norm(program: Program) -> None:
    for op in operations(program, pd.MultiplyOp):
        norm = op.x.defining_op
        if not isinstance(norm, pd.LayerNormOp) or norm.scale is not None or norm.bias is not None:
            continue
        begin = norm.begin_norm_axis % ranked(norm.x).rank
        size = int(np.prod(ranked(norm.x).shape[begin:]))
        if ranked(op.y).num_elements == size and op.out.type is norm.out.type:
            with Builder.before(op):
                fused = pd.layer_norm(
                    norm.x, pd.reshape(op.y, shape=(size,)), epsilon=norm.epsilon, begin_norm_axis=begin
                )
            op.replace_with(fused)


AREA.rules(
    "weight-into-rms-norm",
    Rule(
        "weight",
        Node(pd.MultiplyOp, Node(pd.RmsNormOp, x, attributes={"begin_norm_axis": Attr("axis")}), Var("w")),
        Make(pd.RmsNormOp, x, Var("w"), begin_norm_axis=Attr("axis")),
        where=[
            constraint("a weight for the last axis")(
                lambda m: m.attributes["axis"] == -1 and ranked(m["w"]).shape == ranked(m["x"]).shape[-1:]
            )
        ],
    ),
    citation="microsoft/onnxruntime#3768: Add Epsilon Attribute to Skip and Embed Layer Normalization",
    mistake="epsilon is lost: the new operation has the default",
    witness=lambda: case(lambda x, w: pd.multiply(pd.rms_norm(x, epsilon=0.01), w), x=wave(2, 3), w=f32(1, 2, 3)),
    control=lambda: case(lambda x, w: pd.multiply(pd.rms_norm(x), w), x=wave(2, 3), w=f32(1, 2, 3)),
)


@AREA.mutant(
    citation="pytorch/executorch#22517: Arm backend: Fix ConvTranspose2d batch norm fusion (non-affine batch norm)",
    mistake="takes operand 3 for the scale; where there is none it is the bias",
    witness=lambda: case(
        lambda x, m, v, b: pd.batch_norm(x, m, v, bias=b), x=wave(1, 2, 2), m=f32(0, 1), v=f32(1, 4), b=f32(2, 3)
    ),
    control=lambda: case(
        lambda x, m, v, s, b: pd.batch_norm(x, m, v, s, b),
        x=wave(1, 2, 2), m=f32(0, 1), v=f32(1, 4), s=f32(2, 3), b=f32(5, 6),
    ),
)  # fmt: skip
@attrs.frozen
class ExpandBatchNorm(Pass):
    """Batch normalisation as elementwise arithmetic."""

    name: ClassVar[str] = "expand-batch-norm"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.BatchNormOp):
            rank, channel = ranked(op.x).rank, op.channel_axis
            along = tuple(-1 if axis == channel else 1 for axis in range(rank))
            weights = op.operands[3:]
            with Builder.before(op):
                factor = pd.rsqrt(pd.scale(op.variance, bias=op.epsilon))
                if weights:
                    factor = pd.multiply(factor, weights[0])
                out = pd.multiply(pd.subtract(op.x, pd.reshape(op.mean, shape=along)), pd.reshape(factor, shape=along))
                if len(weights) > 1:
                    out = pd.add(out, pd.reshape(weights[1], shape=along))
            op.replace_with(out)
            self.count("expanded")


AREA.rules(
    "gelu-by-tanh",
    Rule("approximate", Node(pd.GeluOp, x, attributes={"approximate": equals(False)}),
         Make(pd.GeluOp, x, approximate=True)),
    citation="microsoft/onnxruntime#2819: update optimization doc: GELU approximation may change the result",
    mistake="the tanh form is off by 1e-3, and rounding is not",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x: pd.gelu(x), x=f32(1, -2, 0.5)),
    control=lambda: case(lambda x: pd.gelu(x), x=f32(0, 20)),
)  # fmt: skip


@pattern(pd.SoftmaxOp)
def softmax_of_shifted(op: pd.SoftmaxOp, rewriter: Rewriter) -> bool:
    """softmax(x + c) -> softmax(x) where c does not change along the axis"""
    shifted = op.x.defining_op
    if not isinstance(shifted, pd.AddOp) or shifted.x.type is not op.out.type:
        return False
    rank, shape = ranked(op.x).rank, ranked(shifted.y).shape
    axis = op.axis % rank
    if axis < len(shape) and shape[axis] != 1:
        return False
    if axis >= len(shape) and len(shape) != 0:
        return False
    rewriter.replace(op, rewriter.insert(pd.softmax(shifted.x, axis=op.axis)))
    return True


AREA.rules(
    "drop-shift-before-softmax",
    softmax_of_shifted,
    citation="microsoft/onnxruntime#18945: Accuracy far off when enabling attention fusion (assumption on the mask)",
    mistake="looks up the axis of x in the shape of c, which is aligned at the last axis",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, c: pd.softmax(pd.add(x, c), axis=1), x=wave(2, 2, 2), c=np.array([[0], [3]], np.float32)
    ),
    control=lambda: case(
        lambda x, c: pd.softmax(pd.add(x, c), axis=1), x=wave(2, 2), c=np.array([[0], [3]], np.float32)
    ),
)


@AREA.mutant(
    citation="tracel-ai/burn#5607: fused f32 layer_norm loses precision for rows with large mean (E[x^2]-E[x]^2)",
    mistake="the difference of the two moments cancels where the mean is large",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.mean(pd.square(pd.subtract(x, pd.mean(x, axis=(-1,), keepdim=True))), axis=(-1,)),
        x=f32(3000.1, 3000.2, 3000.4),
    ),
    control=lambda: case(
        lambda x: pd.mean(pd.square(pd.subtract(x, pd.mean(x, axis=(-1,), keepdim=True))), axis=(-1,)), x=f32(1, 2, 4)
    ),
)
def variance_by_moments(program: Program) -> None:
    """mean((x - mean(x))²) -> mean(x²) - mean(x)², which takes one pass over x."""
    for op in operations(program, pd.MeanOp):
        square = op.x.defining_op
        centred = square.operands[0].defining_op if isinstance(square, pd.SquareOp) else None
        mean = centred.y.defining_op if isinstance(centred, pd.SubtractOp) else None
        if isinstance(mean, pd.MeanOp) and mean.x is centred.x and mean.axes == op.axes and mean.keepdim:
            with Builder.before(op):
                second = pd.mean(pd.square(mean.x), axis=op.axis, keepdim=op.keepdim)
                first = pd.mean(mean.x, axis=op.axis, keepdim=op.keepdim)
                variance = pd.subtract(second, pd.square(first))
            op.replace_with(variance)


@AREA.mutant(
    citation="tenstorrent/tt-metal#45968: `batch_norm` (training): catastrophic variance cancellation",
    mistake="expands batch normalisation with one pass over x, so that the variance may be far off or negative",
    witness=lambda: case(
        lambda x, m, v: pd.batch_norm_training(x, m, v).results[:1],
        x=(5000 + wave(3, 1, 4)).astype(np.float32), m=f32(0), v=f32(1),
    ),
    control=lambda: case(
        lambda x, m, v: pd.batch_norm_training(x, m, v).results[:1], x=wave(3, 1, 4), m=f32(0), v=f32(1)
    ),
)  # fmt: skip
@attrs.frozen
class ExpandBatchStatistics(Pass):
    """The output of batch normalisation in training, as reductions and arithmetic."""

    name: ClassVar[str] = "expand-batch-statistics"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.BatchNormTrainingOp):
            if op.scale is not None or op.bias is not None:
                continue
            others = tuple(axis for axis in range(ranked(op.x).rank) if axis != op.channel_axis)
            with Builder.before(op):
                mean = pd.mean(op.x, axis=others, keepdim=True)
                second = pd.mean(pd.square(op.x), axis=others, keepdim=True)
                variance = pd.subtract(second, pd.square(mean))
                inverse = pd.rsqrt(pd.scale(variance, bias=op.epsilon))
                out = pd.multiply(pd.subtract(op.x, mean), inverse)
            op.out.replace_all_uses_with(out.out)
            self.count("expanded")


AREA.rules(
    "softmax-without-maximum",
    Rule(
        "expand",
        Node(pd.SoftmaxOp, x, attributes={"axis": Attr("axis")}),
        Make(
            pd.DivideOp,
            power := Make(pd.ExpOp, x),
            Make(pd.SumOp, power, axis=lambda m: (m.attributes["axis"],), keepdim=True),
        ),
    ),
    citation="openxla/xla#47290: 337 IRs diverge after running HLO pass `algsimp` (84 of them in NaN/Inf)",
    mistake="the exponential overflows where the maximum is not subtracted first",
    guarantee=NumericGuarantee.ROUNDING,
    special_value=True,
    witness=lambda: case(lambda x: pd.softmax(x), x=f32(100, 99)),
    control=lambda: case(lambda x: pd.softmax(x), x=f32(1, 2)),
)


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: attributes that frameworks define differently)",
    mistake="takes momentum for the weight of the new statistics; it is that of the old ones",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, m, v: pd.batch_norm_training(x, m, v, momentum=0.9).results[1:2], x=wave(2, 1, 3), m=f32(4), v=f32(1)
    ),
    control=lambda: case(
        lambda x, m, v: pd.batch_norm_training(x, m, v, momentum=0.5).results[1:2], x=wave(2, 1, 3), m=f32(4), v=f32(1)
    ),
)
def running_mean_as_arithmetic(program: Program) -> None:
    for op in operations(program, pd.BatchNormTrainingOp):
        if op.mean_out.has_uses:
            with Builder.after(op):
                new = pd.scale(op.saved_mean, scale=op.momentum)
                mixed = pd.add(pd.scale(op.mean, scale=1 - op.momentum), new)
            op.mean_out.replace_all_uses_with(mixed.out)


@AREA.mutant(
    citation="llvm/llvm-project#123375: [mlir] BlockEquivalenceData is wrong? (operations taken as equal)",
    mistake="compares the names of the attributes, not what they are",
    witness=lambda: case(lambda x: pd.add(pd.softmax(x, axis=0), pd.softmax(x, axis=1)), x=wave(2, 2)),
    control=lambda: case(lambda x: pd.add(pd.softmax(x, axis=1), pd.softmax(x, axis=1)), x=wave(2, 2)),
)
def merge_equal_activations(program: Program) -> None:
    """Common subexpressions among operations on one operand."""
    seen: dict[Any, Any] = {}
    for op in operations(program, pd.SoftmaxOp, pd.GeluOp, pd.LeakyReluOp, pd.SoftplusOp, pd.PowOp):
        key = (op.parent, type(op), op.x, op.out.type, tuple(op.attributes.value))
        earlier = seen.setdefault(key, op)
        if earlier is not op:
            op.replace_with(earlier.out)
