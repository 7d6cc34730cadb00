"""scf's loops over numbers, switches and regions: text through xDSL, evaluation, what passes make of them."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

from support.peer import peer_module, peer_text
from support.samples import goes_to_the_peer_and_back, reads_back
from tx8ir.core import (
    Block,
    Builder,
    IndexType,
    ParseError,
    Program,
    VerifyError,
    f32,
    parse,
    print_op,
    structurally_equal,
)
from tx8ir.dialects import arith, scf
from tx8ir.interpreter import EvaluationError, evaluate
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves
from tx8ir.testing.programs import tensor_programs
from tx8ir.testing.programs.control import counted_loop
from tx8ir.testing.programs.features import EVERYTHING

PROGRAM = """func.func @main(%t: tensor<4x3xf32>, %n: index, %c: i1) -> (f32, f32, i32, i32, index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %3 = arith.constant 3 : index
  %z = arith.constant 0.0 : f32
  %sum = scf.for %i = %0 to %n step %1 iter_args(%acc = %z) -> (f32) {
    %x = tensor.extract %t[%i, %0] : tensor<4x3xf32>
    %next = arith.addf %acc, %x : f32
    scf.yield %next : f32
  }
  scf.for %i = %0 to %n step %1 {
  } {note = 3}
  %p = scf.parallel (%i, %j) = (%0, %0) to (%n, %3) step (%1, %1) init (%z) -> f32 {
    %x = tensor.extract %t[%i, %j] : tensor<4x3xf32>
    scf.reduce (%x : f32) {
    ^bb0(%lhs: f32, %rhs: f32):
      %s = arith.addf %lhs, %rhs : f32
      scf.reduce.return %s : f32
    }
  }
  scf.parallel (%i) = (%0) to (%n) step (%1) {
    scf.reduce
  }
  %a = arith.constant 10 : i32
  %b = arith.constant 20 : i32
  %sw = scf.index_switch %n -> i32
  case 2 {
    scf.yield %a : i32
  }
  case 4 {
    %q = arith.addi %a, %b : i32
    scf.yield %q : i32
  }
  default {
    scf.yield %b : i32
  }
  %er = scf.execute_region -> i32 {
    scf.yield %a : i32
  }
  %w = scf.while (%k = %0) : (index) -> index {
    %cond = arith.cmpi slt, %k, %n : index
    scf.condition(%cond) %k : index
  } do {
  ^bb0(%k: index):
    %k2 = arith.addi %k, %3 : index
    scf.yield %k2 : index
  }
  %if = scf.if %c -> (i32) {
    scf.yield %er : i32
  } else {
    scf.yield %b : i32
  }
  return %sum, %p, %sw, %if, %w : f32, f32, i32, i32, index
}"""


def run(program: Program, rounds: int) -> list[Any]:
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    given = dict(zip(program.inputs, (table, np.int64(rounds), np.bool_(rounds == 2)), strict=True))
    return [f.item() for f in evaluate(program, given).values()]


WANTED = {0: [0, 0, 20, 20, 0], 2: [3, 15, 10, 10, 3], 4: [18, 66, 30, 20, 6]}


def test_text_reads_back_and_programs_run() -> None:
    program = parse(PROGRAM)
    reads_back(program)
    for rounds, wanted in WANTED.items():
        assert run(program, rounds) == wanted


def test_they_go_to_the_peer_and_back() -> None:
    program = parse(PROGRAM)
    back = parse(peer_text(peer_module(print_op(program.module, generic=True))))
    assert structurally_equal(program.module, back.module) is None
    # xDSL has no assembly format of scf.parallel, and one without results of scf.index_switch.
    text = PROGRAM[: PROGRAM.index("  %p = scf.parallel")] + PROGRAM[PROGRAM.index("  %a = arith.constant 10") :]
    goes_to_the_peer_and_back(parse(text.replace("%sum, %p,", "%sum, %sum,").replace("attributes {note = 3}", "")))


LINES = (
    "scf.for %arg3 = %0 to %arg1 step %1 iter_args(%arg4 = %3) -> (f32) {",
    "} {note = 3 : i64}",
    "scf.parallel (%arg6, %arg7) = (%0, %0) to (%arg1, %2) step (%1, %1) init (%3) -> f32 {",
    "scf.reduce (%8 : f32) {",
    "^bb0(%arg8: f32, %arg9: f32):",
    "scf.index_switch %arg1 -> i32",
    "case 4 {",
    "default {",
    "scf.execute_region -> i32 {",
    "scf.while (%arg11 = %0) : (index) -> index {",
    "} do {",
)


def test_lines_are_those_of_mlir() -> None:
    text = print_op(parse(PROGRAM).module, short=True)
    for line in LINES:
        assert line in text


def test_where_nothing_is_given_the_end_may_be_left_out() -> None:
    text = """func.func @main(%n: i32, %c: i1, %i: index) {
  scf.for %k = %n to %n step %n : i32 {
  }
  scf.while : () -> () {
    scf.condition(%c)
  } do {
  }
  scf.index_switch %i
  default {
  }
  scf.execute_region {
  }
  scf.parallel (%k) = (%i) to (%i) step (%i) {
  }
  return
}"""
    program = parse(text)
    reads_back(program)
    assert print_op(program.module, short=True).count("scf.yield") == 4


# --- evaluation ------------------------------------------------------------------------------------------------------


def test_numbers_of_every_width_are_counted() -> None:
    program = parse("""func.func @main(%a: i8, %b: i8, %s: i8) -> i8 {
  %0 = arith.constant 0 : i8
  %r = scf.for %i = %a to %b step %s iter_args(%n = %0) -> (i8) : i8 {
    %x = arith.addi %n, %i : i8
    scf.yield %x : i8
  }
  return %r : i8
}""")
    for low, high, step in ((-3, 4, 2), (4, -3, 1), (120, 127, 100), (0, 0, 1)):
        given = dict(zip(program.inputs, map(np.int8, (low, high, step)), strict=True))
        assert evaluate(program, given)["result0"] == sum(range(low, high, step))
    with pytest.raises(EvaluationError, match="counts by 0; expected 1 or more"):
        evaluate(program, dict.fromkeys(program.inputs, np.int8(0)))


def test_a_loop_is_built_from_a_function() -> None:
    block = Block([IndexType(), f32])
    with Builder.at_end(block):
        loop = scf.ForOp.build(*[block.args[0]] * 3, [block.args[1]], lambda i, x: [arith.addf(x, x)])
    assert loop.trip_count() is None
    assert not loop.always_ends()
    assert [op.name for op in loop.body.block] == ["arith.addf", "scf.yield"]
    with pytest.raises(ValueError, match="boom"):
        scf.ForOp.build(*[block.args[0]] * 3, [block.args[1]], _fails)
    assert len(block) == 1


def _fails(*_: Any) -> Any:
    raise ValueError("boom")


# --- passes ----------------------------------------------------------------------------------------------------------

PASSES = ("sccp", "cse", "dce", "canonicalize", "licm", "simplify-control-flow", "inline", "lift-cf-to-scf",
          "sccp,simplify-control-flow,licm,cse,dce", "unroll", "unroll{factor=2 max-trips=1}")  # fmt: skip


@pytest.mark.parametrize("passes", PASSES)
def test_passes_keep_what_programs_compute(passes: str) -> None:
    for text in (PROGRAM, PROGRAM.replace("to %n step", "to %3 step").replace("(%n)", "(%1)")):
        before, after = parse(text), parse(text)
        PassManager.parse(passes).run(after)
        after.verify()
        for rounds in WANTED:
            assert run(after, rounds) == run(before, rounds)


@pytest.mark.parametrize(
    "passes", ["cse", "licm", "sccp", "unroll", "simplify-control-flow", "to-value-semantics,copy-elision"]
)
def test_passes_keep_what_drawn_programs_with_counted_loops_compute(passes: str) -> None:
    drawn = tensor_programs(attrs.evolve(EVERYTHING, loops=False, samples=False), steps=[counted_loop] * 2)
    assert_preserves(passes, programs=drawn, examples=12, reduce=False)


def loop(body: str, upper: int = 7, *, step: int = 2, carried: str = "%z") -> Program:
    return parse(f"""func.func @main(%x: f32, %t: tensor<4xf32>) -> f32 {{
  %lower = index.constant 1
  %upper = index.constant {upper}
  %step = index.constant {step}
  %z = arith.constant 0.0 : f32
  %r = scf.for %i = %lower to %upper step %step iter_args(%acc = {carried}) -> (f32) {{
    {body}
  }}
  return %r : f32
}}""")


def names(program: Program) -> list[str]:
    return [op.name for op in program.main.walk()]


def test_what_does_not_change_moves_before_the_loop() -> None:
    program = loop("%y = math.exp %x : f32\n%n = arith.addf %acc, %y : f32\nscf.yield %n : f32")
    PassManager.parse("licm").run(program)
    (found,) = [op for op in program.main.walk() if op.name == "scf.for"]
    assert [op.name for op in found.body.block] == ["arith.addf", "scf.yield"]


def test_what_is_carried_unchanged_is_no_longer_carried() -> None:
    program = loop("scf.yield %acc : f32", carried="%x")
    PassManager.parse("licm,dce").run(program)
    assert program.main.body.block.last_op.operands[0] is program.main.body.block.args[0]


def test_what_each_round_yields_alike_is_constant() -> None:
    for line, constant in (("arith.mulf %acc, %acc", True), ("arith.addf %acc, %x", False)):
        program = parse(f"""func.func @main(%x: tensor<f32>, %n: index) -> tensor<f32> {{
  %one = index.constant 1
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = scf.for %i = %one to %n step %one iter_args(%acc = %z) -> (tensor<f32>) {{
    %next = {line} : tensor<f32>
    scf.yield %next : tensor<f32>
  }}
  return %r : tensor<f32>
}}""")
        PassManager.parse("sccp").run(program)
        given = program.main.body.block.last_op.operands[0].defining_op
        assert (given.name != "scf.for") == constant


@pytest.mark.parametrize(("upper", "gone"), [(1, True), (2, True), (3, True), (4, False)])
def test_loops_of_no_round_and_of_one_go(upper: int, gone: bool) -> None:
    program = loop("%n = arith.addf %acc, %x : f32\nscf.yield %n : f32", upper)
    wanted = 2.0 * len(range(1, upper, 2))
    PassManager.parse("simplify-control-flow").run(program)
    assert ("scf.for" not in names(program)) == gone
    assert evaluate(program, {"arg0": np.float32(2), "arg1": np.zeros(4, np.float32)})["result0"] == wanted


@pytest.mark.parametrize("factor", [1, 2, 3])
@pytest.mark.parametrize("rounds", [0, 1, 4, 5, 9])
def test_rounds_are_written_out(rounds: int, factor: int) -> None:
    body = """%k = index.casts %i : index to i32
    %f = arith.sitofp %k : i32 to f32
    %m = arith.mulf %acc, %x : f32
    %n = arith.addf %m, %f : f32
    scf.yield %n : f32"""
    given = {"arg0": np.float32(1.5), "arg1": np.zeros(4, np.float32)}
    before, after = loop(body, 1 + 2 * rounds), loop(body, 1 + 2 * rounds)
    PassManager.parse(f"unroll{{factor={factor} max-trips=4}}").run(after)
    after.verify()
    assert evaluate(after, given)["result0"] == evaluate(before, given)["result0"]
    expected = 0 if rounds <= 4 else (rounds if factor == 1 else rounds // factor)
    (left,) = [op.trip_count() for op in after.main.walk() if op.name == "scf.for"] or [0]
    assert left == expected


def test_a_grid_is_no_constant_of_its_initial_values() -> None:
    program = parse(PROGRAM.replace("to (%n, %3)", "to (%3, %3)").replace("(%n)", "(%1)"))
    (grid, *_) = [op for op in program.main.walk() if op.name == "scf.parallel"]
    assert (grid.trip_count(), grid.always_ends()) == (9, True)
    PassManager.parse("sccp").run(program)
    assert run(program, 2)[1] == sum(range(9))


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("%0 to %n step %1 iter_args", "%0 to %n step %z iter_args", "used here as index|is f32"),
        ("scf.yield %next : f32", "scf.yield %x, %x : f32, f32", "the carried values of scf.for are"),
        ("-> (f32) {\n    %x", "-> (i32) {\n    %x", "used here as i32|is f32"),
        ("case 4 {", "case 2 {", "2 regions for the cases"),
        ("scf.reduce.return %s : f32", "scf.yield %s : f32", "scf.reduce ends in scf.yield|scf.yield ends a region"),
        ("init (%z) -> f32", "init (%z, %z) -> (f32, f32)", "expected|2 results"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(old: str, new: str, message: str) -> None:
    assert old in PROGRAM
    with pytest.raises((VerifyError, ParseError), match=message):
        parse(PROGRAM.replace(old, new, 1)).verify()


def test_a_switch_has_a_default() -> None:
    with pytest.raises(ParseError, match="after the cases of scf"):
        parse("func.func @f(%i: index) {\nscf.index_switch %i\ncase 1 {\n}\nreturn\n}")
