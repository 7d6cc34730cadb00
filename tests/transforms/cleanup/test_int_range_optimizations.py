"""What ranges of integers decide: against all operands of 4 bits, and what is found in programs."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tx8ir
from support.examples import with_examples
from tx8ir.analysis.constants import splat_value
from tx8ir.core import Builder, FunctionType, IntAttr, Program, Value, VTensorType
from tx8ir.core.attrs.types import i4, ui8
from tx8ir.dialects import arith, builtin, func, pd, scf
from tx8ir.dialects.arith.integers import IntegerBinaryOp
from tx8ir.dialects.scf.loops import rounds
from tx8ir.interpreter import EvaluationError, Interpreter
from tx8ir.testing import assert_preserves
from tx8ir.testing.programs import EVERYTHING, tensor_programs
from tx8ir.transforms import IntRangeOptimizations

BINARY = sorted((op for op in arith.DIALECT.ops.values() if issubclass(op, IntegerBinaryOp)), key=lambda op: op.name)


def function(inputs: Sequence[Any], results: int, fill: Any) -> Program:
    program = Program.empty()
    with Builder.at_end(program.body):
        made = func.FuncOp(sym_name="main", function_type=FunctionType(inputs, [i4] * results))
    block = made.body.block
    with Builder.at_end(block):
        func.ReturnOp(fill(*block.args))
    program.verify()
    return program


def answers(program: Program, numbers: Sequence[int]) -> list[int] | None:
    """What a program of integers computes; None where it fails."""
    try:
        found = Interpreter(program).run({f"arg{i}": np.int8(n) for i, n in enumerate(numbers)})
    except EvaluationError as error:
        if "divi" not in str(error) and "step" not in str(error):
            raise
        return None
    return [int(n) for n in found.values()]


def intervals(least: int, most: int) -> st.SearchStrategy[tuple[int, int]]:
    """Short ones: what decides lies at their ends."""
    return st.tuples(st.integers(least, most - 2), st.integers(0, 2)).map(lambda drawn: (drawn[0], sum(drawn)))


def between(x: Value, interval: tuple[int, int]) -> Value:
    """`x`, or the end of the interval that is next to it."""
    low, high = (arith.ConstantOp(value=IntAttr(n, i4)).out for n in interval)
    return arith.MaxSIOp(arith.MinSIOp(x, high).result, low).result


def numbers_of(interval: tuple[int, int]) -> range:
    return range(interval[0], interval[1] + 1)


CHOOSING = [arith.RemSIOp, arith.RemUIOp, arith.MaxSIOp, arith.MaxUIOp, arith.MinSIOp, arith.MinUIOp]


@pytest.mark.parametrize("cls", CHOOSING, ids=lambda cls: cls.name)
@given(intervals(-8, 7), intervals(-4, 7))
def test_an_operand_takes_the_place_of_a_result_that_is_always_the_same(
    cls: Any, first: tuple[int, int], second: tuple[int, int]
) -> None:
    operands: list[Value] = []
    made: list[Any] = []

    def fill(x: Value, y: Value) -> list[Value]:
        operands[:] = [between(x, first), between(y, second)]
        made[:] = [cls(*operands)]
        return [*operands, made[0].result]

    program = function([i4, i4], 3, fill)
    pairs = list(itertools.product(numbers_of(first), numbers_of(second)))
    computed: dict[tuple[int, int], int] = {}
    for a, b in pairs:
        with contextlib.suppress(ArithmeticError):  # a remainder by 0 may be anything
            computed[a, b] = int(made[0].compute(np.int8(a), np.int8(b)))
    IntRangeOptimizations().run(program)
    end = program.main.body.block.last_op
    assert end is not None
    x, y, result = end.operands
    known = splat_value(result)
    if known is not None:
        assert set(computed.values()) <= {known}
    elif result in (x, y):
        assert all(number == pair[0 if result is x else 1] for pair, number in computed.items())
    elif cls in (arith.MaxSIOp, arith.MinSIOp):  # what overlaps is not decided
        assert first[0] < second[1]
        assert second[0] < first[1]
    elif cls is arith.RemSIOp and second[0] > 0:
        assert any(number != pair[0] for pair, number in computed.items()) or -first[0] >= second[0]


@given(intervals(-4, 3), intervals(-4, 7), intervals(-1, 5))
def test_a_loop_goes_where_it_never_runs_twice(
    lower: tuple[int, int], upper: tuple[int, int], step: tuple[int, int]
) -> None:
    def fill(*given_: Value) -> list[Value]:
        bounds = [between(x, interval) for x, interval in zip(given_, (lower, upper, step), strict=True)]
        one = arith.ConstantOp(value=IntAttr(1, i4)).out
        loop = scf.ForOp.build(*bounds, [given_[0]], lambda i, a: [arith.XOrIOp(a, one).result])
        return [loop.results[0]]

    program = function([i4] * 3, 1, fill)
    IntRangeOptimizations().run(program)
    names = [op.name for op in program.main.body.block]
    if step[0] < 1:
        assert "scf.for" in names
        return
    trips = {rounds(*bounds) for bounds in itertools.product(numbers_of(lower), numbers_of(upper), numbers_of(step))}
    assert ("scf.for" not in names) == (trips in ({0}, {1}))
    assert ("arith.xori" in names) == (trips == {1})


steps = st.tuples(st.sampled_from(BINARY), st.integers(0, 30), st.integers(0, 30))


@given(st.lists(steps, min_size=1, max_size=6), st.tuples(*[st.integers(-8, 7)] * 3), st.integers(1, 7))
def test_programs_on_numbers_of_4_bits_keep_every_answer(
    drawn: list[tuple[Any, int, int]], numbers: tuple[int, ...], divisor: int
) -> None:
    def fill(x: Value, y: Value) -> list[Value]:
        known = [arith.ConstantOp(value=IntAttr(n, i4)).out for n in numbers]
        divided = arith.RemSIOp(x, arith.ConstantOp(value=IntAttr(divisor, i4)).out).result
        values = [arith.AndIOp(x, known[0]).result, divided, y, *known]
        for cls, a, b in drawn:
            values.append(cls(values[a % len(values)], values[b % len(values)]).result)
        one, two = known[1], arith.MaxSIOp(known[2], arith.ConstantOp(value=IntAttr(1, i4)).out).result
        rounds = scf.ForOp.build(values[0], one, two, [values[1]], lambda i, a: [arith.AddIOp(a, i).result])
        return [*values[-len(drawn) :], rounds.results[0]]

    program = function([i4, i4], len(drawn) + 1, fill)
    changed = program.clone()
    IntRangeOptimizations().run(changed)
    changed.verify()
    for pair in itertools.product(range(-8, 8, 5), range(-8, 8, 5)):
        before = answers(program, pair)
        assert before is None or answers(changed, pair) == before


TEXT = """
module {
  func.func @main(%x: i32, %t: tensor<4xf32>) -> (i32, i1, i32, i32, index, f32) {
    %c7 = arith.constant 7 : i32
    %c8 = arith.constant 8 : i32
    %c100 = arith.constant 100 : i32
    %m = arith.andi %x, %c7 : i32
    %rem = arith.remsi %m, %c8 : i32
    %less = arith.cmpi slt, %m, %c8 : i32
    %quotient = arith.divui %m, %c8 : i32
    %larger = arith.maxsi %m, %c100 : i32
    %low = arith.index_cast %m : i32 to index
    %c5 = arith.constant 5 : index
    %c20 = arith.constant 20 : index
    %c30 = arith.constant 30 : index
    %up = arith.addi %low, %c5 : index
    %zero = arith.constant 0.0 : f32
    %never = scf.for %i = %c20 to %up step %c5 iter_args(%acc = %low) -> (index) {
      %n = arith.addi %acc, %i : index
      scf.yield %n : index
    }
    %once = scf.for %i = %low to %c20 step %c30 iter_args(%acc = %zero) -> (f32) {
      %e = tensor.extract %t[%i] : tensor<4xf32>
      %n = arith.addf %acc, %e : f32
      scf.yield %n : f32
    }
    return %rem, %less, %quotient, %larger, %never, %once : i32, i1, i32, i32, index, f32
  }
}
"""


def test_comparisons_quotients_remainders_extrema_and_loops() -> None:
    program = tx8ir.parse(TEXT)
    found = IntRangeOptimizations()
    found.run(program)
    program.verify()
    names = [op.name for op in program.main.body.block]
    assert "scf.for" not in names
    assert not {"arith.remsi", "arith.cmpi", "arith.divui", "arith.maxsi"} & {*names}
    end = program.main.body.block.last_op
    assert end is not None
    masked, less, quotient, larger, never, _ = end.operands
    assert masked.defining_op.name == "arith.andi"
    assert [v.defining_op.attributes["value"].value for v in (less, quotient, larger)] == [True, 0, 100]
    assert never.defining_op.name == "arith.index_cast"
    before = Interpreter(tx8ir.parse(TEXT))
    for x in (0, 3, -5):  # the place must be in the tensor
        given_ = {"arg0": np.int32(x), "arg1": np.arange(4, dtype=np.float32)}
        after = [float(a) for a in Interpreter(program).run(given_).values()]
        assert after == [float(a) for a in before.run(given_).values()]


@pytest.mark.parametrize(("upper", "stays"), [(7, False), (8, True), (-9, False)])
def test_a_loop_that_may_run_twice_stays(upper: int, stays: bool) -> None:
    text = f"""
module {{
  func.func @main(%x: i32) -> i32 {{
    %mask = arith.constant 3 : i32
    %four = arith.constant 4 : i32
    %low = arith.andi %x, %mask : i32
    %upper = arith.constant {upper} : i32
    %step = arith.addi %low, %four : i32
    %start = arith.constant 3 : i32
    %r = scf.for %i = %start to %upper step %step iter_args(%acc = %low) -> (i32) : i32 {{
      %n = arith.addi %acc, %i : i32
      scf.yield %n : i32
    }}
    return %r : i32
  }}
}}
"""
    program = tx8ir.parse(text)
    IntRangeOptimizations().run(program)
    assert any(isinstance(op, scf.ForOp) for op in program.module.walk()) is stays


def test_an_unsigned_constant_has_its_number() -> None:
    kind = VTensorType((2,), ui8)
    program = Program.empty()
    with Builder.at_end(program.body):
        made = func.FuncOp(sym_name="main", function_type=FunctionType([], [kind]))
    with Builder.at_end(made.body.block):
        x = pd.full(shape=(2,), value=200.0, dtype=ui8)
        func.ReturnOp([pd.maximum(x, x)])
    IntRangeOptimizations().run(program)
    end = made.body.block.last_op
    assert end is not None
    constant = end.operands[0].defining_op
    assert isinstance(constant, (builtin.ConstantOp, pd.FullOp))
    (answer,) = Interpreter(program).run({}).values()
    assert np.asarray(answer).tolist() == [200, 200]


@with_examples()
def test_programs_keep_their_answers(examples: int) -> None:
    assert_preserves(IntRangeOptimizations(), programs=tensor_programs(EVERYTHING), examples=examples)
