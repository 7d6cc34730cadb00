"""Where control flow takes values, and an order of the blocks of a region in which every cycle is one stretch."""

from __future__ import annotations

from collections import Counter
from typing import Final

import attrs

from tx8ir.core import Block, Operation, Region, Value
from tx8ir.dialects import scf

from .call_graph import components_callees_first


@attrs.frozen
class Given:
    """What becomes of one operand.

    Attributes:
        targets: the results and block arguments that it may become, at most one of them in any run of the operation.
            None for an operand that is used and not passed on.
        way: tells the ways apart on which a branch gives its operands; one of them is taken.
    """

    targets: tuple[Value, ...] = ()
    way: int = 0


_USED: Final = Given()


def values_given(op: Operation) -> list[Given]:
    """For each operand of `op` what control flow makes of it. O(operands)."""
    parent = op.parent_op
    if isinstance(op, scf.WhileOp):
        return [Given((argument,)) for argument in op.before.block.args]
    if isinstance(op, scf.ConditionOp) and isinstance(parent, scf.WhileOp):
        return [_USED, *map(Given, zip(parent.after.block.args, parent.results, strict=True))]
    if isinstance(op, scf.YieldOp) and isinstance(parent, scf.IfOp):
        return [Given((result,)) for result in parent.results]
    if isinstance(op, scf.YieldOp) and isinstance(parent, scf.WhileOp):
        return [Given((argument,)) for argument in parent.before.block.args]
    found = [Given((a,), way) for way, block in enumerate(op.successors) for a in block.args]
    return [_USED] * (len(op.operands) - len(found)) + found  # the operands of successors are the last ones, in order


def is_condition(op: Operation, index: int) -> bool:
    """Whether operand `index` decides where control flow goes."""
    return index == 0 and (isinstance(op, (scf.IfOp, scf.ConditionOp)) or len(op.successors) > 1)


@attrs.frozen
class Stop:
    """A block in an order of blocks.

    Attributes:
        block: the block.
        heads_cycle: a cycle starts with it.
        ends: how many cycles end with it.
    """

    block: Block
    heads_cycle: bool
    ends: int


@attrs.frozen
class _Cycle:
    """A strongly connected component; its first block dominates the others, if any does."""

    blocks: list[Block]


@attrs.frozen
class _Scope:
    """Blocks to be put into order, with the edges between them only."""

    blocks: list[Block]


def weak_topological_order(region: Region) -> list[Stop]:
    """The blocks that the entry reaches, so that each edge leads forward, or from inside a cycle to its first block.

    Cycles are stretches of the order, and nest. A block comes behind those that dominate it.

    Source: Bourdoncle, Efficient chaotic iteration strategies with widenings (FMPA 1993); here by the strongly
    connected components of what is left of each cycle without its first block. O(edges * depth of cycles).
    """
    blocks = region.blocks
    if len(blocks) == 1:
        return [Stop(blocks[0], False, 0)]
    rank = {block: i for i, block in enumerate(_reverse_postorder(blocks[0]))}
    order: list[tuple[Block, bool]] = []
    ends: Counter[Block] = Counter()
    work: list[Block | _Cycle | _Scope | None] = [_Scope(list(rank))]
    while work:
        item = work.pop()
        if item is None:  # behind the last block of a cycle
            ends[order[-1][0]] += 1
        elif isinstance(item, Block):
            order.append((item, False))
        elif isinstance(item, _Cycle):
            order.append((item.blocks[0], True))
            work += [None, _Scope(item.blocks[1:])]
        else:
            work += _components(item.blocks, rank)
    return [Stop(block, heads_cycle, ends[block]) for block, heads_cycle in order]


def _components(scope: list[Block], rank: dict[Block, int]) -> list[Block | _Cycle]:
    """The strongly connected components of a scope, the last ones first."""
    inside = set(scope)
    edges = {block: [s for s in block.successors if s in inside] for block in scope}
    found: list[Block | _Cycle] = []
    for component in components_callees_first(edges):
        is_cycle = len(component) > 1 or component[0] in edges[component[0]]
        found.append(_Cycle(sorted(component, key=rank.__getitem__)) if is_cycle else component[0])
    return found


def _reverse_postorder(entry: Block) -> list[Block]:
    """The blocks that are reached, in an order in which a block comes behind those that dominate it."""
    found: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(entry.successors))]
    while stack:
        block, successors = stack[-1]
        following = next((s for s in successors if s not in seen), None)
        if following is None:
            found.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(following.successors)))
    return found[::-1]
