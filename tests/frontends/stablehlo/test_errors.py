"""What cannot be imported is refused with operation and place, all lacking operations at once."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tx8ir.core import ParseError
from tx8ir.dialects import pd
from tx8ir.frontends import stablehlo
from tx8ir.frontends.stablehlo import StableHloImportError, register_operator
from tx8ir.frontends.stablehlo.registry import _CONVERTERS
from tx8ir.interpreter import evaluate


def module(body: str, takes: str = "%x: tensor<4xf32>", gives: str = "tensor<4xf32>", more: str = "") -> str:
    return f"module {{\n  func.func public @main({takes}) -> ({gives}) {{\n{body}\n  }}\n{more}}}\n"


def unary(operation: str) -> str:
    return module(f"    %0 = {operation}\n    return %0 : tensor<4xf32>")


def refusal(text: str, **options) -> StableHloImportError:
    with pytest.raises(StableHloImportError) as caught:
        stablehlo.load(text, **options)
    return caught.value


def test_all_lacking_operations_are_listed():
    error = refusal(
        module(
            """    %0 = chlo.lgamma %x : tensor<4xf32> -> tensor<4xf32>
    %1 = stablehlo.custom_call @mine(%0) : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "other.op"(%1) : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>"""
        )
    )
    assert [(item.operator, item.node) for item in error.missing] == [
        ("chlo.lgamma", "line 3"),
        ("@mine", "line 4"),
        ("other.op", "line 5"),
    ]
    assert "3 nodes of 3 operators are not supported: chlo.lgamma at node 'line 3'" in str(error)


def test_complex_numbers_and_fourier_transforms():
    error = refusal(
        module(
            """    %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %1 = stablehlo.fft %0, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    %2 = stablehlo.real %1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    return %2 : tensor<4xf32>"""
        )
    )
    assert [item.operator for item in error.missing] == [
        "stablehlo.convert of tensor<4xcomplex<f32>>",
        "stablehlo.fft",
        "stablehlo.real",
    ]


def test_the_type_of_complex_numbers_says_that_of_their_parts():
    body = """    %0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
    %1 = stablehlo.imag %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    return %1 : tensor<4xf32>"""
    assert [item.operator for item in refusal(module(body)).missing] == ["stablehlo.complex", "stablehlo.imag"]


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            "stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<4xf32>) -> tensor<4xf32>",
            "broadcast_dimensions are [1]",
        ),
        ("stablehlo.transpose %x, dims = [0, 0] : (tensor<4xf32>) -> tensor<4xf32>", "the axes are [0, 0]"),
        (
            "stablehlo.concatenate %x, %x, dim = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>",
            "declared as !pd.vtensor<4xf32>; it comes to !pd.vtensor<8xf32>",
        ),
        ("stablehlo.reduce_precision %x, format = e4m3 : tensor<4xf32>", "4 bits of exponent and 3 of mantissa"),
        ("func.call @nobody(%x) : (tensor<4xf32>) -> tensor<4xf32>", "calls @nobody, which the module does not define"),
        ("stablehlo.concatenate %x, dim = 1 : (tensor<4xf32>) -> tensor<4xf32>", "expected different axes"),
        (
            "stablehlo.slice %x [0:4:0] : (tensor<4xf32>) -> tensor<4xf32>",
            "takes each 0 elements; expected 1 or more",
        ),
        (
            "stablehlo.slice %x [0:4398046511104] : (tensor<4xf32>) -> tensor<4xf32>",
            "expected numbers below 2147483648",
        ),
        (
            '"stablehlo.sort"(%x) <{dimension = 3 : i64}> ({\n^bb0(%a: tensor<f32>, %b: tensor<f32>):\n'
            "%c = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            "stablehlo.return %c : tensor<i1>}) : (tensor<4xf32>) -> tensor<4xf32>",
            "the axis are [3]",
        ),
        (
            '"stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({\n^bb0(%a: tensor<f32>):\n'
            "%c = stablehlo.iota dim = 0 : tensor<2xf32>\nstablehlo.return %a : tensor<f32>}) "
            ": (tensor<4xf32>) -> tensor<4xf32>",
            "stands in a body that works on single elements",
        ),
    ],
)
def test_operations_are_refused_with_their_line(operation, message):
    error = refusal(unary(operation))
    assert message in str(error)
    assert re.match(r"<text>: node 'line \d+' \(\S+\): ", str(error))


def test_recursion_is_refused():
    recursive = """  func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = func.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
"""
    text = module(
        "    %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>\n    return %0 : tensor<4xf32>", more=recursive
    )
    assert "nested more than 64 deep" in str(refusal(text))


def test_calls_that_double_are_refused_before_they_fill_memory(monkeypatch):
    monkeypatch.setattr("tx8ir.frontends.stablehlo.importer.MOST", 1000)
    layers = "".join(
        f"""  func.func private @f{i}(%a: tensor<4xf32>) -> tensor<4xf32> {{
    %0 = func.call @f{i + 1}(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = func.call @f{i + 1}(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }}
"""
        for i in range(40)
    )
    last = "  func.func private @f40(%a: tensor<4xf32>) -> tensor<4xf32> {\n    return %a : tensor<4xf32>\n  }\n"
    body = "    %0 = call @f0(%x) : (tensor<4xf32>) -> tensor<4xf32>\n    return %0 : tensor<4xf32>"
    assert "more than 1000 operations once its functions are inlined" in str(refusal(module(body, more=layers + last)))


def test_open_extents_that_nothing_stands_for_name_the_input():
    text = module(
        """    %0 = stablehlo.reverse %x, dims = [0] : tensor<?xf32>
    return %0 : tensor<?xf32>""",
        "%x: tensor<?xf32>",
        "tensor<?xf32>",
    )
    error = refusal(text)
    assert error.needs == ("arg0[0]",)
    assert 'load(…, dimensions={"arg0[0]": 4})' in str(error)
    (found,) = evaluate(stablehlo.load(text, dimensions={"arg0[0]": 3}), {"arg0": np.arange(3, dtype="f")}).values()
    assert found.tolist() == [2, 1, 0]
    assert "dynamic are arg0[0]" in str(refusal(text, dimensions={"y[0]": 3}))


def test_extents_that_break_an_assertion_give_its_message():
    text = module(
        """    %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
    %1 = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.compare GE, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%2, %0) {error_message = "b is {0}"} : (tensor<i1>, tensor<i32>) -> ()
    return %x : tensor<?xf32>""",
        "%x: tensor<?xf32>",
        "tensor<?xf32>",
    )
    assert "b is 1" in str(refusal(text, dimensions={"arg0[0]": 1}))
    assert stablehlo.load(text, dimensions={"arg0[0]": 2}).inputs.keys() == {"arg0"}


def test_tuples_are_refused():
    body = """    %0 = stablehlo.tuple %x, %x : tuple<tensor<4xf32>, tensor<4xf32>>
    %1 = stablehlo.get_tuple_element %0[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
    return %1 : tensor<4xf32>"""
    assert [item.operator for item in refusal(module(body)).missing] == [
        "stablehlo.tuple",
        "stablehlo.get_tuple_element",
    ]


def test_text_that_is_malformed_has_line_and_column():
    with pytest.raises(ParseError, match=r"<text>:3:") as caught:
        stablehlo.load(unary("stablehlo.slice %x [0:4] : (tensor<4xf32>) -> tensor<4xf32").replace("xf32\n", "xf32?\n"))
    assert caught.value.line == 3


def test_custom_calls_go_through_the_hook():
    @register_operator("@twice", elementwise=True)
    def twice(node):
        (x,) = node.operands
        return pd.scale(x, scale=2.0)

    try:
        program = stablehlo.load(unary("stablehlo.custom_call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>"))
        (found,) = evaluate(program, {"arg0": np.ones(4, "f")}).values()
        assert found.tolist() == [2, 2, 2, 2]
        with pytest.raises(ValueError, match="two converters"):
            register_operator("@twice")(twice)
    finally:
        del _CONVERTERS["@twice"]
    with pytest.raises(ValueError, match="is not an operator"):
        register_operator("twice")


def test_tensors_without_elements_are_made_as_they_are():
    text = module(
        """    %0 = stablehlo.slice %x [1:1:2, 0:3] : (tensor<4x3xf32>) -> tensor<0x3xf32>
    %1 = stablehlo.reshape %0 : (tensor<0x3xf32>) -> tensor<3x0xf32>
    %2 = stablehlo.constant dense<2.5> : tensor<f32>
    %3 = stablehlo.reduce(%1 init: %2) applies stablehlo.add across dimensions = [1]
      : (tensor<3x0xf32>, tensor<f32>) -> tensor<3xf32>
    return %3 : tensor<3xf32>""",
        "%x: tensor<4x3xf32>",
        "tensor<3xf32>",
    )
    (found,) = evaluate(stablehlo.load(text), {"arg0": np.ones((4, 3), "f")}).values()
    assert found.tolist() == [2.5, 2.5, 2.5]
