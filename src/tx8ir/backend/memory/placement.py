"""Static memory allocation: offsets for buffers with known sizes and lifetimes.

A portfolio of first-fit orders usually reaches the lower bound (the largest number of bytes live at once); when none
does, a depth-first search over canonical solutions improves the best of them under a budget of nodes, after
MiniMalloc (Moffitt, ASPLOS 2023): buffers are placed in the order of their offsets, each as low as the skyline of its
lifetime lets it, with per-section lower bounds and a dominance rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import attrs

__all__ = ["Buffer", "Placement", "peak_live_bytes", "place"]


@attrs.frozen
class Buffer:
    """`size` bytes that are live in every step ``start .. end`` (both inclusive)."""

    size: int
    start: int
    end: int

    def __attrs_post_init__(self) -> None:
        if self.size < 0 or self.end < self.start:
            raise ValueError(f"a buffer needs a size >= 0 and end >= start, got {self}")

    def overlaps(self, other: Buffer) -> bool:
        """Whether both are live in some step."""
        return self.start <= other.end and other.start <= self.end


@attrs.frozen
class Placement:
    """Where the buffers went: `offsets` in their order, the bytes in use (`size`) and the lower `bound` of those."""

    offsets: tuple[int, ...]
    size: int
    bound: int

    @property
    def optimal(self) -> bool:
        """Whether the size is proven to be the least possible by the bound alone."""
        return self.size == self.bound


def peak_live_bytes(buffers: Sequence[Buffer]) -> int:
    """The largest sum of sizes live in one step: no placement is smaller."""
    return max((sum(b.size for b in buffers if b.start <= t <= b.end) for t in {b.start for b in buffers}), default=0)


def place(buffers: Sequence[Buffer], *, alignment: int = 256, max_nodes: int = 20_000) -> Placement:
    """Offsets, multiples of `alignment`, such that buffers live at the same time share no byte.

    The sizes are rounded up to `alignment` first. `max_nodes` bounds the exact search (0: heuristics only). Buffers of
    size 0 get offset 0. Deterministic.
    """
    rounded = [Buffer(-(-b.size // alignment) * alignment, b.start, b.end) for b in buffers]
    offsets = [0] * len(rounded)
    for members in _components(rounded):
        part = [rounded[i] for i in members]
        for i, offset in zip(members, _place_component(part, max_nodes), strict=True):
            offsets[i] = offset
    size = max((b.size + offset for b, offset in zip(rounded, offsets, strict=True)), default=0)
    return Placement(tuple(offsets), size, peak_live_bytes(rounded))


def _components(buffers: Sequence[Buffer]) -> Iterator[list[int]]:
    """Groups of buffers between moments that no lifetime crosses: each can be placed alone. Size 0 is left out."""
    order = sorted((i for i, b in enumerate(buffers) if b.size), key=lambda i: (buffers[i].start, i))
    group: list[int] = []
    end = -1
    for i in order:
        if group and buffers[i].start > end:
            yield group
            group = []
        group.append(i)
        end = buffers[i].end if len(group) == 1 else max(end, buffers[i].end)
    if group:
        yield group


_ORDERS: tuple[Callable[[Buffer], tuple[int, ...]], ...] = (
    lambda b: (-b.size * (b.end - b.start + 1), -b.size, b.start),
    lambda b: (-b.size, b.start - b.end, b.start),
    lambda b: (b.start - b.end, -b.size, b.start),
    lambda b: (b.start, -b.size, -b.end),
    lambda b: (-b.end, -b.size, b.start),
)
"""First-fit orders of the portfolio: by area, size, lifetime, start and end."""


def _place_component(buffers: Sequence[Buffer], max_nodes: int) -> list[int]:
    bound = peak_live_bytes(buffers)
    best: list[int] = []
    best_size = -1
    for key in _ORDERS:
        offsets = _first_fit(buffers, sorted(range(len(buffers)), key=lambda i: (*key(buffers[i]), i)))
        size = max(b.size + o for b, o in zip(buffers, offsets, strict=True))
        if best_size < 0 or size < best_size:
            best, best_size = offsets, size
        if best_size == bound:
            return best
    if max_nodes:
        improved = _Search(buffers, best_size, bound, max_nodes).run()
        if improved is not None:
            return improved
    return best


def _first_fit(buffers: Sequence[Buffer], order: Sequence[int]) -> list[int]:
    """Places buffers in `order`, each at the lowest gap among those already placed that live at the same time."""
    offsets = [-1] * len(buffers)
    for i in order:
        taken = sorted(
            (offsets[j], buffers[j].size) for j in order if offsets[j] >= 0 and buffers[i].overlaps(buffers[j])
        )
        offset = 0
        for low, size in taken:
            if offset + buffers[i].size <= low:
                break
            offset = max(offset, low + size)
        offsets[i] = offset
    return offsets


class _Search:
    """Depth-first search for a placement smaller than `best_size`, in non-decreasing order of offsets."""

    def __init__(self, buffers: Sequence[Buffer], best_size: int, bound: int, max_nodes: int) -> None:
        self.buffers = buffers
        self.best_size = best_size
        self.bound = bound
        self.nodes = max_nodes
        self.best: list[int] | None = None
        times = sorted({b.start for b in buffers})
        self.sections = [[k for k, t in enumerate(times) if b.start <= t <= b.end] for b in buffers]
        self.skyline = [0] * len(times)
        self.remaining = [0] * len(times)
        for b, sections in zip(buffers, self.sections, strict=True):
            for k in sections:
                self.remaining[k] += b.size
        self.offsets = [-1] * len(buffers)

    def run(self) -> list[int] | None:
        """The best placement found, None when none is smaller. Stops at the bound or when the nodes are spent."""
        self._descend(0, len(self.buffers))
        return self.best

    def _height(self, i: int) -> int:
        return max(self.skyline[k] for k in self.sections[i])

    def _descend(self, lowest: int, left: int) -> None:
        if left == 0:
            self.best = list(self.offsets)
            self.best_size = max(self.skyline)
            return
        self.nodes -= 1
        if self.nodes < 0 or self.best_size == self.bound:
            return
        # everything of a section that is still to come goes above its skyline, and not below the last offset
        for sky, rest in zip(self.skyline, self.remaining, strict=True):
            if rest and max(sky, lowest) + rest >= self.best_size:
                return
        heights = {i: self._height(i) for i, offset in enumerate(self.offsets) if offset < 0}
        # dominance: where another buffer still fits below, that one comes first
        ceiling = min(max(h, lowest) + self.buffers[i].size for i, h in heights.items())
        candidates = sorted((h, -self.buffers[i].size, i) for i, h in heights.items() if lowest <= h < ceiling)
        seen: set[tuple[int, int, int, int]] = set()
        for height, _, i in candidates:
            b = self.buffers[i]
            twin = (height, b.size, b.start, b.end)
            if twin in seen:
                continue
            seen.add(twin)
            self._place(i, height, left)
            if self.nodes < 0 or self.best_size == self.bound:
                return

    def _place(self, i: int, height: int, left: int) -> None:
        size, sections = self.buffers[i].size, self.sections[i]
        saved = [self.skyline[k] for k in sections]
        for k in sections:
            self.skyline[k] = height + size
            self.remaining[k] -= size
        self.offsets[i] = height
        if height + size < self.best_size:
            self._descend(height, left - 1)
        self.offsets[i] = -1
        for k, sky in zip(sections, saved, strict=True):
            self.skyline[k] = sky
            self.remaining[k] += size
