"""The converters, grouped by kind of operator. Importing this package fills the registry."""

from __future__ import annotations

from tx8ir.frontends.onnx.registry import CONVERTERS

from . import activation, arithmetic, constant, declared, linear, movement, normalization, reduction, selection

__all__ = [
    "CONVERTERS",
    "activation",
    "arithmetic",
    "constant",
    "declared",
    "linear",
    "movement",
    "normalization",
    "reduction",
    "selection",
]
