"""What attributes say, in each of the notations that StableHLO has had for them."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    IntAttr,
    OpaqueAttr,
    StrAttr,
)

_FIELD: Final = re.compile(r"(\w+)\s*=\s*(\[[^\]\[]*\]|-?\d+)")
_CONVOLUTION: Final = re.compile(r"<?\s*\[([^\]]*)\]\s*x\s*\[([^\]]*)\]\s*->\s*\[([^\]]*)\]")
_WORD: Final = re.compile(r"(\w+)>?\s*$")


def integers(attribute: Attribute) -> tuple[int, ...] | None:
    """The numbers of `array<i64: …>`, `dense<…>` or `[…]` in row-major order; None if it is something else."""
    if isinstance(attribute, DenseArrayAttr):
        return tuple(int(value) for value in attribute.value)
    if isinstance(attribute, DenseAttr):
        array: NDArray[Any] = attribute.value
        return tuple(int(value) for value in array.reshape(-1)) if array.dtype.kind in "iub" else None
    if isinstance(attribute, ArrayAttr):
        items = attribute.elements
        if all(isinstance(item, IntAttr | BoolAttr) for item in items):
            return tuple(int(getattr(item, "value", 0)) for item in items)
    return None


def fields(attribute: Attribute) -> dict[str, tuple[int, ...]]:
    """The fields of `#stablehlo.gather<offset_dims = [1], index_vector_dim = 1>` and its like."""
    if not isinstance(attribute, OpaqueAttr):
        return {}
    found: dict[str, tuple[int, ...]] = {}
    for key, text in _FIELD.findall(str(attribute)):
        items = text.strip("[]").split(",") if text.startswith("[") else [text]
        found[key] = tuple(int(item) for item in items if item.strip())
    return found


def axes_of_convolution(attribute: Attribute) -> tuple[list[str], list[str], list[str]] | None:
    """The letters and numbers of the axes of image, filter and result; None if it is something else."""
    found = _CONVOLUTION.search(str(attribute))
    if found is None:
        return None
    image, filter_, out = ([part.strip() for part in group.split(",") if part.strip()] for group in found.groups())
    return image, filter_, out


def word(attribute: Attribute) -> str | None:
    """The member of an enumeration, or a string."""
    if isinstance(attribute, EnumAttr):
        return str(attribute.value.value)
    if isinstance(attribute, StrAttr):
        return attribute.value
    found = _WORD.search(str(attribute)) if isinstance(attribute, OpaqueAttr) else None
    return None if found is None else found[1]


def elements(attribute: Attribute) -> NDArray[Any] | None:
    """The array of `dense<…>`; None if it is something else."""
    value = attribute.value if isinstance(attribute, DenseAttr) else None
    return None if value is None else np.asarray(value)
