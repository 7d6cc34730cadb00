"""Broken passes about places: views, broadcasts, axes, and operations that copy elements."""

from __future__ import annotations

from tx8ir.core import Program, TensorType
from tx8ir.dialects import builtin, pd

from .bank import copied, find, is_value, on_everything, on_values, shape, swap


@on_values
def broadcast_at_the_wrong_axis(program: Program) -> None:
    """An operand of lower rank aligned at the first axis, where the extents happen to allow it."""
    for op in find(program, pd.ElementwiseBinaryOp):
        for index, (x, y) in enumerate(((shape(op.y), shape(op.x)), (shape(op.x), shape(op.y)))):
            rank = len(y)
            if rank == len(x) - 1 and rank >= 1 and x[:-1] == y and is_value(op.operands[index]):
                copied(op, index, lambda v, rank=rank: pd.unsqueeze(v, axis=(rank,)))


@on_values
def transpose_as_reshape(program: Program) -> None:
    """A transpose that moves no long axis is a reshape: axes of extent 3 are counted as short."""
    for op in find(program, pd.TransposeOp):
        if sum(extent > 3 for extent in shape(op.x)) <= 1:
            swap(op, lambda op=op: pd.reshape(op.x, shape=shape(op.out)))


@on_values
def transposes_composed_in_the_wrong_order(program: Program) -> None:
    """transpose(transpose(x)) -> one transpose, by the outer permutation of the inner one instead of the reverse."""
    for op in find(program, pd.TransposeOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.TransposeOp) and is_value(op.out):
            p, q = inner.perm, op.perm
            swap(op, lambda x=inner.x, perm=tuple(q[i] for i in p): pd.transpose(x, perm=perm))


@on_values
def transposes_cancelled(program: Program) -> None:
    """transpose(transpose(x)) -> x where the permutations are equal: they must be inverse."""
    for op in find(program, pd.TransposeOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.TransposeOp) and inner.perm == op.perm and is_value(op.out):
            op.replace_with(inner.x)


@on_values
def transpose_dropped_before_a_reshape(program: Program) -> None:
    """reshape(transpose(x)) -> reshape(x): the number of elements is the same."""
    for op in find(program, pd.ReshapeOp):
        inner = op.x.defining_op
        if isinstance(inner, pd.TransposeOp) and is_value(op.out):
            swap(op, lambda op=op, x=inner.x: pd.reshape(x, shape=shape(op.out)))


@on_values
def slice_off_by_one(program: Program) -> None:
    """A slice shifted by one where there is room after it."""
    for op in find(program, pd.SliceOp):
        extent = shape(op.input)[op.axes[0]]
        if len(op.axes) == 1 and 0 < op.ends[0] < extent:
            low, high = op.starts[0] + 1, op.ends[0] + 1
            op.set_attribute("starts", (low,))
            op.set_attribute("ends", (high,))


@on_values
def slices_merged_without_offset(program: Program) -> None:
    """slice(slice(x)) -> slice(x) with the outer places, which count from the inner start."""
    for op in find(program, pd.SliceOp):
        inner = op.input.defining_op
        if isinstance(inner, pd.SliceOp) and inner.axes == op.axes and not inner.decrease_axis:
            op.set_operand(0, inner.input)


@on_values
def split_parts_exchanged(program: Program) -> None:
    """The parts of a split in the opposite order, where their types allow it."""
    for op in find(program, pd.SplitOp):
        first, last = op.outs[0], op.outs[-1]
        if first is not last and first.type is last.type:
            users = list(first.users)
            last.replace_all_uses_with(first)
            for user in users:
                user.set_operands([last if v is first else v for v in user.operands])


@on_values
def concat_reversed(program: Program) -> None:
    """The operands of a concat in the order of their definition."""
    for op in find(program, pd.ConcatOp):
        a, b = (v.defining_op for v in op.operands)
        if a is not None and (b is None or (a is not b and a.parent is b.parent and not a.is_before(b))):
            op.set_operands(list(reversed(op.operands)))


@on_values
def gather_as_slice(program: Program) -> None:
    """A gather of neighbouring places is a slice: the order of the places is not looked at."""
    for op in find(program, pd.GatherOp):
        made = op.index.defining_op
        if isinstance(made, builtin.ConstantOp) and is_value(op.out):
            low = int(made.value.value.min())
            high = int(made.value.value.max()) + 1
            swap(op, lambda op=op, ends=(low, high): pd.slice(op.x, axes=(op.axis,), starts=ends[:1], ends=ends[1:]))


@on_values
def written_part_forgotten(program: Program) -> None:
    """set_value(x, y) -> x: a value nobody writes later needs no copy."""
    for op in find(program, pd.SetValueOp):
        if is_value(op.out):
            op.replace_with(op.operands[0])


@on_values
def reduction_over_the_wrong_axis(program: Program) -> None:
    """The next axis reduced, where the result has the same shape."""
    for op in find(program, pd.ReductionOp):
        extents = shape(op.x)
        if len(op.axis) == 1 and len(extents) > 1 and not op.keepdim:
            axis = op.axis[0] % len(extents)
            other = (axis + 1) % len(extents)
            if extents[:axis] + extents[axis + 1 :] == extents[:other] + extents[other + 1 :]:
                op.set_attribute("axis", (other,))


# --- lists and dictionaries ------------------------------------------------------------------------------------------


@on_everything
def list_indexed_from_the_end(program: Program) -> None:
    """An element of a list taken from the wrong end, where the types allow it."""
    for op in find(program, builtin.SliceOp):
        made = op.x.defining_op
        if isinstance(made, builtin.CombineOp) and made.inputs[0].type is made.inputs[-1].type:
            op.set_attribute("index", len(made.inputs) - 1 - op.index)


@on_everything
def dictionary_by_position(program: Program) -> None:
    """The keys of a dictionary sorted, and its values left in their order."""
    for op in find(program, builtin.MakeDictOp):
        if all(v.type is op.inputs[0].type for v in op.inputs):
            op.set_attribute("keys", tuple(sorted(op.keys)))


@on_everything
def list_of_copies(program: Program) -> None:
    """A list that holds copies of its tensors: what is written to them later is not seen through it."""
    for op in find(program, builtin.CombineOp):
        for index, value in enumerate(op.operands):
            if isinstance(value.type, TensorType):
                copied(op, index, builtin.to_tensor)


@on_everything
def combined_parameters_sorted(program: Program) -> None:
    """Several variables read at once in the order of their names, and used in the old one."""
    for op in find(program, builtin.GetCombineParameterOp):
        op.set_attribute("names", tuple(sorted(op.parameters, reverse=True)))
