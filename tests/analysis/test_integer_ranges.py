"""Ranges of integers: each rule against all numbers of 4 bits, the analysis against what programs compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from support.steps import assert_linear
from support.stranger import INDEX, CountOp
from tx8ir.analysis.integer_range_models import square
from tx8ir.analysis.integer_ranges import IntegerRangeAnalysis, integer_ranges
from tx8ir.core import Block, Builder, Model, Operation, Program, Value, VTensorType, detached, i1, i8, i32
from tx8ir.core.attrs.types import i4
from tx8ir.core.ir.int_range import InferIntRange, IntRange
from tx8ir.dialects import arith, builtin, index, pd, scf
from tx8ir.dialects.arith.integers import IntegerBinaryOp
from tx8ir.interpreter import Interpreter
from tx8ir.testing.inputs import draw_inputs
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.testing.programs.drawing import for_each_program

WIDTH = 4
NUMBERS = range(-8, 8)


@st.composite
def ranges(draw: st.DrawFn, width: int = WIDTH) -> IntRange:
    """A range that some numbers are in: of signed numbers, of unsigned ones, or what both say."""
    half = 1 << (width - 1)
    low = draw(st.integers(-half, half - 1))
    found = IntRange.wrapped(width, low, draw(st.integers(low, half - 1)))
    start = draw(st.integers(0, 2 * half - 1))
    other = IntRange.wrapped(width, start, draw(st.integers(start, 2 * half - 1)))
    both = found.meet(other)
    kept = draw(st.sampled_from([found, other, both]))
    return kept if numbers_in(kept) else found


def numbers_in(range_: IntRange) -> list[int]:
    half = 1 << (range_.width - 1)
    return [n for n in range(-half, half) if range_.contains(n)]


def tightest(width: int, numbers: Sequence[int]) -> IntRange:
    """The least range of some numbers."""
    size = 1 << width
    unsigned = [n % size for n in numbers]
    signed = [n - size if n >= size // 2 else n for n in unsigned]
    return IntRange(width, min(signed), max(signed), min(unsigned), max(unsigned))


# --- ranges ----------------------------------------------------------------------------------------------------------


@given(st.integers(-40, 40), st.integers(0, 20))
def test_the_numbers_of_an_interval_are_in_its_range(low: int, count: int) -> None:
    found = IntRange.wrapped(WIDTH, low, low + count)
    assert all(found.contains(n) for n in range(low, low + count + 1))
    exact = tightest(WIDTH, list(range(low, low + count + 1)))
    if count < 15 and exact.smax - exact.smin == count:
        assert (found.smin, found.smax) == (exact.smin, exact.smax)
    if count < 15 and exact.umax - exact.umin == count:
        assert (found.umin, found.umax) == (exact.umin, exact.umax)


@given(ranges(), ranges())
def test_join_is_the_least_range_around_both_and_meet_holds_what_is_in_both(x: IntRange, y: IntRange) -> None:
    joined = x.join(y)
    assert (joined.smin, joined.umax) == (min(x.smin, y.smin), max(x.umax, y.umax))
    assert x.join(x) is x
    assert joined.join(y) is joined
    assert set(numbers_in(x)) | set(numbers_in(y)) <= set(numbers_in(joined))
    assert set(numbers_in(x)) & set(numbers_in(y)) <= set(numbers_in(x.meet(y)))


def test_how_a_range_is_written() -> None:
    assert str(IntRange.wrapped(8, 0, 3)) == "[0, 3]"
    assert str(IntRange.wrapped(8, -1, 3)) == "[-1, 3] unsigned [0, 255]"
    assert IntRange.full(8).is_full


# --- rules -----------------------------------------------------------------------------------------------------------

BINARY = [cls for cls in arith.DIALECT.ops.values() if issubclass(cls, IntegerBinaryOp)]
OF_INDEX = [cls for cls in index.DIALECT.ops.values() if issubclass(cls, IntegerBinaryOp)]


@pytest.mark.parametrize("cls", OF_INDEX, ids=lambda cls: cls.name)
@given(ranges(), ranges())
def test_those_of_index_are_the_same_with_64_bits(cls: Any, x: IntRange, y: IntRange) -> None:
    x, y = (IntRange.wrapped(64, r.smin, r.smax) for r in (x, y))
    with detached():
        kind = tx8ir.core.IndexType()
        op = cls(*Block([kind, kind]).args)
    found = inferred(op, x, y)
    for a in range(x.smin, x.smax + 1, 3):
        for b in range(y.smin, y.smax + 1, 2):
            try:
                result = int(op.compute(np.int64(a), np.int64(b)))
            except ArithmeticError:
                continue
            assert found.contains(result)


FOR = """
module {
  func.func @main(%n: index) -> (index, index) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %ten = arith.constant 10 : index
    %most = index.minu %n, %ten
    %last:2 = scf.for %i = %zero to %most step %one iter_args(%a = %zero, %b = %ten) -> (index, index) {
      %two = index.add %i, %i
      %low = index.remu %b, %ten
      scf.yield %two, %low : index, index
    }
    return %last#0, %last#1 : index, index
  }
}
"""


def test_the_counter_of_a_loop_is_between_its_bounds() -> None:
    program = tx8ir.parse(FOR)
    found = integer_ranges(program)
    loop = next(op for op in program.module.walk() if op.name == "scf.for")
    assert [str(found.range_of(a)) for a in loop.regions[0].block.args] == ["[0, 9]", "[0, 18]", "[0, 10]"]
    assert returned(program, found) == ["[0, 18]", "[0, 10]"]


def computed(op: Any, x: int, y: int) -> int | None:
    """What the operation computes; None where it fails."""
    try:
        return int(op.compute(np.int8(x), np.int8(y)))
    except ArithmeticError:
        return None


def operation(cls: Any, **attributes: Any) -> Any:
    with detached():
        block = Block([i4, i4])
        return cls(*block.args, **attributes)


def inferred(op: Any, *operands: IntRange | None) -> IntRange:
    (found,) = op.interface(InferIntRange).infer_ranges(operands)
    assert found is not None
    return found


def test_every_integer_operation_of_two_numbers_has_a_rule() -> None:
    assert len(BINARY) > 15
    assert all(InferIntRange in cls.info.interfaces for cls in BINARY)


@pytest.mark.parametrize("cls", BINARY, ids=lambda cls: cls.name)
@given(ranges(), ranges())
def test_what_two_numbers_make_is_in_the_range_that_their_ranges_make(cls: Any, x: IntRange, y: IntRange) -> None:
    op = operation(cls)
    found = inferred(op, x, y)
    results = [computed(op, a, b) for a in numbers_in(x) for b in numbers_in(y)]
    assert all(found.contains(n) for n in results if n is not None)


@pytest.mark.parametrize("cls", BINARY, ids=lambda cls: cls.name)
@given(st.sampled_from(NUMBERS), st.sampled_from(NUMBERS))
def test_of_two_constants_the_range_is_what_they_make(cls: Any, x: int, y: int) -> None:
    op = operation(cls)
    result = computed(op, x, y)
    if result is not None:
        assert inferred(op, IntRange.constant(WIDTH, x), IntRange.constant(WIDTH, y)).as_constant == result


@pytest.mark.parametrize("cls", [arith.AddIOp, arith.SubIOp, arith.MaxSIOp, arith.MinUIOp], ids=lambda cls: cls.name)
@given(ranges(), ranges())
def test_sums_and_extrema_have_the_least_range_where_nothing_wraps(cls: Any, x: IntRange, y: IntRange) -> None:
    def bounds(found: IntRange) -> tuple[int, int]:
        return (found.umin, found.umax) if cls is arith.MinUIOp else (found.smin, found.smax)

    operands = [IntRange.wrapped(WIDTH, *bounds(r)) for r in (x, y)]
    (a, b), (c, d) = map(bounds, operands)
    ends = {arith.AddIOp: (a + c, b + d), arith.SubIOp: (a - d, b - c), arith.MaxSIOp: (max(a, c), max(b, d))}
    low, high = ends.get(cls, (min(a, c), min(b, d)))
    if cls is arith.MinUIOp or (low >= -8 and high <= 7):
        assert bounds(inferred(operation(cls), *operands)) == (low, high)


@given(ranges(), ranges(), st.integers(0, 9))
def test_a_comparison_is_decided_when_all_pairs_agree(x: IntRange, y: IntRange, predicate: int) -> None:
    op = operation(arith.CmpIOp, predicate=predicate)
    truths = {bool(op.compute(np.int8(a), np.int8(b))) for a in numbers_in(x) for b in numbers_in(y)}
    found = inferred(op, x, y)
    assert all(found.contains(t) for t in truths)
    if (
        len(numbers_in(x)) == x.smax - x.smin + 1
        and len(numbers_in(y)) == y.smax - y.smin + 1
        and predicate in range(2, 6)
    ):
        assert (found.as_constant is not None) == (len(truths) == 1)


@given(ranges())
def test_casts_and_squares(x: IntRange) -> None:
    for cls, width in (
        (arith.ExtSIOp, i8),
        (arith.ExtUIOp, i8),
        (arith.TruncIOp, i1),
        (arith.IndexCastOp, tx8ir.core.IndexType()),
    ):
        with detached():
            op = cls(Block([i4]).args[0], out=width)
        found = inferred(op, x)
        assert all(found.contains(int(op.compute(np.int8(n)))) for n in numbers_in(x))
    assert all(square(x).contains(n * n) for n in numbers_in(x))


# --- programs --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_what_programs_compute_is_in_range() -> None:
    seen = useful = 0

    def check(program: Program) -> None:
        nonlocal seen, useful
        found = integer_ranges(program)

        def look(op: Operation, results: tuple[Any, ...]) -> None:
            nonlocal seen, useful
            for value, held in zip(op.results, results, strict=True):
                known = found.range_of(value)
                if known is None:
                    continue
                assert all(known.contains(int(n)) for n in np.asarray(held).flat), f"{op}: {held} is not in {known}"
                seen += 1
                useful += not known.is_full

        Interpreter(program, observer=look).run(draw_inputs(program, 0))

    for_each_program(tensor_programs(EVERYTHING), 100, check)
    assert seen > 100
    assert useful > 30


LOOP = """
module {
  func.func @main(%x: INT) -> (INT, INT, INT, INT) {
    %zero = "pd.full"() {dtype = i32, shape = [], value = 0.0 : f64} : () -> INT
    %one = "pd.full"() {dtype = i32, shape = [], value = 1.0 : f64} : () -> INT
    %seven = "pd.full"() {dtype = i32, shape = [], value = 7.0 : f64} : () -> INT
    %loop:2 = "scf.while"(%zero, %zero) ({
    ^bb0(%i: INT, %bits: INT):
      %c = "pd.less_than"(%i, %x) : (INT, INT) -> BIT
      "scf.condition"(%c, %i, %bits) : (BIT, INT, INT) -> ()
    }, {
    ^bb0(%i: INT, %bits: INT):
      %next = "pd.add"(%i, %one) : (INT, INT) -> INT
      %low = "pd.bitwise_and"(%next, %seven) : (INT, INT) -> INT
      "scf.yield"(%next, %low) : (INT, INT) -> ()
    }) : (INT, INT) -> (INT, INT)
    %called = func.call @half(%loop#1) : (INT) -> INT
    %small = "pd.less_equal"(%called, %seven) : (INT, INT) -> BIT
    %chosen = "scf.if"(%small) ({
      "scf.yield"(%one) : (INT) -> ()
    }, {
      "scf.yield"(%x) : (INT) -> ()
    }) : (BIT) -> INT
    return %loop#0, %loop#1, %chosen, %called : INT, INT, INT, INT
  }
  func.func private @half(%n: INT) -> INT {
    %two = "pd.full"() {dtype = i32, shape = [], value = 2.0 : f64} : () -> INT
    %0 = "pd.remainder"(%n, %two) : (INT, INT) -> INT
    return %0 : INT
  }
}
""".replace("INT", "!pd.vtensor<i32>").replace("BIT", "!pd.vtensor<i1>")


def returned(program: Program, found: IntegerRangeAnalysis) -> list[str]:
    end = program.main.body.blocks[-1].terminator
    assert end is not None
    return [str(found.range_of(value)) for value in end.operands]


def test_loops_are_widened_choices_decided_and_calls_followed() -> None:
    program = tx8ir.parse(LOOP)
    found = integer_ranges(program)
    counter, bits, chosen, called = returned(program, found)
    assert counter == str(IntRange.full(32))  # a counter may wrap around, as far as the range says
    assert (bits, chosen, called) == ("[0, 7]", "[1, 1]", "[0, 1]")


def test_a_loop_of_another_dialect_says_what_its_counter_is(build) -> None:
    class CountRange(Model[CountOp], InferIntRange):
        def infer_ranges(self, operands: Sequence[IntRange | None]) -> Sequence[IntRange | None]:
            return ()

        def argument_ranges(self, region: Any, operands: Sequence[IntRange | None]) -> Sequence[IntRange | None]:
            bound = operands[0]
            return (None if bound is None else IntRange.wrapped(bound.width, 0, max(0, bound.smax - 1)),)

    def body(x: Value) -> Any:
        bound = pd.full(shape=(), value=5.0, dtype=i32)
        return CountOp.build(bound.out, [x], lambda i, a: [pd.maximum(i, pd.full(shape=(), value=2.0, dtype=i32))])

    def counter(program: Program) -> str:
        loop = program.main.body.block.terminator.operands[0].defining_op
        return str(integer_ranges(program).range_of(loop.body.block.args[0]))

    assert counter(build(body, INDEX)) == str(IntRange.full(32))
    InferIntRange.attach(CountOp, CountRange)
    try:
        program = build(body, INDEX)
        assert counter(program) == "[0, 4]"
        assert returned(program, integer_ranges(program)) == ["[2, 4]"]  # it runs at least once
    finally:
        del CountOp.info.interfaces[InferIntRange]


def test_a_tensor_may_be_written_behind_its_value(build) -> None:
    five = pd.full
    program = build(
        lambda: [five(shape=(), value=5.0, dtype=i32), builtin.to_tensor(five(shape=(), value=5.0, dtype=i32))]
    )
    assert returned(program, integer_ranges(program)) == ["[5, 5]", "None"]


@pytest.mark.slow
def test_the_cost_is_linear_in_depth_and_length(build) -> None:
    def nested(depth: int) -> Program:
        def body(c: Value, x: Value) -> list[Value]:
            def loop(x: Value) -> Value:
                one = pd.full(shape=(), value=1.0, dtype=i32)
                return scf.WhileOp.build([x], lambda a: (c, [a]), lambda a: [pd.add(a, one)]).outputs[0]

            outer = loop(x)
            made = outer
            for _ in range(depth):
                inside = made.defining_op.after.block
                with Builder.before(inside.terminator):
                    made = loop(inside.args[0])
                inside.terminator.set_operand(0, made)
            return [outer]

        return build(body, VTensorType((), i1), INDEX)

    def prepare(depth: int) -> Callable[[], object]:
        program = nested(depth)
        return lambda: integer_ranges(program)

    assert_linear(prepare, 30)
    integer_ranges(nested(1000))
