"""Convolutions that are joined or become products, permuted channels, and means by running sums."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.first.windows import wave
from support.mutants.mutant import Area, Case
from support.mutants.programs import Array, case, constant, count, f32, ints, on_values, operations, ranked
from support.mutants.third.windows import ATTRIBUTES
from tx8ir.core import Builder, DenseAttr, Program, Value
from tx8ir.dialects import builtin, pd
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import Rewriter, pattern

AREA = Area("windows", round=4)


def attributes_of(op: Any) -> dict[str, Any]:
    """The attributes of a convolution."""
    return {name: getattr(op, name) for name in ATTRIBUTES}


@AREA.mutant(
    citation="openvinotoolkit/openvino#37181: [TRANSFORMATIONS] Fix NCHW/NHWC layout mismatch (convolution to MatMul)",
    mistake="an image with its channels last is flattened in another order than the filter",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x, w: pd.conv2d(x, w, data_format="NHWC"), x=wave(1, 2, 2, 3), w=wave(2, 3, 2, 2)
    ),
    control=lambda: case(lambda x, w: pd.conv2d(x, w), x=wave(1, 3, 2, 2), w=wave(2, 3, 2, 2)),
)  # fmt: skip
def whole_image_to_product(program: Program) -> None:
    """A convolution whose filter is as large as the image is a product of matrices."""
    for op in operations(program, pd.Conv2dOp):
        image, filters = ranked(op.input), ranked(op.filter)
        if op.groups != 1 or op.filter_format != "OIHW" or not image.is_static or 0 in image.shape or not on_values(op):
            continue
        space = image.shape[2:] if op.data_format == "NCHW" else image.shape[1:3]
        if space != filters.shape[2:] or any(op.pads) or not image.element.is_float:
            continue
        size = int(np.prod(filters.shape[1:]))
        with Builder.before(op):
            rows = pd.reshape(op.input, shape=(image.shape[0], size))
            columns = pd.reshape(op.filter, shape=(filters.shape[0], size))
            product = pd.matmul(rows, columns, transpose_y=True)
            biased = product if op.bias is None else pd.add(product, op.bias)
            shaped = pd.reshape(biased, shape=ranked(op.out).shape)
        op.replace_with(shaped)


def sum_of_two(second: tuple[int, ...]) -> Case:
    """Two convolutions of an image, which is padded above, and as it is said."""
    return case(
        lambda x, v, w: pd.add(pd.conv2d(x, v, paddings=(1, 0, 0, 0)), pd.conv2d(x, w, paddings=second)),
        x=wave(1, 1, 2, 2), v=wave(1, 1, 2, 1), w=count(1, 1, 2, 1),
    )  # fmt: skip


@AREA.mutant(
    citation="onnx/onnx-mlir#3116: Combine Parallel Convolution optimization pass in ONNX Dialect",
    mistake="results of one shape do not make paddings equal",
    witness=lambda: sum_of_two((0, 1, 0, 0)),
    control=lambda: sum_of_two((1, 0, 0, 0)),
)
@attrs.frozen
class AddFilters(Pass):
    """conv2d(x, v) + conv2d(x, w) -> conv2d(x, v + w)."""

    name: ClassVar[str] = "add-filters"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.AddOp):
            a, b = op.x.defining_op, op.y.defining_op
            if not isinstance(a, pd.Conv2dOp) or not isinstance(b, pd.Conv2dOp) or not (on_values(a) and on_values(b)):
                continue
            if a.input is not b.input or a.filter.type is not b.filter.type or a.out.type is not b.out.type:
                continue
            same = all(getattr(a, name) == getattr(b, name) for name in ATTRIBUTES if not name.startswith("padding"))
            if same and a.bias is None and b.bias is None and ranked(op.out).element.is_float:
                with Builder.before(op):
                    both = pd.conv2d(a.input, pd.add(a.filter, b.filter), **attributes_of(a))
                op.replace_with(both)
                self.count("convolutions")


@AREA.mutant(
    citation="ROCm/AMDMIGraphX#2940: fix conv_concat matcher when original convolutions are grouped",
    mistake="in groups, the outputs of both come by turns, and not one after the other",
    witness=lambda: case(
        lambda x, v, w: pd.concat([pd.conv2d(x, v, groups=2), pd.conv2d(x, w, groups=2)], axis=1),
        x=wave(1, 2, 2, 2), v=wave(2, 1, 1, 1), w=count(2, 1, 1, 1),
    ),
    control=lambda: case(
        lambda x, v, w: pd.concat([pd.conv2d(x, v), pd.conv2d(x, w)], axis=1),
        x=wave(1, 2, 2, 2), v=wave(2, 2, 1, 1), w=count(2, 2, 1, 1),
    ),
)  # fmt: skip
@attrs.frozen
class JoinConvolutions(Pass):
    """Computes the outputs of two convolutions of an image by one."""

    name: ClassVar[str] = "join-convolutions"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ConcatOp):
            made = [value.defining_op for value in op.x]
            if len(made) != 2 or not all(isinstance(each, pd.Conv2dOp) and on_values(each) for each in made):
                continue
            a, b = made
            if a.input is not b.input or a.bias is not None or b.bias is not None or a.filter.type is not b.filter.type:
                continue
            channels = 1 if a.data_format == "NCHW" else 3
            if attributes_of(a) == attributes_of(b) and op.axis % 4 == channels and a.filter_format == "OIHW":
                with Builder.before(op):
                    both = pd.conv2d(a.input, pd.concat([a.filter, b.filter], axis=0), **attributes_of(a))
                op.replace_with(both)
                self.count("convolutions")


def permutation(value: Value) -> Array | None:
    """The numbers of a constant that has each of 0, 1, … once."""
    op = value.defining_op
    found = op.attributes["value"] if isinstance(op, builtin.ConstantOp) else None
    data = found.value if isinstance(found, DenseAttr) else None
    if data is None or data.ndim != 1 or not np.array_equal(np.sort(data), np.arange(data.size)):
        return None
    return data


@pattern(pd.Conv2dOp)
def permutation_into_filter(op: pd.Conv2dOp, rewriter: Rewriter) -> bool:
    """Permutes the channels of the filter instead of those of the image"""
    permuted = op.input.defining_op
    if not isinstance(permuted, pd.GatherOp) or op.groups != 1 or not on_values(op) or not on_values(permuted):
        return False
    channels = 1 if op.data_format == "NCHW" else 3
    order = permutation(permuted.index)
    if permuted.axis % 4 != channels or order is None or permuted.x.type is not op.input.type:
        return False
    turned = rewriter.insert(
        pd.gather(op.filter, permuted.index, axis=1 if op.filter_format == "OIHW" else 3)
    )  # fmt: skip
    rewriter.replace(op, rewriter.insert(pd.conv2d(permuted.x, turned, op.bias, **attributes_of(op))))
    return True


def shuffled(*order: int) -> Case:
    """A convolution of an image with its channels in another order."""
    return case(
        lambda x, w: pd.conv2d(pd.gather(x, constant(ints("int64", *order)), axis=1), w),
        x=wave(1, 3, 2, 2), w=wave(2, 3, 1, 1),
    )  # fmt: skip


AREA.rules(
    "permutation-into-filter",
    permutation_into_filter,
    citation="Liu et al.: Tzer, OOPSLA 2022 (class of mistake: index arithmetic that is right for symmetric cases)",
    mistake="the filter is permuted the other way round",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: shuffled(1, 2, 0),
    control=lambda: shuffled(1, 0, 2),
)


@AREA.mutant(
    citation="Panchekha et al.: Herbie, PLDI 2015 (class of mistake: differences of large numbers)",
    mistake="the difference of two running sums has not the digits of the numbers between them",
    guarantee=NumericGuarantee.ROUNDING,
    witness=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(1, 2), pooling_type="avg"), x=f32(1e8, 1, 2, 3).reshape(1, 1, 1, 4)
    ),
    control=lambda: case(
        lambda x: pd.pool2d(x, kernel_size=(1, 2), pooling_type="avg"), x=f32(8, 1, 2, 3).reshape(1, 1, 1, 4)
    ),
)
def mean_by_running_sums(program: Program) -> None:
    """The mean of cells in a row is a difference of sums from the left."""
    for op in operations(program, pd.Pool2dOp):
        kind = ranked(op.x)
        if op.pooling_type != "avg" or op.global_pooling or op.adaptive or any(op.pads) or op.data_format != "NCHW":
            continue
        if op.ceil_mode or not kind.is_static or op.kernel_size[0] != 1 or op.strides != (1, 1) or not on_values(op):
            continue
        width, cells = kind.shape[3], op.kernel_size[1]
        with Builder.before(op):
            sums = pd.pad(pd.cumsum(op.x, axis=3), paddings=(0, 0, 0, 0, 0, 0, 1, 0))
            right = pd.slice(sums, axes=(3,), starts=(cells,), ends=(width + 1,))
            left = pd.slice(sums, axes=(3,), starts=(0,), ends=(width + 1 - cells,))
            mean = pd.scale(pd.subtract(right, left), scale=1 / cells)
        op.replace_with(mean)
