"""Where control flow takes values, and orders of blocks and regions in which every cycle is one stretch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

import attrs

from tx8ir.core import Block, Branch, Operation, Region, RegionEdge, Value
from tx8ir.core.ir.region_branch import RegionFlow, edges_from

from .call_graph import components_callees_first

NodeT = TypeVar("NodeT", bound=Hashable)
ItemT = TypeVar("ItemT")


class Forwarded(NamedTuple):
    """What becomes of one operand.

    Attributes:
        targets: the results and block arguments that it may become, at most one of them in any run of the operation.
            None for an operand that is used and not passed on.
        way: tells the ways apart on which a branch gives its operands; one of them is taken.
    """

    targets: tuple[Value, ...] = ()
    way: int = 0


_USED: Final = Forwarded()


def forwarded_operands(op: Operation) -> list[Forwarded] | None:
    """For each operand of `op` what control flow makes of it; None where `op` decides nothing. O(operands).

    That is: it is not a branch, no `RegionBranch` and not the end of one of its regions.
    """
    if op.successors:
        if Branch not in op.info.interfaces:
            return None
        found = [_USED] * len(op.op_operands)
        start = len(found)
        for index in reversed(range(len(op.successors))):
            block = op.successors[index]
            start -= len(block.args)
            found[start : start + len(block.args)] = [Forwarded((a,), index) for a in block.args]
        return found
    edges = edges_from(op)
    return [forwarded_on(edges, index) for index in range(len(op.op_operands))] if edges else None


def forwarded_on(edges: Sequence[RegionEdge], index: int) -> Forwarded:
    """What becomes of operand `index` of the source of some edges. O(edges)."""
    found = _USED
    for way, (_, forwarded, inputs) in enumerate(edges):
        if forwarded is not None and index in forwarded:
            target = inputs[index - forwarded.start]
            found = Forwarded((target,), way) if found is _USED else Forwarded((*found.targets, target), found.way)
    return found


def deciding_operands(op: Operation) -> Sequence[int]:
    """The operands that control flow reads and does not pass on: a condition, a bound of a loop. O(operands).

    None for an operation that is not a branch, no `RegionBranch` and not the end of one of its regions.
    """
    if op.successors:
        branch = op.interface(Branch)
        passed = sum(len(branch.successor_operands(i)) for i in range(len(op.successors))) if branch is not None else 0
        return range(len(op.operands) - passed if branch is not None else 0)
    edges = edges_from(op)
    if not edges:
        return ()
    return unforwarded(range(len(op.op_operands)), edges)


def unforwarded(operands: Sequence[ItemT], edges: Sequence[RegionEdge]) -> Sequence[ItemT]:
    """Those of the operands of a source that none of its edges forwards."""
    if not operands or not edges:
        return operands
    forwarded = edges[0].forwarded
    if len(edges) == 1 or all(edge.forwarded == forwarded for edge in edges):  # as with nearly all operations
        if not forwarded:
            return operands
        if len(forwarded) == len(operands):
            return ()
        return [*operands[: forwarded.start], *operands[forwarded.stop :]]
    ranges = {edge.forwarded for edge in edges if edge.forwarded}
    return [value for index, value in enumerate(operands) if not any(index in values for values in ranges)]


def read_by_control(op: Operation) -> Sequence[Value]:
    """The values of `deciding_operands`."""
    operands = op.operands
    return [operands[index] for index in deciding_operands(op)] if operands else ()


def region_order(flow: RegionFlow) -> list[WtoEntry[Region]]:
    """The regions that control may enter, each after those it is entered from, but for what a cycle goes back to."""
    entered = [edge.target for edge in flow.edges(None) if edge.target is not None]
    regions = flow.op.regions
    if len(regions) == 1 and entered:
        cycles = any(edge.target is regions[0] for edge in flow.edges(regions[0]))
        return [WtoEntry(regions[0], cycles, int(cycles))]
    edges = {r: [e.target for e in flow.edges(r) if e.target is not None] for r in regions}
    chain = _chain(entered, edges)
    if chain is not None:
        return chain
    ranked = _reverse_postorder([r for r in regions if r in entered], edges)
    return _weak_topological_order(ranked, edges)


def _chain(entered: Sequence[Region], edges: Mapping[Region, Sequence[Region]]) -> list[WtoEntry[Region]] | None:
    """The order for the common operations: a choice, or regions one after the other, which may go round; else None."""
    if not any(edges.values()):
        return [WtoEntry(region, False, 0) for region in edges if region in entered]
    if len(entered) != 1:
        return None
    chain = [entered[0]]
    while True:
        following = edges[chain[-1]]
        if len(following) > 1:
            return None
        if not following or following[0] in chain:
            break
        chain.append(following[0])
    head = following[0] if following else None
    return [WtoEntry(r, r is head, int(head is not None and r is chain[-1])) for r in chain]


def is_choice(flow: RegionFlow | None) -> bool:
    """Whether control enters at most one region of an operation, once, and then leaves."""
    if flow is None:
        return False
    for region in flow.op.regions:
        for edge in flow.edges(region):
            if edge.target is not None:
                return False
    return True


def is_loop(flow: RegionFlow | None) -> bool:
    """Whether control may enter a region of an operation again and again."""
    if flow is None or is_choice(flow):
        return False
    return len(flow.op.regions) == 1 or any(entry.heads_cycle for entry in region_order(flow))


@attrs.frozen
class WtoEntry(Generic[NodeT]):
    """A block or region in an order of them.

    Attributes:
        node: the block or region.
        heads_cycle: a cycle starts with it.
        ends: how many cycles end with it.
    """

    node: NodeT
    heads_cycle: bool
    ends: int


@attrs.frozen
class _Cycle:
    """A strongly connected component; its first node dominates the others, if any does."""

    nodes: list[Any]


@attrs.frozen
class _Scope:
    """Nodes to be put into order, with the edges between them only."""

    nodes: list[Any]


def weak_topological_order(region: Region) -> list[WtoEntry[Block]]:
    """The blocks that the entry reaches, so that each edge leads forward, or from inside a cycle to its first block.

    Cycles are stretches of the order, and nest. A block comes after those that dominate it.

    Source: Bourdoncle, Efficient chaotic iteration strategies with widenings (FMPA 1993); here by the strongly
    connected components of what is left of each cycle without its first block. O(edges * depth of cycles).
    """
    blocks = region.blocks
    if len(blocks) == 1:
        return [WtoEntry(blocks[0], False, 0)]
    edges = {block: block.successors for block in blocks}
    return _weak_topological_order(_reverse_postorder(blocks[:1], edges), edges)


def _weak_topological_order(nodes: Sequence[NodeT], edges: Mapping[NodeT, Sequence[NodeT]]) -> list[WtoEntry[NodeT]]:
    """The order of nodes that are given in reverse postorder."""
    rank = {node: i for i, node in enumerate(nodes)}
    order: list[tuple[NodeT, bool]] = []
    ends: Counter[NodeT] = Counter()
    work: list[NodeT | _Cycle | _Scope | None] = [_Scope(list(rank))]
    while work:
        item = work.pop()
        if item is None:  # after the last node of a cycle
            ends[order[-1][0]] += 1
        elif isinstance(item, _Cycle):
            order.append((item.nodes[0], True))
            work += [None, _Scope(item.nodes[1:])]
        elif isinstance(item, _Scope):
            work += _components(item.nodes, edges, rank)
        else:
            order.append((item, False))
    return [WtoEntry(node, heads_cycle, ends[node]) for node, heads_cycle in order]


def _components(
    scope: list[NodeT], edges: Mapping[NodeT, Sequence[NodeT]], rank: Mapping[NodeT, int]
) -> list[NodeT | _Cycle]:
    """The strongly connected components of a scope, the last ones first."""
    inside = set(scope)
    within = {node: [s for s in edges[node] if s in inside] for node in scope}
    found: list[NodeT | _Cycle] = []
    for component in components_callees_first(within):
        is_cycle = len(component) > 1 or component[0] in within[component[0]]
        found.append(_Cycle(sorted(component, key=rank.__getitem__)) if is_cycle else component[0])
    return found


def _reverse_postorder(entries: Sequence[NodeT], edges: Mapping[NodeT, Sequence[NodeT]]) -> list[NodeT]:
    """The nodes that are reached, in an order in which a node comes after those that dominate it."""
    found: list[NodeT] = []
    seen: set[NodeT] = set()
    for entry in entries:
        if entry in seen:
            continue
        seen.add(entry)
        stack = [(entry, iter(edges[entry]))]
        while stack:
            node, successors = stack[-1]
            following = next((s for s in successors if s not in seen), None)
            if following is None:
                found.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(edges[following])))
    return found[::-1]
