"""Programs in notebooks, and pictures of programs and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tx8ir.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from tx8ir.viz.dataflow import DataflowGraph, SvgPicture, dot, svg
    from tx8ir.viz.timeline_figure import timeline

__all__ = ["DataflowGraph", "SvgPicture", "dot", "svg", "timeline"]

# What shows nothing yet loads nothing yet.
_LAZY: Final = {
    "DataflowGraph": "dataflow",
    "SvgPicture": "dataflow",
    "dot": "dataflow",
    "svg": "dataflow",
    "timeline": "timeline_figure",
}

if not TYPE_CHECKING:  # to whom a `__getattr__` says that there is every name
    __getattr__, __dir__ = lazy_names(__name__, _LAZY)
