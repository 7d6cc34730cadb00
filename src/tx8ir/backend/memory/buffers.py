"""Buffers with known sizes and lifetimes, what is wrong with some, and the sections of time in which they are live."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

import attrs

__all__ = [
    "AlignmentError",
    "Buffer",
    "BufferTooLargeError",
    "CapacityError",
    "DuplicateBufferError",
    "LifetimeError",
    "MemoryPlanError",
    "Section",
    "SizeError",
    "align",
    "check_ids",
    "grain_of",
    "lower_bound",
    "sections_of",
]


class MemoryPlanError(ValueError):
    """Buffers that cannot be planned."""


class LifetimeError(MemoryPlanError):
    """A buffer that is live at no time."""


class SizeError(MemoryPlanError):
    """A buffer of less than no bytes."""


class AlignmentError(MemoryPlanError):
    """An alignment that is not a power of two."""


class DuplicateBufferError(MemoryPlanError):
    """Two buffers with one id."""


@attrs.frozen
class Buffer:
    """`size` bytes that are live at the times ``lower <= t < upper``, at an offset that is a multiple of `alignment`.

    Raises `LifetimeError`, `SizeError` or `AlignmentError`.
    """

    id: str
    lower: int
    upper: int
    size: int
    alignment: int = 1

    def __attrs_post_init__(self) -> None:
        if self.lower >= self.upper:
            raise LifetimeError(
                f"buffer {self.id!r} is live at no time: expected lower < upper, got {self.lower} and {self.upper}"
            )
        if self.size < 0:
            raise SizeError(f"buffer {self.id!r} has {self.size} bytes; expected 0 or more")
        if self.alignment < 1 or self.alignment & (self.alignment - 1):
            raise AlignmentError(f"buffer {self.id!r} has alignment {self.alignment}; expected a power of two")

    def overlaps(self, other: Buffer) -> bool:
        """Whether both are live at some time."""
        return self.lower < other.upper and other.lower < self.upper


class BufferTooLargeError(MemoryPlanError):
    """A buffer that is larger than the capacity by itself."""

    def __init__(self, buffer: Buffer, capacity: int) -> None:
        super().__init__(
            f"buffer {buffer.id!r} has {buffer.size} bytes, {buffer.size - capacity} more than the capacity of "
            f"{capacity}"
        )
        self.buffer = buffer
        self.capacity = capacity


_LISTED = 8  # of the live buffers, in a message


class CapacityError(MemoryPlanError):
    """Buffers that do not fit.

    missing: bytes by which the capacity is too small for the best plan that was found.
    time: the worst moment: of all times the first at which the most bytes are live.
    live: the buffers that are live then, the largest first.
    proven: whether no plan fits; otherwise the search ended before it knew.
    """

    def __init__(self, buffers: Sequence[Buffer], capacity: int, peak: int, bound: int) -> None:
        worst = max(sections_of(buffers), key=lambda section: section.size)
        self.capacity = capacity
        self.missing = peak - capacity
        self.time = worst.time
        self.live = tuple(sorted((buffers[i] for i in worst.live), key=lambda b: -b.size))
        self.proven = bound > capacity
        shown = ", ".join(f"{b.id} {b.size}" for b in self.live[:_LISTED])
        more = f" and {len(self.live) - _LISTED} more" if len(self.live) > _LISTED else ""
        reason = "no plan fits" if self.proven else f"a plan of {bound} bytes is not ruled out, but none was found"
        super().__init__(
            f"{len(buffers)} buffers need {peak} bytes, {self.missing} more than the capacity of {capacity} ({reason});"
            f" at time {worst.time} {worst.size} bytes are live: {shown}{more}"
        )


def check_ids(buffers: Sequence[Buffer]) -> None:
    """Raises `DuplicateBufferError` unless all ids differ."""
    seen: set[str] = set()
    for buffer in buffers:
        if buffer.id in seen:
            raise DuplicateBufferError(f"two buffers have the id {buffer.id!r}")
        seen.add(buffer.id)


def align(offset: int, alignment: int) -> int:
    """The least multiple of `alignment`, a power of two, that is not below `offset`."""
    return (offset + alignment - 1) & -alignment


@attrs.frozen
class Section:
    """A stretch of time that no other one outdoes: the buffers `live` in it are not all live in another one.

    time: its first moment. live: numbers of buffers. size: the sum of their sizes.
    """

    time: int
    live: tuple[int, ...]
    size: int


def sections_of(buffers: Sequence[Buffer]) -> Iterator[Section]:
    """The sections, in order of time. A buffer is live in consecutive ones, in one at least.

    A set of live buffers is maximal where, after a buffer began, the next thing that happens is that one ends.
    """
    begins = sorted(range(len(buffers)), key=lambda i: buffers[i].lower)
    ends = sorted(b.upper for b in buffers)
    live: dict[int, None] = {}
    ended = 0
    for number, i in enumerate(begins):
        time = buffers[i].lower
        if bisect_left(ends, time + 1) > ended:
            ended = bisect_left(ends, time + 1)
            live = {j: None for j in live if buffers[j].upper > time}
        live[i] = None
        following = buffers[begins[number + 1]].lower if number + 1 < len(begins) else None
        if following is None or (following > time and bisect_left(ends, following + 1) > ended):
            yield Section(time, tuple(live), sum(buffers[j].size for j in live))


def grain_of(buffers: Iterable[Buffer]) -> int:
    """The least alignment: offsets are multiples of it, and sizes as good as rounded up to it."""
    return min((b.alignment for b in buffers if b.size), default=1)


def lower_bound(buffers: Sequence[Buffer]) -> int:
    """Bytes that every plan needs: the largest sum of sizes live at one time.

    Sizes are rounded up to the least alignment of all, except for the last bytes of one of them.
    """
    grain = grain_of(buffers)
    rounded = [align(b.size, grain) for b in buffers]
    bound = 0
    for section in sections_of(buffers):
        slack = max(rounded[i] - buffers[i].size for i in section.live)
        bound = max(bound, sum(rounded[i] for i in section.live) - slack)
    return bound
