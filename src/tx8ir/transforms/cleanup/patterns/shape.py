"""Canonicalization of the operations that rearrange elements: `pd.reshape` and its kin, `pd.transpose`, slices, joins.

`squeeze`, `unsqueeze` and `flatten` of static shapes become `reshape`, whose `shape` is spelled out in full, so that
the patterns below need to know one operation only. All of them ask for `vtensor`s: on a `tensor` a view shares
storage.
"""

from __future__ import annotations

import math

from tx8ir.analysis.constants import splat_value
from tx8ir.core import Operation, RankedTensor, Value, VTensorType
from tx8ir.dialects import pd
from tx8ir.dialects.pd.elementwise_unary import ElementwiseUnaryOp
from tx8ir.rewriting import Rewriter, pattern

from .registry import canonicalization


def static_value(value: Value) -> VTensorType | None:
    """The type of a `vtensor` of static shape without an extent of 0 (which `pd.reshape` cannot spell), else None."""
    kind = value.type
    return kind if isinstance(kind, VTensorType) and kind.is_static and 0 not in kind.shape else None


def _shape(value: Value) -> tuple[int, ...]:
    return value.type.shape if isinstance(value.type, RankedTensor) else ()


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
    """Reshape to the shape it has → x."""
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
    """Transpose by the identity → x."""
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
    """Transpose that only moves axes of extent 1 → reshape."""
    kind = static_value(op.out)
    source = static_value(op.x)
    if kind is None or source is None or not moves_unit_axes_only(source.shape, positive(op.perm)):
        return False
    rewriter.replace(op, pd.ReshapeOp(op.x, shape=kind.shape))
    return True


def _replaced_with_all_of(x: Value, op: pd.SliceOp | pd.ExpandOp, rewriter: Rewriter) -> bool:
    """Let `x`, in another shape where that differs, take the place of `op` when that has as many elements."""
    kind, source = static_value(op.out), static_value(x)
    if kind is None or source is None or kind.num_elements != source.num_elements:
        return False
    rewriter.replace(op, x if kind is source else pd.ReshapeOp(x, shape=kind.shape))
    return True


@canonicalization
@pattern(pd.SliceOp)
def whole_slice(op: pd.SliceOp, rewriter: Rewriter) -> bool:
    """Slice that keeps every element → x, reshaped when it drops axes."""
    return _replaced_with_all_of(op.input, op, rewriter)


@canonicalization
@pattern(pd.ExpandOp)
def expand_without_copies(op: pd.ExpandOp, rewriter: Rewriter) -> bool:
    """Expand that repeats nothing → x, reshaped when it only adds axes."""
    return _replaced_with_all_of(op.x, op, rewriter)


@canonicalization
@pattern(pd.PadOp)
def pad_by_nothing(op: pd.PadOp, rewriter: Rewriter) -> bool:
    """Pad that adds nothing → x."""
    if any(op.paddings) or op.out.type is not op.x.type or op.out.type.__class__ is not VTensorType:
        return False
    rewriter.replace(op, op.x)
    return True


@canonicalization
@pattern(pd.ConcatOp)
def concat_of_one(op: pd.ConcatOp, rewriter: Rewriter) -> bool:
    """Concat of one value → that value."""
    if len(op.operands) != 1 or op.out.type is not op.operands[0].type or op.out.type.__class__ is not VTensorType:
        return False
    rewriter.replace(op, op.operands[0])
    return True


@canonicalization
@pattern(pd.SplitOp)
def split_in_one(op: pd.SplitOp, rewriter: Rewriter) -> bool:
    """Split into one piece → x."""
    if len(op.results) != 1 or op.results[0].type is not op.x.type or op.x.type.__class__ is not VTensorType:
        return False
    rewriter.replace(op, op.x)
    return True


@canonicalization
@pattern(pd.TransposeOp)
def transpose_of_reshaped_transpose(op: pd.TransposeOp, rewriter: Rewriter) -> bool:
    """transpose(reshape(transpose(x))) → reshape(transpose(transpose(x))) when the reshape adds and drops axes of
    extent 1 only; the transposes then merge.
    """
    kind = static_value(op.out)
    between = op.x.defining_op
    if kind is None or not isinstance(between, pd.ReshapeOp) or not between.out.has_one_use:
        return False
    source, middle = static_value(between.x), static_value(op.x)
    if source is None or middle is None or not isinstance(between.x.defining_op, pd.TransposeOp):
        return False
    long_source = [axis for axis, extent in enumerate(source.shape) if extent != 1]
    long_middle = [axis for axis, extent in enumerate(middle.shape) if extent != 1]
    if [source.shape[axis] for axis in long_source] != [middle.shape[axis] for axis in long_middle]:
        return False
    order = iter([long_source[long_middle.index(axis)] for axis in positive(op.perm) if middle.shape[axis] != 1])
    perm = tuple(next(order) if extent != 1 else axis for axis, extent in enumerate(source.shape))
    moved = rewriter.insert(pd.TransposeOp(between.x, perm=perm))
    rewriter.replace(op, pd.ReshapeOp(moved, shape=kind.shape))
    return True


@canonicalization
@pattern(ElementwiseUnaryOp, pd.CastOp, pd.AddOp, pd.SubtractOp, pd.MultiplyOp, pd.DivideOp, pd.MaximumOp, pd.MinimumOp)
def elementwise_of_transpose(op: Operation, rewriter: Rewriter) -> bool:
    """f(transpose(x)) → transpose(f(x)) for an operation on one value, or on one and a splat of one element, when
    nothing else uses the transpose: it then meets what it can cancel against.
    """
    result = op.results[0].type
    if not isinstance(result, VTensorType):
        return False
    inner, operands = None, list(op.operands)
    for index, value in enumerate(op.operands):
        definer = value.defining_op
        if isinstance(definer, pd.TransposeOp) and inner is None and len(definer.perm) == result.rank:
            if not value.has_one_use or value.type.__class__ is not VTensorType:
                return False
            inner, operands[index] = definer, definer.x
        elif splat_value(value) is None or math.prod(_shape(value)) != 1:
            return False
    if inner is None:
        return False
    perm = positive(inner.perm)
    kind = result.with_shape(result.shape[axis] for axis in invert(perm))
    new = rewriter.insert(op.__class__.create(operands, [kind], op.attributes))
    rewriter.replace(op, pd.TransposeOp(new.results[0], perm=perm))
    return True
