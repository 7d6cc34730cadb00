"""Programs in notebooks, and pictures of programs and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tx8ir.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from tx8ir.viz.dataflow import DataflowGraph, dot, svg

__all__ = ["DataflowGraph", "dot", "svg"]

# What shows nothing yet loads nothing yet.
_LAZY: Final = {
    "DataflowGraph": "dataflow",
    "dot": "dataflow",
    "svg": "dataflow",
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
