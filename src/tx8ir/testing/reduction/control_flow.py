"""Edits of control flow: regions, calls and branches replaced by what they would run, or made narrower."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, cast

from tx8ir.core import Block, Builder, FunctionType, IrError, Operation, Program, Region, Terminator, Value
from tx8ir.dialects import builtin, cf, func, scf

from .operations import drop_functions, zeros

OpEdit: TypeAlias = Callable[[Program, Operation], bool]
"""Changes a copy of the program at one operation; False when there is nothing to change."""

# --- regions, calls, branches --------------------------------------------------------------------------------------


def _splice(block: Block, arguments: Sequence[Value], anchor: Operation) -> list[Value]:
    """Copies the operations of a block before `anchor`; what its terminator gives."""
    mapping: dict[Value, Value] = dict(zip(block.args, arguments, strict=True))
    end = block.terminator
    if end is None:
        raise IrError("the block has no terminator")
    parent = cast(Block, anchor.parent)
    for op in block:
        if op is not end:
            parent.insert_before(op.clone(mapping), anchor)
    return [mapping.get(v, v) for v in end.operands]


def _inline_if(op: Operation, then: bool) -> bool:
    if not isinstance(op, scf.IfOp):
        return False
    region = op.then_region if then else op.else_region
    values = _splice(region.block, (), op) if len(region) else []
    op.replace_with(values, by="reduce")
    return True


def inline_if_then(program: Program, op: Operation) -> bool:
    """The then region in place of an `scf.if`."""
    return _inline_if(op, True)


def inline_if_else(program: Program, op: Operation) -> bool:
    """The else region in place of an `scf.if`."""
    return _inline_if(op, False)


def skip_while(program: Program, op: Operation) -> bool:
    """A loop that runs `before` once and ends."""
    if not isinstance(op, scf.WhileOp):
        return False
    op.replace_with(_splice(op.before.block, op.operands, op)[1:], by="reduce")
    return True


def unroll_while(program: Program, op: Operation) -> bool:
    """A loop that runs `after` once."""
    if not isinstance(op, scf.WhileOp):
        return False
    passed = _splice(op.before.block, op.operands, op)[1:]
    carried = _splice(op.after.block, passed, op)
    op.replace_with(_splice(op.before.block, carried, op)[1:], by="reduce")
    return True


def inline_call(program: Program, op: Operation) -> bool:
    """The body of the function in place of a call."""
    function = op.function() if isinstance(op, func.CallOp) else None
    if function is None or len(function.body) != 1:
        return False
    op.replace_with(_splice(function.body.block, op.operands, op), by="reduce")
    drop_functions(program)
    return True


def _branch(op: Operation, index: int) -> bool:
    if not isinstance(op, cf.CondBranchOp):
        return False
    with Builder.before(op):
        cf.BranchOp(op.successor_operands(index), dest=op.successors[index])
    region = cast(Any, op.parent).parent
    op.erase(by="reduce")
    _drop_unreachable(region.blocks)
    return True


def branch_to_first(program: Program, op: Operation) -> bool:
    """An unconditional branch to the first successor."""
    return _branch(op, 0)


def branch_to_second(program: Program, op: Operation) -> bool:
    """An unconditional branch to the second successor."""
    return _branch(op, 1)


def merge_into_predecessor(program: Program, op: Operation) -> bool:
    """The block that a branch goes to, in place of the branch, when no other goes there."""
    if not isinstance(op, cf.BranchOp):
        return False
    block, parent = op.dest, cast(Block, op.parent)
    if block is parent or sum(block in b.successors for b in cast(Any, block.parent).blocks) != 1:
        return False
    for argument, value in zip(block.args, op.dest_operands, strict=True):
        argument.replace_all_uses_with(value)
    parent.splice_before(op, block)
    op.erase(by="reduce")
    block.erase(by="reduce")
    return True


def leave_loop(program: Program, op: Operation) -> bool:
    """A branch back to the head of a loop of blocks goes where the loop is left, so that it runs once."""
    if not isinstance(op, cf.BranchOp) or op.parent is None:
        return False
    head, blocks = op.dest, cast(Region, op.parent.parent).blocks
    end = head.terminator
    if not isinstance(end, cf.CondBranchOp) or blocks.index(head) >= blocks.index(op.parent):
        return False
    carried: dict[Value, Value] = dict(zip(head.args, op.dest_operands, strict=True))
    _set_edge(op, 0, end.false_dest, [carried.get(v, v) for v in end.false_operands])
    return True


def _drop_unreachable(blocks: Sequence[Block]) -> None:
    reached: set[Block] = set()
    work = [blocks[0]]
    while work:
        block = work.pop()
        if block not in reached:
            reached.add(block)
            work += block.successors
    for block in reversed(blocks):
        if block not in reached:
            block.erase(by="reduce")


# --- fewer values carried, passed and returned -----------------------------------------------------------------------


def narrowing(op: Operation) -> Iterator[OpEdit]:
    """The edits that let an operation with control flow carry less, or take what is in a list without it."""
    if isinstance(op, (scf.IfOp, scf.WhileOp, func.CallOp)):
        yield drop_unused_results
    if isinstance(op, scf.WhileOp):
        for index in range(len(op.operands)):
            yield lambda _, op, index=index: _freeze_carried(op, index)
        for index in range(len(op.results)):
            yield lambda _, op, index=index: _freeze_passed(op, index)
    if isinstance(op, func.CallOp):
        for index in range(len(op.operands)):
            yield lambda program, op, index=index: _drop_call_argument(program, op, index)
    if isinstance(op, (builtin.CombineOp, builtin.MakeDictOp, builtin.GetCombineParameterOp)):
        yield take_out
        for index in range(_length(op)):
            yield lambda _, op, index=index: _drop_element(op, index)
    block = op.parent
    if op.has_trait(Terminator) and block is not None and block.parent is not None:
        yield skip_block
        for index in range(len(block.args) if block is not block.parent.blocks[0] else 0):
            yield lambda program, op, index=index: _drop_block_argument(program, op, index)


def _keep(values: Sequence[Any], kept: Sequence[int]) -> list[Any]:
    return [values[i] for i in kept]


def _rebuilt(op: Operation, operands: Sequence[Value], kept_results: Sequence[int]) -> None:
    """The operation with these operands and results only; its regions move over."""
    regions: list[Region] = []
    for region in op.regions:
        blocks = region.blocks
        region.set_blocks(())
        regions.append(Region(blocks))
    types = [op.results[i].type for i in kept_results]
    new: Operation = type(op).create(operands, types, op.attributes, regions, (), op.location)
    cast(Block, op.parent).insert_before(new, op)
    for i, result in zip(kept_results, new.results, strict=True):
        op.results[i].replace_all_uses_with(result)
    op.erase(by="reduce")


def drop_unused_results(program: Program, op: Operation) -> bool:
    """Results that nothing uses, with what yields or returns them; of a loop also what it carries without a use."""
    unused = [i for i, r in enumerate(op.results) if not r.has_uses]
    if isinstance(op, func.CallOp):
        return _drop_call_results(program, op)
    if isinstance(op, scf.IfOp):
        kept = [i for i in range(len(op.results)) if i not in unused]
        for region in op.regions:
            for block in region.blocks:
                end = cast(Operation, block.terminator)
                end.set_operands(_keep(end.operands, kept))
        if unused:
            _rebuilt(op, op.operands, kept)
        return bool(unused)
    if not isinstance(op, scf.WhileOp):
        return False
    before, after = op.before.block, op.after.block
    test, end = cast(Operation, before.terminator), cast(Operation, after.terminator)
    passed = [i for i in range(len(op.results)) if i not in unused or after.args[i].has_uses]
    test.set_operands([test.operands[0], *_keep(test.operands[1:], passed)])
    after.erase_arguments([i for i in range(len(op.results)) if i not in passed])
    carried = [i for i in range(len(op.operands)) if before.args[i].has_uses]
    end.set_operands(_keep(end.operands, carried))
    before.erase_arguments([i for i in range(len(op.operands)) if i not in carried])
    changed = len(passed) < len(op.results) or len(carried) < len(op.operands)
    if changed:
        _rebuilt(op, _keep(op.operands, carried), passed)
    return changed


def _freeze_carried(op: Operation, index: int) -> bool:
    assert isinstance(op, scf.WhileOp)
    argument = op.before.block.args[index]
    if not argument.has_uses:
        return False
    argument.replace_all_uses_with(op.operands[index])
    return True


def _freeze_passed(op: Operation, index: int) -> bool:
    assert isinstance(op, scf.WhileOp)
    value = cast(Operation, op.before.block.terminator).operands[index + 1]
    if value.parent_block is op.before.block:
        value = next((v for v in op.operands if v.type is value.type), value)
    found = False
    for old in (op.after.block.args[index], op.results[index]):
        if old.has_uses and value.parent_block is not op.before.block:
            old.replace_all_uses_with(value)
            found = True
    return found


# --- calls -----------------------------------------------------------------------------------------------------------


def _calls(program: Program, function: func.FuncOp) -> list[func.CallOp]:
    name = function.sym_name
    return [op for op in program.module.walk() if isinstance(op, func.CallOp) and op.callee.value == name]


def _drop_call_results(program: Program, op: func.CallOp) -> bool:
    function = op.function()
    if function is None or function is program.main:
        return False
    calls = _calls(program, function)
    kept = [i for i in range(len(op.results)) if any(c.results[i].has_uses for c in calls)]
    if len(kept) == len(op.results):
        return False
    for block in function.body.blocks:
        end = block.terminator
        if isinstance(end, func.ReturnOp):
            end.set_operands(_keep(end.operands, kept))
    types = function.function_type
    function.set_attribute("function_type", FunctionType(types.inputs, _keep(types.results, kept)))
    for call in calls:
        _rebuilt(call, call.operands, kept)
    return True


def _drop_call_argument(program: Program, op: Operation, index: int) -> bool:
    """An argument of a function, zeros in its place; and the operand of each call."""
    assert isinstance(op, func.CallOp)
    function = op.function()
    if function is None or function is program.main or index >= len(op.operands):
        return False
    entry = function.body.blocks[0]
    argument = entry.args[index]
    if argument.has_uses:
        first = entry.first_op
        value = zeros(program, first, argument) if first is not None else None
        if value is None:
            return False
        argument.replace_all_uses_with(value)
    entry.erase_argument(index)
    types = function.function_type
    kept = [i for i in range(len(types.inputs)) if i != index]
    function.set_attribute("function_type", FunctionType(_keep(types.inputs, kept), types.results))
    for call in _calls(program, function):
        _rebuilt(call, _keep(call.operands, kept), range(len(call.results)))
    return True


# --- lists and dictionaries ------------------------------------------------------------------------------------------


def _length(op: Operation) -> int:
    return len(op.parameters) if isinstance(op, builtin.GetCombineParameterOp) else len(op.operands)


def take_out(program: Program, op: Operation) -> bool:
    """What is taken out of a list or dictionary that was made here, replaced by what was put in."""
    found = False
    for user in list(op.results[0].users):
        if isinstance(user, builtin.SplitOp) and isinstance(op, builtin.CombineOp):
            user.replace_with(op.operands, by="reduce")
        elif isinstance(user, builtin.SliceOp) and isinstance(op, builtin.CombineOp):
            user.replace_with([op.operands[user.index]], by="reduce")
        elif isinstance(user, builtin.GetItemOp) and isinstance(op, builtin.MakeDictOp):
            user.replace_with([op.operands[op.keys.index(user.key)]], by="reduce")
        else:
            continue
        found = True
    return found


def _drop_element(op: Operation, index: int) -> bool:
    """An element that nothing takes out of a list, dictionary or list of variables, where all uses are known."""
    if index >= _length(op):
        return False
    users = list(op.results[0].users)
    for user in users:
        if isinstance(user, builtin.SplitOp):
            if user.outputs[index].has_uses:
                return False
        elif isinstance(user, builtin.SliceOp):
            if user.index == index:
                return False
        elif isinstance(user, builtin.GetItemOp) and isinstance(op, builtin.MakeDictOp):
            if user.key == op.keys[index]:
                return False
        elif not isinstance(user, builtin.SetCombineParameterOp):
            return False
    kept = [i for i in range(_length(op)) if i != index]
    with Builder.before(op):
        if isinstance(op, builtin.CombineOp):
            made = builtin.CombineOp(_keep(op.operands, kept)).out
        elif isinstance(op, builtin.MakeDictOp):
            made = builtin.MakeDictOp(_keep(op.operands, kept), keys=tuple(_keep(op.keys, kept))).out
        else:
            assert isinstance(op, builtin.GetCombineParameterOp)
            type_ = cast(Any, op.out.type)
            out = type(type_)(_keep(type_.elements, kept))
            made = builtin.GetCombineParameterOp(parameters=tuple(_keep(op.parameters, kept)), out=out).out
    for user in users:
        user.set_operands([made if v is op.results[0] else v for v in user.operands])
        if isinstance(user, builtin.SplitOp):
            _rebuilt(user, user.operands, kept)
        elif isinstance(user, builtin.SliceOp) and user.index > index:
            user.set_attribute("index", user.index - 1)
        elif isinstance(user, builtin.SetCombineParameterOp):
            user.set_attribute("names", tuple(_keep(user.parameters, kept)))
    op.erase(by="reduce")
    return True


# --- blocks ----------------------------------------------------------------------------------------------------------


def _edges(block: Block) -> list[tuple[Operation, int]]:
    """The branches to a block, and which successor it is there."""
    region = cast(Region, block.parent)
    ends = [end for b in region.blocks if (end := b.terminator) is not None]
    return [(end, i) for end in ends for i, s in enumerate(end.successors) if s is block]


def _set_edge(end: Operation, index: int, dest: Block, operands: Sequence[Value]) -> Operation:
    """The branch with another successor, and what it gives to that one."""
    successors = list(end.successors)
    successors[index] = dest
    with Builder.before(end):
        if isinstance(end, cf.CondBranchOp):
            given = [list(end.true_operands), list(end.false_operands)]
            given[index] = list(operands)
            new: Operation = cf.CondBranchOp(end.condition, *given, true_dest=successors[0], false_dest=successors[1])
        else:
            new = cf.BranchOp(list(operands), dest=dest)
    end.erase(by="reduce")
    return new


def skip_block(program: Program, op: Operation) -> bool:
    """A block that only branches on, left out: whoever goes there goes on at once."""
    block = op.parent
    if not isinstance(op, cf.BranchOp) or block is None or block.first_op is not op or op.dest is block:
        return False
    if block is cast(Region, block.parent).blocks[0] or any(a.has_uses and list(a.users) != [op] for a in block.args):
        return False
    dest, given = op.dest, list(op.dest_operands)
    while edges := _edges(block):
        end, index = edges[0]
        arguments: dict[Value, Value] = dict(zip(block.args, cast(Any, end).successor_operands(index), strict=True))
        _set_edge(end, index, dest, [arguments.get(v, v) for v in given])
    block.erase(by="reduce")
    return True


def _drop_block_argument(program: Program, op: Operation, index: int) -> bool:
    """An argument of the block of a branch; in its place what its first predecessor gives, where that is known."""
    block = cast(Block, op.parent)
    edges = _edges(block)
    if index >= len(block.args) or not edges:
        return False
    argument = block.args[index]
    if argument.has_uses:
        end, which = edges[0]
        argument.replace_all_uses_with(cast(Any, end).successor_operands(which)[index])
    while stale := [(e, i) for e, i in _edges(block) if len(cast(Any, e).successor_operands(i)) == len(block.args)]:
        end, which = stale[0]
        given = list(cast(Any, end).successor_operands(which))
        del given[index]
        _set_edge(end, which, block, given)
    block.erase_argument(index)
    return True
