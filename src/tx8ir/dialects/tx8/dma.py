"""The copies: RDMA and WDMA between DDR and SPM, TDMA inside SPM.

All of them move bytes as they are. Addresses and SPM strides are bytes; DDR strides count elements of `element_bytes`.
"""

from __future__ import annotations

from typing import ClassVar

from tx8ir.core import attribute
from tx8ir.target import cost
from tx8ir.target.chip import Engine, Target
from tx8ir.target.formats import Format

from .access import Access, MemorySpace, loops
from .instruction import Instruction, PerTile, spm_access
from .work import DMA_FORMULA, TDMA_FORMULA, Work, dma_work, runs

INDEX_FORMATS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")


class DmaOp(Instruction):
    """Base of RDMA and WDMA: a strided walk over DDR, outermost loop first, against dense bytes in SPM.

    `run(i)` is the `count * element_bytes` bytes at `ddr + element_bytes * sum(i[k] * strides[k])`; the runs lie one
    after the other in SPM, in the order of the loops.
    """

    spm: PerTile = attribute(doc="SPM address of the dense side, bytes")
    ddr: PerTile = attribute(doc="DDR address of the first run, bytes")
    element_bytes: int = attribute(doc="bytes of one element: 1, 2, 4 or 8")
    count: int = attribute(doc="contiguous elements of a run, at least 1")
    strides: tuple[int, ...] = attribute(
        default=(), doc="DDR strides in elements, outermost first, at most 3, each at least 0"
    )
    iterations: tuple[int, ...] = attribute(default=(), doc="trip counts, as many as strides, each at least 1")

    def verify_fields(self, chip: Target) -> None:
        self.require(
            self.element_bytes in (1, 2, 4, 8), f"element_bytes is {self.element_bytes}; expected 1, 2, 4 or 8"
        )
        self.require_range("count", self.count, 1)
        self.require_walk(chip.dma_levels, self.iterations, strides=self.strides)

    cost_formula: ClassVar[str] = DMA_FORMULA

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        return dma_work(self.effects() if accesses is None else accesses, target)

    def _sides(self, *, to_spm: bool) -> tuple[Access, Access]:
        size = self.element_bytes
        walk = loops(self.iterations, self.strides, size)
        outer = Access("ddr", MemorySpace.DDR, not to_spm, self.ddr, self.count * size, walk)
        return outer, spm_access("spm", self.spm, outer.total_bytes, writes=to_spm)


class RdmaOp(DmaOp, name="tx8.rdma"):
    """Copies from DDR to SPM: `spm[j * run_bytes :][: run_bytes] = run(i)` for the j-th index vector i of the loops."""

    engine: ClassVar[Engine | None] = Engine.RDMA

    def effects(self) -> tuple[Access, ...]:
        return self._sides(to_spm=True)


class WdmaOp(DmaOp, name="tx8.wdma"):
    """Copies from SPM to DDR: `run(i) = spm[j * run_bytes :][: run_bytes]` for the j-th index vector i of the loops."""

    engine: ClassVar[Engine | None] = Engine.WDMA

    def verify_fields(self, chip: Target) -> None:
        super().verify_fields(chip)
        outer, _ = self._sides(to_spm=False)
        self.require(
            not outer.overlaps_itself,
            f"strides {list(self.strides)} with iterations {list(self.iterations)} and count {self.count} write DDR "
            "bytes twice",
        )

    def effects(self) -> tuple[Access, ...]:
        outer, inner = self._sides(to_spm=False)
        return inner, outer


class RowCopyOp(Instruction):
    """Base of gather and scatter: rows of a table in DDR, chosen by indices, against dense rows in SPM.

    `row(r)` is the `row_bytes` bytes at `ddr + r * row_stride_bytes`. An index outside of `0..rows-1` is an error of
    the running program. Tiles race where they touch the same rows, not where they share a table.
    """

    spm: PerTile = attribute(doc="SPM address of the dense rows")
    ddr: PerTile = attribute(doc="DDR address of row 0")
    index_spm: PerTile = attribute(doc="SPM address of the indices, dense")
    index_format: str = attribute(default="i32", doc="i8 i16 i32 i64 ui8 ui16 ui32 ui64")
    row_bytes: int = attribute(doc="bytes of a row, at least 1")
    row_stride_bytes: int = attribute(doc="bytes from one row of the table to the next, at least row_bytes")
    count: int = attribute(doc="rows to copy, at least 1")
    rows: int = attribute(doc="rows of the table, at least 1")

    def verify_fields(self, chip: Target) -> None:
        self.require_one_of("index_format", self.index_format, INDEX_FORMATS)
        for field in ("row_bytes", "count", "rows"):
            self.require_range(field, getattr(self, field), 1)
        self.require_range("row_stride_bytes", self.row_stride_bytes, self.row_bytes)

    cost_formula: ClassVar[str] = DMA_FORMULA

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        return dma_work(self.effects() if accesses is None else accesses, target)

    def _indices(self) -> Access:
        return spm_access(
            "index_spm", self.index_spm, self.count * Format.named(self.index_format).bytes, format=self.index_format
        )

    def _rows(self, *, writes: bool) -> Access:
        return spm_access("spm", self.spm, self.count * self.row_bytes, writes=writes)

    def _table(self, *, writes: bool) -> Access:
        walk = ((self.rows, self.row_stride_bytes),)
        return Access("ddr", MemorySpace.DDR, writes, self.ddr, self.row_bytes, walk, conditional=True)


class RdmaGatherOp(RowCopyOp, name="tx8.rdma_gather"):
    """Copies rows of a table in DDR to SPM: `spm[i * row_bytes :][: row_bytes] = row(index[i])` for `i < count`."""

    engine: ClassVar[Engine | None] = Engine.RDMA

    def effects(self) -> tuple[Access, ...]:
        return self._table(writes=False), self._indices(), self._rows(writes=True)


class WdmaScatterOp(RowCopyOp, name="tx8.wdma_scatter"):
    """Copies rows from SPM into a table in DDR: `row(index[i]) = spm[i * row_bytes :][: row_bytes]` for `i < count`.

    Where an index repeats, the last row stays.
    """

    engine: ClassVar[Engine | None] = Engine.WDMA

    def effects(self) -> tuple[Access, ...]:
        return self._rows(writes=False), self._indices(), self._table(writes=True)


class TdmaOp(Instruction, name="tx8.tdma"):
    """Copies inside SPM along two walks: `dst(i) = src(i)` for all index vectors i of `iterations`.

    `src(i)` is the `segment_bytes` bytes at `src + sum(i[k] * src_strides[k])`, and `dst(i)` likewise. A source stride
    of 0 repeats. All bytes are read before any is written.
    """

    engine: ClassVar[Engine | None] = Engine.TDMA
    cost_formula: ClassVar[str] = TDMA_FORMULA

    src: PerTile = attribute(doc="SPM address of the first source run")
    dst: PerTile = attribute(doc="SPM address of the first destination run")
    segment_bytes: int = attribute(doc="bytes of a run, at least 1")
    src_strides: tuple[int, ...] = attribute(default=(), doc="bytes, outermost first, at most 3, each at least 0")
    dst_strides: tuple[int, ...] = attribute(default=(), doc="bytes, outermost first, at most 3, each at least 0")
    iterations: tuple[int, ...] = attribute(default=(), doc="trip counts, as many as strides, each at least 1")

    def verify_fields(self, chip: Target) -> None:
        self.require_range("segment_bytes", self.segment_bytes, 1)
        self.require_walk(chip.tdma_levels, self.iterations, src_strides=self.src_strides, dst_strides=self.dst_strides)
        self.require(
            not self.effects()[1].overlaps_itself,
            f"dst_strides {list(self.dst_strides)} with iterations {list(self.iterations)} and segments of "
            f"{self.segment_bytes} bytes write SPM bytes twice",
        )

    def work(self, target: Target, accesses: tuple[Access, ...] | None = None) -> Work:
        source = (self.effects() if accesses is None else accesses)[0]
        return Work(cost.tdma(target, source.total_bytes, runs(source)))

    def effects(self) -> tuple[Access, ...]:
        return (
            spm_access("src", self.src, self.segment_bytes, walk=loops(self.iterations, self.src_strides)),
            spm_access("dst", self.dst, self.segment_bytes, walk=loops(self.iterations, self.dst_strides), writes=True),
        )
