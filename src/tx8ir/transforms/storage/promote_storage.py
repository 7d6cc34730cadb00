"""Static single assignment of storage: each write to storage that a function owns makes a new value of it.

What storage holds is a variable in the sense of SSA construction: an in-place operation on it or on a view of it
defines it, and reading it or a view of it uses it. Where a definition of one way meets another, the value becomes a
result of a choice, a value that a loop carries, or an argument of the block where the ways of branches
meet: of the blocks in the iterated dominance frontier of the definitions. Operations are then visited down the
dominator tree.

Source: Cytron, Ferrante, Rosen, Wegman, Zadeck, Efficiently computing static single assignment form and the control
dependence graph (TOPLAS 13, 1991); block arguments that no use needs are taken back, as in its section on dead code.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, TypeAlias, cast

from tx8ir.analysis.forwarding import ForwardingGroup
from tx8ir.analysis.storage_origin import Places, StorageOrigin
from tx8ir.core import (
    Block,
    BlockArgument,
    Branch,
    Builder,
    CallLike,
    DictAttr,
    InPlaceUpdate,
    Operation,
    Region,
    RegionBranch,
    TensorType,
    Type,
    Value,
    ViewLike,
    at_location,
)
from tx8ir.core.ir.dominance import Dominators
from tx8ir.core.ir.region_branch import insert_rebuilt
from tx8ir.core.opdef.operand_fields import set_operand_ranges, with_operands
from tx8ir.dialects import builtin, func
from tx8ir.support.trampoline import Task, run_trampoline

from .copies import inserted, read_before, tensor_before

_Forwarded: TypeAlias = tuple[range, Sequence[int]]
"""Operands that are forwarded, and which of them are kept, counted from the first."""


class PromoteStorage:
    """Rewrites one function, whose `places` are found.

    The storage of a root is *plain* when nothing but reads and writes of values uses it: it is then gone altogether,
    and vtensors take its place. Otherwise a tensor stands for each of its versions, so that who knows its last version
    as a tensor knows it still.

    Cost: linear in the operations and in the results and arguments added, in practice: dominance frontiers may be
    quadratic in the depth of nested cycles of blocks, and a write through views of views needs each view on the way.
    """

    def __init__(self, function: func.FuncOp, places: Places, by: str) -> None:
        self._function = function
        self._places = places
        self._by = by
        self._owned = places.owned
        self._plain = {
            root
            for root, storage in places.owned.items()
            if not storage.exposed and isinstance(root.owner, builtin.ToTensorOp)
        }
        self._versions: dict[Value, Value] = {}  # of each owned storage, what it is at this point
        # Of views and of storages seen as values: of which version, and what each result of the view is.
        self._shown: dict[Operation | Value, tuple[Value, dict[int, Value]]] = {}
        self._undo: list[tuple[dict[Any, Any], object, object]] = []
        self._written_in: dict[Operation, dict[Value, None]] = {}
        self._joined: dict[Block, list[Value]] = {}
        self._added: dict[Value, None] = {}  # block arguments
        self._dead: list[Operation] = []
        self._dropped: dict[Block, set[int]] = {}  # indices of arguments

    def run(self) -> None:
        """Rewrite the function."""
        defined = self._note_writes()
        body = self._function.body
        if len(body) > 1:
            children = self._join(body, defined)
            run_trampoline(self._tree(body.block, children))
            self._drop_unused_arguments(body)
        else:
            run_trampoline(self._block(body.block))
        for op in reversed(self._dead):
            op.erase(self._by)
        for block, indices in self._dropped.items():
            block.erase_arguments(indices)

    def _note_writes(self) -> dict[Value, dict[Block, None]]:
        """Note which operations with regions write which storages of outside; the blocks of the function that do."""
        defined: dict[Value, dict[Block, None]] = {}
        for root, storage in self._owned.items():
            home = root.parent_block
            for write in storage.writes:
                inside: Operation = write
                while inside.parent is not home:
                    around = cast(Operation, inside.parent_op)
                    if around is self._function:
                        defined.setdefault(root, {})[cast(Block, inside.parent)] = None
                        break
                    noted = self._written_in.setdefault(around, {})
                    if root in noted:
                        break
                    noted[root] = None
                    inside = around
        return defined

    # -- blocks of a function ------------------------------------------------------------------------------------------

    def _join(self, region: Region, defined: dict[Value, dict[Block, None]]) -> dict[Block, list[Block]]:
        """Choose the blocks where versions of a storage meet; the children of each block in the dominator tree."""
        dominators = Dominators(region)
        above = dominators.immediate
        children: dict[Block, list[Block]] = {block: [] for block in above}
        frontiers: dict[Block, dict[Block, None]] = {block: {} for block in above}
        for block, parent in above.items():
            if parent is not None:
                children[parent].append(block)
            for successor in block.successors:
                runner: Block | None = block
                while runner is not None and runner is not above[successor]:
                    frontiers[runner][successor] = None
                    runner = above[runner]
        for root, blocks in defined.items():
            home = cast(Block, root.parent_block)
            work, seen = list(blocks), {home}
            while work:
                for block in frontiers[work.pop()]:
                    if block not in seen and dominators.dominates(home, block):
                        seen.add(block)
                        self._joined.setdefault(block, []).append(root)
                        work.append(block)
        return children

    def _tree(self, block: Block, children: dict[Block, list[Block]]) -> Task:
        """Rewrite a block and those it dominates."""
        mark = len(self._undo)
        self._drop(block, self._kept(block.args))
        for root in self._joined.get(block, ()):
            argument = block.add_argument(self._type(root))
            self._added[argument] = None
            self._set(root, argument)
        yield self._block(block)
        branch = block.last_op
        if branch is not None and branch.successors:
            self._branch(branch)
        for child in children[block]:
            yield self._tree(child, children)
        self._back_to(mark)

    def _branch(self, op: Operation) -> None:
        """Let a branch give the values that are kept, and the versions of the storages that meet where it goes."""
        branch = cast(Branch, op.interface(Branch))
        groups: list[list[Value]] = []
        passed = 0
        for number, block in enumerate(op.successors):
            given = branch.successor_operands(number)
            kept = [given[i] for i in self._kept(block.args[: len(given)])]
            groups.append([self._now(value, op) for value in kept])
            passed += len(given)
            groups[-1] += [self._versions[root] for root in self._joined.get(block, ())]
        for index, value in enumerate(op.operands[: len(op.operands) - passed]):
            op.set_operand(index, self._now(value, op))
        branch.set_successor_operands(groups)

    def _drop_unused_arguments(self, region: Region) -> None:
        """Take back the added arguments that lead to no use but as such arguments."""
        added = self._added
        feeding: dict[Value, list[Value]] = {}
        needed: list[Value] = []
        taken: dict[Operation, list[list[BlockArgument]]] = {}  # by each branch: the arguments of each successor
        deciding: dict[Operation, int] = {}
        for op in [op for block in region.blocks if (op := block.last_op) is not None and op.successors]:
            taken[op] = groups = [
                [a for a in block.args if a.index not in self._dropped.get(block, ())] for block in op.successors
            ]
            targets = [argument for group in groups for argument in group]
            deciding[op] = len(op.operands) - len(targets)
            for value, target in zip(op.operands[deciding[op] :], targets, strict=True):
                if value in added:
                    if target in added:
                        feeding.setdefault(target, []).append(value)
                    else:
                        needed.append(value)
        for argument in added:
            if any(use.index < deciding.get(use.owner, _ALL) for use in argument.uses):
                needed.append(argument)
        unused = dict.fromkeys(added)
        while needed:
            argument = needed.pop()
            if argument in unused:
                del unused[argument]
                needed += feeding.get(argument, ())
        for op, groups in taken.items() if unused else ():
            values = iter(op.operands[deciding[op] :])
            given = [[(argument, next(values)) for argument in group] for group in groups]
            kept = [[value for argument, value in group if argument not in unused] for group in given]
            cast(Branch, op.interface(Branch)).set_successor_operands(kept)
        for argument in unused:
            self._dropped.setdefault(cast(Block, argument.owner), set()).add(argument.index)

    # -- versions ------------------------------------------------------------------------------------------------------

    def _owner(self, value: Value) -> Value | None:
        return self._places.owner(value)

    def _type(self, root: Value) -> Type:
        """The type of the versions of a storage."""
        type_ = cast(TensorType, root.type)
        return type_.to_vtensor() if root in self._plain else type_.to_tensor()

    def _put(self, table: dict[Any, Any], key: object, entry: object) -> None:
        self._undo.append((table, key, table.get(key)))
        table[key] = entry

    def _set(self, root: Value, version: Value) -> None:
        self._put(self._versions, root, version)

    def _back_to(self, mark: int) -> None:
        while len(self._undo) > mark:
            table, key, entry = self._undo.pop()
            if entry is None:
                del table[key]
            else:
                table[key] = entry

    # -- operations ----------------------------------------------------------------------------------------------------

    def _block(self, block: Block, end: Operation | None = None) -> Task:
        """Rewrite the operations of a block, but not a branch that ends it, nor the `end` of a region."""
        for argument in block.args:
            if argument in self._owned:
                self._set(argument, argument)
        owner = self._places.owner
        for op in list(block):
            cls = op.__class__
            if cls is builtin.ToVTensorOp:
                self._read(cast(builtin.ToVTensorOp, op))
            elif cls is builtin.ToTensorOp:
                self._copy(cast(builtin.ToTensorOp, op))
            elif op.regions:
                groups = self._places.groups.get(op)
                if groups is not None:
                    yield self._structured(op, groups)
                else:
                    for inner in op.walk():
                        self._use(inner)
            elif InPlaceUpdate in cls.info.interfaces:
                self._write(op)
            elif op is not end and not op.successors:
                if op.op_operands and owner(op.operands[0]) is not None and op.interface(ViewLike) is not None:
                    self._dead.append(op)
                    continue
                self._use(op)
                if CallLike in cls.info.interfaces:
                    for result in op.results:
                        if result in self._owned:
                            self._set(result, result)

    def _use(self, op: Operation) -> None:
        """Let an operation use what its owned operands are now."""
        seen: dict[Value, Value] = {}
        for use in op.op_operands:
            value = use.value
            if isinstance(value.type, TensorType) and self._owner(value) is not None:
                if value not in seen:
                    seen[value] = self._now(value, op)
                use.set(seen[value])

    def _now(self, value: Value, anchor: Operation) -> Value:
        """What `anchor` uses in place of a value: for an owned tensor its newest version, seen through its views."""
        place = self._places.place(value)
        if place is None or place.root not in self._owned:
            return value
        if place.root in self._plain:
            return self._content(place, anchor)
        found = self._versions[place.root]
        path = place.path()
        if path:
            with at_location(anchor.location), Builder.before(anchor):
                for step in path:
                    found = step.view_like.forward(found)[step.index]
        return found

    def _content(self, place: StorageOrigin, anchor: Operation) -> Value:
        """What a tensor holds, as a vtensor that is made before `anchor` where it is not there yet."""
        version = self._versions[place.root]
        steps: list[StorageOrigin] = []
        found: Value | None = None
        step = place
        while found is None and step.base is not None:
            found = self._known(cast(Operation, step.view), step.index, place.root)
            if found is None:
                steps.append(step)
                step = step.base
        if found is None:
            found = version if place.root in self._plain else self._known(place.root, 0, place.root)
        if found is None:
            found = read_before(version, anchor)
            self._learn(place.root, {0: found}, place.root)
        if steps:
            with at_location(anchor.location), Builder.before(anchor):
                for step in reversed(steps):
                    results = step.view_like.forward(found)
                    found = results[step.index]
                    self._learn(cast(Operation, step.view), dict(enumerate(results)), place.root)
        return found

    def _known(self, shown: Operation | Value, index: int, root: Value) -> Value | None:
        """A result of a view of the storage as it is now, or its whole content; None when it is not known."""
        entry = self._shown.get(shown)
        return entry[1].get(index) if entry is not None and entry[0] is self._versions[root] else None

    def _learn(self, shown: Operation | Value, contents: dict[int, Value], root: Value) -> None:
        """Note results of a view of the storage as it is now, or its whole content."""
        if not self._owned[root].shared:
            entry = self._shown.get(shown)
            if entry is not None and entry[0] is self._versions[root]:
                contents = contents | entry[1]
            self._put(self._shown, shown, (self._versions[root], contents))

    def _read(self, op: builtin.ToVTensorOp) -> None:
        place = self._places.place(op.x)
        if place is None or place.root not in self._owned:
            return
        if place.base is None and place.root not in self._plain and self._known(place.root, 0, place.root) is None:
            op.set_operand(0, self._versions[place.root])
            self._learn(place.root, {0: op.out}, place.root)
        else:
            op.replace_with(self._content(place, op), self._by)

    def _copy(self, op: builtin.ToTensorOp) -> None:
        if op.out not in self._plain:
            self._use(op)
            if op.out in self._owned:
                self._set(op.out, op.out)
            return
        given = self._now(op.x, op)
        self._set(op.out, read_before(given, op) if isinstance(given.type, TensorType) else given)
        self._dead.append(op)

    def _write(self, op: Operation) -> None:
        """Make a new version of what an in-place operation writes; without an owner it stays."""
        operands = op.operands
        place = self._places.place(operands[0])
        if place is None or place.root not in self._owned:
            self._use(op)
            return
        root, path = place.root, place.path()
        bases = [self._content(cast(StorageOrigin, step.base), op) for step in path]
        update = cast(InPlaceUpdate, op.interface(InPlaceUpdate))
        stored = update.stored()
        if stored is not None:
            value = self._value(stored, op)
        else:
            read = {value: self._value(value, op) for value in dict.fromkeys(operands)}
            value = inserted(update.new_content([read[value] for value in operands]), op)
        held: list[Value] = []  # by the places on the path, the last one first
        if path:
            with at_location(op.location), Builder.before(op):
                for step, base in zip(reversed(path), reversed(bases), strict=True):
                    held.append(value)
                    value = step.view_like.inverse(base, step.index, value)
        before = self._versions[root]
        self._set(root, value if root in self._plain else tensor_before(value, op))
        for step, content in zip(path, reversed(held), strict=True):
            self._overwrite(step, content, before)
        op.erase(self._by)

    def _overwrite(self, step: StorageOrigin, content: Value, before: Value) -> None:
        """Note what the place of a write holds now; the other pieces of a split are what they were."""
        view = cast(Operation, step.view)
        pieces = self._shown.get(view)
        if pieces is not None and pieces[0] is before and step.view_like.has_disjoint_results():
            self._put(pieces[1], step.index, content)
            self._put(self._shown, view, (self._versions[step.root], pieces[1]))
        else:
            self._learn(view, {step.index: content}, step.root)

    def _value(self, value: Value, anchor: Operation) -> Value:
        """What a value is now, as a vtensor."""
        place = self._places.place(value)
        if place is not None and place.root in self._owned:
            return self._content(place, anchor)
        return read_before(value, anchor) if isinstance(value.type, TensorType) else value

    # -- structured control flow ---------------------------------------------------------------------------------------

    def _kept(self, values: Sequence[Value]) -> list[int]:
        """Indices of the values that stay: the others are names of storages that have versions."""
        return [i for i, value in enumerate(values) if self._owner(value) is None or value in self._owned]

    def _drop(self, block: Block, kept: Sequence[int]) -> None:
        """Note that the arguments of a block but those `kept` go away."""
        if len(kept) < len(block.args):
            self._dropped.setdefault(block, set()).update(set(range(len(block.args))).difference(kept))

    def _structured(self, op: Operation, groups: Sequence[ForwardingGroup]) -> Task:
        """Let a choice or a loop carry the versions of the storages that are written inside."""
        roots = self._written_in.get(op, ())
        branch = cast(RegionBranch, op.interface(RegionBranch))
        forwarded: dict[Region | None, list[_Forwarded]] = {}
        kept: dict[Region | None, Sequence[int] | None] = {}
        for group in groups:
            width = group.width
            indices = self._kept_of(group) if width else ()
            for source, values in group.sources:
                forwarded.setdefault(source, []).append((values, indices))
            for target, inputs in group.targets.items():
                kept[target] = self._kept_in(op, target, len(inputs), indices)
        for ranges in forwarded.values():
            if len(ranges) > 1:
                ranges.sort(key=lambda entry: entry[0].start)
        if roots:
            for region in op.regions:
                if not len(region):
                    branch.fill_region(region)
        operands, attributes = with_operands(op, self._given(op, forwarded.get(None, ()), roots))
        for region in op.regions:
            for block in region.blocks:
                mark = len(self._undo)
                if region in kept:
                    stay = kept[region]
                    if stay is not None:
                        self._drop(block, stay)
                    for root in roots:
                        self._set(root, block.add_argument(self._type(root)))
                end = cast(Operation, block.last_op)
                yield self._block(block, end)
                given = self._given(end, forwarded.get(region, ()), roots)
                if given:
                    set_operand_ranges(end, given)
                self._back_to(mark)
        self._replace(op, branch, operands, attributes, kept[None], roots)

    def _kept_of(self, group: ForwardingGroup) -> Sequence[int]:
        """Indices of the values of a group that stay: those that stay in one of its lists.

        The others are names of storages that have versions.
        """
        lists = group.targets.values()
        return [
            index
            for index, values in enumerate(zip(*lists, strict=True))
            if any(self._owner(value) is None or value in self._owned for value in values)
        ]

    @staticmethod
    def _kept_in(op: Operation, target: Region | None, width: int, indices: Sequence[int]) -> Sequence[int] | None:
        """Indices of the results, or of the arguments of a region, of which only some of the last stay; None: all."""
        if len(indices) == width:
            return None
        first = len(op.results if target is None else target.block.args) - width
        return [*range(first), *(first + index for index in indices)]

    def _given(
        self, op: Operation, forwarded: Sequence[_Forwarded], roots: Collection[Value]
    ) -> list[tuple[range, list[Value]]]:
        """What `op` forwards in place of ranges of its operands: those that are kept, and the versions of storages.

        The other operands are what they are now.
        """
        uses = op.op_operands
        for index in _outside(len(uses), forwarded):
            value = uses[index].value
            if isinstance(value.type, TensorType):
                uses[index].set(self._now(value, op))
        if not forwarded:
            return []
        versions = [self._versions[root] for root in roots]
        return [
            (values, [self._now(uses[values.start + index].value, op) for index in kept] + versions)
            for values, kept in forwarded
        ]

    def _replace(
        self,
        op: Operation,
        branch: RegionBranch,
        operands: Sequence[Value],
        attributes: DictAttr,
        kept: Sequence[int] | None,
        roots: Collection[Value],
    ) -> None:
        """Put an operation with the same regions in the place of `op`; its last results are the new versions."""
        results = op.results
        if not roots and kept is None and len(operands) == len(op.operands):
            op.set_operands(operands)
            for result in results:
                if result in self._owned:
                    self._set(result, result)
            return
        stay = results if kept is None else [results[index] for index in kept]
        types = [result.type for result in stay] + [self._type(root) for root in roots]
        made = insert_rebuilt(branch, operands, types, attributes)
        for old, result in zip(stay, made.results, strict=False):
            if old in self._owned:
                self._set(old, result)
            elif self._owner(old) is None:
                old.replace_all_uses_with(result)
        for root, result in zip(roots, made.results[len(stay) :], strict=True):
            self._set(root, result)
        self._dead.append(op)


def _outside(count: int, ranges: Sequence[tuple[range, Any]]) -> Sequence[int]:
    """The indices below `count` that are in none of some ranges, which are in order."""
    if not ranges or not count:
        return range(count)
    found: list[int] = []
    start = 0
    for values, _ in ranges:
        found += range(start, values.start)
        start = values.stop
    found += range(start, count)
    return found


_ALL: Final = 1 << 60
