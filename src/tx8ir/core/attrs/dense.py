"""Dense attributes: arrays of numbers written in the program."""

# The interning constructors reach into the slots of what they make.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import Any, ClassVar, Final, cast

import numpy as np
from numpy.typing import NDArray

from .attributes import CONVERSIONS, Valued, float_text, intern
from .elements import scalar_type_of
from .floats import bits_float
from .types import RankedTensor, ScalarType, VTensorType, i1, tf32

_DENSE_TEXT_LIMIT: Final = 64
"""Above this many elements a dense attribute prints its bytes as one hex string."""
DENSE_LIMIT: Final = 1 << 26
"""The most elements of a dense attribute."""


class DenseAttr(Valued):
    """Numbers in a tensor type: `dense<[[1.0, 2.0]]> : !pd.vtensor<1x2xf32>`. `value` is a read-only array.

    For small constants: data of weights lives in the `WeightStore`, because interning looks at every byte.
    Two of them are one object when type and bytes are equal, so zeros of both signs differ.

    Args:
        value: anything `np.asarray` takes; converted to the element type's dtype when that loses nothing.
        type: a static ranked tensor type; by default a vtensor of the array's shape and dtype.

    Raises:
        TypeError: a dtype without a scalar type. ValueError: a shape that is not the type's, a value lost, or more
            than `DENSE_LIMIT` elements.
    """

    __slots__ = ("type",)
    type: RankedTensor
    _interned: ClassVar[dict[tuple[RankedTensor, bytes], DenseAttr]] = {}

    def __new__(cls, value: Any, type: RankedTensor | None = None) -> DenseAttr:
        array: NDArray[Any] = np.asarray(value)
        if type is None:
            type = VTensorType(array.shape, scalar_type_of(array.dtype))
        dtype = type.element.dtype
        if array.shape != type.shape:
            raise ValueError(f"an array of shape {array.shape} does not fit {type}")
        if array.size > DENSE_LIMIT:
            raise ValueError(f"{type} has more than {DENSE_LIMIT} elements; they belong into the weight store")
        if array.dtype != dtype:
            with np.errstate(all="ignore"):
                converted = array.astype(dtype)
                same = (converted.astype(array.dtype) == array) | (array != array)
            if not bool(np.all(same)):
                raise ValueError(f"values of dtype {array.dtype} are lost in {type}; convert them first")
            array = converted
        data = _canonical(_stored(array), type)
        size = dtype.itemsize
        if len(data) > size and data == data[:size] * (len(data) // size):
            data = data[:size]  # equal elements are stored once
        found = cls._interned.get((type, data))
        if found is None:
            # Over bytes, so read-only; one element is a view of the whole shape.
            stored = np.frombuffer(data, dtype)
            array = stored.reshape(type.shape) if stored.size == array.size else np.broadcast_to(stored, type.shape)
            found = intern(cls, cls._interned, (type, data), array)
            found.type = type
        return found

    @property
    def is_splat(self) -> bool:
        """True when there are several elements, all with the same bits."""
        return _is_splat_view(cast("NDArray[Any]", self._value))

    def __reduce__(self) -> tuple[Any, ...]:
        return DenseAttr, (self._value, self.type)

    def _make_text(self) -> str:
        array = cast("NDArray[Any]", self._value)
        element = self.type.element
        if self.is_splat:
            body = _number_texts(np.ascontiguousarray(array[(0,) * array.ndim]).reshape(1), element)[0]
        elif array.size > _DENSE_TEXT_LIMIT:
            body = f'"0x{array.tobytes().hex().upper()}"'
        else:
            body = nested_text(_number_texts(array.reshape(-1), element), array.shape)
        return f"dense<{body}> : {self.type}"


def _is_splat_view(array: NDArray[Any]) -> bool:
    """True for several elements that are one in memory."""
    return array.size > 1 and not any(
        stride for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1
    )


def _stored(array: NDArray[Any]) -> NDArray[Any]:
    """The elements to keep: the one of a splat view, or all of them."""
    return np.ascontiguousarray(array[(slice(0, 1),) * array.ndim] if _is_splat_view(array) else array)


def _canonical(array: NDArray[Any], type: RankedTensor) -> bytes:
    """The bytes of `array`, one pattern for each value. Raises ValueError for more precision than the element has."""
    element = type.element
    if element is i1:
        return (array.view(np.uint8) != 0).tobytes()
    if element.format.bits == 4:  # NumPy ignores the upper half of the byte
        return (array.view(np.uint8) & 0x0F).tobytes()
    if element is tf32 and bool(np.any(array.view(np.uint32) & 0x1FFF)):
        raise ValueError(f"the array has more mantissa bits than {type}; round it first")
    return array.tobytes()


def _number_texts(array: NDArray[Any], element: ScalarType) -> list[str]:
    """The literals of a flat array."""
    if element is i1:
        return ["true" if v else "false" for v in array.tolist()]
    if element.is_float:
        words = array.view(f"<u{array.itemsize}").tolist()
        return [float_text(bits_float(word, element.format), element) for word in words]
    return [str(int(v)) for v in array]


def nested_text(parts: list[str], shape: tuple[int, ...]) -> str:
    """Row-major `parts` in the brackets of `shape`; level by level from the innermost axis."""
    if not parts and shape:
        return ""
    for extent in reversed(shape):
        parts = [f"[{', '.join(parts[i : i + extent])}]" for i in range(0, len(parts), extent)]
    return parts[0]


CONVERSIONS[np.ndarray] = DenseAttr
