"""Edits of a program that leave less of it: results, arguments, variables, and single operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, cast

import numpy as np

from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    Operation,
    Program,
    RankedTensor,
    Symbol,
    TensorType,
    Terminator,
    Value,
)
from tx8ir.dialects import builtin, func, pd

Edit: TypeAlias = Callable[[Program], bool]
"""Changes a copy of the program; False when there is nothing to change."""
LEAVES = (builtin.ConstantOp, builtin.GetParameterOp)
"""Operations that read what is there: dropped when nothing uses them."""

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


def return_operand(program: Program, index: int, k: int) -> bool:
    """Makes an operand of the operation that computes a result of `main` the result."""
    main = program.main
    end = main.body.blocks[-1].terminator
    op = end.operands[index].defining_op if isinstance(end, func.ReturnOp) and index < len(end.operands) else None
    if end is None or op is None or k >= len(op.operands) or not isinstance(op.operands[k].type, RankedTensor):
        return False
    end.set_operands([op.operands[k] if i == index else v for i, v in enumerate(end.operands)])
    main.set_attribute("function_type", FunctionType(main.function_type.inputs, [v.type for v in end.operands]))
    return True


def return_only(program: Program, position: int) -> bool:
    """Makes the value at a position of the walk the one result: no fetches, and no control flow that is unused then."""
    main = program.main
    op = next((op for number, op in enumerate(program.module.walk()) if number == position), None)
    ends = [end for block in main.body.blocks if isinstance(end := block.terminator, func.ReturnOp)]
    if op is None or op.parent_op is not main or len(ends) != 1:
        return False
    value = next((r for r in op.results if isinstance(r.type, RankedTensor)), None)
    if value is None or ends[0].operands == (value,):
        return False
    simpler = bool(ends[0].operands)
    ends[0].set_operands([value])
    main.set_attribute("function_type", FunctionType(main.function_type.inputs, [value.type]))
    main.set_attribute("result_names", ("result0",))
    for other in [op for op in main.walk() if op.parent_op is main and (op.regions or isinstance(op, pd.FetchOp))]:
        if other is not op and not any(r.has_uses for r in other.results):
            other.erase(by="reduce")
            simpler = True
    return simpler  # a program that shows what is wrong without results needs none


def drop_argument(program: Program, index: int) -> bool:
    main = program.main
    block: Block = main.body.blocks[0]
    if block.args[index].has_uses:
        return False
    names = list(program.inputs)
    del names[index]
    block.erase_argument(index)
    main.set_attribute("function_type", FunctionType([a.type for a in block.args], main.function_type.results))
    main.set_attribute("arg_names", tuple(names))
    return True


def merge_arguments(program: Program, index: int) -> bool:
    """Lets users of an argument of `main` use an earlier one of its type."""
    arguments = program.main.body.blocks[0].args
    argument = arguments[index] if index < len(arguments) else None
    if argument is None or not argument.has_uses:
        return False
    earlier = next((a for a in arguments[:index] if a.type is argument.type), None)
    if earlier is not None:
        argument.replace_all_uses_with(earlier)
    return earlier is not None


def drop_functions(program: Program) -> bool:
    called = {op.callee.value for op in program.module.walk() if isinstance(op, func.CallOp)}
    unused = [
        op for op in program.body if op.has_trait(Symbol) and op.attributes["sym_name"].value not in ("main", *called)
    ]
    for op in unused:
        op.erase(by="reduce")
    return bool(unused)


def drop_variables(program: Program) -> bool:
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
"""Something else for a result of an operation, made before it; None where there is nothing."""


def operand_number(k: int) -> Choice:
    def choose(program: Program, op: Operation, result: Value) -> Value | None:
        value = op.operands[k] if k < len(op.operands) else None
        return value if value is not None and value.type is result.type else None

    return choose


def any_operand(program: Program, op: Operation, result: Value) -> Value | None:
    return next((v for v in op.operands if v.type is result.type), None)


def any_argument(program: Program, op: Operation, result: Value) -> Value | None:
    if not isinstance(op.parent_op, func.FuncOp):
        return None
    return next((a for a in op.parent_op.body.block.args if a.type is result.type), None)


def new_argument(program: Program, op: Operation, result: Value) -> Value | None:
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


def constant(number: int) -> Choice:
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


zeros, ones = constant(0), constant(1)


def replacing(choose: Choice) -> Callable[[Program, Operation], bool]:
    """The edit that replaces every used result of an operation and drops it."""

    def edit(program: Program, op: Operation) -> bool:
        return remove(program, op, (choose,))

    return edit


def remove(program: Program, op: Operation, choices: Sequence[Choice]) -> bool:
    for result in op.results:
        if result.has_uses:
            value = next((v for choose in choices if (v := choose(program, op, result)) is not None), None)
            if value is None:
                return False
            result.replace_all_uses_with(value)
    op.erase(by="reduce")
    return True


def drop_range(program: Program, start: int, end: int) -> bool:
    """Drops what can be dropped of the operations from `start` to `end` of the walk."""
    dropped = False
    for op in reversed(list(program.module.walk())[start:end]):
        if op.has_trait(Terminator) or op.has_trait(Symbol) or isinstance(op, builtin.ModuleOp):
            continue
        if isinstance(op, LEAVES) and any(r.has_uses for r in op.results):
            continue
        dropped |= remove(program, op, (any_operand, any_argument, zeros))
    return dropped
