"""`GroupCosts`: the cycles of merged groups, asked for in three steps: a bound, an estimate, a search."""

from __future__ import annotations

import math

import attrs

from tx8ir.backend.axes import GroupSpace, declaration_of, work
from tx8ir.backend.graph import format_of, region_tiles
from tx8ir.backend.grouping.merge import merged_group
from tx8ir.backend.grouping.partition import members
from tx8ir.backend.grouping.units import Units, is_result, roots
from tx8ir.backend.memory.ddr_storage import stored_bytes
from tx8ir.backend.nest.body import CONTRACTIONS, NestBody, covers
from tx8ir.backend.nest.solutions import Solutions
from tx8ir.core import Value
from tx8ir.dialects import tx8be
from tx8ir.target import cost

__all__ = ["GroupCosts"]

EXTRA_AXES = 2
"""By how many axes the stored values of a group may differ."""
UNCOMPILED = 1e15
"""Cycles of a group that has no strategy by itself: which one says why is for later."""


@attrs.frozen
class _Traffic:
    """What a unit moves and multiplies: bytes of its constants by their ids, cycles of all matrix engines."""

    constants: dict[int, int]
    products: float


class GroupCosts:
    """Cycles of sets of units as groups, a barrier included.

    `searched` and `estimated` count what was done for that.
    """

    def __init__(self, units: Units, solutions: Solutions) -> None:
        self._units = units
        self._solutions = solutions
        self._target = solutions.target
        self._barrier = cost.barrier(self._target)
        self._known: dict[int, float] = {}
        self._steps: dict[int, int] = {}
        """0: by a bound, 1: by an estimate, 2: by a search."""
        self._traffic = [self._traffic_of(unit) for unit in units.groups]
        self._reads = [
            {root for group in unit for value in group.inputs for root in roots(value)} for unit in units.groups
        ]
        self._made = [{out for group in unit for out in group.outs} for unit in units.groups]
        self._readers = self._readers_of_values()
        self._fits = [all(covers(group) for group in unit) for unit in units.groups]
        self.searched = self.estimated = 0

    def known(self, part: int) -> float:
        """The cycles of a part, a lower bound, or about one; infinite where it is none."""
        found = self._known.get(part)
        if found is None:
            alone = part & (part - 1) == 0
            can = alone or all(self._fits[unit] for unit in members(part))
            found = self._known[part] = self._bound(part) + self._barrier if can else math.inf
            self._steps[part] = 0
        return found

    def refine(self, part: int) -> bool:
        """Estimate a part, then search its strategy; whether there was anything left to do."""
        step = self._steps.get(part, 0)
        if step == 2 or math.isinf(self.known(part)):
            return False
        groups = self._units.of_part(part)
        merged = merged_group(groups)
        alone = part & (part - 1) == 0
        if merged is None:
            self._known[part] = math.inf
            return True
        if step == 0 and not alone:
            cycles = self._estimate(merged)
            self.estimated += 1
        else:
            limit = math.inf if alone else self._apart(part)
            cycles = self._search(merged, limit)
            step = 1
            self.searched += 1
        merged.erase()
        self._known[part] = max(cycles + self._barrier, self._known[part])
        self._steps[part] = step + 1
        return True

    def alone(self) -> float:
        """The cycles of all units, each by itself."""
        return sum(self.exact(1 << unit) for unit in range(len(self._units.groups)))

    def exact(self, part: int) -> float:
        """The cycles of a part, found out if they are not known."""
        while self.refine(part):
            pass
        return self._known[part]

    def has_strategy(self, part: int) -> bool:
        """Whether a part of several units has a strategy that takes less than they do one after the other."""
        return not math.isinf(self.known(part)) and not math.isinf(self.exact(part))

    def _apart(self, part: int) -> float:
        """The cycles of the units of a part by themselves: a group that takes more is of no use."""
        return sum(self.exact(1 << unit) for unit in members(part)) - self._barrier

    def _estimate(self, merged: tx8be.GroupOp) -> float:
        if not covers(merged) or not _is_woven(NestBody.of(merged, self._target).space):
            return math.inf
        return self._solutions.estimate(merged)

    def _search(self, merged: tx8be.GroupOp, limit: float) -> float:
        if math.isinf(limit):
            solution = self._solutions.of(merged)
            return UNCOMPILED if solution is None else solution.cycles
        return self._solutions.below(merged, limit)

    # -- bounds -----------------------------------------------------------------------------------------------------

    def _bound(self, part: int) -> float:
        """A transfer has to start before and after what is computed; each byte passes DDR, each product an engine."""
        constants: dict[int, int] = {}
        read: set[Value] = set()
        made: set[Value] = set()
        products = 0.0
        for unit in members(part):
            constants |= self._traffic[unit].constants
            products += self._traffic[unit].products
            read |= self._reads[unit]
            made |= self._made[unit]
        moved = sum(constants.values())
        moved += sum(stored_bytes(value) for value in read - made)
        moved += sum(stored_bytes(value) for value in made if self._readers.get(value, 0) & ~part)
        startup = cost.dma_startup(self._target, 0)
        return 2 * startup + max(moved / self._target.profile.ddr_bytes_per_cycle, products)

    def _traffic_of(self, unit: tuple[tx8be.GroupOp, ...]) -> _Traffic:
        constants: dict[int, int] = {}
        products = 0.0
        for group in unit:
            tiles = len(region_tiles(group, self._target))
            peak = math.prod(self._target.profile.ne_step) * tiles
            for op in group.body.block:
                if isinstance(op, tx8be.LoadConstOp) and not op.bypasscodegen:
                    constants[op.id] = stored_bytes(op.y)
                elif isinstance(op, CONTRACTIONS):
                    numerator, denominator = self._target.profile.ne_rate(format_of(op.operands[0]).name)
                    declaration = declaration_of(op)
                    products += work(declaration, declaration.whole) * denominator / numerator / peak
        return _Traffic(constants, products)

    def _readers_of_values(self) -> dict[Value, int]:
        """The units that read each value, a bit more than all of them where it is a result of the program."""
        found: dict[Value, int] = {}
        beyond = 1 << len(self._units.groups)
        for unit, values in enumerate(self._reads):
            for value in values:
                found[value] = found.get(value, 0) | 1 << unit
        for made in self._made:
            for value in made:
                if is_result(value):
                    found[value] = found.get(value, 0) | beyond
        return found


def _is_woven(space: GroupSpace) -> bool:
    """Whether the stored values of a group are cut together.

    What is stored and read through a window as well is held at the hull of both, which are cut each by its own axes;
    values that share hardly an axis have little in common.
    """
    stored = [space.depends_on(value) for value in space.stores]
    direct = all(all(space.value_direct[value]) for value in space.stores)
    return len(stored) < 2 or (
        direct and len({axis for axes in stored for axis in axes}) <= EXTRA_AXES + max(map(len, stored))
    )
