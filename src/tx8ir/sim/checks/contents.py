"""What bytes hold: a format and a layout, and when bytes written as one thing may be read as another.

Layouts are compared by where elements lie, not by name. Two tensors agree on the bytes that they share if one is a part
of the other (rows and channels differ by constants), or if both run through their elements densely there, which makes
one a reshape of the other: a channel-blocked tensor of one whole block is a dense one.
"""

from __future__ import annotations

import enum
from functools import lru_cache

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.dialects.tx8 import OperandTensor
from tx8ir.target.formats import F32, TF32, Format
from tx8ir.target.layout import element_addresses, flatten_shape, size_bytes

Integers = NDArray[np.int64]


class Order(enum.Enum):
    """How elements lie that belong to no tensor of known extents."""

    ANY = "any layout"
    """Nothing is known, or every layout is as good: all elements are equal."""
    DENSE = "dense"
    BLOCKED = "channel-blocked"
    """Of unknown extents."""


@attrs.frozen
class Content:
    """What bytes hold.

    format: of the elements; None for bytes that may be read in any format.
    tensor: the channel-blocked tensor that they belong to, by its elements' places; None without one.
    order: without a tensor, how the elements lie.
    pitch: with a tensor, bytes from one element of a block to the next, 0 for the format's own.
    """

    format: Format | None
    tensor: OperandTensor | None = None
    order: Order = Order.ANY
    pitch: int = 0

    def __str__(self) -> str:
        if self.tensor is None:
            what = self.format.name if self.format is not None else "bytes of any format"
            return what if self.order is Order.ANY else f"{self.order.value} {what}"
        shape = "x".join(map(str, self.tensor.shape))
        name = self.format.name if self.format is not None else "bytes"
        spread = f" spread to {self.pitch} bytes" if self.pitch else ""
        return f"{self.tensor.layout.value} {shape} {name}{spread}"

    @property
    def step(self) -> int:
        """Bytes from one element of a block to the next."""
        return self.pitch or (self.format.bytes if self.format is not None else 1)

    def flat(self) -> Content:
        """The same without the extents of a tensor, nor how its elements lie."""
        return self if self.tensor is None else Content(self.format)

    def with_format(self, format: Format | None, pitch: int = 0) -> Content:
        """The same layout of elements of another format."""
        if self.tensor is None:
            return Content(format, None, self.order)
        if format is None:
            return Content(None)
        return Content(format, self.tensor, Order.ANY, 0 if pitch == format.bytes else pitch)


UNKNOWN = Content(None)
"""Bytes that may be anything: those of ui8 ports, zeros, and what no check follows."""


def of_tensor(tensor: OperandTensor) -> Content:
    """What a tensor's bytes hold that an instruction or a declaration laid out."""
    if not tensor.layout.is_blocked:
        return Content(tensor.format, None, Order.DENSE)
    n, hw, c = flatten_shape(tensor.shape, tensor.layout)
    return Content(tensor.format, OperandTensor((n, 1, hw, c), tensor.format, tensor.layout))


@attrs.frozen
class Reading:
    """How an instruction takes the bytes of an operand.

    format: of the elements.
    tensor: that it takes them for; None when it runs over elements as they lie.
    lanes: whether their layout does not matter to the operand by itself.
    count: elements, without a tensor.
    pitch: bytes from one to the next, without a tensor.
    """

    format: Format
    tensor: OperandTensor | None
    lanes: bool
    count: int
    pitch: int

    def __str__(self) -> str:
        if self.tensor is not None:
            return str(self.tensor)
        return f"{self.format.name}" if self.lanes else f"dense {self.format.name}"

    @property
    def width(self) -> int:
        """Bytes from one element to the next."""
        return self.format.bytes if self.tensor is not None and not self.format.is_packed else self.pitch

    @property
    def places(self) -> Integers:
        """The first byte of each element, from the begin of the operand."""
        if self.tensor is not None and self.tensor.layout.is_blocked:
            return places(self.tensor)
        return _spaced(self.count, self.pitch)


def agrees(reading: Reading, content: Content, distance: int, elements: Integers | None) -> bool:
    """Whether elements of an operand may be read from bytes of a content.

    `elements` are their numbers in the operand, None for all; `distance` is from the begin of the operand to that of
    the content's tensor.
    """
    if content.format is None or not same_format(reading.format, content.format):
        return content.format is None
    if reading.lanes:
        return True
    blocked = reading.tensor is not None and reading.tensor.layout.is_blocked
    if content.tensor is None:
        if content.order is Order.ANY or blocked is (content.order is Order.BLOCKED):
            return True
        at, numbers = _taken(reading.places, elements)
        return len(at) <= 1 or (blocked and _is_constant(numbers * reading.width - at))
    if reading.tensor is not None and distance == 0 and not content.pitch and content == of_tensor(reading.tensor):
        return True
    at, numbers = _taken(reading.places, elements)
    others = element_numbers(content, at - distance)
    if (others < 0).any():
        return False  # padding lanes are taken for elements
    if _is_constant(numbers * reading.width - at) and _is_constant(others * content.step - (at - distance)):
        return True
    if not blocked:
        return False
    assert reading.tensor is not None
    channels, other_channels = reading.tensor.shape[3], content.tensor.shape[3]
    return _is_constant(numbers // channels - others // other_channels) and _is_constant(
        numbers % channels - others % other_channels
    )


def meet(a: Content, a_distance: int, b: Content, b_distance: int, places_a: Integers, places_b: Integers) -> bool:
    """Whether elements of two operands at the same lanes are the same elements of tensors of one layout.

    `places` are the bytes of the lanes from the begin of each operand, `distance` is from there to the tensor.
    """
    if a.tensor is None and b.tensor is None:
        return a.order is b.order or Order.ANY in (a.order, b.order)
    if a.tensor is None or b.tensor is None:
        flat, tensor, distance, places_ = (
            (a, b, b_distance, places_b) if a.tensor is None else (b, a, a_distance, places_a)
        )
        if flat.order is not Order.DENSE:
            return True
        offsets = places_ - distance
        numbers = element_numbers(tensor, offsets)
        inside = numbers >= 0
        return _is_constant(numbers[inside] * tensor.step - offsets[inside])
    if a.with_format(F32) == b.with_format(F32) and a_distance * b.step == b_distance * a.step:
        return True
    at, bt = places_a - a_distance, places_b - b_distance
    numbers, others = element_numbers(a, at), element_numbers(b, bt)
    inside = (numbers >= 0) & (others >= 0)
    at, bt, numbers, others = at[inside], bt[inside], numbers[inside], others[inside]
    if _is_constant(numbers * a.step - at) and _is_constant(others * b.step - bt):
        return True
    c, d = a.tensor.shape[3], b.tensor.shape[3]
    return _is_constant(numbers // c - others // d) and _is_constant(numbers % c - others % d)


def lanes_meet(
    src: Content, distance: int, unit: Content, at: int, count: int, units: int, blocks: int, width: int
) -> bool:
    """Whether the vector of a VuV goes with how its other operand lies: each of its elements meets one channel.

    `count` elements of `src` for each of `blocks` passes over `units` elements of the vector, of `width` bytes.
    """
    if unit.tensor is None and unit.order is Order.ANY:
        return True
    elements = np.arange(count * blocks)
    lanes = elements // count * units + elements % count % units
    if unit.order is Order.BLOCKED or (src.tensor is None and unit.tensor is not None):
        return meet(src, distance, unit, at, elements * width, lanes * width)
    if src.tensor is None:  # channel-blocked of unknown extents: the vector is a block, or a tail
        return src.order is not Order.BLOCKED or units in {4, 8, 16, 32, 64, 128, count}
    offsets = elements * width - distance
    numbers = element_numbers(src, offsets)
    inside = numbers >= 0
    if _is_constant(numbers[inside] * src.step - offsets[inside]):
        return True  # rows as they would lie densely
    channels = numbers % src.tensor.shape[3]
    if unit.tensor is None:
        return _is_constant((channels - lanes)[inside])
    others = element_numbers(unit, lanes * width - at)
    return _is_constant((channels - others % unit.tensor.shape[3])[inside & (others >= 0)])


def covers(content: Content, distance: int, nbytes: int) -> bool:
    """Whether `nbytes` bytes hold all elements of a content's tensor, `distance` bytes after the first."""
    assert content.tensor is not None
    return distance == 0 and _slots(content.tensor) * content.step <= nbytes


@lru_cache(maxsize=4096)
def without_extents(content: Content, distance: int, nbytes: int) -> Content:
    """What a strided copy makes of a channel-blocked tensor: where it is a dense one, either; else of any extents."""
    offsets = np.arange(0, nbytes, content.step) - distance
    numbers = element_numbers(content, offsets)
    inside = numbers >= 0
    dense = _is_constant(numbers[inside] * content.step - offsets[inside])
    return Content(content.format, None, Order.ANY if dense else Order.BLOCKED)


@lru_cache(maxsize=1024)
def order_of(content: Content) -> Order:
    """How the elements of a content lie, without the extents of its tensor."""
    tensor = content.tensor
    if tensor is None:
        return content.order
    plain = Content(tensor.format, tensor)
    return without_extents(plain, 0, size_bytes(tensor.shape, tensor.format, tensor.layout)).order


def same_format(a: Format, b: Format) -> bool:
    """Whether elements of one format can be taken for those of the other: f32 for tf32, and any for plain words."""
    return a is b or (a.bits == b.bits and ({a, b} == {F32, TF32} or a.name.startswith("u") or b.name.startswith("u")))


def element_numbers(content: Content, offsets: Integers) -> Integers:
    """The numbers, in row-major order, of the elements at `offsets` from the begin of a content's tensor.

    -1 for padding lanes, gaps, what is outside, and between elements.
    """
    tensor = content.tensor
    assert tensor is not None
    slots, rest = np.divmod(offsets, content.step)
    found = _numbers(tensor)
    inside = (slots >= 0) & (slots < len(found)) & (rest == 0)
    result = np.full(offsets.shape, -1, np.int64)
    result[inside] = found[slots[inside]]
    return result


def _taken(places_: Integers, elements: Integers | None) -> tuple[Integers, Integers]:
    if elements is None:
        return places_, np.arange(len(places_))
    return places_[elements], elements


def _is_constant(values: Integers) -> bool:
    return bool((values == values[0]).all()) if len(values) else True


@lru_cache(maxsize=1024)
def _slots(tensor: OperandTensor) -> int:
    """The slots of a tensor up to its last element."""
    return int(places(tensor).max()) // tensor.format.bytes + 1


@lru_cache(maxsize=256)
def _spaced(count: int, pitch: int) -> Integers:
    return np.arange(count) * pitch


@lru_cache(maxsize=256)
def places(tensor: OperandTensor) -> Integers:
    """The first byte of each element of a channel-blocked tensor, from its begin."""
    return element_addresses(tensor.shape, tensor.format, tensor.layout) * tensor.format.bytes


@lru_cache(maxsize=256)
def _numbers(tensor: OperandTensor) -> Integers:
    """The element in each slot of the tensor, -1 in padding lanes and gaps."""
    found = np.full(size_bytes(tensor.shape, tensor.format, tensor.layout) // tensor.format.bytes, -1, np.int64)
    found[places(tensor) // tensor.format.bytes] = np.arange(np.prod(tensor.shape))
    return found
