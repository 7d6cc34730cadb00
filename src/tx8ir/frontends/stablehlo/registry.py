"""The table of converters: one function per operation, and per target of a custom call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from tx8ir.core import Operation, Value

if TYPE_CHECKING:
    from .node import StableHloNode

Converted: TypeAlias = "Value | Operation | Sequence[Value | Operation] | None"
"""What a converter returns: its results in order; None or nothing if there are none."""

ConvertFunction: TypeAlias = "Callable[[StableHloNode], Converted]"


@attrs.frozen
class Converter:
    """How one operation is imported.

    Attributes:
        operator: its name, or `@target` of a custom call.
        function: builds the `pd` operations and returns the results.
        is_elementwise: whether each element of the results comes from the elements at the same place, so that it may be
            built for tensors where the program has it for one element.
    """

    operator: str
    function: ConvertFunction
    is_elementwise: bool


_CONVERTERS: Final[dict[str, Converter]] = {}


def find_converter(operator: str) -> Converter | None:
    """The converter of `stablehlo.add` or of a custom call's `@target`, or None."""
    return _CONVERTERS.get(operator)


def converter(*operators: str, elementwise: bool = False) -> Callable[[ConvertFunction], ConvertFunction]:
    """Register the decorated function for operations."""

    def register(function: ConvertFunction) -> ConvertFunction:
        for operator in operators:
            if operator in _CONVERTERS:
                raise ValueError(f"operator {operator} has two converters")
            _CONVERTERS[operator] = Converter(operator, function, elementwise)
        return function

    return register


def register_operator(operator: str, *, elementwise: bool = False) -> Callable[[ConvertFunction], ConvertFunction]:
    """Register the decorated function as how a custom call, or an operation of another dialect, is imported.

        @register_operator("@scaled_add")
        def scaled_add(node):
            x, y = node.operands
            return pd.add(x, pd.scale(y, scale=2.0))

    The function takes a `StableHloNode`. It builds operations, of `pd` or of a dialect of yours, and returns the
    results.

    Args:
        operator: `@target` for calls of that target, or the name of an operation.
        elementwise: it may be built for tensors where the program has it for one element (inside of a reducer).

    Raises:
        ValueError: it is neither, or has a converter.
    """
    if not operator.startswith("@") and "." not in operator:
        raise ValueError(
            f"{operator!r} is not an operator; expected '@target' of a custom call, or 'dialect.operation'"
        )
    return converter(operator, elementwise=elementwise)


def supported_ops() -> tuple[Converter, ...]:
    """All converters, by name."""
    return tuple(_CONVERTERS[name] for name in sorted(_CONVERTERS))
