"""What a program takes and gives: its inputs and outputs as the source declares them, and arrays that fit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import attrs
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir.core import DYNAMIC, IrError, Program, RankedTensor, ScalarType, Type
from tx8ir.core.schema import Check
from tx8ir.core.weights.safetensors import STORAGE as FORMATS
from tx8ir.dialects import pd
from tx8ir.support.screen import fitting_repr
from tx8ir.target.formats import F64, TF32
from tx8ir.target.rounding import convert


class InputError(ValueError):
    """What was given to an executable does not fit its inputs: a name is missing or unknown, a shape or a type is
    wrong, or a value does not fit the integer type the chip computes in. The message says what was expected and
    what was given.
    """


Extent = Annotated[int, Check("an extent from 0 to 2**63 - 1, or -1 where it is dynamic", lambda n: -1 <= n < 1 << 63)]
Element = Annotated[str, Check(f"an element type, one of {', '.join(FORMATS)}", lambda name: name in FORMATS)]


@attrs.frozen
class Port:
    """One input or output as the source program declares it: public name, shape (-1 where dynamic) and element type
    name.
    """

    name: str
    shape: tuple[Extent, ...] = attrs.field(converter=tuple)
    element: Element

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy type of the element."""
        return ScalarType.of(self.element).dtype

    def __str__(self) -> str:
        return f"{self.name}: {'x'.join(['?' if n == DYNAMIC else str(n) for n in self.shape] + [self.element])}"


@attrs.frozen
class Signature:
    """Inputs and outputs of a program: arguments and results of ``main``, and after them its feeds and fetches.

    state: the variables that an executable keeps from run to run, by their names in the weight store.
    """

    __repr__ = fitting_repr

    inputs: tuple[Port, ...] = attrs.field(converter=tuple)
    outputs: tuple[Port, ...] = attrs.field(converter=tuple)
    state: tuple[Port, ...] = attrs.field(default=(), converter=tuple)

    @classmethod
    def of(cls, program: Program) -> Signature:
        """The signature of a program. Raises `IrError` when an input or output is not a tensor."""
        inputs, outputs = dict(program.inputs), dict(program.outputs)
        for op in program.main.walk():
            if isinstance(op, pd.FeedOp):
                inputs.setdefault(op.feed_name, op.out.type)
            elif isinstance(op, pd.FetchOp):
                outputs.setdefault(op.fetch_name, op.x.type)

        def ports(what: str, types: Mapping[str, Type]) -> list[Port]:
            found: list[Port] = []
            for name, kind in types.items():
                if not isinstance(kind, RankedTensor):
                    raise IrError(f"{what} '{name}' has type {kind}; only tensors can be compiled", op=program.main)
                found.append(Port(name, kind.shape, str(kind.element)))
            return found

        return cls(ports("input", inputs), ports("output", outputs))


def by_name(
    signature: Signature, given: Sequence[ArrayLike | Mapping[str, ArrayLike]], named: Mapping[str, ArrayLike]
) -> dict[str, ArrayLike]:
    """Inputs by name, from what was given by position (or in one mapping) and what was given by keyword.

    Raises `InputError` when an input is given twice, or there are more than the signature has.
    """
    expected = ", ".join(map(str, signature.inputs)) or "none"
    if len(given) == 1 and isinstance(given[0], Mapping):
        found, where = dict(given[0]), "in the mapping"
    elif len(given) > len(signature.inputs):
        raise InputError(f"{len(given)} inputs are given by position; expected inputs: {expected}")
    else:
        found, where = {port.name: value for port, value in zip(signature.inputs, given, strict=False)}, "by position"
        mappings = [name for name, value in found.items() if isinstance(value, Mapping)]
        if mappings:
            raise InputError(f"input {quoted(mappings)} is an array, not a mapping; expected inputs: {expected}")
    twice = [name for name in named if name in found]
    if twice:
        raise InputError(f"input{'s'[: len(twice) > 1]} {quoted(twice)} given {where} and as keyword")
    return {**cast("dict[str, ArrayLike]", found), **named}


def prepare_inputs(
    signature: Signature, given: Mapping[str, ArrayLike], elements: Mapping[str, ScalarType]
) -> dict[str, NDArray[Any]]:
    """Checks `given` against a signature and converts it to the element types that a compiled program reads.

    elements: by input name; an input that is not in it was found to be unused: it is checked, and left out.

    Raises `InputError`.
    """
    ports = {port.name: port for port in signature.inputs}
    expected = "; expected inputs: " + (", ".join(map(str, ports.values())) or "none")
    unknown = [name for name in given if name not in ports]
    if unknown:
        raise InputError(f"unknown input{'s'[: len(unknown) > 1]} {quoted(unknown)}{expected}")
    missing = [name for name in ports if name not in given]
    if missing:
        raise InputError(f"missing input{'s'[: len(missing) > 1]} {quoted(missing)}{expected}")
    arrays = {name: _checked(port, given[name]) for name, port in ports.items()}
    return {name: _to_device(ports[name], arrays[name], element) for name, element in elements.items()}


def quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def kind_of(dtype: np.dtype[Any]) -> str:
    """``float``, ``integer``, ``bool`` or ``other``; the small formats of ml_dtypes count as what they are."""
    if dtype.kind == "b":
        return "bool"
    if dtype.kind in "iu" or (dtype.kind == "V" and "int" in dtype.name):
        return "integer"
    if dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name):
        return "float"
    return "other"


def _checked(port: Port, value: ArrayLike) -> NDArray[Any]:
    """`value` as an array of the port's shape and of a type the port takes, or an `InputError`."""
    try:
        array = np.asarray(value)
    except ValueError as error:  # nested sequences of different lengths
        raise InputError(f"input '{port.name}' cannot be made an array: {error}") from error
    wanted, got = kind_of(port.dtype), kind_of(array.dtype)
    if wanted != got:
        raise InputError(f"input '{port.name}' takes {wanted} values ({port.element}); given: {array.dtype}")
    fits = len(array.shape) == len(port.shape) and all(
        want in (DYNAMIC, have) for want, have in zip(port.shape, array.shape, strict=True)
    )
    if not fits:
        raise InputError(f"input '{port.name}' has shape {_shape(port.shape)}; given: {_shape(array.shape)}")
    return array


def _shape(shape: tuple[int, ...]) -> str:
    return f"({', '.join('?' if n == DYNAMIC else str(n) for n in shape)})"


def _to_device(port: Port, array: NDArray[Any], scalar: ScalarType) -> NDArray[Any]:
    """`array` in the format the compiled program reads; integers that do not fit are an `InputError`."""
    if kind_of(array.dtype) == "integer":
        low, high = scalar.format.limits
        outside = (array < low) | (array > high)
        if outside.any():
            index = tuple(int(i) for i in np.argwhere(outside)[0])
            raise InputError(
                f"input '{port.name}' is computed in {scalar}, from {low} to {high}; "
                f"given: {array[index]} at index {_shape(index)}"
            )
        return array.astype(scalar.dtype)
    if array.dtype == scalar.dtype and scalar.format is not TF32:  # of which an array may hold more than tf32 has
        return array
    if kind_of(array.dtype) == "bool":
        return array.astype(scalar.dtype)
    return convert(array.astype(np.float64), F64, scalar.format)  # widening, then one rounding


def to_port(port: Port, outputs: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """A result in the type the source program declares: widening, therefore exact. The chip gives no empty ones."""
    if 0 in port.shape:
        return np.empty(port.shape, port.dtype)
    return outputs[port.name].astype(port.dtype, copy=False)
