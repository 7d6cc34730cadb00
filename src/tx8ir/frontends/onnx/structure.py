"""Sequences and optional values: structures of tensors that are gone once a model is imported.

Their lengths are known when a program is built, so a sequence is its parts, each a value of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs
import numpy as np
import onnx
from numpy.typing import NDArray

from tx8ir.core import ScalarType, Value

from .codes import BY_DTYPE, CodedFormat
from .tensors import Known

Given: TypeAlias = "NDArray[Any] | list[Given] | None"
"""What a caller gives for an input: an array, a list of such for a sequence, None for an absent optional value."""


@attrs.frozen(eq=False)
class Parts:
    """A sequence whose length is known.

    Attributes:
        items: what it holds, in order.
        element: element type of its tensors where nothing in it tells.
    """

    items: tuple[Found, ...]
    element: ScalarType | None = None


@attrs.frozen(eq=False)
class Coded:
    """A tensor of a format that the IR has not.

    Attributes:
        value: its codes.
        format: what they are codes of.
    """

    value: Value | Known
    format: CodedFormat


@attrs.frozen(eq=False)
class Nothing:
    """An optional value that is absent."""


Found: TypeAlias = "Value | Known | Coded | Parts | Nothing"
"""What an ONNX name stands for during an import."""

Layout: TypeAlias = "str | tuple[str, CodedFormat] | list[Layout] | None"
"""How an output of a model is made of outputs of the program: one of these, the codes in one, a list, nothing."""


def structure_of(value: onnx.ValueInfoProto) -> str | None:
    """Whether an input or output is a "sequence_type" or an "optional_type"; None for the others."""
    kind = value.type.WhichOneof("value")
    return kind if kind in ("sequence_type", "optional_type") else None


def flatten(given: Mapping[str, Given]) -> dict[str, NDArray[Any]]:
    """The arrays of inputs under the names that the program's inputs have: part i of a sequence `x` is `x[i]`."""
    return dict(item for name, value in given.items() for item in _flat(name, value))


def _flat(name: str, given: Given) -> Iterator[tuple[str, NDArray[Any]]]:
    if isinstance(given, np.ndarray):
        coded = BY_DTYPE.get(given.dtype)
        yield name, given if coded is None else coded.stored(given)
    elif given is not None:
        for index, part in enumerate(given):
            yield from _flat(f"{name}[{index}]", part)


def assemble(layout: Layout, outputs: Mapping[str, NDArray[Any]]) -> Any:
    """An output of a model from outputs of the program."""
    if layout is None:
        return None
    if isinstance(layout, tuple):
        name, format = layout
        return format.given(outputs[name])
    return outputs[layout] if isinstance(layout, str) else [assemble(part, outputs) for part in layout]


def open_dimensions(value: onnx.ValueInfoProto, given: Mapping[str, int]) -> list[str]:
    """A name for each dimension of an input that its type leaves open and `given` does not give, in order."""
    tensor = value.type.tensor_type
    named = [
        dim.dim_param or f"{value.name}[{axis}]"
        for axis, dim in enumerate(tensor.shape.dim)
        if dim.WhichOneof("value") != "dim_value"
    ]
    return [] if all(name in given for name in named) else named


def parts_of(found: Sequence[Found]) -> Iterator[Value | Known]:
    """The tensors in these, in order."""
    for item in found:
        if isinstance(item, Parts):
            yield from parts_of(item.items)
        elif isinstance(item, Coded):
            yield item.value
        elif not isinstance(item, Nothing):
            yield item
