"""What the solvers see of buffers: numbers in place of ids, sections in place of times, parts that do not touch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import attrs

from tx8ir.backend.memory.buffers import Buffer, align, grain_of, sections_of

__all__ = ["Instance", "instances_of"]


@attrs.frozen(eq=False)
class Instance:
    """Buffers that have to be planned together.

    members: their numbers among all buffers. Everything else is indexed by the position in `members`.
    sizes, alignments: in bytes; sizes are multiples of the least alignment.
    first, last: buffer i is live in the sections ``first[i] <= s < last[i]``.
    sections: how many there are.
    """

    members: tuple[int, ...]
    sizes: tuple[int, ...]
    alignments: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    sections: int

    @cached_property
    def bound(self) -> int:
        """The largest sum of sizes in a section: no plan is smaller."""
        return max(self.section_sizes)

    @cached_property
    def section_sizes(self) -> tuple[int, ...]:
        """The sum of the sizes of each section."""
        totals = [0] * (self.sections + 1)
        for size, first, last in zip(self.sizes, self.first, self.last, strict=True):
            totals[first] += size
            totals[last] -= size
        for s in range(1, self.sections):
            totals[s] += totals[s - 1]
        return tuple(totals[:-1])

    @cached_property
    def overlaps(self) -> tuple[tuple[int, ...], ...]:
        """For each buffer those that are live at the same time."""
        found: list[list[int]] = [[] for _ in self.members]
        active: list[int] = []
        for i in sorted(range(len(self.members)), key=lambda i: self.first[i]):
            active = [j for j in active if self.last[j] > self.first[i]]
            for j in active:
                found[i].append(j)
                found[j].append(i)
            active.append(i)
        return tuple(map(tuple, found))

    def peak(self, offsets: Sequence[int]) -> int:
        """Bytes in use."""
        return max(offset + size for offset, size in zip(offsets, self.sizes, strict=True))


def instances_of(buffers: Sequence[Buffer]) -> Iterator[Instance]:
    """The buffers in parts between moments that no lifetime crosses, each of which can be planned alone.

    Sizes are rounded up to the least alignment of all. Buffers without bytes are left out.
    """
    used = [i for i, b in enumerate(buffers) if b.size]
    grain = grain_of(buffers)
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for number, section in enumerate(sections_of([buffers[i] for i in used])):
        for k in section.live:
            first.setdefault(k, number)
            last[k] = number + 1
    order = sorted(range(len(used)), key=lambda k: (first[k], k))

    def made(part: list[int]) -> Instance:
        start = first[part[0]]
        return Instance(
            tuple(used[k] for k in part),
            tuple(align(buffers[used[k]].size, grain) for k in part),
            tuple(buffers[used[k]].alignment for k in part),
            tuple(first[k] - start for k in part),
            tuple(last[k] - start for k in part),
            max(last[k] for k in part) - start,
        )

    part: list[int] = []
    end = 0
    for k in order:
        if part and first[k] >= end:
            yield made(part)
            part = []
        part.append(k)
        end = max(end, last[k])
    if part:
        yield made(part)
