"""`plan`: offsets for buffers with known sizes and lifetimes, within a capacity."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from tx8ir.backend.memory.buffers import (
    Buffer,
    BufferTooLargeError,
    CapacityError,
    align,
    check_ids,
    grain_of,
    lower_bound,
)
from tx8ir.backend.memory.exact_search import search
from tx8ir.backend.memory.first_fit import orders_of, place_first_fit
from tx8ir.backend.memory.instance import Instance, instances_of
from tx8ir.support.screen import fitting_repr

__all__ = ["MemoryPlan", "plan"]

DEFAULT_STEPS: Final = 10_000
"""About a second for a hard instance of 300 buffers."""


@attrs.frozen
class MemoryPlan:
    """Where the buffers went: `offsets` in their order, the bytes in use (`peak`), and bytes that every plan needs.

    steps: buffers that the exact search placed; 0 when the heuristics reached the bound.
    """

    __repr__ = fitting_repr

    buffers: tuple[Buffer, ...]
    offsets: tuple[int, ...]
    peak: int
    bound: int
    steps: int

    @property
    def is_optimal(self) -> bool:
        """Whether no plan is smaller: the peak is the bound, which the search may have raised."""
        return self.peak == self.bound

    def __getitem__(self, id: str) -> int:
        """The offset of the buffer with that id. Raises KeyError."""
        for buffer, offset in zip(self.buffers, self.offsets, strict=True):
            if buffer.id == id:
                return offset
        raise KeyError(id)


def plan(
    buffers: Sequence[Buffer],
    capacity: int | None = None,
    *,
    steps: int = DEFAULT_STEPS,
    seconds: float | None = None,
) -> MemoryPlan:
    """Offsets such that buffers that are live at the same time share no byte, with as small a peak as was found.

    First fit in several orders comes first; where it does not reach the lower bound, an exact search follows. The
    result depends on the arguments alone, unless `seconds` is given. Time and memory grow with the pairs of buffers
    that are live together; nothing recurses.

    Args:
        buffers: in any order, each with an id of its own.
        capacity: bytes that there are; None for as many as it takes.
        steps: bound on the exact search, in buffers placed; 0 for heuristics only.
        seconds: of wall time, after which the search ends as well.

    Raises:
        DuplicateBufferError: two buffers have one id.
        BufferTooLargeError: a buffer is larger than the capacity.
        CapacityError: they do not fit: how much is missing, and what is live at the worst moment.
    """
    buffers = tuple(buffers)
    check_ids(buffers)
    if capacity is not None:
        for buffer in buffers:
            if buffer.size > capacity:
                raise BufferTooLargeError(buffer, capacity)
    is_over = _deadline(seconds)
    works = [_Improvement(instance) for instance in instances_of(buffers)]
    left = steps
    lower = max((work.lower for work in works), default=0)
    # The part with the highest peak is the one to improve, as long as another part does not need as much.
    while works and left > 0 and not is_over() and (capacity is None or lower <= capacity):
        highest = max(works, key=lambda work: work.peak)
        if highest.peak <= lower:
            break
        left -= highest.improve(lower, left, is_over)
        lower = max(lower, highest.lower)
    offsets = [0] * len(buffers)
    for work in works:
        for i, offset in zip(work.instance.members, work.offsets, strict=True):
            offsets[i] = offset
    peak = max((b.size + o for b, o in zip(buffers, offsets, strict=True)), default=0)
    # The search counts whole grains, of which the last one need not be full.
    slack = max((align(b.size, grain_of(buffers)) - b.size for b in buffers), default=0)
    bound = max(lower_bound(buffers), lower - slack) if slack else lower
    if capacity is not None and peak > capacity:
        raise CapacityError(buffers, capacity, peak, bound)
    return MemoryPlan(buffers, tuple(offsets), peak, bound, steps - left)


def _deadline(seconds: float | None) -> Callable[[], bool]:
    """Whether that many seconds have passed since now."""
    if seconds is None:
        return lambda: False
    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


@attrs.frozen
class _Effort:
    """How hard searches try.

    orders: of the portfolio that are tried; those after the first four seldom find what these miss.
    length: steps of one search for each buffer; 1 is the least, without a way back.
    close: of the bound: targets closer together than this are not told apart.
    """

    orders: int
    length: float
    close: float


_QUICK: Final = _Effort(orders=3, length=1.1, close=0.04)
_CAREFUL: Final = _Effort(orders=4, length=1.5, close=0.01)


class _Improvement:
    """The plan of one instance: heuristics, then searches for ever better targets, each in several orders.

    lower: no plan is smaller.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.lower = instance.bound
        self.offsets: Sequence[int] = place_first_fit(instance)
        self.peak = instance.peak(self.offsets)
        self.grain = math.gcd(*instance.sizes, *instance.alignments)
        self.round = 0
        self._left = 0
        self._is_over: Callable[[], bool] = lambda: False

    def improve(self, enough: int, steps: int, is_over: Callable[[], bool]) -> int:
        """A round of searches, each twice as long as in the round before; the steps that it took.

        A smaller peak than `enough` helps no more. The first round is a quick one, of targets that are easily reached.
        After it the least target comes first, because it prunes most: it may be reached where larger ones are missed.
        Then targets halve the distance between what was missed and the plan.
        """
        self._left, self._is_over = steps, is_over
        missed = max(enough, self.lower)
        if self.round == 0:
            for order in itertools.islice(orders_of(self.instance), _QUICK.orders):
                if self.peak > missed and self._may_search():
                    self._search(order, self.peak - self.grain, _QUICK)
            self._halve(missed - self.grain, _QUICK)
        else:
            careful = attrs.evolve(_CAREFUL, length=_CAREFUL.length * 2 ** (self.round - 1))
            if not self._reach(missed, attrs.evolve(careful, length=2 * careful.length)):
                self._halve(max(missed, self.lower - self.grain), careful)
        self.round += 1
        return steps - self._left

    def _halve(self, missed: int, effort: _Effort) -> None:
        close = max(self.grain, int(missed * effort.close))
        while self.peak - missed > close and self._may_search():
            target = missed + max(self.grain, (self.peak - missed) // 2 // self.grain * self.grain)
            if not self._reach(target, effort):
                missed = max(target, self.lower - self.grain)

    def _reach(self, target: int, effort: _Effort) -> bool:
        """Looks for a plan within `target`, in several orders in turn."""
        for order in itertools.islice(orders_of(self.instance), effort.orders):
            if self._search(order, target, effort):
                return True
            if self.lower > target or not self._may_search():
                return False
        return False

    def _search(self, order: Sequence[int], target: int, effort: _Effort) -> bool:
        """Looks for a plan within `target`; raises `lower` where there is none."""
        limit = min(int(effort.length * len(self.instance.sizes)), self._left)
        found = search(self.instance, target, order, limit, self._is_over)
        self._left -= found.steps
        if found.offsets is not None:
            self.offsets, self.peak = found.offsets, self.instance.peak(found.offsets)
        elif found.ended:
            self.lower = max(self.lower, target + self.grain)
        return found.offsets is not None

    def _may_search(self) -> bool:
        return self._left > 0 and not self._is_over()
