"""The table of converters: how each operator of `pd_op` is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from tx8ir.core import Operation, Value

if TYPE_CHECKING:
    from .node import PaddleNode

Converted: TypeAlias = "Value | Operation | Sequence[Value | Operation | Sequence[Value] | None] | None"
"""What a converter returns: its results in order, lists of tensors as sequences; None for one that nothing may use."""

ConvertFunction: TypeAlias = "Callable[[PaddleNode], Converted]"


@attrs.frozen
class Converter:
    """How one operator is imported.

    Attributes:
        operator: its name (`pd_op.relu`).
        function: builds the `pd` operations and returns the results.
        same_as: the operation of `pd` that it is, where the table says no more.
    """

    operator: str
    function: ConvertFunction
    same_as: str = ""


_CONVERTERS: Final[dict[str, Converter]] = {}


def find_converter(operator: str) -> Converter | None:
    """The converter of an operator (`pd_op.relu`), or None."""
    return _CONVERTERS.get(operator)


def functional_of(operator: str) -> str | None:
    """The operator that computes what one writes in place (`pd_op.relu` for `pd_op.relu_`), or None."""
    return operator[:-1] if operator.endswith("_") else None


def register(converter: Converter) -> None:
    """Add a converter.

    Raises:
        ValueError: the operator has one.
    """
    if converter.operator in _CONVERTERS:
        raise ValueError(f"operator {converter.operator} has two converters")
    _CONVERTERS[converter.operator] = converter


def converter(*names: str) -> Callable[[ConvertFunction], ConvertFunction]:
    """Register the decorated function for operators of `pd_op`."""

    def add(function: ConvertFunction) -> ConvertFunction:
        for name in names:
            register(Converter(f"pd_op.{name}", function))
        return function

    return add


def register_operator(operator: str) -> Callable[[ConvertFunction], ConvertFunction]:
    """Register the decorated function as how an operator of yours is imported.

        @register_operator("custom_op.scaled_add")
        def scaled_add(node):
            return pd.add(node.operand(0), pd.scale(node.operand(1), scale=node.float("factor", 1.0)))

    The function takes a `PaddleNode`. It builds operations, of `pd` or of a dialect of yours, and returns the results.
    The form that writes in place (`custom_op.scaled_add_`) is then imported, too.

    Args:
        operator: dialect and name.

    Raises:
        ValueError: it has no dialect, or has a converter.
    """
    if "." not in operator:
        raise ValueError(f"{operator!r} is no operator; expected 'dialect.name', for example 'custom_op.{operator}'")

    def add(function: ConvertFunction) -> ConvertFunction:
        register(Converter(operator, function))
        return function

    return add


def supported_ops() -> tuple[Converter, ...]:
    """All converters, by name."""
    return tuple(_CONVERTERS[name] for name in sorted(_CONVERTERS))
