"""`recognize-gelu`: the Gaussian error linear unit, from the arithmetic that exporters write for it."""

from __future__ import annotations

import math
from typing import ClassVar, Final

import attrs

from tx8ir.dialects import pd
from tx8ir.passes import register_pass
from tx8ir.rewriting.declarative import Make, Node, OneOf, Pattern, Rule, Var

from .arith_patterns import affine, cube, plus, product, square, times
from .base import FUSIBLE, Recognizer, same_type

_COEFFICIENT: Final = 0.044715
_TANH_SCALE: Final = math.sqrt(2 / math.pi)

_x = Var("x")


def _half_of_one_plus(bent: Pattern) -> OneOf:
    """0.5 * x * (1 + bent), the half anywhere."""
    return OneOf(product(0.5, _x, plus(bent, 1.0)), Node(pd.MultiplyOp, _x, affine(bent, 0.5, 0.5)))


def _argument_of_tanh() -> OneOf:
    """sqrt(2/pi) * (x + 0.044715 * x^3), also as a product with (1 + 0.044715 * x^2), or multiplied out."""
    squared, scaled = square(_x), times(_x, _COEFFICIENT)
    cubed = cube(_x, squared)
    quadratic = OneOf(times(squared, _COEFFICIENT), Node(pd.MultiplyOp, scaled, _x))
    cubic = OneOf(times(cubed, _COEFFICIENT), Node(pd.MultiplyOp, _x, quadratic), Node(pd.MultiplyOp, scaled, squared))
    return OneOf(
        times(Node(pd.AddOp, _x, cubic), _TANH_SCALE),
        product(_TANH_SCALE, _x, plus(quadratic, 1.0)),
        Node(pd.AddOp, times(_x, _TANH_SCALE), times(cubed, _TANH_SCALE * _COEFFICIENT)),
    )


gelu_erf: Final = Rule(
    "gelu-erf",
    _half_of_one_plus(Node(pd.ErfOp, times(_x, math.sqrt(0.5)))),
    Make(pd.GeluOp, _x, approximate=False),
    where=[*FUSIBLE, same_type("x")],
    doc="0.5 * x * (1 + erf(x / sqrt(2))) → gelu(x)",
)
gelu_tanh: Final = Rule(
    "gelu-tanh",
    _half_of_one_plus(Node(pd.TanhOp, _argument_of_tanh())),
    Make(pd.GeluOp, _x, approximate=True),
    where=[*FUSIBLE, same_type("x")],
    doc="0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) → gelu(x), approximate",
)


@register_pass
@attrs.frozen
class RecognizeGelu(Recognizer):
    """Rewrites `0.5 * x * (1 + erf(x / sqrt(2)))` and its tanh approximation to `pd.gelu`.

    Products may be in any order and association, the half anywhere (also multiplied out: `x * (0.5 + 0.5 * erf(…))`),
    numbers as factors, divisors or in `pd.scale`, the cube a power or products (Hendrycks and Gimpel,
    arXiv:1606.08415, and the forms that PyTorch, TensorFlow and their ONNX exporters write).

    Assumes: nothing. Fires on vtensors of one block, where no inner value is used elsewhere and every number is the
    expected one to the last place or one beside it in its format.
    Guarantees: equal up to rounding, with two differences of the erf form: far below zero it keeps the digits that
    1 + erf(x) cancels, and at -infinity it has the limit -0 where the product gives NaN. No such group is left.
    Idempotent. Cost: O(operations). Statistics: `gelu-erf`, `gelu-tanh`.
    """

    name: ClassVar[str] = "recognize-gelu"
    rules: ClassVar[tuple[Rule, ...]] = (gelu_erf, gelu_tanh)
