"""Mutants of integer arithmetic: signs of quotients, wrapping, the ends of the formats."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from support.mutants.mutant import Area
from support.mutants.programs import Array, case, constant, ints, operations, ranked
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, DenseAttr, Program, Value, f64
from tx8ir.dialects import builtin, pd
from tx8ir.passes import Pass
from tx8ir.rewriting import Rewriter, pattern
from tx8ir.rewriting.declarative import Make, Match, Node, Number, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, constraint, equals

AREA = Area("integers", round=1)
is_integer = Constraint(
    "integer elements", lambda v: not ranked(v).element.is_float and ranked(v).element.format.bits > 1
)
x, y = Var("x", is_integer), Var("y", is_integer)


def dense(value: Value) -> Array | None:
    """The data of a `builtin.constant`."""
    op = value.defining_op
    return op.value.value if isinstance(op, builtin.ConstantOp) else None


@constraint("one type")
def one_type(match: Match) -> bool:
    return match["x"].type is match["y"].type is match.root.results[0].type


AREA.rules(
    "pull-negation-out-of-quotient",
    Rule(
        "negate",
        Node(pd.DivideOp, Node(pd.SubtractOp, Number("zero", equals(0)), x), y),
        Make(pd.SubtractOp, lambda m: m["zero"], Make(pd.DivideOp, x, y)),
        where=[one_type],
    ),
    citation="llvm/llvm-project#88422: [InstCombine] Fold -X / -Y -> X / Y (review: only if X is not INT_MIN)",
    mistake="the smallest integer is its own negation",
    special_value=True,
    witness=lambda: case(
        lambda x, y: pd.divide(pd.subtract(constant([0], "int8"), x), y),
        x=ints("int8", 7, -128), y=ints("int8", 2, 2),
    ),
    control=lambda: case(
        lambda x, y: pd.divide(pd.subtract(constant([0], "int8"), x), y), x=ints("int8", 7, -9), y=ints("int8", 2, 2)
    ),
)  # fmt: skip


@pattern(pd.MaximumOp)
def clipped_magnitude(op: pd.MaximumOp, rewriter: Rewriter) -> bool:
    """max(|x|, c) -> |x| for c <= 0"""
    if not isinstance(op.x.defining_op, pd.AbsOp) or op.x.type is not op.out.type:
        return False
    bound = splat_value(op.y)
    if bound is None or bound > 0:
        return False
    rewriter.replace(op, op.x)
    return True


AREA.rules(
    "magnitude-is-not-negative",
    clipped_magnitude,
    citation="cuhk-s3/Archer#27: Miscompilation found in LLVM PR #224025 (abs of INT_MIN in a quotient)",
    mistake="the magnitude of the smallest integer is negative",
    special_value=True,
    witness=lambda: case(lambda x: pd.maximum(pd.abs(x), constant([0], "int8")), x=ints("int8", 3, -128)),
    control=lambda: case(lambda x: pd.maximum(pd.abs(x), constant([0], "int8")), x=ints("int8", 3, -7)),
)


def fold(op: Any, numbers: Any) -> None:
    """Puts a constant in place of an operation."""
    kind = ranked(op.out)
    with Builder.before(op):
        made = builtin.ConstantOp(value=DenseAttr(np.broadcast_to(numbers, kind.shape).astype(kind.element.dtype)))
    op.replace_with(made)


@AREA.mutant(
    citation="apache/tvm#20281: Constant folding of an int64 Div goes through float64 and is off by one above 2^53",
    mistake="divides in double precision",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.add(x, pd.divide(constant([2**53 + 1], "int64"), constant([1], "int64"))), x=ints("int64", 0)
    ),
    control=lambda: case(
        lambda x: pd.add(x, pd.divide(constant([-7], "int64"), constant([2], "int64"))), x=ints("int64", 0)
    ),
)
def fold_integer_quotients(program: Program) -> None:
    for op in operations(program, pd.DivideOp):
        a, b = dense(op.x), dense(op.y)
        if a is not None and b is not None and a.dtype.kind == "i" and b.all():
            fold(op, np.trunc(a.astype(np.float64) / b.astype(np.float64)))


@AREA.mutant(
    citation="dmlc/HalideIR#53: incorrect constant folding for division and mod for negative integers",
    mistake="the quotient is rounded down, not towards 0",
    witness=lambda: case(
        lambda x: pd.add(x, pd.divide(constant([-7], "int32"), constant([2], "int32"))), x=ints("int32", 0)
    ),
    control=lambda: case(
        lambda x: pd.add(x, pd.divide(constant([7], "int32"), constant([2], "int32"))), x=ints("int32", 0)
    ),
)
@attrs.frozen
class FoldIntegerArithmetic(Pass):
    """Evaluates sums, products and quotients of integer constants."""

    name: ClassVar[str] = "fold-integer-arithmetic"

    def run(self, program: Program) -> None:
        for op in operations(program, pd.AddOp, pd.SubtractOp, pd.MultiplyOp, pd.DivideOp):
            a, b = dense(op.x), dense(op.y)
            if a is None or b is None or a.dtype.kind != "i":
                continue
            if isinstance(op, pd.DivideOp):
                if not b.all() or (b == -1).any():
                    continue
                fold(op, a // b)
            else:
                fold(op, a + b if isinstance(op, pd.AddOp) else a - b if isinstance(op, pd.SubtractOp) else a * b)
            self.count("folded")


@AREA.mutant(
    citation="tinygrad/tinygrad#9080: Test broken const folding wraparound behavior",
    mistake="a sum outside of the format is clipped to its end; the program's wraps",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.add(x, pd.add(constant([100], "int8"), constant([100], "int8"))), x=ints("int8", 0)
    ),
    control=lambda: case(
        lambda x: pd.add(x, pd.add(constant([50], "int8"), constant([60], "int8"))), x=ints("int8", 0)
    ),
)
def fold_sums_of_constants(program: Program) -> None:
    for op in operations(program, pd.AddOp):
        a, b = dense(op.x), dense(op.y)
        if a is not None and b is not None and a.dtype.kind == "i" and a.dtype.itemsize < 8:
            info = np.iinfo(a.dtype)
            fold(op, np.clip(a.astype(np.int64) + b.astype(np.int64), info.min, info.max))


@pattern(pd.GreaterThanOp, pd.LessThanOp, pd.GreaterEqualOp, pd.LessEqualOp)
def compare_without_offset(op: pd.ComparisonOp, rewriter: Rewriter) -> bool:
    """(x + c) < d -> x < (d - c)"""
    shifted = op.x.defining_op
    if not isinstance(shifted, pd.AddOp) or ranked(op.x).element.is_float:
        return False
    offset, bound = splat_value(shifted.y), splat_value(op.y)
    if offset is None or bound is None or shifted.x.type is not op.x.type:
        return False
    element = ranked(op.x).element
    info = np.iinfo(element.dtype)
    if not info.min <= bound - offset <= info.max:
        return False
    moved = rewriter.insert(pd.full(shape=ranked(op.y).shape, value=float(bound - offset), dtype=element))
    rewriter.replace(op, rewriter.insert(type(op)(shifted.x, moved)))
    return True


AREA.rules(
    "compare-without-offset",
    compare_without_offset,
    citation="Lopes, Menendez, Nagarakatte, Regehr: Alive, PLDI 2015 (class of mistake: comparisons that need `nsw`)",
    mistake="checks that d - c does not overflow, and not x + c",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.greater_than(pd.add(x, constant([5], "int8")), constant([10], "int8")), x=ints("int8", 6, 125)
    ),
    control=lambda: case(
        lambda x: pd.greater_than(pd.add(x, constant([5], "int8")), constant([10], "int8")), x=ints("int8", 6, -2)
    ),
)

AREA.rules(
    "cancel-factor",
    Rule(
        "cancel",
        Node(
            pd.DivideOp,
            Node(pd.MultiplyOp, x, Number("c", Constraint("not 0", lambda c: c != 0))),
            Number("d", Constraint("not 0", lambda c: c != 0)),
        ),
        x,
        where=[constraint("the same number")(lambda m: m.constants["c"] == m.constants["d"])],
    ),
    citation="llvm/llvm-project#121584: [InstCombine] Miscompilation in `simplifyIRemMulShl`",
    mistake="the product may wrap",
    special_value=True,
    witness=lambda: case(
        lambda x: pd.divide(pd.multiply(x, constant([4], "int8")), constant([4], "int8")), x=ints("int8", 3, 70)
    ),
    control=lambda: case(
        lambda x: pd.divide(pd.multiply(x, constant([4], "int8")), constant([4], "int8")), x=ints("int8", 3, -7)
    ),
)


@pattern(pd.MaximumOp)
def clip_at_the_lowest(op: pd.MaximumOp, rewriter: Rewriter) -> bool:
    """max(x, c) -> x where no integer is below c"""
    bound = splat_value(op.y)
    if not isinstance(bound, int) or op.x.type is not op.out.type or bound > -128:
        return False
    rewriter.replace(op, op.x)
    return True


AREA.rules(
    "drop-clip-at-the-lowest",
    clip_at_the_lowest,
    citation="pytorch/pytorch#198071: `torch.clamp` with a Python bound outside the dtype's range wraps the bound",
    mistake="takes -128 as the lowest number of any integer format",
    witness=lambda: case(lambda x: pd.maximum(x, constant([-128], "int32")), x=ints("int32", 1, -1000)),
    control=lambda: case(lambda x: pd.maximum(x, constant([-128], "int8")), x=ints("int8", 1, -100)),
)


@AREA.mutant(
    citation="apache/tvm#2204: Fix llvm codegen (div by power of 2): the division truncates",
    mistake="scaling by 1 / c and rounding down is not a division that truncates towards 0",
    witness=lambda: case(lambda x: pd.divide(x, constant([4], "int32")), x=ints("int32", 9, -9)),
    control=lambda: case(lambda x: pd.divide(x, constant([4], "int32")), x=ints("int32", 9, 3)),
)
def divide_by_shifting(program: Program) -> None:
    """X / 2^n for integers, as floor(x * 2^-n): what an arithmetic shift gives, without shifts in the dialect."""
    for op in operations(program, pd.DivideOp):
        divisor = splat_value(op.y)
        kind = ranked(op.out)
        if (
            op.x.type is not kind
            or kind.element.is_float
            or kind.element.format.bits > 32
            or not isinstance(divisor, int)
        ):
            continue
        if divisor > 0 and divisor & (divisor - 1) == 0:
            with Builder.before(op):
                exact = pd.multiply(pd.cast(op.x, dtype=f64), pd.full(shape=(), value=1 / divisor, dtype=f64))
                shifted = pd.cast(pd.floor(exact), dtype=kind.element)
            op.replace_with(shifted)
