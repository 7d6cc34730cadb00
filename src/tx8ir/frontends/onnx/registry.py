"""The table of converters: one function per ONNX operator, with the versions and attributes it understands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from tx8ir.core import Operation

if TYPE_CHECKING:
    from .node import OnnxNode
    from .structure import Found

Converted: TypeAlias = "Found | Operation | Sequence[Found | Operation | None]"
"""What a converter returns: its outputs, in the order of the ONNX operator; None for one that is not there. Trailing
optional ones may be missing."""

ConvertFunction: TypeAlias = "Callable[[OnnxNode], Converted]"

ONNX_DOMAINS: Final = ("", "ai.onnx")
"""The two spellings of the standard operator set's domain."""


@attrs.frozen
class Converter:
    """How one ONNX operator is imported.

    Attributes:
        operator: its name.
        function: builds the `pd` operations and returns the outputs.
        first: oldest version of the operator (the opset that introduced the version) it understands.
        last: newest version it understands. A later version that onnx may add is refused.
        attributes: names of the attributes it understands; any other is refused.
        domain: the operator set; empty for the standard one.
        random: whether it gives other results each time.
    """

    operator: str
    function: ConvertFunction
    first: int
    last: int
    attributes: tuple[str, ...]
    domain: str = ""
    random: bool = False


_CONVERTERS: Final[dict[tuple[str, str], Converter]] = {}


def find_converter(domain: str, operator: str) -> Converter | None:
    """The converter of an operator, or None."""
    return _CONVERTERS.get(("" if domain in ONNX_DOMAINS else domain, operator))


def converter(
    operator: str,
    *,
    first: int,
    last: int,
    attributes: Iterable[str] = (),
    domain: str = "",
    random: bool = False,
) -> Callable[[ConvertFunction], ConvertFunction]:
    """Register the decorated function for `operator`; stacked, one function serves several operators."""

    def register(function: ConvertFunction) -> ConvertFunction:
        if (domain, operator) in _CONVERTERS:
            name = f"{domain}::{operator}" if domain else operator
            raise ValueError(f"ONNX operator {name} has two converters")
        _CONVERTERS[domain, operator] = Converter(operator, function, first, last, tuple(attributes), domain, random)
        return function

    return register


def register_operator(
    operator: str, *, domain: str, first: int = 1, last: int | None = None, attributes: Iterable[str] = ()
) -> Callable[[ConvertFunction], ConvertFunction]:
    """Register the decorated function as how an operator of a domain of yours is imported.

    The function takes an `OnnxNode`, which gives operands and attributes, builds operations (of `pd` or of a dialect of
    yours), and returns the outputs.

    Args:
        operator: its name.
        domain: its domain.
        first: oldest version of the domain's operator set that it is for.
        last: newest version; any later one by default.
        attributes: names of the attributes it understands; a node with any other is refused.

    Raises:
        ValueError: the operator has a converter.
    """
    newest = 1 << 31 if last is None else last
    return converter(operator, first=first, last=newest, attributes=attributes, domain=domain)


def supported_ops() -> tuple[Converter, ...]:
    """All converters, by domain and operator name."""
    return tuple(_CONVERTERS[key] for key in sorted(_CONVERTERS))
