"""Delta debugging of programs: the smallest program found that still fails.

`reduce_program(program, fails)` tries smaller and smaller edits, each on a copy: fewer results, regions replaced by
what is inside them, operations dropped in chunks and then one by one (their results replaced by an operand, an argument
or a constant), fewer arguments and functions, smaller extents. An edit stays when the program is still valid and
`fails` still holds. It ends when no edit is left that does, so the result is minimal with respect to these edits.

After Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (IEEE TSE 28, 2002), with the
replacements of llvm-reduce and mlir-reduce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    IrError,
    Operation,
    Program,
    RankedTensor,
    Symbol,
    TensorType,
    Terminator,
    Value,
    detached,
)
from tx8ir.dialects import builtin, cf, func, scf

from .shrink_extents import extents, replace_extent

Edit: TypeAlias = Callable[[Program], bool]
"""Changes a copy of the program; False when there is nothing to change."""


def count_operations(program: Program) -> int:
    """How many operations a reader sees: all but the module, its functions and their returns."""
    hidden = (builtin.ModuleOp, func.FuncOp, func.ReturnOp)
    return sum(not isinstance(op, hidden) for op in program.module.walk())


ReductionProgress: TypeAlias = Callable[[int, int], object]
"""Told of each smaller program that still fails: its operations, and how many programs were tried so far."""


def reduce_program(
    program: Program,
    fails: Callable[[Program], bool],
    *,
    max_trials: int = 1500,
    progress: ReductionProgress | None = None,
) -> Program:
    """A copy of `program`, reduced as far as `fails` still holds; with public names for all arguments and results.

    Args:
        program: a program that fails. It is not changed.
        fails: told of a valid program; whether it fails in the way that is looked for. What it raises counts as no.
        max_trials: how often `fails` is asked at most.
        progress: told of each step.
    """
    start = program.clone()
    main = start.main
    main.set_attribute("arg_names", tuple(start.inputs))
    main.set_attribute("result_names", tuple(start.outputs))
    return _Reduction(start, fails, max_trials, progress).run()


class _Reduction:
    def __init__(
        self,
        program: Program,
        fails: Callable[[Program], bool],
        max_trials: int,
        progress: ReductionProgress | None,
    ) -> None:
        self.program = program
        self.fails = fails
        self.max_trials = self.trials_left = max_trials
        self.progress = progress

    def run(self) -> Program:
        steps = (
            self.fewer_results,
            self.fewer_operations,
            self.flatter,
            self.simpler_operations,
            self.fewer_arguments,
            self.smaller_extents,
        )
        size = -1
        while size != (size := len(str(self.program))) and self.trials_left > 0:
            for step in steps:
                step()
        return self.program

    def attempt(self, edit: Edit, *, flattens: bool = False, drops: bool = False) -> bool:
        """Keeps the edit of a copy if that is valid and still fails.

        With `flattens` it must leave less control flow and may add a few operations, else it may add none; with `drops`
        it must leave fewer.
        """
        if self.trials_left <= 0:
            return False
        candidate = self.program.clone()
        try:
            with detached():
                if not edit(candidate):
                    return False
            if flattens and not _control(candidate) < _control(self.program):
                return False
            if count_operations(candidate) > count_operations(self.program) + _SLACK * flattens - drops:
                return False
            candidate.verify()
        except IrError:
            return False
        self.trials_left -= 1
        try:
            failing = self.fails(candidate)
        except Exception:  # another failure than the one looked for
            return False
        if failing:
            self.program = candidate
            if self.progress is not None:
                self.progress(count_operations(candidate), self.max_trials - self.trials_left)
        return failing

    # --- the steps -------------------------------------------------------------------------------------------------

    def fewer_results(self) -> None:
        """One result alone, else without each in turn; none at all where only effects matter."""
        count = len(self.program.outputs)
        if not count or self.attempt(lambda p: keep_results(p, ())):
            return
        if any(self.attempt(lambda p, i=i: keep_results(p, (i,))) for i in range(count) if count > 1):
            return
        for i in reversed(range(count)):
            kept = [k for k in range(len(self.program.outputs)) if k != i]
            self.attempt(lambda p, kept=kept: keep_results(p, kept))

    def flatter(self) -> None:
        """Regions, calls and branches replaced by what they would run."""
        edits = (inline_if_then, inline_if_else, skip_while, unroll_while, inline_call, branch_to_first,
                 branch_to_second, merge_into_predecessor)  # fmt: skip
        position = 0
        while position < len(ops := list(self.program.module.walk())):
            kind = ops[position]
            if not kind.regions and not kind.successors and not isinstance(kind, func.CallOp):
                position += 1
                continue
            if not any(self.attempt(_at(position, edit), flattens=True) for edit in edits):
                position += 1

    def fewer_operations(self) -> None:
        """Chunks of operations dropped, from halves down to single ones, the last first."""
        size = max(1, count_operations(self.program) // 2)
        while True:
            end = len(list(self.program.module.walk()))
            while end > 0:
                start = max(0, end - size)
                self.attempt(lambda p, start=start, end=end: _drop(p, start, end), drops=True)
                end = min(start, len(list(self.program.module.walk())))
            if size == 1:
                return
            size //= 2

    def simpler_operations(self) -> None:
        """Single operations replaced by each operand, by an argument, and by constants."""
        position = 0
        while position < len(ops := list(self.program.module.walk())):
            op = ops[position]
            if op.regions or op.has_trait(Terminator) or not op.results or isinstance(op, _LEAVES):
                position += 1
                continue
            choices = [_operand_number(k) for k in range(len(op.operands))] + [_new_argument, _zeros, _ones]
            if not any(self.attempt(_at(position, _replacing(choice))) for choice in choices):
                position += 1

    def fewer_arguments(self) -> None:
        """Arguments of `main`, other functions and variables that nothing uses dropped."""
        self.attempt(_drop_functions)
        self.attempt(_drop_variables)
        for index in reversed(range(len(self.program.inputs))):
            self.attempt(lambda p, index=index: _drop_argument(p, index))

    def smaller_extents(self) -> None:
        """Each extent replaced, everywhere, by 1, or else by 2."""
        for extent in sorted(extents(self.program), reverse=True):
            for smaller in (1, 2):
                if smaller < extent and self.attempt(lambda p, e=extent, s=smaller: replace_extent(p, e, s)):
                    break


_SLACK = 10
"""How many operations the copy of a body may add."""


def _control(program: Program) -> int:
    """How many operations have regions, go to other blocks or call."""
    return sum(bool(op.regions or op.successors) or isinstance(op, func.CallOp) for op in program.module.walk())


_LEAVES = (builtin.ConstantOp, builtin.GetParameterOp)


def _at(position: int, edit: Callable[[Program, Operation], bool]) -> Edit:
    """The edit, of the operation at a position of the walk."""

    def apply(program: Program) -> bool:
        for number, op in enumerate(program.module.walk()):
            if number == position:
                return edit(program, op)
        return False

    return apply


# --- results, arguments, functions, variables ----------------------------------------------------------------------


def keep_results(program: Program, kept: Sequence[int]) -> bool:
    """Leaves only the results of `main` with these numbers."""
    main = program.main
    names = tuple(program.outputs)
    for block in main.body.blocks:
        end = block.terminator
        if isinstance(end, func.ReturnOp):
            if len(end.operands) != len(names):
                return False  # a backend graph gives one tuple
            end.set_operands([end.operands[i] for i in kept])
    types = main.function_type.results
    main.set_attribute("function_type", FunctionType(main.function_type.inputs, tuple(types[i] for i in kept)))
    main.set_attribute("result_names", tuple(names[i] for i in kept))
    return True


def _drop_argument(program: Program, index: int) -> bool:
    main = program.main
    block: Block = main.body.block
    if block.args[index].has_uses:
        return False
    names = list(program.inputs)
    del names[index]
    block.erase_argument(index)
    main.set_attribute("function_type", FunctionType([a.type for a in block.args], main.function_type.results))
    main.set_attribute("arg_names", tuple(names))
    return True


def _drop_functions(program: Program) -> bool:
    called = {op.callee.value for op in program.module.walk() if isinstance(op, func.CallOp)}
    unused = [
        op for op in program.body if op.has_trait(Symbol) and op.attributes["sym_name"].value not in ("main", *called)
    ]
    for op in unused:
        op.erase(by="reduce")
    return bool(unused)


def _drop_variables(program: Program) -> bool:
    used: set[str] = set()
    for op in program.module.walk():
        name = op.attributes.get("name")
        if name is not None:
            used.add(cast(str, name.value))
    unused = [name for name in program.weights if name not in used]
    for name in unused:
        del program.weights[name]
    return bool(unused)


# --- operations ----------------------------------------------------------------------------------------------------

Choice: TypeAlias = Callable[[Program, Operation, Value], "Value | None"]
"""Something else for a result of an operation, made in front of it; None where there is nothing."""


def _operand_number(k: int) -> Choice:
    def choose(program: Program, op: Operation, result: Value) -> Value | None:
        value = op.operands[k] if k < len(op.operands) else None
        return value if value is not None and value.type is result.type else None

    return choose


def _any_operand(program: Program, op: Operation, result: Value) -> Value | None:
    return next((v for v in op.operands if v.type is result.type), None)


def _any_argument(program: Program, op: Operation, result: Value) -> Value | None:
    if not isinstance(op.parent_op, func.FuncOp):
        return None
    return next((a for a in op.parent_op.body.block.args if a.type is result.type), None)


def _new_argument(program: Program, op: Operation, result: Value) -> Value | None:
    main = program.main
    if not isinstance(result.type, RankedTensor) or next((a for a in op.ancestors() if a is main), None) is None:
        return None
    names = tuple(program.inputs)
    argument = main.body.block.add_argument(result.type)
    name = next(f"arg{i}" for i in range(len(names) + 1) if f"arg{i}" not in names)
    inputs = (*main.function_type.inputs, result.type)
    main.set_attribute("arg_names", (*names, name))
    main.set_attribute("function_type", FunctionType(inputs, main.function_type.results))
    return argument


def _constant(number: int) -> Choice:
    def choose(program: Program, op: Operation, result: Value) -> Value | None:
        type_ = result.type
        if (
            not isinstance(type_, RankedTensor)
            or not type_.is_static
            or type_.element.format.bits < 8 * (not type_.element.format.is_bool)
        ):
            return None
        with Builder.before(op):
            data = np.full(type_.shape, number, type_.element.dtype)
            constant: Value = builtin.ConstantOp(value=data).out  # pyright: ignore[reportArgumentType]  converted
            return builtin.ToTensorOp(constant).out if isinstance(type_, TensorType) else constant

    return choose


_zeros, _ones = _constant(0), _constant(1)


def _replacing(choose: Choice) -> Callable[[Program, Operation], bool]:
    """The edit that replaces every used result of an operation and drops it."""

    def edit(program: Program, op: Operation) -> bool:
        return _remove(program, op, (choose,))

    return edit


def _remove(program: Program, op: Operation, choices: Sequence[Choice]) -> bool:
    for result in op.results:
        if result.has_uses:
            value = next((v for choose in choices if (v := choose(program, op, result)) is not None), None)
            if value is None:
                return False
            result.replace_all_uses_with(value)
    op.erase(by="reduce")
    return True


def _drop(program: Program, start: int, end: int) -> bool:
    """Drops what can be dropped of the operations from `start` to `end` of the walk."""
    dropped = False
    for op in reversed(list(program.module.walk())[start:end]):
        if op.has_trait(Terminator) or op.has_trait(Symbol) or isinstance(op, builtin.ModuleOp):
            continue
        if isinstance(op, _LEAVES) and any(r.has_uses for r in op.results):
            continue
        dropped |= _remove(program, op, (_any_operand, _any_argument, _zeros))
    return dropped


# --- regions, calls, branches --------------------------------------------------------------------------------------


def _splice(block: Block, arguments: Sequence[Value], anchor: Operation) -> list[Value]:
    """Copies the operations of a block in front of `anchor`; what its terminator gives."""
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
    _drop_functions(program)
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


# --- inputs --------------------------------------------------------------------------------------------------------


def reduce_inputs(
    inputs: dict[str, NDArray[Any]], fails: Callable[[dict[str, NDArray[Any]]], bool], *, max_trials: int = 300
) -> dict[str, NDArray[Any]]:
    """Inputs with as many numbers as possible replaced by 0, 1, 2 or 0.5, where `fails` still holds.

    Whole arrays first, then single numbers; `max_trials` bounds how often `fails` is asked.
    """
    current = dict(inputs)
    trials = 0
    for name, array in inputs.items():
        for places, number in _simpler(array):
            changed = np.array(current[name])
            changed[places] = number
            if trials >= max_trials or np.array_equal(changed, current[name]):
                continue
            trials += 1
            candidate = {**current, name: changed}
            if fails(candidate):
                current = candidate
    return current


def _simpler(array: NDArray[Any]) -> Iterator[tuple[Any, float]]:
    places = [..., *np.ndindex(array.shape)] if array.ndim else [...]
    for place in places:
        for number in (0.5, 2, 1, 0) if array.dtype.kind not in "iub" else (2, 1, 0):
            if array.dtype.kind != "b" or number < 2:
                yield place, number
