"""The Paddle front end: `load` turns a program of PIR (`.json` and `.pdiparams`) into a `Program` of `pd` operations,
and `save` writes such programs.

Files are read and written without Paddle.
"""

from __future__ import annotations

from tx8ir.frontends.errors import MissingOperator

from . import ops as _ops  # fills the registry
from .errors import PaddleExportError, PaddleImportError
from .loading import load
from .node import PaddleNode
from .registry import register_operator, supported_ops
from .writing import save

__all__ = [
    "MissingOperator",
    "PaddleExportError",
    "PaddleImportError",
    "PaddleNode",
    "load",
    "register_operator",
    "save",
    "supported_ops",
]

del _ops
