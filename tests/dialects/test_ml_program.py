"""ml_program and ub: globals, containers, poison and what is never reached."""

from __future__ import annotations

import numpy as np
import pytest

from support.peer import peer_module, peer_text
from support.samples import goes_to_the_peer_and_back, program_of, reads_back
from tx8ir.core import ParseError, VerifyError, parse, print_op, structurally_equal
from tx8ir.dialects import ub
from tx8ir.interpreter import EvaluationError, evaluate
from tx8ir.passes import PassManager

GLOBALS = """module {
  ml_program.global private mutable @counter(dense<1> : tensor<2xi32>) : tensor<2xi32>
  ml_program.global private @table(dense<4> : tensor<2xi32>) : tensor<2xi32>
  func.func @main(%arg0: tensor<2xi32>) -> (tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) {
    %0 = ml_program.global_load @counter : tensor<2xi32>
    %1 = arith.addi %0, %arg0 : tensor<2xi32>
    ml_program.global_store @counter = %1 : tensor<2xi32>
    %2 = ml_program.global_load @counter : tensor<2xi32>
    %3 = ml_program.global_load_const @table : tensor<2xi32>
    return %0, %2, %3 : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
  }
}"""

CONTAINERS = """module {
  ml_program.global public mutable @state : tensor<?xf32>
  ml_program.func private @declared(i32) -> i32
  ml_program.func @compute(%arg0: i32) -> i32 {
    ml_program.return %arg0 : i32
  }
  ml_program.subgraph @graph(%arg0: i32) -> (i32, i32) {
    ml_program.output %arg0, %arg0 : i32, i32
  }
  func.func private @nowhere() {
    ub.unreachable
  }
}"""


@pytest.mark.parametrize("text", [GLOBALS, CONTAINERS])
def test_text_reads_back(text: str) -> None:
    program = parse(text)
    reads_back(program)
    assert print_op(program.module, short=True, generic=True) == text


def test_globals_go_to_the_peer_and_back_in_its_assembly_format() -> None:
    # In the generic form xDSL calls the symbol by another name than MLIR; it does not know loads and stores.
    text = "".join(line for line in GLOBALS.splitlines(keepends=True) if "global_load @" not in line
                   and "global_store" not in line).replace("%0, %2, %3", "%0, %0, %0")  # fmt: skip
    program = parse(text.replace("arith.addi %0", "arith.addi %arg0").replace("%1 =", "%0 ="))
    written = print_op(program.module, short=True, generic=True)
    back = parse(peer_text(peer_module(written), generic=False))
    assert structurally_equal(program.module, back.module) is None


def test_a_global_holds_what_was_stored_last_and_begins_anew() -> None:
    program = parse(GLOBALS)
    for _ in range(2):
        first, second, table = evaluate(program, {"arg0": np.array([1, 2], np.int32)}).values()
        assert (first.tolist(), second.tolist(), table.tolist()) == ([1, 1], [2, 3], [4, 4])


def test_loads_are_not_merged_across_a_store() -> None:
    program = parse(GLOBALS)
    before = evaluate(program, {"arg0": np.array([1, 2], np.int32)})
    PassManager.parse("cse,canonicalize,dce").run(program)
    after = evaluate(program, {"arg0": np.array([1, 2], np.int32)})
    assert all(np.array_equal(before[k], after[k]) for k in before)
    assert "ml_program.global_store" in str(program)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("global_load @counter", "global_load @missing", "which is not a global of the module"),
        ("global_load @counter", "global_load @main", "which is not a global of the module"),
        ("global_load_const @table", "global_load_const @counter", "is mutable"),
        ("global_store @counter", "global_store @table", "is not mutable"),
        ("@table(dense<4> : tensor<2xi32>)", "@table", "needs a value"),
    ],
)
def test_what_does_not_fit_is_refused(old: str, new: str, message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        parse(GLOBALS.replace(old, new)).verify()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("ml_program.return %arg0 : i32", "ml_program.return", r"gives \(\), @compute returns \(i32\)"),
        ("ml_program.return", "ml_program.output", "belongs into ml_program.subgraph"),
        ("ml_program.func private @declared", "ml_program.func @declared", "only a private function may lack"),
    ],
)
def test_a_container_is_ended_by_what_belongs_to_it(old: str, new: str, message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        parse(CONTAINERS.replace(old, new)).verify()


def test_a_global_without_a_type_is_no_text() -> None:
    with pytest.raises(ParseError, match="before the type of a global"):
        parse("ml_program.global @x(1 : i32)")


# --- ub --------------------------------------------------------------------------------------------------------------


def test_poison_goes_to_the_peer_and_back() -> None:
    program = program_of(ub.poison)
    reads_back(program)
    goes_to_the_peer_and_back(program)
    short = print_op(program.module, short=True)
    assert "ub.poison : f32" in short
    again = parse(short.replace("ub.poison : f32", "ub.poison <#ub.poison> : f32"))
    assert structurally_equal(program.module, again.module) is None


def test_poison_is_computed_as_0_and_what_is_unreachable_fails() -> None:
    program = parse("""func.func @main(%c: tensor<i1>) -> f32 {
  cf.cond_br %c : tensor<i1>, ^bb1, ^bb2
^bb1:
  %0 = ub.poison : f32
  return %0 : f32
^bb2:
  ub.unreachable
}""")
    reads_back(program)
    assert evaluate(program, {"arg0": np.array(True)})["result0"] == 0
    with pytest.raises(EvaluationError, match=r"ub\.unreachable is reached"):
        evaluate(program, {"arg0": np.array(False)})
