"""The TX8 chip as data: grid, memories, limits, engines, and the figures that time is computed from.

Everything is a frozen attrs class with the TX8's numbers as defaults; `TX8` is the default instance. A variant is made
with `attrs.evolve(TX8, profile=BOARD)`. Marks: [S] seed documents, [P] public vendor headers and code, [B] measured on
boards by others and published, [D] a decision of this project.
"""

from __future__ import annotations

import enum

import attrs

from tx8ir.support.screen import fitting_repr

__all__ = [
    "BOARD",
    "CYCLES_PER_SECOND",
    "DATASHEET",
    "PROFILES",
    "TX8",
    "Engine",
    "Family",
    "MemoryScope",
    "NeLimits",
    "Profile",
    "Target",
]

_MIB = 1 << 20
_GIB = 1 << 30

CYCLES_PER_SECOND = 1_000_000_000
"""One cycle is one nanosecond [B]."""


class Engine(enum.StrEnum):
    """The five engines of a tile's neural core and its DTE; each runs its own queue in order [S, P]."""

    CT = "CT"
    """CGRA vector unit."""
    NE = "NE"
    """Matrix and convolution unit."""
    RDMA = "RDMA"
    """DDR to SPM."""
    WDMA = "WDMA"
    """SPM to DDR."""
    TDMA = "TDMA"
    """SPM to SPM of the same tile."""
    DTE = "DTE"
    """SPM to the SPM of another tile, or to DDR."""
    SCALAR = "SCALAR"
    """The kernel core itself: scalar words and registers."""


class Family(enum.IntEnum):
    """Instruction families; the values are the hardware's codes [S, P]."""

    CGRA = 0
    NEUR = 1
    RDMA = 2
    WDMA = 3
    TDMA = 4
    SCALAR = 5
    DTE = 6
    CSR = 7


class MemoryScope(enum.IntEnum):
    """Where a value lives; the values are the hardware's codes [S]."""

    DDR = 0
    SPM = 1
    DDR3D = 2
    """3DDRAM."""


@attrs.frozen(kw_only=True)
class NeLimits:
    """What a conv or gemm descriptor can say: inclusive (least, largest) extents [P]."""

    __repr__ = fitting_repr

    extent: tuple[int, int] = (1, 4096)
    """N, H and W of a feature; a gemm [B, 1, M, C] has batch and M here."""
    channels: tuple[int, int] = (1, 16384)
    """Input and output channels: C of a conv, K and N of a gemm."""
    pad: tuple[int, int] = (0, 1023)
    kernel: tuple[int, int] = (1, 255)
    stride: tuple[int, int] = (1, 1023)
    dilation: tuple[int, int] = (1, 1023)


@attrs.frozen(kw_only=True)
class Profile:
    """The figures that costs are computed from, in cycles and bytes.

    The defaults are those of `DATASHEET`.
    """

    __repr__ = fitting_repr

    name: str
    ne_step: tuple[int, int, int] = (8, 16, 8)
    """(M, N, K) of the matrix product that the NE's array does in one step [S]."""
    ne_steps_per_cycle: tuple[tuple[str, int, int], ...] = (
        ("i8", 8, 1),
        ("f16", 4, 1),
        ("bf16", 4, 1),
        ("tf32", 4, 1),
        ("f32", 2, 3),
    )
    """Steps per cycle by the name of the input format, as a fraction: (name, numerator, denominator) [S]."""
    ne_efficiency: float = 1.0
    """Part of the array's peak that is sustained."""
    ne_weight_bytes_per_cycle: int = 256
    """Rate at which weights reach the array; bounds a gemm of few rows [B]."""
    ct_startup_cycles: int = 45
    """[B]"""
    ct_bytes_per_cycle: int = 128
    """64 lanes of fp16, 32 of fp32 [B]."""
    tdma_bytes_per_cycle: int = 128
    """[B]"""
    tdma_segment_cycles: int = 2
    """Per inner contiguous segment [B]."""
    dma_startup_cycles: int = 500
    """[D]"""
    ddr_bytes_per_cycle: float = 200.0
    """Of the whole chip, shared by its tiles: 200 GB/s [S, P]."""
    ddr_bank_cycles: int = 20
    """More for a transfer that starts inside a DDR bank [S]; the number is [D]."""
    dte_bytes_per_cycle: int = 128
    """Per link and direction [B]."""
    dte_first_message_cycles: int = 0
    """Software cost of a tile's first message."""
    dte_message_cycles: int = 0
    """Software cost of each later message."""
    scalar_cycles: int = 1
    """Of a scalar or CSR instruction [D]."""
    barrier_cycles: int = 200
    """[B]"""
    issue_cycles: int = 0
    """Software cost of an instruction, on the kernel core."""
    instructions_in_flight: int = 64
    """Entries of a tile's busytable: an instruction is issued when the one so many before it has ended [D]."""

    def ne_rate(self, format_name: str) -> tuple[int, int]:
        """Return the NE's steps per cycle for an input format as (numerator, denominator).

        Raises ValueError if the NE does not multiply that format.
        """
        for name, numerator, denominator in self.ne_steps_per_cycle:
            if name == format_name:
                return numerator, denominator
        known = ", ".join(name for name, _, _ in self.ne_steps_per_cycle)
        raise ValueError(f"the NE does not multiply {format_name}; expected one of {known}")


DATASHEET = Profile(name="datasheet")
"""Peak rates, what the hardware itself adds (start-up, banks, barrier), and no software cost."""

BOARD = Profile(
    name="board",
    ne_efficiency=0.88,  # [B]
    ddr_bytes_per_cycle=150.0,  # sustained [B]
    dte_first_message_cycles=13_000,  # 13 us [B]
    dte_message_cycles=1_500,  # 1.5 us [B]
    issue_cycles=1_000,  # 1 us on today's firmware [B, uncalibrated]
)
"""What boards were measured to do."""

PROFILES = {profile.name: profile for profile in (DATASHEET, BOARD)}
"""The profiles by name."""


@attrs.frozen(kw_only=True)
class Target:
    """A chip: what a compiler may assume and a simulator enforces. Sizes and addresses are in bytes."""

    __repr__ = fitting_repr

    name: str = "tx8"
    grid: tuple[int, int] = (4, 4)
    """Tiles in x and y, a mesh; tile (x, y) has id `grid[1] * x + y` [S, P]."""
    spm_bytes: int = 3 * _MIB
    """Scratchpad of one tile, from address 0 [P]."""
    spm_allocatable: tuple[int, int] = (0x10000, 0x2F0000)
    """[first, end) of what software may allocate: the first and the last 64 KiB are reserved [P]."""
    spm_banks: int = 8
    """[P]"""
    spm_bank_bytes: int = 256
    """Banks are interleaved every so many bytes [P]."""
    spm_alignment: int = 256
    """Natural alignment of a tensor and of a batch element [P]."""
    ddr_base: int = 0x2_8000_0000
    """[S, P]"""
    ddr_bytes: int = 64 * _GIB
    """[S, P]"""
    ddr_bank: int = 4096
    """[S, P]"""
    dma_levels: int = 3
    """(stride, iteration) pairs of an RDMA or WDMA descriptor's DDR side [S, P]."""
    tdma_levels: int = 3
    """(stride, iteration) pairs of a TDMA descriptor, on either side [P]."""
    dte_message_bytes: int = 8 * _MIB
    """The largest message [P]."""
    chip_links: int = 4
    """To neighbouring chips, of a mesh of up to `chip_grid` [P]."""
    chip_link_bytes_per_cycle: int = 25
    """Per link and direction: 25 GB/s [P]."""
    chip_grid: tuple[int, int] = (4, 8)
    """[P]"""
    ne: NeLimits = NeLimits()
    ne_fp_postproc: bool = True
    """Whether the NE applies bias, activation and scale to floating outputs [S]; a published board ignored them [B]."""
    profile: Profile = DATASHEET

    @property
    def tiles(self) -> int:
        """Number of tiles."""
        return self.grid[0] * self.grid[1]

    @property
    def spm_allocatable_bytes(self) -> int:
        """Bytes of one tile's scratchpad that software may allocate."""
        return self.spm_allocatable[1] - self.spm_allocatable[0]

    @property
    def ddr_end(self) -> int:
        """The address after the last byte of DDR."""
        return self.ddr_base + self.ddr_bytes

    def tile_id(self, x: int, y: int) -> int:
        """Return the id of tile (x, y). Raises ValueError if the grid has no such tile."""
        if not (0 <= x < self.grid[0] and 0 <= y < self.grid[1]):
            raise ValueError(f"no tile ({x}, {y}) in a grid of {self.grid[0]} x {self.grid[1]}")
        return self.grid[1] * x + y

    def tile_position(self, tile: int) -> tuple[int, int]:
        """Return (x, y) of a tile id. Raises ValueError if the grid has no such tile."""
        if not 0 <= tile < self.tiles:
            raise ValueError(f"no tile {tile} in a grid of {self.grid[0]} x {self.grid[1]}")
        return divmod(tile, self.grid[1])

    def in_spm(self, address: int, size: int = 1) -> bool:
        """Whether all of [address, address + size) is scratchpad."""
        return address >= 0 and address + size <= self.spm_bytes

    def in_ddr(self, address: int, size: int = 1) -> bool:
        """Whether all of [address, address + size) is DDR."""
        return address >= self.ddr_base and address + size <= self.ddr_end

    def peak_operations_per_second(self, format_name: str) -> float:
        """Return the chip's peak in operations (a multiply-add is two) per second for an NE input format.

        Raises ValueError if the NE does not multiply that format.
        """
        m, n, k = self.profile.ne_step
        numerator, denominator = self.profile.ne_rate(format_name)
        return 2.0 * m * n * k * numerator / denominator * self.tiles * CYCLES_PER_SECOND


TX8 = Target()
"""The chip this project compiles for, timed by the datasheet."""
