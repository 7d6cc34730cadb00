"""The table of converters: one function per ONNX operator, with the versions and attributes it understands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from tx8ir.core import Operation, Value

if TYPE_CHECKING:
    from .node import OnnxNode
    from .tensors import Known

Converted: TypeAlias = "Value | Operation | Known | Sequence[Value | Operation | Known]"
"""What a converter returns: its outputs, in the order of the ONNX operator; trailing optional ones may be missing."""

ConvertFunction: TypeAlias = "Callable[[OnnxNode], Converted]"


@attrs.frozen
class Converter:
    """How one ONNX operator is imported.

    Attributes:
        operator: its name in the standard operator set.
        function: builds the `pd` operations and returns the outputs.
        first: oldest version of the operator (the opset that introduced the version) it understands.
        last: newest version it understands. A later version that onnx may add is refused.
        attributes: names of the attributes it understands; any other is refused.
    """

    operator: str
    function: ConvertFunction
    first: int
    last: int
    attributes: tuple[str, ...]


CONVERTERS: Final[dict[str, Converter]] = {}
"""Converters by ONNX operator name."""


def converter(
    operator: str, *, first: int, last: int, attributes: Iterable[str] = ()
) -> Callable[[ConvertFunction], ConvertFunction]:
    """Register the decorated function for `operator`; stacked, one function serves several operators."""

    def register(function: ConvertFunction) -> ConvertFunction:
        if operator in CONVERTERS:
            raise ValueError(f"ONNX operator {operator} has two converters")
        CONVERTERS[operator] = Converter(operator, function, first, last, tuple(attributes))
        return function

    return register


def supported_ops() -> tuple[Converter, ...]:
    """All converters, by operator name."""
    return tuple(CONVERTERS[name] for name in sorted(CONVERTERS))
