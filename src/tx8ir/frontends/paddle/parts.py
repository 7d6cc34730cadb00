"""Operations, attributes and types as Paddle's JSON has them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from tx8ir.core import RankedTensor, ScalarType

from .elements import IN_ATTRIBUTES, IN_TYPES
from .errors import PaddleExportError

VERSION: Final = 1
"""The version that is written; later ones of Paddle read it, too."""
_TYPES: Final = {element: f"0.{name}" for name, element in IN_TYPES.items()}
_NAMES: Final = {element: name for name, element in IN_ATTRIBUTES.items()}
_HOST: Final = {"#": "1.a_place", "D": [1, 0, ""]}
Json = dict[str, Any]


def number(kind: str, value: float) -> Json:
    """A number of a kind (`f32`), which may be infinite or none."""
    if math.isfinite(value):
        return {"#": f"0.a_{kind}", "D": value}
    return {"#": f"0.a_{kind}", "VD": "NAN" if math.isnan(value) else "INF" if value > 0 else "-INF"}


def data(kind: str, value: Any) -> Json:
    """An attribute of a kind of the table."""
    match kind:
        case "flag":
            return {"#": "0.a_bool", "D": bool(value)}
        case "word":
            return {"#": "0.a_str", "D": str(value)}
        case "type":
            return element_name(value)
        case "shape":
            return {"#": "1.a_intarray", "D": [int(item) for item in value]}
        case "place":
            return _HOST
        case "f32" | "f64":
            return number(kind, float(value))
        case "i32" | "i64":
            return {"#": f"0.a_{kind}", "D": int(value)}
        case _:
            return {"#": "0.a_array", "D": [data(kind.removesuffix("s"), item) for item in value]}


def element_name(element: ScalarType | None) -> Json:
    """An element type as an attribute; None says nothing.

    Raises:
        PaddleExportError: Paddle has no such type.
    """
    name = "Undefined(ALL_DTYPE)" if element is None else _NAMES.get(element)
    if name is None:
        raise PaddleExportError(f"Paddle has no element type {element}")
    return {"#": "1.a_dtype", "D": name}


def tensor(type_: RankedTensor) -> Json:
    """A tensor type.

    Raises:
        PaddleExportError: Paddle has no such element type.
    """
    if type_.element not in _TYPES:
        raise PaddleExportError(f"Paddle has no element type {type_.element}")
    return {"#": "0.t_dtensor", "D": [{"#": _TYPES[type_.element]}, list(type_.shape), "NCHW", [], 0]}


def operation(
    name: str, operands: Sequence[int], results: Sequence[Json], attributes: Sequence[tuple[str, str, Any]] = ()
) -> Json:
    """An operation; attributes are names, kinds and values."""
    return {
        "#": name,
        "A": [{"N": key, "AT": data(kind, value)} for key, kind, value in attributes],
        "I": [{"%": operand} for operand in operands],
        "O": list(results),
    }
