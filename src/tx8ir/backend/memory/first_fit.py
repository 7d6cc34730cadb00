"""First fit in several orders: what usually reaches the bound, in little time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tx8ir.backend.memory.instance import Instance

__all__ = ["first_fit", "orders_of", "place_first_fit"]


def orders_of(instance: Instance) -> Iterator[list[int]]:
    """The orders of the portfolio, one at a time: by area, end, start, size, fullest section.

    They are in the order in which they do best in the exact search.
    """
    size, first, last, totals = instance.sizes, instance.first, instance.last, instance.section_sizes
    numbers = range(len(size))
    yield sorted(numbers, key=lambda i: (-size[i] * (last[i] - first[i]), -size[i], first[i]))
    yield sorted(numbers, key=lambda i: (-last[i], -size[i], first[i]))
    yield sorted(numbers, key=lambda i: (first[i], -size[i], -last[i]))
    yield sorted(numbers, key=lambda i: (-size[i], first[i] - last[i], first[i]))
    yield sorted(numbers, key=lambda i: (-max(totals[first[i] : last[i]]), first[i] - last[i], -size[i]))


def first_fit(instance: Instance, order: Sequence[int], limit: int | None = None) -> tuple[list[int], int]:
    """Places buffers in `order`, each in the lowest gap among those already placed that are live at the same time.

    The offsets, and how many were placed: fewer than all when one would end above `limit`; its offset is the last.
    """
    sizes, alignments, overlaps = instance.sizes, instance.alignments, instance.overlaps
    offsets = [-1] * len(sizes)
    for count, i in enumerate(order):
        size, grain = sizes[i], alignments[i] - 1
        offset = 0
        for low, j in sorted([(offsets[j], j) for j in overlaps[i] if offsets[j] >= 0]):
            if offset + size <= low:
                break
            top = low + sizes[j]
            if top > offset:
                offset = (top + grain) & ~grain
        offsets[i] = offset
        if limit is not None and offset + size > limit:
            return offsets, count + 1
    return offsets, len(order)


def place_first_fit(instance: Instance) -> list[int]:
    """The offsets with the least peak among those of all orders. Stops at the bound."""
    best: list[int] = []
    peak: int | None = None
    for order in orders_of(instance):
        offsets, count = first_fit(instance, order, None if peak is None else peak - 1)
        if count == len(order):
            best, peak = offsets, instance.peak(offsets)
            if peak == instance.bound:
                break
    return best
