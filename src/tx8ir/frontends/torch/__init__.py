"""The PyTorch front end: `load` turns an exported program (`torch.export`) into a `Program` of `pd` operations.

Files are read without PyTorch. `trace`, and `load` of an `ExportedProgram`, run where it is installed.
"""

from __future__ import annotations

from tx8ir.frontends.errors import MissingOperator

from . import ops as _ops  # fills the registry
from .errors import TorchImportError
from .live import trace
from .loading import load
from .node import TorchNode
from .registry import register_operator, supported_ops

__all__ = [
    "MissingOperator",
    "TorchImportError",
    "TorchNode",
    "load",
    "register_operator",
    "supported_ops",
    "trace",
]

del _ops
