"""What a compilation did and what a simulation cost, as text tables and as HTML for notebooks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape

import attrs

from tx8ir.sim import SimReport

_COSTLY_ROWS = 10
_CELL = "vertical-align:top;padding:1px 14px 1px 0;"
_CAPTION = "caption-side:top;text-align:left;font-weight:bold;white-space:nowrap"
_NUMBER = re.compile(r"(-|[-+]?\d[\d.,e+-]*|nan|inf)?( ?(%|B|[KMG]iB))?")


@attrs.frozen
class Table:
    """A titled table of strings; columns whose cells are numbers are right-aligned."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        widths = [max(len(cell) for cell in column) for column in zip(self.header, *self.rows, strict=True)]
        right = self.numeric_columns

        def line(cells: Sequence[str]) -> str:
            padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cells, widths, right, strict=True)]
            return "  " + "  ".join(padded).rstrip()

        return "\n".join([self.title, line(self.header), *(line(row) for row in self.rows)])

    def to_html(self) -> str:
        """The table as an HTML ``<table>`` with its title as caption."""
        styles = [f"text-align:{'right' if numeric else 'left'};{_CELL}" for numeric in self.numeric_columns]
        styles[:-1] = [style + "white-space:nowrap;" for style in styles[:-1]]  # only the last column may wrap

        def row(cells: Sequence[str], tag: str) -> str:
            return "".join(f'<{tag} style="{s}">{escape(c)}</{tag}>' for s, c in zip(styles, cells, strict=True))

        body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in self.rows)
        return (
            f'<table style="border-collapse:collapse;margin:0 0 1em 0"><caption style="{_CAPTION}">{escape(self.title)}'
            f"</caption><thead><tr>{row(self.header, 'th')}</tr></thead><tbody>{body}</tbody></table>"
        )

    @property
    def numeric_columns(self) -> list[bool]:
        """Which columns hold only numbers (with or without a unit) or nothing."""
        return [
            bool(self.rows) and all(_NUMBER.fullmatch(row[i]) for row in self.rows) for i in range(len(self.header))
        ]


@attrs.frozen
class Stage:
    """One pass of a compilation.

    seconds: wall time of the pass and of verifying its result.
    operations: operations in the program after it, all regions included.
    statistics: what the pass counted, by its own names.
    """

    name: str
    seconds: float
    operations: int
    statistics: Mapping[str, int] = attrs.field(factory=dict[str, int])


@attrs.frozen
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
    stages: tuple[Stage, ...]
    ops_by_dialect: Mapping[str, int]
    instructions: Mapping[str, int]
    spm_peak_bytes: int
    spm_bytes: int
    ddr_bytes: Mapping[str, int]

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

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.tables)


@attrs.frozen
class RunReport:
    """What one simulated run cost: the simulator's report and the wall time of simulating it, in seconds."""

    sim: SimReport
    seconds: float

    @property
    def tables(self) -> tuple[Table, ...]:
        """The report as tables: the clock and the engines, the bytes by memory path, and the costliest sources."""
        sim = self.sim
        engines = Table(
            f"simulated run: {sim.microseconds:.1f} us on the chip ({sim.cycles} cycles), "
            f"{sim.instructions} instructions; {self.seconds:.2f} s to simulate",
            ("engine", "busy cycles", "utilisation"),
            tuple(
                (engine, f"{cycles:.0f}", f"{100 * sim.utilisation[engine]:.1f} %")
                for engine, cycles in sim.cycles_by_engine.items()
            ),
        )
        paths = Table("bytes moved", ("path", "bytes"), tuple((path, format_bytes(n)) for path, n in sim.bytes.items()))
        costly = sorted(sim.by_source, key=lambda row: -row.cycles)[:_COSTLY_ROWS]
        sources = Table(
            f"costliest sources, {len(costly)} of {len(sim.by_source)}",
            ("source", "instructions", "busy cycles", "bytes moved"),
            tuple((r.source, str(r.instructions), str(r.cycles), format_bytes(r.bytes)) for r in costly),
        )
        return engines, paths, sources

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.tables))

    def _repr_html_(self) -> str:
        return "".join(table.to_html() for table in self.tables)


@attrs.frozen
class Report:
    """Compilation and latest simulated run of an executable (`run` is None before the first)."""

    compilation: CompileReport
    run: RunReport | None = None

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
