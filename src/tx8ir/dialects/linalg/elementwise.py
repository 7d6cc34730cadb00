"""Named operations that compute each element from those at the same place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tx8ir.core import AffineMapAttr, FloatAttr, Value
from tx8ir.core.attrs.builtin_types import is_float
from tx8ir.dialects import arith, math

from .named import PARALLEL, NamedOp, rank_of
from .structured import IteratorType

Make = Callable[..., Any]


class ElementwiseOp(NamedOp):
    """Base: all operands have one shape."""

    of_floats: ClassVar[Make | None] = None
    of_integers: ClassVar[Make | None] = None

    @property
    def maps(self) -> Sequence[AffineMapAttr]:
        return [AffineMapAttr.identity(rank_of(self.outputs[0]))] * len(self.operands)

    @property
    def iterators(self) -> Sequence[IteratorType]:
        return [PARALLEL] * rank_of(self.outputs[0])

    def payload(self, elements: Sequence[Value]) -> Value:
        cls = type(self)
        made = cls.of_floats if is_float(elements[-1].type) else cls.of_integers
        if made is None:
            raise TypeError(f"{self.name} computes no {elements[-1].type}")
        return made(*elements[: self.num_inputs]).out


class UnaryOp(ElementwiseOp):
    """Base of functions of one element."""

    num_inputs = 1


class AddOp(ElementwiseOp, name="linalg.add"):
    """out = x + y.

    %0 = linalg.add ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats, of_integers = arith.AddFOp, arith.AddIOp


class SubOp(ElementwiseOp, name="linalg.sub"):
    """out = x - y.

    %0 = linalg.sub ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats, of_integers = arith.SubFOp, arith.SubIOp


class MulOp(ElementwiseOp, name="linalg.mul"):
    """out = x * y.

    %0 = linalg.mul ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats, of_integers = arith.MulFOp, arith.MulIOp


class DivOp(ElementwiseOp, name="linalg.div"):
    """out = x / y; of integers as signed numbers, rounded toward 0.

    %0 = linalg.div ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats, of_integers = arith.DivFOp, arith.DivSIOp


class DivUnsignedOp(ElementwiseOp, name="linalg.div_unsigned"):
    """out = x / y of unsigned numbers, rounded down.

    %0 = linalg.div_unsigned ins(%x, %y : tensor<4xi32>, tensor<4xi32>) outs(%z : tensor<4xi32>) -> tensor<4xi32>
    """

    of_integers = arith.DivUIOp


class MaxOp(ElementwiseOp, name="linalg.max"):
    """out = the larger of both, of integers as signed numbers.

    %0 = linalg.max ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats, of_integers = arith.MaximumFOp, arith.MaxSIOp


class MinOp(ElementwiseOp, name="linalg.min"):
    """out = the smaller of both, of integers as signed numbers.

    %0 = linalg.min ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats, of_integers = arith.MinimumFOp, arith.MinSIOp


class PowFOp(ElementwiseOp, name="linalg.powf"):
    """out = x to the power y.

    %0 = linalg.powf ins(%x, %y : tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.PowFOp


class SelectOp(ElementwiseOp, name="linalg.select"):
    """out = x where the condition holds, else y.

    %0 = linalg.select ins(%c, %x, %y : tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>)
        -> tensor<4xf32>
    """

    num_inputs = 3
    of_floats, of_integers = arith.SelectOp, arith.SelectOp


class CopyOp(UnaryOp, name="linalg.copy"):
    """out = x.

    %0 = linalg.copy ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    def payload(self, elements: Sequence[Value]) -> Value:
        return elements[0]


class SquareOp(UnaryOp, name="linalg.square"):
    """out = x * x.

    %0 = linalg.square ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    def payload(self, elements: Sequence[Value]) -> Value:
        return arith.MulFOp(elements[0], elements[0]).out


class ReciprocalOp(UnaryOp, name="linalg.reciprocal"):
    """out = 1 / x.

    %0 = linalg.reciprocal ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    def payload(self, elements: Sequence[Value]) -> Value:
        type: Any = elements[0].type
        return arith.DivFOp(arith.ConstantOp(value=FloatAttr(1.0, type)), elements[0]).out


class ExpOp(UnaryOp, name="linalg.exp"):
    """out = e^x.

    %0 = linalg.exp ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.ExpOp


class LogOp(UnaryOp, name="linalg.log"):
    """out = the natural logarithm of x.

    %0 = linalg.log ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.LogOp


class AbsOp(UnaryOp, name="linalg.abs"):
    """out = |x|.

    %0 = linalg.abs ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.AbsFOp


class CeilOp(UnaryOp, name="linalg.ceil"):
    """out = x rounded up to a whole number.

    %0 = linalg.ceil ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.CeilOp


class FloorOp(UnaryOp, name="linalg.floor"):
    """out = x rounded down to a whole number.

    %0 = linalg.floor ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.FloorOp


class RoundOp(UnaryOp, name="linalg.round"):
    """out = x rounded to the nearest whole number, away from 0 where two are as near.

    %0 = linalg.round ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.RoundOp


class NegFOp(UnaryOp, name="linalg.negf"):
    """out = -x.

    %0 = linalg.negf ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = arith.NegFOp


class SqrtOp(UnaryOp, name="linalg.sqrt"):
    """out = √x.

    %0 = linalg.sqrt ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.SqrtOp


class RsqrtOp(UnaryOp, name="linalg.rsqrt"):
    """out = 1/√x.

    %0 = linalg.rsqrt ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.RsqrtOp


class TanhOp(UnaryOp, name="linalg.tanh"):
    """out = the hyperbolic tangent of x.

    %0 = linalg.tanh ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.TanhOp


class ErfOp(UnaryOp, name="linalg.erf"):
    """out = the error function of x.

    %0 = linalg.erf ins(%x : tensor<4xf32>) outs(%z : tensor<4xf32>) -> tensor<4xf32>
    """

    of_floats = math.ErfOp
