"""The search: of all strategies of a group, the one with the least price.

Cuts over the mesh, cuts in time and the order of the loops are listed; an estimate in closed form, of the bytes that
DDR passes and the cycles of the engines, ranks them, and those that promise most are priced with their ways of sharing
loads and numbers of buffers. The search ends where the estimate alone is worse than the best price by `SLACK`, or
where `PATIENCE` strategies in turn were no better.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

import attrs

from tx8ir.backend.axes import Axis, AxisKind, Cut, CutError, Strategy, Window, work
from tx8ir.backend.axes.cuts import cut, part_counts
from tx8ir.backend.graph import CompileError, format_of, shape_of
from tx8ir.backend.nest.body import CONTRACTIONS, NestBody
from tx8ir.backend.nest.buffers import Buffering
from tx8ir.backend.nest.choice import Choice, Nest
from tx8ir.backend.nest.estimate import Computed, Moved, estimated_cycles
from tx8ir.backend.nest.kernels import form_of
from tx8ir.backend.nest.price import Plan, Pricer
from tx8ir.backend.nest.problem import given_sharding
from tx8ir.backend.nest.spm import SpmPlan, plan_spm, spm_need
from tx8ir.backend.oplib.boxes import Box
from tx8ir.core import Value
from tx8ir.target.chip import Engine

__all__ = ["Found", "Search", "find_plan", "floor_cycles", "sharings", "strategies"]

PATIENCE = 6
"""Strategies that are priced without finding a better one before the search ends."""
HOPELESS = 1.3
"""A strategy whose first price is so many times the best one is left."""
SLACK = 1.1
"""By how much an estimate may be above the best price: sharing and overlap may save what it counts."""
SHORTEST = 500
"""Cycles that a step takes at least, about: the start-up of a transfer. No more steps than that are worth a look."""
WIDER = ((16, False), (16, True), (4096, True))
"""Where all of those fail: steps that are tried, and whether with fewer tiles, and any number of trips, as well."""
LISTED, LISTED_TOGETHER = 40_000, 1_000
"""Strategies of a single op, and of several: where there are more with three loops, those with fewer are looked at, and
at last those with one over an axis of what is stored."""
KEPT = 16
"""Choices that are remembered besides the best, for who wants to see what the search tried."""
BUFFERS = ((2, 2), (3, 2), (4, 2), (2, 1), (4, 1), (1, 1))
"""(of loads, of stores), in the order in which they are tried."""


@attrs.frozen(eq=False)
class Found:
    """What the search found: the plan, its addresses and its price in cycles, and how many strategies were priced.

    `tried` are the cheapest of these with their prices, at most `KEPT`.
    """

    plan: Plan
    spm: SpmPlan
    cycles: int
    priced: int
    estimated: int
    tried: tuple[tuple[int, Choice], ...] = ()


@attrs.frozen
class _Estimate:
    """A strategy and about the least that it can take."""

    cycles: float
    strategy: Strategy


@attrs.frozen
class _Given:
    """Axes of a dimension of a stored value that are to be cut into `parts` over the mesh."""

    axes: tuple[int, ...]
    parts: int

    def is_in(self, x: Sequence[Cut], y: Sequence[Cut]) -> bool:
        return math.prod(cut.parts for cut in (*x, *y) if cut.axis in self.axes) == self.parts


def strategies(body: NestBody, most_steps: int) -> Iterator[Strategy]:
    """The strategies of a group with at most `most_steps` steps in time, not all of which can be carried out."""
    search = Search(body)
    search.most_steps = most_steps
    return search.strategies()


def find_plan(body: NestBody) -> Found:
    """The cheapest plan of a group.

    Raises:
        CompileError: no strategy can be carried out, with what the smallest slices lack.
    """
    return Search(body).required()


class Search:
    """The search for the strategy of one group: about what it finds, before it looks for it, and then what it finds."""

    def __init__(self, body: NestBody) -> None:
        self.body = body
        self.space = body.space
        self.target = body.target
        self.pricer = Pricer(body)
        self.summed = self._summed()
        self.windows = self._windows()
        self.most_steps: float = max(1.0, floor_cycles(body) / SHORTEST)
        self.thorough = False
        self.illegal: str | None = None
        self.priced = 0
        self.tried: list[tuple[int, Choice]] = []
        self._work: dict[tuple[int, Box], tuple[float, float]] = {}

    @property
    def estimate(self) -> float:
        """About the least cycles that the group takes; infinite where no ordinary strategy has room."""
        return min((estimate.cycles for estimate in self._estimates), default=math.inf)

    def below(self, limit: float) -> Found | None:
        """The cheapest plan, None where that takes `limit` cycles or more, or there is no ordinary one.

        Raises:
            CompileError: an op of the group has no kernel for a part of an axis that it combines.
        """
        return self._cheapest(limit)

    def required(self) -> Found:
        """The cheapest plan. Raises `CompileError` as `find_plan`."""
        found = self._cheapest()
        for steps, thorough in WIDER:
            if found is None and self._smallest_fits():
                self.most_steps, self.thorough = max(self.most_steps, steps), thorough
                del self._estimates
                found = self._cheapest()
        if found is None:
            body = self.body
            names = ", ".join(op.name for op in self.space.ops) or "a copy"
            results = ", ".join(str(list(shape_of(store.x))) for store in body.stores)
            raise CompileError(
                f"no slice of {names} -> {results} fits the {self.target.spm_allocatable_bytes} bytes of SPM and the "
                f"instructions{'' if self.illegal is None else f': {self.illegal}'}",
                op=body.group,
            )
        return found

    def _smallest_fits(self) -> bool:
        """Whether the smallest slices that there are fit SPM, and the instructions."""
        part = self.space.whole
        for number, axis in enumerate(self.space.axes):
            if number not in self.windows:
                part = part.replace(number, 0, cut(axis, part_counts(axis)[-1])[0][1])
        try:
            held = self.body.needs(part).held
            room = sum(self.body.in_spm(value, held[value].extent).size_bytes for value in self.body.values)
            return room <= self.target.spm_allocatable_bytes and all(
                self._cycles(number, part) is not None for number in range(len(self.space.ops))
            )
        except CutError:  # the smallest slices are none; others may be
            return True

    def _cheapest(self, limit: float = math.inf) -> Found | None:
        best: Found | None = None
        since = 0
        for estimate in self._estimates:
            if since >= PATIENCE and (best is not None or limit < math.inf):
                break
            if estimate.cycles >= SLACK * limit:
                break
            before = self.priced
            found = self._best(estimate.strategy, limit)
            since += self.priced > before
            if found is not None:
                best, since, limit = found, 0, found.cycles
        if best is None:
            return None
        cheapest = heapq.nsmallest(KEPT, self.tried, key=lambda one: one[0])
        return attrs.evolve(best, priced=self.priced, estimated=len(self._estimates), tried=tuple(cheapest))

    # -- the strategies -------------------------------------------------------------------------------------------

    def _summed(self) -> frozenset[int]:
        """The axes that some op adds up: a cut of one over the mesh leaves sums to add up there."""
        found: set[int] = set()
        for chains, declaration in zip(self.space.chains, self.space.declarations, strict=True):
            for i, chain in enumerate(chains):
                if declaration.axes[i].kind is AxisKind.REDUCED and chain is not None:
                    found |= set(chain.axes)
        return frozenset(found)

    def _windows(self) -> frozenset[int]:
        """The axes of window positions, which stay whole."""
        found: set[int] = set()
        for chains, declaration in zip(self.space.chains, self.space.declarations, strict=True):
            for access in declaration.accesses():
                for dimension in access:
                    if isinstance(dimension, Window):
                        chain = chains[dimension.kernel]
                        found |= set() if chain is None else set(chain.axes)
        return frozenset(found)

    def strategies(self) -> Iterator[Strategy]:
        """All cuts that are looked at, not all of which can be carried out."""
        spatial = self._spatial()
        if not spatial:
            return
        stored = frozenset(axis for store in self.body.stores for axis in self.space.depends_on(store.x))
        every = frozenset(range(len(self.space.axes)))
        for most_loops, axes in ((3, every), (2, every), (1, every), (1, stored)):
            if self.thorough or self._are_few(spatial, most_loops, axes):
                break
        for x, y in spatial:
            yield from (Strategy(x, y, time) for time in self._times(x, y, most_loops, axes))

    def _are_few(
        self, spatial: Sequence[tuple[tuple[Cut, ...], tuple[Cut, ...]]], most_loops: int, axes: Collection[int]
    ) -> bool:
        """Whether strategies with such loops can all be listed, judged by those of the first cuts over the mesh."""
        most = (LISTED if len(self.space.ops) == 1 else LISTED_TOGETHER) // len(spatial)
        loops = self._times(*spatial[0], most_loops, axes)
        return sum(1 for _ in itertools.islice(loops, most + 1)) <= most

    def _spatial(self) -> list[tuple[tuple[Cut, ...], tuple[Cut, ...]]]:
        """Cuts over x and over y that use as many tiles as can be."""
        axes = [
            i for i, axis in enumerate(self.space.axes)
            if axis.kind.can_be_cut and i not in self.windows and axis.boundaries is None
        ]  # fmt: skip
        given = self._given()
        if given:
            chosen = [cuts for _, cuts in self._over(axes) if all(one.is_in(*cuts) for one in given)]
            if not chosen:
                columns, rows = self.body.mesh
                parts = [one.parts for one in given]
                raise CompileError(
                    f"sharding {parts} is given, which no cuts over {columns} by {rows} tiles have", op=self.body.group
                )
            return chosen
        found = self._over([i for i in axes if i not in self.summed])
        if 2 * max(tiles for tiles, _ in found) <= len(self.body.tiles):
            # Sums that tiles add up use more of them, but take messages.
            return list(dict.fromkeys((*self._widest(found), *self._widest(self._over(axes)))))
        return self._widest(found)

    def _widest(
        self, found: Sequence[tuple[int, tuple[tuple[Cut, ...], tuple[Cut, ...]]]]
    ) -> list[tuple[tuple[Cut, ...], tuple[Cut, ...]]]:
        """Of cuts, with the tiles that they use, those that use most."""
        most = max(tiles for tiles, _ in found)
        return [cuts for tiles, cuts in found if self.thorough or 2 * tiles > most]

    def _given(self) -> list[_Given]:
        """The numbers of parts that somebody asked for, of axes of stored values."""
        found: list[_Given] = []
        for store in self.body.stores:
            sharding, dimensions = given_sharding(store), self.space.dimensions[store.x]
            if sharding is None:
                continue
            if len(sharding) != len(dimensions) or min(sharding, default=1) < 1:
                raise CompileError(
                    f"sharding {list(sharding)} is given for a result of shape {list(shape_of(store.x))}", op=store
                )
            found += [
                _Given(() if chain is None else chain.axes, parts)
                for chain, parts in zip(dimensions, sharding, strict=True)
            ]
        return found

    def _over(self, axes: Sequence[int]) -> list[tuple[int, tuple[tuple[Cut, ...], tuple[Cut, ...]]]]:
        """Cuts of some axes over x and over y, with the tiles that they use."""
        columns, rows = self.body.mesh
        found: dict[object, tuple[int, tuple[tuple[Cut, ...], tuple[Cut, ...]]]] = {}
        for x, y in itertools.product(self._along(axes, columns), self._along(axes, rows)):
            if columns == rows and (y, x) in found:
                continue  # the same with x and y exchanged
            parts: dict[int, int] = {}
            for one in (*x, *y):
                parts[one.axis] = parts.get(one.axis, 1) * one.parts
            if all(count in self._counts(axis) for axis, count in parts.items()):
                tiles = math.prod(parts.values())
                found[x, y] = (tiles, (x, y))
        return list(found.values())

    def _along(self, axes: Sequence[int], tiles: int) -> list[tuple[Cut, ...]]:
        """Cuts over one direction of the mesh: of one axis, or of two."""
        found: list[tuple[Cut, ...]] = [()]
        for axis in axes:
            found += [(Cut(axis, count),) for count in range(2, tiles + 1) if count in self._counts(axis)]
        for a, b in itertools.permutations(axes, 2):
            if tiles % 2 == 0 and tiles > 2 and 2 in self._counts(a) and tiles // 2 in self._counts(b):
                found.append((Cut(a, 2), Cut(b, tiles // 2)))
        return found

    def _counts(self, axis: int) -> tuple[int, ...]:
        return part_counts(self.space.axes[axis])

    def _times(
        self, x: tuple[Cut, ...], y: tuple[Cut, ...], most_loops: int, axes: Collection[int]
    ) -> Iterator[tuple[Cut, ...]]:
        """Loops: trips of at most so many of these axes, in all orders."""
        options: list[list[Cut]] = []
        for number, axis in enumerate(self.space.axes):
            if number not in axes or not axis.kind.can_be_cut or number in self.windows or axis.boundaries is not None:
                continue
            parts = math.prod(c.parts for c in (*x, *y) if c.axis == number)
            own = attrs.evolve(axis, extent=cut(axis, parts)[0][1])
            options.append([Cut(number, n) for n in (part_counts(own) if self.thorough else _trips(own)) if n > 1])
        options = [cuts for cuts in options if cuts]
        for count in range(most_loops + 1):
            for some in itertools.combinations(options, count):
                for loops in itertools.product(*some):
                    if math.prod(c.parts for c in loops) <= self.most_steps:
                        yield from self._orders(loops)

    def _orders(self, loops: Sequence[Cut]) -> Iterator[tuple[Cut, ...]]:
        """The orders of loops in which sums are finished before their loop goes on."""
        inner = tuple(c for c in loops if c.axis in self.summed or self._is_again(c.axis))
        outer = [c for c in loops if c not in inner]
        yield from ((*order, *inner) for order in itertools.permutations(outer))

    def _is_again(self, axis: int) -> bool:
        return self.space.axes[axis].kind is AxisKind.BROADCAST_BACK

    # -- estimates ------------------------------------------------------------------------------------------------

    @cached_property
    def _estimates(self) -> list[_Estimate]:
        """The strategies that have room, those that promise most first."""
        found: list[_Estimate] = []
        for strategy in self.strategies():
            try:
                estimate = self._estimate(strategy)
            except CutError:
                continue
            if estimate is not None:
                found.append(estimate)
        return sorted(found, key=lambda estimate: estimate.cycles)

    def _estimate(self, strategy: Strategy) -> _Estimate | None:
        """The `estimated_cycles` of a strategy; None: no room in SPM, or no instructions."""
        part, trips = self._step(strategy)
        slices = self.body.needs(part)
        again = any(self._is_again(c.axis) for c in strategy.time)
        loads: list[Moved] = []
        stores: list[Moved] = []
        for load in self.body.loads:
            size, count, owners = self._transfer(strategy, load.y, slices.held[load.y], trips)
            times = count * (2 if again and any(self._is_again(a) for a in self.space.depends_on(load.y)) else 1)
            loads.append(Moved(load.y, size, times, owners, self._sharers(strategy, load.y)))
        for store in self.body.stores:
            size, count, owners = self._transfer(strategy, store.x, slices.held[store.x], trips)
            stores.append(Moved(store.x, size, count, owners))
        if sum(one.size for one in (*loads, *stores)) > self.target.spm_allocatable_bytes:
            return None
        ops: list[Computed] = []
        for number, op in enumerate(self.space.ops):
            own = self._cycles(number, part)
            if own is None:
                return None
            axes = frozenset(axis for found in self.space.op_dependence[number] for axis in found)
            runs = math.prod(count for axis, count in trips.items() if axis in axes)
            ops.append(Computed(*own, runs, tuple(op.operands), tuple(op.results)))
        tiles = strategy.columns * strategy.rows
        return _Estimate(estimated_cycles(self.target, tiles, loads, ops, stores), strategy)

    def _sharers(self, strategy: Strategy, value: Value) -> tuple[int, ...]:
        """For how many tiles one transfer of a value may be."""
        axes = self.space.depends_on(value)
        x, y = (all(c.axis not in axes for c in cuts) for cuts in (strategy.x, strategy.y))
        columns, rows = strategy.columns if x else 1, strategy.rows if y else 1
        return tuple({1, columns, rows, columns * rows})

    def _step(self, strategy: Strategy) -> tuple[Box, dict[int, int]]:
        """The part of the space that the first step of the first tile has, and the trips of each loop by its axis."""
        part, trips = self.space.whole, dict[int, int]()
        for number, axis in enumerate(self.space.axes):
            parts = strategy.spatial_parts(number)
            extent = cut(axis, parts)[0][1] if parts > 1 else axis.extent
            depth = strategy.loop(number)
            if depth is not None:
                count = strategy.time[depth].parts
                extent = cut(attrs.evolve(axis, extent=extent), count)[0][1]
                trips[number] = count
            part = part.replace(number, 0, extent)
        return part, trips

    def _transfer(self, strategy: Strategy, value: Value, box: Box, trips: dict[int, int]) -> tuple[int, int, int]:
        """(bytes of a slice, transfers of a tile, tiles with a slice of their own) of a value."""
        axes = self.space.depends_on(value)
        depth = max((d + 1 for d, c in enumerate(strategy.time) if c.axis in axes), default=0)
        count = math.prod(c.parts for c in strategy.time[:depth])
        owners = math.prod(c.parts for c in (*strategy.x, *strategy.y) if c.axis in axes)
        return self.body.in_spm(value, box.extent).size_bytes, count, owners

    def _cycles(self, number: int, part: Box) -> tuple[float, float] | None:
        """Cycles of NE and CT of an op for a part; None where no instructions can do it."""
        found = self._work.get((number, part))
        if found is None:
            form = form_of(self.body, number, self.body.needs(part))
            if form is None:
                return 0.0, 0.0
            axes = self.space.declarations[number].axes
            whole = all(part.axis(a)[1] == self.space.axes[a].extent for a in self._combined(number)) if axes else True
            again = any(self._is_again(a) for a in self._combined(number))
            phases = ("",) if whole else ("first", "finish") if again else ("next",)
            works = [self.pricer.kernels.compute(number, phase, form) for phase in phases]
            illegal = next((work.illegal for work in works if work.illegal is not None), None)
            if illegal is not None:
                self.illegal, found = illegal, (math.inf, math.inf)
            else:
                flat = [one for work in works for one in work.works]
                found = (
                    float(sum(one.cycles for one in flat if one.engine is Engine.NE)),
                    float(sum(one.cycles for one in flat if one.engine is Engine.CT)),
                )
            self._work[number, part] = found
        return None if math.isinf(found[0]) else found

    def _combined(self, number: int) -> tuple[int, ...]:
        declaration = self.space.declarations[number]
        chains = (self.space.chains[number][i] for i in declaration.combined)
        return tuple(axis for chain in chains if chain is not None for axis in chain.axes)

    # -- prices ---------------------------------------------------------------------------------------------------

    def _best(self, strategy: Strategy, limit: float) -> Found | None:
        """The best plan of a strategy that takes less than `limit`: first its sharing, then the buffers for it."""
        try:
            nest = Nest.of(self.body, Choice(strategy))
        except CutError:
            return None
        best: tuple[Plan, int] | None = None
        options, tried = sharings(self.body, strategy), set[object]()
        needs: dict[tuple[int, ...], int] = {}
        along: tuple[str, ...] | None = None
        for loads, stores in BUFFERS:
            for first in _starts(options) if along is None else (along,):
                priced = self._price(Choice(strategy, loads, stores, first), nest, tried, needs)
                if priced is not None and (best is None or priced[1] < best[1]):
                    best = priced
            if best is not None and along is None:
                if best[1] > HOPELESS * limit:
                    return None
                best = self._shared(best, options, nest, tried, needs)
                along = best[0].nest.choice.along
        if best is None or best[1] >= limit:
            return None
        try:
            return Found(best[0], plan_spm(best[0], self.pricer.kernels), best[1], 0, 0)
        except CutError:
            return None

    def _shared(
        self,
        best: tuple[Plan, int],
        options: Sequence[Sequence[str]],
        nest: Nest,
        tried: set[object],
        needs: dict[tuple[int, ...], int],
    ) -> tuple[Plan, int]:
        """The plan with each load shared as is best with what the others do."""
        for number, directions in enumerate(options):
            for direction in directions[1:]:
                choice = best[0].nest.choice
                along = (*choice.along[:number], direction, *choice.along[number + 1 :])
                priced = self._price(attrs.evolve(choice, along=along), nest, tried, needs)
                if priced is not None and priced[1] < best[1]:
                    best = priced
        return best

    def _price(
        self, choice: Choice, nest: Nest, tried: set[object], needs: dict[tuple[int, ...], int]
    ) -> tuple[Plan, int] | None:
        """The plan of a choice and its price; None where it does not fit, or is another one's."""
        counts = Buffering(attrs.evolve(nest, choice=choice)).counts
        if (counts, choice.along) in tried:
            return None
        tried.add((counts, choice.along))
        try:
            plan = Plan.of(self.body, choice, nest)
            if counts not in needs:  # whatever the loads share
                needs[counts] = spm_need(plan, self.pricer.kernels)
            if needs[counts] > self.target.spm_allocatable_bytes:
                return None
            self.priced += 1
            cycles = self.pricer.cycles(plan)
            self.tried.append((cycles, choice))
            return plan, cycles
        except CutError:
            return None


def sharings(body: NestBody, strategy: Strategy) -> list[list[str]]:
    """For each load the directions along which tiles read the same of it, most tiles first; the last one is none."""
    options: list[list[str]] = []
    for load in body.loads:
        axes = body.space.depends_on(load.y)
        x = strategy.columns > 1 and not any(c.axis in axes and c.parts > 1 for c in strategy.x)
        y = strategy.rows > 1 and not any(c.axis in axes and c.parts > 1 for c in strategy.y)
        options.append([*(["xy"] if x and y else []), *(["x"] if x else []), *(["y"] if y else []), ""])
    return options


def _starts(options: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Ways of sharing from which better ones are found: one direction, as many tiles as can be, and none."""
    one = tuple(next((d for d in directions if len(d) == 1), "") for directions in options)
    return list(dict.fromkeys([one, *(tuple(directions[i] for directions in options) for i in (0, -1))]))


def _trips(axis: Axis) -> list[int]:
    """Numbers of trips worth a look: the fewest of each size that is about half of the one before."""
    counts = part_counts(axis)
    found: list[int] = []
    for count in counts:
        exact = axis.extent % count == 0 and (axis.extent // count) % axis.alignment == 0
        if count == 1 or (exact and (count & (count - 1) == 0 or count <= 8)) or count & (count - 1) == 0:
            found.append(count)
    return found


def floor_cycles(body: NestBody) -> float:
    """Cycles that a group takes at least: each byte passes DDR once, and all tiles multiply at their peak."""
    target = body.target
    values = [load.y for load in body.loads] + [store.x for store in body.stores]
    moved = sum(body.in_spm(value, shape_of(value)).size_bytes for value in values)
    products = 0.0
    for op, declaration in zip(body.space.ops, body.space.declarations, strict=True):
        if isinstance(op, CONTRACTIONS):
            numerator, denominator = target.profile.ne_rate(format_of(op.operands[0]).name)
            products += work(declaration, declaration.whole) * denominator / numerator
    peak = math.prod(target.profile.ne_step) * len(body.tiles)
    return max(moved / target.profile.ddr_bytes_per_cycle, products / peak)
