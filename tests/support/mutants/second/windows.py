"""Convolutions and poolings that become other operations, or change their paddings and layouts."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np

from support.mutants.first.windows import wave, with_attributes
from support.mutants.mutant import Area
from support.mutants.programs import INF, case, constant, count, f32, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee
from tx8ir.rewriting import Rewriter, pattern

AREA = Area("windows", round=2)


def convolution(op: Any, source: Any, weights: Any, **changed: Any) -> Any:
    """A convolution like `op`, without its bias."""
    names = ("strides", "paddings", "padding_algorithm", "dilations", "groups", "data_format", "filter_format")
    return pd.conv2d(source, weights, **{name: getattr(op, name) for name in names} | changed)


def is_plain(op: pd.Conv2dOp) -> bool:
    """Whether a convolution has the usual layouts, one group, explicit paddings and no bias."""
    return (
        op.bias is None
        and op.groups == 1
        and (op.data_format, op.filter_format, op.padding_algorithm) == ("NCHW", "OIHW", "EXPLICIT")
        and ranked(op.out).is_static
        and ranked(op.input).is_static
        and ranked(op.out).element.is_float
        and 0 not in ranked(op.input).shape
    )


@pattern(pd.Conv2dOp)
def pointwise_to_product(op: pd.Conv2dOp, rewriter: Rewriter) -> bool:
    """A convolution with a filter of one cell is a product of matrices"""
    outputs, inputs, *kernel = op.filter_shape
    before, after = ranked(op.input).shape, ranked(op.out).shape
    if kernel != [1, 1] or not is_plain(op) or before[2:] != after[2:]:
        return False
    image = rewriter.insert(pd.reshape(op.input, shape=(before[0], inputs, before[2] * before[3])))
    matrix = rewriter.insert(pd.reshape(op.filter, shape=(outputs, inputs)))
    product = rewriter.insert(pd.matmul(matrix, image))
    rewriter.replace(op, rewriter.insert(pd.reshape(product, shape=after)))
    return True


AREA.rules(
    "pointwise-to-product",
    pointwise_to_product,
    citation="tenstorrent/tt-mlir#3412: 1x1 convolution to matmul optimization first pass (stride of 1, padding of 0)",
    mistake="compares the sizes of the images: paddings may make up for strides",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w: pd.conv2d(x, w, paddings=(1, 1), strides=(2, 2)), x=wave(1, 2, 3, 3), w=wave(2, 2, 1, 1)
    ),
    control=lambda: case(lambda x, w: pd.conv2d(x, w), x=wave(1, 2, 3, 3), w=wave(3, 2, 1, 1)),
)


@pattern(pd.Pool2dOp)
def merge_max_pools(op: pd.Pool2dOp, rewriter: Rewriter) -> bool:
    """The maximum of maxima is that of a larger window"""
    inner = op.x.defining_op
    if not isinstance(inner, pd.Pool2dOp):
        return False
    for pool in (inner, op):
        if pool.pooling_type != "max" or pool.global_pooling or pool.adaptive or pool.ceil_mode:
            return False
        if pool.padding_algorithm != "EXPLICIT" or any(pool.paddings) or pool.data_format != "NCHW":
            return False
    if not ranked(op.out).is_static:
        return False
    kernel = tuple(a + b - 1 for a, b in zip(inner.kernel_size, op.kernel_size, strict=True))
    strides = tuple(a * b for a, b in zip(inner.strides, op.strides, strict=True))
    extents = zip(ranked(inner.x).shape[2:], kernel, strides, strict=True)
    if tuple((n - k) // s + 1 for n, k, s in extents) != ranked(op.out).shape[2:]:
        return False
    rewriter.replace(op, rewriter.insert(with_attributes(op, inner.x, kernel_size=kernel, strides=strides)))
    return True


AREA.rules(
    "merge-max-pools",
    merge_max_pools,
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: wrong index arithmetic, hidden by rounded sizes)",
    mistake="the outer window reaches over k - 1 strides of the inner pooling, not over k - 1 cells",
    witness=lambda: case(
        lambda x: pd.pool2d(
            pd.pool2d(x, kernel_size=(2, 2), strides=(2, 2), pooling_type="max"),
            kernel_size=(2, 2), pooling_type="max",
        ),
        x=count(1, 1, 6, 6),
    ),
    control=lambda: case(
        lambda x: pd.pool2d(
            pd.pool2d(x, kernel_size=(2, 2), pooling_type="max"), kernel_size=(2, 2), strides=(2, 2), pooling_type="max"
        ),
        x=count(1, 1, 6, 6),
    ),
)  # fmt: skip


@pattern(pd.Conv2dOp)
def shift_after_convolution(op: pd.Conv2dOp, rewriter: Rewriter) -> bool:
    """conv2d(x + c, w) -> conv2d(x, w) + c sum(w)"""
    shifted = op.input.defining_op
    if not isinstance(shifted, pd.AddOp) or shifted.x.type is not op.input.type or not is_plain(op):
        return False
    shift = splat_value(shifted.y)
    if shift is None or not math.isfinite(shift):
        return False
    plain = rewriter.insert(convolution(op, shifted.x, op.filter))
    total = rewriter.insert(pd.sum(op.filter, axis=(1, 2, 3)))
    scaled = rewriter.insert(pd.scale(total, scale=float(shift)))
    rest = rewriter.insert(pd.reshape(scaled, shape=(1, op.filter_shape[0], 1, 1)))
    rewriter.replace(op, rewriter.insert(pd.add(plain, rest)))
    return True


AREA.rules(
    "shift-after-convolution",
    shift_after_convolution,
    citation="SonySemiconductorSolutions/mct-model-optimization#698: Add BatchNorm forward folding",
    mistake="the padding is 0, and was not shifted",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w: pd.conv2d(pd.add(x, constant([2])), w, paddings=(1, 1)), x=wave(1, 1, 3, 3), w=wave(1, 1, 2, 2)
    ),
    control=lambda: case(lambda x, w: pd.conv2d(pd.add(x, constant([2])), w), x=wave(1, 1, 3, 3), w=wave(2, 1, 2, 2)),
)


@pattern(pd.Conv2dOp)
def same_to_explicit(op: pd.Conv2dOp, rewriter: Rewriter) -> bool:
    """Writes out the padding that "SAME" stands for"""
    if op.padding_algorithm != "SAME" or op.bias is not None or not ranked(op.input).is_static:
        return False
    totals = (op.pads[0] + op.pads[1], op.pads[2] + op.pads[3])
    paddings = tuple(n for total in totals for n in (total - total // 2, total // 2))
    explicit = convolution(op, op.input, op.filter, paddings=paddings, padding_algorithm="EXPLICIT")
    rewriter.replace(op, rewriter.insert(explicit))
    return True


AREA.rules(
    "same-padding-to-explicit",
    same_to_explicit,
    citation="root-project/root#21793: [tmva][sofie] fix SAME_UPPER/SAME_LOWER autopad padding formula",
    mistake="an odd cell comes after the image, not before it",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w: pd.conv2d(x, w, padding_algorithm="SAME"), x=wave(1, 1, 3, 3), w=wave(1, 1, 2, 2)
    ),
    control=lambda: case(
        lambda x, w: pd.conv2d(x, w, padding_algorithm="SAME"), x=wave(1, 1, 3, 3), w=wave(1, 1, 3, 3)
    ),
)


@pattern(pd.Conv2dOp)
def filter_to_hwoi(op: pd.Conv2dOp, rewriter: Rewriter) -> bool:
    """Lays the filter out as the machine has it"""
    _, _, height, width = op.filter_shape
    if op.filter_format != "OIHW" or op.bias is not None or height != width:
        return False
    turned = rewriter.insert(pd.transpose(op.filter, perm=(3, 2, 0, 1)))
    rewriter.replace(op, rewriter.insert(convolution(op, op.input, turned, filter_format="HWOI")))
    return True


AREA.rules(
    "filter-to-hwoi",
    filter_to_hwoi,
    citation="apache/tvm#13414: [Hexagon] Enable depthwise conv2d NHWC with an HWIO kernel layout (review: is OIWH)",
    mistake="takes the width before the height; square filters do not tell",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(lambda x, w: pd.conv2d(x, w), x=wave(1, 1, 3, 3), w=wave(1, 1, 2, 2)),
    control=lambda: case(lambda x, w: pd.conv2d(x, w), x=wave(1, 2, 3, 3), w=wave(3, 2, 1, 1)),
)


@pattern(pd.AddOp)
def bias_into_fused(op: pd.AddOp, rewriter: Rewriter) -> bool:
    """Gives a fused convolution the bias that is added to it"""
    fused = op.x.defining_op
    if not isinstance(fused, pd.FusedConv2dAddActOp) or fused.bias is not None or fused.data_format != "NCHW":
        return False
    outputs = fused.filter_shape[0]
    if ranked(op.y).shape not in ((outputs, 1, 1), (1, outputs, 1, 1)) or op.out.type is not op.x.type:
        return False
    bias = rewriter.insert(pd.reshape(op.y, shape=(outputs,)))
    names = ("strides", "paddings", "padding_algorithm", "dilations", "groups", "data_format", "filter_format")
    given = {name: getattr(fused, name) for name in names}
    rewriter.replace(op, rewriter.insert(pd.fused_conv2d_add_act(fused.input, fused.filter, bias, **given)))
    return True


AREA.rules(
    "bias-into-fused-convolution",
    bias_into_fused,
    citation="microsoft/onnxruntime#15837: NhwcFusedConv: Add before Activation",
    mistake="the fused operation adds its bias before the activation",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w, c: pd.add(pd.fused_conv2d_add_act(x, w), c),
        x=-count(1, 1, 2, 2), w=count(2, 1, 1, 1), c=count(1, 2, 1, 1),
    ),
    control=lambda: case(
        lambda x, w, c: pd.add(pd.fused_conv2d_add_act(x, w), c),
        x=count(1, 1, 2, 2), w=count(2, 1, 1, 1), c=count(1, 2, 1, 1),
    ),
)  # fmt: skip


@pattern(pd.Pool2dOp)
def max_padding_to_pad(op: pd.Pool2dOp, rewriter: Rewriter) -> bool:
    """Pads the image of a maximum with the lowest number, for kernels without padding"""
    element = ranked(op.x).element
    if op.pooling_type != "max" or op.global_pooling or op.adaptive or op.ceil_mode or not element.is_float:
        return False
    if op.padding_algorithm != "EXPLICIT" or not any(op.pads) or op.data_format != "NCHW":
        return False
    info = np.finfo(element.dtype) if element.dtype.kind == "f" else ml_dtypes.finfo(element.dtype)
    padded = rewriter.insert(pd.pad(op.x, paddings=(0, 0, 0, 0, *op.pads), pad_value=float(info.min)))
    rewriter.replace(op, rewriter.insert(with_attributes(op, padded, paddings=(0, 0))))
    return True


AREA.rules(
    "max-padding-to-pad",
    max_padding_to_pad,
    citation="Samsung/ONE#7236: [DRAFT] Introduce MaxPoolWithArgmax resolving pass (pads with `lowest()`)",
    mistake="minus infinity is below the lowest finite number",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), paddings=(1, 0, 1, 0), pooling_type="max"),
        x=f32(-INF).reshape(1, 1, 1, 1),
    ),
    control=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(2, 2), paddings=(1, 0, 1, 0), pooling_type="max"),
        x=-count(1, 1, 2, 2),
    ),
)
