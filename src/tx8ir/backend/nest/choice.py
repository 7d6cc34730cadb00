"""`Choice`: a point of the search space of a group, and the loops that it means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from tx8ir.backend.axes import Cut, CutError, GroupSlices, GroupSpace, Loop, Strategy, check, loops, passes, tile_part
from tx8ir.backend.axes.residency import merged_axes
from tx8ir.backend.axes.tiles import digits
from tx8ir.backend.nest.body import NestBody
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Value

__all__ = ["Choice", "Level", "Nest"]


@attrs.frozen
class Choice:
    """How a group is computed.

    Attributes:
        strategy: cuts over the mesh and in time.
        load_buffers: slices of each loaded value that are in SPM at a time.
        store_buffers: the same of each stored value.
        along: for each load the tiles that share one transfer by messages: "", "x", "y" or "xy".
    """

    strategy: Strategy
    load_buffers: int = 1
    store_buffers: int = 1
    along: tuple[str, ...] = ()

    def describe(self, space: GroupSpace) -> str:
        """The choice in words, with the names of the axes: `x: M/4; y: N/4; loops: K/8; buffers 2 + 1`."""

        def parts(cuts: Sequence[Cut]) -> str:
            return ", ".join(f"{space.axes[cut.axis].name}/{cut.parts}" for cut in cuts)

        strategy = self.strategy
        shared = ", ".join(f"load {i} along {along}" for i, along in enumerate(self.along) if along)
        named = {"x": parts(strategy.x), "y": parts(strategy.y), "loops": parts(strategy.time), "shared": shared}
        found = [f"{name}: {text}" for name, text in named.items() if text]
        return "; ".join([*found, f"buffers {self.load_buffers} + {self.store_buffers}"])


@attrs.frozen
class Level:
    """A loop of the nest: over an axis of the space, or over the passes (axis -1)."""

    axis: int
    trips: int
    ragged: bool = False
    """Whether the last trip differs in size from those before it."""
    edges: bool = False
    """Whether the first one does as well, as at the border of what a window slides over."""


@attrs.frozen(slots=False, eq=False)
class Nest:
    """The loops of a choice, and what each tile has.

    Attributes:
        levels: of more than one trip, outermost first; of passes, before the innermost loop.
        parts: what each used tile has of the space, by coordinates.
        known: the slices that were asked for.
        storers: the tiles that were asked for of stored values.
    """

    body: NestBody
    choice: Choice
    levels: tuple[Level, ...]
    loops: tuple[Loop, ...]
    parts: dict[tuple[int, int], Box]
    known: dict[tuple[tuple[int, int], tuple[int, ...]], GroupSlices] = attrs.field(factory=dict[Any, GroupSlices])
    storers: dict[Value, tuple[tuple[int, int], ...]] = attrs.field(factory=dict[Value, Any])

    @staticmethod
    def of(body: NestBody, choice: Choice) -> Nest:
        """The nest of a choice.

        Raises:
            CutError: a cut is not legal, or tiles have different numbers of trips.
        """
        space, strategy = body.space, choice.strategy
        check(space, strategy, body.mesh)
        found = tuple(loop for loop in loops(space, strategy) if loop.trips > 1)
        parts: dict[tuple[int, int], Box] = {}
        for x in range(strategy.columns):
            for y in range(strategy.rows):
                part = tile_part(space, strategy, x, y)
                assert part is not None
                parts[x, y] = part
        windows = _window_axes(body)
        levels: list[Level] = []
        for loop in found:
            ragged = False
            for part in parts.values():
                extent = part.extent[loop.axis]
                if -(-extent // loop.size) != loop.trips or loop.joints:
                    raise CutError(f"tiles have different numbers of trips over {space.axes[loop.axis]!r}")
                ragged = ragged or extent % loop.size > 0
            edges = loop.axis in windows
            levels.append(Level(loop.axis, loop.trips, ragged or edges, edges))
        count = max(passes(space, {loop.axis for loop in found}).runs, default=1)
        if count > 1:
            levels.insert(len(levels) - 1, Level(-1, count))
        return Nest(body, choice, tuple(levels), found, parts)

    def slices(self, tile: tuple[int, int], counters: tuple[int, ...]) -> GroupSlices:
        """What a tile needs in an iteration; see `part`."""
        found = self.known.get((tile, counters))
        if found is None:
            found = self.known[tile, counters] = self.body.needs(self.part(tile, counters))
        return found

    def part(self, tile: tuple[int, int], counters: tuple[int, ...]) -> Box:
        """What a tile does in the iteration with these counters of `levels`; fewer counters: in all inner ones."""
        part = self.parts[tile]
        sizes = {loop.axis: loop for loop in self.loops}
        for level, trip in zip(self.levels, counters, strict=False):
            if level.axis >= 0:
                start, extent = sizes[level.axis].part(*part.axis(level.axis), trip)
                part = part.replace(level.axis, start, extent)
        return part

    def storing(self, value: Value) -> tuple[tuple[int, int], ...]:
        """The tiles that store a value: of those that have the same slice, the first one."""
        found = self.storers.get(value)
        if found is None:
            found = self.storers[value] = self._storing(value)
        return found

    def _storing(self, value: Value) -> tuple[tuple[int, int], ...]:
        axes, strategy = self.body.space.depends_on(value), self.choice.strategy

        def is_first(cuts: Sequence[Cut], coordinate: int) -> bool:
            numbers = digits(coordinate, [cut.parts for cut in cuts])
            return all(number == 0 or cut.axis in axes for cut, number in zip(cuts, numbers, strict=True))

        return tuple((x, y) for x, y in self.parts if is_first(strategy.x, x) and is_first(strategy.y, y))

    def combined(self, op: int) -> tuple[int, ...]:
        """The levels over axes that an op combines."""
        axes = merged_axes(self.body.space, op)
        return tuple(i for i, level in enumerate(self.levels) if level.axis in axes)


def _window_axes(body: NestBody) -> frozenset[int]:
    """The axes that some slice follows by other than being a product of axes: its border trips may be shorter."""
    space, found = body.space, set[int]()
    for value, dependence in space.value_dependence.items():
        for axes, direct in zip(dependence, space.value_direct[value], strict=True):
            found |= set() if direct else axes
    for dependence, directs in zip(space.op_dependence, space.op_direct, strict=True):
        for axes, direct in zip(dependence, directs, strict=True):
            found |= set() if direct else axes
    return frozenset(found)
