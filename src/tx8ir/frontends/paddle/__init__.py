"""The Paddle front end: `load` turns a program of PIR (`.json` and `.pdiparams`) into a `Program` of `pd` operations.

Files are read without Paddle.
"""

from __future__ import annotations

from tx8ir.frontends.errors import MissingOperator

from . import ops as _ops  # fills the registry
from .errors import PaddleImportError
from .loading import load
from .node import PaddleNode
from .registry import register_operator, supported_ops

__all__ = [
    "MissingOperator",
    "PaddleImportError",
    "PaddleNode",
    "load",
    "register_operator",
    "supported_ops",
]

del _ops
