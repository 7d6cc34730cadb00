"""Sparse conditional constant propagation: through branches, loops, blocks and calls, and where it must not go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from support.steps import assert_linear
from tx8ir.analysis.constants import splat_value
from tx8ir.core import (
    Block,
    Builder,
    DenseAttr,
    FunctionType,
    Program,
    SymbolRefAttr,
    Value,
    VTensorType,
    f32,
    i1,
    i32,
    parse,
)
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs
from tx8ir.transforms import Sccp

F, N, B = VTensorType((2,), f32), VTensorType((), i32), VTensorType((), i1)

TEXT = (
    """
module {
  func.func @main(%x: VEC, %c: BIT) -> (INT, INT, INT, VEC) {
    %one = "pd.full"() {dtype = i32, shape = [], value = 1.0 : f64} : () -> INT
    %two = "pd.full"() {dtype = i32, shape = [], value = 2.0 : f64} : () -> INT
    %never = "pd.less_than"(%two, %one) : (INT, INT) -> BIT
    %chosen = "scf.if"(%never) ({
      "scf.yield"(%one) : (INT) -> ()
    }, {
      "scf.yield"(%two) : (INT) -> ()
    }) : (BIT) -> INT
    %loop:2 = "scf.while"(%chosen, %x) ({
    ^bb0(%a: INT, %y: VEC):
      "scf.condition"(%c, %a, %y) : (BIT, INT, VEC) -> ()
    }, {
    ^bb0(%a: INT, %y: VEC):
      %b = "pd.subtract"(%a, %one) : (INT, INT) -> INT
      %again = "pd.multiply"(%b, %two) : (INT, INT) -> INT
      %r = "pd.relu"(%y) : (VEC) -> VEC
      "scf.yield"(%again, %r) : (INT, VEC) -> ()
    }) : (INT, VEC) -> (INT, VEC)
    "cf.cond_br"(%c, %loop#0, %two) [^bb1, ^bb1] {operandSegmentSizes = array<i32: 1, 1, 1>} : (BIT, INT, INT) -> ()
  ^bb1(%joined: INT):
    %called = "func.call"(%joined) {callee = @next} : (INT) -> INT
    return %joined, %called, %loop#0, %loop#1 : INT, INT, INT, VEC
  }
  func.func @next(%n: INT) -> INT {
    %one = "pd.full"() {dtype = i32, shape = [], value = 1.0 : f64} : () -> INT
    %0 = "pd.add"(%n, %one) : (INT, INT) -> INT
    return %0 : INT
  }
}
""".replace("VEC", "!pd.vtensor<2xf32>")
    .replace("INT", "!pd.vtensor<i32>")
    .replace("BIT", "!pd.vtensor<i1>")
)


def number(value: float) -> Value:
    return pd.full(shape=(), value=float(value), dtype=i32).out


def returned(program: Program) -> list[bool | int | float | None]:
    """The numbers that `main` returns, None where it is not a constant."""
    block = program.main.body.blocks[-1]
    found: list[Any] = [splat_value(value) for value in block.terminator.operands]
    return found


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    statistics = run(program, "sccp").stages[0].statistics
    golden(f"// before\n{before}\n\n// sccp\n{program}", "transforms/sccp.mlir")
    assert returned(program)[:3] == [2, 3, 2]
    assert statistics == {"folded": 7, "arguments": 4}
    text = str(program)
    assert run(program, "sccp").stages[0].statistics == {}
    assert str(program) == text


# Each: argument types, the body of main, and the constants that it returns then.
CASES: list[tuple[str, tuple[Any, ...], Callable[..., Any], list[Any]]] = [
    ("operations", (), lambda: [pd.add(number(1), pd.multiply(number(2), number(3)))], [7]),
    (
        "both sides of a choice yield the same",
        (B,),
        lambda c: scf.IfOp.build(c, lambda: [number(3)], lambda: [pd.add(number(1), number(2))]).outputs,
        [3],
    ),
    ("they do not", (B,), lambda c: scf.IfOp.build(c, lambda: [number(3)], lambda: [number(4)]).outputs, [None]),
    (
        "the side that is not taken does not matter",
        (N,),
        lambda n: (
            scf.IfOp.build(
                pd.less_than(number(1), number(0)), lambda: [n], lambda: [pd.subtract(number(9), number(2))]
            ).outputs
        ),
        [7],
    ),
    (
        "a loop that never runs",
        (N,),
        lambda n: (
            scf.WhileOp.build([number(5)], lambda a: (pd.less_than(number(1), number(0)), [a]), lambda a: [n]).outputs
        ),
        [5],
    ),
    (
        "a loop that changes what it carries",
        (B,),
        lambda c: scf.WhileOp.build([number(5)], lambda a: (c, [a]), lambda a: [pd.add(a, number(1))]).outputs,
        [None],
    ),
    (
        "what fails when it is evaluated stays",
        (),
        lambda: [pd.divide(number(1), number(0)), pd.add(number(1), number(1))],
        [None, 2],
    ),
    (
        "an element of a list, of which nothing else is known",
        (F,),
        lambda x: [builtin.slice_(builtin.combine([x, number(4)]), index=1)],
        [4],
    ),
    (
        "zeros keep their sign, and are two numbers",
        (B,),
        lambda c: (
            scf.IfOp.build(c, lambda: [pd.full(shape=(), value=0.0)], lambda: [pd.full(shape=(), value=-0.0)]).outputs
        ),
        [None],
    ),
    (
        "storage is not constant",
        (),
        lambda: [builtin.to_vtensor(builtin.to_tensor(number(1)))],
        [None],
    ),
]


@pytest.mark.parametrize(("kinds", "body", "numbers"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_constant(build, run, kinds, body, numbers: list[Any]) -> None:
    program: Program = build(body, *kinds)
    run(program, "sccp")
    assert returned(program) == numbers


def test_a_side_that_cannot_be_taken_makes_no_constants(build, run) -> None:
    """1 on the edge that is taken; the other, which is not, may say what it wants. Folding alone cannot know."""

    def body() -> Any:
        one = number(1)

        def after(a: Value) -> Sequence[Any]:
            changes = pd.not_equal(a, number(1))
            return scf.IfOp.build(changes, lambda: [pd.add(a, number(1))], lambda: [a]).outputs

        return scf.WhileOp.build([one], lambda a: (pd.less_than(a, number(10)), [a]), after).outputs

    program = build(body)
    run(program, "sccp")
    assert [op for op in program.module.walk() if op.name == "pd.add" and op.parent in _reachable(program)] == []


def _reachable(program: Program) -> set[Any]:
    """Blocks outside of regions of choices whose condition is constantly false."""
    dead = {
        op.then_region.block
        for op in program.module.walk()
        if isinstance(op, scf.IfOp) and splat_value(op.condition) is False
    }
    return {op.parent for op in program.module.walk()} - dead


def test_parameters_are_constant_while_they_are_immutable(build, run) -> None:
    def body() -> list[Any]:
        read = builtin.get_parameter(parameter="w", out=F)
        return [pd.add(read, read)]

    for mutable, names in (((), ["builtin.constant"]), (("w",), ["builtin.get_parameter", "pd.add"])):
        program = build(body, weights={"w": np.float32([1, 2])}, mutable=mutable)
        run(program, "sccp")
        assert [op.name for op in program.main.body.block][:-1] == names


def test_a_parameter_that_goes_through_a_branch_is_read_again_not_copied(build, run) -> None:
    def body(c: Value) -> Any:
        read = [builtin.get_parameter(parameter="w", out=VTensorType((64,), f32)) for _ in range(2)]
        return scf.IfOp.build(c, lambda: [read[0]], lambda: [read[1]]).outputs

    program = build(body, B, weights={"w": np.arange(64, dtype=np.float32)})
    assert run(program, "sccp").stages[0].statistics == {"folded": 1}
    assert list(program.weights) == ["w"]
    assert program.main.body.block.terminator.operands[0].defining_op.name == "builtin.get_parameter"


def test_large_results_stay_and_larger_ones_go_to_the_store(build, run) -> None:
    def body() -> Any:
        known = builtin.get_parameter(parameter="w", out=VTensorType((64,), f32))
        return [pd.multiply(known, pd.full(shape=(64,), value=2.0))]

    program = build(body, weights={"w": np.arange(64, dtype=np.float32)})
    assert run(program, "sccp{max-bytes=16}").stages[0].statistics == {"folded": 1, "variables": 1}
    program = build(lambda: [pd.expand(pd.full(shape=(1,), value=1.5), shape=(64,))])
    assert run(program, "sccp{max-bytes=16}").stages[0].statistics == {"refused": 1}


CALLS = """
module {{
  func.func @main() -> (!pd.vtensor<i32>, !pd.vtensor<i32>) {{
    %1 = "pd.full"() {{dtype = i32, shape = [], value = 1.0 : f64}} : () -> !pd.vtensor<i32>
    %2 = "pd.full"() {{dtype = i32, shape = [], value = {second} : f64}} : () -> !pd.vtensor<i32>
    %3 = "func.call"(%1) {{callee = @f}} : (!pd.vtensor<i32>) -> !pd.vtensor<i32>
    %4 = "func.call"(%2) {{callee = @f}} : (!pd.vtensor<i32>) -> !pd.vtensor<i32>
    return %3, %4 : !pd.vtensor<i32>, !pd.vtensor<i32>
  }}
  func.func @f(%n: !pd.vtensor<i32>) -> !pd.vtensor<i32> {attributes} {{
    %0 = "pd.add"(%n, %n) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    return %0 : !pd.vtensor<i32>
  }}
}}
"""


@pytest.mark.parametrize(
    ("second", "attributes", "pipeline", "numbers"),
    [
        ("1.0", "", "sccp", [2, 2]),
        ("2.0", "", "sccp", [None, None]),  # one function for both
        ("1.0", 'attributes {sym_visibility = "public"}', "sccp", [None, None]),
        ("1.0", "attributes {table = [@f]}", "sccp", [None, None]),
        ("1.0", "", "sccp{interprocedural=false}", [None, None]),
        ("1.0", "", "func.func(sccp)", [None, None]),
    ],
)
def test_calls(run, second: str, attributes: str, pipeline: str, numbers: list[Any]) -> None:
    program = parse(CALLS.format(second=second, attributes=attributes))
    run(program, pipeline)
    assert returned(program) == numbers


def test_recursion_comes_to_an_end(run) -> None:
    text = CALLS.format(second="1.0", attributes="").replace(
        '"pd.add"(%n, %n) : (!pd.vtensor<i32>, !pd.vtensor<i32>)', '"func.call"(%n) {callee = @f} : (!pd.vtensor<i32>)'
    )
    program = parse(text)
    run(program, "sccp")
    assert returned(program) == [None, None]  # nothing is ever returned


# --- size ----------------------------------------------------------------------------------------------------------


def chain_of_blocks(count: int) -> Program:
    """Blocks that hand a number on, each choosing between two that add 0 to it."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([B], [N]))
    c = main.body.block.args[0]
    block = main.body.block
    with Builder.at_end(block):
        value, zero = number(1), number(0)
    for _ in range(count // 3):
        left, right, join = (main.body.append(Block()) for _ in range(3))
        argument = join.add_argument(N)
        with Builder.at_end(block):
            cf.cond_br(c, (), (), true_dest=left, false_dest=right)
        for side in (left, right):
            with Builder.at_end(side):
                cf.br([pd.add(value, zero)], dest=join)
        block, value = join, argument
    with Builder.at_end(block):
        func.ReturnOp([value])
    program.verify()
    return program


def _propagating(program: Program) -> Callable[[], object]:
    return lambda: Sccp().run(program)


@pytest.mark.slow
def test_three_thousand_blocks() -> None:
    assert_linear(lambda count: _propagating(chain_of_blocks(count)), 150)
    program = chain_of_blocks(3_000)
    propagation = Sccp()
    propagation.run(program)
    assert returned(program) == [1]
    assert propagation.statistics == {"folded": 2000, "arguments": 1000}


def test_a_thousand_choices_inside_one_another(build) -> None:
    def body(depth: int, c: Value) -> list[Value]:
        outermost = scf.IfOp.build(c, lambda: [number(1)], lambda: [number(1)])
        inner = outermost
        for _ in range(depth):
            with Builder.before(inner.then_region.block.terminator):
                made = scf.IfOp.build(c, lambda: [number(1)], lambda: [number(1)])
            inner.then_region.block.terminator.set_operand(0, made.outputs[0])
            inner = made
        return [outermost.outputs[0]]

    assert_linear(lambda depth: _propagating(build(lambda c: body(depth, c), B)), 50)
    program = build(lambda c: body(1000, c), B)
    Sccp().run(program)
    assert returned(program) == [1]


# --- generated programs --------------------------------------------------------------------------------------------


def constants(writer: Writer) -> Sequence[Value]:
    """A constant that goes through a choice, a loop or blocks, and an operation on what comes out."""
    element = writer.one_of([f32, i32])
    one = writer.filled((), writer.literal(element), element)
    other = writer.one_of([one, writer.filled((), writer.literal(element), element)])
    condition = writer.one_of([writer.condition(), writer.filled((), float(writer.number(0, 1)), i1)])

    def by_choice() -> Any:
        return scf.IfOp.build(condition, lambda: [one], lambda: [pd.maximum(other, other)]).outputs

    def by_loop() -> Any:
        def before(count: Value, value: Value) -> tuple[Any, Sequence[Any]]:
            return pd.less_than(count, number(writer.number(0, 2))), [count, value]

        def after(count: Value, value: Value) -> Sequence[Any]:
            return [pd.add(count, number(1)), pd.minimum(value, other)]

        return scf.WhileOp.build([number(0), one], before, after).outputs

    def by_block() -> Any:
        region = writer.block.parent
        if not writer.can_branch or region is None:
            return by_choice()
        join = region.append(Block([one.type]))
        cf.cond_br(condition, [one], [other], true_dest=join, false_dest=join)
        writer.block = join
        return join.args

    def by_call() -> Any:
        name = f"constant{len(writer.program.body)}"
        kind = FunctionType([one.type], [one.type])
        with Builder.at_end(writer.program.body):
            function = func.FuncOp(sym_name=name, function_type=kind)
        argument = function.body.block.args[0]
        with Builder.at_end(function.body.block):
            func.ReturnOp([pd.add(argument, argument)])
        return func.call([one], callee=SymbolRefAttr(name), outputs=[one.type]).outputs

    with Builder.at_end(writer.block):
        chosen = writer.one_of([by_choice, by_loop, by_block, by_call])()[-1]
    x = writer.value(lambda t: t.element is element)
    with Builder.at_end(writer.block):
        total = pd.add(chosen, chosen).out
        made = [total] if x is None else [total, pd.multiply(x, total).out]
    assert ranked(total).element is element
    return made


@with_examples()
@pytest.mark.parametrize("pipeline", ["sccp", "func.func(sccp)"])
def test_programs_keep_their_answers(twice, pipeline: str, examples: int) -> None:
    assert_preserves(
        twice(pipeline), programs=tensor_programs(EVERYTHING, steps=[constants]), examples=examples, changed=0.6
    )


def test_numbers_are_those_of_the_interpreter(build, run) -> None:
    """0.1 + 0.2 in float32, rounded once."""
    program = build(lambda: [pd.add(pd.full(shape=(), value=0.1), pd.full(shape=(), value=0.2))])
    run(program, "sccp")
    constant = program.main.body.block.first_op
    assert isinstance(constant, builtin.ConstantOp)
    assert isinstance(constant.value, DenseAttr)
    assert constant.value.value.tobytes() == np.add(np.float32(0.1), np.float32(0.2)).tobytes()


class TestNumbers:
    """What `arith` and `index` count with: no tensors."""

    TEXT = """
module {
  func.func @main(%x: index, %t: tensor<4xf32>) -> (f32, index, index, f32) {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %half = arith.constant 1.5 : f32
    %less = arith.cmpi slt, %c2, %c3 : index
    %chosen = scf.if %less -> (f32) {
      %twice = arith.addf %half, %half : f32
      scf.yield %twice : f32
    } else {
      %e = tensor.extract %t[%x] : tensor<4xf32>
      scf.yield %e : f32
    }
    %case = scf.index_switch %c3 -> index
    case 3 {
      %six = arith.muli %c3, %c2 : index
      scf.yield %six : index
    }
    default {
      scf.yield %x : index
    }
    %never = scf.for %i = %c3 to %c2 step %c2 iter_args(%acc = %case) -> (index) {
      %n = arith.addi %acc, %x : index
      scf.yield %n : index
    }
    %carried = scf.for %i = %c0 to %x step %c2 iter_args(%acc = %half) -> (f32) {
      %one = arith.constant 1.0 : f32
      %n = arith.mulf %acc, %one : f32
      scf.yield %n : f32
    }
    cf.cond_br %less, ^bb1(%chosen : f32), ^bb1(%carried : f32)
  ^bb1(%v: f32):
    return %v, %case, %never, %carried : f32, index, index, f32
  }
}
"""

    def test_choices_switches_loops_and_branches_on_constants_go(self) -> None:
        program = parse(self.TEXT)
        PassManager.parse("sccp,simplify-control-flow,dce").run(program)
        operations = list(program.main.body.block)
        assert len(program.main.body) == 1
        assert {op.name for op in operations} == {"arith.constant", "func.return"}
        assert [splat_value(value) for value in operations[-1].operands] == [3.0, 6, 6, 1.5]

    def test_a_number_that_differs_from_round_to_round_is_not_constant(self) -> None:
        program = parse("""
module {
  func.func @main(%n: index) -> (index, index) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %zero, %b = %one) -> (index, index) {
      %next = arith.addi %a, %b : index
      %same = arith.muli %b, %one : index
      scf.yield %next, %same : index, index
    }
    return %r#0, %r#1 : index, index
  }
}
""")
        Sccp().run(program)
        first, second = program.main.body.block.last_op.operands
        assert splat_value(first) is None
        assert splat_value(second) == 1
