"""Single elements of a tensor, and how many it has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tx8ir.core import (
    DYNAMIC,
    Attribute,
    ConditionallySpeculatable,
    InferTypes,
    IntAttr,
    Operand,
    Result,
    Type,
    Value,
    VariadicOperand,
    VerifyError,
    f32,
    i1,
    operand,
    result,
    tensor_type,
    variadic_operand,
)
from tx8ir.core.attrs.builtin_types import element_of
from tx8ir.dialects.samples import Sample

from .construction import ByRegionOp, EmptyOp, FromElementsOp, SplatOp
from .declaration import INDEX, Array, TensorOp, is_inside, is_ranked, is_tensor, known_index, place_in, shape_of

_X = tensor_type((2, 3), f32)


class ExtractOp(TensorOp, InferTypes, ConditionallySpeculatable, name="tensor.extract"):
    """out = the element of a tensor at a place. Evaluating fails outside of it.

    %0 = tensor.extract %x[%i, %j] : tensor<2x3xf32>
    """

    tensor: Operand = operand(is_ranked)
    indices: VariadicOperand = variadic_operand(INDEX, doc="one for each dimension")
    out: Result = result()

    assembly_format = "$tensor `[` $indices `]` attr-dict `:` type($tensor)"

    def infer_types(self) -> tuple[Type, ...]:
        return (element_of(self.tensor.type),)

    def verify_op(self) -> None:
        _verify_place(self, self.tensor, self.indices)

    def can_fail(self) -> bool:
        return not is_inside(self.indices, shape_of(self.tensor))

    def compute(self, array: Array, *indices: Array) -> Any:
        return array[place_in(array, indices)]

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        made = self.tensor.defining_op
        if isinstance(made, SplatOp) and not self.can_fail():
            return made.input
        if isinstance(made, FromElementsOp) and not self.can_fail():
            place = [known_index(i) or 0 for i in self.indices]
            shape = shape_of(self.tensor)
            return made.elements[int(np.ravel_multi_index(place, shape)) if place else 0]
        return None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (_X, (INDEX, INDEX)), {})
        yield Sample(cls, (tensor_type((), i1), ()), {})
        yield Sample(cls, (tensor_type((DYNAMIC,), INDEX), (INDEX,)), {})


class InsertOp(TensorOp, InferTypes, ConditionallySpeculatable, name="tensor.insert"):
    """out = a tensor with another element at a place. Evaluating fails outside of it.

    %0 = tensor.insert %e into %x[%i, %j] : tensor<2x3xf32>
    """

    scalar: Operand = operand()
    dest: Operand = operand(is_ranked)
    indices: VariadicOperand = variadic_operand(INDEX, doc="one for each dimension")
    out: Result = result()

    assembly_format = "$scalar `into` $dest `[` $indices `]` attr-dict `:` type($dest) element-type($scalar, $dest)"

    def infer_types(self) -> tuple[Type, ...]:
        return (self.dest.type,)

    def verify_op(self) -> None:
        _verify_place(self, self.dest, self.indices)
        if self.scalar.type is not element_of(self.dest.type):
            raise VerifyError(f"{self.name} puts {self.scalar.type} into {self.dest.type}", self)

    def can_fail(self) -> bool:
        return not is_inside(self.indices, shape_of(self.dest))

    def compute(self, number: Array, array: Array, *indices: Array) -> Any:
        made = np.array(array)
        made[place_in(array, indices)] = number
        return made

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (f32, _X, (INDEX, INDEX)), {})
        yield Sample(cls, (i1, tensor_type((), i1), ()), {})


def _verify_place(op: Any, tensor: Value, indices: Sequence[Value]) -> None:
    if len(indices) != len(shape_of(tensor)):
        raise VerifyError(f"{op.name} has {len(indices)} indices of {tensor.type}", op)


class DimOp(TensorOp, ConditionallySpeculatable, name="tensor.dim"):
    """out = the extent of a dimension. Evaluating fails where there is no such dimension.

    %0 = tensor.dim %x, %axis : tensor<?x3xf32>
    """

    source: Operand = operand(is_tensor)
    index: Operand = operand(INDEX)
    out: Result = result(INDEX)

    assembly_format = "attr-dict $source `,` $index `:` type($source)"

    def can_fail(self) -> bool:
        shape, axis = getattr(self.source.type, "shape", None), known_index(self.index)
        return shape is None or axis is None or not 0 <= axis < len(shape)

    def compute(self, array: Array, axis: Array) -> Any:
        if not 0 <= int(axis) < array.ndim:
            raise IndexError(f"a tensor of rank {array.ndim} has no dimension {axis}")
        return np.int64(array.shape[int(axis)])

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | Attribute | None:
        axis = operands[1].value if isinstance(operands[1], IntAttr) else None
        shape = getattr(self.source.type, "shape", None)
        if axis is None or shape is None or not 0 <= axis < len(shape):
            return None
        if shape[axis] != DYNAMIC:
            return IntAttr(shape[axis], INDEX)
        made = self.source.defining_op
        if isinstance(made, (EmptyOp, SplatOp)) or (isinstance(made, ByRegionOp) and hasattr(made, "sizes")):
            sizes: tuple[Value, ...] = getattr(made, "sizes")  # noqa: B009
            return sizes[sum(n == DYNAMIC for n in shape[:axis])]
        return None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (_X, INDEX), {})
        yield Sample(cls, (tensor_type((DYNAMIC,), f32), INDEX), {})


class RankOp(TensorOp, name="tensor.rank"):
    """out = how many dimensions a tensor has.

    %0 = tensor.rank %x : tensor<*xf32>
    """

    tensor: Operand = operand(is_tensor)
    out: Result = result(INDEX)

    assembly_format = "$tensor attr-dict `:` type($tensor)"

    def compute(self, array: Array) -> Any:
        return np.int64(array.ndim)

    def simplify(self, operands: Sequence[Attribute | None]) -> Attribute | None:
        shape = getattr(self.tensor.type, "shape", None)
        return None if shape is None else IntAttr(len(shape), INDEX)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (_X,), {})
        yield Sample(cls, (tensor_type(None, f32),), {})
