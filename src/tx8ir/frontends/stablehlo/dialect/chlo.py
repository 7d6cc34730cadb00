"""`chlo`: functions that clients of StableHLO define by others."""

from __future__ import annotations

from typing import Final

from tx8ir.core import Op, Operand, Result, attribute, operand, result

from .families import family


class UnaryOp(Op):
    """A function of each element."""

    x: Operand = operand()
    out: Result = result()

    assembly_format = "$x attr-dict `:` type($x) `->` type($out)"


class BinaryOp(Op):
    """A function of each element of one, and that of the other."""

    x: Operand = operand()
    y: Operand = operand()
    out: Result = result()

    assembly_format = "$x `,` $y attr-dict `:` type($x) `,` type($y) `->` type($out)"


class BroadcastOp(Op):
    """A function of each element of one, and that of the other, after the smaller is broadcast."""

    x: Operand = operand()
    y: Operand = operand()
    out: Result = result()

    assembly_format = "$x `,` $y attr-dict `:` functional-type($x, $y, $out)"


class TopKOp(Op, name="chlo.top_k"):
    """The largest elements of the last axis in order, and where they are."""

    x: Operand = operand()
    k: int = attribute()
    values: Result = result()
    indices: Result = result()

    assembly_format = (
        "`(` $x `,` `k` `=` number($k, i64) `)` attr-dict `:` type($x) `->` `(` type($values) `,` type($indices) `)`"
    )


UNARY: Final = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "conj", "cosh", "digamma", "erf", "erf_inv",
    "erfc", "is_inf", "is_neg_inf", "is_pos_inf", "lgamma", "sinh", "square", "tan",
)  # fmt: skip
BINARY: Final = ("next_after", "polygamma", "zeta")
BROADCAST: Final = ("broadcast_add", "broadcast_divide", "broadcast_maximum", "broadcast_minimum", "broadcast_multiply",
                    "broadcast_subtract")  # fmt: skip

OPS: Final[list[type[Op]]] = [
    *family(UnaryOp, "chlo", UNARY),
    *family(BinaryOp, "chlo", BINARY),
    *family(BroadcastOp, "chlo", BROADCAST),
    TopKOp,
]
