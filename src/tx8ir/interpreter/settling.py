"""Computed values as values of the types that results are declared with."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from tx8ir.core import DictType, ListType, NoneType, TensorType, TupleType, Type
from tx8ir.core.attrs.builtin_types import array_type

from .arrays import EvaluationError, fits_shape, round_result
from .interfaces import Precision, RuntimeValue
from .storage import Storage, TensorRef


def settle(value: Any, type_: Type, precision: Precision) -> RuntimeValue:
    """A computed value as a value of `type_`: of its shape, rounded once to its element type.

    Raises:
        EvaluationError: another shape, or no array, tuple or None where the type wants one.
        TypeError: elements that the declared element type cannot hold.
    """
    if isinstance(value, TensorRef):
        if not isinstance(type_, TensorType) or not fits_shape(value.shape, type_):
            raise EvaluationError(f"gives a tensor of shape {list(value.shape)} where its result is declared {type_}")
        return value
    held = array_type(type_)
    if held is not None:
        array = np.asarray(value)
        if not fits_shape(array.shape, held):
            raise EvaluationError(f"computes shape {list(array.shape)} where its result is declared {type_}")
        # NumPy adds in the order of memory, so an operation is given elements in one order wherever they come from.
        rounded = np.asarray(round_result(array, held.element, precision), order="C")
        return Storage(rounded).whole() if isinstance(type_, TensorType) else rounded
    if isinstance(type_, (TupleType, ListType)):
        if not isinstance(value, tuple) or len(cast("tuple[Any, ...]", value)) != len(type_):
            raise EvaluationError(f"computes no tuple of {len(type_)} where its result is declared {type_}")
        items = zip(cast("tuple[Any, ...]", value), type_.elements, strict=True)
        return tuple(settle(item, element, precision) for item, element in items)
    if isinstance(type_, DictType):
        entries = cast("dict[str, Any]", value)
        if not isinstance(value, dict) or sorted(entries) != list(type_.keys):
            raise EvaluationError(f"computes no dictionary with those keys where its result is declared {type_}")
        return {
            key: settle(entries[key], element, precision) for key, element in zip(type_.keys, type_.values, strict=True)
        }
    if isinstance(type_, NoneType):
        if value is not None:
            raise EvaluationError(f"computes a value where its result is declared {type_}")
        return None
    raise EvaluationError(f"cannot be evaluated: its result has type {type_}")
