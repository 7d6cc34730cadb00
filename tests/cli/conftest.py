"""A program that several tests of the commands read."""

from __future__ import annotations

import pytest

TWICE_RELU = """
module {
  func.func @main(%x: !pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>
      attributes {arg_names = ["x"], result_names = ["out"]} {
    %0 = "pd.relu"(%x) : (!pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>
    %1 = "pd.relu"(%x) : (!pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>
    %2 = "pd.add"(%0, %1) : (!pd.vtensor<4x64xf32>, !pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>
    return %2 : !pd.vtensor<4x64xf32>
  }
}
"""


@pytest.fixture
def twice_relu() -> str:
    """The text of `relu(x) + relu(x)`, with x of 4x64 floats."""
    return TWICE_RELU
