"""Mutants of storage: copies, writes in place, reads that are moved or merged, stores that are dropped."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.mutant import Area
from support.mutants.programs import bools, case, constant, f32, operations
from tx8ir.core import Operation, Program, ReadOnly, TensorType, Value, ViewLike
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass
from tx8ir.rewriting.declarative import Node, Rule, Var

AREA = Area("storage", round=1)
read, copy = builtin.to_vtensor, builtin.to_tensor


def after(op: Operation) -> list[Operation]:
    """The operations after `op` in its block."""
    found: list[Operation] = []
    following = op.next_op
    while following is not None:
        found.append(following)
        following = following.next_op
    return found


AREA.rules(
    "read-of-copy",
    Rule("same", Node(builtin.ToVTensorOp, Node(builtin.ToTensorOp, Var("x"))), Var("x")),
    citation="llvm/llvm-project#58293: Bufferization Over Aggressive Copy Removal",
    mistake="the copy may have been written in between",
    witness=lambda: case(lambda x: [t := copy(x), pd.relu_(t), read(t)][2:], x=f32(1, -2)),
    control=lambda: case(lambda x: read(copy(x)), x=f32(1, -2)),
)


@AREA.mutant(
    citation="llvm/llvm-project#213241: `linalg.map` one-shot bufferization drops a read of `outs`",
    mistake="asks whether the copy is written; the source is, after it was copied",
    witness=lambda: case(lambda t: [c := copy(t), pd.fill_(t, value=9.0), read(c)][2:], storage=["t"], t=f32(1, 2)),
    control=lambda: case(lambda t: [c := copy(t), read(c)][1:], storage=["t"], t=f32(1, 2)),
)
@attrs.frozen
class ElideCopies(Pass):
    """Uses the source where a copy of it is never written."""

    name: ClassVar[str] = "elide-copies"

    def run(self, program: Program) -> None:
        for op in operations(program, builtin.ToTensorOp):
            if op.x.type is op.out.type and all(isinstance(user, builtin.ToVTensorOp) for user in op.out.users):
                op.replace_with(op.x)
                self.count("copies")


@AREA.mutant(
    citation="pytorch/pytorch#122457: torch.compile reinplaces buffers incorrectly in the presence of multiple views",
    mistake="the source is not used later itself; a view of it is",
    witness=lambda: case(
        lambda x: [
            t := copy(x), v := pd.reshape(t, shape=(2, 1)), c := copy(t), pd.relu_(c), read(c), read(v)
        ][4:],
        x=f32(1, -2),
    ),
    control=lambda: case(lambda x: [t := copy(x), c := copy(t), pd.relu_(c), read(c)][3:], x=f32(1, -2)),
)  # fmt: skip
def write_into_source(program: Program) -> None:
    """copy(t) that is then written -> t itself, where t is made here and not used any more."""
    for op in operations(program, builtin.ToTensorOp):
        source = op.x.defining_op
        is_made_here = isinstance(source, builtin.ToTensorOp) and source.parent is op.parent
        if is_made_here and op.x.type is op.out.type and not any(op.x in later.operands for later in after(op)):
            op.replace_with(op.x)


@AREA.mutant(
    citation="pytorch/pytorch#94777: `torch.compile` inplace operation will affect the result of the ops before it",
    mistake="a read does not commute with a write of what it reads",
    witness=lambda: case(lambda t: [r := read(t), pd.fill_(t, value=3.0), pd.relu(r)][2:], storage=["t"], t=f32(1, 2)),
    control=lambda: case(
        lambda t, x: [r := read(t), y := pd.relu(x), pd.add(r, y)][2:], storage=["t"], t=f32(1, 2), x=f32(3, -4)
    ),
)
def sink_reads(program: Program) -> None:
    """Moves operations without effects to their first user, which shortens the life of values."""
    for op in operations(program, builtin.ToVTensorOp):
        users = [later for later in after(op) if op.out in later.operands]
        if users and len(users) == op.out.num_uses and users[0] is not op.next_op:
            op.move_before(users[0])


@AREA.mutant(
    citation="llvm/llvm-project#168507: [mlir][memref] Generalize dead store detection to all view-like ops",
    mistake="sees reads of the storage under the name that is written, not through views",
    witness=lambda: case(
        lambda x: [
            t := copy(x), v := pd.slice(t, axes=(0,), starts=(0,), ends=(1,)), pd.relu_(t), read(v)
        ][3:],
        x=f32(-1, 2),
    ),
    control=lambda: case(lambda x: [t := copy(x), pd.relu_(t), x][2:], x=f32(-1, 2)),
)  # fmt: skip
@attrs.frozen
class DropDeadStores(Pass):
    """Drops writes into storage made in the same block that nothing reads afterwards."""

    name: ClassVar[str] = "drop-dead-stores"

    def run(self, program: Program) -> None:
        for op in operations(program, InplaceOp):
            storage = op.operands[0]
            if not isinstance(storage.defining_op, builtin.ToTensorOp) or op.result.has_uses:
                continue
            if storage.parent_block is op.parent and not any(_uses(later, storage) for later in after(op)):
                op.erase()
                self.count("stores")


def _uses(op: Operation, value: Value) -> bool:
    return any(value in inner.operands for inner in op.walk())


@AREA.mutant(
    citation="pytorch/pytorch#127821: Inductor lowering ignores auto_functionalized custom op",
    mistake="a write through a view goes unseen",
    witness=lambda: case(
        lambda t, x: [
            pd.assign_(t, x), v := pd.reshape(t, shape=(2, 1)), pd.relu_(v), read(t)
        ][3:],
        storage=["t"], t=f32(1, 2), x=f32(3, -4),
    ),
    control=lambda: case(lambda t, x: [pd.assign_(t, x), read(t)][1:], storage=["t"], t=f32(1, 2), x=f32(3, -4)),
)  # fmt: skip
@attrs.frozen
class ForwardStores(Pass):
    """A read after an assignment gives what was assigned."""

    name: ClassVar[str] = "forward-stores"

    def run(self, program: Program) -> None:
        for op in operations(program, builtin.ToVTensorOp):
            earlier = op.prev_op
            while earlier is not None and not earlier.regions:
                written = earlier.operands[0] if isinstance(earlier, InplaceOp) else None
                if written is op.x:
                    if earlier.name == "pd.assign_" and earlier.operands[1].type is op.out.type:
                        op.replace_with(earlier.operands[1])
                        self.count("reads")
                    break
                if earlier.name == "func.call":
                    break
                earlier = earlier.prev_op


@AREA.mutant(
    citation="tenstorrent/tt-mlir#7433: CSE pass incorrectly merges distinct d2m.empty() ops",
    mistake="copies of one value are two storages, of which one is then written",
    witness=lambda: case(lambda x: [a := copy(x), b := copy(x), pd.relu_(a), read(b)][3:], x=f32(1, -2)),
    control=lambda: case(lambda x: [a := copy(x), b := copy(x), pd.add(read(a), read(b))][2:], x=f32(1, -2)),
)
def merge_equal_copies(program: Program) -> None:
    seen: dict[Any, Any] = {}
    for op in operations(program, builtin.ToTensorOp):
        if not isinstance(op.x.type, TensorType):
            earlier = seen.setdefault((op.parent, op.x), op)
            if earlier is not op:
                op.replace_with(earlier)


@AREA.mutant(
    citation="llvm/llvm-project#218146: [mlir][CSE] Eliminate redundant reads across dominating blocks",
    mistake="looks for writes between two reads in their block, not inside the operations there",
    witness=lambda: case(
        lambda t, c: [
            a := read(t), scf.IfOp.build(c, lambda: [pd.fill_(t, value=6.0)][1:]), pd.add(a, read(t))
        ][2:],
        storage=["t"], t=f32(1, 2), c=bools(1),
    ),
    control=lambda: case(
        lambda t, c: [a := read(t), pd.add(a, read(t))][1:], storage=["t"], t=f32(1, 2), c=bools(1)
    ),
)  # fmt: skip
@attrs.frozen
class MergeReads(Pass):
    """Reads a storage once where nothing is written in between."""

    name: ClassVar[str] = "merge-reads"

    def run(self, program: Program) -> None:
        for block in [b for op in program.module.walk() for region in op.regions for b in region]:
            known: dict[Value, Any] = {}
            for op in list(block):
                if isinstance(op, InplaceOp) or op.name == "func.call":
                    known.clear()
                elif isinstance(op, builtin.ToVTensorOp):
                    earlier = known.setdefault(op.x, op)
                    if earlier is not op:
                        op.replace_with(earlier)
                        self.count("reads")


@AREA.mutant(
    citation="PaddlePaddle/Paddle-Lite#8376: fixed xpu_mem_optimizer_pass bug (inplace on what others still hold)",
    mistake="storage that nothing here reads any more is an argument: the caller sees it",
    witness=lambda: case(lambda t, x: [pd.add_(t, x), x][1:], storage=["t"], t=f32(1, 2), x=f32(3, 4)),
    control=lambda: case(lambda x: [t := copy(x), pd.add_(t, x), x][2:], x=f32(3, 4)),
)
def drop_writes_without_reader(program: Program) -> None:
    for op in operations(program, InplaceOp):
        uses = [user for user in op.operands[0].users if user is not op]
        if not op.result.has_uses and not uses:
            op.erase()


@AREA.mutant(
    citation="pytorch/pytorch#198101: Consumer of a dtype view of an input is computed after a later in-place mutation",
    mistake="reads are taken as free of order: they go before writes of what they read",
    witness=lambda: case(lambda t: [pd.fill_(t, value=4.0), read(t)][1:], storage=["t"], t=f32(1, 2)),
    control=lambda: case(
        lambda t, x: [y := pd.relu(x), pd.add(y, read(t))][1:], storage=["t"], t=f32(1, 2), x=f32(3, -4)
    ),
)
@attrs.frozen
class ScheduleEarly(Pass):
    """Moves reads to the top of their block, so that the machine can begin with them."""

    name: ClassVar[str] = "schedule-early"

    def run(self, program: Program) -> None:
        for op in operations(program, builtin.ToVTensorOp):
            made = op.x.defining_op
            first = op.parent.first_op if made is None or made.parent is not op.parent else made.next_op
            if ReadOnly in op.info.traits and first is not op and first is not None:
                op.move_before(first)
                self.count("moved")


@AREA.mutant(
    citation="pytorch/pytorch#139628: Illegal Memory Access With `torch.compile` (two inputs share storage)",
    mistake="a view of a view is taken for storage of its own, whose writes reach nothing else",
    witness=lambda: case(
        lambda t: [
            v := pd.reshape(t, shape=(2, 2)), r := pd.slice(v, axes=(0,), starts=(0,), ends=(1,)),
            pd.fill_(r, value=5.0), constant([0]),
        ][3:],
        storage=["t"], t=f32(1, 2, 3, 4),
    ),
    control=lambda: case(
        lambda x: [
            t := copy(x), r := pd.slice(t, axes=(0,), starts=(0,), ends=(1,)), pd.fill_(r, value=5.0), constant([0])
        ][3:],
        x=f32(1, 2, 3, 4),
    ),
)  # fmt: skip
def drop_writes_of_private_views(program: Program) -> None:
    """A write through a view is dropped when neither the view nor what it shows is used otherwise."""
    for op in operations(program, InplaceOp):
        view = op.operands[0].defining_op
        if view is None or view.interface(ViewLike) is None or op.result.has_uses or op.operands[0].num_uses != 1:
            continue
        base = view.operands[0]
        if base.num_uses == 1 and base.defining_op is not None:
            op.erase()


@AREA.mutant(
    citation="microsoft/onnxruntime#15109: Do not apply QuickGeluFusion if an intermediate tensor is a graph output",
    mistake="has a list of what has effects, in which a fetch is missing: a result of the program is lost",
    witness=lambda: case(lambda x: [y := pd.relu(x), pd.FetchOp(y, fetch_name="y"), pd.abs(x)][2:], x=f32(1, -2)),
    control=lambda: case(lambda x: [pd.relu(x), pd.abs(x)][1:], x=f32(1, -2)),
)
def drop_unused_operations(program: Program) -> None:
    kept = (InplaceOp, builtin.SetParameterOp, builtin.SetCombineParameterOp, pd.FeedOp)
    for op in reversed(list(program.main.body.block)):
        terminates = op is program.main.body.block.terminator or bool(op.successors)
        if terminates or op.regions or isinstance(op, kept) or op.name == "func.call":
            continue
        if not any(result.has_uses for result in op.results):
            op.erase()
