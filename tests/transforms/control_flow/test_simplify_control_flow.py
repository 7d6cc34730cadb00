"""Simpler control flow: each rule on blocks and on regions, what it leaves, and that answers stay the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from support.examples import with_examples
from support.steps import assert_linear
from tx8ir.core import Block, Builder, FunctionType, Program, TensorType, Value, VTensorType, f32, i1, i32, parse
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.testing import assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, tensor_programs
from tx8ir.testing.programs.control import branch, jump, loop, loop_of_blocks
from tx8ir.transforms import SimplifyControlFlow

PASS = "simplify-control-flow"
F, N, B, TENSOR = VTensorType((2,), f32), VTensorType((), i32), VTensorType((), i1), TensorType((2,), f32)
T, C = "!pd.vtensor<2xf32>", "!pd.vtensor<i1>"

TEXT = f"""
module {{
  func.func @main(%x: {T}, %y: {T}, %c: {C}, %d: {C}) -> ({T}, {T}) {{
    %yes = "pd.full"() {{dtype = i1, shape = [], value = 1.0 : f64}} : () -> {C}
    %0:3 = "scf.if"(%c) ({{
      %1 = "pd.relu"(%x) : ({T}) -> {T}
      "scf.yield"(%1, %y, %1) : ({T}, {T}, {T}) -> ()
    }}, {{
      %2 = "pd.abs"(%x) : ({T}) -> {T}
      "scf.yield"(%2, %y, %x) : ({T}, {T}, {T}) -> ()
    }}) : ({C}) -> ({T}, {T}, {T})
    "cf.cond_br"(%d, %0#0, %0#1) [^bb1, ^bb2] {{operandSegmentSizes = array<i32: 1, 1, 1>}} : ({C}, {T}, {T}) -> ()
  ^bb1(%3: {T}):
    "cf.cond_br"(%yes, %3) [^bb3, ^bb4] {{operandSegmentSizes = array<i32: 1, 1, 0>}} : ({C}, {T}) -> ()
  ^bb2(%4: {T}):
    "cf.br"(%4) [^bb3] : ({T}) -> ()
  ^bb3(%5: {T}):
    %6 = "pd.add"(%5, %y) : ({T}, {T}) -> {T}
    "cf.br"(%6, %y) [^bb5] : ({T}, {T}) -> ()
  ^bb4:
    "cf.br"(%x, %y) [^bb5] : ({T}, {T}) -> ()
  ^bb5(%7: {T}, %8: {T}):
    return %7, %8 : {T}, {T}
  }}
}}
"""


def names(program: Program) -> list[str]:
    """The operations of main, but for numbers and the return."""
    return [op.name for op in program.main.walk() if op.name not in ("func.func", "pd.full", "func.return")]


def flag(value: bool) -> Value:
    return pd.full(shape=(), value=float(value), dtype=i1).out


def number(value: float) -> Value:
    return pd.full(shape=(), value=float(value), dtype=i32).out


def test_the_text_before_and_after(run, golden, assert_same) -> None:
    program = parse(TEXT)
    before = program.clone()
    statistics = run(program, PASS).stages[0].statistics
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", f"transforms/{PASS}.mlir")
    assert statistics == {
        "constant": 1, "unreachable": 3, "threaded": 2, "selected": 2, "unused": 7, "merged": 2, "empty": 1,
    }  # fmt: skip
    assert len(program.main.body) == 1
    assert_same(before, program)
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


# --- regions -------------------------------------------------------------------------------------------------------


def choose(c: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    return scf.IfOp.build(c, lambda: list(then()), lambda: list(otherwise())).outputs


def rounds(inits: Sequence[Any], more: Callable[..., Any], body: Callable[..., Any]) -> Any:
    return scf.WhileOp.build(inits, lambda *a: (more(*a), list(a)), lambda *a: list(body(*a))).outputs


def three_rounds(inits: Sequence[Any], body: Callable[..., Any]) -> Any:
    """A loop that counts to three; what it carries besides the count."""

    def after(count: Value, *values: Value) -> Sequence[Any]:
        following = body(*values)
        return [pd.add(count, number(1)), *following]

    return rounds([number(0), *inits], lambda count, *_: pd.less_than(count, number(3)), after)[1:]


# Each: argument types, the body of main, the operations left, and what was counted.
CASES: list[tuple[str, tuple[Any, ...], Callable[..., Any], list[str], dict[str, int]]] = [
    (
        "a choice on a constant",
        (F,),
        lambda x: choose(flag(False), lambda: [pd.relu(x)], lambda: [pd.abs(x)]),
        ["pd.abs"],
        {"constant": 1},
    ),
    (
        "choices on a constant inside one another, with effects",
        (F, TENSOR),
        lambda x, t: choose(
            flag(True),
            lambda: [choose(flag(True), lambda: [pd.relu_(t) and x], lambda: [x])[0]],
            lambda: [pd.abs(x)],
        ),
        ["pd.relu_"],
        {"constant": 2},
    ),
    (
        "a loop that never runs, with what it does to find out",
        (F, TENSOR),
        lambda x, t: (
            scf.WhileOp.build([x], lambda a: (pd.relu_(t) and flag(False), [pd.exp(a)]), lambda a: [a]).outputs
        ),
        ["pd.relu_", "pd.exp"],
        {"constant": 1},
    ),
    (
        "two sides that do the same, effects too",
        (B, TENSOR),
        lambda c, t: choose(c, lambda: [pd.relu_(t), pd.abs(t)][1:], lambda: [pd.relu_(t), pd.abs(t)][1:]),
        ["pd.relu_", "pd.abs"],
        {"identical": 1},
    ),
    (
        "values that exist are selected",
        (VTensorType((1, 1), i1), F, F),
        lambda c, x, y: choose(c, lambda: [x, y], lambda: [y, y]),
        ["pd.reshape", "pd.where"],
        {"selected": 1, "unused": 2, "empty": 1},
    ),
    (
        "a few operations that never fail run in any case",
        (B, F),
        lambda c, x: choose(c, lambda: [pd.relu(x)], lambda: [pd.abs(x)]),
        ["pd.relu", "pd.abs", "pd.where"],
        {"selected": 1, "unused": 1, "empty": 1},
    ),
    (
        "many do not",
        (B, F),
        lambda c, x: choose(c, lambda: [pd.exp(pd.relu(x))], lambda: [pd.abs(x)]),
        ["scf.if", "pd.relu", "pd.exp", "scf.yield", "pd.abs", "scf.yield"],
        {},
    ),
    (
        "what may fail does not",
        (B, N),
        lambda c, n: choose(c, lambda: [pd.divide(n, n)], lambda: [n]),
        ["scf.if", "pd.divide", "scf.yield", "scf.yield"],
        {},
    ),
    (
        "storage is not selected",
        (B, TENSOR, TENSOR),
        lambda c, t, u: choose(c, lambda: [t], lambda: [u]),
        ["scf.if", "scf.yield", "scf.yield"],
        {},
    ),
    (
        "a condition that may change is not kept for later",
        (TensorType((), i1), F, F),
        lambda c, x, y: choose(c, lambda: [x], lambda: [y]),
        ["scf.if", "scf.yield", "scf.yield"],
        {},
    ),
    (
        "results that nobody uses",
        (B, F, TENSOR),
        lambda c, x, t: choose(c, lambda: [pd.exp(pd.relu_(t)), pd.relu_(t)], lambda: [pd.abs(t), t])[1:],
        ["scf.if", "pd.relu_", "pd.exp", "pd.relu_", "scf.yield", "pd.abs", "scf.yield"],
        {"unused": 1},
    ),
    (
        "values that a loop carries for itself",
        (F, F),
        lambda x, y: three_rounds([x, x, y], lambda a, b, d: [pd.relu(a), d, b])[:1],
        ["scf.while", "pd.less_than", "scf.condition", "pd.relu", "pd.add", "scf.yield"],
        {"unused": 4},
    ),
    (
        "what only a dropped value needed goes too, from the last to the first",
        (F, F),
        lambda x, y: three_rounds([x, three_rounds([x, y], lambda a, b: [b, a])[1]], lambda a, b: [pd.abs(a), b])[:1],
        [
            *("scf.while", "pd.less_than", "scf.condition", "pd.add", "scf.yield"),
            *("scf.while", "pd.less_than", "scf.condition", "pd.abs", "pd.add", "scf.yield"),
        ],
        {"unused": 2 + 4},
    ),
]


@pytest.mark.parametrize(
    ("kinds", "body", "left", "counted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_regions(build, run, kinds, body, left: list[str], counted: dict[str, int]) -> None:
    program: Program = build(body, *kinds)
    assert check(program, PASS).passed
    assert run(program, PASS).stages[0].statistics == counted
    assert names(program) == left
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


def test_options(build, run) -> None:
    def body(c: Value, x: Value) -> Any:
        return choose(c, lambda: [pd.relu(x), x], lambda: [pd.abs(x), pd.exp(x)])

    for options, left in (
        ("{select=false}", "scf.if"),
        ("{speculate=0}", "scf.if"),
        ("{speculate=2}", "scf.if"),
        ("{speculate=3}", "pd.where"),
    ):
        program = build(body, B, F)
        run(program, PASS + options)
        assert left in names(program)
        assert ("scf.if" in names(program)) == (left == "scf.if")


# --- blocks --------------------------------------------------------------------------------------------------------


def blocks(inputs: Sequence[Any], results: Sequence[Any], fill: Callable[..., Any]) -> Program:
    """`main` as `fill(new, *arguments)` writes it; `new(*types)` makes a block."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(inputs, results))
    with Builder.at_end(main.body.block):
        fill(lambda *types: main.body.append(Block(types)), *main.body.block.args)
    program.verify()
    return program


def _loop(new: Callable[..., Block], x: Value, y: Value) -> None:
    """A loop whose header hands on a value that never changes, and two that nobody needs."""
    header, body, end = new(N, F, F, F), new(), new()
    cf.br([number(0), x, x, y], dest=header)
    count, same, left, right = header.args
    with Builder.at_end(header):
        cf.cond_br(pd.less_than(count, number(3)), (), (), true_dest=body, false_dest=end)
    with Builder.at_end(body):
        cf.br([pd.add(count, number(1)), same, right, left], dest=header)
    with Builder.at_end(end):
        func.ReturnOp([same])


def _threads(new: Callable[..., Block], c: Value, x: Value) -> None:
    """Three blocks that only go on, one after the other, and one that is used from below."""
    first, second, third, kept, end = new(F), new(F), new(), new(F), new(F)
    cf.cond_br(c, [x], [x], true_dest=first, false_dest=kept)
    with Builder.at_end(first):
        cf.br(first.args, dest=second)
    with Builder.at_end(second):
        pd.relu_(builtin.to_tensor(x))
        cf.br([], dest=third)
    with Builder.at_end(third):
        cf.br([x], dest=end)
    with Builder.at_end(kept):
        builtin.set_parameter(x, parameter="w")
        cf.br(kept.args, dest=end)
    with Builder.at_end(end):
        func.ReturnOp(end.args)


def test_a_loop_of_blocks_loses_what_it_hands_on_for_nothing(run) -> None:
    program = blocks([F, F], [F], _loop)
    assert check(program, PASS).passed
    assert run(program, PASS).stages[0].statistics == {"unused": 3}
    assert [len(block.args) for block in program.main.body] == [2, 1, 0, 0]
    assert program.main.body.blocks[-1].terminator.operands == program.main.body.block.args[:1]


def test_blocks_that_only_go_on_are_skipped(run) -> None:
    program = blocks([B, F], [F], _threads)
    assert check(program, PASS).passed
    assert run(program, PASS).stages[0].statistics == {"unused": 4, "threaded": 2, "unreachable": 2}
    assert len(program.main.body) == 4


def test_blocks_that_go_round_in_a_circle(run) -> None:
    def fill(new: Callable[..., Block], c: Value, x: Value) -> None:
        one, other, end = new(), new(), new()
        cf.cond_br(c, (), (), true_dest=one, false_dest=end)
        with Builder.at_end(one):
            cf.br((), dest=other)
        with Builder.at_end(other):
            cf.br((), dest=one)
        with Builder.at_end(end):
            func.ReturnOp([x])

    program = blocks([B, F], [F], fill)
    assert run(program, PASS).stages[0].statistics == {"merged": 1}
    assert run(program, PASS).stages[0].statistics == {}


def test_a_branch_to_one_block_selects(run) -> None:
    def fill(new: Callable[..., Block], c: Value, x: Value, y: Value) -> None:
        end = new(F, F)
        cf.cond_br(c, [x, y], [y, y], true_dest=end, false_dest=end)
        with Builder.at_end(end):
            func.ReturnOp(end.args)

    program = blocks([B, F, F], [F, F], fill)
    assert check(program, PASS).passed
    assert run(program, PASS).stages[0].statistics == {"selected": 1, "unused": 2, "merged": 1}
    assert names(program) == ["pd.where"]
    program = blocks([B, F, F], [F, F], fill)
    assert run(program, f"{PASS}{{select=false}}").stages[0].statistics == {"unused": 1}


def test_what_blocks_decide_for_regions_and_regions_for_blocks(run) -> None:
    def fill(new: Callable[..., Block], c: Value, x: Value, t: Value) -> None:
        join, yes, no = new(B), new(), new()
        true = flag(True)
        cf.cond_br(c, [true], [true], true_dest=join, false_dest=join)
        with Builder.at_end(join):
            chosen = choose(join.args[0], lambda: [pd.relu_(t) and flag(True)], lambda: [c])
            cf.cond_br(chosen[0], (), (), true_dest=yes, false_dest=no)
        for block, make in ((yes, pd.relu), (no, pd.exp)):
            with Builder.at_end(block):
                func.ReturnOp([make(x)])

    program = blocks([B, F, TENSOR], [F], fill)
    run(program, PASS)
    assert names(program) == ["pd.relu_", "pd.relu"]


# --- size ----------------------------------------------------------------------------------------------------------


def _simplified(program: Program) -> dict[str, int]:
    simplify = SimplifyControlFlow()
    simplify.run(program)
    program.verify()
    return dict(simplify.statistics)


def _simplifying(program: Program) -> Callable[[], object]:
    return lambda: SimplifyControlFlow().run(program)


def _diamonds(count: int) -> Program:
    def fill(new: Callable[..., Block], c: Value, x: Value) -> None:
        value: Value = x
        block = c.owner
        for _ in range(count):
            left, right, join = new(), new(), new(F)
            with Builder.at_end(block):
                cf.cond_br(c, (), (), true_dest=left, false_dest=right)
            for side, given in ((left, value), (right, x)):
                with Builder.at_end(side):
                    cf.br([given], dest=join)
            block = join
            with Builder.at_end(block):
                value = pd.relu(join.args[0]).out
        with Builder.at_end(block):
            func.ReturnOp([value])

    return blocks([B, F], [F], fill)


@pytest.mark.slow
def test_three_thousand_blocks_become_one() -> None:
    assert_linear(lambda count: _simplifying(_diamonds(count)), 50)
    program = _diamonds(999)
    counted = _simplified(program)
    assert len(program.main.body) == 1
    assert counted["selected"] == 998
    assert counted["merged"] == 999


def _leftovers(count: int) -> Program:
    def fill(new: Callable[..., Block], x: Value) -> None:
        block = x.owner
        for _ in range(count):
            dead, following = new(), new()
            with Builder.at_end(dead):
                cf.br((), dest=following)
            with Builder.at_end(block):
                pd.exp(x)
                cf.br((), dest=following)
            block = following
        with Builder.at_end(block):
            func.ReturnOp([x])

    return blocks([F], [F], fill)


@pytest.mark.slow
def test_three_thousand_blocks_that_merge_or_go() -> None:
    assert_linear(lambda count: _simplifying(_leftovers(count)), 50)
    assert _simplified(_leftovers(1500)) == {"unreachable": 1500, "merged": 1500}


@pytest.mark.parametrize("constant", [True, False])
def test_a_thousand_choices_inside_one_another(build, constant: bool) -> None:
    def body(depth: int, c: Value, x: Value, t: Value) -> list[Value]:
        condition = flag(True) if constant else c
        outermost = scf.IfOp.build(condition, lambda: [x, x], lambda: [x, pd.exp(x)])
        inner = outermost
        for _ in range(depth):
            end = inner.then_region.block.terminator
            with Builder.before(end):
                pd.relu_(t)
                made = scf.IfOp.build(condition, lambda: [x, x], lambda: [x, pd.exp(x)])
            end.set_operands(made.outputs)
            inner = made
        return [outermost.outputs[0]]

    def nest(depth: int) -> Program:
        return build(lambda c, x, t: body(depth, c, x, t), B, F, TENSOR)

    assert_linear(lambda depth: _simplifying(nest(depth)), 50)
    program = nest(1000)
    counted = _simplified(program)
    assert counted["constant" if constant else "unused"] >= 1001
    assert names(program).count("pd.relu_") == 1000


# --- generated programs --------------------------------------------------------------------------------------------


def simple_choice(writer: Writer) -> Sequence[Value]:
    """A choice between two values, or on a constant; its results may be used or not."""
    x = writer.tensor()
    other = writer.related(x, lambda t: t is x.type)
    y = x if other is None else other
    condition = writer.one_of([writer.condition(), writer.filled((), float(writer.number(0, 1)), i1)])
    make = writer.one_of([pd.assign, lambda v: v])
    with Builder.at_end(writer.block):
        made = choose(condition, lambda: [make(x), x, x], lambda: [y, pd.assign(y), x])
    return made if writer.perhaps() and not isinstance(x.type, TensorType) else made[:1]


def dead_loop(writer: Writer) -> Sequence[Value]:
    """A loop that never runs, or that carries a value for nothing."""
    x = writer.tensor()
    trips = writer.number(0, 2)

    def more(count: Value, *_: Value) -> Any:
        return pd.less_than(count, number(trips)) if trips else flag(False)

    with Builder.at_end(writer.block):
        made = rounds(
            [number(0), x, x],
            more,
            lambda count, a, b: [pd.add(count, number(1)), pd.assign(a) if a.type is F else a, b],
        )
    return made[1:2]


def constant_jump(writer: Writer) -> Sequence[Value]:
    """A branch on a constant to two blocks that join again, handing on a value for nothing."""
    region = writer.block.parent
    if not writer.can_branch or region is None:
        return simple_choice(writer)
    x = writer.tensor()
    condition = writer.filled((), float(writer.number(0, 1)), i1)
    sides, join = (region.append(Block()), region.append(Block())), region.append(Block([x.type, x.type]))
    with Builder.at_end(writer.block):
        cf.cond_br(condition, (), (), true_dest=sides[0], false_dest=sides[1])
    for side in sides:
        with Builder.at_end(side):
            cf.br([x, x], dest=join)
    writer.block = join
    return join.args[:1]


def in_blocks(writer: Writer) -> Sequence[Value]:
    """Blocks that join again, or go round, where there may be some."""
    return writer.one_of([jump, loop_of_blocks])(writer) if writer.can_branch else simple_choice(writer)


STEPS = [simple_choice, dead_loop, constant_jump, in_blocks, branch, loop]


@with_examples()
@pytest.mark.parametrize("pipeline", [PASS, f"{PASS}{{speculate=20}}"])
def test_programs_keep_their_answers(twice, pipeline: str, examples: int) -> None:
    assert_preserves(twice(pipeline), programs=tensor_programs(EVERYTHING, steps=STEPS), examples=examples, changed=0.8)


@with_examples()
def test_programs_keep_their_answers_after_other_passes(examples: int) -> None:
    assert_preserves(
        f"inline,sccp,{PASS},licm,{PASS},cse,dce",
        programs=tensor_programs(EVERYTHING, steps=STEPS),
        examples=examples,
        changed=0.8,
    )
