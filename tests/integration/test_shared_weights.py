"""Programs that share a store: what one writes is not a constant for the other, and no pass is blamed for it."""

from __future__ import annotations

import numpy as np
import pytest

import tx8ir
from tx8ir.core import Program, WeightStore
from tx8ir.interpreter import evaluate
from tx8ir.testing import check

READER = """
module {
  func.func @main(%x: !pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2x8xf32>
    %1 = "pd.add"(%x, %0) : (!pd.vtensor<2x8xf32>, !pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    return %1 : !pd.vtensor<2x8xf32>
  }
}
"""
TRAINER = """
module {
  func.func @main(%x: !pd.vtensor<2x8xf32>) -> () {
    "builtin.set_parameter"(%x) {name = "w"} : (!pd.vtensor<2x8xf32>) -> ()
    return
  }
}
"""
ALIAS = """
module {
  func.func @main(%x: !pd.vtensor<2x8xf32>) -> !pd.vtensor<2x8xf32> {
    %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.tensor<2x8xf32>
    %1 = "pd.add"(%x, %0) : (!pd.vtensor<2x8xf32>, !pd.tensor<2x8xf32>) -> !pd.tensor<2x8xf32>
    %2 = "builtin.to_vtensor"(%1) : (!pd.tensor<2x8xf32>) -> !pd.vtensor<2x8xf32>
    return %2 : !pd.vtensor<2x8xf32>
  }
}
"""
X = np.arange(16, dtype=np.float32).reshape(2, 8)


def sharing() -> tuple[Program, Program]:
    """A program that reads `w`, and one attached to the same store that writes it."""
    store = WeightStore()
    store.add("w", np.ones((2, 8), np.float32))
    reader, trainer = tx8ir.parse(READER), tx8ir.parse(TRAINER)
    reader.weights = trainer.weights = store
    return reader, trainer


def test_what_another_program_writes_is_not_compiled_in() -> None:
    reader, trainer = sharing()
    executable = tx8ir.compile(reader)
    assert [port.name for port in executable.signature.state] == ["w"]
    executable.state = reader.weights
    reader.weights["w"].is_mutable = True
    evaluate(trainer, {"arg0": 2 * X})
    np.testing.assert_array_equal(executable(arg0=X), X + 2 * X)
    reader.weights = reader.weights.copy()
    reader.recompute_mutability()
    assert not tx8ir.compile(reader).signature.state


@pytest.mark.parametrize("pipeline", ["constant-fold", "canonicalize,cse,dce", "prepare"])
def test_no_pass_is_blamed_for_what_another_program_may_write(pipeline: str) -> None:
    reader, _trainer = sharing()
    assert check(reader, pipeline).passed


@pytest.mark.parametrize("pipeline", ["to-value-semantics,copy-elision", "prepare"])
def test_a_weight_read_as_a_tensor_that_nobody_writes_is_a_constant_then(pipeline: str) -> None:
    program = tx8ir.parse(ALIAS)
    program.weights.add("w", np.ones((2, 8), np.float32))
    assert program.mutable_parameters() == {"w"}
    result = check(program, pipeline)
    assert result.passed, str(result)
    assert result.after.mutable_parameters() == frozenset()
    (out,) = tx8ir.compile(program).run(arg0=X).values()
    np.testing.assert_array_equal(out, X + 1)


def test_a_pass_that_loses_a_write_is_still_found() -> None:
    program = tx8ir.parse(TRAINER)
    program.weights.add("w", np.ones((2, 8), np.float32), is_mutable=True)

    def forgets(given: Program) -> None:
        for op in list(given.main.body.block):
            if op.name == "builtin.set_parameter":
                op.erase()

    result = check(program, forgets, reduce=False)
    assert not result.passed
    assert "variable 'w'" in str(result)
