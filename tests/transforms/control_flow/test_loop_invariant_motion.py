"""Loop-invariant motion: what moves, what must stay where it is, and arguments that a loop carries for nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from support.steps import assert_linear
from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    Program,
    Region,
    TensorType,
    Value,
    VTensorType,
    f32,
    i1,
    i32,
    parse,
)
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs
from tx8ir.transforms import LoopInvariantMotion

PASS = "loop-invariant-motion"
F, N, TENSOR = VTensorType((2,), f32), VTensorType((), i32), TensorType((2,), f32)

TEXT = """
module {
  func.func @main(%x: VEC, %y: VEC, %n: INT) -> (VEC, VEC, VEC) {
    %zero = "pd.full"() {dtype = i32, shape = [], value = 0.0 : f64} : () -> INT
    %0:5 = "scf.while"(%zero, %x, %y, %y, %x) ({
    ^bb0(%i: INT, %a: VEC, %same: VEC, %left: VEC, %right: VEC):
      %limit = "pd.add"(%n, %n) : (INT, INT) -> INT
      %quotient = "pd.divide"(%limit, %n) : (INT, INT) -> INT
      %more = "pd.less_than"(%i, %quotient) : (INT, INT) -> !pd.vtensor<i1>
      "scf.condition"(%more, %i, %a, %same, %left, %quotient) : (!pd.vtensor<i1>, INT, VEC, VEC, VEC, INT) -> ()
    }, {
    ^bb0(%i: INT, %a: VEC, %same: VEC, %left: VEC, %q: INT):
      %one = "pd.full"() {dtype = i32, shape = [], value = 1.0 : f64} : () -> INT
      %next = "pd.add"(%i, %one) : (INT, INT) -> INT
      %e = "pd.exp"(%same) : (VEC) -> VEC
      %unsafe = "pd.divide"(%q, %n) : (INT, INT) -> INT
      %u = "pd.cast"(%unsafe) {dtype = f32} : (INT) -> !pd.vtensor<f32>
      %s = "pd.multiply"(%a, %e) : (VEC, VEC) -> VEC
      %t = "pd.add"(%s, %u) : (VEC, !pd.vtensor<f32>) -> VEC
      "scf.yield"(%next, %t, %same, %left, %x) : (INT, VEC, VEC, VEC, VEC) -> ()
    }) : (INT, VEC, VEC, VEC, VEC) -> (INT, VEC, VEC, VEC, INT)
    return %0#1, %0#2, %0#3 : VEC, VEC, VEC
  }
}
""".replace("VEC", "!pd.vtensor<2xf32>").replace("INT", "!pd.vtensor<i32>")


def counted(trips: int, carried: Sequence[Value], body: Callable[..., Sequence[Any]], *, first: Any = None) -> Any:
    """A loop that runs `trips` times and carries values: `body` makes the next ones; `first` runs before the test."""
    inits = [pd.full(shape=(), value=0.0, dtype=i32), *carried]

    def before(count: Value, *values: Value) -> tuple[Any, Sequence[Any]]:
        if first is not None:
            first(*values)
        return pd.less_than(count, pd.full(shape=(), value=float(trips), dtype=i32)), [count, *values]

    def after(count: Value, *values: Value) -> Sequence[Any]:
        following = body(*values)
        return [pd.add(count, pd.full(shape=(), value=1.0, dtype=i32)), *following]

    return scf.WhileOp.build(inits, before, after)


def inside(program: Program) -> list[str]:
    """The names of what is left inside loops, but for counting and ends."""
    loops = [op for op in program.main.walk() if isinstance(op, scf.WhileOp)]
    names = [op.name for loop in loops[:1] for op in loop.walk() if op is not loop]
    counting = {"pd.full", "pd.less_than", "scf.condition", "scf.yield"}
    return [name for name in names if name not in counting][: -1 if loops else None]


def test_the_text_before_and_after(run, golden, assert_same) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {"hoisted": 4, "transparent": 3, "forwarded": 3}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", f"transforms/{PASS}.mlir")
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text
    assert_same(parse(TEXT.replace('"pd.divide"', '"pd.maximum"')), _moved(TEXT.replace('"pd.divide"', '"pd.maximum"')))


def _moved(text: str) -> Program:
    program = parse(text)
    PassManager.parse(PASS).run(program)
    return program


def test_the_pass_has_the_name_that_everybody_knows(run) -> None:
    program = parse(TEXT)
    run(program, "canonicalize,func.func(cse,licm){max-iterations=4}")
    assert str(PassManager.parse("licm").passes[0]) in ("licm", PASS)
    other = parse(TEXT)
    run(other, f"canonicalize,func.func(cse,{PASS}){{max-iterations=4}}")
    assert str(program) == str(other)


# Each: argument types, the body of main, and what is left in the loop.
CASES: list[tuple[str, tuple[Any, ...], Callable[..., Any], list[str]]] = [
    (
        "pure operations, and those that use them",
        (F, F),
        lambda x, y: counted(3, [x], lambda a: [pd.add(a, pd.exp(pd.relu(y)))]),
        ["pd.add"],
    ),
    (
        "what may fail stays in the part that may not run",
        (F, N),
        lambda x, n: counted(3, [x], lambda a: [pd.add(a, pd.cast(pd.divide(n, n), dtype=f32))]),
        ["pd.divide", "pd.cast", "pd.add"],
    ),
    (
        "what may fail moves from the part that always runs",
        (F, N),
        lambda x, n: counted(3, [x], lambda a: [pd.relu(a)], first=lambda a: pd.divide(n, n)),
        ["pd.relu"],
    ),
    (
        "reads of storage that nobody writes, and views of it",
        (F, TENSOR),
        lambda x, t: counted(3, [x], lambda a: [pd.add(a, builtin.to_vtensor(pd.transpose(t, perm=(0,))))]),
        ["pd.add"],
    ),
    (
        "reads of storage that the loop writes",
        (F, TENSOR),
        lambda x, t: counted(3, [x], lambda a: [pd.add(a, builtin.to_vtensor(t)), pd.scale_(t, scale=2.0)][:1]),
        ["builtin.to_vtensor", "pd.add", "pd.scale_"],
    ),
    (
        "storage is made anew in each round",
        (F,),
        lambda x: counted(3, [x], lambda a: [pd.add(a, builtin.to_vtensor(pd.relu_(builtin.to_tensor(x))))]),
        ["builtin.to_tensor", "pd.relu_", "builtin.to_vtensor", "pd.add"],
    ),
    (
        "a choice with all inside",
        (F, VTensorType((), i1)),
        lambda x, c: counted(
            3, [x], lambda a: [pd.add(a, scf.IfOp.build(c, lambda: [pd.exp(x)], lambda: [pd.relu(x)]).outputs[0])]
        ),
        ["pd.add"],
    ),
    (
        "a choice that uses what changes",
        (F, VTensorType((), i1)),
        lambda x, c: counted(
            3, [x], lambda a: [scf.IfOp.build(c, lambda: [pd.exp(a)], lambda: [pd.relu(x)]).outputs[0]]
        ),
        ["scf.if", "pd.exp", "pd.relu"],
    ),
    (
        "an inner loop leaves its invariants to the outer one",
        (F, F),
        lambda x, y: counted(
            2, [x], lambda a: [counted(2, [a], lambda b: [pd.add(pd.add(b, pd.exp(a)), pd.tanh(y))]).outputs[1]]
        ),
        ["pd.exp", "scf.while", "pd.add", "pd.add", "pd.add"],
    ),
    (
        "a loop of its own may not come to an end where it does not run",
        (F, F),
        lambda x, y: counted(2, [x], lambda a: [pd.add(a, counted(2, [y], lambda b: [pd.relu(b)]).outputs[1])]),
        ["scf.while", "pd.relu", "pd.add", "pd.add"],
    ),
]


@pytest.mark.parametrize(("kinds", "body", "left"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_moves_and_what_stays(build, run, kinds, body, left: list[str]) -> None:
    program: Program = build(lambda *args: [body(*args).outputs[1]], *kinds)
    assert check(program, PASS).passed
    run(program, PASS)
    assert inside(program) == left
    text = str(program)
    assert run(program, PASS).stages[0].statistics == {}
    assert str(program) == text


def test_parameters_are_read_once_unless_the_loop_writes_them(build, run) -> None:
    def body(write: bool) -> Callable[..., Any]:
        def rounds(a: Value) -> list[Any]:
            following = pd.add(a, builtin.get_parameter(parameter="w", out=F))
            if write:
                builtin.set_parameter(following, parameter="w")
            return [following]

        return lambda x: [counted(3, [x], rounds).outputs[1]]

    for write in (False, True):
        program = build(body(write), F, weights={"w": np.ones(2, np.float32)}, mutable=["w"])
        assert check(program, PASS).passed
        run(program, PASS)
        assert ("builtin.get_parameter" in inside(program)) == write


def test_arguments_that_change_places_are_transparent_when_they_start_alike(build, run) -> None:
    program = build(lambda x, y: counted(3, [x, x, y, x], lambda a, b, c, d: [b, a, d, c]).outputs[1:], F, F)
    assert check(program, PASS).passed
    assert run(program, PASS).stages[0].statistics == {"hoisted": 2, "transparent": 2, "forwarded": 2}
    assert len(next(op for op in program.main.walk() if isinstance(op, scf.WhileOp)).inits) == 3


def test_a_transparent_tensor_is_the_storage_it_started_with(build, run) -> None:
    program = build(lambda t: [counted(3, [t], lambda a: [pd.relu_(a) and a]).outputs[1], t], TENSOR)
    assert check(program, PASS).passed
    assert run(program, PASS).stages[0].statistics == {"hoisted": 2, "transparent": 1, "forwarded": 1}
    assert set(program.main.body.block.terminator.operands) == {program.main.body.block.args[0]}


# --- size ----------------------------------------------------------------------------------------------------------


def _nest(depth: int) -> Program:
    """Loops inside one another, with two operations in the innermost that leave all of them."""
    block = Block([F, VTensorType((), i1)])
    x, more = block.args
    with Builder.at_end(block):
        value: Value = x
        outermost = scf.WhileOp.build([value], lambda a: (more, [a]), lambda a: [pd.relu(a)])
    loop = outermost
    for _ in range(depth):
        body = loop.after.block
        with Builder.before(body.terminator):
            loop = scf.WhileOp.build([body.args[0]], lambda a: (more, [a]), lambda a: [pd.relu(a)])
    with Builder.before(loop.after.block.terminator):
        pd.tanh(pd.exp(x))
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([F, more.type], [F]), body=Region([block]))
    with Builder.at_end(main.body.block):
        func.ReturnOp([outermost.outputs[0]])
    program.verify()
    return program


def _moving(program: Program) -> Callable[[], object]:
    return lambda: LoopInvariantMotion().run(program)


def test_a_thousand_loops_inside_one_another() -> None:
    assert_linear(lambda depth: _moving(_nest(depth)), 50)
    program = _nest(1000)
    motion = LoopInvariantMotion()
    motion.run(program)
    assert motion.statistics == {"hoisted": 2 * 1001}
    program.verify()


def test_two_thousand_carried_values_in_a_chain(build) -> None:
    """Each value becomes the next one; the last is new, so that none is transparent, found from the far end."""

    def chain(count: int) -> Program:
        return build(
            lambda x, y: counted(2, [x] * count, lambda *values: [*values[1:], pd.add(values[0], y)]).outputs[1:2], F, F
        )

    assert_linear(lambda count: _moving(chain(count)), 50)
    motion = LoopInvariantMotion()
    motion.run(chain(2000))
    assert motion.statistics == {"hoisted": 2}


# --- generated programs --------------------------------------------------------------------------------------------


def invariants(writer: Writer) -> Sequence[Value]:
    """A loop with operations on values from outside in both regions, and a value that it carries for nothing."""
    outer, carried = writer.tensor(), writer.two_alike()
    extra = writer.one_of([[], [pd.abs], [pd.relu, pd.square]]) if ranked(outer).element is not i1 else [pd.logical_not]
    inits = [writer.filled((), 0.0, i32), outer, *carried]
    types = [v.type for v in inits]
    before, after = Block(types), Block(types)
    for block in (before, after):
        inner = writer.inside(block, [*writer.pool, *block.args[1:]])
        for make in extra:
            operand = writer.one_of([outer, block.args[1]])
            inner.pool += inner.insert(lambda make=make, operand=operand: make(operand))
        inner.write(2)
        with Builder.at_end(block):
            if block is before:
                limit = pd.full(shape=(), value=float(writer.number(0, 3)), dtype=i32)
                scf.condition(pd.less_than(before.args[0], limit), before.args)
            else:
                count = pd.add(after.args[0], pd.full(shape=(), value=1.0, dtype=i32))
                following = [inner.value_of(t) for t in types[2:]]
                scf.yield_([count, after.args[1], *following])
    return writer.insert(lambda: scf.WhileOp(inits, before=Region([before]), after=Region([after]), outputs=types))


@with_examples()
def test_programs_keep_their_answers(twice, examples: int) -> None:
    assert_preserves(
        twice(PASS), programs=tensor_programs(EVERYTHING, steps=[invariants]), examples=examples, changed=0.9
    )
