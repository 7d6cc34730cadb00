"""Broken passes about control flow: branches, loops, blocks and calls."""

from __future__ import annotations

from tx8ir.core import Branch, Builder, Operation, Program, TensorType, Value, i1
from tx8ir.dialects import builtin, cf, func, pd, scf

from .bank import copied, find, is_value, on_everything


@on_everything
def condition_taken_for_true(program: Program) -> None:
    """The else region of an `if` dropped."""
    for op in find(program, scf.IfOp):
        copied(op, 0, lambda _: pd.full(shape=(), value=1.0, dtype=i1))


@on_everything
def both_branches_run(program: Program) -> None:
    """An `if` made a selection: the effects of both regions happen."""
    for op in reversed(list(find(program, scf.IfOp))):
        if op.parent is None or not len(op.else_region) or not is_value(*op.results):
            continue
        given: list[tuple[Value, ...]] = []
        for region in op.regions:
            end = region.block.terminator
            assert end is not None
            given.append(tuple(end.operands))
            for inner in list(region.block):
                if inner is not end:
                    inner.move_before(op)
        with Builder.before(op):
            condition = pd.reshape(builtin.to_vtensor(op.condition).out, shape=()).out
            chosen = [pd.where(condition, x, y).out for x, y in zip(*given, strict=True)]
        op.replace_with(chosen)


@on_everything
def yields_of_a_branch_exchanged(program: Program) -> None:
    """The results of an `if` in the order in which they were found, for the second region another one."""
    for op in find(program, scf.IfOp):
        if len(op.results) == 2 and op.results[0].type is op.results[1].type:
            end = op.else_region.block.terminator
            assert end is not None
            end.set_operands(list(reversed(end.operands)))


@on_everything
def loop_carried_value_forgotten(program: Program) -> None:
    """A loop-carried value taken for the first one: its argument replaced by the operand."""
    for op in find(program, scf.WhileOp):
        for argument, init in list(zip(op.before.block.args, op.operands, strict=True))[1:]:
            argument.replace_all_uses_with(init)


@on_everything
def loop_carried_alias_forgotten(program: Program) -> None:
    """A loop given a copy of a tensor: what it writes stays inside."""
    for op in find(program, scf.WhileOp):
        for index, value in enumerate(op.operands):
            if isinstance(value.type, TensorType):
                copied(op, index, builtin.to_tensor)


@on_everything
def loop_values_assigned_one_by_one(program: Program) -> None:
    """What a loop carries assigned in order, not at once: the second of two exchanged values gets the new first."""
    for op in find(program, scf.WhileOp):
        end, arguments = op.after.block.terminator, op.after.block.args
        assert end is not None
        given = list(end.operands)
        for index, value in enumerate(given):
            earlier = next((k for k in range(index) if value is arguments[k]), None)
            if earlier is not None and given[earlier].type is value.type:
                given[index] = given[earlier]
        end.set_operands(given)


@on_everything
def loop_peeled_once_too_often(program: Program) -> None:
    """The bound of a loop lowered by one."""
    for op in find(program, scf.WhileOp):
        for inner in op.before.block:
            if isinstance(inner, pd.LessThanOp) and inner.x is op.before.block.args[0]:
                bound = inner.y.defining_op
                if isinstance(bound, pd.FullOp) and bound.value > 1:
                    bound.set_attribute("value", bound.value - 1)


@on_everything
def loop_run_at_least_once(program: Program) -> None:
    """A loop rotated without the test before it."""
    for op in find(program, scf.WhileOp):
        for inner in op.before.block:
            if isinstance(inner, pd.LessThanOp) and inner.x is op.before.block.args[0]:
                bound = inner.y.defining_op
                if isinstance(bound, pd.FullOp) and bound.value == 0:
                    bound.set_attribute("value", 1.0)


@on_everything
def loop_results_before_the_last_test(program: Program) -> None:
    """The results of a loop taken from its operands when the first test fails at once."""
    for op in find(program, scf.WhileOp):
        end = op.before.block.terminator
        assert isinstance(end, scf.ConditionOp)
        for index, value in enumerate(end.values):
            init = op.operands[index] if index < len(op.operands) else None
            if index and value.defining_op is None and init is not None and init.type is op.results[index].type:
                op.results[index].replace_all_uses_with(init)


# --- blocks ----------------------------------------------------------------------------------------------------------


@on_everything
def branch_to_the_wrong_block(program: Program) -> None:
    """The successors of a branch exchanged."""
    for op in find(program, cf.CondBranchOp):
        if not op.true_operands and not op.false_operands:
            first, second = op.successors
            op.set_successor(0, second)
            op.set_successor(1, first)


@on_everything
def block_argument_of_one_predecessor(program: Program) -> None:
    """The argument of a join replaced by what its first predecessor gives, though it has another."""
    for function in find(program, func.FuncOp):
        for block in function.body.blocks[1:]:
            sources = [b for b in function.body.blocks if b.terminator and block in b.terminator.successors]
            if len(sources) < 2 or function.body.blocks.index(sources[-1]) > function.body.blocks.index(block):
                continue
            given = _given(sources[0].terminator, block)
            for argument, value in zip(block.args, given or (), strict=bool(given)):
                if isinstance(value.owner, Operation) and value.owner.parent is function.body.block:
                    argument.replace_all_uses_with(value)


def _given(end: Operation | None, block: object) -> tuple[Value, ...] | None:
    branch = end.interface(Branch) if end is not None else None
    if end is None or branch is None or block not in end.successors:
        return None
    return tuple(branch.successor_operands(end.successors.index(block)))  # pyright: ignore[reportArgumentType]  found


# --- calls -----------------------------------------------------------------------------------------------------------


@on_everything
def inlined_with_swapped_arguments(program: Program) -> None:
    """A call given its arguments in the wrong order where their types allow it."""
    for op in find(program, func.CallOp):
        if len(op.operands) == 2 and op.operands[0].type is op.operands[1].type:
            op.set_operands(list(reversed(op.operands)))


@on_everything
def call_arguments_copied(program: Program) -> None:
    """A function inlined on copies of its tensor arguments."""
    for op in find(program, func.CallOp):
        for index, value in enumerate(op.operands):
            if isinstance(value.type, TensorType):
                copied(op, index, builtin.to_tensor)


@on_everything
def returned_argument_replaced_by_the_operand(program: Program) -> None:
    """A result of a call that is an argument of the function: copied, though the tensor is the caller's."""
    for op in find(program, func.CallOp):
        for result in op.results:
            if isinstance(result.type, TensorType) and result.has_uses:
                with Builder.after(op):
                    copy = builtin.to_tensor(result)
                for user in list(result.users):
                    if user is not copy:
                        user.set_operands([copy.out if v is result else v for v in user.operands])
