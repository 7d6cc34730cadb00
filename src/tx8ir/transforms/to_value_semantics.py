"""To value semantics: operations compute on vtensors; storage that a function owns is written no more."""

# Regions move from an operation to the one that takes its place.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, cast

import attrs

from tx8ir.core import (
    Block,
    Builder,
    HasValueSemantics,
    Operation,
    Program,
    Region,
    TensorType,
    Type,
    Value,
    ViewLike,
    at_location,
)
from tx8ir.dialects import builtin, func, pd, scf

from .alias import AliasAnalysis
from .pass_manager import Pass, register_pass
from .tasks import Task, run_tasks


class _Place:
    """A tensor that is known: the tensor its storage was allocated for, and the view that leads there from another.

    Known for each moment, so a write to one place is seen at another by applying its views. Places are one object for
    each tensor they are made for, so two are the same only if they are one.
    """

    __slots__ = ("base", "index", "root", "view")

    def __init__(self, root: Value, base: _Place | None = None, view: Operation | None = None, index: int = 0) -> None:
        self.root = root
        self.base = base
        self.view = view
        self.index = index

    def views(self) -> list[tuple[ViewLike, int]]:
        """The views that lead from the root to here, and which of their results."""
        found: list[tuple[ViewLike, int]] = []
        place = self
        while place.base is not None:
            found.append((cast(ViewLike, cast(Operation, place.view).interface(ViewLike)), place.index))
            place = place.base
        found.reverse()
        return found


@register_pass
@attrs.frozen
class ToValueSemantics(Pass):
    """Makes operations compute on vtensors, and replaces writes by new values where every alias is known.

    1. What is taken from a list or dictionary that is made in the program is what was put in.
    2. An operation with value semantics on tensors reads them through `to_vtensor` and gives its results through
       `to_tensor`. An in-place `foo_` becomes `foo` and `pd.assign_` of its result to the same tensor.
    3. `pd.assign_` to storage that a function allocates (`to_tensor`) and owns goes away: from there on the storage is
       a new tensor, and so are all its aliases. A write through views scatters back into what they are views of, by
       their inverses; reading a view applies it to the storage as it is then. Storage written in a branch or loop
       becomes a result of it and a loop-carried value.

    Storage stays written by `pd.assign_` when it exists outside of the function (arguments, parameters, inputs,
    results of calls), when a tensor on it may be one of several (chosen by a branch, carried by a loop, taken from a
    list) and is written as such, or while that is so and the storage itself is written later; in functions of
    several blocks (`cf`) always.

    Assumes: nothing. Guarantees: no in-place operation but `pd.assign_` is left, none of storage that is owned and
    known; no operation with value semantics has a tensor operand. Idempotent. Cost: linear. Statistics: `opened`
    (lists, and what is taken from them), `wrapped`, `rewritten` (in-place operations), `owned` (storages that are
    written no more).
    """

    name: ClassVar[str] = "to-value-semantics"

    def run(self, program: Program) -> None:
        self.count("opened", _open_lists(program, self.name))
        for op in list(program.module.walk()):
            if isinstance(op, pd.InplaceOp):
                self.count("rewritten", _rewrite_inplace(op, self.name))
            elif op.has_trait(HasValueSemantics):
                self.count("wrapped", _wrap(op))
        analysis = AliasAnalysis(program)
        for function in program.body:
            if isinstance(function, func.FuncOp):
                self.count("owned", _Ownership(function, analysis, self.name).run())


def _open_lists(program: Program, by: str) -> int:
    """Replace the elements taken from lists and dictionaries that are made here; how many operations went."""
    removed = 0
    made: list[Operation] = []
    for op in list(program.module.walk()):
        given: list[Value] | None = None
        if isinstance(op, (builtin.SliceOp, builtin.GetItemOp)):
            element = op.fold(())
            given = [element] if isinstance(element, Value) else None
        elif isinstance(op, builtin.SplitOp) and isinstance(op.x.defining_op, builtin.CombineOp):
            given = list(op.x.defining_op.inputs)
        elif isinstance(op, (builtin.CombineOp, builtin.MakeDictOp)):
            made.append(op)
        if given is not None:
            op.replace_with(given, by)
            removed += 1
    for op in reversed(made):  # a list in a list goes after the one it is in
        if not op.results[0].has_uses:
            op.erase(by)
            removed += 1
    return removed


def _wrap(op: Operation) -> int:
    """Read tensor operands through `to_vtensor`, give tensor results through `to_tensor`; 1 when there were any."""
    changed = _read_operands(op, range(len(op.operands)))
    for result in op.results:
        if not isinstance(result.type, TensorType):
            continue
        result.type = result.type.to_vtensor()
        with at_location(op.location), Builder.after(op):
            given = builtin.to_tensor(result)
        uses = [use for use in result.uses if use.owner is not given]
        for use in uses:
            use.set(given.out)
        changed = True
    return int(changed)


def _read_operands(op: Operation, indices: range) -> bool:
    read: dict[Value, Value] = {}
    for index in indices:
        value = op.operands[index]
        if isinstance(value.type, TensorType):
            if value not in read:
                with at_location(op.location), Builder.before(op):
                    read[value] = builtin.to_vtensor(value).out
            op.set_operand(index, read[value])
    return bool(read)


def _rewrite_inplace(op: pd.InplaceOp, by: str) -> int:
    """`foo_` as `foo` and `pd.assign_`; 1 when it was not one already."""
    target = op.operands[0]
    op.results[0].replace_all_uses_with(target)
    if isinstance(op, pd.Assign_Op):
        _read_operands(op, range(1, 2))
        return 0
    with at_location(op.location), Builder.before(op):
        read: dict[Value, Value] = {}
        for value in op.operands:
            if value not in read:
                read[value] = builtin.to_vtensor(value).out if isinstance(value.type, TensorType) else value
        form = op.value_form([read[value] for value in op.operands])
        assert op.parent is not None  # the builder above
        op.parent.insert_before(form, op)
        pd.assign_(target, form.results[0])
    op.erase(by)
    return 1


_READERS: Final = (builtin.ToVTensorOp, builtin.ToTensorOp, builtin.SetParameterOp, pd.FetchOp, pd.Assign_Op)
"""Operations that read or write a tensor and give it to nobody else."""


class _Ownership:
    """The storages of one function that are owned and known, and the rewriting of what writes them."""

    def __init__(self, function: func.FuncOp, analysis: AliasAnalysis, by: str) -> None:
        self.function = function
        self.analysis = analysis
        self.by = by
        self.places: dict[Value, _Place] = {}
        self.owned: dict[Value, None] = {}
        self.versions: dict[Value, Value] = {}  # of each owned storage, what it is at this point
        self.undo: list[tuple[Value, Value | None]] = []
        self.written_in: dict[Operation, dict[Value, None]] = {}
        self.dead: list[Operation] = []
        self.dropped: list[tuple[Block, int]] = []  # block arguments that nothing uses any more, last ones first

    def run(self) -> int:
        """Rewrite the function; the number of storages that are written no more."""
        writes = [op for op in self.function.walk() if isinstance(op, pd.Assign_Op)]
        if not writes or any(len(r) > 1 for op in self.function.walk() for r in op.regions):
            return 0
        self._locate()
        self._choose(writes)
        if not self.owned:
            return 0
        for op in writes:
            root, inside = self._owner(op.x), cast(Operation, op)
            while root is not None and inside.parent is not root.parent_block:
                inside = cast(Operation, inside.parent_op)
                self.written_in.setdefault(inside, {})[root] = None
        run_tasks(self._block(self.function.body.block))
        for op in reversed(self.dead):
            op.erase(self.by)
        for block, index in self.dropped:
            block.erase_argument(index)
        return len(self.owned)

    # -- where tensors are ---------------------------------------------------------------------------------------------

    def _locate(self) -> None:
        """Find the places of tensors. Those carried by loops are taken to be where they start until found elsewhere."""
        order = list(self.function.walk())
        elsewhere: set[Value] = set()
        while True:
            self.places.clear()
            for op in order:
                self._place_results(op, elsewhere)
            found = len(elsewhere)
            for op in order:
                if isinstance(op, scf.WhileOp):
                    yielded, passed = _end(op.after).operands, _end(op.before).operands[1:]
                    for argument, start, following in zip(op.before.block.args, op.inits, yielded, strict=True):
                        if self._place(argument) is not self._place(following) or self._place(start) is None:
                            elsewhere.add(argument)
                    for argument, result, given in zip(op.after.block.args, op.results, passed, strict=True):
                        if not self._reaches(self._place(given), op):
                            elsewhere |= {argument, result}
            if len(elsewhere) == found:
                return

    def _place(self, value: Value) -> _Place | None:
        return self.places.get(value)

    def _reaches(self, place: _Place | None, op: Operation) -> bool:
        """Whether a place is of storage allocated outside of `op`."""
        return place is not None and not any(a is op for a in cast(Operation, place.root.defining_op).ancestors())

    def _place_results(self, op: Operation, elsewhere: set[Value]) -> None:
        if isinstance(op, builtin.ToTensorOp):
            self.places[op.out] = _Place(op.out)
        elif op.interface(ViewLike) is not None:
            base = self._place(op.operands[0])
            if base is not None:
                for index, result in enumerate(op.results):
                    self.places[result] = _Place(base.root, base, op, index)
        elif isinstance(op, scf.WhileOp):
            for argument, start in zip(op.before.block.args, op.inits, strict=True):
                place = self._place(start)
                if place is not None and argument not in elsewhere:
                    self.places[argument] = place
        elif isinstance(op, scf.ConditionOp):
            loop = cast(scf.WhileOp, op.parent_op)
            for argument, result, given in zip(loop.after.block.args, loop.results, op.values, strict=True):
                place = self._place(given)
                if place is not None and argument not in elsewhere and self._reaches(place, loop):
                    self.places[argument] = self.places[result] = place
        elif isinstance(op, scf.YieldOp) and isinstance(op.parent_op, scf.IfOp):
            branch = op.parent_op
            for index, (result, given) in enumerate(zip(branch.results, op.values, strict=True)):
                other = _end(branch.then_region).operands[index]
                place = self._place(given)
                if self._reaches(place, branch) and place is self._place(other) and _end(branch.else_region) is op:
                    self.places[result] = cast(_Place, place)

    # -- which storages are owned --------------------------------------------------------------------------------------

    def _choose(self, writes: Sequence[pd.Assign_Op]) -> None:
        analysis = self.analysis
        unknown: set[int] = set()  # storages written by something else than an assign_ to a known place
        for op in self.function.walk():
            if isinstance(op, pd.Assign_Op):
                if self._place(op.x) is None:
                    unknown |= analysis.storages(op.x)
            elif not op.regions:
                effects = analysis.effects(op)
                if effects.opaque:
                    return
                unknown |= effects.writes
        last_write: dict[Value, Operation] = {}
        for op in writes:
            place = self._place(op.x)
            if place is None or analysis.is_external(op.x) or not unknown.isdisjoint(analysis.storages(op.x)):
                continue
            root = place.root
            lifted = _lifted(op, root)
            if root not in last_write or last_write[root].is_before(lifted):
                last_write[root] = lifted
        for root in last_write:
            self.owned[root] = None
        for value, place in self.places.items():
            root = place.root
            if root in self.owned:
                for use in value.uses:
                    if self._escapes(use.owner, use.index, value):
                        lifted = _lifted(use.owner, root)
                        if not last_write[root].is_before(lifted):
                            del self.owned[root]
                            break

    def _escapes(self, user: Operation, index: int, value: Value) -> bool:
        """Whether a use makes a tensor that is somewhere else known: one of several, or outside of the function."""
        if isinstance(
            user, (builtin.ToVTensorOp, builtin.ToTensorOp, pd.Assign_Op, pd.FetchOp, builtin.SetParameterOp)
        ):
            return False
        if user.interface(ViewLike) is not None:
            return False
        if isinstance(user, func.CallOp):
            return any(self.analysis.may_alias(value, result) for result in user.results)
        if isinstance(user, scf.IfOp) or (isinstance(user, scf.ConditionOp) and index == 0):
            return False  # a condition is read
        taken = self._taken(user, index)
        return not taken or any(self._place(v) is None for v in taken)

    @staticmethod
    def _taken(user: Operation, index: int) -> tuple[Value, ...]:
        """The values that a use gives its value to, in control flow; none for other uses."""
        parent = user.parent_op
        if isinstance(user, scf.WhileOp):
            return (user.before.block.args[index],)
        if isinstance(user, scf.ConditionOp) and isinstance(parent, scf.WhileOp) and index:
            return (parent.after.block.args[index - 1], parent.results[index - 1])
        if isinstance(user, scf.YieldOp) and isinstance(parent, scf.IfOp):
            return (parent.results[index],)
        if isinstance(user, scf.YieldOp) and isinstance(parent, scf.WhileOp):
            return (parent.before.block.args[index],)
        return ()

    # -- rewriting ----------------------------------------------------------------------------------------------------

    def _owner(self, value: Value) -> Value | None:
        place = self.places.get(value)
        return place.root if place is not None and place.root in self.owned else None

    def _set(self, root: Value, version: Value) -> None:
        self.undo.append((root, self.versions.get(root)))
        self.versions[root] = version

    def _back_to(self, mark: int) -> None:
        while len(self.undo) > mark:
            root, version = self.undo.pop()
            if version is None:
                del self.versions[root]
            else:
                self.versions[root] = version

    def _block(self, block: Block) -> Task:
        for op in list(block):
            if isinstance(op, builtin.ToTensorOp):
                self._use(op, range(1))
                if op.out in self.owned:
                    self._set(op.out, op.out)
            elif isinstance(op, pd.Assign_Op) and self._owner(op.x) is not None:
                self._write(op)
            elif isinstance(op, builtin.ToVTensorOp) and self._owner(op.x) is not None:
                self._read(op)
            elif op.interface(ViewLike) is not None and self._owner(op.operands[0]) is not None:
                self.dead.append(op)
            elif isinstance(op, scf.IfOp):
                yield self._if(op)
            elif isinstance(op, scf.WhileOp):
                yield self._while(op)
            elif op.regions:
                for region in op.regions:
                    for inner in region.blocks:
                        yield self._block(inner)
            elif not isinstance(op, (scf.YieldOp, scf.ConditionOp)):
                self._use(op, range(len(op.operands)))

    def _tensor(self, value: Value) -> Value:
        """What an owned tensor is now, as a tensor: the newest version of its storage, seen through its views."""
        place = self.places[value]
        found = self.versions[place.root]
        for view, index in place.views():
            found = view.forward(found)[index]
        return found

    def _use(self, op: Operation, indices: range) -> None:
        seen: dict[Value, Value] = {}
        for index in indices:
            value = op.operands[index]
            if self._owner(value) is not None:
                if value not in seen:
                    with at_location(op.location), Builder.before(op):
                        seen[value] = self._tensor(value)
                op.set_operand(index, seen[value])

    def _read(self, op: builtin.ToVTensorOp) -> None:
        root, views = self.places[op.x].root, self.places[op.x].views()
        if not views:
            op.set_operand(0, self.versions[root])
            return
        with at_location(op.location), Builder.before(op):
            found: Value = builtin.to_vtensor(self.versions[root]).out
            for view, index in views:
                found = view.forward(found)[index]
        op.replace_with(found, self.by)

    def _write(self, op: pd.Assign_Op) -> None:
        root, views = self.places[op.x].root, self.places[op.x].views()
        with at_location(op.location), Builder.before(op):
            value = op.value
            if views:
                bases: list[Value] = [builtin.to_vtensor(self.versions[root]).out]
                for view, index in views[:-1]:
                    bases.append(view.forward(bases[-1])[index])
                for (view, index), base in zip(reversed(views), reversed(bases), strict=True):
                    value = view.inverse(base, index, value)
            self._set(root, builtin.to_tensor(value).out)
        op.erase(self.by)

    def _kept(self, values: Sequence[Value]) -> list[int]:
        """Indices of the values that stay: the others are tensors whose storage is owned."""
        return [i for i, value in enumerate(values) if self._owner(value) is None]

    def _finish(self, end: Operation, kept: Sequence[int], roots: Sequence[Value], first: int = 0) -> None:
        """Let a terminator give the values that are kept, and the versions of the storages; `first` operands stay."""
        self._use(end, range(first))
        given = list(end.operands[:first])
        for index in kept:
            self._use(end, range(first + index, first + index + 1))
        given += [end.operands[first + index] for index in kept]
        end.set_operands([*given, *(self.versions[root] for root in roots)])

    def _if(self, op: scf.IfOp) -> Task:
        roots = list(self.written_in.get(op, ()))
        kept = self._kept(op.results)
        self._use(op, range(1))
        if roots and not len(op.else_region):
            op.else_region.append(Block())
            op.else_region.block.append(scf.YieldOp([]))
        for region in op.regions:
            for block in region.blocks:
                mark = len(self.undo)
                yield self._block(block)
                self._finish(_end(region), kept, roots)
                self._back_to(mark)
        types = [op.results[i].type for i in kept] + [root.type for root in roots]
        self._replace(op, op.operands, types, kept, roots)

    def _while(self, op: scf.WhileOp) -> Task:
        roots = list(self.written_in.get(op, ()))
        kept_inits, kept_results = self._kept(op.before.block.args), self._kept(op.results)
        for index in kept_inits:
            self._use(op, range(index, index + 1))
        inits = [op.operands[i] for i in kept_inits] + [self.versions[root] for root in roots]
        mark = len(self.undo)
        for region, first, kept in ((op.before, 1, kept_results), (op.after, 0, kept_inits)):
            for root in roots:
                self._set(root, region.block.add_argument(root.type))
            yield self._block(region.block)
            self._finish(_end(region), kept, roots, first)
        self._back_to(mark)
        for region, kept in ((op.before, kept_inits), (op.after, kept_results)):
            count = len(region.block.args) - len(roots)
            self.dropped.extend((region.block, i) for i in reversed(range(count)) if i not in set(kept))
        types = [op.results[i].type for i in kept_results] + [root.type for root in roots]
        self._replace(op, inits, types, kept_results, roots)

    def _replace(
        self, op: Operation, operands: Sequence[Value], types: Sequence[Type], kept: Sequence[int], roots: list[Value]
    ) -> None:
        """Put an operation with the same regions in the place of `op`; its last results are the new versions."""
        if list(operands) == list(op.operands) and len(types) == len(op.results) and not roots:
            return
        regions: tuple[Region, ...] = op._regions
        op._regions = ()
        for region in regions:
            region._parent = None
        made: Operation = type(op).create(
            operands, types, attributes=op.attributes, regions=regions, location=op.location
        )
        assert op.parent is not None  # it was found in a block
        op.parent.insert_before(made, op)
        for index, result in zip(kept, made.results, strict=False):
            op.results[index].replace_all_uses_with(result)
        for root, result in zip(roots, made.results[len(kept) :], strict=True):
            self._set(root, result)
        self.dead.append(op)


def _end(region: Region) -> Operation:
    return cast(Operation, region.block.last_op)


def _lifted(op: Operation, root: Value) -> Operation:
    """The operation in the block of `root` that is or holds `op`."""
    block = root.parent_block
    while op.parent is not block:
        op = cast(Operation, op.parent_op)
    return op
