"""Mutants of functions: calls merged or dropped, arguments that are constant, bodies that are inlined or merged."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, ClassVar

import attrs

from support.mutants import programs
from support.mutants.mutant import Area
from support.mutants.programs import bools, call, case, constant, define, operations, parameter
from tx8ir.analysis.constants import splat_value
from tx8ir.core import (
    Builder,
    Operation,
    ParameterAccess,
    Program,
    SymbolRefAttr,
    TensorType,
    Value,
    VTensorType,
    f32,
    i1,
)
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("calls", round=1)
V = VTensorType((2,), f32)
T = TensorType((2,), f32)
W = {"w": programs.f32(1, 2)}


def subtracting() -> None:
    """A function that gives the difference of its arguments."""
    define("difference", lambda a, b: pd.subtract(a, b), V, V)


def doubling() -> None:
    """A function that adds its arguments."""
    define("total", lambda a, b: pd.add(a, b), V, V)


def is_effect(op: Operation) -> bool:
    """Whether an operation by itself writes storage or a parameter."""
    access = op.interface(ParameterAccess)
    return isinstance(op, InplaceOp) or (access is not None and bool(access.parameter_writes()))


@AREA.mutant(
    citation="Le, Afshari, Su: Compiler Validation via Equivalence Modulo Inputs, PLDI 2014",
    mistake="the operands are compared as a set: f(x, y) is not f(y, x)",
    witness=lambda: case(
        lambda x, y: [
            call("difference", x, y, out=[V]).results[0], call("difference", y, x, out=[V]).results[0]
        ],
        functions=subtracting, x=programs.f32(1, 2), y=programs.f32(5, 7),
    ),
    control=lambda: case(
        lambda x, y: [call("total", x, y, out=[V]).results[0], call("total", y, x, out=[V]).results[0]],
        functions=doubling, x=programs.f32(1, 2), y=programs.f32(5, 7),
    ),
)  # fmt: skip
def merge_equal_calls(program: Program) -> None:
    """Calls of a function without effects on the same values are done once."""
    seen: dict[Any, Any] = {}
    for op in operations(program, func.CallOp):
        callee = op.function()
        if callee is None or any(is_effect(inner) or isinstance(inner, func.CallOp) for inner in callee.walk()):
            continue
        earlier = seen.setdefault((op.parent, op.callee, frozenset(op.operands), len(op.operands)), op)
        if earlier is not op:
            op.replace_with(earlier.results)


def counting_in_branch() -> None:
    """A function that may write the parameter `w` in a branch."""

    def body(c: Value, x: Value) -> Any:
        scf.IfOp.build(c, lambda: [builtin.set_parameter(x, parameter="w")][1:])
        return x

    define("store", body, VTensorType((1,), i1), V)


@AREA.mutant(
    citation="llvm/llvm-project#122695: [mlir] remove-dead-values pass removes value that should be live",
    mistake="looks for effects among the operations of the function's block, not inside their regions",
    witness=lambda: case(
        lambda c, x: [call("store", c, x, out=[V]), x][1:],
        functions=counting_in_branch, weights=W, mutable=["w"], c=bools(1), x=programs.f32(3, 4),
    ),
    control=lambda: case(
        lambda x: [call("total", x, x, out=[V]), x][1:], functions=doubling, x=programs.f32(3, 4)
    ),
)  # fmt: skip
def drop_unused_calls(program: Program) -> None:
    for op in operations(program, func.CallOp):
        callee = op.function()
        if callee is None or any(result.has_uses for result in op.results):
            continue
        if not any(is_effect(inner) or isinstance(inner, func.CallOp) for inner in callee.body.block):
            op.erase()


def scaling_twice() -> None:
    """A function of a factor, and one that calls it with another factor than `main` does."""
    define("scaled", lambda a, k: pd.multiply(a, k), V, V)
    define("other", lambda a: call("scaled", a, constant([3, 3]), out=[V]).results, V)


@AREA.mutant(
    citation="llvm/llvm-project#137509: [mlir] Inconsistent output when executing MLIR program with `--sccp`",
    mistake="asks the calls in main alone; the function is called from others, too",
    witness=lambda: case(
        lambda x: [
            call("scaled", x, constant([2, 2]), out=[V]).results[0], call("other", x, out=[V]).results[0]
        ],
        functions=scaling_twice, x=programs.f32(1, 2),
    ),
    control=lambda: case(
        lambda x: call("total", x, constant([2, 2]), out=[V]).results[0], functions=doubling, x=programs.f32(1, 2)
    ),
)  # fmt: skip
@attrs.frozen
class PropagateConstantArguments(Pass):
    """An argument that every call gives the same constant is this constant."""

    name: ClassVar[str] = "propagate-constant-arguments"

    def run(self, program: Program) -> None:
        calls: dict[Any, list[Any]] = defaultdict(list)
        for op in program.main.walk():
            if isinstance(op, func.CallOp):
                calls[op.function()].append(op)
        for function, users in calls.items():
            for index, argument in enumerate(function.body.block.args):
                numbers = {splat_value(user.operands[index]) for user in users}
                if len(numbers) != 1 or None in numbers or not argument.has_uses:
                    continue
                with Builder.before(function.body.block.first_op):
                    known = pd.full(shape=argument.type.shape, value=numbers.pop(), dtype=argument.type.element)
                argument.replace_all_uses_with(known.out)
                self.count("arguments")


def two_readers(same: bool) -> Any:
    """Two functions that read a parameter: the same one, or another."""

    def make() -> None:
        for name, which in (("first", "w"), ("second", "w" if same else "v")):
            define(name, lambda a, which=which: pd.add(a, parameter(which, programs.f32(0, 0))), V)

    return make


@AREA.mutant(
    citation="llvm/llvm-project#39692: Function merging pass miscompiles identical vararg functions",
    mistake="compares kinds, types and the use of values; the name of a parameter is an attribute",
    witness=lambda: case(
        lambda x: [call("first", x, out=[V]).results[0], call("second", x, out=[V]).results[0]],
        functions=two_readers(same=False), weights=W | {"v": programs.f32(30, 40)}, x=programs.f32(1, 2),
    ),
    control=lambda: case(
        lambda x: [call("first", x, out=[V]).results[0], call("second", x, out=[V]).results[0]],
        functions=two_readers(same=True), weights=W, x=programs.f32(1, 2),
    ),
)  # fmt: skip
@attrs.frozen
class MergeFunctions(Pass):
    """Calls the first of several functions that do the same."""

    name: ClassVar[str] = "merge-functions"

    def run(self, program: Program) -> None:
        seen: dict[Any, str] = {}
        first: dict[str, str] = {}
        for function in operations(program, func.FuncOp):
            if len(function.body) != 1 or any(op.regions for op in function.body.block):
                continue
            numbers: dict[Value, int] = {v: i for i, v in enumerate(function.body.block.args)}
            lines: list[Any] = [function.function_type]
            for op in function.body.block:
                lines.append((type(op), *[numbers[v] for v in op.operands], *[r.type for r in op.results]))
                for result in op.results:
                    numbers[result] = len(numbers)
            first[function.sym_name] = seen.setdefault(tuple(lines), function.sym_name)
        for op in operations(program, func.CallOp):
            same = first.get(op.callee.value, op.callee.value)
            if same != op.callee.value and same != "main":
                op.set_attribute("callee", SymbolRefAttr(same))
                self.count("calls")


def reading() -> None:
    """A function that reads the storage it is given."""
    define("read", lambda t: builtin.to_vtensor(t), T)


@AREA.mutant(
    citation="intel/llvm#7849: [SYCL-MLIR]: matrix-matrix multiplication fails (exposed by the MLIR inlining pass)",
    mistake="the body goes to where its result is needed, after writes that followed the call",
    witness=lambda: case(
        lambda t: [r := call("read", t, out=[V]).results[0], pd.fill_(t, value=8.0), pd.relu(r)][2:],
        functions=reading, storage=["t"], t=programs.f32(1, 2),
    ),
    control=lambda: case(
        lambda x, y: pd.relu(call("difference", x, y, out=[V]).results[0]),
        functions=subtracting, x=programs.f32(1, 2), y=programs.f32(5, 7),
    ),
)  # fmt: skip
def inline_at_first_use(program: Program) -> None:
    """Puts the body of a function in place of a call, next to the first user of its result."""
    for op in operations(program, func.CallOp):
        callee = op.function()
        if callee is None or len(callee.body) != 1 or len(op.results) != 1 or callee.sym_name == "main":
            continue
        users = [user for user in op.results[0].users if user.parent is op.parent]
        if not users or len(users) != op.results[0].num_uses:
            continue
        anchor = next(later for later in op.parent if later in users)
        mapping: dict[Value, Value] = dict(zip(callee.body.block.args, op.operands, strict=True))
        for inner in callee.body.block:
            if inner is not callee.body.block.terminator:
                anchor.parent.insert_before(inner.clone(mapping), anchor)
        returned = callee.body.block.terminator.operands[0]
        op.replace_with(mapping.get(returned, returned))
