"""What accessors of declared fields read of an operation, and what of it its declaration is about.

A reader is made once for a field, and reads a slot: accessors are in every loop of every pass.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from .operation import Operation
from .value import OpResult, Value

Signature: TypeAlias = tuple[Any, ...]


def operand_reader(index: int) -> Callable[[Operation], Value]:
    """Reads the operand of that index."""
    return lambda op: op._operands[index]._value


def result_reader(index: int) -> Callable[[Operation], OpResult]:
    """Reads the result of that index."""
    return lambda op: op._results[index]


def attribute_reader(key: str, default: object, *, is_whole: bool) -> Callable[[Operation], Any]:
    """Reads an attribute: itself, or its value; `default` where the operation has none."""

    def read(op: Operation) -> Any:
        found = op._attributes.get(key)
        if found is None:
            return default
        return found if is_whole else found.value

    return read


def declared_parts(op: Operation) -> Signature:
    """All that a declaration speaks of: attributes, types, numbers of operands, regions and successors."""
    parts: list[Any] = [op._attributes, len(op._operands)]
    parts += [use._value._type for use in op._operands]
    parts += [result._type for result in op._results]
    if op._regions or op._successors:
        parts += (len(op._regions), len(op._successors))
    return tuple(parts)
