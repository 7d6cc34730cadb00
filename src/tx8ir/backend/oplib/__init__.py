"""The op library: how each `tx8be` op is computed on a tile.

Importing this package attaches the `OpLib` models to the ops.
"""

from __future__ import annotations

from tx8ir.backend.oplib import elementwise, movement, neural, reduction, rows
from tx8ir.backend.oplib.boxes import Box
from tx8ir.backend.oplib.interface import (
    ALL_OPERANDS,
    AlignMode,
    InferLayout,
    MainEngine,
    OpLib,
    OpQuery,
)

__all__ = [
    "ALL_OPERANDS",
    "AlignMode",
    "Box",
    "MainEngine",
    "InferLayout",
    "OpLib",
    "OpQuery",
    "MODELS",
]

MODELS = (elementwise, movement, neural, reduction, rows)
"""The modules that hold the models."""
