"""What a simulated run cost: cycles, bytes and utilisation, by engine and by source operation."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.target.chip import CYCLES_PER_SECOND

PATHS = ("DDR to SPM", "SPM to DDR", "SPM to SPM")
"""The memory paths of `SimReport.bytes`."""


@attrs.frozen
class SourceRow:
    """What the instructions of one source operation or group cost.

    cycles: busy cycles of the tile that it kept busiest, summed over engines; overlap is not taken off.
    bytes: bytes moved by copies, over all tiles.
    """

    source: str
    instructions: int
    cycles: int
    bytes: int


@attrs.frozen
class SimReport:
    """What a run cost on the simulated chip.

    instructions: instructions executed, each counted once however many tiles ran it.
    instructions_by_class: the same by instruction name ("tx8.gemm").
    cycles: from the start to the end of the last instruction, over all tiles.
    cycles_by_engine: cycles that the engine worked on the tile where it worked most.
    bytes: bytes moved by copies between and inside memories, summed over tiles, by path.
    utilisation: part of `cycles` that the engine worked, mean over all tiles of the chip.
    by_source: what each source operation cost, in order of first execution.
    """

    instructions: int
    instructions_by_class: Mapping[str, int]
    cycles: int
    cycles_by_engine: Mapping[str, int]
    bytes: Mapping[str, int]
    utilisation: Mapping[str, float]
    by_source: tuple[SourceRow, ...]

    @property
    def microseconds(self) -> float:
        """`cycles` as time."""
        return self.cycles * 1e6 / CYCLES_PER_SECOND

    def __str__(self) -> str:
        return "\n\n".join(_text_table(title, header, rows) for title, header, rows in self._tables())

    def _repr_html_(self) -> str:
        return "".join(_html_table(title, header, rows) for title, header, rows in self._tables())

    def _tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        engines = [
            [engine, f"{cycles:,}", f"{100 * self.utilisation[engine]:.1f} %"]
            for engine, cycles in self.cycles_by_engine.items()
        ]
        classes = [
            [name, f"{count:,}"]
            for name, count in sorted(self.instructions_by_class.items(), key=lambda item: (-item[1], item[0]))
        ]
        paths = [[path, f"{count:,}"] for path, count in self.bytes.items()]
        sources = [[r.source, f"{r.instructions:,}", f"{r.cycles:,}", f"{r.bytes:,}"] for r in self.by_source]
        title = f"{self.instructions:,} instructions in {self.cycles:,} cycles ({self.microseconds:,.1f} us)"
        return [
            (title, ["engine", "busy cycles", "utilisation"], engines),
            ("instructions by class", ["class", "count"], classes),
            ("bytes moved", ["path", "bytes"], paths),
            ("by source", ["source", "instructions", "busy cycles", "bytes"], sources),
        ]


class Tally:
    """Adds up the figures of a run that the clock does not keep."""

    def __init__(self, tiles: int) -> None:
        self._tiles = tiles
        self.classes: dict[str, int] = {}
        self.bytes: dict[str, int] = dict.fromkeys(PATHS, 0)
        self._sources: dict[str, tuple[list[int], NDArray[np.int64]]] = {}

    def add(self, name: str, source: str, tiles: slice | NDArray[np.intp], cycles: int | NDArray[np.int64],
            path: str | None, moved: int) -> None:  # fmt: skip
        """Count one instruction: `cycles` on each of `tiles`, and `moved` bytes over all of them along `path`."""
        self.classes[name] = self.classes.get(name, 0) + 1
        if path is not None:
            self.bytes[path] += moved
        entry = self._sources.get(source)
        if entry is None:
            entry = self._sources[source] = ([0, 0], np.zeros(self._tiles, np.int64))
        counts, busy = entry
        counts[0] += 1
        counts[1] += moved
        busy[tiles] += cycles

    def rows(self) -> tuple[SourceRow, ...]:
        """The rows of `SimReport.by_source`."""
        return tuple(
            SourceRow(source, count, int(busy.max()), moved) for source, ((count, moved), busy) in self._sources.items()
        )


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
