"""Pooling that keeps where each extreme was, and its inverse."""

from __future__ import annotations

from typing import ClassVar

from tx8ir.core import attribute
from tx8ir.target.chip import Engine, Target

from .access import Access
from .instruction import FLOATS, Instruction, PerTile
from .tensors import PoolOp, aligned_access, shape4

INDEXED_POOLS = ("max", "min")


class PoolIndexOp(PoolOp, name="tx8.pool_index"):
    """`tx8.pool` of max or min that also gives the place of each result in the feature.

        index[n, y, x, c] = h*W + w   where dst[n, y, x, c] = src[n, h, w, c]

    The first such place in row-major order; with a NaN in the window, the first NaN's. Padding is never the place.
    """

    function: str = attribute(doc="max min")
    index: PerTile = attribute(doc="SPM address of the places, NCx of i32, of the shape of dst")

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        self.require_one_of("function", self.function, INDEXED_POOLS)

    def effects(self) -> tuple[Access, ...]:
        return *super().effects(), aligned_access("index", self.index, self.out_shape, "i32", writes=True)


class UnpoolOp(Instruction, name="tx8.unpool"):
    """Puts every element back to its place: `dst[n, h, w, c] = src[n, y, x, c]` for `h*W + w = index[n, y, x, c]`.

    All other elements of dst are zero. Where places repeat, the last in row-major order stays. A place outside of
    `0..H*W-1` of dst is an error of the running program.
    """

    engine: ClassVar[Engine | None] = Engine.CT

    src: PerTile = attribute(doc="SPM address of the operand, NCx")
    index: PerTile = attribute(doc="SPM address of the places, NCx of i32, of the shape of src")
    dst: PerTile = attribute(doc="SPM address of the result, NCx")
    shape: tuple[int, ...] = attribute(doc="(N, H, W, C) of src and index; N, H, W 1..4096, C 1..16384")
    extents: tuple[int, ...] = attribute(doc="(H, W) of dst, each 1..4096")
    format: str = attribute(doc="f32, f16, bf16 or tf32")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("format", self.format, FLOATS)
        self.require_shape(chip, "shape", self.shape)
        self.require_length("extents", self.extents, 2, "height, width")
        self.require_shape(chip, "shape of dst", self.out_shape)

    @property
    def out_shape(self) -> tuple[int, int, int, int]:
        """(N, H, W, C) of the result."""
        n, _, _, c = self.shape
        return n, self.extents[0], self.extents[1], c

    def effects(self) -> tuple[Access, ...]:
        shape = shape4(self.shape)
        return (
            aligned_access("src", self.src, shape, self.format),
            aligned_access("index", self.index, shape, "i32"),
            aligned_access("dst", self.dst, self.out_shape, self.format, writes=True),
        )
