"""What Paddle's op lists say in C++: types of attributes, their defaults, and names of traits and interfaces."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from tx8ir.core.attrs.attributes import Attribute
from tx8ir.core.attrs.types import ScalarType, Type

ThingT = TypeVar("ThingT")

ATTRIBUTES: Final[dict[str, Any]] = {
    "bool": bool, "int": int, "int32_t": int, "int64_t": int, "float": float, "double": float, "str": str,
    "std::string": str, "Scalar": Attribute, "DataType": Type, "Type": Type, "Attribute": Attribute,
    "Place": Attribute, "DataLayout": str, "Scalar(bool)": bool, "Scalar(int)": int, "Scalar(int64_t)": int,
    "Scalar(float)": float, "Scalar(double)": float, "Scalar[]": Attribute,
    "IntArray": tuple[int, ...], "int[]": tuple[int, ...], "int32_t[]": tuple[int, ...], "int64_t[]": tuple[int, ...],
    "float[]": tuple[float, ...], "double[]": tuple[float, ...], "bool[]": tuple[bool, ...], "str[]": tuple[str, ...],
    "std::string[]": tuple[str, ...],
}  # fmt: skip
"""Types of attributes, and the annotations that they become."""

MAY_LACK: Final = frozenset({"DataType", "Place"})
"""Types with a default that stands for none at all."""

_DATA_TYPES: Final = {
    "BOOL": "i1", "INT8": "i8", "UINT8": "ui8", "INT16": "i16", "INT32": "i32", "INT64": "i64", "FLOAT16": "f16",
    "BFLOAT16": "bf16", "FLOAT32": "f32", "FLOAT64": "f64",
}  # fmt: skip
_CONSTANTS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "INT_MAX": (1 << 31) - 1,
    "INT_MIN": -(1 << 31),
    "INT64_MAX": (1 << 63) - 1,
    "INT64_MIN": -(1 << 63),
    "FLT_MAX": 3.4028234663852886e38,
}
_OPERATORS: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.LShift: lambda a, b: a << b,
    ast.BitOr: lambda a, b: a | b,
}
_SUFFIX: Final = re.compile(r"(?<=[0-9.])(?:[fF]|[uU]?[lL]{0,2})\b")


class NoneGiven:
    """A default that stands for no attribute: `DataType::UNDEFINED`, `Place place={}`."""


NONE_GIVEN: Final = NoneGiven()


def read_constant(text: str, type: str) -> Any:
    """The Python value of a default in C++: a number, a truth value, a string, a list of them, a `Type`.

    Args:
        text: as `0.95f`, `{1, 2}`, `INT64_MAX`, `(2 << 12) - 1`, `"AnyLayout"`, `DataType::INT64`.
        type: of the attribute.

    Returns: None for what is none of these, NONE_GIVEN for what stands for no attribute.
    """
    text = text.strip()
    if type == "Place":
        return NONE_GIVEN  # where it runs is not said in a program
    if type in ("DataType", "Type"):
        name = text.rpartition("::")[2]
        if name == "UNDEFINED":
            return NONE_GIVEN
        return ScalarType.of(_DATA_TYPES[name]) if name in _DATA_TYPES else None
    if type == "DataLayout":
        return text.strip("\"'").rpartition("::")[2]
    if type in ("str", "std::string") and text.isidentifier():
        return text
    if text.startswith("{") and text.endswith("}"):  # {1, 2} is C++ for a list
        text = f"[{text[1:-1]}]"
    try:
        return _evaluated(ast.parse(_SUFFIX.sub("", text), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        return None


def _evaluated(node: ast.expr) -> Any:
    """A constant expression. Raises ValueError for anything else."""
    match node:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.List(elts=elements):
            return [_evaluated(element) for element in elements]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(_evaluated(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _number(_evaluated(left)), _number(_evaluated(right))
            if isinstance(op, ast.LShift) and not 0 <= b < 64:
                raise ValueError(b)
            return _OPERATORS[type(op)](a, b)
        case _:
            raise ValueError(ast.dump(node))


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(value)
    return value


def find_named(name: str, known: Mapping[str, ThingT], suffix: str) -> ThingT | None:
    """What a name stands for: `paddle::dialect::InplaceTrait`, `InplaceTrait` or `Inplace`; None for another."""
    short = name.rpartition("::")[2]
    return known.get(short) or known.get(short.removesuffix(suffix))
