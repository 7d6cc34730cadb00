"""A simulated run as a picture: one row per engine of each tile, one bar per execution."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Final

from tx8ir.core import IrError
from tx8ir.sim import SimReport

try:
    from matplotlib.figure import Figure
except ImportError:
    raise IrError("pictures of runs need the package matplotlib: pip install 'tx8ir[viz]'") from None

_COLOURS: Final = {
    "CT": "tab:orange",
    "NE": "tab:green",
    "RDMA": "tab:blue",
    "WDMA": "tab:purple",
    "TDMA": "tab:brown",
    "DTE": "tab:red",
    "SCALAR": "tab:gray",
}
_EDGE_POINTS: Final = 0.6
"""Edges have the colour of their bar, so that a bar is at least so wide however short its time."""


class TimelineFigure(Figure):
    """A figure of matplotlib that notebooks show, whatever backend is set."""

    def _repr_png_(self) -> bytes:
        out = io.BytesIO()
        drawn: Any = self  # matplotlib's own types are partial
        drawn.savefig(out, format="png", dpi=110)
        return out.getvalue()


def timeline(report: SimReport, tiles: Sequence[int] = (0,)) -> TimelineFigure:
    """Draw what the engines of some tiles did when, in microseconds (needs the extra `viz`).

    Every execution is seen at every zoom: the shortest ones are lines in the colour of their engine.

    Raises:
        ValueError: the target has no such tile, or the program is too long for single executions to be kept.
    """
    unknown = [tile for tile in tiles if not 0 <= tile < report.target.tiles]
    if unknown:
        raise ValueError(f"there is no tile {unknown[0]}; the target has {report.target.tiles}")
    used = [e for n, e in enumerate(report.engines) if report.busy[n, list(tiles)].any()]
    rows = [(tile, engine) for tile in tiles for engine in used]
    figure = TimelineFigure(figsize=(10, 0.9 + 0.24 * max(len(rows), 1)), layout="constrained")
    axes: Any = figure.subplots()  # matplotlib's own types are partial
    axes.grid(axis="x", color="0.9")
    axes.set_axisbelow(True)
    for row, (tile, engine) in enumerate(rows):
        bars = [
            (event.start / 1000, (event.done - event.start) / 1000)
            for event in report.events
            if event.item.engine is not None and event.item.engine.value == engine and tile in event.tiles
        ]
        colour = _COLOURS.get(engine, "tab:gray")
        axes.broken_barh(bars, (row - 0.4, 0.8), facecolors=colour, edgecolors=colour, linewidth=_EDGE_POINTS)
    for row in range(len(used), len(rows), max(len(used), 1)):
        axes.axhline(row - 0.5, color="0.7", linewidth=0.8)
    labels = [f"tile {tile}  {engine}" for tile, engine in rows]
    axes.set_yticks(range(len(rows)), labels, fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(0, max(report.microseconds, 1e-3))
    axes.set_xlabel("microseconds")
    axes.set_title(f"{report.instructions:,} instructions in {report.cycles:,} cycles", loc="left", fontsize=10)
    return figure
