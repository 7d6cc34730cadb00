"""`fuse-conv-bn`: a convolution takes over the batch normalisation after it."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import attrs
import numpy as np

from tx8ir.analysis.constants import constant_name, constant_type, read_constant
from tx8ir.core import Operation, Program, VTensorType
from tx8ir.dialects import pd
from tx8ir.dialects.pd.conv import ConvolutionOp
from tx8ir.passes import NumericGuarantee, OperationPass, register_pass
from tx8ir.rewriting.provenance import derived_location

from .batch_norm import affine_form, insert_constant, rewrite_batch_norms, rounded


@register_pass
@attrs.frozen
class FuseConvBn(OperationPass):
    """Rewrites `batch_norm(conv(x, w) [+ b])` to `conv(x, w·k) + (b - mean)·k + offset`, k = scale / √(variance + ε).

    The convolution is `pd.conv2d` (with or without groups) or `pd.depthwise_conv2d`, keeps all its attributes and
    stays where it is. The new filter and bias are computed in fp64 and rounded once to the filter's format, so
    results agree up to that rounding, as long as no product with k and no sum of them overflows: the factor is taken
    into a sum of products (Jacob et al., Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference, 2018, §3.2).

    Assumes: nothing. Fires only on vtensors where filter, bias and statistics are constants, which a parameter is
    while no program of the store may write it, so that training keeps its batch normalisation; where nobody else reads
    the convolution; and where the new weights are finite in their format, and none of them is subnormal or vanishes. A
    `pd.fused_conv2d_add_act` is left alone: its activation stands between. Guarantees: no such pair is left. Old
    variables stay in the store. Idempotent.
    Cost: O(operations) and the new weights. Statistics: `fused`.
    """

    name: ClassVar[str] = "fuse-conv-bn"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run_on(self, root: Operation, program: Program) -> None:
        self.count("fused", rewrite_batch_norms(root, program, _fuse, self.name))


def _fuse(norm: pd.BatchNormOp, program: Program, mutable: Collection[str]) -> bool:
    conv = norm.x.defining_op
    if not isinstance(conv, pd.Conv2dOp | pd.DepthwiseConv2dOp) or not conv.out.has_one_use:
        return False
    if norm.data_format != conv.data_format or not isinstance(conv.out.type, VTensorType):
        return False
    made = _absorb(conv, norm, program, mutable)
    if made is None:
        return False
    norm.replace_with(made.out, by=FuseConvBn.name)
    conv.erase(by=FuseConvBn.name)
    return True


def _absorb(
    conv: ConvolutionOp, norm: pd.BatchNormOp, program: Program, mutable: Collection[str]
) -> ConvolutionOp | None:
    """The convolution that gives what `norm` gives, before `conv`; None when it cannot be made."""
    kind = constant_type(conv.filter)
    weight = read_constant(conv.filter, program, mutable)
    bias = np.zeros(1) if conv.bias is None else read_constant(conv.bias, program, mutable)
    affine = affine_form(norm, program, mutable)
    if kind is None or weight is None or bias is None or affine is None:
        return None
    factor, shift = affine
    per_output = (-1, 1, 1, 1) if conv.filter_format == "OIHW" else (1, 1, -1, 1)
    with np.errstate(all="ignore"):  # what is not finite then is left alone
        exact = weight.astype(np.float64) * factor.reshape(per_output)
    new_weight = rounded(exact, kind.element.format)
    outputs = conv.filter_shape[0]
    new_bias = rounded(np.broadcast_to(bias.astype(np.float64) * factor + shift, (outputs,)), kind.element.format)
    short = (np.abs(exact) < kind.element.format.smallest_normal) & (exact != 0)
    if new_weight is None or new_bias is None or short.any():
        return None  # a weight that vanishes makes a NaN of an infinity, a subnormal one has few digits
    location = derived_location((conv.location, norm.location), FuseConvBn.name)
    operands = (
        conv.input,
        insert_constant(new_weight, kind, constant_name(conv.filter, "fused"), program, conv),
        insert_constant(
            new_bias, VTensorType((outputs,), kind.element), constant_name(conv.filter, "fused_bias"), program, conv
        ),
    )
    made = type(conv).create(operands, [conv.out.type], conv.attributes, location=location)
    block = conv.parent
    assert block is not None  # it was found through a use
    block.insert_before(made, conv)
    return made
