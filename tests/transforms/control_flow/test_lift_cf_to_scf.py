"""Branches between blocks become choices and loops with regions: which do, which stay, and that answers are kept."""

from __future__ import annotations

from collections import Counter

import attrs
import pytest

from support.examples import with_examples
from tx8ir.core import Block, Builder, FunctionType, Program, Value, VTensorType, f32, i1, i32, parse
from tx8ir.dialects import cf, func, pd
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, tensor_programs

PASS = "lift-cf-to-scf"
T, B, N = "!pd.vtensor<2xf32>", "!pd.vtensor<i1>", "!pd.vtensor<i32>"


def cond_br(condition: str, true: str, false: str, *given: str, sizes: tuple[int, int] = (0, 0)) -> str:
    operands = ", ".join([condition, *given])
    types = ", ".join([B, *[T] * len(given)])
    segments = f"operandSegmentSizes = array<i32: 1, {sizes[0]}, {sizes[1]}>"
    return f'"cf.cond_br"({operands})[^{true}, ^{false}] {{{segments}}} : ({types}) -> ()'


def br(dest: str, *given: str) -> str:
    return f'"cf.br"({", ".join(given)})[^{dest}] : ({", ".join([T] * len(given))}) -> ()'


def unary(name: str, result: str, operand: str) -> str:
    return f'{result} = "pd.{name}"({operand}) : ({T}) -> {T}'


def program_of(*lines: str) -> Program:
    body = "\n".join(lines)
    program = parse(f"module {{ func.func @main(%x: {T}, %c: {B}, %d: {B}) -> {T} {{\n{body}\n}} }}")
    program.verify()
    return program


def counts(program: Program) -> Counter[str]:
    return Counter(op.name for op in program.module.walk())


def lifted(program: Program) -> dict[str, int]:
    """Lifts, checks answers and that nothing is left to lift; the statistics."""
    assert check(program, PASS, reduce=False).passed
    statistics = dict(PassManager.parse(PASS).run(program).stages[0].statistics)
    assert PassManager.parse(PASS).run(program).stages[0].statistics == {}
    return statistics


CHOICES = {
    "two sides": [
        cond_br("%c", "a", "b"), "^a:", unary("exp", "%1", "%x"), br("end", "%1"), "^b:",
        unary("tanh", "%2", "%x"), br("end", "%2"), f"^end(%y: {T}):", f"return %y : {T}",
    ],
    "one side": [
        cond_br("%c", "a", "end", "%x", sizes=(0, 1)), "^a:", unary("exp", "%1", "%x"), br("end", "%1"),
        f"^end(%y: {T}):", f"return %y : {T}",
    ],
    "no side": [
        unary("exp", "%1", "%x"), cond_br("%c", "end", "end", "%1", "%x", sizes=(1, 1)), f"^end(%y: {T}):",
        f"return %y : {T}",
    ],
    "two returns": [
        cond_br("%c", "a", "b"), "^a:", unary("exp", "%1", "%x"), f"return %1 : {T}", "^b:", f"return %x : {T}",
    ],
    "a side that takes something": [
        cond_br("%c", "a", "b", "%x", sizes=(1, 0)), f"^a(%z: {T}):", unary("exp", "%1", "%z"), br("end", "%1"), "^b:",
        br("end", "%x"), f"^end(%y: {T}):", f"return %y : {T}",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice(name: str) -> None:
    program = program_of(*CHOICES[name])
    assert lifted(program)["choices"] == 1
    found = counts(program)
    assert (found["scf.if"], found["cf.br"], found["cf.cond_br"], found["func.return"]) == (1, 0, 0, 1)


def test_a_choice_in_a_choice_behind_another() -> None:
    program = program_of(
        cond_br("%c", "a", "m", "%x", sizes=(0, 1)), "^a:", unary("exp", "%1", "%x"), br("m", "%1"), f"^m(%y: {T}):",
        cond_br("%d", "p", "end", "%y", sizes=(0, 1)), "^p:", cond_br("%c", "q", "r"), "^q:",
        unary("tanh", "%2", "%y"), br("s", "%2"), "^r:", br("s", "%x"), f"^s(%z: {T}):", unary("abs", "%3", "%z"),
        br("end", "%3"), f"^end(%w: {T}):", f"return %w : {T}",
    )  # fmt: skip
    assert lifted(program)["choices"] == 3
    assert len(program.main.body) == 1


def counting(*, inverted: bool = False, at_end: bool = False) -> Program:
    """A loop of blocks that runs three times; what it carries and computes for its test is used after it."""
    program = Program.empty()
    kind, number = VTensorType((2,), f32), VTensorType((), i32)
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType([kind], [kind, number]))
    entry, region = main.body.block, main.body
    header, body, behind = Block([number, kind]), Block(), Block()
    for block in (header, behind) if at_end else (header, body, behind):
        region.append(block)

    def full(value: float) -> Value:
        return pd.full(shape=(), value=value, dtype=i32).out

    with Builder.at_end(entry):
        cf.br([full(0.0), entry.args[0]], dest=header)
    with Builder.at_end(header):
        count, value = header.args
        following = pd.add(count, full(1.0)).out
        test = (pd.greater_equal if inverted else pd.less_than)(following if at_end else count, full(3.0)).out
        again, left = ((header, [following, pd.tanh(value).out]) if at_end else (body, ())), (behind, ())
        true, false = (left, again) if inverted else (again, left)
        cf.cond_br(test, true[1], false[1], true_dest=true[0], false_dest=false[0])
    if not at_end:
        with Builder.at_end(body):
            cf.br([following, pd.tanh(value).out], dest=header)
    with Builder.at_end(behind):
        func.return_([value, following])
    program.verify()
    return program


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("at_end", [False, True])
def test_a_loop(inverted: bool, at_end: bool) -> None:
    program = counting(inverted=inverted, at_end=at_end)
    assert lifted(program)["loops"] == 1
    assert len(program.main.body) == 1
    if not inverted:
        PassManager.parse("unroll").run(program)
        assert not counts(program)["scf.while"], "the number of rounds is known"


def test_a_loop_with_a_second_way_out_stays() -> None:
    program = program_of(
        br("head", "%x"), f"^head(%y: {T}):", cond_br("%c", "body", "end", "%y", sizes=(0, 1)), "^body:",
        unary("tanh", "%1", "%y"), cond_br("%d", "end", "head", "%1", "%1", sizes=(1, 1)), f"^end(%z: {T}):",
        f"return %z : {T}",
    )  # fmt: skip
    before = str(program)
    PassManager.parse(PASS).run(program)
    assert str(program) == before


def test_a_thousand_choices_in_one_another_and_in_a_row() -> None:
    depth = 1000
    lines = [line for i in range(depth) for line in (cond_br("%c", f"a{i}", f"e{i}"), f"^a{i}:")]
    lines += [br(f"e{depth - 1}")]
    for i in reversed(range(depth)):
        lines += [f"^e{i}:", br(f"e{i - 1}") if i else f"return %x : {T}"]
    program = program_of(*lines)
    assert dict(PassManager.parse(PASS).run(program).stages[0].statistics)["choices"] == depth
    assert len(program.main.body) == 1


@with_examples(16)
@pytest.mark.parametrize("pipeline", [PASS, "straighten"])
def test_generated_programs_keep_their_answers(pipeline: str, examples: int) -> None:
    features = attrs.evolve(EVERYTHING, elements=(f32, i32, i1))

    def lifts(program: Program) -> None:
        PassManager.parse(pipeline).run(program)
        assert all(len(region) < 2 for op in program.module.walk() for region in op.regions)

    assert_preserves(pipeline, programs=tensor_programs(features), examples=examples, changed=0.2)
    assert_preserves(lifts, programs=tensor_programs(features), examples=examples // 3)
