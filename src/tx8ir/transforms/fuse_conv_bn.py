"""`fuse-conv-bn`: a convolution takes over the batch normalisation behind it."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Operation, Program, RankedTensor, Value, VTensorType, detached
from tx8ir.dialects import pd
from tx8ir.dialects.pd.conv import ConvolutionOp
from tx8ir.target.formats import F64
from tx8ir.target.rounding import convert

from .constants import constant_name, constant_type, make_constant, read_constant
from .dce import eliminate_dead_code
from .effects import mutable_parameters
from .pass_manager import OperationPass, register_pass


@register_pass
@attrs.frozen
class FuseConvBn(OperationPass):
    """Rewrites `batch_norm(conv(x, w) [+ b])` to `conv(x, w·k) + (b - mean)·k + offset`, k = scale / √(variance + ε).

    The new filter and bias are computed in fp64 and rounded once to the filter's format, so results agree up to that
    rounding (Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only
    Inference, 2018, §3.2).

    Assumes: nothing. Fires only where filter, bias and statistics are constants, which a parameter is while no program
    of the store may write it, so that training keeps its batch normalisation; and where nobody else reads the
    convolution. Guarantees: no such pair of vtensors is left. Old variables stay in the store. Idempotent.
    Cost: O(operations) and the new weights. Statistics: `fused`.
    """

    name: ClassVar[str] = "fuse-conv-bn"

    def run_on(self, root: Operation, program: Program) -> None:
        mutable = mutable_parameters(program)
        with detached():
            norms = [op for op in root.walk() if isinstance(op, pd.BatchNormOp)]
            fused = sum(_fuse(op, program, mutable) for op in norms)
        if fused:
            self.count("fused", fused)
            eliminate_dead_code(root, by=self.name)


def _fuse(norm: pd.BatchNormOp, program: Program, mutable: Collection[str]) -> bool:
    conv = norm.x.defining_op
    if not isinstance(conv, ConvolutionOp) or not conv.out.has_one_use or not isinstance(conv.out.type, VTensorType):
        return False
    if norm.data_format != conv.data_format or isinstance(conv, pd.FusedConv2dAddActOp):
        return False

    def read(value: Value | None, default: float) -> NDArray[np.float64] | None:
        if value is None:
            return np.full(conv.filter_shape[0], default)
        array = read_constant(value, program, mutable)
        return None if array is None else array.astype(np.float64)

    weight = read(conv.filter, 0.0)
    parts = [read(v, d) for v, d in ((conv.bias, 0.0), (norm.mean, 0.0), (norm.variance, 1.0), (norm.scale, 1.0))]
    offset = read(norm.bias, 0.0)
    if weight is None or offset is None or any(p is None for p in parts):
        return False
    bias, mean, variance, scale = (p for p in parts if p is not None)
    factor = scale / np.sqrt(variance + norm.epsilon)
    per_output = (-1, 1, 1, 1) if conv.filter_format == "OIHW" else (1, 1, -1, 1)
    kind = constant_type(conv.filter)
    assert kind is not None  # it was read
    new_filter = _insert(weight * factor.reshape(per_output), kind, conv.filter, "fused", norm, program)
    new_bias = _insert(
        (bias - mean) * factor + offset,
        VTensorType((conv.filter_shape[0],), kind.element),
        conv.filter,
        "fused_bias",
        norm,
        program,
    )
    made = type(conv)(
        conv.input,
        new_filter,
        bias=new_bias,
        strides=conv.strides,
        paddings=conv.paddings,
        padding_algorithm=conv.padding_algorithm,
        dilations=conv.dilations,
        groups=conv.groups,
        data_format=conv.data_format,
        filter_format=conv.filter_format,
    )
    made.location = conv.location
    made.fuse_location((norm,), FuseConvBn.name)
    _place(made, norm)
    norm.replace_with(made.out, by=FuseConvBn.name)
    conv.erase(by=FuseConvBn.name)
    return True


def _insert(
    array: NDArray[np.float64], kind: RankedTensor, source: Value, suffix: str, anchor: Operation, program: Program
) -> Value:
    """`array`, rounded once, as a constant in front of `anchor`, named after `source`."""
    made = make_constant(
        convert(array, F64, kind.element.format), kind.to_vtensor(), program, constant_name(source, suffix)
    )
    made.location = anchor.location
    _place(made, anchor)
    return made.results[0]


def _place(op: Operation, anchor: Operation) -> None:
    block = anchor.parent
    assert block is not None  # it was found by walking
    block.insert_before(op, anchor)
