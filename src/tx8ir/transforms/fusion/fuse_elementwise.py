"""`fuse-elementwise`: elementwise operations of one shape become one `pd.fusion`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar

import attrs

from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import (
    Block,
    ElementwiseMappable,
    Operation,
    Program,
    Pure,
    Region,
    Value,
    VTensorType,
    detached,
)
from tx8ir.dialects import pd
from tx8ir.passes import OperationPass, option, register_pass
from tx8ir.rewriting.provenance import derived_location
from tx8ir.rewriting.subgraphs import inputs_of, outline, outputs_of
from tx8ir.transforms.cleanup.topological_sort import captures, moves_freely


@register_pass
@attrs.frozen
class FuseElementwise(OperationPass):
    """Puts elementwise operations whose results have one shape into a `pd.fusion` together.

    *Vertically*: producers and consumers, chains and graphs, with several results where inner values are used outside.
    *Horizontally*: groups, or operations, of equal shape between which no value flows. Operands of other shapes, which
    broadcast, and constants stay outside. After XLA's loop fusion and horizontal fusion, and BladeDISC's kLoop with
    several outputs.

    Every operation has a *level*: how often a way to it leaves elementwise operations of one shape, at most. Operations
    that are connected by uses within one level are one group; a group that only one group of its shape uses joins that
    one; groups of equal level and shape are fused horizontally. As the level grows along every way that leaves a group,
    none leads back: groups are convex, and replacing all of them at once makes no cycle. They do not overlap.
    What stands between the members of a group moves before or after it; operations with effects, and those on tensors
    with storage, keep their order.

    On the TX8 each independent part of a fusion that has one result becomes one `Group`, whose intermediates stay in
    SPM (`lower-to-tx8be`, `group-default`); `group-fuse` goes on from there. It helps where several operations read a
    value, since `group-fuse` alone merges along only readers. Parts with several results are computed as if they were
    not fused, and independent ones apart.

    Assumes: nothing. Fires only on vtensors of static shape. Guarantees: every bit stays. Idempotent.
    Cost: O(operations + operands). Statistics: `vertical` and `horizontal` fusions, operations `fused`.
    """

    name: ClassVar[str] = "fuse-elementwise"

    vertical: bool = option(True, "whether operations that use one another are fused")
    horizontal: bool = option(True, "whether operations that do not depend on one another are fused")
    max_inputs: int = option(32, "how many values a fusion may take for another group to join it horizontally")

    def run_on(self, root: Operation, program: Program) -> None:
        mutable = mutable_parameters(program)
        blocks = captures(root)
        with detached():
            for block, captured in blocks.items():
                if isinstance(block.parent_op, pd.FusionOp):
                    continue
                graph = _Graph(block, captured, mutable, vertical=self.vertical)
                groups = [group for group in self._groups(graph) if len(group.ops) > 1]
                if groups:
                    _bring_together(graph, groups)
                for group in groups:
                    _fuse(group, self.name)
                    self.count(group.kind)
                    self.count("fused", len(group.ops))

    def _groups(self, graph: _Graph) -> list[_Group]:
        groups = graph.components()
        if self.vertical:
            groups = _join_only_users(groups)
        return _beside_each_other(groups, self.max_inputs) if self.horizontal else groups


@attrs.define(eq=False)
class _Group:
    """Operations to be fused, in block order, with the level of those that others use."""

    ops: list[Operation]
    level: int
    kind: str = "vertical"

    @property
    def shape(self) -> tuple[int, ...]:
        return _shape(self.ops[0])


def _is_elementwise(op: Operation) -> bool:
    """Whether `op` can be in a fusion; one that nobody uses has no place in one."""
    traits = op.info.traits
    if ElementwiseMappable not in traits or Pure not in traits or len(op.results) != 1 or not op.results[0].has_uses:
        return False
    return all(isinstance(v.type, VTensorType) and v.type.is_static for v in (*op.operands, *op.results))


def _shape(op: Operation) -> tuple[int, ...]:
    kind = op.results[0].type
    assert isinstance(kind, VTensorType)  # _is_elementwise
    return kind.shape


class _Graph:
    """What stands before what in a block, and the level of each operation.

    An operation stands after those it uses, and one that may not move freely also after the last such before it.
    """

    def __init__(
        self,
        block: Block,
        captured: Mapping[Operation, Sequence[Operation]],
        mutable: frozenset[str],
        *,
        vertical: bool,
    ) -> None:
        self.block = block
        self.before: dict[Operation, list[Operation]] = {}
        self.level: dict[Operation, int] = {}
        self.elementwise: set[Operation] = set()
        self.vertical = vertical
        last: Operation | None = None
        for op in block:
            definers = [value.defining_op for value in op.operands]
            before = [d for d in definers if d is not None and d.parent is block] + list(captured.get(op, ()))
            if not moves_freely(op, mutable):
                if last is not None:
                    before.append(last)
                last = op
            if _is_elementwise(op):
                self.elementwise.add(op)
            self.before[op] = before
            self.level[op] = max((self.level[d] + self._step(d, op) for d in before), default=0)

    def _step(self, first: Operation, second: Operation) -> int:
        """1 where a way leaves a group: from an operation that is, or may be, in one, to what is not in the same."""
        grouped = first in self.elementwise or isinstance(first, pd.FusionOp)
        return int(grouped and not self.fits(first, second))

    def fits(self, first: Operation, second: Operation) -> bool:
        """Whether an operation and one that uses it may be fused."""
        together = self.vertical and first in self.elementwise and second in self.elementwise
        return together and _shape(first) == _shape(second)

    def components(self) -> list[_Group]:
        """The elementwise operations, those of one level that use one another together; in block order."""
        groups: dict[Operation, _Group] = {}
        for op in self.before:
            if op not in self.elementwise:
                continue
            own = groups[op] = _Group([op], self.level[op])
            for definer in self.before[op]:
                if self.level[definer] != self.level[op] or not self.fits(definer, op):
                    continue
                other = groups[definer]
                if other is not own:
                    small, large = sorted((own, other), key=lambda group: len(group.ops))
                    large.ops += small.ops
                    groups.update(dict.fromkeys(small.ops, large))
                    own = large
        return _in_order(groups.values(), self.before)


def _in_order(groups: Iterable[_Group], block: Iterable[Operation]) -> list[_Group]:
    """Each group once, in the order of the first of their operations; operations in that of the block."""
    position = {op: i for i, op in enumerate(block)}
    distinct = list(dict.fromkeys(groups))
    for group in distinct:
        group.ops.sort(key=position.__getitem__)
    return sorted(distinct, key=lambda group: position[group.ops[0]])


def _join_only_users(groups: list[_Group]) -> list[_Group]:
    """Lets each group join the one that alone uses it, if that has its shape. Users come first."""
    home = {op: group for group in groups for op in group.ops}
    for group in sorted(groups, key=lambda group: -group.level):
        users = {user for op in group.ops for user in op.results[0].users}
        homes = {home.get(user) for user in users}
        homes.discard(group)
        target = homes.pop() if len(homes) == 1 else None
        if target is not None and target.shape == group.shape:
            target.ops += group.ops
            home.update(dict.fromkeys(group.ops, target))
            group.ops = []
    return [group for group in groups if group.ops]


def _beside_each_other(groups: list[_Group], max_inputs: int) -> list[_Group]:
    """Joins groups of equal level and shape while the joined one takes no more than `max_inputs` values."""
    open_groups: dict[tuple[int, tuple[int, ...]], tuple[_Group, set[Value]]] = {}
    found: list[_Group] = []
    for group in groups:
        key = (group.level, group.shape)
        inputs = set(inputs_of(group.ops))
        if key in open_groups:
            first, taken = open_groups[key]
            if len(taken | inputs) <= max_inputs:
                first.ops += group.ops
                first.kind = "horizontal"
                taken |= inputs
                continue
        open_groups[key] = (group, inputs)
        found.append(group)
    return found


def _bring_together(graph: _Graph, groups: Collection[_Group]) -> None:
    """Moves operations of the block so that the members of each group follow one another.

    Nearly in their order: a group stands where its last member was, or before the first that uses it.
    """
    home: dict[Operation, _Group] = {}
    rest: dict[_Group, int] = {}
    position = {op: i for i, op in enumerate(graph.before)}
    for group in groups:
        group.ops.sort(key=position.__getitem__)
        home.update(dict.fromkeys(group.ops, group))
        rest[group] = len(group.ops)
    order: dict[Operation, None] = {}
    for op in graph.before:
        group = home.get(op)
        if group is not None:
            rest[group] -= 1
            if rest[group]:
                continue
        _append(op, graph, home, order)
    previous: Operation | None = None
    for op in order:
        if op.prev_op is not previous:
            if previous is None:
                first = graph.block.first_op
                assert first is not None
                op.move_before(first)
            else:
                op.move_after(previous)
        previous = op


def _append(end: Operation, graph: _Graph, home: Mapping[Operation, _Group], order: dict[Operation, None]) -> None:
    """Appends `end`, or the group it is in, to the order, after what has to stand before it."""
    stack: list[tuple[Operation, bool]] = [(end, False)]
    while stack:
        op, ready = stack.pop()
        if op in order:
            continue
        group = home.get(op)
        ops = [op] if group is None else group.ops
        if ready:
            order.update(dict.fromkeys(ops))
            continue
        stack.append((op, True))
        needed = (d for member in ops for d in graph.before[member] if group is None or home.get(d) is not group)
        stack += [(d, False) for d in needed if d not in order]


def _fuse(group: _Group, by: str) -> None:
    """Replaces the operations of a group, which follow one another, by a fusion of them."""
    ops = group.ops
    inputs, outputs = inputs_of(ops), outputs_of(ops)
    body = Block([value.type for value in inputs])
    location = derived_location((op.location for op in ops), by)
    fusion = pd.FusionOp(inputs, kind=group.kind, body=Region([body]), outputs=[value.type for value in outputs])
    fusion.location = location
    block = ops[-1].parent
    assert block is not None  # it was found in a block
    block.insert_after(fusion, ops[-1])
    outline(ops, body, inputs, outputs, fusion.outputs)
    end = pd.FusionYieldOp(outputs)
    end.location = location
    body.append(end)
