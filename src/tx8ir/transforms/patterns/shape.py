"""Canonicalization of the operations that rearrange elements: `pd.reshape` and its kin, `pd.transpose`, slices, joins.

`squeeze`, `unsqueeze` and `flatten` of static shapes become `reshape`, whose `shape` is spelled out in full, so that the
patterns below need to know one operation only. All of them ask for `vtensor`s: on a `tensor` a view shares storage.
"""

from __future__ import annotations

from tx8ir.core import Operation, Value, VTensorType
from tx8ir.dialects import pd

from ..rewriter import Rewriter, pattern
from .registry import canonicalization


def static_value(value: Value) -> VTensorType | None:
    """The type of a `vtensor` of static shape without an extent of 0 (which `pd.reshape` cannot spell), else None."""
    kind = value.type
    return kind if isinstance(kind, VTensorType) and kind.is_static and 0 not in kind.shape else None


def moves_unit_axes_only(shape: tuple[int, ...], perm: tuple[int, ...]) -> bool:
    """True when permuting axes of `shape` by `perm` leaves the axes longer than 1 in their order: no element moves."""
    long_axes = [axis for axis in perm if shape[axis] != 1]
    return long_axes == sorted(long_axes)


def compose(inner: tuple[int, ...], outer: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation of `transpose(transpose(x, inner), outer)`."""
    return tuple(inner[axis] for axis in outer)


def invert(perm: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `perm`."""
    inverse = [0] * len(perm)
    for place, axis in enumerate(perm):
        inverse[axis] = place
    return tuple(inverse)


def positive(perm: tuple[int, ...]) -> tuple[int, ...]:
    """`perm` with every axis counted from the front."""
    return tuple(axis % len(perm) for axis in perm)


@canonicalization
@pattern(pd.SqueezeOp, pd.UnsqueezeOp, pd.FlattenOp)
def view_to_reshape(op: pd.SqueezeOp | pd.UnsqueezeOp | pd.FlattenOp, rewriter: Rewriter) -> bool:
    """squeeze, unsqueeze, flatten → reshape."""
    kind = static_value(op.out)
    if kind is None:
        return False
    rewriter.replace(op, pd.ReshapeOp(op.x, shape=kind.shape))
    return True


@canonicalization
@pattern(pd.ReshapeOp, benefit=3)
def identity_reshape(op: pd.ReshapeOp, rewriter: Rewriter) -> bool:
    """reshape to the shape it has → x."""
    if op.x.type is not op.out.type or static_value(op.out) is None:
        return False
    rewriter.replace(op, op.x)
    return True


@canonicalization
@pattern(pd.ReshapeOp, benefit=2)
def reshape_of_reshape(op: pd.ReshapeOp, rewriter: Rewriter) -> bool:
    """reshape(reshape(x)) → reshape(x)."""
    kind = static_value(op.out)
    inner = op.x.defining_op
    if kind is None or not isinstance(inner, pd.ReshapeOp) or static_value(inner.x) is None:
        return False
    rewriter.replace(op, pd.ReshapeOp(inner.x, shape=kind.shape))
    return True


@canonicalization
@pattern(pd.ReshapeOp)
def explicit_reshape(op: pd.ReshapeOp, rewriter: Rewriter) -> bool:
    """A `shape` with 0 or -1 → the extents themselves."""
    kind = static_value(op.out)
    if kind is None or op.shape == kind.shape:
        return False
    rewriter.replace(op, pd.ReshapeOp(op.x, shape=kind.shape))
    return True


@canonicalization
@pattern(pd.TransposeOp, benefit=3)
def identity_transpose(op: pd.TransposeOp, rewriter: Rewriter) -> bool:
    """transpose by the identity → x."""
    if op.out.type.__class__ is not VTensorType or positive(op.perm) != tuple(range(len(op.perm))):
        return False
    rewriter.replace(op, op.x)
    return True


@canonicalization
@pattern(pd.TransposeOp, benefit=2)
def transpose_of_transpose(op: pd.TransposeOp, rewriter: Rewriter) -> bool:
    """transpose(transpose(x)) → one transpose by the composed permutation."""
    inner = op.x.defining_op
    if not isinstance(inner, pd.TransposeOp) or op.out.type.__class__ is not VTensorType:
        return False
    perm = compose(positive(inner.perm), positive(op.perm))
    rewriter.replace(op, pd.TransposeOp(inner.x, perm=perm))
    return True


@canonicalization
@pattern(pd.TransposeOp)
def transpose_of_unit_axes(op: pd.TransposeOp, rewriter: Rewriter) -> bool:
    """transpose that only moves axes of extent 1 → reshape."""
    kind = static_value(op.out)
    source = static_value(op.x)
    if kind is None or source is None or not moves_unit_axes_only(source.shape, positive(op.perm)):
        return False
    rewriter.replace(op, pd.ReshapeOp(op.x, shape=kind.shape))
    return True


@canonicalization
@pattern(pd.SliceOp)
def whole_slice(op: pd.SliceOp, rewriter: Rewriter) -> bool:
    """slice that keeps every element → x, reshaped when it drops axes."""
    kind, source = static_value(op.out), static_value(op.input)
    if kind is None or source is None or kind.num_elements != source.num_elements:
        return False
    rewriter.replace(op, op.input if kind is source else pd.ReshapeOp(op.input, shape=kind.shape))
    return True


@canonicalization
@pattern(pd.ExpandOp)
def expand_without_copies(op: pd.ExpandOp, rewriter: Rewriter) -> bool:
    """expand that repeats nothing → x, reshaped when it only adds axes."""
    kind, source = static_value(op.out), static_value(op.x)
    if kind is None or source is None or kind.num_elements != source.num_elements:
        return False
    rewriter.replace(op, op.x if kind is source else pd.ReshapeOp(op.x, shape=kind.shape))
    return True


@canonicalization
@pattern(pd.ConcatOp)
def concat_of_one(op: pd.ConcatOp, rewriter: Rewriter) -> bool:
    """concat of one value → that value."""
    if len(op.operands) != 1 or op.out.type is not op.operands[0].type or op.out.type.__class__ is not VTensorType:
        return False
    rewriter.replace(op, op.operands[0])
    return True


@canonicalization
@pattern(pd.SplitOp)
def split_in_one(op: pd.SplitOp, rewriter: Rewriter) -> bool:
    """split into one piece → x."""
    if len(op.results) != 1 or op.results[0].type is not op.x.type or op.x.type.__class__ is not VTensorType:
        return False
    rewriter.replace(op, op.x)
    return True


@canonicalization
@pattern(pd.MatmulOp)
def matmul_of_transpose(op: pd.MatmulOp, rewriter: Rewriter) -> bool:
    """matmul of a transpose of the last two axes → matmul with `transpose_x` / `transpose_y` flipped."""
    if op.out.type.__class__ is not VTensorType:
        return False
    x, y = _untransposed(op.x), _untransposed(op.y)
    if x is None and y is None:
        return False
    new = pd.MatmulOp(
        op.x if x is None else x,
        op.y if y is None else y,
        transpose_x=op.transpose_x != (x is not None),
        transpose_y=op.transpose_y != (y is not None),
    )
    rewriter.replace(op, new)
    return True


def _untransposed(value: Value) -> Value | None:
    op: Operation | None = value.defining_op
    if not isinstance(op, pd.TransposeOp) or len(op.perm) < 2:
        return None
    rank = len(op.perm)
    return op.x if positive(op.perm) == (*range(rank - 2), rank - 1, rank - 2) else None
