"""`SpmTensor`: the descriptor of one tensor slice in SPM, as kernels see it."""

from __future__ import annotations

import math
from functools import cached_property

import attrs

from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, aligned_channels, batch_bytes, channel_blocking, size_bytes

__all__ = ["SPM_ALIGNMENT", "Segment", "SpmTensor", "align_up"]

SPM_ALIGNMENT = 256
"""Bytes: natural alignment of a tensor and of a batch in SPM (machine.md §1)."""


def align_up(size: int, alignment: int = SPM_ALIGNMENT) -> int:
    """The least multiple of `alignment` not below `size`."""
    return -(-size // alignment) * alignment


@attrs.frozen
class Segment:
    """A run of channels whose elements lie at ``base + hw * row + (c - start)`` within a batch (in elements).

    A dense tensor has one segment, a blocked one a segment per channel block and one for the C0 tail.
    """

    start: int
    stop: int
    base: int
    row: int


@attrs.frozen(slots=False)
class SpmTensor:
    """A tensor, or the slice of one, at a byte `address` in SPM (0 while the address is not known).

    `shape` is logical; `layout` says where its elements are (machine.md §3). A slice has the layout of its own extents,
    not of the tensor it was cut from.
    """

    format: Format
    shape: tuple[int, ...]
    layout: MemLayout
    address: int = 0

    def at(self, address: int) -> SpmTensor:
        """The same tensor at another address."""
        return SpmTensor(self.format, self.shape, self.layout, address)

    def with_format(self, format: Format, address: int = 0) -> SpmTensor:
        """A tensor of the same shape and layout in another format."""
        return SpmTensor(format, self.shape, self.layout, address)

    def with_channels(self, channels: int, address: int = 0) -> SpmTensor:
        """A tensor of the same rows with another last extent."""
        return SpmTensor(self.format, (*self.shape[:-1], channels), self.layout, address)

    @cached_property
    def blocked(self) -> bool:
        """Whether the layout is channel-blocked (`Cx`, `NCx`)."""
        return self.layout.is_blocked

    @cached_property
    def channels(self) -> int:
        """The last extent (1 for a scalar)."""
        return self.shape[-1] if self.shape else 1

    @cached_property
    def lanes(self) -> int:
        """Channels including padding."""
        return aligned_channels(self.channels, self.format) if self.blocked else self.channels

    @cached_property
    def batched(self) -> bool:
        """Whether axis 0 is a batch with its own alignment."""
        return self.layout is MemLayout.NCx and len(self.shape) > 1

    @cached_property
    def batches(self) -> int:
        return self.shape[0] if self.batched else 1

    @cached_property
    def inner(self) -> tuple[int, ...]:
        """The extents between batch and channel."""
        return self.shape[1:-1] if self.batched else self.shape[:-1]

    @cached_property
    def hw(self) -> int:
        """Rows per batch."""
        return math.prod(self.inner)

    @cached_property
    def size_bytes(self) -> int:
        return size_bytes(self.shape, self.format, self.layout)

    @cached_property
    def batch_bytes(self) -> int:
        """Bytes from one batch to the next (of a tensor without batches: its size)."""
        return batch_bytes(self.shape, self.format, self.layout)

    @cached_property
    def num_elements(self) -> int:
        """Logical elements."""
        return math.prod(self.shape)

    @cached_property
    def batch_elements(self) -> int:
        """Physical elements of one batch, padding lanes included."""
        return self.hw * self.lanes

    @cached_property
    def nhwc(self) -> tuple[int, int, int, int]:
        """The four extents NE, reduce, pool and channelnorm instructions take of an aligned tensor."""
        if self.batched and len(self.shape) == 4:
            n, h, w, c = self.shape
            return n, h, w, c
        return self.batches, 1, self.hw, self.channels

    @cached_property
    def runs(self) -> tuple[tuple[int, int], ...]:
        """``(byte offset, elements)`` of the stretches without a gap: what one vector instruction may cover.

        The gap between batches is never written, so a batch ends a run when there is one.
        """
        per_batch = self.batch_elements
        if self.batches == 1 or self.batch_bytes == per_batch * self.format.bytes:
            return ((0, self.batches * per_batch),)
        return tuple((n * self.batch_bytes, per_batch) for n in range(self.batches))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The channel segments, in channel order, covering the logical channels."""
        channels = self.channels
        if not self.blocked:
            return (Segment(0, channels, 0, channels),)
        block = self.format.block
        cx, c0 = channel_blocking(channels, self.format)
        segments = [
            Segment(cb * block, min((cb + 1) * block, channels), cb * self.hw * block, block) for cb in range(cx)
        ]
        if c0:
            segments.append(Segment(cx * block, channels, cx * self.hw * block, c0))
        return tuple(segments)

    def covers_blocks(self, start: int, extent: int) -> bool:
        """Whether the slice of channels ``[start, start + extent)`` has no padding lane but those of this tensor.

        True for cuts at channel blocks, and for cuts inside one block whose extent is a full C0 tail (4, 8, 16, 32, …).
        """
        if not self.blocked:
            return True
        block, stop = self.format.block, start + extent
        at_blocks = start % block == 0 and (stop == self.channels or stop % block == 0)
        inside_one = start // block == (stop - 1) // block
        return at_blocks or (inside_one and aligned_channels(extent, self.format) == extent)

    def padded(self) -> SpmTensor:
        """The tensor whose logical channels are this one's lanes: the same bytes, without padding."""
        return self if self.lanes == self.channels else self.with_channels(self.lanes, self.address)
