"""Unrolling: which loops have a known number of rounds, whole and partial, and that effects keep their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from support.steps import assert_linear
from tx8ir.analysis.trip_count import trip_count
from tx8ir.core import (
    Block,
    Builder,
    Program,
    Region,
    ScalarType,
    TensorType,
    Value,
    VTensorType,
    f32,
    i1,
    i8,
    i32,
    parse,
)
from tx8ir.dialects import builtin, pd, scf
from tx8ir.interpreter import Interpreter
from tx8ir.rewriting.provenance import provenance
from tx8ir.testing import assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, tensor_programs
from tx8ir.transforms import Unroll

F, TENSOR = VTensorType((2,), f32), TensorType((2,), f32)
T, N = "!pd.vtensor<2xf32>", "!pd.vtensor<i32>"

TEXT = f"""
module {{
  func.func @main(%x: {T}) -> ({N}, {T}) {{
    %zero = "builtin.constant"() {{value = dense<0> : {N}}} : () -> {N}
    %one = "builtin.constant"() {{value = dense<1> : {N}}} : () -> {N}
    %five = "builtin.constant"() {{value = dense<5> : {N}}} : () -> {N}
    %0:2 = "scf.while"(%zero, %x) ({{
    ^bb0(%i: {N}, %a: {T}):
      %more = "pd.less_than"(%i, %five) : ({N}, {N}) -> !pd.vtensor<i1>
      %b = "pd.abs"(%a) : ({T}) -> {T}
      "scf.condition"(%more, %i, %b) : (!pd.vtensor<i1>, {N}, {T}) -> ()
    }}, {{
    ^bb0(%i: {N}, %a: {T}):
      %next = "pd.add"(%i, %one) : ({N}, {N}) -> {N}
      %c = "pd.exp"(%a) : ({T}) -> {T}
      "scf.yield"(%next, %c) : ({N}, {T}) -> ()
    }}) : ({N}, {T}) -> ({N}, {T})
    return %0#0, %0#1 : {N}, {T}
  }}
}}
"""


def number(value: float, element: ScalarType = i32) -> Value:
    return pd.full(shape=(), value=float(value), dtype=element).out


def names(program: Program) -> list[str]:
    return [op.name for op in program.main.walk()]


def counting(
    start: int,
    more: Callable[[Value], Any],
    step: Callable[[Value], Any],
    carried: Sequence[Value] = (),
    body: Callable[..., Sequence[Any]] = list,
    element: ScalarType = i32,
) -> scf.WhileOp:
    """A loop that counts from `start` while `more` says so, and does `body` with what it carries."""

    def after(count: Value, *values: Value) -> Sequence[Any]:
        following = body(*values)
        return [step(count), *following]

    inits = [number(start, element), *carried]
    return scf.WhileOp.build(inits, lambda count, *values: (more(count), [count, *values]), after)


@pytest.mark.parametrize(
    ("pipeline", "counted"),
    [
        ("unroll", {"unrolled": 1, "rounds": 5}),
        ("unroll{factor=2 max-trips=4}", {"partial": 1, "rounds": 1}),
        ("unroll{max-trips=4}", {}),
        ("unroll{factor=8 max-trips=4}", {}),
        ("unroll{max-ops=40}", {"too_large": 1}),
    ],
)
def test_the_text_before_and_after(run, golden, assert_same, pipeline: str, counted: dict[str, int]) -> None:
    program = parse(TEXT)
    before = program.clone()
    assert run(program, pipeline).stages[0].statistics == counted
    if "partial" in counted or "unrolled" in counted:
        suffix = "-by-factor" if "partial" in counted else ""
        golden(f"// before\n{before}\n\n// {pipeline}\n{program}", f"transforms/unroll{suffix}.mlir")
        assert run(program, pipeline).stages[0].statistics == {}
    assert_same(before, program)


# Each: the loop, and how often it runs, None where that is not known.
COUNTS: list[tuple[str, Callable[[], scf.WhileOp], int | None]] = [
    ("up", lambda: counting(0, lambda i: pd.less_than(i, number(7)), lambda i: pd.add(i, number(2))), 4),
    ("up to and with", lambda: counting(1, lambda i: pd.less_equal(i, number(7)), lambda i: pd.add(number(2), i)), 4),
    ("down", lambda: counting(5, lambda i: pd.greater_than(i, number(0)), lambda i: pd.subtract(i, number(1))), 5),
    ("turned", lambda: counting(5, lambda i: pd.less_equal(number(1), i), lambda i: pd.add(i, number(-2))), 3),
    ("until equal", lambda: counting(1, lambda i: pd.not_equal(i, number(9)), lambda i: pd.add(i, number(4))), 2),
    ("past it", lambda: counting(0, lambda i: pd.not_equal(i, number(5)), lambda i: pd.add(i, number(2))), None),
    ("never", lambda: counting(9, lambda i: pd.less_than(i, number(7)), lambda i: pd.add(i, number(2))), 0),
    ("the wrong way", lambda: counting(0, lambda i: pd.less_than(i, number(7)), lambda i: pd.add(i, number(-1))), None),
    ("by nothing", lambda: counting(0, lambda i: pd.less_than(i, number(7)), lambda i: pd.add(i, number(0))), None),
    (
        "in several steps",
        lambda: counting(
            0,
            lambda i: pd.less_than(pd.add(i, number(3)), number(10)),
            lambda i: pd.subtract(pd.add(i, number(4)), number(1)),
        ),
        3,
    ),
    ("doubling", lambda: counting(1, lambda i: pd.less_than(i, number(9)), lambda i: pd.multiply(i, number(2))), None),
    ("from the other side", lambda: counting(0, lambda i: pd.less_than(i, number(3)), lambda i: number(5)), None),
    (
        "a number that would wrap",
        lambda: counting(
            0,
            lambda i: pd.less_equal(i, number(127, i8)),
            lambda i: pd.add(i, number(1, i8)),
            element=i8,
        ),
        None,
    ),
    (
        "a number with a fraction",
        lambda: counting(
            0, lambda i: pd.less_than(i, number(1, f32)), lambda i: pd.add(i, number(0.25, f32)), element=f32
        ),
        None,
    ),
    (
        "an end that depends on more",
        lambda: counting(
            0,
            lambda i: pd.logical_and(pd.less_than(i, number(3)), pd.full(shape=(), value=1.0, dtype=i1)),
            lambda i: pd.add(i, number(1)),
        ),
        None,
    ),
]


@pytest.mark.parametrize(("make", "trips"), [case[1:] for case in COUNTS], ids=[case[0] for case in COUNTS])
def test_how_often_a_loop_runs(build, make: Callable[[], scf.WhileOp], trips: int | None) -> None:
    loops: list[scf.WhileOp] = []

    def body() -> Sequence[Value]:
        loops.append(make())
        return loops[0].outputs

    program = build(body)
    assert trip_count(loops[0]) == trips
    if trips is not None:
        assert check(program, "unroll").passed
        assert check(program, "unroll{max-trips=0 factor=2}").passed


@pytest.mark.parametrize("pipeline", ["unroll", "unroll{max-trips=2 factor=3}"])
def test_effects_keep_their_order(build, run, pipeline: str) -> None:
    """Both regions write storage that the other reads, and a parameter."""

    def body(t: Value) -> Any:
        def more(count: Value) -> Any:
            pd.scale_(t, scale=2.0, bias=1.0)
            return pd.less_than(count, number(7))

        def rounds() -> list[Any]:
            pd.add_(t, builtin.get_parameter(parameter="w", out=F))
            builtin.set_parameter(builtin.to_vtensor(t), parameter="w")
            return []

        counting(0, more, lambda i: pd.add(i, number(1)), (), rounds)
        return [t]

    program = build(body, TENSOR, weights={"w": np.float32([1, 2])}, mutable=["w"])
    assert check(program, pipeline).passed
    before = names(program).count("builtin.set_parameter")
    assert set(run(program, pipeline).stages[0].statistics) <= {"unrolled", "rounds", "partial"}
    assert names(program).count("builtin.set_parameter") > before


def test_a_partial_loop_asks_less_often(build, run) -> None:
    def body(x: Value) -> Any:
        return counting(
            0, lambda i: pd.less_than(i, number(100)), lambda i: pd.add(i, number(1)), [x], lambda a: [pd.tanh(a)]
        ).outputs

    program = build(body, F)
    run(program, "unroll{factor=8},dce")
    interpreter = Interpreter(program)
    evaluated: list[str] = []
    interpreter.observer = lambda op, _: evaluated.append(op.name)
    interpreter.run({"arg0": np.zeros(2, np.float32)})
    assert evaluated.count("pd.tanh") == 100
    assert evaluated.count("pd.less_than") == 13  # 100 = 4 + 12 * 8


def test_copies_say_where_they_come_from(run) -> None:
    program = parse(TEXT)
    run(program, "unroll")
    made = next(op for op in program.main.body.block if op.name == "pd.exp")
    assert str(provenance(made).made_by) == "unroll"


def test_with_propagation_and_cleaning_up_nothing_of_the_count_is_left(run) -> None:
    program = parse(TEXT)
    run(program, "unroll,sccp,simplify-control-flow,cse,dce")
    assert [name for name in names(program) if name.startswith("pd.")] == [*["pd.abs", "pd.exp"] * 5, "pd.abs"]
    assert names(program).count("builtin.constant") == 1


# --- size ----------------------------------------------------------------------------------------------------------


def test_loops_inside_one_another_grow_as_far_as_allowed(build) -> None:
    def nested(x: Value, depth: int) -> Value:
        return counting(
            0,
            lambda i: pd.less_than(i, number(2)),
            lambda i: pd.add(i, number(1)),
            [x],
            lambda a: [nested(a, depth - 1) if depth else pd.relu(a)],
        ).outputs[1]

    program = build(lambda x: [nested(x, 12)], F)
    unroll = Unroll(max_ops=500)
    unroll.run(program)
    program.verify()
    assert unroll.statistics["unrolled"] >= 4
    assert unroll.statistics["too_large"] >= 1
    assert len(names(program)) < 1000


def test_many_loops_inside_one_another(build) -> None:
    def body(depth: int, x: Value) -> list[Value]:
        def once(inits: Sequence[Value]) -> scf.WhileOp:
            return counting(
                0, lambda i: pd.less_than(i, number(1)), lambda i: pd.add(i, number(1)), inits, lambda a: [a]
            )

        outermost = loop = once([x])
        for _ in range(depth):
            end = loop.after.block.terminator
            with Builder.before(end):
                loop = once([end.operands[1]])
            end.set_operand(1, loop.outputs[1])
        return [outermost.outputs[1]]

    def unrolling(depth: int) -> Callable[[], object]:
        program = build(lambda x: body(depth, x), F)
        return lambda: Unroll(max_ops=30).run(program)

    assert_linear(unrolling, 50)
    program = build(lambda x: body(1000, x), F)
    unroll = Unroll(max_ops=300)
    unroll.run(program)
    program.verify()
    assert unroll.statistics["unrolled"] > 10


def test_ten_thousand_operations(build) -> None:
    def loop(count: int) -> Program:
        def rounds(a: Value) -> list[Value]:
            for _ in range(count):
                a = pd.relu(a).out
            return [a]

        return build(
            lambda x: (
                counting(0, lambda i: pd.less_than(i, number(10)), lambda i: pd.add(i, number(1)), [x], rounds).outputs
            ),
            F,
        )

    def unrolling(program: Program) -> Callable[[], object]:
        return lambda: Unroll(max_trips=10, max_ops=20_000).run(program)

    assert_linear(lambda count: unrolling(loop(count)), 20)
    program = loop(1000)
    unrolling(program)()
    assert names(program).count("pd.relu") == 10_000


# --- generated programs --------------------------------------------------------------------------------------------


def counted_loop(writer: Writer) -> Sequence[Value]:
    """A loop of up to four rounds, up or down, with drawn operations in both regions."""
    trips, step, start = writer.number(0, 4), writer.one_of([1, 2, -1]), writer.number(0, 3)
    carried = writer.two_alike()
    inits = [writer.filled((), float(start), i32), *carried]
    types = [v.type for v in inits]
    before, after = Block(types), Block(types)
    end = start + trips * step
    inner = writer.inside(before, [*writer.pool, *before.args[1:]])
    inner.write(2)
    with Builder.at_end(before):
        compare = writer.one_of([pd.less_than if step > 0 else pd.greater_than, pd.not_equal])
        scf.condition(compare(before.args[0], number(end)), before.args)
    inner = writer.inside(after, [*writer.pool, *after.args[1:]])
    inner.write(3)
    following = [inner.value_of(t) for t in types[1:]]
    with Builder.at_end(after):
        scf.yield_([pd.add(after.args[0], number(step)), *following])
    return writer.insert(lambda: scf.WhileOp(inits, before=Region([before]), after=Region([after]), outputs=types))


@with_examples()
@pytest.mark.parametrize("pipeline", ["unroll", "unroll{max-trips=2 factor=2}"])
def test_programs_keep_their_answers(pipeline: str, examples: int) -> None:
    assert_preserves(
        pipeline, programs=tensor_programs(EVERYTHING, steps=[counted_loop]), examples=examples, changed=0.6
    )
