"""What a run costs: cycles, stalls, bytes and utilisation, by engine, tile and source; roofline and critical path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import ConvOp, GemmOp, Instruction
from tx8ir.target.chip import CYCLES_PER_SECOND, Engine, Target

from .stream import Item, Node, items
from .timing import ENGINES, STALLS, Event, Timing
from .trace import write_trace

PATHS: tuple[str, ...] = ("DDR to SPM", "SPM to DDR", "SPM to SPM", "tile to tile")
"""The memory paths of `SimReport.bytes`."""

NO_SOURCE = "(no source)"
_PATH_OF: dict[Engine, str] = dict(zip((Engine.RDMA, Engine.WDMA, Engine.TDMA, Engine.DTE), PATHS, strict=True))
_EVENTS_KEPT = 200_000
_SHOWN = 12  # rows of long tables


@attrs.frozen
class SourceRow:
    """What the instructions of one source operation or group cost.

    cycles: busy cycles of the tile that it kept busiest, summed over engines; overlap is not taken off.
    bytes: bytes moved by copies and messages, over all tiles.
    """

    source: str
    instructions: int
    cycles: int
    bytes: int


@attrs.frozen
class PathStep:
    """One instruction of the critical path.

    index, name, source: the instruction; tiles: those that ran it like this.
    start, end: in cycles.
    cause: what it waited for last before it started, of `STALLS`: empty at the start of the program. The step before is
        the one whose end it waited for; time between that end and `start` went into issuing.
    """

    index: int
    name: str
    source: str
    tiles: tuple[int, ...]
    start: int
    end: int
    cause: str


@attrs.frozen
class Roofline:
    """Where a program stands between the matrix engine's peak and DDR's bandwidth.

    operations: of the NE, a multiply-add counting as two.
    ddr_bytes: bytes between DDR and SPM.
    attained, peak, roof: operations per second: of the run, of the chip in the formats used, and what DDR would allow
        at this intensity.
    """

    operations: int
    ddr_bytes: int
    attained: float
    peak: float
    roof: float

    @property
    def intensity(self) -> float:
        """Operations per byte of DDR."""
        return self.operations / self.ddr_bytes if self.ddr_bytes else float("inf")

    @property
    def bound(self) -> str:
        """What bounds it: "compute" or "DDR bandwidth"."""
        return "compute" if self.roof >= self.peak else "DDR bandwidth"


@attrs.frozen(eq=False)
class SimReport:
    """What a program costs on the simulated chip. It depends on the program and the target, not on data.

    instructions: instructions executed, each counted once however many tiles ran it.
    instructions_by_class: the same by instruction name ("tx8.gemm").
    cycles: from the start to the end of the last instruction, over all tiles.
    busy: [engines, tiles] of cycles that an engine worked, in the order of `engines`; a transfer that had to share DDR
        counts with the time it took.
    stalls: [causes, engines, tiles] of cycles, causes in the order of `STALLS`. What an engine stood idle for before an
        instruction: RAW, WAR, WAW (bytes in use by an earlier instruction), issue (the kernel core, or a full
        busytable), barrier, message, link. Two are no idle time: "engine busy", which instructions spent in the queue,
        and "DDR bandwidth", the part of busy cycles that went into sharing. For each engine and tile, busy and idle
        cycles add up to the end of its last instruction.
    bytes: bytes moved by copies and messages, summed over tiles, by path.
    by_source: what each source operation cost, in the order of the program.
    """

    instructions: int
    instructions_by_class: Mapping[str, int]
    cycles: int
    busy: NDArray[np.int64]
    stalls: NDArray[np.int64]
    bytes: Mapping[str, int]
    by_source: tuple[SourceRow, ...]
    roofline: Roofline
    target: Target
    ends: NDArray[np.int64]
    """[engines, tiles]: the end of the last instruction of an engine."""
    _timing: Timing = attrs.field(repr=False, alias="timing")

    engines = tuple(engine.value for engine in ENGINES)

    @property
    def microseconds(self) -> float:
        """`cycles` as time."""
        return self.cycles * 1e6 / CYCLES_PER_SECOND

    @cached_property
    def cycles_by_engine(self) -> Mapping[str, int]:
        """Cycles that each engine worked on the tile where it worked most."""
        return {engine: int(row.max()) for engine, row in zip(self.engines, self.busy, strict=True)}

    @cached_property
    def utilisation(self) -> Mapping[str, float]:
        """Part of `cycles` that each engine worked, mean over all tiles of the chip."""
        chip = max(self.cycles, 1) * self.target.tiles
        return {engine: float(row.sum() / chip) for engine, row in zip(self.engines, self.busy, strict=True)}

    @cached_property
    def cycles_by_tile(self) -> tuple[Mapping[str, int], ...]:
        """For each tile, the cycles that each of its engines worked."""
        return tuple(dict(zip(self.engines, map(int, column), strict=True)) for column in self.busy.T)

    @cached_property
    def stalls_by_cause(self) -> Mapping[str, int]:
        """Cycles by cause, summed over engines and tiles."""
        return {cause: int(row.sum()) for cause, row in zip(STALLS, self.stalls, strict=True)}

    @property
    def events(self) -> Sequence[Event]:
        """Every execution of an instruction, with its times. Raises ValueError for a program too long to keep them."""
        if not self._timing.events and self.instructions > _EVENTS_KEPT:
            raise ValueError(
                f"the program executes {self.instructions:,} instructions; single executions are kept up to "
                f"{_EVENTS_KEPT:,}"
            )
        return self._timing.events

    @cached_property
    def critical_path(self) -> tuple[PathStep, ...]:
        """The chain of instructions that the end of the program waited for, first to last.

        Raises ValueError for a program too long to keep single executions.
        """
        steps: list[PathStep] = []
        event = self._timing.last if self.events else None
        while event is not None:
            op = event.item.op
            source = op.source or NO_SOURCE
            steps.append(PathStep(event.item.index, op.name, source, event.tiles, event.start, event.done, event.cause))
            event = event.blocker
        return tuple(reversed(steps))

    def trace(self, path: str | Path) -> Path:
        """Write the run as trace-event JSON, for https://ui.perfetto.dev or chrome://tracing; see `sim.trace`.

        Raises ValueError for a program too long to keep single executions.
        """
        return write_trace(Path(path), self.events, self.target)

    def __str__(self) -> str:
        return "\n\n".join(_text_table(title, header, rows) for title, header, rows in self._tables())

    def _repr_html_(self) -> str:
        return "".join(_html_table(title, header, rows) for title, header, rows in self._tables())

    def _tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        engines = [
            [engine, f"{cycles:,}", f"{100 * self.utilisation[engine]:.1f} %"]
            for engine, cycles in self.cycles_by_engine.items()
        ]
        stalls = [
            [cause, f"{int(row.sum()):,}", *(f"{int(n):,}" for n in row.sum(axis=1))]
            for cause, row in zip(STALLS, self.stalls, strict=True)
            if row.any()
        ]
        tiles = [
            [str(tile), *(f"{cycles:,}" for cycles in row.values())] for tile, row in enumerate(self.cycles_by_tile)
        ]
        classes = [
            [name, f"{count:,}"]
            for name, count in sorted(self.instructions_by_class.items(), key=lambda item: (-item[1], item[0]))
        ]
        paths = [[path, f"{count:,}"] for path, count in self.bytes.items()]
        sources = [[r.source, f"{r.instructions:,}", f"{r.cycles:,}", f"{r.bytes:,}"] for r in self.by_source]
        title = f"{self.instructions:,} instructions in {self.cycles:,} cycles ({self.microseconds:,.1f} us)"
        tables = [
            (title, ["engine", "busy cycles", "utilisation"], engines),
            ("stalls, in cycles of all tiles", ["cause", "all", *self.engines], stalls),
            ("busy cycles by tile", ["tile", *self.engines], tiles),
            ("instructions by class", ["class", "count"], classes),
            ("bytes moved", ["path", "bytes"], paths),
            ("roofline", ["what", "amount"], self._roofline_rows()),
            ("by source", ["source", "instructions", "busy cycles", "bytes"], sources),
        ]
        if self._timing.events:
            path = self.critical_path
            rows = [
                [f"{s.index} {s.name}", s.source, f"{s.start:,}", f"{s.end - s.start:,}", s.cause]
                for s in sorted(sorted(path, key=lambda s: s.start - s.end)[:_SHOWN], key=lambda s: s.start)
            ]
            title = f"critical path: the {len(rows)} longest of {len(path)} instructions"
            tables.append((title, ["instruction", "source", "start", "cycles", "waited for"], rows))
        return tables

    def _roofline_rows(self) -> list[list[str]]:
        r = self.roofline
        return [
            ["operations of the NE", f"{r.operations:,}"],
            ["operations per DDR byte", f"{r.intensity:,.2f}"],
            ["attained", f"{r.attained / 1e12:,.2f} T/s"],
            [f"bound: {r.bound}", f"{min(r.peak, r.roof) / 1e12:,.2f} T/s"],
        ]


def make_report(nodes: Sequence[Node], target: Target) -> SimReport:
    """Time a decoded program and add up what it costs."""
    found = list(items(nodes))
    count = sum(item.times for item in found)
    timing = Timing(nodes, target, keep=count <= _EVENTS_KEPT)
    classes: dict[str, int] = {}
    moved: dict[str, int] = dict.fromkeys(PATHS, 0)
    sources: dict[str, list[int]] = {}
    for item in found:
        op = item.op
        classes[op.name] = classes.get(op.name, 0) + item.times
        entry = sources.setdefault(op.source or "", [0, 0])
        entry[0] += item.times
        amount = _moved(item)
        if amount and item.engine is not None:
            moved[_PATH_OF[item.engine]] += amount
            entry[1] += amount
    none = np.zeros((len(ENGINES), target.tiles), np.int64)
    rows = [
        SourceRow(name or NO_SOURCE, n, int(timing.busy.get(name, none).sum(axis=0).max()), amount)
        for name, (n, amount) in sources.items()
    ]
    busy = sum(timing.busy.values(), none)
    return SimReport(
        instructions=count,
        instructions_by_class=classes,
        cycles=timing.cycles,
        busy=busy,
        stalls=timing.stalls,
        bytes=moved,
        by_source=tuple(rows),
        roofline=_roofline(found, moved, timing.cycles, target),
        target=target,
        ends=timing.ends,
        timing=timing,
    )


def _moved(item: Item) -> int:
    """Bytes that an instruction copies over all of its tiles and trips."""
    if item.engine not in _PATH_OF:
        return 0
    accesses = item.op.effects()
    if not accesses or (item.engine is Engine.DTE and accesses[-1].conditional):  # an arm moves nothing itself
        return 0
    return accesses[-1].total_bytes * len(item.tiles) * item.times


def _operations(op: Instruction) -> int:
    if isinstance(op, GemmOp):
        return 2 * op.batch * op.m * op.k * op.n
    if isinstance(op, ConvOp):
        terms = op.kernel[0] * op.kernel[1] * (1 if op.depthwise else op.shape[3])
        return 2 * int(np.prod(op.out_shape)) * terms
    return 0


def _roofline(found: Sequence[Item], moved: Mapping[str, int], cycles: int, target: Target) -> Roofline:
    operations, seconds_at_peak = 0, 0.0
    for item in found:
        op = item.op
        if isinstance(op, (GemmOp, ConvOp)):
            n = _operations(op) * len(item.tiles) * item.times
            operations += n
            seconds_at_peak += n / target.peak_operations_per_second(op.in_format)
    ddr = moved["DDR to SPM"] + moved["SPM to DDR"]
    seconds = max(cycles, 1) / CYCLES_PER_SECOND
    rate = target.profile.ddr_bytes_per_cycle * CYCLES_PER_SECOND
    peak = operations / seconds_at_peak if seconds_at_peak else 0.0
    roof = operations / ddr * rate if ddr else float("inf")
    return Roofline(operations, ddr, operations / seconds, peak, roof)


def _text_table(title: str, header: list[str], rows: list[list[str]]) -> str:
    widths = [max(len(line[i]) for line in (header, *rows)) for i in range(len(header))]

    def line(cells: list[str]) -> str:
        padded = [cells[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(cells[1:], widths[1:], strict=True))]
        return "  " + "  ".join(padded).rstrip()

    return "\n".join([title, line(header), *map(line, rows)])


def _html_table(title: str, header: list[str], rows: list[list[str]]) -> str:
    def row(cells: list[str], tag: str) -> str:
        first = f'<{tag} style="text-align:left">{escape(cells[0])}</{tag}>'
        return first + "".join(f'<{tag} style="text-align:right">{escape(c)}</{tag}>' for c in cells[1:])

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    caption = f'<caption style="text-align:left">{escape(title)}</caption>'
    return f"<table>{caption}<thead><tr>{row(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
