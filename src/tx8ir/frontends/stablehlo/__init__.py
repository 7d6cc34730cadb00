"""The StableHLO front end: `load` turns what JAX lowers or exports into a `Program` of `pd` operations.

    text = jax.jit(f).lower(x).as_text()        # or jax.export.export(jax.jit(f))(x).mlir_module()
    program = tx8ir.frontends.stablehlo.load(text)

JAX is not needed.
"""

from __future__ import annotations

from tx8ir.frontends.errors import MissingOperator

from . import ops as _ops  # fills the registry
from .dialect import stablehlo_context
from .errors import StableHloImportError
from .loading import load, load_text
from .node import StableHloNode
from .registry import register_operator, supported_ops

__all__ = [
    "MissingOperator",
    "StableHloImportError",
    "StableHloNode",
    "load",
    "load_text",
    "register_operator",
    "stablehlo_context",
    "supported_ops",
]

del _ops
