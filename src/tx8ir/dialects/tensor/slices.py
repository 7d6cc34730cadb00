"""Parts of a tensor: read, and put into another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tx8ir.core import (
    DYNAMIC,
    ConditionallySpeculatable,
    InferTypes,
    Operand,
    Result,
    Type,
    Value,
    VariadicOperand,
    VerifyError,
    attribute,
    f32,
    operand,
    result,
    tensor_type,
    variadic_operand,
)
from tx8ir.core.attrs.builtin_types import element_of
from tx8ir.core.text.assembly_format import DYNAMIC_INDEX
from tx8ir.dialects.samples import Sample

from .declaration import (
    INDEX,
    Array,
    TensorOp,
    extents_in_type,
    is_ranked,
    mixed,
    shape_of,
    verify_mixed,
)

_X = tensor_type((4, 6), f32)


def is_reduction(shape: Sequence[int], reduced: Sequence[int]) -> bool:
    """Whether a shape is another without some of its extents of 1."""
    rest = list(reduced)
    for extent in shape:
        if rest and (DYNAMIC in (extent, rest[0]) or extent == rest[0]):
            rest.pop(0)
        elif extent != 1:
            return False
    return not rest


class SliceOp(TensorOp, ConditionallySpeculatable):
    """Base: a part of a tensor is said by an offset, a size and a stride for each dimension."""

    offsets: VariadicOperand
    sizes: VariadicOperand
    strides: VariadicOperand
    static_offsets: tuple[int, ...]
    static_sizes: tuple[int, ...]
    static_strides: tuple[int, ...]

    def verify_slice(self, whole: Value, part: Value) -> None:
        """Check numbers and types. Raises VerifyError."""
        rank = len(shape_of(whole))
        verify_mixed(self, "offsets", self.static_offsets, self.offsets, rank)
        verify_mixed(self, "sizes", self.static_sizes, self.sizes, rank)
        verify_mixed(self, "strides", self.static_strides, self.strides, rank)
        sizes = extents_in_type(self.static_sizes)
        if element_of(whole.type) is not element_of(part.type) or not is_reduction(sizes, shape_of(part)):
            raise VerifyError(
                f"{self.name}: {part.type} is not part of {whole.type} with the sizes {list(sizes)}", self
            )
        if self._is_outside(shape_of(whole)):
            raise VerifyError(f"{self.name} reaches outside of {whole.type}", self)

    def _is_outside(self, shape: tuple[int, ...]) -> bool:
        rows = zip(shape, self.static_offsets, self.static_sizes, self.static_strides, strict=True)
        return any(extent != DYNAMIC and DYNAMIC_INDEX not in row and not _fits(extent, *row) for extent, *row in rows)

    def can_fail_in(self, whole: Value) -> bool:
        """Whether the part may reach outside of a tensor."""
        numbers = (*self.static_offsets, *self.static_sizes, *self.static_strides)
        return DYNAMIC in shape_of(whole) or DYNAMIC_INDEX in numbers

    def places(self, whole: Array, values: Sequence[Array]) -> tuple[slice, ...]:
        """The part, as NumPy says it. Raises IndexError where it reaches outside."""
        counts = (len(self.offsets), len(self.offsets) + len(self.sizes))
        offsets = mixed(self.static_offsets, values[: counts[0]])
        sizes = mixed(self.static_sizes, values[counts[0] : counts[1]])
        strides = mixed(self.static_strides, values[counts[1] :])
        rows = list(zip(whole.shape, offsets, sizes, strides, strict=True))
        if not all(_fits(*row) for row in rows):
            raise IndexError(f"offsets {offsets}, sizes {sizes} and strides {strides} leave a tensor {whole.shape}")
        return tuple(
            slice(at, at + (size - 1) * step + 1 if size else at, step) if step > 0 else _backwards(at, size, step)
            for _, at, size, step in rows
        )


def _fits(extent: int, offset: int, size: int, stride: int) -> bool:
    last = offset + (size - 1) * stride
    return size == 0 or (size > 0 and stride != 0 and 0 <= offset < extent and 0 <= last < extent)


def _backwards(offset: int, size: int, stride: int) -> slice:
    end = offset + size * stride
    return slice(offset, end if end >= 0 else None, stride) if size else slice(0, 0)


_NUMBERS = {"static_offsets": (1, 0), "static_sizes": (2, 3), "static_strides": (1, 2)}
_SOME = {"static_offsets": (DYNAMIC_INDEX, 0), "static_sizes": (2, DYNAMIC_INDEX), "static_strides": (1, 1)}


class ExtractSliceOp(SliceOp, name="tensor.extract_slice"):
    """out = the part of a tensor with an offset, a size and a stride for each dimension.

    Its type may leave out dimensions of size 1. Evaluating fails where the part reaches outside of the tensor.

        %0 = tensor.extract_slice %x[%i, 0] [1, 4] [1, 2] : tensor<8x8xf32> to tensor<4xf32>
    """

    source: Operand = operand(is_ranked)
    offsets: VariadicOperand = variadic_operand(INDEX, doc="those that are not known")
    sizes: VariadicOperand = variadic_operand(INDEX, doc="those that are not known")
    strides: VariadicOperand = variadic_operand(INDEX, doc="those that are not known")
    static_offsets: tuple[int, ...] = attribute()
    static_sizes: tuple[int, ...] = attribute()
    static_strides: tuple[int, ...] = attribute()
    out: Result = result(is_ranked)

    assembly_format = (
        "$source `` index-list($offsets, $static_offsets) index-list($sizes, $static_sizes) "
        "index-list($strides, $static_strides) attr-dict `:` type($source) `to` type($out)"
    )

    def verify_op(self) -> None:
        self.verify_slice(self.source, self.out)

    def can_fail(self) -> bool:
        return self.can_fail_in(self.source)

    def compute(self, array: Array, *values: Array) -> Any:
        part = array[self.places(array, values)]
        shape = shape_of(self.out)
        return part if len(shape) == part.ndim else part.reshape(_without_ones(part.shape, shape))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        none: tuple[Type, ...] = ()
        yield Sample(cls, (_X, none, none, none), {**_NUMBERS, "out": tensor_type((2, 3), f32)})
        yield Sample(cls, (_X, (INDEX,), (INDEX,), none), {**_SOME, "out": tensor_type((2, DYNAMIC), f32)})
        reduced = {"static_offsets": (1, 0), "static_sizes": (1, 3), "static_strides": (1, 1)}
        yield Sample(cls, (_X, none, none, none), {**reduced, "out": tensor_type((3,), f32)})


class InsertSliceOp(SliceOp, InferTypes, name="tensor.insert_slice"):
    """out = `dest` with `source` in place of a part of it; see `tensor.extract_slice`.

    %0 = tensor.insert_slice %part into %x[%i, 0] [1, 4] [1, 2] : tensor<4xf32> into tensor<8x8xf32>
    """

    source: Operand = operand(is_ranked)
    dest: Operand = operand(is_ranked)
    offsets: VariadicOperand = variadic_operand(INDEX, doc="those that are not known")
    sizes: VariadicOperand = variadic_operand(INDEX, doc="those that are not known")
    strides: VariadicOperand = variadic_operand(INDEX, doc="those that are not known")
    static_offsets: tuple[int, ...] = attribute()
    static_sizes: tuple[int, ...] = attribute()
    static_strides: tuple[int, ...] = attribute()
    out: Result = result(is_ranked)

    assembly_format = (
        "$source `into` $dest `` index-list($offsets, $static_offsets) index-list($sizes, $static_sizes) "
        "index-list($strides, $static_strides) attr-dict `:` type($source) `into` type($dest)"
    )

    def infer_types(self) -> tuple[Type, ...]:
        return (self.dest.type,)

    def verify_op(self) -> None:
        self.verify_slice(self.dest, self.source)

    def can_fail(self) -> bool:
        return self.can_fail_in(self.dest)

    def compute(self, part: Array, whole: Array, *values: Array) -> Any:
        made = np.array(whole)
        places = self.places(whole, values)
        made[places] = part.reshape(made[places].shape)
        return made

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        none: tuple[Type, ...] = ()
        yield Sample(cls, (tensor_type((2, 3), f32), _X, none, none, none), _NUMBERS)
        yield Sample(cls, (tensor_type((2, DYNAMIC), f32), _X, (INDEX,), (INDEX,), none), _SOME)
        reduced = {"static_offsets": (1, 0), "static_sizes": (1, 3), "static_strides": (1, 1)}
        yield Sample(cls, (tensor_type((3,), f32), _X, none, none, none), reduced)


def _without_ones(shape: tuple[int, ...], reduced: Sequence[int]) -> tuple[int, ...]:
    """A shape without as many of its extents of 1 as another one leaves out, the first that do."""
    rest, kept = list(reduced), list[int]()
    for place, extent in enumerate(shape):
        must_keep = len(shape) - place == len(rest)
        if rest and (extent == rest[0] or (rest[0] == DYNAMIC and (extent != 1 or must_keep))):
            rest.pop(0)
            kept.append(extent)
    return tuple(kept)
