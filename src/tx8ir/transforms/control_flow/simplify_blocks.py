"""Branches between the blocks of a region, made simpler: the `cf` half of `simplify-control-flow`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from tx8ir.analysis.constants import splat_value
from tx8ir.core import Block, BlockArgument, Operation, Region, Value, at_location
from tx8ir.core.opdef.definition import SEGMENTS
from tx8ir.dialects import cf

from .selection import can_select, select

Edge: TypeAlias = "tuple[Block, Sequence[Value]]"
"""A block that a branch goes to, and what it gives it."""


def simplify_blocks(region: Region, *, by: str, selects: bool) -> Counter[str]:
    """Simplify until nothing changes; what was done, as `simplify-control-flow` counts it.

    Each round is O(operations of the blocks it touches + branches).

    Args:
        region: whose entry is its first block.
        by: the pass.
        selects: whether a branch to one block with different values may become `pd.where`.
    """
    done: Counter[str] = Counter()
    while len(region) > 1:
        round_ = _Round(region, by, selects)
        round_.run()
        if not round_.counts:
            break
        done += round_.counts
    return done


def edges_of(op: Operation | None) -> list[Edge]:
    """The edges of a branch whose edges are known, `cf.br` or `cf.cond_br`; none for anything else."""
    if isinstance(op, cf.BranchOp):
        return [(op.dest, op.dest_operands)]
    if isinstance(op, cf.CondBranchOp):
        return [(op.true_dest, op.true_operands), (op.false_dest, op.false_operands)]
    return []


def replace_branch(op: Operation, edges: Sequence[Edge], by: str) -> Operation:
    """Let a branch with these edges take the place of `op`: with one, a `cf.br`."""
    block = op.parent
    assert block is not None  # a branch of a program
    op.detach()
    with at_location(op.location):
        if len(edges) == 1:
            ((dest, given),) = edges
            made: Operation = cf.BranchOp(given, dest=dest)
        else:
            assert isinstance(op, cf.CondBranchOp)  # only that has two
            (left, to_left), (right, to_right) = edges
            made = cf.CondBranchOp(op.condition, to_left, to_right, true_dest=left, false_dest=right)
    for name, attribute in op.attributes.items():
        if name != SEGMENTS:
            made.set_attribute(name, attribute)
    block.append(made)
    op.erase(by)
    return made


def erase_blocks(region: Region, doomed: Iterable[Block], by: str) -> int:
    """Erase blocks that nothing else in the region goes to or uses; how many. O(blocks + operations inside)."""
    gone = set(doomed)
    if not gone:
        return 0
    region.set_blocks([block for block in region.blocks if block not in gone])
    for block in gone:
        for op in block:
            for inner in op.walk():
                inner.set_operands(())
    for block in gone:
        for op in block:
            op.erase(by)
    return len(gone)


def last_first(entry: Block) -> list[Block]:
    """The blocks that `entry` reaches, each after those it goes to, but for cycles."""
    seen = {entry}
    order: list[Block] = []
    work = [(entry, iter(entry.successors))]
    while work:
        block, successors = work[-1]
        following = next((b for b in successors if b not in seen), None)
        if following is None:
            order.append(block)
            work.pop()
        else:
            seen.add(following)
            work.append((following, iter(following.successors)))
    return order


class _Round:
    """Each rule once, in an order in which most of what one makes possible comes later."""

    def __init__(self, region: Region, by: str, selects: bool) -> None:
        self.region = region
        self.by = by
        self.selects = selects
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        """Do them all."""
        for block in self.region.blocks:
            self._decide(block)
        order = last_first(self.region.block)
        self.counts["unreachable"] += erase_blocks(self.region, set(self.region.blocks).difference(order), self.by)
        self._drop_arguments()
        for block in order:
            self._thread(block)
            self._decide(block)
        order = last_first(self.region.block)
        self.counts["unreachable"] += erase_blocks(self.region, set(self.region.blocks).difference(order), self.by)
        self._merge(reversed(order))
        self.counts = +self.counts

    # -- branches ------------------------------------------------------------------------------------------------------

    def _decide(self, block: Block) -> None:
        """A branch whose condition is constant, or does not matter, goes one way."""
        op = block.last_op
        if not isinstance(op, cf.CondBranchOp):
            return
        left, right = edges_of(op)
        truth = splat_value(op.condition)
        if truth is not None:
            replace_branch(op, [left if truth else right], self.by)
            self.counts["constant"] += 1
        elif left[0] is right[0] and left[1] == right[1]:
            replace_branch(op, [left], self.by)
            self.counts["identical"] += 1
        elif left[0] is right[0] and self.selects:
            pairs = list(zip(left[1], right[1], strict=True))
            if all(a is b or can_select(op.condition, a, b) for a, b in pairs):
                given = [a if a is b else select(op, op.condition, a, b, self.by) for a, b in pairs]
                replace_branch(op, [(left[0], given)], self.by)
                self.counts["selected"] += sum(a is not b for a, b in pairs)

    def _thread(self, block: Block) -> None:
        """Let the branch at the end of `block` skip blocks that only go on."""
        op = block.last_op
        edges = edges_of(op)
        if op is None or not edges:
            return
        new = [self._followed(edge) for edge in edges]
        if any(after[0] is not before[0] for before, after in zip(edges, new, strict=True)):
            self.counts["threaded"] += sum(a[0] is not b[0] for a, b in zip(edges, new, strict=True))
            replace_branch(op, new, self.by)

    def _followed(self, edge: Edge) -> Edge:
        seen: set[Block] = set()
        while True:
            block, given = edge
            op = block.first_op
            if not isinstance(op, cf.BranchOp) or op.dest is block or block in seen or block is self.region.block:
                return edge
            if any(use.owner is not op for argument in block.args for use in argument.uses):
                return edge
            seen.add(block)
            edge = (op.dest, [given[v.index] if v.owner is block else v for v in op.dest_operands])

    # -- arguments -----------------------------------------------------------------------------------------------------

    def _drop_arguments(self) -> None:
        """Arguments that are not used, or always are the same value, go."""
        incoming: dict[BlockArgument, list[Value]] = {}
        fixed: set[Block] = {self.region.block}
        for block in self.region.blocks:
            edges = edges_of(block.last_op)
            if len(edges) != len(block.successors):
                fixed.update(block.successors)
            for dest, given in edges:
                for argument, value in zip(dest.args, given, strict=True):
                    incoming.setdefault(argument, []).append(value)
        incoming = {argument: given for argument, given in incoming.items() if argument.owner not in fixed}
        gone = self._unused(incoming)
        gone |= self._always_the_same({a: given for a, given in incoming.items() if a not in gone})
        if not gone:
            return
        self.counts["unused"] += len(gone)
        for block in self.region.blocks:
            edges = edges_of(block.last_op)
            if block.last_op is None or not any(argument in gone for dest, _ in edges for argument in dest.args):
                continue
            kept = [
                (dest, [v for argument, v in zip(dest.args, given, strict=True) if argument not in gone])
                for dest, given in edges
            ]
            replace_branch(block.last_op, kept, self.by)
        for block in {argument.owner for argument in gone}:
            for argument in reversed(block.args):
                if argument in gone:
                    block.erase_argument(argument.index)

    def _unused(self, incoming: dict[BlockArgument, list[Value]]) -> set[BlockArgument]:
        """Those that nothing uses but branches that hand them on to each other."""
        slots: set[tuple[Operation, int]] = set()
        for block in self.region.blocks:
            op = block.last_op
            first = len(op.operands) if op is not None else 0
            for dest, given in reversed(edges_of(op)):
                first -= len(given)
                for index, argument in enumerate(dest.args):
                    if argument in incoming and op is not None:
                        slots.add((op, first + index))
        live = [a for a in incoming if any((use.owner, use.index) not in slots for use in a.uses)]
        unused = set(incoming).difference(live)
        while live:
            for value in incoming[live.pop()]:
                if isinstance(value, BlockArgument) and value in unused:
                    unused.discard(value)
                    live.append(value)
        return unused

    def _always_the_same(self, incoming: dict[BlockArgument, list[Value]]) -> set[BlockArgument]:
        """Those that are one value on every edge; that takes their place. As phis: Braun et al., CC 2013, §3.2."""
        takers: dict[Value, dict[BlockArgument, None]] = defaultdict(dict)
        for argument, given in incoming.items():
            for value in given:
                takers[value][argument] = None
        instead: dict[Value, Value] = {}

        def now(value: Value) -> Value:
            path: list[Value] = []
            while value in instead:
                path.append(value)
                value = instead[value]
            instead.update(dict.fromkeys(path, value))
            return value

        same: set[BlockArgument] = set()
        wave = dict.fromkeys(incoming)
        while wave:
            following: dict[BlockArgument, None] = {}
            for argument in wave:
                values = {now(value) for value in incoming[argument]} - {argument}
                if argument in same or len(values) != 1:
                    continue
                same.add(argument)
                (value,) = values
                instead[argument] = value
                argument.replace_all_uses_with(value)
                following |= takers[argument]
                takers[value] |= takers.pop(argument)
            wave = following
        return same

    # -- blocks --------------------------------------------------------------------------------------------------------

    def _merge(self, blocks: Iterable[Block]) -> None:
        """A block whose only way in is a `cf.br` becomes part of the block that ends in it, first blocks first."""
        ways_in: Counter[Block] = Counter()
        for block in self.region.blocks:
            ways_in.update(block.successors)
        gone: set[Block] = set()
        for block in blocks:
            if block in gone:
                continue
            op = block.last_op
            while isinstance(op, cf.BranchOp) and ways_in[op.dest] == 1 and op.dest is not block:
                dest = op.dest
                if dest is self.region.block:
                    break
                for argument, value in zip(dest.args, op.dest_operands, strict=True):
                    argument.replace_all_uses_with(value)
                op.erase(self.by)
                for inner in dest:
                    inner.detach()
                    block.append(inner)
                gone.add(dest)
                op = block.last_op
        self.region.set_blocks([block for block in self.region.blocks if block not in gone])
        self.counts["merged"] += len(gone)
