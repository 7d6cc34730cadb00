"""A simulated run as a picture: one row per engine of each tile, one bar per instruction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tx8ir.sim import SimReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {
    "CT": "tab:orange",
    "NE": "tab:green",
    "RDMA": "tab:blue",
    "WDMA": "tab:purple",
    "TDMA": "tab:brown",
    "DTE": "tab:red",
    "SCALAR": "tab:gray",
}


def timeline(report: SimReport, tiles: Sequence[int] = (0,)) -> Figure:
    """Draw what the engines of some tiles did when, in microseconds (needs the extra `viz`).

    Raises:
        ValueError: the target has no such tile, or the program is too long for single executions to be kept.
    """
    from matplotlib.figure import Figure

    unknown = [tile for tile in tiles if not 0 <= tile < report.target.tiles]
    if unknown:
        raise ValueError(f"there is no tile {unknown[0]}; the target has {report.target.tiles}")
    used = [e for n, e in enumerate(report.engines) if report.busy[n, list(tiles)].any()]
    rows = [(tile, engine) for tile in tiles for engine in used]
    figure = Figure(figsize=(12, 0.6 + 0.28 * max(len(rows), 1)), layout="constrained")
    axes: Any = figure.subplots()  # matplotlib's own types are partial
    for row, (tile, engine) in enumerate(rows):
        bars = [
            (event.start / 1000, (event.done - event.start) / 1000)
            for event in report.events
            if event.item.engine is not None and event.item.engine.value == engine and tile in event.tiles
        ]
        axes.broken_barh(bars, (row - 0.4, 0.8), facecolors=_COLOURS.get(engine, "tab:gray"), edgecolor="white")
    axes.set_yticks(range(len(rows)), [f"{tile} {engine}" for tile, engine in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, max(report.microseconds, 1e-3))
    axes.set_xlabel("microseconds")
    axes.set_title(f"{report.instructions:,} instructions in {report.cycles:,} cycles")
    return figure
