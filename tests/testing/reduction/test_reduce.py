"""What reductions leave of programs with calls, loops, blocks, lists and large tensors."""

from __future__ import annotations

import pytest

import tx8ir
from tx8ir.core import Program
from tx8ir.testing import reduce_program
from tx8ir.testing.reduction.reduce import count_operations


def has(*names: str):
    """Whether a program has operations of these names, all of them."""
    return lambda program: set(names) <= {op.name for op in program.module.walk()}


def reduced(text: str, *names: str) -> str:
    return str(reduce_program(tx8ir.parse(text), has(*names)))


CALLS = """
module {
  func.func @main(%x: $V, %y: $V) -> ($V, $V) {
    %0:2 = "func.call"(%x, %y) {callee = @f} : ($V, $V) -> ($V, $V)
    %1 = "pd.tanh"(%0#1) : ($V) -> $V
    return %0#0, %1 : $V, $V
  }
  func.func @f(%a: $V, %b: $V) -> ($V, $V) {
    %0 = "pd.exp"(%a) : ($V) -> $V
    %1 = "pd.relu"(%b) : ($V) -> $V
    return %0, %1 : $V, $V
  }
}
""".replace("$V", "!pd.vtensor<4x6xf32>")


def test_a_call_that_matters_keeps_the_arguments_that_matter_and_extents_shrink_through_it(golden) -> None:
    golden(reduced(CALLS, "func.call", "pd.exp"), "testing/reduced_call.mlir")


def test_a_call_that_does_not_matter_is_inlined() -> None:
    assert "func.call" not in reduced(CALLS, "pd.exp", "pd.tanh")


LOOP = """
module {
  func.func @main(%x: $V, %y: $V) -> ($V, $V) {
    %zero = "pd.full"() {dtype = i32, shape = array<i64>, value = 0.0 : f64} : () -> $I
    %0:3 = "scf.while"(%zero, %x, %y) ({
    ^bb0(%i: $I, %a: $V, %b: $V):
      %two = "pd.full"() {dtype = i32, shape = array<i64>, value = 2.0 : f64} : () -> $I
      %more = "pd.less_than"(%i, %two) : ($I, $I) -> !pd.vtensor<i1>
      "scf.condition"(%more, %i, %a, %b) : (!pd.vtensor<i1>, $I, $V, $V) -> ()
    }, {
    ^bb0(%j: $I, %c: $V, %d: $V):
      %one = "pd.full"() {dtype = i32, shape = array<i64>, value = 1.0 : f64} : () -> $I
      %next = "pd.add"(%j, %one) : ($I, $I) -> $I
      %e = "pd.tanh"(%c) : ($V) -> $V
      "scf.yield"(%next, %e, %d) : ($I, $V, $V) -> ()
    }) : ($I, $V, $V) -> ($I, $V, $V)
    return %0#1, %0#2 : $V, $V
  }
}
""".replace("$V", "!pd.vtensor<2xf32>").replace("$I", "!pd.vtensor<i32>")


def test_a_loop_carries_nothing_that_does_not_matter(golden) -> None:
    golden(reduced(LOOP, "scf.while"), "testing/reduced_loop.mlir")


BLOCKS = """
module {
  func.func @main(%c: !pd.vtensor<i1>, %x: !pd.vtensor<5xf32>) -> !pd.vtensor<5xf32> {
    "cf.cond_br"(%c)[^bb1, ^bb2] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
  ^bb1:
    %0 = "pd.exp"(%x) : (!pd.vtensor<5xf32>) -> !pd.vtensor<5xf32>
    "cf.br"(%0)[^bb3] : (!pd.vtensor<5xf32>) -> ()
  ^bb2:
    %1 = "pd.relu"(%x) : (!pd.vtensor<5xf32>) -> !pd.vtensor<5xf32>
    "cf.br"(%1)[^bb3] : (!pd.vtensor<5xf32>) -> ()
  ^bb3(%y: !pd.vtensor<5xf32>):
    %2 = "pd.tanh"(%y) : (!pd.vtensor<5xf32>) -> !pd.vtensor<5xf32>
    return %2 : !pd.vtensor<5xf32>
  }
}
"""


def test_blocks_that_only_go_on_are_left_out_and_extents_shrink_across_blocks(golden) -> None:
    golden(reduced(BLOCKS, "cf.cond_br", "pd.exp"), "testing/reduced_blocks.mlir")


LISTS = """
module {
  func.func @main(%x: $V, %y: !pd.vtensor<3xf32>) -> ($V, !pd.vtensor<3xf32>) {
    %0 = "builtin.combine"(%x, %y, %x) : ($V, !pd.vtensor<3xf32>, $V) -> $L
    %1:3 = "builtin.split"(%0) : ($L) -> ($V, !pd.vtensor<3xf32>, $V)
    %2 = "builtin.slice"(%0) {index = 1 : i64} : ($L) -> !pd.vtensor<3xf32>
    return %1#2, %2 : $V, !pd.vtensor<3xf32>
  }
}
""".replace("$L", "!builtin.list<$V, !pd.vtensor<3xf32>, $V>").replace("$V", "!pd.vtensor<2xf32>")


def test_lists_lose_the_elements_that_nothing_takes() -> None:
    text = reduced(LISTS, "builtin.slice")
    assert "builtin.split" not in text
    assert '"builtin.combine"(%arg0) : (!pd.vtensor<1xf32>) -> !builtin.list<!pd.vtensor<1xf32>>' in text


def test_a_list_that_does_not_matter_is_left_out() -> None:
    program = tx8ir.parse(LISTS)
    assert count_operations(reduce_program(program, lambda p: len(p.outputs) == 1)) == 0


def test_progress_is_told_of_each_smaller_program() -> None:
    told: list[tuple[int, int]] = []

    def progress(operations: int, trials: int) -> None:
        told.append((operations, trials))

    reduce_program(tx8ir.parse(LOOP), has("pd.tanh"), progress=progress)
    operations, trials = zip(*told, strict=True)
    assert operations[-1] == 1
    assert list(trials) == sorted(set(trials))


def test_no_more_programs_are_tried_than_allowed() -> None:
    asked: list[Program] = []

    def fails(program: Program) -> bool:
        asked.append(program)
        return True

    reduce_program(tx8ir.parse(LOOP), fails, max_trials=3)
    assert len(asked) == 3


@pytest.mark.parametrize("text", [CALLS, LOOP, BLOCKS])
def test_the_program_itself_stays_as_it_is(text: str) -> None:
    program = tx8ir.parse(text)
    before = str(program)
    reduce_program(program, lambda p: True)
    assert str(program) == before
