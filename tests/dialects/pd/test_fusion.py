"""`pd.fusion`: what it may hold, and that it computes what is inside."""

from __future__ import annotations

import numpy as np
import pytest

import tx8ir
from tx8ir.core import VerifyError
from tx8ir.interpreter import evaluate

BODY = """
    ^bb0(%a: !pd.vtensor<3xbf16>):
      %b = "pd.exp"(%a) : (!pd.vtensor<3xbf16>) -> !pd.vtensor<3xbf16>
      %c = "pd.add"(%b, %a) : (!pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>) -> !pd.vtensor<3xbf16>
      "pd.fusion_yield"(%c, %b) : (!pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>) -> ()"""
TEXT = (
    """module {
  func.func @main(%x: !pd.vtensor<3xbf16>) -> (!pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>) {
    %y, %z = "pd.fusion"(%x) ({"""
    + BODY
    + """
    }) {kind = "vertical"} : (!pd.vtensor<3xbf16>) -> (!pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>)
    return %y, %z : !pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>
  }
}"""
)


def test_each_operation_inside_rounds_as_it_would_outside() -> None:
    program = tx8ir.parse(TEXT)
    program.verify()
    assert str(tx8ir.parse(str(program))) == str(program)
    x = np.float32([0.1015625, 1.703125, -3.0])
    y, z = evaluate(program, {"arg0": x}).values()
    rounded = np.exp(x.astype(np.float32)).astype(z.dtype)
    np.testing.assert_array_equal(z, rounded)
    np.testing.assert_array_equal(y, (rounded.astype(np.float32) + x.astype(np.float32)).astype(y.dtype))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "vertical"', 'kind = "loop"', "attribute `kind` is 'loop'; expected one of vertical, horizontal"),
        ("(%c, %b) : (!pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>) -> ()", "(%c) : (!pd.vtensor<3xbf16>) -> ()",
         "pd.fusion_yield gives (!pd.vtensor<3xbf16>), the results of pd.fusion are (!pd.vtensor<3xbf16>, "),
        ("pd.fusion_yield", "scf.yield", "the body of pd.fusion ends in scf.yield, expected pd.fusion_yield"),
        ("^bb0(%a: !pd.vtensor<3xbf16>):", "^bb0(%a: !pd.vtensor<3xbf16>, %n: !pd.vtensor<3xbf16>):",
         "the body of pd.fusion takes (!pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>), not the types of its operands"),
        ('      %b = "pd.exp"', '      "pd.fetch"(%a) {name = "a"} : (!pd.vtensor<3xbf16>) -> ()\n      %b = "pd.exp"',
         "pd.fetch is inside pd.fusion; expected operations without effects or regions"),
        ("pd.vtensor", "pd.tensor", "pd.fusion takes and gives vtensors, not !pd.tensor<3xbf16>"),
    ],
)  # fmt: skip
def test_what_a_fusion_may_not_hold(old: str, new: str, message: str) -> None:
    assert old in TEXT
    program = tx8ir.parse(TEXT.replace(old, new))
    with pytest.raises(VerifyError) as caught:
        program.verify()
    assert message in str(caught.value)


def test_the_terminator_belongs_into_a_fusion() -> None:
    text = TEXT.replace("return %y, %z :", '"pd.fusion_yield"(%y, %z) :').replace(
        "!pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>\n  }", "(!pd.vtensor<3xbf16>, !pd.vtensor<3xbf16>) -> ()\n  }"
    )
    with pytest.raises(VerifyError) as caught:
        tx8ir.parse(text).verify()
    assert "pd.fusion_yield ends a region of func.func; it belongs into pd.fusion" in str(caught.value)
