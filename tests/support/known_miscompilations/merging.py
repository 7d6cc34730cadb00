"""Broken passes that merge, drop and move operations: across writes, without looking inside, or out of order."""

from __future__ import annotations

import numpy as np

from tx8ir.core import (
    Block,
    ConstantLike,
    HasValueSemantics,
    Operation,
    Program,
    Pure,
    TensorType,
    Value,
)
from tx8ir.dialects import builtin, func, pd, scf

from .bank import find, is_value, on_everything, on_everything_invalid, on_values, same_key, swap


def _blocks(program: Program) -> list[Block]:
    return list(dict.fromkeys(op.parent for op in program.module.walk() if op.parent is not None))


def _merge(seen: dict[tuple[object, ...], Operation], key: tuple[object, ...], op: Operation) -> None:
    earlier = seen.setdefault(key, op)
    if earlier is not op:
        op.replace_with(earlier.results)


def _has_used_results(op: Operation) -> bool:
    return any(r.has_uses for r in op.results)


# --- merging ---------------------------------------------------------------------------------------------------------


@on_values
def cse_without_attributes(program: Program) -> None:
    """Equal operations are those with the same name, operands and types."""
    for block in _blocks(program):
        seen: dict[tuple[object, ...], Operation] = {}
        for op in list(block):
            if op.has_trait(Pure) and not op.regions and not op.has_trait(ConstantLike) and op.operands:
                _merge(seen, (op.name, *op.operands, *(r.type for r in op.results)), op)


@on_values
def cse_commutes_everything(program: Program) -> None:
    """Equal operations are those with the same operands in any order."""
    for block in _blocks(program):
        seen: dict[tuple[object, ...], Operation] = {}
        for op in list(block):
            if op.has_trait(Pure) and len(op.operands) == 2:
                _merge(seen, (*same_key(op), frozenset(op.operands)), op)


@on_everything
def cse_across_mutation(program: Program) -> None:
    """Equal reads of storage merged, though it is written between them."""
    for block in _blocks(program):
        seen: dict[tuple[object, ...], Operation] = {}
        for op in list(block):
            if op.operands and (op.has_trait(HasValueSemantics) or isinstance(op, builtin.ToVTensorOp)):
                _merge(seen, (*same_key(op), *op.operands), op)


@on_everything_invalid
def cse_across_blocks(program: Program) -> None:
    """Equal operations of different blocks merged, whether one runs before the other or not."""
    seen: dict[tuple[object, ...], Operation] = {}
    for op in list(program.module.walk()):
        if op.has_trait(Pure) and op.operands and op.parent is not None and is_value(*op.results):
            _merge(seen, (*same_key(op), *op.operands), op)


@on_everything
def parameter_reads_merged(program: Program) -> None:
    """Equal reads of a variable merged, though it is written between them."""
    for block in _blocks(program):
        seen: dict[tuple[object, ...], Operation] = {}
        for op in list(block):
            if isinstance(op, builtin.GetParameterOp):
                _merge(seen, same_key(op), op)


@on_everything
def calls_merged(program: Program) -> None:
    """Equal calls merged, though the function reads or writes variables and storage."""
    for block in _blocks(program):
        seen: dict[tuple[object, ...], Operation] = {}
        for op in list(block):
            if isinstance(op, func.CallOp):
                _merge(seen, (*same_key(op), *op.operands), op)


@on_everything
def copies_merged(program: Program) -> None:
    """Equal copies merged: two storages become one."""
    for block in _blocks(program):
        seen: dict[tuple[object, ...], Operation] = {}
        for op in list(block):
            if isinstance(op, builtin.ToTensorOp):
                _merge(seen, (*same_key(op), *op.operands), op)


@on_everything
def feeds_merged(program: Program) -> None:
    """Feeds of one type are one: the name is taken for a runtime attribute."""
    seen: dict[tuple[object, ...], Operation] = {}
    for op in find(program, pd.FeedOp):
        op.out.replace_all_uses_with(seen.setdefault((op.out.type,), op).results[0])


# --- dropping --------------------------------------------------------------------------------------------------------


@on_everything
def dead_set_parameter(program: Program) -> None:
    """An operation without results is dead."""
    for op in find(program, builtin.SetParameterOp):
        op.erase()


@on_everything
def dead_set_combine_parameter(program: Program) -> None:
    """As the one before, of several variables at once."""
    for op in find(program, builtin.SetCombineParameterOp):
        op.erase()


@on_everything
def dead_fetch(program: Program) -> None:
    """Fetches of values that are results, too, dropped with their names."""
    for op in find(program, pd.FetchOp):
        if len(list(op.x.users)) > 1:
            op.erase()


@on_everything
def dead_store_that_was_read(program: Program) -> None:
    """A write of a variable before another one is dead: reads between them are not looked for."""
    for block in _blocks(program):
        later: set[str] = set()
        for op in reversed(list(block)):
            if isinstance(op, builtin.SetParameterOp):
                if op.parameter in later:
                    op.erase()
                else:
                    later.add(op.parameter)


@on_everything
def dead_in_place_operation(program: Program) -> None:
    """An operation whose result nobody uses is dead."""
    for op in reversed(list(find(program, pd.InplaceOp))):
        if not _has_used_results(op):
            op.erase()


@on_everything
def write_under_a_partial_write_dropped(program: Program) -> None:
    """A write is dead when the same storage is written next: also when only a part of it is."""
    for op in find(program, pd.InplaceOp):
        following = op.next_op
        if isinstance(following, pd.InplaceOp) and following.operands[0] in (op.operands[0], op.results[0]):
            op.replace_with(op.operands[0])


@on_everything
def effectful_if_dropped(program: Program) -> None:
    """An `scf.if` without used results is dead, whatever it does inside."""
    for op in reversed(list(find(program, scf.IfOp))):
        if not _has_used_results(op):
            op.erase()


@on_everything
def effectful_loop_dropped(program: Program) -> None:
    """A loop without used results is dead."""
    for op in reversed(list(find(program, scf.WhileOp))):
        if not _has_used_results(op):
            op.erase()


@on_everything
def dead_call_dropped(program: Program) -> None:
    """A call without used results is dead."""
    for op in reversed(list(find(program, func.CallOp))):
        if not _has_used_results(op):
            op.erase()


# --- moving ----------------------------------------------------------------------------------------------------------


@on_everything
def read_moved_past_a_write(program: Program) -> None:
    """A snapshot taken where it is first used."""
    for op in find(program, builtin.ToVTensorOp):
        users = [u for u in op.out.users if u.parent is op.parent]
        if users and len(users) == op.out.num_uses:
            first = users[0]
            for user in users:
                first = user if user.is_before(first) else first
            op.move_before(first)


@on_everything
def write_moved_to_the_end(program: Program) -> None:
    """Writes of variables gathered at the end of the block, in the opposite order."""
    for block in _blocks(program):
        for op in reversed([op for op in block if isinstance(op, builtin.SetParameterOp)]):
            assert block.terminator is not None
            op.move_before(block.terminator)


@on_everything
def parameter_reads_moved_to_the_front(program: Program) -> None:
    """Variables read at the beginning of the function, all at once."""
    for op in find(program, builtin.GetParameterOp):
        first = None if op.parent is None else op.parent.first_op
        if first is not None and first is not op and is_value(op.out):
            op.move_before(first)


def _hoisted(program: Program, kind: type[Operation]) -> None:
    """Loop-invariant motion of what is pure, and of operations of that kind, which are not."""
    for loop in find(program, scf.WhileOp):
        inside = {op.parent for op in loop.walk() if op is not loop}
        for region in loop.regions:
            for op in list(region.block):
                moves = isinstance(op, kind) or op.has_trait(Pure)
                if moves and is_value(*op.results) and not any(v.parent_block in inside for v in op.operands):
                    op.move_before(loop)


@on_everything
def read_hoisted_out_of_a_loop(program: Program) -> None:
    """A read of a variable has no operands, so it is the same in every round: though the loop writes it."""
    _hoisted(program, builtin.GetParameterOp)


@on_everything
def write_hoisted_out_of_a_loop(program: Program) -> None:
    """A write of a value from outside is the same in every round: but there may be no round."""
    _hoisted(program, builtin.SetParameterOp)


# --- variables as constants ------------------------------------------------------------------------------------------


@on_everything
def mutable_parameter_folded(program: Program) -> None:
    """Every variable is what it is when compiling."""
    for op in find(program, builtin.GetParameterOp):
        if is_value(op.out):
            data = np.array(program.weights[op.parameter].numpy())
            swap(op, lambda d=data: builtin.ConstantOp(value=d))  # pyright: ignore[reportArgumentType]  converted


def _forwarded(program: Program, forgets: type[Operation]) -> None:
    for block in _blocks(program):
        known: dict[str, Value] = {}
        for op in list(block):
            if isinstance(op, builtin.SetParameterOp):
                known[op.parameter] = op.value
            elif isinstance(op, builtin.GetParameterOp) and op.parameter in known:
                if known[op.parameter].type is op.out.type and is_value(op.out):
                    op.replace_with(known[op.parameter])
            elif isinstance(op, forgets):
                known.clear()


@on_everything
def read_forwarded_past_control_flow(program: Program) -> None:
    """A read gives what was last written in its block: branches, loops and calls between are not looked into."""
    _forwarded(program, pd.InplaceOp)


@on_everything
def read_forwarded_past_an_alias(program: Program) -> None:
    """As the one before; the variable is written through a tensor that shares its storage."""
    for block in _blocks(program):
        known: dict[str, Operation] = {}
        for op in list(block):
            if isinstance(op, (builtin.SetParameterOp, scf.IfOp, scf.WhileOp, func.CallOp)):
                known.clear()
            elif isinstance(op, builtin.GetParameterOp) and is_value(op.out):
                earlier = known.setdefault(op.parameter, op)
                if earlier is not op:
                    op.replace_with(earlier.results)


@on_everything
def startup_values_read_as_zeros(program: Program) -> None:
    """A variable that the program writes has no value before: but the store has one."""
    written = {op.parameter for op in find(program, builtin.SetParameterOp)}
    for op in find(program, builtin.GetParameterOp):
        if op.parameter in written and is_value(op.out):
            type_ = program.weights[op.parameter].type
            swap(op, lambda t=type_: pd.full(shape=t.shape, value=0.0, dtype=t.element))
            return


# --- storage ---------------------------------------------------------------------------------------------------------


@on_everything
def write_back_dropped(program: Program) -> None:
    """foo_ -> foo: later users of the result are right, aliases of the storage are stale."""
    for op in find(program, pd.InplaceOp):
        made = op.counterpart.create(op.value_operands(op.operands), [op.results[0].type], attributes=op.attributes)
        assert op.parent is not None
        op.parent.insert_before(made, op)
        op.replace_with(made)


@on_everything
def base_of_a_view_left_stale(program: Program) -> None:
    """A view of storage made a copy: what is written through it never reaches the base."""
    for op in find(program, pd.ViewOp):
        if isinstance(op.operands[0].type, TensorType):
            made = builtin.ToTensorOp.create([op.operands[0]], [op.operands[0].type])
            assert op.parent is not None
            op.parent.insert_before(made, op)
            op.set_operand(0, made.results[0])


@on_everything
def copy_folded_away(program: Program) -> None:
    """to_tensor of a tensor -> the tensor itself, though one of both is written later."""
    for op in find(program, builtin.ToTensorOp):
        if op.x.type is op.out.type:
            op.replace_with(op.x)


@on_everything
def copy_pair_cancelled(program: Program) -> None:
    """to_tensor(to_vtensor(x)) -> x: two storages become one."""
    for op in find(program, builtin.ToTensorOp):
        inner = op.x.defining_op
        if isinstance(inner, builtin.ToVTensorOp) and inner.x.type is op.out.type:
            op.replace_with(inner.x)


@on_everything
def assignment_as_alias(program: Program) -> None:
    """assign(x) -> x of tensors: the copy is what it is for."""
    for op in find(program, pd.AssignOp):
        if isinstance(op.out.type, TensorType):
            op.replace_with(op.x)


@on_everything
def in_place_on_a_live_operand(program: Program) -> None:
    """Foo -> foo_ where the type fits, though others still read the operand."""
    for op in list(program.module.walk()):
        form = pd.inplace_form(type(op))
        fits = form is not None and op.parent is not None and isinstance(op.results[0].type, TensorType)
        if form is not None and fits and op.operands[0].type is op.results[0].type:
            new = form.create(op.operands, [op.results[0].type], attributes=op.attributes)
            assert op.parent is not None
            op.parent.insert_before(new, op)
            op.replace_with(new)
