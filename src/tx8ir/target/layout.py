"""How a tensor's elements lie in memory: the dense and the channel-blocked layouts of the TX8.

A layout sees a tensor of any rank as (N, HW, C): a batch, the positions of one batch element, and the channels
(the last axis). The dense layouts (`Tensor`, `NTensor`) store the elements in row-major order. The blocked ones
(`Cx`, `NCx`) cut C into blocks of B = 128 (1-byte formats) or 64 channels and store, per batch element, Cx times
[HW, B], then [HW, C0] for the channels that are left over, padded with zeros:

    q, r = divmod(C, B)
    r == 0          Cx = q,      C0 = 0
    1 <= r <= B/2   Cx = q,      C0 = r rounded up to 4, 8, 16, 32 (, 64 for 1-byte formats)
    r >  B/2        Cx = q + 1,  C0 = 0

Each batch element of a blocked layout starts at a multiple of 256 bytes [S, P]. `Tensor` and `Cx` have one batch
(N = 1, every axis but the last is in HW); for `NTensor` and `NCx` axis 0 is the batch, unless the rank is 1.
Packed formats (i1, i4, ui4) are dense only, the first element in the low bits of its byte.

The functions that move data copy blocks through strided views, never element by element.
"""

from __future__ import annotations

import enum
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import attrs
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tx8ir.target.formats import Format

__all__ = [
    "BATCH_ALIGNMENT",
    "Blocking",
    "MemLayout",
    "address",
    "aligned_channels",
    "batch_bytes",
    "channel_blocking",
    "element_addresses",
    "element_mask",
    "flatten_shape",
    "pack",
    "size_bytes",
    "tensor_view",
    "unpack",
    "written_mask",
]

BATCH_ALIGNMENT = 256
"""Bytes to which each batch element of a blocked layout is aligned: 2048 bits [S, P]."""

_SMALLEST_TAIL = 4  # the least C0 [S]


class MemLayout(enum.StrEnum):
    """Physical layouts (`mem_layout` in the IR); the values are the IR's spellings."""

    Tensor = "Tensor"
    """Dense, no batch axis."""
    NTensor = "NTensor"
    """Dense, axis 0 is the batch."""
    Cx = "Cx"
    """Channel-blocked, no batch axis."""
    NCx = "NCx"
    """Channel-blocked, axis 0 is the batch."""

    @property
    def is_blocked(self) -> bool:
        """True for `Cx` and `NCx`, the aligned layouts."""
        return self is MemLayout.Cx or self is MemLayout.NCx

    @property
    def has_batch(self) -> bool:
        """True for `NTensor` and `NCx`, where axis 0 is the batch."""
        return self is MemLayout.NTensor or self is MemLayout.NCx

    @staticmethod
    def for_rank(rank: int, *, blocked: bool) -> MemLayout:
        """Return the layout of an activation of this rank: without a batch up to rank 2, with one from rank 3 [D]."""
        if blocked:
            return MemLayout.Cx if rank <= 2 else MemLayout.NCx
        return MemLayout.Tensor if rank <= 2 else MemLayout.NTensor


class Blocking(NamedTuple):
    """How C channels are cut: `cx` whole blocks, then a tail of `c0` channels (0: no tail), padding included."""

    cx: int
    c0: int


def channel_blocking(c: int, format: Format) -> Blocking:
    """Return how `c` channels are cut into (Cx, C0).

    Raises ValueError if `c` is negative or the format is packed (i1, i4, ui4), which has no blocked layout.
    """
    if c < 0:
        raise ValueError(f"the number of channels must not be negative, got {c}")
    block = format.block
    q, r = divmod(c, block)
    if r == 0:
        return Blocking(q, 0)
    if r > block // 2:
        return Blocking(q + 1, 0)
    return Blocking(q, max(_SMALLEST_TAIL, 1 << (r - 1).bit_length()))


def aligned_channels(c: int, format: Format) -> int:
    """Return the channels that `c` channels occupy in a blocked layout: Cx * B + C0. Errors as `channel_blocking`."""
    cx, c0 = channel_blocking(c, format)
    return cx * format.block + c0


def flatten_shape(shape: Sequence[int], layout: MemLayout | str) -> tuple[int, int, int]:
    """Return the (N, HW, C) view of a shape of any rank: N = 1 where the layout has no batch axis.

    A shape of rank 1 is one batch of one position; rank 0 is one channel. Raises ValueError on a negative extent.
    """
    extents = tuple(shape)
    if any(extent < 0 for extent in extents):
        raise ValueError(f"extents must not be negative (a layout needs a static shape), got {extents}")
    if MemLayout(layout).has_batch and len(extents) > 1:
        return extents[0], math.prod(extents[1:-1]), extents[-1]
    return 1, math.prod(extents[:-1]), extents[-1] if extents else 1


@attrs.frozen
class _Region:
    """Lanes of one batch element that lie as [blocks, HW, width]; all numbers in elements."""

    offset: int  # from the start of the batch element
    blocks: int
    width: int
    channel: int  # the first channel
    used: int  # channels per block that are elements; the other lanes are padding


@attrs.frozen
class _Geometry:
    """Where everything lies for one (shape, format, layout); numbers in elements unless named otherwise."""

    n: int
    hw: int
    c: int
    batch: int  # from one batch element to the next
    filled: int  # of those, elements and padding lanes; the rest is the gap
    size_bytes: int
    regions: tuple[_Region, ...]


@lru_cache(maxsize=4096)
def _geometry(shape: tuple[int, ...], format: Format, layout: MemLayout) -> _Geometry:
    n, hw, c = flatten_shape(shape, layout)
    if not layout.is_blocked:
        batch = hw * c
        size = (n * batch * format.bits + 7) // 8
        return _Geometry(n, hw, c, batch, batch, size, (_Region(0, 1, c, 0, c),))
    if format.is_packed:
        raise ValueError(f"{format.name} is dense only: it has no {layout} layout; widen it to i8 first")
    block = format.block
    cx, c0 = channel_blocking(c, format)
    filled = hw * (cx * block + c0)
    batch_size = -(-filled * format.bytes // BATCH_ALIGNMENT) * BATCH_ALIGNMENT
    regions: list[_Region] = []
    whole = c // block
    if whole:
        regions.append(_Region(0, whole, block, 0, block))
    if cx > whole:
        regions.append(_Region(whole * hw * block, 1, block, whole * block, c - whole * block))
    if c0:
        regions.append(_Region(cx * hw * block, 1, c0, cx * block, c - cx * block))
    return _Geometry(n, hw, c, batch_size // format.bytes, filled, n * batch_size, tuple(regions))


def size_bytes(shape: Sequence[int], format: Format, layout: MemLayout | str) -> int:
    """Return the bytes that a tensor occupies: N times `batch_bytes` when blocked, its elements when dense.

    Raises ValueError for a negative extent, an unknown layout name, or a packed format in a blocked layout.
    """
    return _geometry(tuple(shape), format, MemLayout(layout)).size_bytes


def batch_bytes(shape: Sequence[int], format: Format, layout: MemLayout | str) -> int:
    """Return the bytes from one batch element to the next: HW * aligned_C rounded up to 256 bytes when blocked.

    Without a batch axis this is the whole tensor. Raises ValueError as `size_bytes`, and for a packed format whose
    batch elements do not begin on a byte.
    """
    geometry = _geometry(tuple(shape), format, MemLayout(layout))
    bits = geometry.batch * format.bits
    if bits % 8 and geometry.n > 1:
        raise ValueError(f"a batch of {tuple(shape)} {format.name} in {layout} takes {bits} bits, not whole bytes")
    return (bits + 7) // 8


def address(index: Sequence[int], shape: Sequence[int], format: Format, layout: MemLayout | str) -> int:
    """Return the address of one element, in elements from the tensor's start.

    Raises IndexError if `index` is not inside `shape` (negative indices included), ValueError as `size_bytes`.
    """
    position, extents = tuple(index), tuple(shape)
    if len(position) != len(extents) or not all(0 <= i < e for i, e in zip(position, extents, strict=True)):
        raise IndexError(f"index {position} is not inside shape {extents}")
    geometry = _geometry(extents, format, MemLayout(layout))
    flat = 0
    for i, extent in zip(position, extents, strict=True):
        flat = flat * extent + i
    row, c = divmod(flat, geometry.c)
    n, hw = divmod(row, geometry.hw)
    if not MemLayout(layout).is_blocked:
        return flat
    block = format.block
    cx, c0 = channel_blocking(geometry.c, format)
    if c < cx * block:
        cb, lane = divmod(c, block)
        return n * geometry.batch + cb * geometry.hw * block + hw * block + lane
    return n * geometry.batch + cx * geometry.hw * block + hw * c0 + (c - cx * block)


def element_addresses(shape: Sequence[int], format: Format, layout: MemLayout | str) -> NDArray[np.int64]:
    """Return int64 [elements]: the `address` of every element, in row-major order of the tensor.

    Takes time and memory in proportion to the elements. Raises ValueError as `size_bytes`.
    """
    memory_layout = MemLayout(layout)
    geometry = _geometry(tuple(shape), format, memory_layout)
    if not memory_layout.is_blocked:
        return np.arange(geometry.n * geometry.hw * geometry.c)
    slots = np.arange(geometry.n * geometry.batch)
    found = np.empty((geometry.n, geometry.hw, geometry.c), np.int64)
    for region, block, lanes in _regions(slots, found, (), geometry):
        lanes[...] = block[..., : region.used]
    return found.reshape(-1)


def pack(
    array: NDArray[Any],
    format: Format,
    layout: MemLayout | str,
    *,
    leading: int = 0,
    out: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """Lay an array [*lead, *shape] of type `format.dtype` out in memory; its bits are stored as they are.

    The first `leading` axes are not the tensor's: one tensor is packed for each of their positions (the tiles of a
    simulator). Returns uint8 [*lead, size_bytes(shape)], padding and gaps zero.

    With `out`, uint8 [*lead, size_bytes(shape)] contiguous in its last axis, writes there and returns it: elements
    and padding lanes are written, the gaps between batch elements stay as they are.

    Raises TypeError if the array or `out` has another type; ValueError if `out` has another shape or is not
    contiguous in its last axis, if `leading` exceeds the array's rank, and as `size_bytes`.
    """
    if array.dtype != format.dtype:
        raise TypeError(f"expected an array of {format.dtype} for format {format.name}, got {array.dtype}")
    if not 0 <= leading <= array.ndim:
        raise ValueError(f"leading must be between 0 and the array's rank {array.ndim}, got {leading}")
    lead, shape = array.shape[:leading], array.shape[leading:]
    geometry = _geometry(shape, format, MemLayout(layout))
    size = geometry.size_bytes
    if out is None:
        gapless = geometry.batch == geometry.filled
        out = np.empty((*lead, size), np.uint8) if gapless else np.zeros((*lead, size), np.uint8)
    else:
        _check_bytes(out, (*lead, size), "out")
    if format.is_packed:
        out[...] = _pack_bits(array.reshape(*lead, math.prod(shape)), format.bits)
        return out
    # Unsigned integers on both sides: NumPy copies them faster than types it does not know, and bit for bit.
    source = array.view(f"u{format.bytes}").reshape(*lead, geometry.n, geometry.hw, geometry.c)
    memory = out.view(f"u{format.bytes}")
    for region, block, lanes in _regions(memory, source, lead, geometry):
        block[..., : region.used] = lanes
        block[..., region.used :] = 0
    return out


def unpack(
    data: NDArray[np.uint8],
    shape: Sequence[int],
    format: Format,
    layout: MemLayout | str,
    *,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Read a tensor of `shape` from memory.

    `data` is uint8 [*lead, size_bytes(shape)] with contiguous last axis; the result is a new array
    [*lead, *shape] of type `format.dtype`. Padding and gaps are not read.

    With `out`, a C-contiguous array of the result's shape and type in other memory than `data`, writes there and
    returns it; for formats of whole bytes.

    Raises TypeError if `data` is not uint8; ValueError if its last axis has another length or is not contiguous, if
    `out` does not fit, and as `size_bytes`.
    """
    extents = tuple(shape)
    geometry = _geometry(extents, format, MemLayout(layout))
    lead = data.shape[:-1]
    _check_bytes(data, (*lead, geometry.size_bytes), "data")
    if out is not None:
        _check_out(out, (*lead, *extents), format)
    if format.is_packed:
        return _unpack_bits(data, math.prod(extents), format).reshape((*lead, *extents))
    memory = data.view(f"u{format.bytes}")
    flat = (*lead, geometry.n, geometry.hw, geometry.c)
    result = np.empty(flat, memory.dtype) if out is None else out.view(memory.dtype).reshape(flat)
    for region, block, lanes in _regions(memory, result, lead, geometry):
        lanes[...] = block[..., : region.used]
    return result.reshape((*lead, *extents)).view(format.dtype)


def tensor_view(
    data: NDArray[np.uint8], shape: Sequence[int], format: Format, layout: MemLayout | str
) -> NDArray[Any] | None:
    """What `unpack` gives, as a view of `data`; None where the elements do not lie evenly enough for one.

    They do in the dense layouts, and in a blocked one where all channels are in one block. `data` is as for `unpack`,
    and so are the errors.
    """
    extents = tuple(shape)
    geometry = _geometry(extents, format, MemLayout(layout))
    lead = data.shape[:-1]
    _check_bytes(data, (*lead, geometry.size_bytes), "data")
    if format.is_packed or len(geometry.regions) != 1 or geometry.regions[0].blocks != 1:
        return None
    (region,) = geometry.regions
    block = _block(data.view(f"u{format.bytes}"), lead, geometry, region)
    return block[..., 0, :, : region.used].reshape((*lead, *extents)).view(format.dtype)


def written_mask(shape: Sequence[int], format: Format, layout: MemLayout | str) -> NDArray[np.bool_]:
    """Return bool [size_bytes]: True for bytes of elements and padding lanes, False in gaps between batch elements.

    Raises ValueError as `size_bytes`.
    """
    geometry = _geometry(tuple(shape), format, MemLayout(layout))
    if geometry.batch == geometry.filled:
        return np.ones(geometry.size_bytes, np.bool_)
    mask = np.zeros((geometry.n, geometry.batch * format.bytes), np.bool_)
    mask[:, : geometry.filled * format.bytes] = True
    return mask.reshape(-1)


def element_mask(shape: Sequence[int], format: Format, layout: MemLayout | str) -> NDArray[np.bool_]:
    """Return bool [size_bytes]: True for bytes of elements, False for padding lanes and gaps.

    Raises ValueError as `size_bytes`.
    """
    geometry = _geometry(tuple(shape), format, MemLayout(layout))
    if not MemLayout(layout).is_blocked:
        return np.ones(geometry.size_bytes, np.bool_)
    mask = np.zeros(geometry.size_bytes // format.bytes, np.bool_)
    marks = np.ones((geometry.n, geometry.hw, geometry.c), np.bool_)
    for region, block, lanes in _regions(mask, marks, (), geometry):
        block[..., : region.used] = lanes
    return mask.repeat(format.bytes)


def _regions(
    memory: NDArray[Any], tensor: NDArray[Any], lead: tuple[int, ...], geometry: _Geometry
) -> Iterator[tuple[_Region, NDArray[Any], NDArray[Any]]]:
    """Yield, for each region, its view [*lead, N, blocks, HW, width] of memory and [*lead, N, blocks, HW, used] of
    the tensor [*lead, N, HW, C]: the same elements in the same places, below `used`.
    """
    n, hw = geometry.n, geometry.hw
    for region in geometry.regions:
        channels = tensor[..., region.channel : region.channel + region.blocks * region.used]
        lanes = channels.reshape(*lead, n, hw, region.blocks, region.used).swapaxes(-3, -2)
        yield region, _block(memory, lead, geometry, region), lanes


def _block(memory: NDArray[Any], lead: tuple[int, ...], geometry: _Geometry, region: _Region) -> NDArray[Any]:
    """The view [*lead, N, blocks, HW, width] of a region of memory."""
    batches = memory.reshape(*lead, geometry.n, geometry.batch)
    length = region.blocks * geometry.hw * region.width
    lanes = batches[..., region.offset : region.offset + length]
    return lanes.reshape(*lead, geometry.n, region.blocks, geometry.hw, region.width)


def _check_bytes(data: NDArray[np.uint8], expected: tuple[int, ...], name: str) -> None:
    if data.dtype != np.uint8:
        raise TypeError(f"{name} must be uint8, got {data.dtype}")
    if data.shape != expected:
        raise ValueError(f"{name} must have shape {expected} for this shape, format and layout, got {data.shape}")
    if data.size > 1 and expected[-1] > 1 and data.strides[-1] != 1:
        raise ValueError(f"{name} must be contiguous in its last axis, got strides {data.strides}")


def _check_out(out: NDArray[Any], shape: tuple[int, ...], format: Format) -> None:
    if out.shape != shape or out.dtype != format.dtype or format.is_packed or not out.flags.c_contiguous:
        raise ValueError(
            f"out must be a C-contiguous array of {format.dtype} with shape {shape} and a format of whole bytes, "
            f"got {out.dtype} with shape {out.shape} for {format.name}"
        )


def _pack_bits(values: NDArray[Any], bits: int) -> NDArray[np.uint8]:
    """[..., count] of a packed format to [..., ceil(count * bits / 8)], first element in the low bits."""
    if bits == 1:
        return np.packbits(values, axis=-1, bitorder="little")
    nibbles = values.view(np.uint8) & np.uint8(0x0F)
    packed = nibbles[..., 0::2].copy()
    packed[..., : values.shape[-1] // 2] |= nibbles[..., 1::2] << np.uint8(4)
    return packed


def _unpack_bits(data: NDArray[np.uint8], count: int, format: Format) -> NDArray[Any]:
    """[..., ceil(count * bits / 8)] bytes to [..., count] elements of a packed format."""
    if format.is_bool:
        return np.unpackbits(data, axis=-1, count=count, bitorder="little").view(np.bool_)
    nibbles = np.empty((*data.shape[:-1], data.shape[-1] * 2), np.int8)
    nibbles[..., 0::2] = data & 0x0F
    nibbles[..., 1::2] = data >> 4
    if format.is_signed:
        nibbles = (nibbles ^ 8) - 8
    return nibbles[..., :count].astype(format.dtype)
