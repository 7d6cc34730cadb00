"""Converters: the table of operators that are operations of `pd`, and a function for each of the others."""

from __future__ import annotations

from . import (
    activation,
    arithmetic,
    convolution,
    creation,
    gradients,
    indexing,
    normalization,
    reduction,
    shape,
    table,
    training,
)

__all__ = [
    "activation",
    "arithmetic",
    "convolution",
    "creation",
    "gradients",
    "indexing",
    "normalization",
    "reduction",
    "shape",
    "table",
    "training",
]
