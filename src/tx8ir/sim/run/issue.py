"""What each tile executes: the instructions of a program that name it, loops unrolled on the way, one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import attrs

from tx8ir.core import Operation
from tx8ir.dialects.tx8 import Instruction, LoopOp


@attrs.frozen(eq=False)
class Leaf:
    """An instruction and its number among all instructions of the program."""

    index: int
    op: Instruction
    tiles: tuple[int, ...]


@attrs.frozen(eq=False)
class Loop:
    """A loop over nodes."""

    count: int
    tiles: tuple[int, ...]
    body: tuple[IssueNode, ...]


IssueNode: TypeAlias = Leaf | Loop


@attrs.frozen
class Issue:
    """One execution of an instruction: the trips of the loops around it, outermost first."""

    leaf: Leaf = attrs.field(eq=False)
    trips: tuple[int, ...]
    position: tuple[int, ...]
    """Compares like the order of a run that executes one instruction after the other."""


def nodes_of(ops: Iterable[Operation], numbers: Iterator[int]) -> tuple[IssueNode, ...]:
    """The instructions and loops among `ops`; `numbers` gives the instructions their numbers."""
    nodes: list[IssueNode] = []
    for op in ops:
        if isinstance(op, Instruction):
            nodes.append(Leaf(next(numbers), op, op.tiles))
        elif isinstance(op, LoopOp):
            nodes.append(Loop(op.count, op.tiles, nodes_of(op.body.block, numbers)))
    return tuple(nodes)


def all_issues(nodes: tuple[IssueNode, ...], trips: tuple[int, ...] = ()) -> Iterator[tuple[Leaf, tuple[int, ...]]]:
    """Every execution, one after the other, with its trips. Takes no memory that grows with the trips."""
    for node in nodes:
        if isinstance(node, Leaf):
            yield node, trips
        else:
            for trip in range(node.count):
                yield from all_issues(node.body, (*trips, trip))


def stream(
    nodes: tuple[IssueNode, ...], tile: int, trips: tuple[int, ...] = (), prefix: tuple[int, ...] = ()
) -> Iterator[Issue]:
    """What one tile executes, in its order. Takes no memory that grows with the trips."""
    for number, node in enumerate(nodes):
        if tile not in node.tiles:
            continue
        if isinstance(node, Leaf):
            yield Issue(node, trips, (*prefix, number))
        else:
            for trip in range(node.count):
                yield from stream(node.body, tile, (*trips, trip), (*prefix, number, trip))
