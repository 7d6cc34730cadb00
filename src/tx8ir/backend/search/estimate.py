"""The price of a tiling: does it fit SPM, and how many cycles does the group take."""

from __future__ import annotations

import attrs

from tx8ir.backend.memory.buffers import BufferTooLargeError, CapacityError
from tx8ir.backend.memory.spm_plan import place_in_spm
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.costs import InstructionCosts
from tx8ir.backend.schedule.body import GroupBody, GroupSlice
from tx8ir.backend.schedule.steps import GroupSteps
from tx8ir.backend.schedule.tiling import Tiling
from tx8ir.target import cost

__all__ = ["Candidate", "Preview", "Pricer", "pipelined_cycles"]


@attrs.frozen
class Candidate:
    """A tiling that fits: its cycles, how many buffers its moved values have, and its time steps.

    `longest` is the part of the cycles that the busiest of load, compute and store takes: what no overlap can undercut.
    """

    tiling: Tiling
    cycles: int
    buffers: int
    steps: int
    longest: int


@attrs.frozen
class Preview:
    """What is known of a sharding before it is priced: no tiling of it takes fewer cycles than `longest`, none in one
    step fewer than `total`. `may_fit` tells whether the loads and the result of a whole tile fit SPM.
    """

    sharding: tuple[int, ...]
    tile: tuple[int, ...]
    total: int
    longest: int
    may_fit: bool


@attrs.frozen
class _FormCost:
    """Of one slice on one tile: cycles of each load, of all compute ops, of the store; bytes of temporaries per op.

    `illegal` says what of it no instruction can do.
    """

    loads: tuple[int, ...]
    compute: int
    store: int
    temporaries: tuple[int, ...]
    illegal: str | None


def pipelined_cycles(load: int, compute: int, store: int, steps: int, buffers: int, startup: int = 0) -> int:
    """Cycles of `steps` equal steps of three stages on three engines.

    With one buffer the stages of a step wait for each other and for the next step's; with two the longest stage sets
    the pace (compiler.md §6). A load and a store at the same time share the bandwidth of DDR, so that together they
    take the time of both but for one `startup`, which passes before bytes flow.
    """
    one = load + compute + store
    if steps <= 1 or buffers == 1:
        return one * max(steps, 1)
    moving = load + store - startup if load and store else 0
    return one + (steps - 1) * max(load, compute, store, moving)


class Pricer:
    """Prices tilings of one group; what slices of equal form cost is computed once.

    `costs` are those of the group's target.
    """

    def __init__(self, body: GroupBody, tiles: int, costs: InstructionCosts) -> None:
        self.body = body
        self.costs = costs
        self.target = body.target
        self.tiles = tiles
        self.illegal: str | None = None
        """Why the first tiling that no instructions can do is none; None when all were only too large, or fit."""
        self._forms: dict[tuple[object, ...], _FormCost] = {}

    def preview(self, sharding: tuple[int, ...], tile: tuple[int, ...]) -> Preview | None:
        """Bounds on every tiling of a sharding into tiles of at most `tile`, from the slice of the first tile alone.

        None when an op of the group does not allow the cut.
        """
        found = self.body.slice_for(Box((0,) * len(tile), tile))
        if found is None:
            return None
        form = self._cost(found.form, found)
        stages = sum(form.loads), form.compute, form.store
        moved = {*range(len(self.body.loads)), self.body.index[self.body.stored]}
        held = sum(self.body.slice_tensor(i, found).size_bytes for i in moved if found.boxes[i] is not None)
        return Preview(sharding, tile, sum(stages), max(stages), held <= self.target.spm_allocatable_bytes)

    def price(self, tiling: Tiling, *, max_nodes: int = 0) -> list[Candidate]:
        """The candidates `tiling` gives, with one and two buffers; empty when none fits or a cut is not allowed."""
        steps = GroupSteps.make(self.body, tiling, self.tiles)
        try:
            samples = steps.samples()
            per_tile = [[steps.of(tile, index) for index in samples] for tile in range(self.tiles)]
        except ValueError:
            return []
        forms: dict[tuple[object, ...], GroupSlice] = {}
        for slices in per_tile:
            for found in slices:
                if found is not None:
                    forms.setdefault(found.form, found)
        costs = {key: self._cost(key, form) for key, form in forms.items()}
        illegal = next((c.illegal for c in costs.values() if c.illegal is not None), None)
        if illegal is not None:
            self.illegal = self.illegal or illegal
            return []
        kept = steps.kept()
        temporaries = [max(c.temporaries[k] for c in costs.values()) for k in range(len(self.body.compute))]
        candidates: list[Candidate] = []
        for buffers in (1, 2) if steps.count > 1 else (1,):
            if not self._fits(list(forms.values()), kept, buffers, temporaries, max_nodes):
                break
            cycles, longest = max(
                self._tile_cycles([costs[s.form] for s in slices if s is not None], kept, steps.count, buffers)
                for slices in per_tile
                if any(s is not None for s in slices)
            )
            candidates.append(Candidate(tiling, cycles, buffers, steps.count, longest))
        return candidates

    def _fits(
        self, forms: list[GroupSlice], kept: frozenset[int], buffers: int, temporaries: list[int], max_nodes: int
    ) -> bool:
        try:
            place_in_spm(self.body, forms, kept=kept, buffers=buffers, temporaries=temporaries, max_nodes=max_nodes)
        except (BufferTooLargeError, CapacityError):
            return False
        return True

    def _tile_cycles(self, costs: list[_FormCost], kept: frozenset[int], steps: int, buffers: int) -> tuple[int, int]:
        """Cycles of one tile, in all and of its longest stage: its costliest slice in every step, kept loads once."""
        worst = max(costs, key=lambda c: c.compute + c.store + sum(c.loads))
        moving = sum(c for i, c in enumerate(worst.loads) if i not in kept)
        once = sum(c for i, c in enumerate(worst.loads) if i in kept)
        longest = max(once + steps * moving, steps * worst.compute, steps * worst.store)
        startup = cost.dma_startup(self.target, 0)
        cycles = pipelined_cycles(moving, worst.compute, worst.store, steps, buffers, startup)
        return once + cycles, longest

    def _cost(self, key: tuple[object, ...], form: GroupSlice) -> _FormCost:
        found = self._forms.get(key)
        if found is not None:
            return found
        body = self.body
        loads = tuple(self._moved(i, form) for i in range(len(body.loads)))
        store = self._moved(body.index[body.stored], form)
        compute = 0
        illegal: str | None = None
        temporaries: list[int] = []
        for k in range(len(body.compute)):
            kernel = body.kernel(k, form)
            temporaries.append(kernel.temp_bytes)
            compute += cost.issue(self.target, len(kernel.instructions))
            for instruction in kernel.instructions:
                price = self.costs.price(instruction)
                compute += price.cycles
                illegal = illegal or price.illegal
        found = _FormCost(loads, compute, store, tuple(temporaries), illegal)
        self._forms[key] = found
        return found

    def _moved(self, position: int, form: GroupSlice) -> int:
        """Cycles of the DMA of one value."""
        box = form.boxes[position]
        if box is None:
            return 0
        return sum(cost.dma(self.target, size) for size in self.body.transfer(position, box).sizes)
