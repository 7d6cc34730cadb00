"""Writes that change places or become others, and copies that are done without."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import attrs

from support.mutants.first.storage import after
from support.mutants.mutant import Area, Case
from support.mutants.programs import case, constant, count, f32, operations, ranked
from support.mutants.third.storage import is_direct
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, Program, Value
from tx8ir.dialects import builtin, pd
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("storage", round=4)
read, copy = builtin.to_vtensor, builtin.to_tensor


def two_windows(first: int) -> Case:
    """Writes two places from some place on, then places 1 and 2."""
    return case(
        lambda t, u, v: [
            pd.set_value_(t, u, axes=(0,), starts=(first,), ends=(first + 2,)),
            pd.set_value_(t, v, axes=(0,), starts=(1,), ends=(3,)),
            u,
        ][2:],
        storage=["t"], t=count(5), u=f32(10, 20), v=f32(30, 40),
    )  # fmt: skip


@AREA.mutant(
    citation="chapel-lang/chapel#23690: Overlapped array assignment exhibits different behavior on CPU than GPU",
    mistake="windows that overlap cannot be written in either order",
    witness=lambda: two_windows(2),
    control=lambda: two_windows(3),
)
@attrs.frozen
class SortWindowWrites(Pass):
    """Writes windows of a storage in the order of their places."""

    name: ClassVar[str] = "sort-window-writes"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.SetValue_Op):
            earlier = op.prev_op
            if not isinstance(earlier, pd.SetValue_Op) or op.operands[0] is not earlier.operands[0]:
                continue
            if len(op.axes) != 1 or op.axes != earlier.axes or op.result.has_uses or earlier.result.has_uses:
                continue
            if 0 <= op.starts[0] < earlier.starts[0]:
                op.move_before(earlier)
                self.count("writes")


def adding(number: float) -> Case:
    """Fills t with 0, and adds x."""
    return case(
        lambda t, x: [pd.fill_(t, value=0.0), pd.add_(t, x), x][2:], storage=["t"], t=f32(1, 2), x=f32(3, number)
    )  # fmt: skip


@AREA.mutant(
    citation="Menendez, Nagarakatte, Gupta: Alive-FP, SAS 2016 (class of mistake: signs of zero)",
    mistake="0 and -0 add up to 0",
    special_value=True,
    witness=lambda: adding(-0.0),
    control=lambda: adding(4),
)
def assign_instead_of_adding(program: Program) -> None:
    """Assigns what is added to storage that was just filled with 0."""
    for op in operations(program, pd.Add_Op):
        earlier, (storage, value) = op.prev_op, op.operands
        if not isinstance(earlier, pd.Fill_Op) or earlier.operands[0] is not storage or op.result.has_uses:
            continue
        if (
            earlier.value == 0.0
            and math.copysign(1.0, earlier.value) > 0
            and value.type is ranked(storage).to_vtensor()
        ):
            with Builder.before(op):
                pd.assign_(storage, value)
            op.erase()


def working(reads: bool) -> Case:
    """Adds x to a copy of t, which is assigned to t; reads t in between, or before."""

    def body(t: Value, x: Value) -> Any:
        old = read(t)
        c = copy(t)
        pd.add_(c, x)
        seen = read(t) if reads else old
        pd.assign_(t, read(c))
        return seen

    return case(body, storage=["t"], t=f32(1, 2), x=f32(10, 20))


@AREA.mutant(
    citation="pytorch/executorch#7810: Fix write back to buffers for buffer mutation",
    mistake="what the original holds may be read while its copy is worked on",
    witness=lambda: working(reads=True),
    control=lambda: working(reads=False),
)
@attrs.frozen
class WorkInOriginal(Pass):
    """Works in a storage instead of in a copy of it that is assigned to it in the end."""

    name: ClassVar[str] = "work-in-original"

    def run(self, program: Program) -> None:
        own = set(program.main.body.blocks[0].args)
        for op in operations(program, builtin.ToTensorOp):
            users, others = list(op.out.users), [user for user in op.x.users if user is not op]
            if op.x not in own or op.x.type is not op.out.type or not all(map(is_direct, [*users, *others])):
                continue
            following = after(op)
            ends = [user for user in others if isinstance(user, pd.Assign_Op) and user in following]
            last = ends[0].operands[1].defining_op if len(ends) == 1 else None
            if not isinstance(last, builtin.ToVTensorOp) or last.x is not op.out:
                continue
            between = following[: following.index(ends[0])]
            if any(user not in between for user in users) or any(each.regions for each in between):
                continue
            writes = [each.operands[0] for each in between if isinstance(each, InplaceOp)]
            late = [each for each in users if isinstance(each, InplaceOp) and last.is_before(each)]
            if op.x not in writes and not late:
                ends[0].erase()
                op.replace_with(op.x)
                self.count("copies")


def scratch(writes: bool) -> Case:
    """What a copy of t holds after x was added to it, or not."""

    def body(t: Value, x: Value) -> Any:
        c = copy(t)
        if writes:
            pd.add_(c, x)
        return pd.multiply(read(c), x)

    return case(body, storage=["t"], t=f32(1, 2), x=f32(10, 20))


@AREA.mutant(
    citation="llvm/llvm-project#113130: [mlir][bufferization]-Add enforce immutable func args pass",
    mistake="storage that nothing here uses any more is the caller's",
    witness=lambda: scratch(writes=True),
    control=lambda: scratch(writes=False),
)
def work_in_arguments(program: Program) -> None:
    """Works in a storage instead of in a copy of it where it is not used any more."""
    own = set(program.main.body.blocks[0].args)
    for op in operations(program, builtin.ToTensorOp):
        others = [user for user in op.x.users if user is not op]
        if op.x not in own or op.x.type is not op.out.type or [op.parent] != list(program.main.body):
            continue
        if all(is_direct(user) and user.parent is op.parent and user.is_before(op) for user in others):
            op.replace_with(op.x)


def one_window(columns: int) -> Case:
    """Fills both rows of t, and so many columns."""
    return case(
        lambda t, x: [
            pd.set_value_(t, constant([9]), axes=(0, 1), starts=(0, 0), ends=(2, columns)), x
        ][1:],
        storage=["t"], t=count(2, 3), x=f32(1),
    )  # fmt: skip


@AREA.mutant(
    citation="Liu et al.: NNSmith, ASPLOS 2023 (class of mistake: a condition asked of one axis of several)",
    mistake="looks whether the window is whole along its first axis",
    witness=lambda: one_window(2),
    control=lambda: one_window(3),
)
def fill_instead_of_window(program: Program) -> None:
    """Fills storage instead of writing one number to a window that is all of it."""
    for op in operations(program, pd.SetValue_Op):
        storage, value = op.operands
        kind, number = ranked(storage), splat_value(value)
        if not kind.is_static or not isinstance(number, float) or not op.axes or op.result.has_uses:
            continue
        places = range(kind.shape[op.axes[0]])
        if places[op.starts[0] : op.ends[0]] == places:
            with Builder.before(op):
                pd.fill_(storage, value=number)
            op.erase()
