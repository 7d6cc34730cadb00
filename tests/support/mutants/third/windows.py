"""Convolutions and poolings that are merged, written in another layout, or take up what follows them."""

from __future__ import annotations

from typing import ClassVar

import attrs

from support.mutants.first.windows import wave
from support.mutants.mutant import Area
from support.mutants.programs import INF, case, count, f32, on_values, operations, ranked
from tx8ir.core import Builder, Program
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern

AREA = Area("windows", round=3)


def is_plain(op: pd.Pool2dOp) -> bool:
    """Whether it pools with the window and strides it names, over the image alone."""
    return not (op.global_pooling or op.adaptive or op.ceil_mode or any(op.paddings) or op.padding_algorithm == "SAME")


@pattern(pd.Pool2dOp)
def merge_average_pools(op: pd.Pool2dOp, rewriter: Rewriter) -> bool:
    """The mean of means is a mean over a larger window, where each number counts once"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.Pool2dOp) or {op.pooling_type, inner.pooling_type} != {"avg"} or not on_values(op):
        return False
    if not is_plain(op) or not is_plain(inner) or op.data_format != inner.data_format:
        return False
    if op.strides != op.kernel_size:
        return False
    kernel = tuple((k - 1) * s + n for k, s, n in zip(op.kernel_size, inner.strides, inner.kernel_size, strict=True))
    strides = tuple(a * b for a, b in zip(op.strides, inner.strides, strict=True))
    merged = pd.pool2d(
        inner.x, kernel_size=kernel, strides=strides, data_format=op.data_format, pooling_type="avg"
    )  # fmt: skip
    if merged.out.type is not op.out.type:
        return False
    rewriter.replace(op, rewriter.insert(merged))
    return True


AREA.rules(
    "merge-average-pools",
    merge_average_pools,
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: a condition on the wrong one of two operations)",
    mistake="looks whether the windows of the outer pooling overlap; those of the inner one must not",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.pool2d(
            pd.pool2d(x, kernel_size=(1, 2), strides=(1, 1), pooling_type="avg"),
            kernel_size=(1, 2), strides=(1, 2), pooling_type="avg",
        ),
        x=f32(1, 2, 9).reshape(1, 1, 1, 3),
    ),
    control=lambda: case(
        lambda x: pd.pool2d(
            pd.pool2d(x, kernel_size=(1, 2), strides=(1, 2), pooling_type="avg"),
            kernel_size=(1, 2), strides=(1, 2), pooling_type="avg",
        ),
        x=f32(1, 2, 9, 5).reshape(1, 1, 1, 4),
    ),
)  # fmt: skip


@AREA.mutant(
    citation="sonos/tract#2654: nnef: carry count_include_pad through the pooling border",
    mistake="the new operation counts the cells of the padding as it does by default",
    witness=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), paddings=(1, 0), exclusive=False, pooling_type="avg"),
        x=count(1, 1, 2, 2),
    ),
    control=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), paddings=(1, 0), pooling_type="avg"), x=count(1, 1, 2, 2)
    ),
)
@attrs.frozen
class PoolChannelsLast(Pass):
    """Pools images with their channels last."""

    name: ClassVar[str] = "pool-channels-last"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.Pool2dOp):
            if op.data_format != "NCHW":
                continue
            with Builder.before(op):
                image = pd.transpose(op.x, perm=(0, 2, 3, 1))
                pooled = pd.pool2d(
                    image,
                    kernel_size=op.kernel_size,
                    strides=op.strides,
                    paddings=op.paddings,
                    ceil_mode=op.ceil_mode,
                    data_format="NHWC",
                    pooling_type=op.pooling_type,
                    global_pooling=op.global_pooling,
                    adaptive=op.adaptive,
                    padding_algorithm=op.padding_algorithm,
                )
                back = pd.transpose(pooled, perm=(0, 3, 1, 2))
            op.replace_with(back)
            self.count("pools")


@pattern(pd.Pool2dOp)
def scale_after_pool(op: pd.Pool2dOp, rewriter: Rewriter) -> bool:
    """Scales the largest numbers alone"""
    scaled = op.x.defining_op
    if not isinstance(scaled, pd.ScaleOp) or op.pooling_type != "max" or scaled.scale == 0.0 or not on_values(op):
        return False
    if not ranked(op.out).element.is_float:
        return False
    rewriter.set_operand(op, 0, scaled.x)
    later = pd.scale(op, scale=scaled.scale, bias=scaled.bias, bias_after_scale=scaled.bias_after_scale)
    rewriter.insert_after(later, op)
    rewriter.replace_uses(op.out, later.out, lambda use: use.owner is not later)
    return True


AREA.rules(
    "scale-after-pool",
    scale_after_pool,
    citation="Xilinx/finn#285: Add MoveMulPastMaxPool transformation to streamlining (non-negative factors)",
    mistake="a negative factor makes the largest number the smallest",
    witness=lambda: case(
        lambda x: pd.pool2d(pd.scale(x, scale=-2.0), kernel_size=(2, 2), pooling_type="max"), x=count(1, 1, 2, 2)
    ),
    control=lambda: case(
        lambda x: pd.pool2d(pd.scale(x, scale=2.0), kernel_size=(2, 2), pooling_type="max"), x=count(1, 1, 2, 2)
    ),
)


@AREA.mutant(
    citation="apple/coremltools#2801: fuse_matmul_weight_bias: fix sub operand order",
    mistake="what the convolution is subtracted from is not a negative bias of it",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w, b: pd.subtract(b, pd.conv2d(x, w)),
        x=wave(1, 1, 2, 2), w=wave(2, 1, 1, 1), b=f32(3, 4).reshape(1, 2, 1, 1),
    ),
    control=lambda: case(
        lambda x, w, b: pd.subtract(pd.conv2d(x, w), b),
        x=wave(1, 1, 2, 2), w=wave(2, 1, 1, 1), b=f32(3, 4).reshape(1, 2, 1, 1),
    ),
)  # fmt: skip
def subtract_in_convolution(program: Program) -> None:
    """Gives a convolution what is subtracted from its result as a bias."""
    for op in operations(program, pd.SubtractOp):
        for convolution, other in ((op.x.defining_op, op.y), (op.y.defining_op, op.x)):
            if not isinstance(convolution, pd.Conv2dOp) or convolution.bias is not None or not on_values(op):
                continue
            if convolution.data_format != "NCHW" or convolution.out.type is not op.out.type:
                continue
            outputs = ranked(op.out).shape[1]
            if ranked(other).shape in ((1, outputs, 1, 1), (outputs, 1, 1)):
                with Builder.before(op):
                    bias = pd.scale(pd.reshape(other, shape=(outputs,)), scale=-1.0)
                    operands = [convolution.input, convolution.filter, bias.out]
                    given = {name: getattr(convolution, name) for name in ATTRIBUTES}
                    biased = pd.conv2d(*operands, **given)
                op.replace_with(biased)
                break


ATTRIBUTES = (
    "strides", "paddings", "padding_algorithm", "dilations", "groups", "data_format", "filter_format",
)  # fmt: skip
"""Of a convolution."""


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: infinities and NaN that a rewrite makes or meets)",
    mistake="an infinity in another group is multiplied with a zero of the filter",
    special_value=True,
    witness=lambda: case(
        lambda x, w: pd.conv2d(x, w, groups=2), x=f32(1, INF).reshape(1, 2, 1, 1), w=wave(2, 1, 1, 1)
    ),
    control=lambda: case(
        lambda x, w: pd.conv2d(x, w, groups=2), x=f32(1, 2).reshape(1, 2, 1, 1), w=wave(2, 1, 1, 1)
    ),
)  # fmt: skip
@attrs.frozen
class OneGroup(Pass):
    """Writes a convolution in groups as one, whose filter has zeros for the channels of other groups."""

    name: ClassVar[str] = "one-group"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.Conv2dOp):
            outputs, channels = ranked(op.filter).shape[:2]
            if op.groups == 1 or op.filter_format != "OIHW" or not ranked(op.out).element.is_float:
                continue
            each = outputs // op.groups
            with Builder.before(op):
                parts = []
                for group in range(op.groups):
                    part = pd.slice(op.filter, axes=(0,), starts=(group * each,), ends=((group + 1) * each,))
                    frame = (0, 0, group * channels, (op.groups - 1 - group) * channels, 0, 0, 0, 0)
                    parts.append(pd.pad(part, paddings=frame))
                whole = pd.concat(parts, axis=0)
                given = {name: getattr(op, name) for name in ATTRIBUTES} | {"groups": 1}
                dense = pd.conv2d(op.input, whole, op.bias, **given)
            op.replace_with(dense)
            self.count("convolutions")
