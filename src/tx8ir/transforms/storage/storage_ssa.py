"""Static single assignment of storage: each write to storage that a function owns makes a new value of it.

What storage holds is a variable in the sense of SSA construction: an in-place operation on it or on a view of it
defines it, and reading it or a view of it uses it. Where a definition of one way meets another, the value becomes a
result of `scf.if`, a loop-carried value of `scf.while`, or an argument of the block where the ways of `cf` branches
meet: of the blocks in the iterated dominance frontier of the definitions. Operations are then visited down the
dominator tree.

Source: Cytron, Ferrante, Rosen, Wegman, Zadeck, Efficiently computing static single assignment form and the control
dependence graph (TOPLAS 13, 1991); block arguments that no use needs are taken back, as in its section on dead code.
"""

# Regions move from an operation to the one that takes its place.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from tx8ir.analysis.storage_origin import Place, Places
from tx8ir.core import (
    Block,
    BlockArgument,
    Branch,
    Builder,
    Operation,
    Region,
    TensorType,
    Type,
    Value,
    ViewLike,
    at_location,
)
from tx8ir.core.ir.dominance import Dominators
from tx8ir.core.opdef.definition import SEGMENTS
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.support.trampoline import Task, run_tasks

from .copies import read_before, tensor_before


class StorageSsa:
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
            run_tasks(self._tree(body.block, children))
            self._drop_unused_arguments(body)
        else:
            run_tasks(self._block(body.block))
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
        decides = op.operands[: len(op.operands) - passed]
        set_successor_operands(op, [self._now(value, op) for value in decides], groups)

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
            set_successor_operands(op, op.operands[: deciding[op]], kept)
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

    def _block(self, block: Block) -> Task:
        """Rewrite the operations of a block, but not a branch that ends it."""
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
            elif cls is scf.IfOp:
                yield self._if(cast(scf.IfOp, op))
            elif cls is scf.WhileOp:
                yield self._while(cast(scf.WhileOp, op))
            elif isinstance(op, pd.InplaceOp):
                self._write(op)
            elif op.regions:
                for inner in op.walk():
                    self._use(inner)
            elif not (op.successors or cls in _ENDS):
                if op.op_operands and owner(op.operands[0]) is not None and op.interface(ViewLike) is not None:
                    self._dead.append(op)
                    continue
                self._use(op)
                if cls is func.CallOp:
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

    def _content(self, place: Place, anchor: Operation) -> Value:
        """What a tensor holds, as a vtensor that is made in front of `anchor` where it is not there yet."""
        version = self._versions[place.root]
        steps: list[Place] = []
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

    def _write(self, op: pd.InplaceOp) -> None:
        """Make a new version of what an in-place operation writes; without an owner it stays."""
        operands = op.operands
        place = self._places.place(operands[0])
        if place is None or place.root not in self._owned:
            self._use(op)
            return
        root, path = place.root, place.path()
        bases = [self._content(cast(Place, step.base), op) for step in path]
        if isinstance(op, pd.Assign_Op):
            value = self._value(op.value, op)
        else:
            read = {value: self._value(value, op) for value in dict.fromkeys(operands)}
            form = op.value_form([read[value] for value in operands])
            value = cast(Block, op.parent).insert_before(form, op).results[0]
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

    def _overwrite(self, step: Place, content: Value, before: Value) -> None:
        """Note what the place of a write holds now; the other pieces of a split are what they were."""
        view = cast(Operation, step.view)
        pieces = self._shown.get(view)
        if isinstance(view, pd.SplitOp) and pieces is not None and pieces[0] is before:
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

    def _finish(self, end: Operation, kept: Sequence[int], roots: Sequence[Value], first: int = 0) -> None:
        """Let a terminator give the values that are kept, and the versions of the storages; `first` operands stay."""
        values = end.operands
        given = [self._now(value, end) for value in values[:first]]
        given += [self._now(values[first + index], end) for index in kept]
        end.set_operands([*given, *(self._versions[root] for root in roots)])

    def _drop(self, block: Block, kept: Sequence[int]) -> None:
        """Note that the arguments of a block but those `kept` go away."""
        if len(kept) < len(block.args):
            self._dropped.setdefault(block, set()).update(set(range(len(block.args))).difference(kept))

    def _if(self, op: scf.IfOp) -> Task:
        roots = list(self._written_in.get(op, ()))
        kept = self._kept(op.results)
        self._use(op)
        if roots and not len(op.else_region):
            op.else_region.append(Block())
            op.else_region.block.append(scf.YieldOp([]))
        for region in op.regions:
            for block in region.blocks:
                mark = len(self._undo)
                yield self._block(block)
                self._finish(cast(Operation, block.last_op), kept, roots)
                self._back_to(mark)
        self._replace(op, op.operands, kept, roots)

    def _while(self, op: scf.WhileOp) -> Task:
        roots = list(self._written_in.get(op, ()))
        kept_inits, kept_results = self._kept(op.before.block.args), self._kept(op.results)
        values = op.operands
        inits = [self._now(values[i], op) for i in kept_inits] + [self._versions[root] for root in roots]
        for region, first, kept, taken in (
            (op.before, 1, kept_results, kept_inits),
            (op.after, 0, kept_inits, kept_results),
        ):
            mark, block = len(self._undo), region.block
            self._drop(block, taken)
            for root in roots:
                self._set(root, block.add_argument(self._type(root)))
            yield self._block(block)
            self._finish(cast(Operation, block.last_op), kept, roots, first)
            self._back_to(mark)
        self._replace(op, inits, kept_results, roots)

    def _replace(self, op: Operation, operands: Sequence[Value], kept: Sequence[int], roots: Sequence[Value]) -> None:
        """Put an operation with the same regions in the place of `op`; its last results are the new versions."""
        results = op.results
        if not roots and len(kept) == len(results) and tuple(operands) == op.operands:
            for result in results:
                if result in self._owned:
                    self._set(result, result)
            return
        regions: tuple[Region, ...] = op._regions
        op._regions = ()
        for region in regions:
            region._parent = None
        types = [results[i].type for i in kept] + [self._type(root) for root in roots]
        made: Operation = type(op).create(operands, types, attributes=op.attributes, location=op.location)
        cast(Block, op.parent).insert_before(made, op)  # without regions, which would be searched for this block
        made._regions = regions
        for region in regions:
            region._parent = made
        for index, result in zip(kept, made.results, strict=False):
            if results[index] in self._owned:
                self._set(results[index], result)
            else:
                results[index].replace_all_uses_with(result)
        for root, result in zip(roots, made.results[len(kept) :], strict=True):
            self._set(root, result)
        self._dead.append(op)


def set_successor_operands(op: Operation, decides: Sequence[Value], groups: Sequence[Sequence[Value]]) -> None:
    """Give a branch of `cf` its operands: those that decide, and those of each successor."""
    op.set_operands([*decides, *(value for group in groups for value in group)])
    if isinstance(op, cf.CondBranchOp):
        op.set_attribute(SEGMENTS, (len(decides), *map(len, groups)))


_ALL: Final = 1 << 60
_ENDS: Final = (scf.YieldOp, scf.ConditionOp)
