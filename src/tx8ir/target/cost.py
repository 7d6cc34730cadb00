"""What instructions cost, in cycles: one function per engine, used by the compiler's search and the simulator's clock.

Each function takes a `Target` (for its `profile`) and sizes. A size is an int or an integer array, and arrays
broadcast: the result is an int if every size is one, else an int64 array. A part of a cycle counts as a whole one, and
no work costs nothing. The numbers and their sources are in `target.chip`; what an instruction waits for (its queue, a
conflict, a partner) is the caller's business.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tx8ir.target.chip import Target
    from tx8ir.target.formats import Format

__all__ = [
    "Cycles",
    "Sizes",
    "barrier",
    "ct",
    "dma",
    "ddr_stream",
    "dma_startup",
    "dte",
    "issue",
    "ne_conv",
    "ne_depthwise_conv",
    "ne_gemm",
    "tdma",
]

SizeArray: TypeAlias = NDArray[np.integer[Any]]
Sizes: TypeAlias = int | SizeArray
"""One size, or an array of them."""

Cycles: TypeAlias = NDArray[np.int64]
"""What a function returns when a size is an array."""


@overload
def ne_gemm(target: Target, m: int, k: int, n: int, format: Format, batch: int = 1) -> int: ...
@overload
def ne_gemm(target: Target, m: Sizes, k: Sizes, n: Sizes, format: Format, batch: Sizes = 1) -> int | Cycles: ...
def ne_gemm(target: Target, m: Sizes, k: Sizes, n: Sizes, format: Format, batch: Sizes = 1) -> int | Cycles:
    """Return the cycles of `batch` products [m, k] x [k, n] on one tile's NE.

        steps  = ceil(m/8) * ceil(n/16) * ceil(k/8)                   [S]
        stream = ceil(n/16) * ceil(k/8) * 16 * 8 * bytes / 256 B      [B]
        cycles = batch * max(steps / (steps per cycle * efficiency), stream)

    `format` is that of the inputs. Weights are streamed once per batch element, also where one is broadcast [D].
    Raises ValueError if the NE does not multiply `format`.
    """
    _, step_n, step_k = target.profile.ne_step
    return _whole(batch * _ne_cycles(target, m, _blocks(n, step_n) * _blocks(k, step_k), format))


@overload
def ne_conv(target: Target, positions: int, channels: int, out_channels: int, taps: int, format: Format) -> int: ...
@overload
def ne_conv(
    target: Target, positions: Sizes, channels: Sizes, out_channels: Sizes, taps: Sizes, format: Format
) -> int | Cycles: ...
def ne_conv(
    target: Target, positions: Sizes, channels: Sizes, out_channels: Sizes, taps: Sizes, format: Format
) -> int | Cycles:
    """Return the cycles of a convolution on one tile's NE: `ne_gemm` with m = positions and n = out_channels.

    `positions` is N * OH * OW of the output, `taps` KH * KW of the kernel. Each tap reads its channels 8 at a time
    (they lie together in a channel block, those of two taps do not), so ceil(k/8) is taps * ceil(channels/8) [D].
    Raises ValueError if the NE does not multiply `format`.
    """
    _, step_n, step_k = target.profile.ne_step
    weights = _blocks(out_channels, step_n) * taps * _blocks(channels, step_k)
    return _whole(_ne_cycles(target, positions, weights, format))


@overload
def ne_depthwise_conv(target: Target, positions: int, channels: int, taps: int, format: Format) -> int: ...
@overload
def ne_depthwise_conv(
    target: Target, positions: Sizes, channels: Sizes, taps: Sizes, format: Format
) -> int | Cycles: ...
def ne_depthwise_conv(target: Target, positions: Sizes, channels: Sizes, taps: Sizes, format: Format) -> int | Cycles:
    """Return the cycles of a depthwise convolution on one tile's NE; sizes as `ne_conv`.

    The 16 columns of a step are 16 channels, each of which reduces 8 of its own taps:
    steps = ceil(positions/8) * ceil(channels/16) * ceil(taps/8) [D].
    Raises ValueError if the NE does not multiply `format`.
    """
    _, step_n, step_k = target.profile.ne_step
    return _whole(_ne_cycles(target, positions, _blocks(channels, step_n) * _blocks(taps, step_k), format))


@overload
def ct(target: Target, num_bytes: int) -> int: ...
@overload
def ct(target: Target, num_bytes: SizeArray) -> Cycles: ...
def ct(target: Target, num_bytes: Sizes) -> int | Cycles:
    """Return the cycles of one CT instruction over `num_bytes` of its widest operand: 45 + bytes/128 [B]."""
    profile = target.profile
    return _whole((num_bytes > 0) * (profile.ct_startup_cycles + num_bytes / profile.ct_bytes_per_cycle))


@overload
def tdma(target: Target, num_bytes: int, segments: int = 1) -> int: ...
@overload
def tdma(target: Target, num_bytes: SizeArray, segments: Sizes = 1) -> Cycles: ...
@overload
def tdma(target: Target, num_bytes: Sizes, segments: SizeArray) -> Cycles: ...
def tdma(target: Target, num_bytes: Sizes, segments: Sizes = 1) -> int | Cycles:
    """Return the cycles of moving `num_bytes` within SPM in `segments` contiguous runs: 2 per run + bytes/128 [B]."""
    profile = target.profile
    return _whole((num_bytes > 0) * (profile.tdma_segment_cycles * segments + num_bytes / profile.tdma_bytes_per_cycle))


@overload
def dma(target: Target, num_bytes: int, ddr_address: int = 0, sharing: int | None = None) -> int: ...
@overload
def dma(target: Target, num_bytes: SizeArray, ddr_address: Sizes = 0, sharing: int | None = None) -> Cycles: ...
@overload
def dma(target: Target, num_bytes: Sizes, ddr_address: SizeArray, sharing: int | None = None) -> Cycles: ...
def dma(target: Target, num_bytes: Sizes, ddr_address: Sizes = 0, sharing: int | None = None) -> int | Cycles:
    """Return the cycles of one RDMA or WDMA transfer of `num_bytes` between DDR and one tile's SPM.

        cycles = 500 [D] + bytes / (DDR bandwidth / sharing) [S] + 20 if it starts inside a 4 KiB DDR bank [S, D]

    `sharing` is the number of tiles that share the chip's bandwidth meanwhile, by default all of them. `ddr_address`
    matters modulo the bank only. Raises ValueError if `sharing` is not between 1 and the number of tiles.
    """
    stream = ddr_stream(target, num_bytes, sharing)
    return _whole((num_bytes > 0) * (dma_startup(target, ddr_address) + stream))


def ddr_stream(target: Target, num_bytes: Sizes, sharing: int | None = None) -> Any:
    """Return the cycles, not yet whole, in which `num_bytes` pass between DDR and one tile; see `dma`."""
    tiles = target.tiles if sharing is None else sharing
    if not 1 <= tiles <= target.tiles:
        raise ValueError(f"sharing must be between 1 and the target's {target.tiles} tiles, got {sharing}")
    return num_bytes * tiles / target.profile.ddr_bytes_per_cycle


@overload
def dma_startup(target: Target, ddr_address: int) -> int: ...
@overload
def dma_startup(target: Target, ddr_address: SizeArray) -> Cycles: ...
@overload
def dma_startup(target: Target, ddr_address: Sizes) -> int | Cycles: ...
def dma_startup(target: Target, ddr_address: Sizes) -> int | Cycles:
    """Return the cycles of a transfer before its bytes flow: 500 [D], and 20 if it starts inside a DDR bank [S, D]."""
    profile = target.profile
    return _whole(profile.dma_startup_cycles + (ddr_address % target.ddr_bank > 0) * profile.ddr_bank_cycles)


@overload
def dte(target: Target, num_bytes: int, *, first: bool = False) -> int: ...
@overload
def dte(target: Target, num_bytes: SizeArray, *, first: bool = False) -> Cycles: ...
def dte(target: Target, num_bytes: Sizes, *, first: bool = False) -> int | Cycles:
    """Return the cycles of one tile-to-tile message over one link: bytes/128 and the profile's cost per message [B].

    `first` says that the tile sends no message before it, for which boards take 13 us instead of 1.5 us.
    """
    profile = target.profile
    software = profile.dte_first_message_cycles if first else profile.dte_message_cycles
    return _whole((num_bytes > 0) * (software + num_bytes / profile.dte_bytes_per_cycle))


def barrier(target: Target) -> int:
    """Return the cycles of a barrier, from the last tile's arrival: 0.2 us [B]."""
    return target.profile.barrier_cycles


@overload
def issue(target: Target, instructions: int = 1) -> int: ...
@overload
def issue(target: Target, instructions: SizeArray) -> Cycles: ...
def issue(target: Target, instructions: Sizes = 1) -> int | Cycles:
    """Return the cycles that the kernel core takes to issue instructions: 1 us each on boards [B, uncalibrated]."""
    return _whole(instructions * target.profile.issue_cycles)


def _ne_cycles(target: Target, rows: Sizes, weight_blocks: Any, format: Format) -> Any:
    """Cycles, not yet whole, of steps over `rows` for each block of weights that one step takes."""
    profile = target.profile
    step_m, step_n, step_k = profile.ne_step
    numerator, denominator = profile.ne_rate(format.name)
    array = _blocks(rows, step_m) * weight_blocks * denominator / (numerator * profile.ne_efficiency)
    block_cycles = step_n * step_k * format.bytes / profile.ne_weight_bytes_per_cycle
    stream = (rows > 0) * weight_blocks * block_cycles
    larger: Any = np.maximum if isinstance(stream, np.ndarray) else max
    return larger(array, stream)


def _blocks(extent: Any, size: int) -> Any:
    """Blocks of `size` that cover an extent."""
    return -(-extent // size)


def _whole(cycles: Any) -> Any:
    """Round up to whole cycles."""
    if isinstance(cycles, np.ndarray):
        return np.ceil(cast("NDArray[Any]", cycles)).astype(np.int64)
    return math.ceil(cycles)
