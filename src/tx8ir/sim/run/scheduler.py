"""Who goes next: tiles together as far as they can, or any legal order of tiles and engines, drawn from a seed.

A tile waits at a barrier for the others, at a send for its receivers to arm, and at a wait for its messages. When every
tile that has not finished waits, nothing will ever go on: that is a deadlock, and the error names who waits for whom.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeAlias

import attrs
import numpy as np

from tx8ir.dialects.tx8 import BarrierOp, DteArmOp, DteSendOp, DteWaitOp, Instruction, MemorySpace, MessageOp
from tx8ir.sim.errors import SimError
from tx8ir.target.chip import Engine

from .issue import Issue

Turn: TypeAlias = tuple[Issue, tuple[int, ...]]
"""An execution of an instruction by some of its tiles."""

_AWAITED: dict[type[Instruction], str] = {DteSendOp: "to arm", DteWaitOp: "to send", BarrierOp: "to come"}
_WINDOW = 12
"""Instructions that a tile may have issued and not executed."""


@attrs.frozen(eq=False)
class Begun:
    """An instruction that one tile has issued: what its engine needs to execute it when its turn comes."""

    issue: Issue
    tile: int
    engine: Engine | None
    spans: tuple[tuple[bool, MemorySpace, int, int], ...]
    """(writes, memory, first byte, end) of each access that orders it with others on the tile."""
    is_shared: bool
    """Whether it touches DDR that some instruction may write."""
    is_late: bool
    """Whether it is known only when it is executed which bytes of DDR those are."""
    decoded: Any
    placed: Any

    def conflicts(self, other: Begun) -> bool:
        """Whether hardware keeps the two in their order."""
        return self.engine is other.engine or any(
            (w or v) and space is memory and low < end and first < high
            for w, space, low, high in self.spans
            for v, memory, first, end in other.spans
        )


class Tiles(abc.ABC):
    """A run as a schedule sees it."""

    @property
    @abc.abstractmethod
    def tiles(self) -> tuple[int, ...]:
        """The tiles that execute anything."""

    @abc.abstractmethod
    def stream(self, tile: int) -> Iterator[Issue]:
        """What a tile executes, in order."""

    @abc.abstractmethod
    def awaited(self, op: MessageOp, tile: int) -> tuple[int, ...]:
        """The tiles that a tile has to wait for before it can execute a message instruction."""

    @abc.abstractmethod
    def execute(self, issue: Issue, tiles: tuple[int, ...]) -> None:
        """Execute an instruction on tiles that have nothing to wait for."""

    @abc.abstractmethod
    def begin(self, issue: Issue, tile: int) -> Begun:
        """Issue an instruction on a tile, in the tile's order."""

    @abc.abstractmethod
    def finish(self, begun: Begun) -> None:
        """Execute an issued instruction, in any order that hardware allows."""


class Schedule(abc.ABC):
    """An order of tiles and engines."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    @abc.abstractmethod
    def turns(self, tiles: Tiles) -> Iterator[Turn]:
        """Execute everything; each execution is given right before it happens. Raises SimError at a deadlock."""


class Lockstep(Schedule):
    """The tiles that have come least far go next, all that are at the same place together."""

    def turns(self, tiles: Tiles) -> Iterator[Turn]:
        """Execute everything. Raises SimError at a deadlock."""
        streams = {tile: tiles.stream(tile) for tile in tiles.tiles}
        heads = {tile: head for tile, s in streams.items() if (head := next(s, None)) is not None}
        while heads:
            chosen = self._choose(tiles, heads)
            if chosen is None:
                raise _deadlock(tiles, heads)
            yield heads[chosen[0]], chosen
            tiles.execute(heads[chosen[0]], chosen)
            for tile in chosen:
                head = next(streams[tile], None)
                if head is None:
                    del heads[tile]
                else:
                    heads[tile] = head

    @staticmethod
    def _choose(tiles: Tiles, heads: dict[int, Issue]) -> tuple[int, ...] | None:
        groups: dict[tuple[int, ...], list[int]] = {}
        for tile, head in heads.items():
            groups.setdefault(head.position, []).append(tile)
        some: tuple[int, ...] | None = None
        for position in sorted(groups):
            group = groups[position]
            leaf = heads[group[0]].leaf
            ready = leaf.tiles
            if len(group) < len(ready):
                ready = tuple([tile for tile in ready if tile in group])
            if type(leaf.op) in _AWAITED:
                ready = tuple([tile for tile in ready if not _awaited(tiles, heads, tile)])
            if len(ready) == len(group):
                return ready
            some = some or ready or None
        return some


class Interleaved(Schedule):
    """Any legal order: tiles take turns, and each engine of a tile goes on when it likes, as `seed` draws it.

    An engine executes its queue in order and waits for conflicting earlier instructions of its tile, as hardware does.
    """

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def turns(self, tiles: Tiles) -> Iterator[Turn]:
        """Execute everything. Raises SimError at a deadlock."""
        streams = {tile: tiles.stream(tile) for tile in tiles.tiles}
        heads = {tile: head for tile, s in streams.items() if (head := next(s, None)) is not None}
        pending: dict[int, list[Begun]] = {tile: [] for tile in tiles.tiles}

        def advance(tile: int) -> None:
            head = next(streams[tile], None)
            if head is None:
                del heads[tile]
            else:
                heads[tile] = head

        while heads or any(pending.values()):
            order = self._random.permutation(tiles.tiles).tolist()
            moved = False
            for tile in order:
                moved = yield from self._step(tiles, tile, heads, pending, advance)
                if moved:
                    break
            if not moved:
                raise _deadlock(tiles, heads)

    def _step(
        self,
        tiles: Tiles,
        tile: int,
        heads: dict[int, Issue],
        pending: dict[int, list[Begun]],
        advance: Callable[[int], None],
    ) -> Generator[Turn, None, bool]:
        """Let a tile issue or execute something; whether it could."""
        waiting = pending[tile]
        movable = [i for i, begun in enumerate(waiting) if not any(begun.conflicts(earlier) for earlier in waiting[:i])]
        can_issue = tile in heads and self._can_issue(tiles, tile, heads, pending)
        if not can_issue and not movable:
            return False
        if can_issue and (not movable or self._random.random() < 0.6):
            head = heads[tile]
            op = head.leaf.op
            if isinstance(op, BarrierOp):
                yield head, op.tiles
                tiles.execute(head, op.tiles)
                for member in op.tiles:
                    advance(member)
            elif isinstance(op, MessageOp):
                yield head, (tile,)
                tiles.execute(head, (tile,))
                advance(tile)
            else:
                waiting.append(tiles.begin(head, tile))
                advance(tile)
        else:
            begun = waiting.pop(int(self._random.choice(movable)))
            yield begun.issue, (tile,)
            tiles.finish(begun)
        return True

    @staticmethod
    def _can_issue(tiles: Tiles, tile: int, heads: dict[int, Issue], pending: dict[int, list[Begun]]) -> bool:
        op = heads[tile].leaf.op
        if isinstance(op, BarrierOp):
            return not _awaited(tiles, heads, tile) and not any(pending[member] for member in op.tiles)
        if isinstance(op, (DteArmOp, DteSendOp)):
            # Simply after everything before it, which is one of the legal orders.
            return not pending[tile] and not _awaited(tiles, heads, tile)
        if isinstance(op, DteWaitOp):
            # What its message orders must not be taken to come before rows that are looked up after it.
            return not any(begun.is_late for begun in pending[tile]) and not _awaited(tiles, heads, tile)
        return len(pending[tile]) < _WINDOW


def _awaited(tiles: Tiles, heads: dict[int, Issue], tile: int) -> tuple[int, ...]:
    """The tiles that a tile waits for now."""
    head = heads[tile]
    op = head.leaf.op
    if isinstance(op, BarrierOp):
        return tuple([other for other in op.tiles if other not in heads or heads[other].position != head.position])
    return tiles.awaited(op, tile) if isinstance(op, MessageOp) else ()


def _deadlock(tiles: Tiles, heads: dict[int, Issue]) -> SimError:
    """The error of a run in which every tile waits: a cycle of the wait-for graph, or a wait for a finished tile."""
    awaited = {tile: _awaited(tiles, heads, tile) for tile in heads}
    path: list[int] = []
    tile = min(heads)
    while tile in heads and tile not in path:
        path.append(tile)
        tile = awaited[tile][0]
    cycle = path[path.index(tile) :] if tile in path else path
    lines: list[str] = []
    for waiting in (*cycle, *(t for t in sorted(heads) if t not in cycle)):
        leaf = heads[waiting].leaf
        others = ", ".join(f"tile {t}" + ("" if t in heads else " (which has finished)") for t in awaited[waiting])
        what = _AWAITED[type(leaf.op)]
        lines.append(f"tile {waiting} waits for {others} {what} (instruction {leaf.index}, {leaf.op.name})")
    shape = "in a circle" if tile in path else "for a tile that has finished"
    message = f"deadlock: tiles wait {shape}: " + "; ".join(lines)
    first = heads[cycle[0]].leaf
    return SimError(message, first.op, index=first.index, tile=cycle[0])
