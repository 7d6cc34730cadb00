"""`lift-state`: the variables that a program changes become arguments and results of `main`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

import attrs

from tx8ir.analysis import AliasAnalysis
from tx8ir.backend.graph import CompileError
from tx8ir.core import (
    Builder,
    FunctionType,
    Operation,
    ParameterAccess,
    Program,
    TensorType,
    Type,
    Value,
    VTensorType,
    at_location,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.passes import Pass, PassManager, register_pass

__all__ = ["LiftState", "state_argument", "state_of"]

_PREFIX: Final = "state:"


def state_argument(variable: str) -> str:
    """The name of the argument, and of the result, that a variable of a program becomes."""
    return _PREFIX + variable


def state_of(program: Program) -> dict[str, VTensorType]:
    """The variables that runs of a program may see change, in the order of its store, with their types.

    These are the ones that an operation reads or writes and that either the program may write (`set_parameter`, or
    through an alias), or another program attached to the store, or that the store says are mutable. O(operations of
    the programs attached to the store).
    """
    used = {name for op in program.module.walk() for name in _accessed(op)}
    if not used:
        return {}
    aliases, elsewhere = AliasAnalysis(program), program.written_by_others()
    return {
        name: variable.type.to_vtensor()
        for name, variable in program.weights.items()
        if name in used and (variable.is_mutable or name in elsewhere or aliases.writes_parameter(name))
    }


@register_pass
@attrs.frozen
class LiftState(Pass):
    """Turns the variables that a program changes into arguments of `main`, and what they hold at the end into results.

    An executable keeps them from run to run. A variable that is written is storage made of the argument, which every
    access of the variable shares; what only other programs write is read from the argument, and has no result.
    Arguments and results follow those that `main` has, are named by `state_argument`, and stand in the order of the
    store. Calls are inlined when a function that is called accesses such a variable.

    Assumes: `value-signature`. Guarantees: no operation writes a variable of the store, and those that are read are
    constants. Idempotent. Cost: O(operations). Statistics: `written` and `read` (variables).

    Raises `CompileError` when an operation writes a variable that the store does not have, when a function that cannot
    be inlined accesses one that changes, or when `main` has an input or output of such a name.
    """

    name: ClassVar[str] = "lift-state"

    def run(self, program: Program) -> None:
        state = state_of(program)
        _check_known(program)
        if not state:
            return
        inside, outside = _accesses(program, state)
        if outside:
            PassManager.parse("lift-cf-to-scf,inline,remove-unused-functions").run(program)
            inside, outside = _accesses(program, state)
        for op in outside:
            raise CompileError(
                f"{op.name} accesses a variable that changes ({', '.join(_accessed(op))}) in a function that is not "
                "inlined: it is recursive or large, or has several blocks",
                op=op,
            )
        _check_names(program, state)
        self._lift(program, state, inside)

    def _lift(self, program: Program, state: Mapping[str, VTensorType], accesses: list[Operation]) -> None:
        main, aliases = program.main, AliasAnalysis(program)
        arguments, results = list(program.inputs), list(program.outputs)
        block = main.body.blocks[0]
        written = [name for name in state if aliases.writes_parameter(name)]
        stored = {name for op in accesses for name, kind in _reads(op) if isinstance(kind, TensorType)} | set(written)
        values: dict[str, Value] = {}
        for name, kind in state.items():
            values[name] = block.add_argument(kind)
        with Builder.at_start(block), at_location(main.location):
            for name in state:
                if name in stored:
                    values[name] = builtin.to_tensor(values[name]).out
        for op in accesses:
            with Builder.before(op), at_location(op.location):
                _replace(op, values)
        for end in (b.terminator for b in main.body.blocks):
            if isinstance(end, func.ReturnOp):
                with Builder.before(end), at_location(end.location):
                    end.set_operands([*end.operands, *(builtin.to_vtensor(values[name]).out for name in written)])
        kinds = [argument.type for argument in block.args]
        main.set_attribute(
            "function_type", FunctionType(kinds, [*main.function_type.results, *(state[name] for name in written)])
        )
        main.set_attribute("arg_names", (*arguments, *map(state_argument, state)))
        main.set_attribute("result_names", (*results, *map(state_argument, written)))
        self.count("written", len(written))
        self.count("read", len(state) - len(written))


def _accessed(op: Operation) -> tuple[str, ...]:
    access = op.interface(ParameterAccess)
    return () if access is None else tuple({**access.parameter_reads(), **access.parameter_writes()})


def _reads(op: Operation) -> tuple[tuple[str, Type], ...]:
    access = op.interface(ParameterAccess)
    return () if access is None else tuple(access.parameter_reads().items())


def _accesses(program: Program, state: Mapping[str, VTensorType]) -> tuple[list[Operation], list[Operation]]:
    """The operations that access one of these variables, in program order: in `main`, and elsewhere."""
    main = set(program.main.walk())
    found = [op for op in program.module.walk() if any(name in state for name in _accessed(op))]
    return [op for op in found if op in main], [op for op in found if op not in main]


def _check_known(program: Program) -> None:
    for op in program.module.walk():
        access = op.interface(ParameterAccess)
        for name in access.parameter_writes() if access is not None else ():
            if name not in program.weights:
                raise CompileError(
                    f"it writes the variable {name!r}, which the program's weight store does not have: the chip keeps "
                    "variables at places of their own, so each needs its content before the first run",
                    op=op,
                )


def _check_names(program: Program, state: Mapping[str, VTensorType]) -> None:
    for name in map(state_argument, state):
        for side, taken in (("input", program.inputs), ("output", program.outputs)):
            if name in taken:
                raise CompileError(f"the {side} {name!r} has the name that a variable gets; rename it", op=program.main)


def _replace(op: Operation, values: Mapping[str, Value]) -> None:
    """Puts what `values` has for each variable in the place of an access of it."""

    def read(name: str, kind: Type) -> Value:
        value = values.get(name)
        if value is None:
            return builtin.get_parameter(parameter=name, out=kind).out
        return value if type(value.type) is type(kind) else builtin.to_vtensor(value).out

    def write(name: str, content: Value) -> None:
        if isinstance(content.type, TensorType):
            content = builtin.to_vtensor(content).out
        if name in values:
            pd.assign_(values[name], content)
        else:
            builtin.set_parameter(content, parameter=name)

    match op:
        case builtin.GetParameterOp():
            op.replace_with([read(op.parameter, op.out.type)])
        case builtin.GetCombineParameterOp():
            op.replace_with([builtin.combine([read(*item) for item in _reads(op)]).out])
        case builtin.SetParameterOp():
            write(op.parameter, op.value)
            op.erase(by="lift-state")
        case builtin.SetCombineParameterOp():
            for name, content in zip(op.parameters, builtin.split(op.values).outputs, strict=True):
                write(name, content)
            op.erase(by="lift-state")
        case _:
            raise CompileError(f"{op.name} accesses variables that change in a way that only the interpreter knows", op)
