"""Where the slices, states and temporaries of a plan lie in the scratch-pads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Protocol

import attrs

from tx8ir.backend import memory
from tx8ir.backend.axes import GroupSlices
from tx8ir.backend.memory import Buffer
from tx8ir.backend.nest.even import check_even
from tx8ir.backend.nest.kernels import Kernels, form_of
from tx8ir.backend.nest.pipeline import Node, Repeat
from tx8ir.backend.nest.price import Plan, Unfit, sharers
from tx8ir.backend.nest.stages import Stage
from tx8ir.backend.oplib.tensor import align_up

__all__ = ["SpmPlan", "plan_spm", "spm_need"]


@attrs.frozen
class SpmPlan:
    """Addresses in SPM, the same on every tile.

    Attributes:
        values: of each of `NestBody.values` the first address and the bytes from one of its buffers to the next.
        states: of each op the address of its state; 0 without one.
        scratch: of each op the address of its temporaries; 0 without any.
        size: bytes in use.
    """

    values: tuple[tuple[int, int], ...]
    states: tuple[int, ...]
    scratch: tuple[int, ...]
    size: int

    def moved(self, distance: int) -> SpmPlan:
        """The plan with all addresses raised by `distance` bytes."""
        return SpmPlan(
            tuple((address + distance, spacing) for address, spacing in self.values),
            tuple(address + distance if address else 0 for address in self.states),
            tuple(address + distance if address else 0 for address in self.scratch),
            self.size,
        )


class Allocator(Protocol):
    """Offsets for buffers; raises `MemoryPlanError` where they do not fit a capacity."""

    def __call__(self, buffers: Sequence[Buffer], capacity: int) -> Sequence[int]: ...


def allocate(buffers: Sequence[Buffer], capacity: int) -> Sequence[int]:
    """Offsets of `buffers` in `capacity` bytes, in their order. Raises `MemoryPlanError` where they do not fit."""
    return memory.plan(buffers, capacity).offsets


def spm_need(plan: Plan, kernels: Kernels) -> int:
    """Bytes that a plan has in SPM at a time, of a tile inside of the mesh: no placement takes less."""
    return memory.lower_bound(_Needs(plan, kernels, list(_samples(plan, few=True))).buffers())


def plan_spm(plan: Plan, kernels: Kernels, allocator: Allocator = allocate) -> SpmPlan:
    """The addresses of a plan.

    Raises:
        Unfit: there is no room, with the bytes that are asked for, or trips of a loop are not alike (`check_even`).
    """
    check_even(plan, kernels)
    needs, target = _Needs(plan, kernels, list(_samples(plan, few=False))), plan.nest.body.target
    buffers = needs.buffers()
    try:
        offsets = allocator(buffers, target.spm_allocatable_bytes)
    except memory.MemoryPlanError as error:
        raise Unfit(str(error)) from error
    base = target.spm_allocatable[0]
    count, ops = len(plan.nest.body.values), len(plan.nest.body.space.ops)
    at = [base + offset if buffer.size else 0 for offset, buffer in zip(offsets, buffers, strict=True)]
    size = max(offset + buffer.size for offset, buffer in zip(offsets, buffers, strict=True))
    return SpmPlan(
        tuple(zip(at[:count], needs.sizes, strict=True)),
        tuple(at[count : count + ops]),
        tuple(at[count + ops :]),
        size,
    )


def _samples(plan: Plan, *, few: bool) -> Iterator[GroupSlices]:
    """The slices of tiles and iterations that show the largest ones: at borders, next to them, and inside."""
    nest = plan.nest
    tiles = list(nest.parts)
    trips = [[0] for _ in nest.levels]
    if any(level.edges for level in nest.levels) and not few:
        trips = [sorted({0, min(1, level.trips - 1)}) for level in nest.levels]
    elif any(level.edges for level in nest.levels):
        trips = [[min(1, level.trips - 1)] for level in nest.levels]
    if few:
        strategy = nest.choice.strategy
        tiles = [(min(1, strategy.columns - 1), min(1, strategy.rows - 1))]
    for tile, counters in itertools.product(tiles, itertools.product(*trips)):
        yield nest.slices(tile, counters)


class _Needs:
    """The buffers of a plan: of all values, then of the states, then of the temporaries of the ops."""

    def __init__(self, plan: Plan, kernels: Kernels, samples: Sequence[GroupSlices]) -> None:
        self.plan, self.kernels, self.samples = plan, kernels, samples
        self.body = plan.nest.body
        extents = [
            {s.held[value].extent for s in samples if value in s.held} for value in self.body.values
        ]  # fmt: skip
        self.sizes = [
            max((align_up(self.body.in_spm(value, extent).size_bytes) for extent in found), default=0)
            for value, found in zip(self.body.values, extents, strict=True)
        ]

    def buffers(self) -> list[Buffer]:
        """Sizes and lifetimes, in positions of the order of one iteration."""
        plan, body = self.plan, self.body
        end = len(plan.stages)
        stored = {store.x for store in body.stores}
        found: list[Buffer] = []
        for number, value in enumerate(body.values):
            depth, count = plan.buffering.depths[number], plan.buffering.counts[number]
            live = (0, end)
            if count == 1 and depth == len(plan.nest.levels) and value not in stored and number >= len(body.loads):
                live = self._positions(number)
            found.append(self._buffer(f"value {number}", self.sizes[number] * count, live))
        works = [self._works(number) for number in range(len(body.space.ops))]
        for number, (state, _) in enumerate(works):
            combined = plan.nest.combined(number)
            found.append(self._buffer(f"state {number}", state, (0, end) if combined else self._at(number)))
        found += [self._buffer(f"scratch {i}", scratch, self._at(i)) for i, (_, scratch) in enumerate(works)]
        return found

    def _buffer(self, name: str, size: int, live: tuple[int, int]) -> Buffer:
        first, last = live
        return Buffer(name, first, last + 1, size, self.body.target.spm_alignment)

    def _positions(self, number: int) -> tuple[int, int]:
        """From the stage that makes a value to the last one that reads it."""
        value, ops = self.body.values[number], self.body.space.ops
        at = [
            i
            for i, stage in enumerate(self.plan.stages)
            if stage.role == "compute" and (value in ops[stage.subject].operands or value in ops[stage.subject].results)
        ]
        return min(at), max(at)

    def _at(self, op: int) -> tuple[int, int]:
        at = [i for i, s in enumerate(self.plan.stages) if s.role in ("compute", "merge") and s.subject == op]
        return min(at), max(at)

    def _works(self, op: int) -> tuple[int, int]:
        """The largest state, with those that are received, and temporaries of an op."""
        state = scratch = 0
        forms = {form for s in self.samples if (form := form_of(self.body, op, s)) is not None}
        for stage in self.plan.stages:
            if stage.subject != op or stage.role not in ("compute", "merge"):
                continue
            for form in forms:
                if stage.role == "merge":
                    others = sharers(self.plan.nest, stage.along) - 1
                    scratch = max(scratch, self.kernels.merge(op, form, others).scratch)
                    state = max(state, (1 + others) * self.kernels.compute(op, "finish", form).state)
                    continue
                for phase in _phases(self.plan.nodes, stage):
                    work = self.kernels.compute(op, phase, form)
                    if work.illegal is not None:
                        raise Unfit(work.illegal)
                    state, scratch = max(state, work.state), max(scratch, work.scratch)
        return state, scratch


def _phases(nodes: Sequence[Node], stage: Stage) -> frozenset[str]:
    """The phases in which a stage runs."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, Repeat):
            found |= _phases(node.body, stage)
        else:
            found |= {slot.phase for slot in node.slots if slot.stage == stage}
    return frozenset(found)
