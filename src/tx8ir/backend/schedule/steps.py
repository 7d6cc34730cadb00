"""Time steps of a tiled group: which slice every tile computes when, and which loads it can keep."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import attrs

from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.schedule.body import GroupBody, GroupSlice
from tx8ir.backend.schedule.tiling import Tiling, steps_per_axis, tile_boxes, time_box

__all__ = ["GroupSteps", "step_buffer"]


def step_buffer(step: int, addresses: Sequence[int]) -> int:
    """The address of a value in time step `step`: its buffers take turns."""
    return addresses[step % len(addresses)]


@attrs.frozen(slots=False)
class GroupSteps:
    """The slices of a group under a tiling: `of(tile, index)`."""

    body: GroupBody
    tiling: Tiling
    tiles: tuple[Box | None, ...]
    steps: tuple[int, ...]

    @staticmethod
    def make(body: GroupBody, tiling: Tiling, tiles: int) -> GroupSteps:
        """The steps of `body` on `tiles` tiles."""
        boxes = tuple(tile_boxes(body.shape, body.cut_alignment, tiling.sharding, tiles))
        largest = tuple(max(box.extent[a] for box in boxes if box is not None) for a in range(len(body.shape)))
        return GroupSteps(body, tiling, boxes, steps_per_axis(largest, tiling.slice))

    @property
    def count(self) -> int:
        """Time steps."""
        product = 1
        for n in self.steps:
            product *= n
        return product

    def indices(self) -> Iterator[tuple[int, ...]]:
        """The index vectors of the time steps, in order."""
        return itertools.product(*(range(n) for n in self.steps))

    def samples(self) -> list[tuple[int, ...]]:
        """Index vectors that show the largest slices: first, second, middle and last step of every axis."""
        return list(itertools.product(*(sorted({0, min(1, n - 1), n // 2, n - 1}) for n in self.steps)))

    def of(self, tile: int, index: Sequence[int]) -> GroupSlice | None:
        """What `tile` does in the step `index`; None when it does nothing.

        Raises:
            ValueError: a cut is not allowed by an op of the group (the tiling is none of the group's candidates).
        """
        box = self.tiles[tile]
        out = None if box is None else time_box(box, self.tiling.slice, index)
        if out is None:
            return None
        found = self.body.slice_for(out)
        if found is None:
            raise ValueError(f"tiling {self.tiling} cuts where an op of the group does not allow it")
        return found

    def kept(self) -> frozenset[int]:
        """Loads whose box is the same in all steps of every tile: loaded once, in the first step."""
        loads = range(len(self.body.loads))
        if self.count == 1:
            return frozenset()
        same = set(loads)
        for tile, box in enumerate(self.tiles):
            if box is None:
                continue
            slices = [s for index in self.samples() if (s := self.of(tile, index)) is not None]
            same &= {i for i in loads if all(s.boxes[i] == slices[0].boxes[i] for s in slices)}
        return frozenset(same)
