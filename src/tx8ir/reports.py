"""What a compilation did and what a simulation cost, as text tables and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from tx8ir.core.schema import Natural, NonNegative
from tx8ir.sim import FlagRow, SimReport, SourceRow, flags_table
from tx8ir.support.screen import fitted, fitting_repr
from tx8ir.support.table import Table

_COSTLY_ROWS = 10


@attrs.frozen
class CompileStage:
    """One pass of a compilation.

    seconds: wall time of the pass and of verifying its result.
    operations: operations in the program after it, all regions included.
    statistics: what the pass counted, by its own names.
    """

    __repr__ = fitting_repr

    name: str
    seconds: NonNegative
    operations: Natural
    statistics: Mapping[str, int] = attrs.field(factory=dict[str, int])


@attrs.frozen(repr=False)
class CompileReport:
    """What `tx8ir.compile` did.

    formats: the floating-point formats that it computes in.
    ops_by_dialect: operations of the source program by dialect name.
    instructions: instructions of the compiled program by class (text name without the `tx8.` prefix).
    spm_peak_bytes: highest scratch-pad use of any group, per tile; `spm_bytes` is what the allocator may use.
    ddr_bytes: size of the DDR image by segment kind (const, input, output, scratch).
    """

    target: str
    formats: tuple[str, ...]
    stages: tuple[CompileStage, ...]
    ops_by_dialect: Mapping[str, Natural]
    instructions: Mapping[str, Natural]
    spm_peak_bytes: Natural
    spm_bytes: Natural
    ddr_bytes: Mapping[str, Natural]

    @property
    def seconds(self) -> float:
        """Wall time of the compilation, verification included."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The report as tables: stages, then the compiled program."""
        formats = " and ".join(self.formats) or "integers"
        stages = Table(
            f"compiled for {self.target} in {self.seconds:.2f} s, computing in {formats}",
            ("stage", "ms", "ops after", "counted"),
            tuple(
                (
                    stage.name,
                    f"{stage.seconds * 1e3:.1f}",
                    str(stage.operations),
                    ", ".join(f"{n} {what}" for what, n in stage.statistics.items()),
                )
                for stage in self.stages
            ),
        )
        total = sum(self.instructions.values())
        program = Table(
            "program",
            ("what", "amount", "detail"),
            (
                ("source operations", str(sum(self.ops_by_dialect.values())), _counts(self.ops_by_dialect)),
                ("instructions", str(total), _counts(self.instructions)),
                ("peak SPM per tile", format_bytes(self.spm_peak_bytes), f"of {format_bytes(self.spm_bytes)}"),
                (
                    "DDR image",
                    format_bytes(sum(self.ddr_bytes.values())),
                    ", ".join(f"{kind} {format_bytes(size)}" for kind, size in self.ddr_bytes.items()),
                ),
            ),
        )
        return stages, program

    def __repr__(self) -> str:
        count = sum(self.instructions.values())
        return f"<CompileReport: {count} instructions for {self.target}, {self.seconds:.2f} s>"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.tables)


@attrs.frozen(repr=False)
class RunReport:
    """What one simulated run cost: the simulator's report, the wall time of simulating it in seconds (None when it was
    timed only), and its flags.
    """

    sim: SimReport
    seconds: float | None
    flags: tuple[FlagRow, ...] = ()

    @property
    def tables(self) -> tuple[Table, ...]:
        """The report as tables: the clock and the engines, the groups beside their bounds, the bytes by memory path,
        where arithmetic first gave a NaN, an infinity or overflowed (if it did), stalls, the costliest groups and
        sources.
        """
        sim = self.sim
        simulated = "timed only" if self.seconds is None else f"{self.seconds:.2f} s to simulate"
        engines = Table(
            f"simulated run: {sim.microseconds:.1f} us on the chip ({sim.cycles} cycles), "
            f"{sim.instructions} instructions; {simulated}",
            ("engine", "busy cycles", "utilisation"),
            tuple(
                (engine, f"{cycles:.0f}", f"{100 * sim.utilisation[engine]:.1f} %")
                for engine, cycles in sim.cycles_by_engine.items()
            ),
        )
        paths = Table("bytes moved", ("path", "bytes"), tuple((path, format_bytes(n)) for path, n in sim.bytes.items()))
        stalls = Table(
            "why engines waited, in cycles of all tiles",
            ("cause", "cycles"),
            tuple((cause, str(cycles)) for cause, cycles in sim.stalls_by_cause.items() if cycles),
        )
        costs = (_costliest(what, rows) for what, rows in (("groups", sim.by_group), ("sources", sim.by_source)))
        flags = (flags_table(self.flags),) if self.flags else ()
        return engines, sim.bounds, paths, *flags, stalls, *costs

    def __repr__(self) -> str:
        return fitted(f"<RunReport: {self.tables[0].title}>")

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.tables)


def _costliest(what: str, rows: Sequence[SourceRow]) -> Table:
    costly = sorted(rows, key=lambda row: -row.cycles)[:_COSTLY_ROWS]
    return Table(
        f"costliest {what}, {len(costly)} of {len(rows)}",
        (what.removesuffix("s"), "instructions", "busy cycles", "bytes moved"),
        tuple((r.source, str(r.instructions), str(r.cycles), format_bytes(r.bytes)) for r in costly),
    )


@attrs.frozen(repr=False)
class Report:
    """Compilation and latest simulated run of an executable (`run` is None before the first)."""

    compilation: CompileReport
    run: RunReport | None = None

    def __repr__(self) -> str:
        return "\n".join(["<Report", *(f"  {part!r}" for part in self._parts())]) + ">"

    def __str__(self) -> str:
        return "\n\n".join(map(str, self._parts()))

    def _repr_html_(self) -> str:
        return "".join(part._repr_html_() for part in self._parts())  # pyright: ignore[reportPrivateUsage]  # IPython's name

    def _parts(self) -> Iterable[CompileReport | RunReport]:
        yield self.compilation
        if self.run is not None:
            yield self.run


def format_bytes(n: int) -> str:
    """`n` bytes with a binary unit: ``1536`` is ``1.5 KiB``."""
    if n < 1024:
        return f"{n} B"
    size = float(n)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024 or unit == "GiB":
            return f"{size:.1f} {unit}"
    raise AssertionError("unreachable")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{what} {n}" for what, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
