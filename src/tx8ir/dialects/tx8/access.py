"""What an instruction reads and writes, byte for byte: the walk of each operand over the memory of each tile."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence

import attrs

from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout

Shape4 = tuple[int, int, int, int]
"""(N, H, W, C)."""


class MemorySpace(enum.Enum):
    """The memories that an instruction addresses."""

    SPM = "SPM"
    """The scratch-pad of each tile; addresses count from 0."""
    DDR = "DDR"
    """The chip's memory; addresses are absolute."""


@attrs.frozen
class OperandTensor:
    """What tensor an instruction takes the bytes of an operand for: logical shape, format and layout."""

    shape: Shape4
    format: Format
    layout: MemLayout

    def __str__(self) -> str:
        return f"{self.layout.value} {'x'.join(map(str, self.shape))} {self.format.name}"


@attrs.frozen
class Access:
    """One operand's bytes in one memory, on every tile of an instruction.

    The bytes are runs of `nbytes`: one at `address + sum(i[k] * stride[k])` for all i with `0 <= i[k] < iterations[k]`.
    """

    operand: str
    """Name of the field that holds the address."""
    space: MemorySpace
    writes: bool
    """True for a destination, False for a source."""
    addresses: tuple[int, ...]
    """Address of the first byte: one for all tiles, or one per tile in the order of the instruction's `tiles`."""
    nbytes: int
    """Length of a contiguous run."""
    walk: tuple[tuple[int, int], ...] = ()
    """(iterations, stride in bytes) of each loop around the runs, outermost first; strides are not negative."""
    tensor: OperandTensor | None = None
    """Set when the instruction goes by the axes of a tensor; None when it runs over bytes or elements as they lie."""
    conditional: bool = False
    """True when data decide which of the bytes are touched: the table of a gather, the result of a masked move."""
    element: Format | None = None
    """Without a tensor, what the elements are taken for; None when the instruction moves bytes."""

    @property
    def format(self) -> Format | None:
        """The format of the elements; None when the instruction moves bytes."""
        return self.element if self.tensor is None else self.tensor.format

    @property
    def aligned(self) -> OperandTensor | None:
        """The tensor where it is channel-blocked: then padding lanes and gaps between batches are not read."""
        tensor = self.tensor
        return tensor if tensor is not None and tensor.layout.is_blocked else None

    @property
    def extent(self) -> int:
        """Bytes from the first to after the last byte of the walk."""
        return self.nbytes + sum([(iterations - 1) * stride for iterations, stride in self.walk])

    @property
    def total_bytes(self) -> int:
        """Bytes that one tile moves through this operand."""
        return self.nbytes * math.prod(iterations for iterations, _ in self.walk)

    @property
    def overlaps_itself(self) -> bool:
        """True unless the strides show that no two runs share a byte: each at least the extent of all smaller ones."""
        reach = self.nbytes
        for iterations, stride in sorted(self.walk, key=lambda level: level[1]):
            if iterations > 1:
                if stride < reach:
                    return True
                reach += (iterations - 1) * stride
        return False

    def interval(self, position: int) -> tuple[int, int]:
        """First byte and end of the bytes on the tile at `position` of the instruction's tiles (bounding interval)."""
        address = self.addresses[position if len(self.addresses) > 1 else 0]
        return address, address + self.extent


def loops(iterations: Sequence[int], strides: Sequence[int], unit: int = 1) -> tuple[tuple[int, int], ...]:
    """A walk from the parallel sequences that instructions hold; strides are in units of `unit` bytes."""
    return tuple((n, stride * unit) for n, stride in zip(iterations, strides, strict=True))
