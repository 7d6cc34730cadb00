"""The document of `tx8ir run --json` and `tx8ir compile --json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import attrs
from numpy.typing import NDArray

from tx8ir.core.schema import Natural, NonNegative
from tx8ir.reports import CompileReport, Report, RunReport
from tx8ir.sim import FlagRow, GroupTime, SimReport, SourceRow
from tx8ir.testing.chip.differential import CheckResult, OutputCheck


@attrs.frozen
class EngineData:
    """What an engine did: cycles on the tile where it worked most, and the part of the run that it worked, mean over
    all tiles.
    """

    name: str
    busy_cycles: Natural
    utilisation: NonNegative


@attrs.frozen
class CostData:
    """What the instructions of a source operation or of a group cost.

    busy_cycles: of the tile that it kept busiest, summed over engines.
    bytes: moved by copies and messages, over all tiles.
    """

    name: str
    instructions: Natural
    busy_cycles: Natural
    bytes: Natural


@attrs.frozen
class GroupTimeData:
    """The time of a group, from the end of those before it to its own end, and the least that it could take.

    tight: what the bound is: an engine, "DDR", "links", "issue" or "latency".
    """

    name: str
    cycles: Natural
    bound: Natural
    ratio: NonNegative
    tight: str

    @classmethod
    def of(cls, time: GroupTime) -> GroupTimeData:
        """The data of a time."""
        return cls(time.group, int(time.cycles), int(time.bound), time.ratio, time.tight)


@attrs.frozen
class FlagData:
    """The first instruction that gave a NaN or an infinity on a tile, or overflowed there."""

    flag: str
    tile: Natural
    index: Natural
    instruction: str
    source: str | None
    location: str


@attrs.frozen
class TrafficData:
    """Bytes read from a memory and written to it, over all tiles."""

    read: Natural
    written: Natural


@attrs.frozen
class SimulatedRunData:
    """What a simulated run cost.

    cycles: from the start to the end of the last instruction; `microseconds` is the same as time on the chip.
    seconds: wall time of simulating it; null when it was timed only.
    instructions: executed, each counted once however many tiles ran it; `instructions_by_class` by name.
    bytes: moved by copies and messages, by path.
    traffic: bytes read and written by all engines, by memory.
    stalls: cycles of all tiles that engines waited, by cause.
    groups, sources: costs by group and by source operation, in the order of the program.
    times: of each group, in the same order, and last of the program, beside their bounds.
    flags: where arithmetic first left the numbers.
    """

    cycles: Natural
    microseconds: NonNegative
    seconds: NonNegative | None
    instructions: Natural
    instructions_by_class: Mapping[str, Natural]
    engines: tuple[EngineData, ...]
    bytes: Mapping[str, Natural]
    traffic: Mapping[str, TrafficData]
    stalls: Mapping[str, Natural]
    groups: tuple[CostData, ...]
    sources: tuple[CostData, ...]
    times: tuple[GroupTimeData, ...]
    flags: tuple[FlagData, ...]

    @classmethod
    def of(cls, report: RunReport) -> SimulatedRunData:
        """The data of a run."""
        sim: SimReport = report.sim
        return cls(
            cycles=sim.cycles,
            microseconds=sim.microseconds,
            seconds=report.seconds,
            instructions=sim.instructions,
            instructions_by_class=_counts(sim.instructions_by_class),
            engines=tuple(
                EngineData(name, int(cycles), sim.utilisation[name]) for name, cycles in sim.cycles_by_engine.items()
            ),
            bytes=_counts(sim.bytes),
            traffic={memory: TrafficData(int(t.read), int(t.written)) for memory, t in sim.traffic.items()},
            stalls=_counts(sim.stalls_by_cause),
            groups=_costs(sim.by_group),
            sources=_costs(sim.by_source),
            times=tuple(map(GroupTimeData.of, (*sim.groups, sim.whole))),
            flags=tuple(map(_flag, report.flags)),
        )


def _counts(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: int(n) for name, n in counts.items()}


def _costs(rows: Sequence[SourceRow]) -> tuple[CostData, ...]:
    return tuple(CostData(row.source, int(row.instructions), int(row.cycles), int(row.bytes)) for row in rows)


def _flag(row: FlagRow) -> FlagData:
    return FlagData(row.flag, row.tile, row.index, row.instruction, row.source, str(row.location))


@attrs.frozen
class OutputData:
    """An output of the run; `dtype` is NumPy's."""

    name: str
    dtype: str
    shape: tuple[Natural, ...]


@attrs.frozen
class ComparisonData:
    """An output compared with a reference.

    computed_in: the format of the output on the chip.
    largest: the largest magnitude of the reference.
    error: the largest difference; null when it is not a number.
    bound: what it may be.
    """

    output: str
    computed_in: str
    reference: str
    largest: float | None
    error: float | None
    bound: float | None
    passed: bool

    @classmethod
    def of(cls, check: OutputCheck) -> ComparisonData:
        """The data of a comparison."""
        return cls(check.output, check.element, check.reference, check.largest, check.error, check.bound, check.passed)


@attrs.frozen
class RunDocument:
    """What `tx8ir run` and `tx8ir compile` report.

    run: null when the program was only compiled.
    outputs: empty when no data was computed.
    comparisons: with `--check`, each output with each reference; else null.
    passed: whether all of these are within their bounds; null without `--check`.
    """

    compilation: CompileReport
    run: SimulatedRunData | None
    outputs: tuple[OutputData, ...] = ()
    comparisons: tuple[ComparisonData, ...] | None = None
    passed: bool | None = None
    format: Literal["tx8ir-run"] = "tx8ir-run"
    version: Natural = 1

    @classmethod
    def of(
        cls, report: Report, outputs: Mapping[str, NDArray[Any]] | None = None, check: CheckResult | None = None
    ) -> RunDocument:
        """The document of a compilation and of what ran."""
        return cls(
            compilation=report.compilation,
            run=None if report.run is None else SimulatedRunData.of(report.run),
            outputs=tuple(OutputData(name, str(a.dtype), a.shape) for name, a in (outputs or {}).items()),
            comparisons=None if check is None else tuple(map(ComparisonData.of, check.outputs)),
            passed=None if check is None else check.passed,
        )
