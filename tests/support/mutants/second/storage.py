"""Writes that cover others, views, and names of one storage that do not look alike."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from support.mutants.first.storage import after
from support.mutants.mutant import Area, Case
from support.mutants.programs import bools, case, f32, operations, ranked
from tx8ir.core import Builder, Program, TensorType, Value, ViewLike
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("storage", round=2)
read, copy = builtin.to_vtensor, builtin.to_tensor


def is_view(op: Any) -> bool:
    """Whether an operation shows storage under another name."""
    return op.interface(ViewLike) is not None


@AREA.mutant(
    citation="Noelo-Lab/kuna#686: [AUTOMATED] fix(p6): a load is not moved past a store that overlaps its bytes",
    mistake="takes a write of a window for one of the whole storage",
    witness=lambda: case(
        lambda t, x: [
            pd.assign_(t, x), pd.set_value_(t, f32_of(x), axes=(0,), starts=(0,), ends=(1,)), read(t)
        ][2:],
        storage=["t"], t=f32(1, 2), x=f32(3, 4),
    ),
    control=lambda: case(
        lambda t, x: [pd.fill_(t, value=9.0), pd.assign_(t, x), read(t)][2:],
        storage=["t"], t=f32(1, 2), x=f32(3, 4),
    ),
)  # fmt: skip
@attrs.frozen
class DropOverwrittenWrites(Pass):
    """Drops a write of a storage that is written again before anything uses it."""

    name: ClassVar[str] = "drop-overwritten-writes"

    def run(self, program: Program) -> None:
        for op in operations(program, InplaceOp):
            storage = op.operands[0]
            if op.results[0].has_uses:
                continue
            if not all(isinstance(user, InplaceOp | builtin.ToVTensorOp) for user in storage.users):
                continue
            if storage.defining_op is not None and not isinstance(storage.defining_op, builtin.ToTensorOp):
                continue
            for later in after(op):
                if later.regions or later.name in ("func.call", "func.return") or later.successors:
                    break
                if storage in later.operands:
                    overwrites = isinstance(later, pd.Assign_Op | pd.Fill_Op | pd.SetValue_Op)
                    if overwrites and later.operands[0] is storage and storage not in later.operands[1:]:
                        op.erase()
                        self.count("writes")
                    break


def f32_of(x: Value) -> Value:
    """The first element of x."""
    return pd.slice(x, axes=(0,), starts=(0,), ends=(1,)).out


@AREA.mutant(
    citation="pytorch/pytorch#128979: [inductor] Refactor fusion of inplace operations (what is written in between)",
    mistake="the storage may have been written since it was read",
    witness=lambda: case(
        lambda t: [r := read(t), pd.fill_(t, value=4.0), pd.assign_(t, pd.abs(r)), read(t)][3:],
        storage=["t"], t=f32(1, -2),
    ),
    control=lambda: case(
        lambda t: [r := read(t), pd.assign_(t, pd.abs(r)), read(t)][2:], storage=["t"], t=f32(1, -2)
    ),
)  # fmt: skip
def compute_in_place(program: Program) -> None:
    """Assigning a storage what is computed from it alone -> computing in place."""
    forms: dict[type[Any], Any] = {pd.AbsOp: pd.abs_, pd.ReluOp: pd.relu_}
    for op in operations(program, pd.Assign_Op):
        computed = op.operands[1].defining_op
        form = forms.get(type(computed))
        source = computed.x.defining_op if form is not None and computed is not None else None
        if isinstance(source, builtin.ToVTensorOp) and source.x is op.operands[0] and computed.out.has_one_use:
            with Builder.before(op):
                written = form(source.x)
            op.replace_with(written)


@AREA.mutant(
    citation="llvm/llvm-project#130929: [MLIR][Bufferization] Retire `enforce-aliasing-invariants`",
    mistake="a copy of the view is another storage than the copy, which others read",
    witness=lambda: case(
        lambda x: [t := copy(x), v := pd.reshape(t, shape=(2, 1)), pd.relu_(v), read(t)][3:], x=f32(1, -2)
    ),
    control=lambda: case(
        lambda x: [v := pd.reshape(copy(x), shape=(2, 1)), pd.relu_(v), read(v)][2:], x=f32(1, -2)
    ),
)  # fmt: skip
@attrs.frozen
class ViewBeforeCopy(Pass):
    """Copies what a view shows instead of viewing a copy."""

    name: ClassVar[str] = "view-before-copy"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.ReshapeOp, pd.TransposeOp, pd.UnsqueezeOp):
            made = op.x.defining_op
            if isinstance(made, builtin.ToTensorOp) and not isinstance(made.x.type, TensorType):
                with Builder.before(op):
                    shown = type(op)(made.x, **{name: getattr(op, name) for name in given(op)})
                    copied = copy(shown)
                op.replace_with(copied)
                self.count("views")


@AREA.mutant(
    citation="intel/llvm#9744: [SYCL-MLIR]: Consider aliased store ops in MemorySelector",
    mistake="reads where the view is made, and not where it is read",
    witness=lambda: case(
        lambda t: [v := pd.reshape(t, shape=(2, 1)), pd.fill_(t, value=4.0), read(v)][2:], storage=["t"], t=f32(1, 2)
    ),
    control=lambda: case(
        lambda t, x: [v := pd.reshape(t, shape=(2, 1)), pd.relu(x), read(v)][2:],
        storage=["t"], t=f32(1, 2), x=f32(3, 4),
    ),
)  # fmt: skip
def read_before_view(program: Program) -> None:
    """Reading a view -> viewing what was read, which needs no storage."""
    for op in operations(program, builtin.ToVTensorOp):
        view = op.x.defining_op
        if isinstance(view, pd.ReshapeOp | pd.TransposeOp | pd.UnsqueezeOp) and isinstance(view.x.type, TensorType):
            with Builder.before(view):
                seen = read(view.x)
                shown = type(view)(seen, **{name: getattr(view, name) for name in given(view)})
            op.replace_with(shown)


def given(view: Any) -> tuple[str, ...]:
    """The names of the attributes of a view."""
    return {pd.ReshapeOp: ("shape",), pd.TransposeOp: ("perm",), pd.UnsqueezeOp: ("axis",)}[type(view)]


def root(value: Value) -> Value:
    """The storage that a view, or a view of one, shows."""
    while value.defining_op is not None and is_view(value.defining_op):
        value = value.defining_op.operands[0]
    return value


def is_own(value: Value, *others: type[Any]) -> bool:
    """Whether a storage, or what a view shows, was given to the function or made there; or by one of the `others`."""
    return root(value).defining_op is None or isinstance(root(value).defining_op, (builtin.ToTensorOp, *others))


def selecting(chosen: bool) -> Case:
    """Reads t before and after a write of another storage, which may be t."""

    def body(c: Value, t: Value, u: Value) -> Any:
        other = scf.IfOp.build(c, lambda: [t], lambda: [u]).results[0] if chosen else u
        first = read(t)
        pd.fill_(other, value=7.0)
        return pd.add(first, read(t))

    return case(body, storage=["t", "u"], c=bools(1), t=f32(1, 2), u=f32(3, 4))


@AREA.mutant(
    citation="noir-lang/noir#12231: load_store_forwarding: local allocations aliases should be tracked (IfElse)",
    mistake="what a branch gives is taken for storage of its own",
    witness=lambda: selecting(chosen=True),
    control=lambda: selecting(chosen=False),
)
@attrs.frozen
class MergeReadsOfRoots(Pass):
    """Reads a storage once, up to the next write of it or of a view of it."""

    name: ClassVar[str] = "merge-reads-of-roots"

    def run(self, program: Program) -> None:
        known: dict[Value, Any] = {}
        for op in list(program.main.body.block):
            if isinstance(op, InplaceOp) and is_own(op.operands[0], scf.IfOp):
                known = {v: r for v, r in known.items() if root(v) is not root(op.operands[0])}
            elif isinstance(op, InplaceOp) or op.regions or op.name == "func.call":
                known.clear()
            elif isinstance(op, builtin.ToVTensorOp) and is_own(op.x):
                earlier = known.setdefault(op.x, op)
                if earlier is not op:
                    op.replace_with(earlier)
                    self.count("reads")


@AREA.mutant(
    citation="pytorch/pytorch#42334: Remove Mutation on List/Tuple elements",
    mistake="an element that is taken from a list is the storage that was put there",
    witness=lambda: case(
        lambda t: [
            e := builtin.slice_(builtin.combine([t]), index=0), pd.fill_(t, value=1.0), pd.fill_(e, value=5.0), read(t)
        ][3:],
        storage=["t"], t=f32(3, 4),
    ),
    control=lambda: case(
        lambda t, u: [pd.fill_(t, value=1.0), pd.fill_(u, value=5.0), read(t)][2:],
        storage=["t", "u"], t=f32(3, 4), u=f32(5, 6),
    ),
)  # fmt: skip
def forward_fills(program: Program) -> None:
    """A read of a storage that was filled gives the number."""
    filled: dict[Value, float] = {}
    for op in list(program.main.body.block):
        written = isinstance(op, InplaceOp)
        if op.regions or op.name == "func.call" or (written and not is_own(op.operands[0], builtin.SliceOp)):
            filled.clear()
        elif written:
            filled.pop(root(op.operands[0]), None)
            if isinstance(op, pd.Fill_Op) and root(op.x) is op.x:
                filled[op.x] = op.value
        elif isinstance(op, builtin.ToVTensorOp) and op.x in filled and ranked(op.out).is_static:
            kind = ranked(op.out)
            with Builder.before(op):
                known = pd.full(shape=kind.shape, value=filled[op.x], dtype=kind.element)
            op.replace_with(known)
