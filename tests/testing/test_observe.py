"""How far results may be off after a pass that keeps values up to rounding."""

from __future__ import annotations

import numpy as np

import tx8ir
from tx8ir.testing import draw_inputs, observe
from tx8ir.testing.observe import rounding_allowances

THROUGH_A_VARIABLE = """
module {
  func.func @main(%x: !pd.vtensor<3xf32>) -> (!pd.vtensor<f32>, !pd.vtensor<3xf32>) {
    %0 = "pd.sum"(%x) {axis = array<i64: 0>, keepdim = false} : (!pd.vtensor<3xf32>) -> !pd.vtensor<f32>
    "builtin.set_parameter"(%0) {name = "w"} : (!pd.vtensor<f32>) -> ()
    %1 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<f32>
    %2 = "pd.relu"(%x) : (!pd.vtensor<3xf32>) -> !pd.vtensor<3xf32>
    return %1, %2 : !pd.vtensor<f32>, !pd.vtensor<3xf32>
  }
}
"""


def test_what_was_rounded_on_its_way_through_a_variable_may_be_off() -> None:
    program = tx8ir.parse(THROUGH_A_VARIABLE)
    program.weights.add("w", np.float32(0), is_mutable=True)
    inputs = draw_inputs(program, 0)
    allowed = rounding_allowances(program, observe(program, inputs), inputs)
    assert allowed["result 'result0'"].bound > 0
    assert "result 'result1'" not in allowed  # relu rounds nothing
