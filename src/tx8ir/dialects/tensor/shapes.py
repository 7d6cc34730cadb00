"""The same elements, in the same order, in another shape; or in the same under another type."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

from tx8ir.core import (
    DYNAMIC,
    ArrayAttr,
    Attribute,
    IntAttr,
    Operand,
    Operation,
    Result,
    Type,
    Value,
    VariadicOperand,
    VerifyError,
    attribute,
    f32,
    i64,
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
    is_compatible,
    is_ranked,
    is_tensor,
    mixed,
    shape_of,
    verify_mixed,
)

_X = tensor_type((2, 3), f32)


def _same_elements(op: Operation, source: Value, out: Value) -> None:
    if element_of(source.type) is not element_of(out.type):
        raise VerifyError(f"{op.name} keeps the elements; {source.type} does not become {out.type}", op)


class CastOp(TensorOp, name="tensor.cast"):
    """out = the tensor under a type that knows more or less of its shape. Evaluating fails where it has another.

    %0 = tensor.cast %x : tensor<?x3xf32> to tensor<2x?xf32>
    """

    source: Operand = operand(is_tensor)
    out: Result = result(is_tensor)

    assembly_format = "$source attr-dict `:` type($source) `to` type($out)"

    def verify_op(self) -> None:
        _same_elements(self, self.source, self.out)
        source, target = (getattr(v.type, "shape", None) for v in (self.source, self.out))
        if source is not None and target is not None and not is_compatible(source, target):
            raise VerifyError(f"no tensor is of {self.source.type} and {self.out.type}", self)

    def compute(self, array: Array) -> Any:
        return array

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.source if self.source.type is self.out.type else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (_X,), {"out": tensor_type((DYNAMIC, 3), f32)})
        yield Sample(cls, (tensor_type((DYNAMIC, 3), f32),), {"out": tensor_type((2, DYNAMIC), f32)})
        yield Sample(cls, (_X,), {"out": tensor_type(None, f32)})


class ReshapeOp(TensorOp, name="tensor.reshape"):
    """out = the elements in a shape that another tensor holds.

    %0 = tensor.reshape %x(%shape) : (tensor<2x3xf32>, tensor<1xindex>) -> tensor<6xf32>
    """

    source: Operand = operand(is_tensor)
    shape: Operand = operand(is_ranked, doc="integers or index, one for each dimension")
    out: Result = result(is_tensor)

    assembly_format = "$source `(` $shape `)` attr-dict `:` functional-type($source, $shape, $out)"

    def verify_op(self) -> None:
        _same_elements(self, self.source, self.out)
        extents, given = shape_of(self.shape), getattr(self.out.type, "shape", None)
        if len(extents) != 1 or (given is not None and not is_compatible(extents, (len(given),))):
            raise VerifyError(f"{self.name} takes {self.shape.type} for the shape of {self.out.type}", self)
        source = getattr(self.source.type, "shape", None)
        known = source is not None and given is not None and DYNAMIC not in (*source, *given)
        if known and math.prod(cast("tuple[int, ...]", source)) != math.prod(cast("tuple[int, ...]", given)):
            raise VerifyError(f"{self.source.type} has other elements than {self.out.type}", self)

    def compute(self, array: Array, shape: Array) -> Any:
        extents = [int(n) for n in shape]
        if any(n < 0 for n in extents):
            raise ValueError(f"an extent of {extents} is below 0")
        return array.reshape(extents)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (_X, tensor_type((1,), INDEX)), {"out": tensor_type((6,), f32)})
        yield Sample(cls, (_X, tensor_type((2,), i64)), {"out": tensor_type((DYNAMIC, 2), f32)})


Groups = list[list[int]]


class ReassociationOp(TensorOp):
    """Base of the operations that join or split neighbouring dimensions."""

    @property
    def groups(self) -> Groups:
        """For each dimension of the smaller shape, those of the larger one that it is made of."""
        found: Any = self.attributes["reassociation"]
        return [[int(n) for n in group] for group in found.value]

    def verify_groups(self, small: Value, large: Value) -> None:
        """Check the groups against the shapes. Raises VerifyError."""
        _same_elements(self, small, large)
        less, more = shape_of(small), shape_of(large)
        try:
            groups = self.groups
        except (TypeError, ValueError):
            groups = None
        joined = None if groups is None else [n for group in groups for n in group]
        whole = list(range(len(more))) if less else []  # one element of any rank becomes one without a rank
        if groups is None or joined != whole or len(groups) != len(less) or (not less and set(more) - {1, DYNAMIC}):
            raise VerifyError(
                f"reassociation of {self.name} groups the dimensions of {large.type} for those of {small.type}, "
                f"not {self.attributes['reassociation']}",
                self,
            )
        for extent, group in zip(less, groups, strict=True):
            parts = [more[n] for n in group]
            if extent != DYNAMIC and DYNAMIC not in parts and math.prod(parts) != extent:
                raise VerifyError(f"{self.name}: the dimensions {group} of {large.type} are not {extent}", self)


def groups_attribute(groups: Sequence[Sequence[int]]) -> ArrayAttr:
    """Groups of dimensions as an attribute: `[[0, 1], [2]]`."""
    return ArrayAttr(ArrayAttr(IntAttr(n) for n in group) for group in groups)


class ExpandShapeOp(ReassociationOp, name="tensor.expand_shape"):
    """out = the elements in a shape in which dimensions are split.

    %0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [%n, 2, 4] : tensor<?x4xf32> into tensor<?x2x4xf32>
    """

    source: Operand = operand(is_ranked)
    output_shape: VariadicOperand = variadic_operand(INDEX, doc="the extents that are not known")
    reassociation: ArrayAttr = attribute(doc="for each dimension of the operand those of the result")
    static_output_shape: tuple[int, ...] = attribute(doc="the extents, those that are not known as DYNAMIC_INDEX")
    out: Result = result(is_ranked)

    assembly_format = (
        "$source $reassociation `output_shape` index-list($output_shape, $static_output_shape) attr-dict "
        "`:` type($source) `into` type($out)"
    )

    def verify_op(self) -> None:
        verify_mixed(self, "extents", self.static_output_shape, self.output_shape, len(shape_of(self.out)))
        self.verify_groups(self.source, self.out)
        if not is_compatible(extents_in_type(self.static_output_shape), shape_of(self.out)):
            raise VerifyError(f"output_shape of {self.name} is not that of {self.out.type}", self)

    def compute(self, array: Array, *extents: Array) -> Any:
        return array.reshape(mixed(self.static_output_shape, extents))

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        inner = self.source.defining_op
        if isinstance(inner, CollapseShapeOp) and inner.source.type is self.out.type and _is_known(self.out.type):
            return inner.source
        return self.source if self.source.type is self.out.type else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for source, groups, shape in (
            ((6, 5), [[0, 1], [2]], (2, 3, 5)),
            ((4,), [[0, 1]], (4, 1)),
            ((), [], (1, 1)),
        ):
            yield Sample(cls, (tensor_type(source, f32), ()), {
                "reassociation": groups_attribute(groups), "static_output_shape": shape, "out": tensor_type(shape, f32)
            })  # fmt: skip
        yield Sample(cls, (tensor_type((DYNAMIC,), f32), (INDEX,)), {
            "reassociation": groups_attribute([[0, 1]]), "static_output_shape": (DYNAMIC_INDEX, 2),
            "out": tensor_type((DYNAMIC, 2), f32),
        })  # fmt: skip


class CollapseShapeOp(ReassociationOp, name="tensor.collapse_shape"):
    """out = the elements in a shape in which dimensions are joined.

    %0 = tensor.collapse_shape %x [[0, 1], [2]] : tensor<2x3x4xf32> into tensor<6x4xf32>
    """

    source: Operand = operand(is_ranked)
    reassociation: ArrayAttr = attribute(doc="for each dimension of the result those of the operand")
    out: Result = result(is_ranked)

    assembly_format = "$source $reassociation attr-dict `:` type($source) `into` type($out)"

    def verify_op(self) -> None:
        self.verify_groups(self.out, self.source)

    def compute(self, array: Array) -> Any:
        return array.reshape([math.prod(array.shape[n] for n in group) for group in self.groups])

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        inner = self.source.defining_op
        if isinstance(inner, ExpandShapeOp) and inner.source.type is self.out.type and _is_known(self.out.type):
            return inner.source
        return self.source if self.source.type is self.out.type else None

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for source, groups, shape in (
            ((2, 3, 5), [[0, 1], [2]], (6, 5)),
            ((4, 1), [[0, 1]], (4,)),
            ((1, 1), [], ()),
            ((DYNAMIC, 2), [[0, 1]], (DYNAMIC,)),
        ):
            yield Sample(cls, (tensor_type(source, f32),), {
                "reassociation": groups_attribute(groups), "out": tensor_type(shape, f32)
            })  # fmt: skip


def _is_known(type: Type) -> bool:
    return DYNAMIC not in cast(Any, type).shape
