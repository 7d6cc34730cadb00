"""What a call may give, read or write, and what its arguments may share."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants import programs
from support.mutants.first.calls import is_effect
from support.mutants.mutant import Area
from support.mutants.programs import bools, call, case, define, operations, parameter
from tx8ir.core import Block, Builder, Program, TensorType, Value, VTensorType, f32, i1
from tx8ir.dialects import builtin, cf, func, pd
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("calls", round=2)
V, T = VTensorType((2,), f32), TensorType((2,), f32)
A = programs.f32(1, 2)
read = builtin.to_vtensor


def writing() -> None:
    """A function that reads its second storage, writes the first, and reads the second again."""
    define("twice", lambda a, b: [r := read(b), pd.fill_(a, value=7.0), pd.add(r, read(b))][2:], T, T)


@AREA.mutant(
    citation="llvm/llvm-project#209908: [AMDGPU] Account for aliasing reads in RewriteOutArguments (one slot twice)",
    mistake="a call may give one storage for two arguments",
    witness=lambda: case(
        lambda t: call("twice", t, t, out=[V]).results, functions=writing, storage=["t"], t=programs.f32(1, 2)
    ),
    control=lambda: case(
        lambda t, u: call("twice", t, u, out=[V]).results,
        functions=writing, storage=["t", "u"], t=programs.f32(1, 2), u=programs.f32(3, 4),
    ),
)  # fmt: skip
@attrs.frozen
class MergeReadsOfArguments(Pass):
    """Reads a storage that a function is given once, up to the next write of it."""

    name: ClassVar[str] = "merge-reads-of-arguments"

    def run(self, program: Program) -> None:
        for function in operations(program, func.FuncOp):
            arguments = set(function.body.block.args)
            known: dict[Value, Any] = {}
            for op in list(function.body.block):
                if isinstance(op, InplaceOp) and op.operands[0] in arguments:
                    known.pop(op.operands[0], None)
                elif isinstance(op, InplaceOp) or op.regions or op.name == "func.call":
                    known.clear()
                elif isinstance(op, builtin.ToVTensorOp) and op.x in arguments:
                    earlier = known.setdefault(op.x, op)
                    if earlier is not op:
                        op.replace_with(earlier)
                        self.count("reads")


def returning(early: bool) -> Any:
    """A function that gives its second argument; where its first holds, something else."""

    def body(c: Value, x: Value) -> Any:
        if not early:
            return x
        region = x.parent_block.parent
        other, same = Block(), Block()
        region.append(other)
        region.append(same)
        cf.CondBranchOp(c, [], [], true_dest=other, false_dest=same)
        with Builder.at_end(other):
            func.ReturnOp([pd.relu(x).out])
        with Builder.at_end(same):
            func.ReturnOp([x])
        return None

    return lambda: define("through", body, VTensorType((1,), i1), V)


@AREA.mutant(
    citation="MonetDB/MonetDB#2131: function problom ----return and elseif (the inliner takes the last return)",
    mistake="looks at the last return alone",
    witness=lambda: case(
        lambda c, x: call("through", c, x, out=[V]).results,
        functions=returning(early=True), c=bools(1), x=programs.f32(1, -2),
    ),
    control=lambda: case(
        lambda c, x: call("through", c, x, out=[V]).results,
        functions=returning(early=False), c=bools(1), x=programs.f32(1, -2),
    ),
)  # fmt: skip
def forward_returned_arguments(program: Program) -> None:
    """What a function gives back as it was given needs no call to be known."""
    for op in operations(program, func.CallOp):
        callee = op.function()
        end = callee.body.blocks[-1].terminator if callee is not None else None
        if not isinstance(end, func.ReturnOp):
            continue
        arguments = list(callee.body.block.args)
        for result, value in zip(op.results, end.operands, strict=True):
            if value in arguments and result.has_uses:
                result.replace_all_uses_with(op.operands[arguments.index(value)])


def reading() -> None:
    """A function that adds a variable."""
    define("shifted", lambda x: pd.add(x, parameter("w", A)), V)


@AREA.mutant(
    citation="llvm/llvm-project#51010: EarlyCSE incorrectly assumes that readonly functions return",
    mistake="a function that only reads may read something else after a store",
    witness=lambda: case(
        lambda x: [
            a := call("shifted", x, out=[V]).results[0],
            builtin.set_parameter(x, parameter="w"),
            pd.subtract(a, call("shifted", x, out=[V]).results[0]),
        ][2:],
        functions=reading, weights={"w": A}, mutable=["w"], x=programs.f32(5, 6),
    ),
    control=lambda: case(
        lambda x: [
            a := call("shifted", x, out=[V]).results[0], pd.subtract(a, call("shifted", x, out=[V]).results[0])
        ][1:],
        functions=reading, weights={"w": A}, x=programs.f32(5, 6),
    ),
)  # fmt: skip
@attrs.frozen
class MergeCallsWithoutEffects(Pass):
    """Calls a function that writes nothing once for the same operands."""

    name: ClassVar[str] = "merge-calls-without-effects"

    def run(self, program: Program) -> None:
        seen: dict[Any, Any] = {}
        for op in operations(program, func.CallOp):
            callee = op.function()
            if callee is None or any(is_effect(i) or isinstance(i, func.CallOp) for i in callee.walk()):
                continue
            if any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results)):
                continue
            earlier = seen.setdefault((op.parent, op.callee, op.operands), op)
            if earlier is not op:
                op.replace_with(earlier.results)
                self.count("calls")


def clearing() -> None:
    """A function that writes the storage it is given, and one that writes nothing."""
    define("clear", lambda t: [pd.fill_(t, value=0.0)][1:], TensorType((2, 1), f32))
    define("look", lambda x: pd.relu(x), V)


@AREA.mutant(
    citation="noir-lang/noir#12317: load_store_forwarding: non-nested reference in call does not clear aliases",
    mistake="asks whether a call is given the storage, and it is given a view of it",
    witness=lambda: case(
        lambda t, x: [
            pd.assign_(t, x), call("clear", pd.reshape(t, shape=(2, 1)), out=[]), read(t)
        ][2:],
        functions=clearing, storage=["t"], t=programs.f32(1, 2), x=programs.f32(5, 6),
    ),
    control=lambda: case(
        lambda t, x: [pd.assign_(t, x), call("look", x, out=[V]), read(t)][2:],
        functions=clearing, storage=["t"], t=programs.f32(1, 2), x=programs.f32(5, 6),
    ),
)  # fmt: skip
def forward_stores_over_calls(program: Program) -> None:
    """A read after an assignment gives what was assigned, with calls in between that are not given the storage."""
    for op in operations(program, builtin.ToVTensorOp):
        if isinstance(op.x.defining_op, builtin.GetParameterOp):
            continue
        earlier = op.prev_op
        while earlier is not None and not earlier.regions:
            if isinstance(earlier, pd.Assign_Op) and earlier.operands[0] is op.x:
                if earlier.operands[1].type is op.out.type:
                    op.replace_with(earlier.operands[1])
                break
            if isinstance(earlier, InplaceOp) or (earlier.name == "func.call" and op.x in earlier.operands):
                break
            earlier = earlier.prev_op
