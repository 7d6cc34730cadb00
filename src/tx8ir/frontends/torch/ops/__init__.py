"""The converters, grouped by kind of operator. Importing this package fills the registry."""

from __future__ import annotations

from . import (
    activation,
    arithmetic,
    comparison,
    convolution,
    creation,
    elementwise,
    indexing,
    joining,
    linear,
    loss,
    normalization,
    reduction,
    resampling,
    synonyms,
    views,
)

__all__ = [
    "activation",
    "arithmetic",
    "comparison",
    "convolution",
    "creation",
    "elementwise",
    "indexing",
    "joining",
    "linear",
    "loss",
    "normalization",
    "reduction",
    "resampling",
    "synonyms",
    "views",
]
