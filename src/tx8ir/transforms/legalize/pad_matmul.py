"""`pad-matmul`: matrix products get extents that are multiples of the machine's blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import attrs

from tx8ir.core import Operation, Program, Value, VTensorType
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, OperationPass, option, register_pass
from tx8ir.rewriting import RewritePattern, Rewriter, rewrite_greedily
from tx8ir.target.chip import TX8
from tx8ir.transforms.cleanup.patterns.shape import static_value

_STEP_M: Final = TX8.profile.ne_step[0]


class PadMatmulPattern(RewritePattern[pd.MatmulOp]):
    """matmul(x, y) → slice(matmul(pad(x), pad(y))), when some extent is near enough to a multiple of its block.

    Args:
        blocks: of M, N and K; None for the channel block of the element type.
        max_waste: the most that padding may be of a padded extent.
    """

    name = "padded_matmul"
    roots = (pd.MatmulOp,)

    def __init__(self, blocks: tuple[int, int | None, int | None], max_waste: float) -> None:
        self.blocks = blocks
        self.max_waste = max_waste

    def match_and_rewrite(self, op: pd.MatmulOp, rewriter: Rewriter) -> bool:
        x, y, out = static_value(op.x), static_value(op.y), static_value(op.out)
        if x is None or y is None or out is None:
            return False
        (m_of_x, k_of_x), (k_of_y, n_of_y) = op.x_axes, op.y_axes
        format = out.element.format
        block = 1 if format.bits < 8 else format.block  # a packed format has none: no extent is too short for it
        m, n, k = (block if size is None else size for size in self.blocks)
        add_m = 0 if m_of_x is None else self._missing(x.shape[m_of_x], m)
        add_n = 0 if n_of_y is None else self._missing(y.shape[n_of_y], n)
        add_k = self._missing(x.shape[k_of_x], k)
        if not (add_m or add_n or add_k):
            return False
        made = rewriter.insert(
            pd.MatmulOp(
                _padded(op.x, x, {m_of_x: add_m, k_of_x: add_k}, rewriter),
                _padded(op.y, y, {n_of_y: add_n, k_of_y: add_k}, rewriter),
                transpose_x=op.transpose_x,
                transpose_y=op.transpose_y,
            )
        )
        cut = [axis for axis, added in zip(op.out_axes, (add_m, add_n), strict=True) if axis is not None and added]
        result: Value = made.out
        if cut:
            ends = tuple(out.shape[axis] for axis in cut)
            result = rewriter.insert(pd.SliceOp(result, axes=tuple(cut), starts=(0,) * len(cut), ends=ends)).out
        rewriter.replace(op, result)
        return True

    def _missing(self, extent: int, block: int) -> int:
        """How much is added to an extent."""
        missing = -extent % block
        return missing if missing <= self.max_waste * (extent + missing) else 0


def _padded(value: Value, kind: VTensorType, added: dict[int | None, int], rewriter: Rewriter) -> Value:
    """`value` with zeros after each axis of `added`."""
    if not any(added.values()):
        return value
    paddings = tuple(width for axis in range(kind.rank) for width in (0, added.get(axis, 0)))
    return rewriter.insert(pd.PadOp(value, paddings=paddings)).out


@register_pass
@attrs.frozen
class PadMatmul(OperationPass):
    """Pads M, N and K of `pd.matmul` with zeros to multiples of the machine's blocks, and cuts the result back.

    Each extent is padded where the padding is at most `max-waste` of the padded extent. A zero of a padded K is met by
    a zero of the other operand only, so that each sum gets terms 0 · 0 and stays as it is; rows of zeros from a padded
    M, and columns from a padded N, which may meet an infinity or NaN, lie outside of what is cut out.

    Assumes: nothing; fires on vtensors of static shape with elements. Guarantees: each of the three extents of such a
    product is a multiple of its block, or too far below one. The sums are the same but for the sign of a zero (-0 + 0
    is 0); a BLAS may add their terms in another order. Idempotent.
    Cost: O(operations); a copy of each padded operand (of a constant when compiling, with `constant-fold`) and of the
    result. The compiler of the TX8 masks tails itself and does not need the pass: it is for kernels without tails.
    From BladeDISC's dot padding for tensor cores. Statistics: `padded_matmul`.
    """

    name: ClassVar[str] = "pad-matmul"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    m: int = option(
        _STEP_M, "M becomes a multiple of this; by default the matrix unit's step", validator=attrs.validators.ge(1)
    )
    n: int | None = option(
        None,
        "N becomes a multiple of this; by default the element type's channel block, 64 or 128",
        validator=attrs.validators.optional(attrs.validators.ge(1)),
    )
    k: int | None = option(
        None,
        "K becomes a multiple of this; by default as for N",
        validator=attrs.validators.optional(attrs.validators.ge(1)),
    )
    max_waste: float = option(
        0.25,
        "the most that padding may be of a padded extent, 0 to 1",
        validator=attrs.validators.and_(attrs.validators.ge(0), attrs.validators.lt(1)),
    )

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        return (PadMatmulPattern((self.m, self.n, self.k), self.max_waste),)

    def run_on(self, root: Operation, program: Program) -> None:
        result = rewrite_greedily(root, self.patterns(), fold=False, drop_dead=False, by=self.name)
        for what, n in result.rewrites.items():
            self.count(what, n)
