"""Arithmetic with numbers as exporters write it: patterns for `k * x`, `x + k`, powers, and reductions that keep axes.

Each function makes a pattern with the alternatives that occur: operands in either order, `x * 0.5`, `x / 2.0` or
`pd.scale`, `pow(x, 2)`, `square(x)` or `x * x`. A number counts as the one expected when it is that number rounded to
the format of the tensor, or one unit in the last place beside it: exporters compute such constants in fp32 or fp64, as
1 / sqrt(2) or sqrt(0.5), and round them once or twice. One that every format has, as 1 or 0.5, is written as it is.
"""

from __future__ import annotations

import math
from typing import Final

from tx8ir.analysis.constants import splat_value
from tx8ir.core import Operation, RankedTensor, ScalarType, Value
from tx8ir.dialects import pd
from tx8ir.rewriting.declarative import Node, OneOf, Pattern, Var
from tx8ir.rewriting.declarative.constraints import Constraint, describe

_FP64_BITS: Final = 52
_ALL_HAVE: Final = 2.0**8
"""A number whose significand is a whole one of these parts is in every format: the shortest, bf16, has eight digits."""


def is_number(found: float, expected: float, element: ScalarType) -> bool:
    """Whether a number in format `element` is `expected`, up to one unit in the last place if that is rounded."""
    if (math.frexp(expected)[0] * _ALL_HAVE).is_integer():
        return found == expected
    bits = element.format.mantissa_bits if element.is_float else _FP64_BITS
    return abs(found - expected) <= abs(expected) * 2.0**-bits


def _element(value: Value) -> ScalarType | None:
    return value.type.element if isinstance(value.type, RankedTensor) else None


def _number_of(value: Value) -> str:
    number = splat_value(value)
    return describe(value) if number is None else repr(number)


def number(expected: float) -> Var:
    """A constant all of whose elements are `expected`, in the format it has."""

    def holds(value: Value) -> bool:
        found, element = splat_value(value), _element(value)
        return found is not None and element is not None and is_number(found, expected, element)

    return Var("", Constraint(f"the constant {expected:.8g}", holds, _number_of))


def _affine(scale: float, bias: float) -> Constraint:
    """The `pd.scale` computes scale * x + bias."""

    def factors(op: Operation) -> tuple[float, float]:
        assert isinstance(op, pd.ScaleOp)
        return op.scale, op.bias if op.bias_after_scale else op.scale * op.bias

    def holds(op: Operation) -> bool:
        element = _element(op.operands[0])
        return element is not None and all(
            is_number(found, expected, element) for found, expected in zip(factors(op), (scale, bias), strict=True)
        )

    def found(op: Operation) -> str:
        return "{:.8g} * x + {:.8g}".format(*factors(op))

    return Constraint(f"{scale:.8g} * x + {bias:.8g}", holds, found)


def times(x: Pattern, factor: float) -> OneOf:
    """Factor * x: a product, a quotient by 1 / factor, or a `pd.scale`."""
    return OneOf(
        Node(pd.MultiplyOp, x, number(factor)),
        Node(pd.DivideOp, x, number(1 / factor)),
        Node(pd.ScaleOp, x, where=[_affine(factor, 0.0)]),
    )


def plus(x: Pattern, term: float) -> OneOf:
    """X + term: a sum, a difference with -term, or a `pd.scale`."""
    return OneOf(
        Node(pd.AddOp, x, number(term)),
        Node(pd.SubtractOp, x, number(-term)),
        Node(pd.ScaleOp, x, where=[_affine(1.0, term)]),
    )


def affine(x: Pattern, scale: float, bias: float) -> OneOf:
    """Scale * x + bias, in one step or two."""
    return OneOf(
        plus(times(x, scale), bias),
        times(plus(x, bias / scale), scale),
        Node(pd.ScaleOp, x, where=[_affine(scale, bias)]),
    )


def product(factor: float, a: Pattern, b: Pattern) -> OneOf:
    """Factor * a * b, in any order and association."""
    return OneOf(
        times(Node(pd.MultiplyOp, a, b), factor),
        Node(pd.MultiplyOp, times(a, factor), b),
        Node(pd.MultiplyOp, a, times(b, factor)),
    )


def power(x: Pattern, exponent: float) -> OneOf:
    """X ^ exponent by an operation for powers: the exponent an attribute or a constant."""
    return OneOf(
        Node(pd.PowOp, x, attributes={"y": exponent}),
        Node(pd.ElementwisePowOp, x, number(exponent)),
    )


def square(x: Pattern) -> OneOf:
    """X ^ 2."""
    return OneOf(Node(pd.SquareOp, x), Node(pd.MultiplyOp, x, x), power(x, 2.0))


def cube(x: Pattern, squared: Pattern) -> OneOf:
    """X ^ 3, where `squared` is what `square(x)` has made."""
    return OneOf(power(x, 3.0), Node(pd.MultiplyOp, x, squared))


def reciprocal_root(x: Pattern) -> OneOf:
    """1 / sqrt(x), as a factor."""
    return OneOf(
        Node(pd.RsqrtOp, x), Node(pd.ReciprocalOp, root(x)), Node(pd.DivideOp, number(1.0), root(x)), power(x, -0.5)
    )


def _kept_shape(reduction: Operation) -> tuple[int, ...]:
    """The shape of a reduction that keeps its axes."""
    assert isinstance(reduction, pd.ReductionOp)
    axes = set(reduction.axes)
    return tuple(1 if axis in axes else extent for axis, extent in enumerate(_shape(reduction.x)))


def _shape(value: Value) -> tuple[int, ...]:
    assert isinstance(value.type, RankedTensor)
    return value.type.shape


def _broadcasts_back(reduction: Operation) -> bool:
    own, kept = _shape(reduction.results[0]), _kept_shape(reduction)
    return (1,) * (len(kept) - len(own)) + own == kept


def _restores_axes(view: Operation) -> bool:
    reduction = view.operands[0].defining_op
    return isinstance(reduction, pd.ReductionOp) and _shape(view.results[0]) == _kept_shape(reduction)


def _result_shape(op: Operation) -> str:
    return f"shape {list(_shape(op.results[0]))}"


_BROADCASTS_BACK: Final = Constraint("the reduced axes, with extent 1", _broadcasts_back, _result_shape)
_RESTORES_AXES: Final = Constraint("the reduced axes again, with extent 1", _restores_axes, _result_shape)


def kept(kind: type[pd.ReductionOp], x: Pattern, name: str) -> OneOf:
    """A reduction of `x` that broadcasts with `x`: it keeps its axes, or they are put back, or it is also expanded.

    Args:
        kind: which reduction.
        x: of what.
        name: what the match calls the reduction.
    """
    again = Node(
        (pd.ReshapeOp, pd.UnsqueezeOp),
        Node(kind, x, name=name),
        where=[_RESTORES_AXES],
    )
    narrow = OneOf(Node(kind, x, name=name, where=[_BROADCASTS_BACK]), again)
    return OneOf(narrow, Node(pd.ExpandOp, narrow))


def root(x: Pattern) -> OneOf:
    """Sqrt(x)."""
    return OneOf(Node(pd.SqrtOp, x), power(x, 0.5))
