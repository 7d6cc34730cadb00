"""Where the tensors of a function are: which storage, seen through which views; and which storages a function owns.

A *root* is a tensor that stands for a storage of its own: a copy (`to_tensor`), the result of a call that allocates it,
or a *moved* tensor: one that control flow chooses between several (a result of a choice, an argument of a loop or of a
block), none of which is used any more once it is chosen. Every other tensor whose place is known leads back to a root
through views and through control flow that gives the same place on every way.

The operations of a function are numbered in an order in which every loop is one stretch (`weak_topological_order`), so
that "after" is a comparison of numbers, and "after, in a later round" is a loop that starts after the root and
reaches over both: the root itself is another storage in each round of the loops around it.
"""

from __future__ import annotations

import enum
import heapq
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, cast

import attrs

from tx8ir.core import (
    Block,
    Branch,
    CallLike,
    EffectKind,
    InPlaceUpdate,
    MemoryEffects,
    Operation,
    OpOperand,
    ParameterAccess,
    RegionBranch,
    RegionEdge,
    StorageAliases,
    TensorType,
    Terminator,
    Value,
    ViewLike,
)
from tx8ir.core.ir.region_branch import RegionFlow, region_flow
from tx8ir.core.opdef.operand_fields import accepts_operand
from tx8ir.dialects import builtin, func

from .alias import AliasAnalysis
from .control_flow import Forwarded, forwarded_on, forwarded_operands, region_order, weak_topological_order
from .forwarding import ForwardingGroup, forwarding_groups

_NEVER: Final = 1 << 60
"""The position of what nothing in the function comes after."""


class StorageOrigin:
    """A tensor that is known: its root, and the view that leads here from another place.

    Places are one object for each tensor they are made for, so two are the same only if they are one.
    """

    __slots__ = ("base", "index", "root", "view")

    def __init__(
        self, root: Value, base: StorageOrigin | None = None, view: Operation | None = None, index: int = 0
    ) -> None:
        self.root = root
        self.base = base
        self.view = view
        self.index = index

    def path(self) -> list[StorageOrigin]:
        """The places from the root to here, without the root's own."""
        found: list[StorageOrigin] = []
        place = self
        while place.base is not None:
            found.append(place)
            place = place.base
        found.reverse()
        return found

    @property
    def view_like(self) -> ViewLike:
        """The view that leads here; only for a place that is not a root."""
        return cast(ViewLike, cast(Operation, self.view).interface(ViewLike))


@attrs.define(eq=False)
class Storage:
    """What a function does with the storage of a root.

    Attributes:
        position: where the root is defined.
        writes: the in-place operations on known places on it.
        last_write: the position of the last write, and the loop it is in.
        last_use: the position of the last use of any kind.
        first_escape: the first position from which on it may be known under another name.
        exposed: it is known to others at some time, or operations other than reads of values take it as a tensor.
        shared: these others may be there before the function ends, so what it holds may change behind its back.
        moves: uses that give it to a moved tensor.
    """

    position: int
    writes: list[Operation] = attrs.field(factory=list[Operation])
    last_write: tuple[int, int] = (-1, 0)
    last_use: int = -1
    first_escape: int = _NEVER
    exposed: bool = False
    shared: bool = False
    moves: list[_Passing] = attrs.field(factory=list["_Passing"])


class _Passing(NamedTuple):
    """An operand that control flow gives to results and block arguments."""

    value: Value
    position: int
    loop: int
    op: Operation
    given: Forwarded


class _Kind(enum.Enum):
    """What operations of a class do with tensors."""

    OTHER = enum.auto()
    END = enum.auto()
    EFFECTS = enum.auto()
    COPY = enum.auto()
    VIEW = enum.auto()
    READER = enum.auto()
    WRITER = enum.auto()
    CALL = enum.auto()
    CONTROL = enum.auto()


class _Kinds(dict[type[Operation], _Kind]):
    """The kind of each class; found on first sight."""

    __slots__ = ()

    def __missing__(self, cls: type[Operation]) -> _Kind:
        traits, interfaces = cls.info.traits, cls.info.interfaces
        kind = _Kind.OTHER
        if cls is builtin.ToTensorOp:
            kind = _Kind.COPY
        elif cls is builtin.ToVTensorOp or ParameterAccess in interfaces:
            kind = _Kind.READER
        elif InPlaceUpdate in interfaces:
            kind = _Kind.WRITER
        elif CallLike in interfaces:
            kind = _Kind.CALL
        elif RegionBranch in interfaces or Branch in interfaces:
            kind = _Kind.CONTROL
        elif ViewLike in interfaces:
            kind = _Kind.VIEW
        elif MemoryEffects in interfaces:
            kind = _Kind.EFFECTS
        elif Terminator in traits:
            kind = _Kind.END
        self[cls] = kind
        return kind


class Places:
    """The places of the tensors of a function, and its storages.

    Attributes:
        places: of each tensor that is known.
        owned: the roots of storages that are written, every time while no other name is known for them, in order.
        groups: what the choices and loops forward that can carry more; none of them is in an operation that cannot.

    Args:
        function: its operations with value semantics work on vtensors, nothing uses the results of its in-place
            operations, and it has no block that its entry does not reach.
        analysis: gives the alias analysis of the program; asked for only when there are calls with tensors.

    Cost: linear in the operations, times the depth of cycles of blocks.
    """

    def __init__(self, function: func.FuncOp, analysis: Callable[[], AliasAnalysis]) -> None:
        self._analysis = analysis
        self._function = function
        self.places: dict[Value, StorageOrigin | None] = {}
        self.owned: dict[Value, Storage] = {}
        self.groups: dict[Operation, list[ForwardingGroup]] = {}
        self._positions: dict[Value, int] = {}  # of roots, and of values that may become moved tensors
        self._flows: dict[Operation, RegionFlow] = {}  # of the operations with regions
        self._limits: dict[Value, int] = {}  # a storage allocated after that is another one outside
        self._incoming: dict[Value, list[_Passing]] = {}
        self._views: dict[Value, list[Operation]] = {}
        self._uses: list[tuple[Value, int, bool]] = []  # reads, and whether as a tensor
        self._writes: list[tuple[Operation, int, int]] = []
        self._escapes: list[tuple[Value, int]] = []
        self._passed: list[_Passing] = []
        self._kinds = _Kinds()
        self._at = 0
        self._loop = 0
        self._loops: list[tuple[int, int]] = [(-1, 0)]  # where each starts, and the loop around it
        self._loop_ends: list[int] = [_NEVER]
        self._opaque: list[int] = []
        self._moved: dict[Value, StorageOrigin] = {}
        self._dependents: dict[Value, list[Value]] = {}
        self._scan(function)
        if self._writes:
            self._solve()
            self._choose()

    def place(self, value: Value) -> StorageOrigin | None:
        """Where a tensor is, or None."""
        return self.places.get(value)

    def owner(self, value: Value) -> Value | None:
        """The owned root that a tensor is on, or None."""
        place = self.places.get(value)
        return place.root if place is not None and place.root in self.owned else None

    # -- one walk over the operations ----------------------------------------------------------------------------------

    def _scan(self, function: func.FuncOp) -> None:
        for argument in function.body.block.args:
            self.places[argument] = None
        order = weak_topological_order(function.body)
        work: list[Callable[[], None] | Operation | None] = []
        for entry in reversed(order):
            work += [self._end_loop] * entry.ends
            work += [entry.node.first_op, lambda block=entry.node: self._arguments(block)]
            work += [self._start_loop] * entry.heads_cycle
        while work:
            item = work.pop()
            if item is None:
                continue
            if not isinstance(item, Operation):
                item()
                continue
            op: Operation | None = item
            while op is not None:
                self._at += 1
                if op.regions:
                    work.append(op.next_op)
                    self._enter(op, work)
                    break
                self._operation(op)
                op = op.next_op

    def _enter(self, op: Operation, work: list[Callable[[], None] | Operation | None]) -> None:
        """Note the operands of an operation with regions, and what is to be done inside and after it."""
        start = self._at
        flow = region_flow(op) if not self._opaque else None
        groups = forwarding_groups(flow) if flow is not None else None
        if flow is not None:
            self._flows[op] = flow
        self._operands(op)
        if flow is not None and groups is not None:
            self.groups[op] = groups
            work.append(lambda: self._results(op, start))
            for entry in reversed(region_order(flow)):
                work += [self._end_loop] * entry.ends
                for block in entry.node.blocks:
                    work += [block.first_op, lambda block=block: self._arguments(block, start)]
                work += [self._start_loop] * entry.heads_cycle
        else:
            blocks = [block for region in op.regions for block in region.blocks]
            for value in (*op.results, *(argument for block in blocks for argument in block.args)):
                self.places[value] = None
            self._opaque.append(start)
            work.append(self._leave_opaque)
            work += [block.first_op for block in reversed(blocks)]

    def _leave_opaque(self) -> None:
        self._opaque.pop()

    def _start_loop(self) -> None:
        self._at += 1
        self._loops.append((self._at, self._loop))
        self._loop_ends.append(_NEVER)
        self._loop = len(self._loops) - 1

    def _end_loop(self) -> None:
        self._loop_ends[self._loop] = self._at
        self._loop = self._loops[self._loop][1]

    def _arguments(self, block: Block, limit: int | None = None) -> None:
        for argument in block.args:
            if isinstance(argument.type, TensorType) and argument not in self.places:
                self._choice(argument, limit)

    def _results(self, op: Operation, start: int) -> None:
        for result in op.results:
            if isinstance(result.type, TensorType):
                self._choice(result, start)

    def _choice(self, value: Value, limit: int | None) -> None:
        """A tensor that control flow chooses."""
        self._at += 1
        self._positions[value] = self._at
        self._incoming.setdefault(value, [])
        if limit is not None:
            self._limits[value] = limit

    def _operation(self, op: Operation) -> None:
        """Note what an operation without regions uses and gives."""
        kind = self._kinds[op.__class__]
        if self._opaque:
            kind = _Kind.OTHER if kind in (_Kind.COPY, _Kind.VIEW, _Kind.CALL) else kind
        if kind is _Kind.COPY:
            result = op.results[0]
            self.places[result] = StorageOrigin(result)
            self._positions[result] = self._at
        elif kind is _Kind.VIEW:
            base = op.operands[0]
            if isinstance(base.type, TensorType):
                self._views.setdefault(base, []).append(op)
                if base in self.places:
                    self._show(op, self.places[base])
            return
        elif kind is _Kind.CALL:
            for result in op.results:
                is_fresh = isinstance(result.type, TensorType) and self._analysis().is_fresh(result)
                self.places[result] = StorageOrigin(result) if is_fresh else None
                self._positions[result] = self._at
        else:
            for result in op.results:
                if isinstance(result.type, TensorType):
                    self.places[result] = None
        self._operands(op)

    def _operands(self, op: Operation) -> None:
        uses = [use for use in op.op_operands if isinstance(use.value.type, TensorType)]
        if not uses:
            return
        kind = self._kinds[op.__class__]
        if self._opaque:
            self._escapes += [(use.value, self._opaque[0]) for use in uses]
        elif kind is _Kind.READER or kind is _Kind.COPY:
            self._uses += [(use.value, self._at, False) for use in uses]
        elif kind is _Kind.WRITER:
            self._writes.append((op, self._at, self._loop))
            self._uses += [(use.value, self._at, False) for use in uses if use.index]
        elif kind is _Kind.CALL:
            analysis = self._analysis()
            given_back = frozenset[int]().union(*map(analysis.storages, op.results))
            for use in uses:
                if given_back.isdisjoint(analysis.storages(use.value)):
                    self._uses.append((use.value, self._at, True))
                else:
                    self._escapes.append((use.value, self._at))
        elif op.successors and (given := forwarded_operands(op)) is not None:
            for use in uses:
                self._pass_on(op, use, given[use.index])
        elif (kind is _Kind.CONTROL or kind is _Kind.END) and (edges := self._edges(op)):
            for use in uses:
                self._pass_on(op, use, forwarded_on(edges, use.index))
        elif kind is _Kind.EFFECTS:
            read = only_read(op)
            for use in uses:
                if use.value in read:
                    self._uses.append((use.value, self._at, not takes_value(use)))
                else:
                    self._escapes.append((use.value, self._at))
        else:
            returns = kind is _Kind.END and op.parent_op is self._function and not op.successors
            self._escapes += [(use.value, _NEVER if returns else self._at) for use in uses]

    def _edges(self, op: Operation) -> Sequence[RegionEdge]:
        """The edges on which an operation with regions, or the end of a region, forwards operands."""
        if op.regions:
            region, flow = None, self._flows.get(op)
        else:
            block = cast(Block, op.parent)
            region, flow = block.parent, self._flows.get(cast(Operation, block.parent_op))
        return flow.edges(region) if flow is not None else ()

    def _pass_on(self, op: Operation, use: OpOperand, given: Forwarded) -> None:
        """A use by control flow."""
        value = use.value
        if not given.targets:
            self._uses.append((value, self._at, not takes_value(use)))  # a condition
            return
        noted = _Passing(value, self._at, self._loop, op, given)
        self._passed.append(noted)
        for target in given.targets:
            self._incoming.setdefault(target, []).append(noted)
            self._dependents.setdefault(value, []).append(target)

    # -- places --------------------------------------------------------------------------------------------------------

    def _place(self, value: Value, place: StorageOrigin | None) -> list[Value]:
        """Give a tensor its place, and the views of it theirs; the tensors that control flow chooses from these."""
        waiting: list[Value] = []
        work = [(value, place)]
        while work:
            value, place = work.pop()
            self.places[value] = place
            waiting += self._dependents.get(value, ())
            for view in self._views.get(value, ()):
                self._show(view, place)
                work += [(result, self.places[result]) for result in view.results]
        return waiting

    def _show(self, view: Operation, base: StorageOrigin | None) -> None:
        """Give the results of a view of a place theirs."""
        for index, result in enumerate(view.results):
            self.places[result] = StorageOrigin(base.root, base, view, index) if base is not None else None

    def _solve(self) -> None:
        """Find the places of tensors that control flow chooses: the one place that all of them have, or their own.

        At first a loop-carried tensor is taken to be where it starts; each changes its place a bounded number of times.
        """
        queue = [(position, value) for value, position in self._positions.items() if value in self._incoming]
        by_position = dict(queue)
        heap = [position for position, _ in queue]
        heapq.heapify(heap)
        queued = set(heap)
        while heap:
            position = heapq.heappop(heap)
            queued.discard(position)
            value = by_position[position]
            found = self._meet(value)
            if found is _UNKNOWN or (value in self.places and found is self.places[value]):
                continue
            for waiting in self._place(value, found):
                at = self._positions[waiting]
                if at not in queued:
                    queued.add(at)
                    heapq.heappush(heap, at)

    def _meet(self, value: Value) -> StorageOrigin | None:
        """The place of a chosen tensor, by what is known of those it is chosen from."""
        if value in self.places and self.places[value] is None:
            return None
        found: StorageOrigin = _UNKNOWN
        own = value in self._moved
        for passing in self._incoming[value]:
            if passing.value not in self.places:
                continue  # taken to be the same until it is known
            place = self.places[passing.value]
            if place is None:
                return None
            own = own or (found is not _UNKNOWN and found is not place)
            found = place
        if found is not _UNKNOWN and self._positions[found.root] >= self._limits.get(value, _NEVER):
            own = True  # allocated inside: another storage in each round
        if own:
            return self._moved.setdefault(value, StorageOrigin(value))
        return found

    # -- which storages are owned --------------------------------------------------------------------------------------

    def _choose(self) -> None:
        storages = {
            place.root: Storage(self._positions[place.root])
            for value, place in self.places.items()
            if place is not None and place.root is value
        }
        self._gather(storages)
        self._forget(
            [t for s in storages.values() if s.moves and not self._may_move(s) for t in self._targets(s)], storages
        )
        for root, storage in storages.items():
            place = self.places.get(root)
            if not storage.writes or place is None or place.root is not root:
                continue
            position, loop = storage.last_write
            if position < storage.first_escape and not self._repeats(loop, storage, storage.first_escape):
                self.owned[root] = storage

    def _gather(self, storages: dict[Value, Storage]) -> None:
        """Note the uses of each storage."""
        for value, position, exposes in self._uses:
            storage = self._storage(value, storages)
            if storage is not None:
                storage.last_use = max(storage.last_use, position)
                storage.exposed = storage.exposed or exposes
                storage.shared = storage.shared or exposes
        for op, position, loop in self._writes:
            storage = self._storage(op.operands[0], storages)
            if storage is not None:
                storage.writes.append(op)
                storage.last_use = max(storage.last_use, position)
                storage.last_write = max(storage.last_write, (position, loop))
        for value, position in self._escapes:
            self._escape(value, position, storages)
        for passing in self._passed:
            storage = self._storage(passing.value, storages)
            if storage is None:
                continue
            here = self.places[passing.value]
            others = [place for t in passing.given.targets if (place := self.places.get(t)) is not here]
            if None in others:
                self._escape(passing.value, passing.position, storages)
            if any(place is not None for place in others):
                storage.exposed = True
                storage.moves.append(passing)

    def _storage(self, value: Value, storages: dict[Value, Storage]) -> Storage | None:
        place = self.places.get(value)
        return storages.get(place.root) if place is not None else None

    def _escape(self, value: Value, position: int, storages: dict[Value, Storage]) -> Storage | None:
        """Note that another name is known from there on for the storage of `value`, which is given back."""
        storage = self._storage(value, storages)
        if storage is not None:
            storage.exposed = True
            storage.last_use = max(storage.last_use, position)
            storage.first_escape = min(storage.first_escape, position)
            storage.shared = storage.shared or position != _NEVER
        return storage

    def _targets(self, storage: Storage) -> list[Value]:
        """The moved tensors that a storage is given to."""
        return [target for passing in storage.moves for target in passing.given.targets if target in self._moved]

    def _may_move(self, storage: Storage) -> bool:
        """Whether a storage is used no more, under any of its names, once it is given to a moved tensor."""
        first = storage.moves[0]
        ways = {passing.given.way for passing in storage.moves}
        return (
            storage.first_escape == _NEVER
            and storage.last_use <= first.position
            and all(passing.op is first.op for passing in storage.moves)
            and len(ways) == len(storage.moves)
            and not self._repeats(first.loop, storage, first.position)
        )

    def _repeats(self, loop: int, storage: Storage, until: int) -> bool:
        """Whether some loop around `loop`, itself included, starts after the storage and reaches to `until`."""
        while loop and self._loops[loop][0] > storage.position:
            if self._loop_ends[loop] >= until:
                return True
            loop = self._loops[loop][1]
        return False

    def _forget(self, moved: Sequence[Value], storages: dict[Value, Storage]) -> None:
        """Take back that tensors are moved: they are other names for the storages they are chosen from."""
        work = list(moved)
        while work:
            value = work.pop()
            if self.places.get(value) is None:
                continue
            for passing in self._incoming[value]:
                storage = self._escape(passing.value, passing.position, storages)
                if storage is not None:
                    work += self._targets(storage)
            work += self._place(value, None)


def takes_value(use: OpOperand) -> bool:
    """Whether a vtensor may stand where a tensor is used."""
    return accepts_operand(use.owner, use.index, cast(TensorType, use.value.type).to_vtensor())


def only_read(op: Operation) -> set[Value]:
    """The operands that an operation with `MemoryEffects` reads, and does nothing else with."""
    model, aliases = op.interface(MemoryEffects), op.interface(StorageAliases)
    effects = model.memory_effects() if model is not None else ()
    others = {effect.storage for effect in effects if effect.kind is not EffectKind.READ}
    shown = {base for _, base in aliases.storage_aliases()} if aliases is not None else set[object]()
    results = [v for v in op.results if isinstance(v.type, TensorType) and v not in others]
    return set() if results else {value for value in op.operands if value not in others and value not in shown}


_UNKNOWN: Final = StorageOrigin(cast(Value, None))
"""What every place is compatible with."""
