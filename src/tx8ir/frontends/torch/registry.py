"""The table of converters: one function per operator and overload, with the signature it understands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import attrs

from tx8ir.core import Operation, Value

from .signatures import Signature, parse_signature

Converted: TypeAlias = "Value | Operation | Sequence[Value | Operation | None] | None"
"""What a converter returns: its results in the order of the operator; None for one that nothing may use."""

ConvertFunction: TypeAlias = "Callable[..., Converted]"
"""Takes a `TorchNode` and the arguments in the order of the signature."""


@attrs.frozen
class Converter:
    """How one operator is imported.

    Attributes:
        signature: the operator and its parameters.
        function: builds the `pd` operations and returns the results.
    """

    signature: Signature
    function: ConvertFunction

    @property
    def operator(self) -> str:
        """The operator's name with namespace and overload."""
        return self.signature.operator


_CONVERTERS: Final[dict[str, Converter]] = {}


def find_converter(operator: str) -> Converter | None:
    """The converter of an operator (`aten.add.Tensor`), or None."""
    return _CONVERTERS.get(operator)


def converter(*signatures: str) -> Callable[[ConvertFunction], ConvertFunction]:
    """Register the decorated function for operators of `aten` with these signatures."""
    return _register(signatures, "aten")


def _register(signatures: Sequence[str], namespace: str) -> Callable[[ConvertFunction], ConvertFunction]:
    parsed = [parse_signature(text, namespace) for text in signatures]

    def register(function: ConvertFunction) -> ConvertFunction:
        for signature in parsed:
            if signature.operator in _CONVERTERS:
                raise ValueError(f"operator {signature.operator} has two converters")
            _CONVERTERS[signature.operator] = Converter(signature, function)
        return function

    return register


def register_operator(signature: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as how an operator of yours is imported.

        @register_operator("my_library::scaled_add(Tensor x, Tensor y, float scale=1.0)")
        def scaled_add(node, x, y, scale):
            return pd.add(x, pd.scale(y, scale=scale))

    The function takes a `TorchNode` and the arguments in the order of the signature: tensors as values, lists as
    tuples, numbers, strings and truth values as they are, element types as `ScalarType`. It builds operations, of `pd`
    or of a dialect of yours, and returns the results.

    Args:
        signature: namespace, name, overload and parameters, in the notation of `torch.library`.

    Raises:
        ValueError: it is not a signature, or the operator has a converter.
    """
    if "::" not in signature.partition("(")[0]:
        raise ValueError(f"{signature!r} has no namespace; expected, for example, 'my::op(Tensor x)'")
    return _register([signature], "")


def supported_ops() -> tuple[Converter, ...]:
    """All converters, by name."""
    return tuple(_CONVERTERS[name] for name in sorted(_CONVERTERS))
