"""`fold-transpose-into-matmul`: matrix products read their operands transposed instead of having them transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from tx8ir.core import Operation, Program, RankedTensor, Value, VTensorType
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, OperationPass, register_pass
from tx8ir.rewriting import RewritePattern, Rewriter, pattern, rewrite_greedily
from tx8ir.transforms.cleanup.patterns import shape as shape_patterns
from tx8ir.transforms.cleanup.patterns.shape import positive, static_value


@pattern(pd.MatmulOp)
def matmul_of_transpose(op: pd.MatmulOp, rewriter: Rewriter) -> bool:
    """matmul(transpose(x), y) → matmul(x, y) with `transpose_x` flipped, when the transpose exchanges the last two
    axes; what else it does stays as a transpose that keeps rows whole. y alike.
    """
    return _read_operands_from(op, [_transposed_source(op.x, rewriter), _transposed_source(op.y, rewriter)], rewriter)


@pattern(pd.MatmulOp)
def matmul_of_reshaped_transpose(op: pd.MatmulOp, rewriter: Rewriter) -> bool:
    """matmul(reshape(transpose(x)), y) → matmul(reshape(x), y) with `transpose_x` flipped, when the transpose exchanges
    the last two axes and the reshape only groups the axes before them. y alike.
    """
    return _read_operands_from(op, [_regrouped_source(op.x, rewriter), _regrouped_source(op.y, rewriter)], rewriter)


@pattern(pd.TransposeOp)
def transpose_of_matmul(op: pd.TransposeOp, rewriter: Rewriter) -> bool:
    """transpose(matmul(x, y)) → matmul(y, x), each read the other way, when nothing else reads the product: (XY)ᵀ is
    YᵀXᵀ. What else the transpose does stays.
    """
    product, perm = _only_read_by(op, op.x), left_behind(op.perm)
    if product is None or perm is None:
        return False
    rewriter.replace(op, _permuted(_transposed_product(product, rewriter), perm, op, rewriter))
    return True


@pattern(pd.TransposeOp)
def transpose_of_reshaped_matmul(op: pd.TransposeOp, rewriter: Rewriter) -> bool:
    """transpose(reshape(matmul(x, y))) → reshape(matmul(y, x)), when the reshape only groups the axes before the last
    two and nothing else reads what is between.
    """
    reshape, perm = op.x.defining_op, left_behind(op.perm)
    if not isinstance(reshape, pd.ReshapeOp) or perm is None or not op.x.has_one_use:
        return False
    product = _only_read_by(op, reshape.x) if _groups_leading_axes(reshape) else None
    if product is None:
        return False
    made = _transposed_product(product, rewriter)
    regrouped = rewriter.insert(pd.ReshapeOp(made, shape=_matrices_transposed(reshape.out))).out
    rewriter.replace(op, _permuted(regrouped, perm, op, rewriter))
    return True


def left_in_front(perm: tuple[int, ...]) -> tuple[int, ...] | None:
    """The permutation p for which `transpose(x, perm)` is `transpose(x, p)` with its last two axes exchanged; None when
    p would not keep the last axis in place.
    """
    if len(perm) < 2:
        return None
    axes = positive(perm)
    return _rows_kept((*axes[:-2], axes[-1], axes[-2]))


def left_behind(perm: tuple[int, ...]) -> tuple[int, ...] | None:
    """The permutation p for which `transpose(x, perm)` is `transpose(y, p)` of the y that is x with its last two axes
    exchanged; None when p would not keep the last axis in place.
    """
    rank = len(perm)
    if rank < 2:
        return None
    exchanged = {rank - 1: rank - 2, rank - 2: rank - 1}
    return _rows_kept(tuple(exchanged.get(axis, axis) for axis in positive(perm)))


def _rows_kept(perm: tuple[int, ...]) -> tuple[int, ...] | None:
    return perm if perm[-1] == len(perm) - 1 else None


def _is_identity(perm: tuple[int, ...]) -> bool:
    return perm == tuple(range(len(perm)))


def _permuted(value: Value, perm: tuple[int, ...], anchor: Operation, rewriter: Rewriter) -> Value:
    """`value` transposed, before `anchor`."""
    return value if _is_identity(perm) else rewriter.insert_before(pd.TransposeOp(value, perm=perm), anchor).out


def _read_operands_from(op: pd.MatmulOp, sources: Sequence[Value | None], rewriter: Rewriter) -> bool:
    """Lets `op` read those of its operands that have a source from there, the other way round."""
    x, y = sources
    if x is None and y is None:
        return False
    made = pd.MatmulOp(
        op.x if x is None else x,
        op.y if y is None else y,
        transpose_x=op.transpose_x != (x is not None),
        transpose_y=op.transpose_y != (y is not None),
    )
    rewriter.replace(op, made)
    return True


def _transposed_source(value: Value, rewriter: Rewriter) -> Value | None:
    """A value whose matrices are those of `value` transposed, when a transpose made `value`; None when another user
    needs that transpose as it is, and this one would need one of its own.
    """
    op: Operation | None = value.defining_op
    if not isinstance(op, pd.TransposeOp) or op.out.type.__class__ is not VTensorType:
        return None
    left = left_in_front(op.perm)
    if left is None or not (value.has_one_use or _is_identity(left)):
        return None
    return _permuted(op.x, left, op, rewriter)


def _regrouped_source(value: Value, rewriter: Rewriter) -> Value | None:
    """As `_transposed_source`, through a reshape that only groups the axes before the last two."""
    op = value.defining_op
    if not isinstance(op, pd.ReshapeOp) or not _groups_leading_axes(op):
        return None
    transpose = op.x.defining_op
    if not isinstance(transpose, pd.TransposeOp):
        return None
    left = left_in_front(transpose.perm)
    if left is None or not (_is_identity(left) or (value.has_one_use and op.x.has_one_use)):
        return None
    source = _permuted(transpose.x, left, transpose, rewriter)
    return rewriter.insert_before(pd.ReshapeOp(source, shape=_matrices_transposed(op.out)), op).out


def _groups_leading_axes(op: pd.ReshapeOp) -> bool:
    source, result = static_value(op.x), static_value(op.out)
    return source is not None and result is not None and result.rank >= 2 and source.shape[-2:] == result.shape[-2:]


def _matrices_transposed(value: Value) -> tuple[int, ...]:
    kind = static_value(value)
    assert kind is not None  # _groups_leading_axes
    return (*kind.shape[:-2], kind.shape[-1], kind.shape[-2])


def _only_read_by(op: pd.TransposeOp, value: Value) -> pd.MatmulOp | None:
    """The product of two matrices (or batches of them) that `value` is, when it has one reader and stands in the block
    of `op`, so that moving it there makes it run no more often.
    """
    made = value.defining_op
    if not isinstance(made, pd.MatmulOp) or made.parent is not op.parent or not value.has_one_use:
        return None
    if made.out.type.__class__ is not VTensorType:
        return None
    return made if all(isinstance(v.type, RankedTensor) and v.type.rank >= 2 for v in made.operands) else None


def _transposed_product(op: pd.MatmulOp, rewriter: Rewriter) -> Value:
    """The result of `op` with its matrices transposed."""
    made = pd.MatmulOp(op.y, op.x, transpose_x=not op.transpose_y, transpose_y=not op.transpose_x)
    return rewriter.insert(made).out


PATTERNS = (
    matmul_of_transpose,
    matmul_of_reshaped_transpose,
    transpose_of_matmul,
    transpose_of_reshaped_matmul,
    shape_patterns.identity_transpose,
    shape_patterns.transpose_of_transpose,
    shape_patterns.transpose_of_unit_axes,
    shape_patterns.identity_reshape,
    shape_patterns.reshape_of_reshape,
)


@register_pass
@attrs.frozen
class FoldTransposeIntoMatmul(OperationPass):
    """Lets `pd.matmul` read operands transposed (`transpose_x`, `transpose_y`) where a `pd.transpose` fed it.

    Where the transpose of an operand permutes other axes than the last two as well, a transpose for those stays, which
    moves whole rows. A transposed product exchanges its operands, (XY)ᵀ = YᵀXᵀ, when nothing else reads the product.
    A reshape between that only groups batch axes is stepped over. The matrix unit of the TX8 reads either operand in
    either order at the same speed, while a transpose moves every element.

    Assumes: nothing; fires on vtensors. Guarantees: no product reads, and no single reader of a product is, a transpose
    that only exchanges the last two axes, directly or through such a reshape of static shape. Keeps every product and
    the terms of every sum; a BLAS may add them in another order. Merges transposes and reshapes that meet, and drops
    what is dead. Idempotent. Cost: O(operations + changes).
    From ByteIR's HloTransposeDotToDotGeneral and XLA's transpose folding. Statistics: rewrites by pattern.
    """

    name: ClassVar[str] = "fold-transpose-into-matmul"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def patterns(self) -> Sequence[RewritePattern[Any]]:
        return PATTERNS

    def run_on(self, root: Operation, program: Program) -> None:
        result = rewrite_greedily(root, PATTERNS, fold=False, by=self.name)
        for what, n in result.rewrites.items():
            self.count(what, n)
