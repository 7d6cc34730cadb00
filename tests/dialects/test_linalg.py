"""linalg: text through xDSL, evaluation against NumPy and against places taken one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.samples import goes_to_the_peer_and_back, reads_back
from tx8ir.core import Block, Builder, ParseError, Program, VerifyError, f32, i8, i32, parse, print_op, tensor_type
from tx8ir.dialects import linalg
from tx8ir.interpreter import EvaluationError, evaluate
from tx8ir.passes import PassManager

PROGRAM = """module {
  func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<8x2xf32>, %arg2: tensor<4x2xf32>, %arg3: f32) {
    %0 = linalg.matmul ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x2xf32>)
        outs(%arg2 : tensor<4x2xf32>) -> tensor<4x2xf32>
    %1 = tensor.empty() : tensor<4x2xf32>
    %2 = linalg.fill ins(%arg3 : f32) outs(%1 : tensor<4x2xf32>) -> tensor<4x2xf32>
    %3 = linalg.add ins(%0, %2 : tensor<4x2xf32>, tensor<4x2xf32>) outs(%1 : tensor<4x2xf32>) -> tensor<4x2xf32>
    %4 = linalg.exp ins(%3 : tensor<4x2xf32>) outs(%1 : tensor<4x2xf32>) -> tensor<4x2xf32>
    %5 = tensor.empty() : tensor<2x4xf32>
    %6 = linalg.transpose ins(%4 : tensor<4x2xf32>) outs(%5 : tensor<2x4xf32>) permutation = [1, 0]
    %7 = tensor.empty() : tensor<2x4x3xf32>
    %8 = linalg.broadcast ins(%6 : tensor<2x4xf32>) outs(%7 : tensor<2x4x3xf32>) dimensions = [2]
    %9 = linalg.reduce ins(%8 : tensor<2x4x3xf32>) outs(%6 : tensor<2x4xf32>) dimensions = [2]
    (%arg4: f32, %arg5: f32) {
      %10 = arith.addf %arg4, %arg5 : f32
      linalg.yield %10 : f32
    }
    %14 = tensor.empty() : tensor<4xf32>
    %11 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
        iterator_types = ["parallel", "reduction"]} ins(%arg0 : tensor<4x8xf32>) outs(%14 : tensor<4xf32>) {
    ^bb0(%arg6: f32, %arg7: f32):
      %13 = arith.addf %arg6, %arg7 : f32
      linalg.yield %13 : f32
    } -> tensor<4xf32>
    return
  }
}"""


def test_text_reads_back_and_goes_to_the_peer_and_back() -> None:
    program = parse(PROGRAM)
    reads_back(program)
    written = print_op(program.module, short=True, generic=True)
    for line in PROGRAM.splitlines():
        assert line.strip().split(" = ", 1)[-1].split("(")[0].split("{")[0] in written
    assert "linalg.matmul ins(" in written
    assert 'affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(' in written
    goes_to_the_peer_and_back(program, unknown=True)


def test_the_generic_form_has_what_the_name_means() -> None:
    text = print_op(parse(PROGRAM).module, generic=True)
    assert '"linalg.matmul"(%arg0, %arg1, %arg2) <{indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>' in text
    assert "iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>]" in text
    assert text.count('"linalg.yield"') == 8


NAMED = [op for op in linalg.DIALECT.ops.values() if issubclass(op, linalg.elementwise.ElementwiseOp)]


@pytest.mark.parametrize("op", NAMED, ids=lambda op: op.name)
def test_every_named_operation_goes_to_the_peer_and_back(op: Any) -> None:
    element = i32 if op.of_floats is None and op.of_integers is not None else f32
    tensor = tensor_type((2, 3), element)
    program = Program.empty()
    names = [f"%a{n}: {tensor}".replace("!pd.vtensor", "tensor") for n in range(op.num_inputs + 1)]
    if op.name == "linalg.select":
        names[0] = "%a0: tensor<2x3xi1>"
    types = [n.split(": ")[1] for n in names]
    line = (
        f"%0 = {op.name} ins({', '.join(f'%a{n}' for n in range(op.num_inputs))} : {', '.join(types[:-1])}) "
        f"outs(%a{op.num_inputs} : {types[-1]}) -> {types[-1]}"
    )
    program = parse(f"func.func @main({', '.join(names)}) -> {types[-1]} {{\n{line}\nreturn %0 : {types[-1]}\n}}")
    reads_back(program)
    goes_to_the_peer_and_back(program, unknown=True)
    rng = np.random.default_rng(5)
    arrays = {name: rng.integers(1, 5, (2, 3)).astype(t.element.dtype) for name, t in program.inputs.items()}
    found = evaluate(program, arrays)["result0"]
    xs = [a.astype(np.float64) for a in arrays.values()]
    with np.errstate(all="ignore"):
        wanted = FORMULAS[op.name.removeprefix("linalg.")](*xs[: op.num_inputs])
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=1e-6)


def _erf(x: Any) -> Any:
    from math import erf

    return np.vectorize(erf)(x)


FORMULAS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "div_unsigned": np.floor_divide,
    "max": np.maximum, "min": np.minimum, "powf": np.power, "select": lambda c, x, y: np.where(c != 0, x, y),
    "copy": np.positive, "square": np.square, "reciprocal": np.reciprocal, "exp": np.exp, "log": np.log, "abs": np.abs,
    "ceil": np.ceil, "floor": np.floor, "round": np.round, "negf": np.negative, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "tanh": np.tanh, "erf": _erf,
}  # fmt: skip


# --- values ----------------------------------------------------------------------------------------------------------


def run(takes: str, gives: str, body: str, *arrays: Any) -> list[np.ndarray]:
    program = parse(f"func.func @main({takes}) -> ({gives}) {{\n{body}\n}}")
    program.verify()
    given = dict(zip(program.inputs, map(np.asarray, arrays), strict=True))
    before = list(evaluate(program, given).values())
    PassManager.parse("canonicalize,cse,licm,sccp,dce").run(program)
    after = list(evaluate(program, given).values())
    assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))
    return before


RNG = np.random.default_rng(7)
A, B, C = (RNG.standard_normal(s).astype(np.float32) for s in ((4, 8), (8, 2), (4, 2)))


def test_products() -> None:
    (found,) = run(
        "%a: tensor<4x8xf32>, %b: tensor<8x2xf32>, %c: tensor<4x2xf32>", "tensor<4x2xf32>",
        "%0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) outs(%c : tensor<4x2xf32>) "
        "-> tensor<4x2xf32>\nreturn %0 : tensor<4x2xf32>", A, B, C,
    )  # fmt: skip
    np.testing.assert_allclose(found, C + A @ B, rtol=1e-5)
    total = C.copy()
    for k in range(8):  # one rounding each, in order
        total = total + (A[:, k, None] * B[None, k]).astype(np.float32)
    np.testing.assert_array_equal(found, total)
    (transposed,) = run(
        "%a: tensor<4x8xf32>, %b: tensor<2x8xf32>, %c: tensor<4x2xf32>", "tensor<4x2xf32>",
        "%0 = linalg.matmul {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, "
        "affine_map<(i, j, k) -> (i, j)>]} ins(%a, %b : tensor<4x8xf32>, tensor<2x8xf32>) "
        "outs(%c : tensor<4x2xf32>) -> tensor<4x2xf32>\nreturn %0 : tensor<4x2xf32>", A, B.T.copy(), C,
    )  # fmt: skip
    np.testing.assert_array_equal(transposed, found)
    (batch,) = run(
        "%a: tensor<3x4x8xf32>, %b: tensor<3x8x2xf32>, %c: tensor<3x4x2xf32>", "tensor<3x4x2xf32>",
        "%0 = linalg.batch_matmul ins(%a, %b : tensor<3x4x8xf32>, tensor<3x8x2xf32>) outs(%c : tensor<3x4x2xf32>) "
        "-> tensor<3x4x2xf32>\nreturn %0 : tensor<3x4x2xf32>", np.stack([A] * 3), np.stack([B] * 3), np.stack([C] * 3),
    )  # fmt: skip
    np.testing.assert_array_equal(batch, np.stack([found] * 3))


def test_integers_are_widened_for_a_product() -> None:
    a, b = np.full((2, 3), -100, np.int8), np.full((3, 2), 100, np.int8)
    (found,) = run(
        "%a: tensor<2x3xi8>, %b: tensor<3x2xi8>, %c: tensor<2x2xi32>", "tensor<2x2xi32>",
        "%0 = linalg.matmul ins(%a, %b : tensor<2x3xi8>, tensor<3x2xi8>) outs(%c : tensor<2x2xi32>) "
        "-> tensor<2x2xi32>\nreturn %0 : tensor<2x2xi32>", a, b, np.ones((2, 2), np.int32),
    )  # fmt: skip
    assert found.tolist() == [[-29999] * 2] * 2


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_convolutions(stride: int, dilation: int) -> None:
    x, w = (RNG.standard_normal(s).astype(np.float32) for s in ((2, 3, 7, 7), (4, 3, 3, 3)))
    out = (7 - 2 * dilation - 1) // stride + 1
    shape = f"tensor<2x4x{out}x{out}xf32>"
    y = np.zeros((2, 4, out, out), np.float32)
    (found,) = run(
        f"%x: tensor<2x3x7x7xf32>, %w: tensor<4x3x3x3xf32>, %y: {shape}", shape,
        f"%0 = linalg.conv_2d_nchw_fchw {{dilations = dense<{dilation}> : tensor<2xi64>, "
        f"strides = dense<{stride}> : tensor<2xi64>}} ins(%x, %w : tensor<2x3x7x7xf32>, tensor<4x3x3x3xf32>) "
        f"outs(%y : {shape}) -> {shape}\nreturn %0 : {shape}", x, w, y,
    )  # fmt: skip
    for row in range(out):
        for column in range(out):
            rows, columns = (np.arange(3) * dilation + at * stride for at in (row, column))
            window = x[:, :, rows][:, :, :, columns]
            y[:, :, row, column] = np.einsum("ncij,fcij->nf", window, w)
    np.testing.assert_allclose(found, y, rtol=1e-4, atol=1e-5)


GENERIC = """%0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}}
      ins(%a : {a}) outs(%b : {b}) {{
  ^bb0(%x: f32, %y: f32):
    {line}
    linalg.yield %v : f32
  }} -> {b}
  return %0 : {b}"""


@pytest.mark.parametrize("at_once", [True, False])
def test_a_grid_in_any_order_and_one_after_the_other(at_once: bool) -> None:
    # What takes numbers one by one (scf.if) gives the same as what runs for all places at once.
    choice = "%v = arith.maximumf %s, %y : f32" if at_once else (
        "%c = arith.cmpf ogt, %s, %y : f32\n"
        "%v = scf.if %c -> (f32) {\nscf.yield %s : f32\n} else {\nscf.yield %y : f32\n}"
    )  # fmt: skip
    body = GENERIC.format(
        maps="affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>", kinds='"reduction", "parallel"',
        a="tensor<4x8xf32>", b="tensor<8xf32>", line=f"%s = arith.mulf %x, %x : f32\n    {choice}",
    )  # fmt: skip
    (found,) = run("%a: tensor<4x8xf32>, %b: tensor<8xf32>", "tensor<8xf32>", body, A, np.zeros(8, np.float32))
    np.testing.assert_array_equal(found, (A * A).max(axis=0))


def test_places_and_values_from_outside() -> None:
    body = """%0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>],
      iterator_types = ["parallel", "parallel"]} outs(%b : tensor<8x4xf32>) {
  ^bb0(%y: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %n = arith.muli %j, %k : index
    %s = arith.addi %i, %n : index
    %t = arith.index_cast %s : index to i32
    %v = arith.sitofp %t : i32 to f32
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>"""
    (found,) = run(
        "%b: tensor<8x4xf32>, %k: index", "tensor<8x4xf32>", body, np.zeros((8, 4), np.float32), np.int64(10)
    )
    np.testing.assert_array_equal(found, np.add.outer(10 * np.arange(8), np.arange(4)))


def test_windows_and_numbers() -> None:
    body = """%0 = linalg.generic {indexing_maps = [affine_map<(i, w) -> (2 * i + w)>, affine_map<(i, w) -> ()>,
      affine_map<(i, w) -> (w)>, affine_map<(i, w) -> (i)>], iterator_types = ["parallel", "reduction"]}
    ins(%a, %k, %w : tensor<8xf32>, f32, tensor<3xf32>) outs(%b : tensor<3xf32>) {
  ^bb0(%x: f32, %n: f32, %u: f32, %y: f32):
    %s = arith.mulf %x, %n : f32
    %v = arith.addf %s, %y : f32
    linalg.yield %v : f32
  } -> tensor<3xf32>
  return %0 : tensor<3xf32>"""
    takes = "%a: tensor<8xf32>, %k: f32, %w: tensor<3xf32>, %b: tensor<3xf32>"
    x, zeros = np.arange(8, dtype=np.float32), np.zeros(3, np.float32)
    (found,) = run(takes, "tensor<3xf32>", body, x, np.float32(2), zeros, zeros)
    assert found.tolist() == [2 * x[2 * n : 2 * n + 3].sum() for n in range(3)]
    with pytest.raises(EvaluationError, match="reaches elements 0 to 8 of 8"):
        run(takes, "tensor<3xf32>", body.replace("2 * i + w", "3 * i + w"), x, np.float32(2), zeros, zeros)


def test_an_operation_is_built_with_its_region() -> None:
    block = Block([tensor_type((2, 3), i8), tensor_type((3, 2), i8), tensor_type((2, 2), i32)])
    with Builder.at_end(block):
        made = linalg.matmul(block.args[:2], [block.args[2]])
    assert [op.name for op in made.body.block] == [
        "arith.extsi",
        "arith.extsi",
        "arith.muli",
        "arith.addi",
        "linalg.yield",
    ]
    assert made.results[0].type is block.args[2].type
    assert made.indexing_maps is not None


def test_a_named_operation_with_another_region_is_written_in_the_generic_form() -> None:
    program = parse(PROGRAM)
    (add,) = [op for op in program.module.walk() if op.name == "linalg.add"]
    text = print_op(program.module).replace('"arith.addf"(%arg4, %arg5)', '"arith.subf"(%arg4, %arg5)')
    again = parse(text.replace('"arith.addf"', '"arith.subf"'))
    assert '"linalg.add"(' in print_op(again.module, short=True)
    assert '"linalg.add"(' not in print_op(program.module, short=True)
    assert len(add.body.block) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("permutation = [1, 0]", "permutation = [1, 1]", "is an order of 2 dimensions"),
        ("dimensions = [2]\n    (", "dimensions = [1]\n    (", "has 3 and 4 places|has 4 and 3 places"),
        ("%10 : f32", "%10, %10 : f32, f32", "not an element of each output"),
        ("linalg.yield %13", "scf.yield %13", "ends in scf.yield|belongs into scf.if"),
        ('["parallel", "reduction"]', '["parallel", "sideways"]', "one of parallel, reduction, window"),
        ("affine_map<(d0, d1) -> (d0)>", "affine_map<(d0) -> (d0)>", "in a grid of 2"),
        ("ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<8x2xf32>)", "ins(%arg0 : tensor<4x8xf32>)", "takes 2 inputs"),
        ("outs(%arg2 : tensor<4x2xf32>) -> tensor<4x2xf32>", "outs(%arg2 : tensor<4x2xf32>) -> tensor<4x3xf32>", ""),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(old: str, new: str, message: str) -> None:
    assert old in PROGRAM
    with pytest.raises((VerifyError, ParseError), match=message):
        parse(PROGRAM.replace(old, new, 1)).verify()
