"""Element types by what people call them: names and NumPy dtypes."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tx8ir.target.formats import ALL, Format

from .types import ScalarType


def scalar_type_of(dtype: np.dtype[Any] | type[Any]) -> ScalarType:
    """The scalar type whose values `dtype` holds. Raises TypeError when no format of the machine does."""
    name = np.dtype(dtype).name
    spelled = _SCALAR_OF_DTYPE.get(name)
    if spelled is None:
        raise TypeError(f"no scalar type holds dtype {name}; known dtypes: {', '.join(sorted(_SCALAR_OF_DTYPE))}")
    return ScalarType.of(spelled)


_SCALAR_OF_DTYPE: Final = {
    "bool": "i1", "int4": "i4", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint4": "ui4", "uint8": "ui8", "uint16": "ui16", "uint32": "ui32", "uint64": "ui64",
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
}  # fmt: skip


ElementLike: TypeAlias = "str | np.dtype[Any] | type[Any] | ScalarType | Format"
"""What `element_type` understands."""


def element_type(
    given: ElementLike, choices: Sequence[ScalarType] | None = None, *, what: str = "element type"
) -> ScalarType:
    """The element type that somebody means: spelled as in the IR (`f32`), which is how it is written everywhere.

    The hardware's spelling (`fp32`, `int8`), NumPy's (`float32`) and a NumPy dtype are understood as well.

    Args:
        given: the type itself, its format, a name, or a dtype.
        choices: those that are allowed, in the order in which an error lists them; None: all.
        what: what the type is for, in an error.

    Raises:
        ValueError: it is none of them, or is not understood.
    """
    found = given if isinstance(given, ScalarType) else _elements_by_name().get(_name_of(given))
    if found is None or (choices is not None and found not in choices):
        allowed = ", ".join(map(str, [ScalarType(format) for format in ALL] if choices is None else choices))
        raise ValueError(f"{what} is {_shown(given)}; expected one of {allowed}")
    return found


def _name_of(given: ElementLike) -> str:
    if isinstance(given, str):
        return given
    if isinstance(given, Format):
        return given.name
    try:
        return np.dtype(given).name
    except TypeError:
        return ""


def _shown(given: ElementLike) -> str:
    return str(given) if isinstance(given, (ScalarType, Format, np.dtype)) else repr(given)


@functools.cache
def _elements_by_name() -> Mapping[str, ScalarType]:
    names = {name: ScalarType.of(spelled) for name, spelled in _SCALAR_OF_DTYPE.items()}
    names |= {format.vendor_name: ScalarType(format) for format in ALL}
    return names | {format.name: ScalarType(format) for format in ALL}
