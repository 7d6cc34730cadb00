"""Programs in notebooks, and pictures of programs and runs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tx8ir.viz.dataflow import DataflowGraph, dot, svg

__all__ = ["DataflowGraph", "dot", "svg"]

# What shows nothing yet loads nothing yet.
_LAZY: Final = {
    "DataflowGraph": "dataflow",
    "dot": "dataflow",
    "svg": "dataflow",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
