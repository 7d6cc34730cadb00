"""Floats: computed in the working precision and rounded once, to nearest even. Fast-math flags change nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from tx8ir.core import (
    Attribute,
    Commutative,
    Operand,
    Result,
    SameOperandsAndResultType,
    Value,
    attribute,
    operand,
    result,
)

from .declaration import FLOATS, STRICT, ArithOp, FastMathAttr, float_like, is_every
from .integers import Array

_FLAGS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"fastmath": FastMathAttr(("nnan", "contract"))},
    {"fastmath": FastMathAttr("fast")},
)


class FloatBinaryOp(ArithOp, traits=(SameOperandsAndResultType,)):
    """Two floats to one of the same type."""

    lhs: Operand = operand(float_like)
    rhs: Operand = operand(float_like)
    fastmath: FastMathAttr = attribute(default=STRICT)
    out: Result = result(float_like)

    assembly_format = "$lhs `,` $rhs (`fastmath` $fastmath^)? attr-dict `:` type($out)"
    sample_elements = tuple((e, e) for e in FLOATS)
    sample_attributes = _FLAGS

    function: ClassVar[Any]
    """Of two arrays."""

    def compute(self, x: Array, y: Array) -> Any:
        return type(self).function(x, y)


class AddFOp(FloatBinaryOp, name="arith.addf", traits=(Commutative,)):
    """out = lhs + rhs."""

    function = staticmethod(np.add)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.lhs if is_every(operands[1], -0.0) else self.rhs if is_every(operands[0], -0.0) else None


class SubFOp(FloatBinaryOp, name="arith.subf"):
    """out = lhs - rhs."""

    function = staticmethod(np.subtract)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.lhs if is_every(operands[1], 0.0) else None


class MulFOp(FloatBinaryOp, name="arith.mulf", traits=(Commutative,)):
    """out = lhs * rhs."""

    function = staticmethod(np.multiply)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.lhs if is_every(operands[1], 1) else self.rhs if is_every(operands[0], 1) else None


class DivFOp(FloatBinaryOp, name="arith.divf"):
    """out = lhs / rhs."""

    function = staticmethod(np.divide)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.lhs if is_every(operands[1], 1) else None


class RemFOp(FloatBinaryOp, name="arith.remf"):
    """out = the remainder of lhs / rhs rounded toward 0, with the sign of lhs; C's fmod."""

    function = staticmethod(np.fmod)


def _largest(choose: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    # NumPy takes either of two zeros; of both signs the sum is +0.
    return lambda x, y: np.where((x == 0) & (y == 0), x + y, choose(x, y))


def _smallest(choose: Callable[[Array, Array], Array]) -> Callable[[Array, Array], Array]:
    return lambda x, y: np.where((x == 0) & (y == 0), -(-x + -y), choose(x, y))


class ExtremumOp(FloatBinaryOp, traits=(Commutative,)):
    """One of both."""

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        return self.lhs if self.lhs is self.rhs else None


class MaximumFOp(ExtremumOp, name="arith.maximumf"):
    """out = the larger of both, where -0 < +0; a NaN if one is."""

    function = staticmethod(_largest(np.maximum))


class MinimumFOp(ExtremumOp, name="arith.minimumf"):
    """out = the smaller of both, where -0 < +0; a NaN if one is."""

    function = staticmethod(_smallest(np.minimum))


class MaxNumFOp(ExtremumOp, name="arith.maxnumf"):
    """out = the larger of both; the other one where one is a NaN."""

    function = staticmethod(_largest(np.fmax))


class MinNumFOp(ExtremumOp, name="arith.minnumf"):
    """out = the smaller of both; the other one where one is a NaN."""

    function = staticmethod(_smallest(np.fmin))


class NegFOp(ArithOp, name="arith.negf", traits=(SameOperandsAndResultType,)):
    """out = -x, of a NaN and of 0 too."""

    x: Operand = operand(float_like)
    fastmath: FastMathAttr = attribute(default=STRICT)
    out: Result = result(float_like)

    assembly_format = "$x (`fastmath` $fastmath^)? attr-dict `:` type($out)"
    sample_elements = tuple((e,) for e in FLOATS)
    sample_attributes = _FLAGS

    def compute(self, x: Array) -> Any:
        return np.negative(x)

    def simplify(self, operands: Sequence[Attribute | None]) -> Value | None:
        inner = self.x.defining_op
        return inner.x if isinstance(inner, NegFOp) else None
