"""What is passed to functions and comes back from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants import programs
from support.mutants.first.calls import is_effect
from support.mutants.first.loops import count_to
from support.mutants.mutant import Area, Case
from support.mutants.programs import call, case, constant, define, is_inside, operations, parameter
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Program, TensorType, Value, VTensorType, f32
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("calls", round=3)
V, T = VTensorType((2,), f32), TensorType((2,), f32)
read = builtin.to_vtensor


def giving(*order: int) -> Case:
    """A function that gives its two arguments, in some order."""
    return case(
        lambda x, y: pd.subtract(*call("both", x, y, out=[V, V]).results),
        functions=lambda: define("both", lambda *given: [given[i] for i in order], V, V),
        x=programs.f32(1, 2), y=programs.f32(5, 9),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#202922: [AMDGPU] Fix value swap for potentially aliased out arguments",
    mistake="what a function gives back unchanged may be in another order",
    witness=lambda: giving(1, 0),
    control=lambda: giving(0, 1),
)
@attrs.frozen
class DropIdentityCalls(Pass):
    """Drops calls of functions that do nothing but return what they are given."""

    name: ClassVar[str] = "drop-identity-calls"

    def run(self, program: Program) -> None:
        for op in operations(program, func.CallOp):
            callee = op.function()
            if callee is None or len(callee.body) != 1 or len(callee.body.block) != 1:
                continue
            given = callee.body.block.terminator.operands
            same_types = [v.type for v in given] == [v.type for v in op.operands]
            if same_types and set(given) == set(callee.body.block.args):
                op.replace_with(op.operands)
                self.count("calls")


def writing(view: bool) -> Case:
    """A function that fills its storage, or a view of it, or nothing, and reads it."""

    def body(t: Value) -> Any:
        if view:
            pd.fill_(pd.reshape(t, shape=(2, 1)), value=9.0)
        else:
            pd.full(shape=(2,), value=1.0, dtype=f32)
        return read(t)

    return case(
        lambda t: call("use", t, out=[V]).results, functions=lambda: define("use", body, T), storage=["t"],
        t=programs.f32(1, 2),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#84807: [ArgPromotion] Miscompile at -O3",
    mistake="what is written under another name, as through a view, is not seen",
    witness=lambda: writing(view=True),
    control=lambda: writing(view=False),
)
def read_arguments_first(program: Program) -> None:
    """Reads storage that a function is given, and does not write, where it begins."""
    for function in operations(program, func.FuncOp):
        block = function.body.block if len(function.body) == 1 else None
        if function is program.main or block is None:
            continue
        for argument in block.args:
            users = list(argument.users)
            if any(isinstance(user, InplaceOp | func.CallOp | func.ReturnOp) for user in users):
                continue
            for user in users:
                if isinstance(user, builtin.ToVTensorOp) and user.parent is block and user is not block.first_op:
                    user.move_before(block.first_op)


def returning(copied: bool) -> Case:
    """Reads t before and after what a function gives, t or a copy, is filled."""

    def body(t: Value) -> Any:
        first = read(t)
        pd.fill_(call("storage", t, out=[T]).results[0], value=7.0)
        return pd.add(first, read(t))

    return case(
        body, functions=lambda: define("storage", lambda t: builtin.to_tensor(read(t)) if copied else t, T),
        storage=["t"], t=programs.f32(1, 2),
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#216535: affine-loop-fusion misses the dependence between two memref.get_global handles",
    mistake="a function may give back the storage that it was given",
    witness=lambda: returning(copied=False),
    control=lambda: returning(copied=True),
)
@attrs.frozen
class MergeReadsBesideResults(Pass):
    """Reads a storage once, up to the next write of it; what a function gives is storage of its own."""

    name: ClassVar[str] = "merge-reads-beside-results"

    def run(self, program: Program) -> None:
        known: dict[Value, Any] = {}
        for op in list(program.main.body.block):
            written = op.operands[0] if isinstance(op, InplaceOp) else None
            if written is not None and isinstance(written.defining_op, func.CallOp):
                known.pop(written, None)
            elif is_effect(op) or op.regions or any(is_effect(i) for i in called(op)):
                known.clear()
            elif isinstance(op, builtin.ToVTensorOp):
                earlier = known.setdefault(op.x, op)
                if earlier is not op:
                    op.replace_with(earlier)
                    self.count("reads")


def called(op: Any) -> list[Any]:
    """The operations of a function that is called."""
    callee = op.function() if isinstance(op, func.CallOp) else None
    return list(callee.walk()) if callee is not None else []


def inverting(second: float) -> Case:
    """The reciprocals of 0, and of another number, by a function."""
    return case(
        lambda x: pd.add(
            pd.multiply(x, call("invert", constant([0, 0]), out=[V]).results[0]),
            call("invert", constant([second, second]), out=[V]).results[0],
        ),
        functions=lambda: define("invert", lambda v: pd.reciprocal(v), V), x=programs.f32(1, 2),
    )  # fmt: skip


@AREA.mutant(
    citation="briar-systems/mach#1134: cse: float-constant identity uses == so x+0.0 and x+(-0.0) merge",
    mistake="-0 and +0 are one key of a table",
    special_value=True,
    witness=lambda: inverting(-0.0),
    control=lambda: inverting(0.0),
)
def remember_calls(program: Program) -> None:
    """Calls a function that has no effects once for the same numbers."""
    seen: dict[Any, Any] = {}
    for op in operations(program, func.CallOp):
        if any(is_effect(i) or isinstance(i, func.CallOp | builtin.GetParameterOp) for i in called(op)):
            continue
        numbers = tuple(splat_value(v) for v in op.operands)
        if None in numbers or any(isinstance(r.type, TensorType) for r in op.results):
            continue
        earlier = seen.setdefault((op.parent, op.callee, numbers, tuple(v.type for v in op.operands)), op)
        if earlier is not op:
            op.replace_with(earlier.results)


def looping(change: Callable[[Value], object]) -> Case:
    """While i < 2: x += f(y), and something else; f gives the sum with a variable."""
    weight = np.array([1, 2], np.float32)
    return case(
        lambda x, y: count_to(
            constant([2]), constant([0]), x,
            body=lambda a: [s := pd.add(a, call("shifted", y, out=[V]).results[0]), change(s)][:1],
        ).results[1],
        functions=lambda: define("shifted", lambda v: pd.add(v, parameter("w", weight)), V),
        weights={"w": weight}, mutable=["w"], x=programs.f32(1, 2), y=programs.f32(3, 4),
    )  # fmt: skip


@AREA.mutant(
    citation="chapel-lang/chapel#29034: [Bug]: LICM incorrectly hoists part of conditionals",
    mistake="a function that writes nothing may read what the loop stores",
    witness=lambda: looping(lambda s: builtin.set_parameter(s, parameter="w")),
    control=lambda: looping(lambda s: pd.relu(s)),
)
def hoist_calls(program: Program) -> None:
    """Calls a function without effects before a loop that does not change its arguments."""
    for loop in operations(program, scf.WhileOp):
        for op in list(loop.after.block):
            if not isinstance(op, func.CallOp) or any(is_inside(v, loop) for v in op.operands):
                continue
            if any(is_effect(i) or isinstance(i, func.CallOp) for i in called(op)):
                continue
            if not any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
                op.move_before(loop)
