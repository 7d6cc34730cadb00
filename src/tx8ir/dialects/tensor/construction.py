"""Tensors that are made: empty, of elements, of one element, of a region, of others in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tx8ir.core import (
    DYNAMIC,
    LoopLike,
    Op,
    Operand,
    RecursiveEffects,
    Region,
    RegionBranch,
    RegionEdge,
    Result,
    Terminator,
    UnitAttr,
    VariadicOperand,
    VerifyError,
    attribute,
    f32,
    i32,
    operand,
    region,
    result,
    tensor_type,
    variadic_operand,
)
from tx8ir.core.attrs.builtin_types import array_type, element_of
from tx8ir.core.text.assembly_format import DYNAMIC_INDEX
from tx8ir.dialects.samples import Sample

from .declaration import (
    INDEX,
    Array,
    TensorOp,
    filled,
    is_compatible,
    is_ranked,
    reshaped,
    shape_of,
    verify_extents,
    verify_mixed,
    with_extents,
)

_X = tensor_type((2, 3), f32)
_D = tensor_type((DYNAMIC, 3), f32)


class EmptyOp(TensorOp, name="tensor.empty"):
    """A tensor of a shape, whose elements nobody may ask for.

    %0 = tensor.empty(%n) : tensor<?x4xf32>
    """

    sizes: VariadicOperand = variadic_operand(INDEX, doc="the dynamic extents")
    out: Result = result(is_ranked)

    assembly_format = "`(` $sizes `)` attr-dict `:` type($out)"
    most_folded = 0

    def verify_op(self) -> None:
        verify_extents(self, self.out.type, self.sizes)

    def compute(self, *sizes: Array) -> Any:
        held = array_type(self.out.type)
        if held is None:
            raise TypeError(f"{self.out.type} is not a type that the machine has")
        dtype = np.float64 if held.element.is_float else held.element.dtype
        return np.zeros(with_extents(self.out.type, sizes), dtype)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, ((),), {"out": _X})
        yield Sample(cls, ((INDEX,),), {"out": _D})
        yield Sample(cls, ((),), {"out": tensor_type((), i32)})


class FromElementsOp(TensorOp, name="tensor.from_elements"):
    """A tensor of elements, the last index running fastest.

    %0 = tensor.from_elements %a, %b, %c, %d : tensor<2x2xf32>
    """

    elements: VariadicOperand = variadic_operand()
    out: Result = result(is_ranked)

    assembly_format = "$elements attr-dict `:` type($out) element-type($elements, $out)"

    def verify_op(self) -> None:
        held: Any = self.out.type
        count = None if DYNAMIC in held.shape else held.num_elements
        if count != len(self.operands) or any(v.type is not held.element for v in self.operands):
            shown = ", ".join(str(v.type) for v in self.operands)
            raise VerifyError(f"{self.name} makes {held} of its elements in order, not of ({shown})", self)

    def compute(self, *elements: Array) -> Any:
        return np.asarray(elements).reshape(shape_of(self.out)) if elements else np.zeros(shape_of(self.out))

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, ((f32,) * 6,), {"out": _X})
        yield Sample(cls, ((INDEX,) * 2,), {"out": tensor_type((2,), INDEX)})
        yield Sample(cls, ((i32,),), {"out": tensor_type((), i32)})


class SplatOp(TensorOp, name="tensor.splat"):
    """A tensor all of whose elements are one number.

    %0 = tensor.splat %x[%n] : tensor<?x4xf32>
    """

    input: Operand = operand()
    sizes: VariadicOperand = variadic_operand(INDEX, doc="the dynamic extents")
    out: Result = result(is_ranked)

    assembly_format = "$input (`[` $sizes^ `]`)? attr-dict `:` type($out) element-type($input, $out)"

    def verify_op(self) -> None:
        verify_extents(self, self.out.type, self.sizes)
        if self.input.type is not element_of(self.out.type):
            raise VerifyError(f"{self.name} fills {self.out.type} with {self.input.type}", self)

    def compute(self, number: Array, *sizes: Array) -> Any:
        return filled(with_extents(self.out.type, sizes), number)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, (f32, ()), {"out": _X})
        yield Sample(cls, (f32, (INDEX,)), {"out": _D})
        yield Sample(cls, (i32, ()), {"out": tensor_type((), i32)})


class ConcatOp(TensorOp, name="tensor.concat"):
    """Tensors in a row along a dimension.

    %0 = tensor.concat dim(1) %a, %b : (tensor<2x3xf32>, tensor<2x5xf32>) -> tensor<2x8xf32>
    """

    inputs: VariadicOperand = variadic_operand(is_ranked)
    dim: int = attribute(doc="from 0")
    out: Result = result(is_ranked)

    assembly_format = "`dim` `(` number($dim, i64) `)` $inputs attr-dict `:` functional-type($inputs, $out)"

    def verify_op(self) -> None:
        shapes = [shape_of(v) for v in self.inputs]
        given, at = shape_of(self.out), self.dim
        if not shapes or any(len(s) != len(given) for s in shapes) or not 0 <= at < len(given):
            raise VerifyError(
                f"{self.name} takes tensors of the rank of its result, which has the dimension {at}", self
            )
        if any(element_of(v.type) is not element_of(self.out.type) for v in self.inputs):
            raise VerifyError(f"{self.name} takes tensors of the elements of its result", self)
        along = [s[at] for s in shapes]
        total = DYNAMIC if DYNAMIC in along else sum(along)
        if not all(is_compatible((*s[:at], total, *s[at + 1 :]), given) for s in shapes):
            raise VerifyError(f"{self.name} along {at} does not give {self.out.type}", self)

    def compute(self, *arrays: Array) -> Any:
        return np.concatenate(arrays, axis=self.dim)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        yield Sample(cls, ((_X, tensor_type((2, 1), f32)),), {"dim": 1, "out": tensor_type((2, 4), f32)})
        yield Sample(cls, ((_X, _D),), {"dim": 0, "out": _D})


# --- by a region -----------------------------------------------------------------------------------------------------


class ByRegionOp(Op, RegionBranch, LoopLike, traits=(RecursiveEffects,)):
    """Base of operations that run a region with the indices of a place, which gives the element there."""

    def element_region(self) -> Region:
        """The region."""
        return self.regions[0]

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        return [RegionEdge(self.regions[0]), RegionEdge(None)]

    def trip_count(self) -> None:
        """Not said."""

    def always_ends(self) -> bool:
        return True

    def verify_op(self) -> None:
        body, out = self.regions[0], self.results[0]
        if len(body) != 1:
            raise VerifyError(f"the region of {self.name} has {len(body)} blocks, expected one", self)
        if [a.type for a in body.block.args] != [INDEX] * len(shape_of(out)):
            raise VerifyError(f"the region of {self.name} takes an index for each dimension of {out.type}", self)
        last = body.block.last_op
        if last is not None and last.has_trait(Terminator) and not isinstance(last, YieldOp):
            raise VerifyError(f"the region of {self.name} ends in {last.name}, expected tensor.yield", self)
        if isinstance(last, YieldOp) and last.value.type is not element_of(out.type):
            raise VerifyError(f"tensor.yield gives {last.value.type}, an element of {out.type} is another", self)


class GenerateOp(ByRegionOp, name="tensor.generate"):
    """A tensor each of whose elements a region gives, from the indices of its place.

    %0 = tensor.generate %n {
    ^bb0(%i: index, %j: index):
      %e = tensor.extract %x[%j, %i] : tensor<4x?xf32>
      tensor.yield %e : f32
    } : tensor<?x4xf32>
    """

    sizes: VariadicOperand = variadic_operand(INDEX, doc="the dynamic extents")
    body: Region = region(doc="takes the index of each dimension, ended by tensor.yield")
    out: Result = result(is_ranked)

    assembly_format = "$sizes $body attr-dict `:` type($out)"

    def verify_op(self) -> None:
        super().verify_op()
        verify_extents(self, self.out.type, self.sizes)


class PadOp(ByRegionOp, name="tensor.pad"):
    """A tensor with others elements around it, which a region gives from the indices of their place in the result.

    %0 = tensor.pad %x low[1, %n] high[0, 2] {
    ^bb0(%i: index, %j: index):
      tensor.yield %zero : f32
    } : tensor<2x3xf32> to tensor<3x?xf32>
    """

    source: Operand = operand(is_ranked)
    low: VariadicOperand = variadic_operand(INDEX, doc="before the first element of each dimension, those not known")
    high: VariadicOperand = variadic_operand(INDEX, doc="after the last element of each dimension, those not known")
    static_low: tuple[int, ...] = attribute()
    static_high: tuple[int, ...] = attribute()
    nofold: UnitAttr | None = attribute(default=None, doc="it stays though it pads nothing")
    body: Region = region(doc="takes the index of each dimension, ended by tensor.yield")
    out: Result = result(is_ranked)

    assembly_format = (
        "$source (`nofold` $nofold^)? `low` `` index-list($low, $static_low) "
        "`high` `` index-list($high, $static_high) $body attr-dict `:` type($source) `to` type($out)"
    )

    def verify_op(self) -> None:
        super().verify_op()
        rank = len(shape_of(self.source))
        verify_mixed(self, "low paddings", self.static_low, self.low, rank)
        verify_mixed(self, "high paddings", self.static_high, self.high, rank)
        extents = zip(shape_of(self.source), self.static_low, self.static_high, strict=True)
        shape = [DYNAMIC if n == DYNAMIC or DYNAMIC_INDEX in (a, b) else n + a + b for n, a, b in extents]
        if not is_compatible(shape, shape_of(self.out)) or element_of(self.source.type) is not element_of(
            self.out.type
        ):
            raise VerifyError(f"{self.name} gives {reshaped(self.source.type, shape)}, not {self.out.type}", self)


class YieldOp(Op, name="tensor.yield", traits=(Terminator,)):
    """Ends a region of `tensor.generate` or `tensor.pad`, giving an element.

    tensor.yield %0 : f32
    """

    value: Operand = operand()

    assembly_format = "$value attr-dict `:` type($value)"

    def verify_op(self) -> None:
        if self.parent_op is not None and not isinstance(self.parent_op, ByRegionOp):
            raise VerifyError(f"tensor.yield ends a region of {self.parent_op.name}", self)
