"""The fields every backend op carries, and the shape checks the op classes share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tx8ir.core import NoneType, Op, ScalarType, Type, Value, VerifyError, VTensorType, attribute
from tx8ir.target.formats import F64
from tx8ir.target.rounding import convert

from .attributes import DevAttr, ParallelAttr

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


class BackendOp(Op):
    """Base of all `tx8be` ops: the optional facts the backend passes leave on them.

    `layout_str` is the logical layout ("Tensor", "NHWC", …; `Gemm` and `Conv` before the layout passes: one per operand
    and result joined by "-"); `dev_info` the device layout and buffers; `chip_parallel` and `tile_parallel` how the op
    is divided over chips and tiles.
    """

    layout_str: str | None = attribute(default=None, kw_only=True)
    dev_info: DevAttr | None = attribute(default=None, kw_only=True)
    chip_parallel: ParallelAttr | None = attribute(default=None, kw_only=True)
    tile_parallel: ParallelAttr | None = attribute(default=None, kw_only=True)


def ranked(value: Value, what: str) -> VTensorType:
    """The type of `value` as a vtensor; `VerifyError` naming `what` otherwise."""
    if not isinstance(value.type, VTensorType):
        raise VerifyError(f"{what} has type {value.type}; expected a vtensor")
    return value.type


def is_none(value: Value) -> bool:
    """True when `value` is the absent operand (type `none`)."""
    return isinstance(value.type, NoneType)


def in_format(scalar: float, like: Array, t: VTensorType) -> Array:
    """A scalar operand in the working type of `like`, an array of type `t`.

    The vector unit takes a scalar as bits of the operand format, so it is rounded to that format; not in an fp64
    evaluation, which rounds nothing.
    """
    if not t.element.is_float or like.dtype == np.float64:
        return np.asarray(scalar, like.dtype)
    return convert(np.asarray(scalar, np.float64), F64, t.element.format).astype(like.dtype)


def require(condition: bool, message: str) -> None:
    """Raise `VerifyError(message)` unless `condition`."""
    if not condition:
        raise VerifyError(message)


def require_element(t: VTensorType, element: ScalarType, what: str) -> None:
    """Raise `VerifyError` unless `t` has the given element type."""
    require(t.element is element, f"{what} has element type {t.element}; expected {element}")


def require_float(t: VTensorType, what: str) -> None:
    """Raise `VerifyError` unless `t` holds floating-point elements."""
    require(t.element.format.is_float, f"{what} has element type {t.element}; expected a floating-point type")


def require_shape(t: VTensorType, shape: Sequence[int], what: str) -> None:
    """Raise `VerifyError` unless `t` has exactly the given shape."""
    require(t.shape == tuple(shape), f"{what} has shape {list(t.shape)}; expected {list(shape)}")


def require_rank(t: VTensorType, ranks: Sequence[int], what: str) -> None:
    """Raise `VerifyError` unless the rank of `t` is one of `ranks`."""
    expected = " or ".join(str(r) for r in ranks)
    require(t.rank in ranks, f"{what} has shape {list(t.shape)} (rank {t.rank}); expected rank {expected}")


def same_type(value: Value, what: str) -> tuple[Type, ...]:
    """Inferred types of an op that keeps its operand's type."""
    return (ranked(value, what),)
