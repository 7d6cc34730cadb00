"""Storage that is used again, copies that are moved, writes that seem to do nothing or to come last."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.first.loops import count_to
from support.mutants.first.storage import after
from support.mutants.mutant import Area, Case
from support.mutants.programs import case, constant, f32, is_inside, operations, ranked
from tx8ir.core import Builder, Operation, Program, TensorType, Value
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass
from tx8ir.rewriting import Rewriter, pattern

AREA = Area("storage", round=3)
CHANGING = ("func.call", "builtin.set_parameter", "builtin.set_combine_parameter")
"""What may write storage that it is not given."""
read, copy = builtin.to_vtensor, builtin.to_tensor


def with_two_copies(in_loop: bool) -> Case:
    """Adds what a copy of x holds, then what another one does; once, or in each of two turns."""

    def body(x: Value, y: Value) -> Any:
        first = copy(x)

        def turn(a: Value) -> list[Any]:
            total = pd.add(a, read(first))
            second = copy(pd.relu(total))
            pd.add_(second, y)
            return [pd.add(total, read(second))]

        return count_to(constant([2]), constant([0]), x, body=turn).results[1] if in_loop else turn(x)[0]

    return case(body, x=f32(1, 2), y=f32(3, 4))


@AREA.mutant(
    citation="hw-native-sys/PTOAS#913: Rewrite memory planning (reuses a loop-invariant buffer within the iteration)",
    mistake="what is not used any more in a turn of a loop is used in the next one",
    witness=lambda: with_two_copies(in_loop=True),
    control=lambda: with_two_copies(in_loop=False),
)
@attrs.frozen
class ReuseStorage(Pass):
    """Copies into storage that is not used any more instead of storage of its own."""

    name: ClassVar[str] = "reuse-storage"

    def run(self, program: Program) -> None:
        made = list(operations(program, builtin.ToTensorOp))
        for new in tuple(made):
            later = {inner for op in after(new) for inner in op.walk()}
            for old in made:
                if old.out.type is not new.out.type or isinstance(new.x.type, TensorType):
                    continue
                if (
                    not ranked(old.out).is_static
                    or old is new
                    or not is_before(old, new)
                    or not all(is_direct(user) for user in old.out.users)
                ):
                    continue
                if all(user not in later and user.parent is new.parent for user in old.out.users):
                    with Builder.before(new):
                        pd.assign_(old.out, new.x)
                    made.remove(new)
                    new.replace_with(old.out)
                    self.count("copies")
                    break


def is_before(old: Operation, new: Operation) -> bool:
    """Whether an operation comes before another one, or before one that holds it, in its block."""
    around = next((op for op in (new, *new.ancestors()) if op.parent is old.parent), None)
    return around is not None and around in after(old)


def is_direct(user: Operation) -> bool:
    """Whether it reads or writes storage, and makes no other name for it."""
    return isinstance(user, builtin.ToVTensorOp) or (isinstance(user, InplaceOp) and not user.results[0].has_uses)


def copying(writes: bool) -> Case:
    """While i < 3: copy x, perhaps write the copy, and add what it holds."""

    def turn(x: Value, a: Value) -> list[Any]:
        t = copy(x)
        if writes:
            pd.add_(t, constant([1]))
        return [pd.add(a, read(t))]

    return case(
        lambda x: count_to(constant([3]), constant([0]), x, body=lambda a: turn(x, a)).results[1], x=f32(1, 2)
    )  # fmt: skip


@AREA.mutant(
    citation="llvm/llvm-project#90735: Avoid buffer hoisting from parallel loops",
    mistake="each turn has a new copy, which it may write",
    witness=lambda: copying(writes=True),
    control=lambda: copying(writes=False),
)
def hoist_copies(program: Program) -> None:
    """Copies what a loop does not change once, before it."""
    for loop in operations(program, scf.WhileOp):
        for op in list(loop.after.block):
            if (
                isinstance(op, builtin.ToTensorOp)
                and not is_inside(op.x, loop)
                and not isinstance(op.x.type, TensorType)
            ):
                op.move_before(loop)


def writing_last(reads: bool) -> Case:
    """While i < 3: add what t holds, or 1, to a; t = a."""

    def body(x: Value) -> Any:
        t, one = copy(x), constant([1])

        def turn(a: Value) -> list[Any]:
            total = pd.add(a, read(t) if reads else one)
            pd.assign_(t, total)
            return [total]

        return count_to(constant([3]), constant([0]), x, body=turn).results[1]

    return case(body, x=f32(1, 2))


@AREA.mutant(
    citation="OpenModelica/OpenModelica#3178: Dead store elimination removes used statements in for-loops",
    mistake="what nothing reads after it in its turn may be read in the next one",
    witness=lambda: writing_last(reads=True),
    control=lambda: writing_last(reads=False),
)
def drop_last_writes(program: Program) -> None:
    """Drops a write of storage of the function's own that nothing reads later."""
    for op in operations(program, InplaceOp):
        storage = op.operands[0]
        if not isinstance(storage.defining_op, builtin.ToTensorOp) or op.results[0].has_uses:
            continue
        if not all(is_direct(user) for user in storage.users):
            continue
        around = (op, *op.ancestors())
        later = {inner for each in around if each.parent is not None for o in after(each) for inner in o.walk()}
        if not any(user in later for user in storage.users):
            op.erase()


def filling(second: float) -> Case:
    """Fills t with 0, and with another number."""
    return case(
        lambda t, x: [pd.fill_(t, value=0.0), pd.fill_(t, value=second), pd.relu(x)][2:],
        storage=["t"], t=f32(1, 2), x=f32(3, 4),
    )  # fmt: skip


@AREA.mutant(
    citation="facebookincubator/velox#15884: different results in the presence of positive and negative 0.0",
    mistake="-0 and +0 compare equal",
    special_value=True,
    witness=lambda: filling(-0.0),
    control=lambda: filling(0.0),
)
@attrs.frozen
class DropRepeatedFills(Pass):
    """Filling storage with the number that it is full of does nothing."""

    name: ClassVar[str] = "drop-repeated-fills"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.Fill_Op):
            earlier = op.prev_op
            while earlier is not None and not earlier.regions and earlier.name not in CHANGING:
                if isinstance(earlier, InplaceOp):
                    if isinstance(earlier, pd.Fill_Op) and earlier.x is op.x and earlier.value == op.value:
                        op.replace_with(op.x)
                        self.count("fills")
                    break
                earlier = earlier.prev_op


@pattern(pd.Assign_Op)
def drop_self_assignment(op: pd.Assign_Op, rewriter: Rewriter) -> bool:
    """Assigning storage what it holds does nothing"""
    source = op.operands[1].defining_op
    if not isinstance(source, builtin.ToVTensorOp) or source.x is not op.operands[0] or op.results[0].has_uses:
        return False
    rewriter.erase(op)
    return True


AREA.rules(
    "drop-self-assignment",
    drop_self_assignment,
    citation="pytorch/executorch#7515: _copy operation to mutable buffer eliminated in to_edge()",
    mistake="it may hold something else than when it was read",
    witness=lambda: case(
        lambda t, x: [old := read(t), pd.fill_(t, value=4.0), pd.assign_(t, old), x][3:],
        storage=["t"], t=f32(1, 2), x=f32(3, 4),
    ),
    control=lambda: case(
        lambda t, x: [old := read(t), pd.assign_(t, old), x][2:], storage=["t"], t=f32(1, 2), x=f32(3, 4)
    ),
)  # fmt: skip
