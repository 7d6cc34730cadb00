"""`unfuse-bn`: batch normalisation by constants becomes a multiplication and an addition."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import attrs

from tx8ir.analysis.constants import constant_name
from tx8ir.core import Operation, Program, VTensorType
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, OperationPass, register_pass
from tx8ir.rewriting.provenance import derived_location

from .batch_norm import affine_form, insert_constant, rewrite_batch_norms, rounded


@register_pass
@attrs.frozen
class UnfuseBn(OperationPass):
    """Rewrites `batch_norm(x)` to `x·k + c`, k = scale / √(variance + ε), c = bias - mean·k.

    What is not after a convolution (see `fuse-conv-bn`) becomes elementwise, which other elementwise operations fuse
    with, and needs no statistics on the chip. Scale and shift are computed in fp64 and rounded once to the format of
    `x`; they have shape [C, 1, …] for "NCHW", [C] for "NHWC". From the passes of that name in MLIR-HLO and ByteIR
    (`unfuse-batch-norm`), which compute them in the program; here they are constants.

    Assumes: nothing. Fires only on vtensors where statistics, scale and bias are constants, which a parameter is while
    no program of the store may write it, and where k and c are finite in the format of `x`, and no k becomes 0 there.
    Guarantees: no such operation is left. Where x·k and c nearly cancel, the result is off by the rounding of x·k
    rather than its own: |error| <= 2 ulp(max |x·k|) + 2 ulp(|c|). Old variables stay in the store. Idempotent.
    Cost: O(operations) and O(channels) constants for each. Statistics: `unfused`.
    """

    name: ClassVar[str] = "unfuse-bn"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run_on(self, root: Operation, program: Program) -> None:
        self.count("unfused", rewrite_batch_norms(root, program, _unfuse, self.name))


def _unfuse(norm: pd.BatchNormOp, program: Program, mutable: Collection[str]) -> bool:
    x = norm.x.type
    if not isinstance(x, VTensorType) or not isinstance(norm.out.type, VTensorType):
        return False
    affine = affine_form(norm, program, mutable)
    if affine is None:
        return False
    factor, shift = (rounded(array, x.element.format) for array in affine)
    if factor is None or shift is None or ((factor == 0) & (affine[0] != 0)).any():
        return False  # with a factor that vanishes, an infinity would become a NaN
    spread = (-1,) + (1,) * (x.rank - 1 - norm.channel_axis)
    block = norm.parent
    assert block is not None  # it was found by walking
    constants = [
        insert_constant(
            array.reshape(spread),
            VTensorType(array.reshape(spread).shape, x.element),
            constant_name(norm.mean, suffix),
            program,
            norm,
        )
        for array, suffix in ((factor, "factor"), (shift, "shift"))
    ]
    scaled = pd.MultiplyOp(norm.x, constants[0])
    shifted = pd.AddOp(scaled, constants[1])
    for op in (scaled, shifted):
        op.location = derived_location((norm.location,), UnfuseBn.name)
        block.insert_before(op, norm)
    norm.replace_with(shifted.out, by=UnfuseBn.name)
    return True
