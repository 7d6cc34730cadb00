"""What a run costs: cycles, stalls, bytes, by engine, tile, group and source; roofline and critical path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import ConvOp, DteArmOp, DteSendOp, GemmOp, Instruction, RowCopyOp
from tx8ir.support.screen import fitting_repr
from tx8ir.support.table import Table
from tx8ir.target.chip import CYCLES_PER_SECOND, Engine, Target

from .bounds import NO_SOURCE, GroupTime, group_of, group_times, program_time
from .clock import ENGINES, STALLS, Event, Timing
from .program import Item, TimedNode, items
from .trace import write_trace

MEMORIES: tuple[str, ...] = ("DDR", "SPM")
"""The memories of `SimReport.traffic`."""
PATHS: tuple[str, ...] = ("DDR to SPM", "SPM to DDR", "SPM to SPM", "tile to tile")
"""The memory paths of `SimReport.bytes`."""

_PATH_OF: dict[Engine, str] = dict(zip((Engine.RDMA, Engine.WDMA, Engine.TDMA, Engine.DTE), PATHS, strict=True))
_EVENTS_KEPT = 200_000
_SHOWN = 12  # rows of long tables


@attrs.frozen
class SourceRow:
    """What the instructions of one source operation, or of one group, cost.

    cycles: busy cycles of the tile that it kept busiest, summed over engines; overlap is not taken off.
    bytes: bytes moved by copies and messages, over all tiles.
    """

    __repr__ = fitting_repr

    source: str
    instructions: int
    cycles: int
    bytes: int
    busy: NDArray[np.int64] = attrs.field(eq=False, repr=False)
    """[engines, tiles] of busy cycles."""


@attrs.frozen
class Traffic:
    """Bytes that instructions read from a memory and wrote to it, over all tiles."""

    read: int
    written: int


@attrs.frozen
class PathStep:
    """One instruction of the critical path.

    index, name, source: the instruction; tiles: those that ran it like this.
    start, end: in cycles.
    cause: what it waited for last before it started, of `STALLS`: empty at the start of the program. The step before is
        the one whose end it waited for; time between that end and `start` went into issuing.
    """

    __repr__ = fitting_repr

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

    __repr__ = fitting_repr

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
        busytable), barrier, message, link. Two are not idle time: "engine busy", which instructions spent in the queue,
        and "DDR bandwidth", the part of busy cycles that went into sharing. For each engine and tile, busy and idle
        cycles add up to the end of its last instruction.
    bytes: bytes moved by copies and messages, summed over tiles, by path.
    traffic: bytes read from and written to each memory ("DDR", "SPM"), by all engines. Of a gather or scatter the rows
        count that are copied; a message is read once and written by every receiver.
    by_source: what each source operation cost, in the order of the program.
    by_group: the same by group. The instructions of a compiled program belong to the group that their source names
        ("group 3 Softmax probs" to "group 3"), those of a kernel to the kernel.
    groups: the time of each group beside its bound, in the order of the program; whole: that of the program.
    """

    instructions: int
    instructions_by_class: Mapping[str, int]
    cycles: int
    busy: NDArray[np.int64]
    stalls: NDArray[np.int64]
    bytes: Mapping[str, int]
    traffic: Mapping[str, Traffic]
    by_source: tuple[SourceRow, ...]
    by_group: tuple[SourceRow, ...]
    groups: tuple[GroupTime, ...]
    whole: GroupTime
    roofline: Roofline
    target: Target
    ends: NDArray[np.int64]
    """[engines, tiles]: the end of the last instruction of an engine."""
    items: tuple[Item, ...] = attrs.field(repr=False)
    """Every instruction once, as the clock sees it, in the order of the program."""
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
    def cycles_by_group(self) -> Mapping[str, Mapping[str, int]]:
        """For each group, the cycles that each engine worked for it on the tile where it worked most for it."""
        return {
            row.source: {e: int(cycles.max()) for e, cycles in zip(self.engines, row.busy, strict=True)}
            for row in self.by_group
        }

    @cached_property
    def stalls_by_cause(self) -> Mapping[str, int]:
        """Cycles by cause, summed over engines and tiles."""
        return {cause: int(row.sum()) for cause, row in zip(STALLS, self.stalls, strict=True)}

    @property
    def has_events(self) -> bool:
        """Whether single executions were kept: they are of programs that are not too long."""
        return self.instructions <= _EVENTS_KEPT

    @property
    def events(self) -> Sequence[Event]:
        """Every execution of an instruction, with its times. Raises ValueError for a program too long to keep them."""
        if not self.has_events:
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
        return tuple(
            PathStep(e.item.index, e.item.op.name, e.item.op.source or NO_SOURCE, e.tiles, e.start, e.done, e.cause)
            for e in self.critical_events
        )

    @cached_property
    def critical_events(self) -> tuple[Event, ...]:
        """The executions of the critical path, first to last. Raises ValueError as `critical_path` does."""
        events: list[Event] = []
        event = self._timing.last if self.events else None
        while event is not None:
            events.append(event)
            event = event.blocker
        return tuple(reversed(events))

    def trace(self, path: str | Path) -> Path:
        """Write the run as trace-event JSON, for https://ui.perfetto.dev or chrome://tracing; see `sim.timing.trace`.

        Raises ValueError for a program too long to keep single executions.
        """
        return write_trace(Path(path), self.events, self.target)

    def __repr__(self) -> str:
        return f"<SimReport: {self.tables[0].title}>"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.tables)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The report as tables."""
        engines = [
            (engine, f"{cycles:,}", f"{100 * self.utilisation[engine]:.1f} %")
            for engine, cycles in self.cycles_by_engine.items()
        ]
        used = [n for n in range(len(self.engines)) if self.busy[n].any()]
        names = tuple([self.engines[n] for n in used])
        stalls = [
            (cause, f"{int(row.sum()):,}", *(f"{int(row[n].sum()):,}" for n in used))
            for cause, row in zip(STALLS, self.stalls, strict=True)
            if row.any()
        ]
        tiles = [(str(tile), *(f"{row[name]:,}" for name in names)) for tile, row in enumerate(self.cycles_by_tile)]
        classes = [
            (name, f"{count:,}")
            for name, count in sorted(self.instructions_by_class.items(), key=lambda item: (-item[1], item[0]))
        ]
        paths = [(path, f"{count:,}") for path, count in self.bytes.items()]
        traffic = [(memory, f"{t.read:,}", f"{t.written:,}") for memory, t in self.traffic.items()]
        title = f"{self.instructions:,} instructions in {self.cycles:,} cycles ({self.microseconds:,.1f} us)"
        tables = [
            Table(title, ("engine", "busy cycles", "utilisation"), tuple(engines)),
            Table("stalls, in cycles of all tiles", ("cause", "all", *names), tuple(stalls)),
            Table("busy cycles by tile", ("tile", *names), tuple(tiles)),
            Table("instructions by class", ("class", "count"), tuple(classes)),
            Table("bytes moved", ("path", "bytes"), tuple(paths)),
            Table("bytes by memory", ("memory", "read", "written"), tuple(traffic)),
            Table("roofline", ("what", "amount"), self._roofline_rows()),
            self.bounds,
            self._costs("group", self.by_group),
        ]
        if [row.source for row in self.by_group] != [row.source for row in self.by_source]:
            tables.append(self._costs("source", self.by_source))
        if self._timing.events:
            tables.append(self._path_table())
        return tuple(tables)

    @property
    def bounds(self) -> Table:
        """The groups that take longest, and the program, beside their bounds."""
        shown = sorted(self.groups, key=lambda group: -group.cycles)[:_SHOWN]
        title = "time by group, beside its bound" + (
            f": the {len(shown)} longest of {len(self.groups)}" if len(self.groups) > _SHOWN else ""
        )
        rows = [(t.group, f"{t.cycles:,}", f"{t.bound:,}", f"{t.ratio:.2f}", t.tight) for t in (*shown, self.whole)]
        return Table(title, ("group", "cycles", "bound", "ratio", "tight bound"), tuple(rows))

    def _path_table(self) -> Table:
        """The longest instructions of the critical path, and for what the path waited."""
        path = self.critical_path
        longest = sorted(path, key=lambda step: step.start - step.end)[:_SHOWN]
        rows = [
            (f"{s.index} {s.name}", s.source, f"{s.start:,}", f"{s.end - s.start:,}", s.cause)
            for s in sorted(longest, key=lambda step: step.start)
        ]
        title = f"critical path: the {len(rows)} longest of {len(path)} instructions"
        return Table(title, ("instruction", "source", "start", "cycles", "waited for"), tuple(rows))

    def _costs(self, what: str, rows: Sequence[SourceRow]) -> Table:
        """The costliest rows, with the cycles of each engine that works for any of them."""
        used = [n for n in range(len(self.engines)) if any(row.busy[n].any() for row in rows)]
        shown = sorted(rows, key=lambda row: -row.cycles)[:_SHOWN]
        title = f"busy cycles by {what}" + (
            f": the {len(shown)} costliest of {len(rows)}" if len(rows) > _SHOWN else ""
        )
        cells = [
            (r.source, f"{r.instructions:,}", f"{r.bytes:,}", f"{r.cycles:,}", *(f"{r.busy[n].max():,}" for n in used))
            for r in shown
        ]
        return Table(title, (what, "instructions", "bytes", "all", *(self.engines[n] for n in used)), tuple(cells))

    def _roofline_rows(self) -> tuple[tuple[str, str], ...]:
        r = self.roofline
        return (
            ("operations of the NE", f"{r.operations:,}"),
            ("operations per DDR byte", f"{r.intensity:,.2f}"),
            ("attained", f"{r.attained / 1e12:,.2f} T/s"),
            (f"bound: {r.bound}", f"{min(r.peak, r.roof) / 1e12:,.2f} T/s"),
        )


def make_report(nodes: Sequence[TimedNode], target: Target) -> SimReport:
    """Time a decoded program and add up what it costs."""
    found = list(items(nodes))
    count = sum(item.times for item in found)
    timing = Timing(nodes, target, keep=count <= _EVENTS_KEPT)
    classes: dict[str, int] = {}
    moved: dict[str, int] = dict.fromkeys(PATHS, 0)
    sources: dict[str, list[int]] = {}
    traffic = {memory: [0, 0] for memory in MEMORIES}
    for item in found:
        op = item.op
        classes[op.name] = classes.get(op.name, 0) + item.times
        entry = sources.setdefault(op.source or "", [0, 0])
        entry[0] += item.times
        amount = _moved(item)
        if amount and item.engine is not None:
            moved[_PATH_OF[item.engine]] += amount
            entry[1] += amount
        _add_traffic(traffic, item)
    none = np.zeros((len(ENGINES), target.tiles), np.int64)
    rows = [_row(name or NO_SOURCE, n, amount, timing.busy.get(name, none)) for name, (n, amount) in sources.items()]
    busy = sum(timing.busy.values(), none)
    return SimReport(
        instructions=count,
        instructions_by_class=classes,
        cycles=timing.cycles,
        busy=busy,
        stalls=timing.stalls,
        bytes=moved,
        traffic={memory: Traffic(*amounts) for memory, amounts in traffic.items()},
        by_source=tuple(rows),
        by_group=_groups(rows),
        groups=group_times(found, timing.finished, target),
        whole=program_time(found, timing.cycles, target),
        roofline=_roofline(found, moved, timing.cycles, target),
        target=target,
        ends=timing.ends,
        items=tuple(found),
        timing=timing,
    )


def _row(source: str, instructions: int, nbytes: int, busy: NDArray[np.int64]) -> SourceRow:
    return SourceRow(source, instructions, int(busy.sum(axis=0).max()), nbytes, busy)


def _groups(rows: Sequence[SourceRow]) -> tuple[SourceRow, ...]:
    """The rows of sources, added up by group."""
    members: dict[str, list[SourceRow]] = {}
    for row in rows:
        members.setdefault(group_of(row.source), []).append(row)
    return tuple(
        _row(name, sum(r.instructions for r in those), sum(r.bytes for r in those), sum(r.busy for r in those))  # pyright: ignore[reportArgumentType]  # a sum of arrays
        for name, those in members.items()
    )


def _add_traffic(traffic: Mapping[str, list[int]], item: Item) -> None:
    """Add the bytes that an instruction reads and writes, over all of its tiles and trips."""
    op = item.op
    copies = len(item.tiles) * item.times
    for access in op.effects():
        if isinstance(op, DteArmOp):
            continue  # what lands there is counted where it is sent
        amount = access.total_bytes
        if isinstance(op, RowCopyOp) and access.conditional:
            amount = op.count * op.row_bytes
        traffic[access.space.value][access.writes] += amount * copies
    if isinstance(op, DteSendOp):
        receivers = sum(len(op.peers_of(position)) for position in range(len(item.tiles)))
        traffic["SPM"][True] += op.nbytes * receivers * item.times


def _moved(item: Item) -> int:
    """Bytes that an instruction copies over all of its tiles and trips."""
    if item.engine not in _PATH_OF:
        return 0
    accesses = item.op.effects()
    if not accesses or (item.engine is Engine.DTE and accesses[-1].conditional):  # an arm moves nothing itself
        return 0
    return accesses[-1].total_bytes * len(item.tiles) * item.times


def operations_of(op: Instruction) -> int:
    """Operations of the NE on one tile, a multiply-add counting as two; 0 of what other engines do."""
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
            n = operations_of(op) * len(item.tiles) * item.times
            operations += n
            seconds_at_peak += n / target.peak_operations_per_second(op.in_format)
    ddr = moved["DDR to SPM"] + moved["SPM to DDR"]
    seconds = max(cycles, 1) / CYCLES_PER_SECOND
    rate = target.profile.ddr_bytes_per_cycle * CYCLES_PER_SECOND
    peak = operations / seconds_at_peak if seconds_at_peak else 0.0
    roof = operations / ddr * rate if ddr else float("inf")
    return Roofline(operations, ddr, operations / seconds, peak, roof)
