"""Functions that are specialised, called once, or not called, for what they give or seem to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs

from support.mutants import programs
from support.mutants.first.calls import is_effect
from support.mutants.first.parameters import store
from support.mutants.mutant import Area, Case
from support.mutants.programs import call, case, constant, define, operations, parameter
from support.mutants.third.calls import called
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program, SymbolRefAttr, TensorType, Value, VTensorType, f32
from tx8ir.dialects import builtin, func, pd
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("calls", round=4)
V = VTensorType((2,), f32)
A = programs.f32(1, 2)


def scaling(second: float) -> Case:
    """The product of x with 2, and with another number, by a function."""
    return case(
        lambda x: [
            call("scaled", x, constant([2, 2]), out=[V]).results[0],
            call("scaled", x, constant([second, second]), out=[V]).results[0],
        ],
        functions=lambda: define("scaled", lambda a, k: pd.multiply(a, k), V, V),
        x=programs.f32(1, 2),
    )  # fmt: skip


@AREA.mutant(
    citation="cambra-dev/cambra#50: Monomorphization: key specializations on instantiation identity (false hits)",
    mistake="knows a special function by the argument that is constant, and not by its number",
    witness=lambda: scaling(3),
    control=lambda: scaling(2),
)
@attrs.frozen
class SpecializeCalls(Pass):
    """Calls copies of functions, in which an argument that is constant is a constant."""

    name: ClassVar[str] = "specialize-calls"

    def run(self, program: Program) -> None:
        made: dict[Any, str] = {}
        for op in operations(program, func.CallOp):
            callee = op.function()
            numbers = [splat_value(v) for v in op.operands]
            places = [i for i, n in enumerate(numbers) if isinstance(n, float)]
            if callee is None or not places:
                continue
            place = places[0]
            name = f"{callee.sym_name}.{place}"
            if (callee, place) not in made:
                copy = callee.clone()
                copy.set_attribute("sym_name", name)
                callee.parent.insert_before(copy, callee)
                entry = copy.body.blocks[0]
                argument = entry.args[place]
                with Builder.before(entry.first_op):
                    kind = argument.type
                    known = pd.full(shape=kind.shape, value=numbers[place], dtype=kind.element)
                argument.replace_all_uses_with(known.out)
                made[callee, place] = name
            op.set_attribute("callee", SymbolRefAttr(made[callee, place]))
            self.count("calls")


def giving_ones(effect: bool) -> Case:
    """A function that gives ones, and perhaps stores what it is given."""

    def body(a: Value) -> Any:
        if effect:
            store(a, "w")
        return constant([1, 1])

    return case(
        lambda x: pd.add(x, call("ones", x, out=[V]).results[0]),
        functions=lambda: define("ones", body, V), weights={"w": A}, mutable=["w"], x=programs.f32(5, 6),
    )  # fmt: skip


@AREA.mutant(
    citation="p4lang/p4c#2221: StrengthReduction ignores side-effects in function calls",
    mistake="what the function does besides is not done then",
    witness=lambda: giving_ones(effect=True),
    control=lambda: giving_ones(effect=False),
)
def fold_constant_results(program: Program) -> None:
    """A call of a function that gives a constant is that constant."""
    for op in operations(program, func.CallOp):
        callee = op.function()
        if callee is None or len(callee.body) != 1 or not op.results:
            continue
        numbers = [splat_value(v) for v in callee.body.block.terminator.operands]
        if all(isinstance(n, float) for n in numbers) and not any(isinstance(r.type, TensorType) for r in op.results):
            with Builder.before(op):
                known = [
                    pd.full(shape=r.type.shape, value=n, dtype=r.type.element)
                    for r, n in zip(op.results, numbers, strict=True)
                ]
            op.replace_with(known)


def nested(effect: bool) -> Case:
    """A function that calls another one, which may store what it is given."""

    def functions() -> None:
        define("inner", lambda a: [store(a, "w") if effect else pd.relu(a), a][1:], V)
        define("outer", lambda a: call("inner", a, out=[V]).results, V)

    return case(
        lambda x: [call("outer", x, out=[V]), x][1:],
        functions=functions, weights={"w": A}, mutable=["w"], x=programs.f32(5, 6),
    )  # fmt: skip


@AREA.mutant(
    citation="egraphs-good/eggcc#287: fix function purity analysis (purity of Call don't consider the Function itself)",
    mistake="looks for effects in the function, and not in those that it calls",
    witness=lambda: nested(effect=True),
    control=lambda: nested(effect=False),
)
def drop_idle_calls(program: Program) -> None:
    """Drops calls of functions without effects, the results of which are not used."""
    for op in operations(program, func.CallOp):
        if op.function() is None or any(result.has_uses for result in op.results):
            continue
        if not any(is_effect(inner) for inner in called(op)):
            op.erase()


def keeping(between: str) -> Case:
    """Stores x, then y by a function, and reads a variable in between."""
    return case(
        lambda x, y: [
            call("keep", x, out=[]), read := parameter(between, A), call("keep", y, out=[]), pd.add(x, read)
        ][3:],
        functions=lambda: define("keep", lambda a: [store(a, "w")][1:], V),
        weights={"w": A, "v": programs.f32(7, 8)}, mutable=["w"], x=programs.f32(5, 6), y=programs.f32(10, 20),
    )  # fmt: skip


@AREA.mutant(
    citation="Sun, Le, Su: Finding Compiler Bugs via Live Code Mutation, OOPSLA 2016 (class: orders of effects)",
    mistake="what the call writes may be read before it",
    witness=lambda: keeping("w"),
    control=lambda: keeping("v"),
)
@attrs.frozen
class GatherCalls(Pass):
    """Calls a function right after it was called before, if nothing in between writes what it reads or writes."""

    name: ClassVar[str] = "gather-calls"

    def run(self, program: Program) -> None:
        for op in operations(program, func.CallOp):
            used = {getattr(inner, "parameter", None) for inner in called(op)} - {None}
            kinds = {type(inner) for inner in called(op)}
            if kinds & {func.CallOp, builtin.SetCombineParameterOp, builtin.GetCombineParameterOp}:
                continue
            if any(isinstance(v.type, TensorType) for inner in called(op) for v in (*inner.operands, *inner.results)):
                continue
            between: list[Any] = []
            earlier = op.prev_op
            while earlier is not None and not isinstance(earlier, func.CallOp):
                between.append(earlier)
                earlier = earlier.prev_op
            if earlier is None or earlier.callee != op.callee or not between:
                continue
            writes = any(
                each.regions
                or isinstance(each, InplaceOp | builtin.SetCombineParameterOp)
                or (isinstance(each, builtin.SetParameterOp) and each.parameter in used)
                for each in between
            )
            if not writes and not any(v.defining_op in between for v in op.operands):
                op.move_after(earlier)
                self.count("calls")


def twice(body: Callable[[Value], Any]) -> Case:
    """A function of x, and of what it gives."""
    return case(
        lambda x: call("once", call("once", x, out=[V]), out=[V]).results,
        functions=lambda: define("once", body, V), x=programs.f32(3, -1.25),
    )  # fmt: skip


@AREA.mutant(
    citation="WebAssembly/binaryen#8804: Fix areConsecutiveInputsEqual for idempotent calls",
    mistake="functions that do nothing the second time may do something after each other",
    witness=lambda: twice(lambda x: pd.minimum(pd.floor(x), constant([1.5, 1.5]))),
    control=lambda: twice(lambda x: pd.minimum(pd.floor(x), constant([1, 1]))),
)
@attrs.frozen
class CallOnce(Pass):
    """Calls a function once, where what it gives is given to it again and its operations are of the kind done once."""

    name: ClassVar[str] = "call-once"

    def run(self, program: Program) -> None:
        for op in operations(program, func.CallOp):
            callee = op.function()
            inner = op.operands[0].defining_op if len(op.operands) == 1 == len(op.results) else None
            if callee is None or not isinstance(inner, func.CallOp) or inner.callee != op.callee:
                continue
            if len(callee.body) != 1 or callee.function_type.inputs != (V.with_shape(op.result.type.shape),):
                continue
            value = callee.body.block.args[0]
            steps = [
                each for each in list(callee.body.block)[:-1] if not isinstance(each, builtin.ConstantOp | pd.FullOp)
            ]
            for step in steps:
                known = isinstance(step, pd.ReluOp | pd.AbsOp | pd.FloorOp | pd.RoundOp) or (
                    isinstance(step, pd.MinimumOp | pd.MaximumOp) and splat_value(step.operands[1]) is not None
                )
                if not known or step.operands[0] is not value:
                    break
                value = step.result
            else:
                if callee.body.block.terminator.operands[0] is value:
                    op.replace_with(inner.result)
                    self.count("calls")
