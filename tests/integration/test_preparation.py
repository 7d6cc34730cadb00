"""The pipeline `prepare`: what it brings to the networks, and programs that compile because of it."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

import tx8ir
from support.scripts import ROOT, load
from tx8ir.compiler import CompileOptions, pipeline
from tx8ir.passes import PassError, PassManager
from tx8ir.testing import check
from tx8ir.transforms import PREPARATION
from tx8ir.transforms.preparation import REQUIRED

PAGE = ROOT / "docs" / "explanation" / "preparation.md"


@pytest.fixture(scope="module")
def preparation() -> ModuleType:
    return load("benchmarks/preparation.py")


def test_the_page_shows_what_the_benchmark_prints(preparation: ModuleType, pytestconfig: pytest.Config) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, _ = text.partition("\n| pass |")
    wanted = before.rstrip("\n") + "\n\n" + "\n\n".join(preparation.tables()) + "\n"
    if pytestconfig.getoption("--update-golden"):
        PAGE.write_text(wanted, encoding="utf-8")
        return
    assert text == wanted, "docs/explanation/preparation.md is not up to date: run with --update-golden"


def test_prepare_is_what_compile_runs() -> None:
    prepared = PassManager.parse("prepare").passes
    assert [stage.title for stage in prepared] == list(PREPARATION)
    compiled = pipeline(through=PREPARATION[-1]).passes
    conversion = PREPARATION.index("convert-dtype")
    # `check-ranges` is a pass of the backend: it asks for what `convert-dtype` is about to make of 64-bit integers.
    around = PassManager.parse("value-signature,lift-state,check-ranges").passes
    assert compiled == (*around[:2], *prepared[:conversion], around[2], *prepared[conversion:])
    required = [stage.title for stage in pipeline(CompileOptions(opt_graph="required")).passes]
    assert [name for name in required if name in PREPARATION] == [name for name in PREPARATION if name in REQUIRED]


CONTROL = """
module {
  func.func @main(%x: !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32> {
    %0 = "builtin.constant"() {value = dense<true> : !pd.vtensor<i1>} : () -> !pd.vtensor<i1>
    %1 = "scf.if"(%0) ({
      %2 = "func.call"(%x) {callee = @squared} : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
      "scf.yield"(%2) : (!pd.tensor<2x8xf32>) -> ()
    }, {
      "scf.yield"(%x) : (!pd.tensor<2x8xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.tensor<2x8xf32>
    "cf.cond_br"(%0)[^one, ^other] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
  ^one:
    %3 = "pd.relu_"(%1) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    "cf.br"()[^end] : () -> ()
  ^other:
    %4 = "pd.tanh_"(%1) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    "cf.br"()[^end] : () -> ()
  ^end:
    return %1 : !pd.tensor<2x8xf32>
  }
  func.func @squared(%x: !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32> {
    %0 = "pd.square_"(%x) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    return %0 : !pd.tensor<2x8xf32>
  }
}
"""


def test_calls_known_branches_and_storage_are_gone_before_the_backend(golden) -> None:
    program = tx8ir.parse(CONTROL)
    executable = tx8ir.compile(program, keep_stages=True)
    golden(f"// before{CONTROL}\n// prepared\n{executable.stages[PREPARATION[-1]]}", "transforms/prepare.mlir")
    assert check(program).passed


LOOP = """
module {
  func.func @main(%x: !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32> {
    %0 = "pd.full"() {dtype = i32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "scf.while"(%0) ({
    ^bb0(%i: !pd.vtensor<i32>):
      %2 = "pd.full"() {dtype = i32, shape = array<i64>, value = 20.0 : f64} : () -> !pd.vtensor<i32>
      %3 = "pd.less_than"(%i, %2) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
      "scf.condition"(%3, %i) : (!pd.vtensor<i1>, !pd.vtensor<i32>) -> ()
    }, {
    ^bb0(%i: !pd.vtensor<i32>):
      %2 = "pd.tanh_"(%x) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
      %3 = "pd.full"() {dtype = i32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<i32>
      %4 = "pd.add"(%i, %3) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
      "scf.yield"(%4) : (!pd.vtensor<i32>) -> ()
    }) : (!pd.vtensor<i32>) -> !pd.vtensor<i32>
    return %x : !pd.tensor<2x8xf32>
  }
}
"""


def test_a_loop_that_counts_is_written_out() -> None:
    program = tx8ir.parse(LOOP)
    assert check(program).passed
    PassManager.parse("prepare").run(program)
    assert [op.name for op in program.module.walk() if op.name.startswith(("pd.tanh", "scf."))] == ["pd.tanh"] * 20


def test_both_sides_of_a_branch_on_an_input_are_computed() -> None:
    known = '%0 = "builtin.constant"() {value = dense<true> : !pd.vtensor<i1>} : () -> !pd.vtensor<i1>'
    assert known in CONTROL
    text = CONTROL.replace(known, '%0 = "pd.isnan"(%c) : (!pd.vtensor<1xf32>) -> !pd.vtensor<1xi1>')
    text = text.replace("@main(%x:", "@main(%c: !pd.vtensor<1xf32>, %x:").replace("vtensor<i1>", "vtensor<1xi1>")
    executable = tx8ir.compile(tx8ir.parse(text))
    for number, expected in ((0.0, np.tanh(-2.0)), (np.nan, 4.0)):
        (out,) = executable.run(arg0=np.float32([number]), arg1=np.full((2, 8), -2.0, np.float32)).values()
        np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_a_loop_that_ends_by_what_it_computes_is_an_error_that_names_it() -> None:
    text = LOOP.replace('"scf.condition"(%3, %i)', '"scf.condition"(%c, %i)')
    text = text.replace(
        "    %0 = ",
        """    %a = "pd.max"(%x) {axis = array<i64>, keepdim = false} : (!pd.tensor<2x8xf32>) -> !pd.tensor<f32>
    %b = "builtin.to_vtensor"(%a) : (!pd.tensor<f32>) -> !pd.vtensor<f32>
    %c = "pd.isnan"(%b) : (!pd.vtensor<f32>) -> !pd.vtensor<i1>
    %0 = """,
    )
    with pytest.raises(PassError, match=r"scf\.while .* at loc\(.*\): how many rounds it has is not known"):
        tx8ir.compile(tx8ir.parse(text))


CHAIN = """
module {
  func.func @main(%x: !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32> {
    %0 = "pd.full"() {dtype = i32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %n = "builtin.to_tensor"(%0) : (!pd.vtensor<i32>) -> !pd.tensor<i32>
    "func.call"(%n) {callee = @counted} : (!pd.tensor<i32>) -> ()
    %1 = "pd.full"() {dtype = i32, shape = array<i64>, value = 2.0 : f64} : () -> !pd.vtensor<i32>
    %2 = "builtin.to_vtensor"(%n) : (!pd.tensor<i32>) -> !pd.vtensor<i32>
    %3 = "pd.less_than"(%2, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    "cf.cond_br"(%3)[^few, ^many] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
  ^few:
    %4 = "pd.relu_"(%x) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    "cf.br"()[^end] : () -> ()
  ^many:
    %5 = "pd.tanh_"(%x) : (!pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    "cf.br"()[^end] : () -> ()
  ^end:
    return %x : !pd.tensor<2x8xf32>
  }
  func.func @counted(%n: !pd.tensor<i32>) -> () {
    %0 = "pd.full"() {dtype = i32, shape = array<i64>, value = 0.0 : f64} : () -> !pd.vtensor<i32>
    %1 = "pd.full"() {dtype = i32, shape = array<i64>, value = 1.0 : f64} : () -> !pd.vtensor<i32>
    %3 = "pd.full"() {dtype = i32, shape = array<i64>, value = 3.0 : f64} : () -> !pd.vtensor<i32>
    "cf.br"(%0)[^head] : (!pd.vtensor<i32>) -> ()
  ^head(%i: !pd.vtensor<i32>):
    %4 = "pd.less_than"(%i, %3) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i1>
    "cf.cond_br"(%4)[^body, ^end] {operandSegmentSizes = array<i32: 1, 0, 0>} : (!pd.vtensor<i1>) -> ()
  ^body:
    %5 = "pd.add_"(%n, %1) : (!pd.tensor<i32>, !pd.vtensor<i32>) -> !pd.tensor<i32>
    %6 = "pd.add"(%i, %1) : (!pd.vtensor<i32>, !pd.vtensor<i32>) -> !pd.vtensor<i32>
    "cf.br"(%6)[^head] : (!pd.vtensor<i32>) -> ()
  ^end:
    return
  }
}
"""


def test_a_branch_on_what_a_loop_has_counted_in_storage_is_resolved() -> None:
    """The loop has to go before the storage, and the storage before the branch."""
    program = tx8ir.parse(CHAIN)
    executable = tx8ir.compile(program)
    PassManager.parse("straighten").run(program)
    assert len(program.main.body) == 1
    names = {op.name for op in program.module.walk()}
    assert "pd.tanh" in names
    assert not any(name.startswith(("scf.", "cf.", "func.call", "pd.relu")) for name in names), names
    (out,) = executable.run(arg0=np.full((2, 8), -2.0, np.float32)).values()
    np.testing.assert_allclose(out, np.tanh(-2.0), rtol=1e-6)


def test_inputs_are_not_written_by_the_chip() -> None:
    executable = tx8ir.compile(tx8ir.parse(CONTROL))
    x = np.full((2, 8), -2.0, np.float32)
    (out,) = executable.run(arg0=x).values()
    np.testing.assert_array_equal(x, -2.0)
    np.testing.assert_array_equal(out, 4.0)
