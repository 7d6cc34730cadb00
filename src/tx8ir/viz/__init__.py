"""Programs in notebooks, reports as text and HTML, and pictures of programs and runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tx8ir.viz.dataflow import DataflowGraph, dot, svg
    from tx8ir.viz.report import CompileReport, Report, RunReport, Stage, Table, format_bytes

__all__ = ["CompileReport", "DataflowGraph", "Report", "RunReport", "Stage", "Table", "dot", "format_bytes", "svg"]

# Showing IR needs neither the compiler nor the simulator, which reports are about.
_LAZY: Final = {
    "CompileReport": "report",
    "DataflowGraph": "dataflow",
    "Report": "report",
    "RunReport": "report",
    "Stage": "report",
    "Table": "report",
    "dot": "dataflow",
    "format_bytes": "report",
    "svg": "dataflow",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
