"""The ONNX front end: `load` turns an ONNX model into a `Program` of `pd` operations on values.

Needs the optional package `onnx` (`pip install tx8ir[onnx]`).
"""

from __future__ import annotations

try:
    import onnx as _onnx
except ImportError as error:
    raise ImportError("the ONNX front end needs the package 'onnx': pip install tx8ir[onnx]", name="onnx") from error

from . import ops as _ops  # fills the registry
from .errors import MissingOperator, OnnxImportError
from .importer import load
from .node import OnnxNode
from .ops.declared import import_as
from .registry import register_operator, supported_ops

__all__ = [
    "MissingOperator",
    "OnnxImportError",
    "OnnxNode",
    "import_as",
    "load",
    "register_operator",
    "supported_ops",
]

del _onnx, _ops
