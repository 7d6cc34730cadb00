"""tensor: text through xDSL, evaluation against NumPy, folds, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.samples import goes_to_the_peer_and_back, program_of, reads_back
from tx8ir.core import DYNAMIC, ConditionallySpeculatable, ParseError, VerifyError, parse, parse_op, print_op
from tx8ir.dialects import tensor
from tx8ir.dialects.samples import Sample
from tx8ir.interpreter import EvaluationError, evaluate
from tx8ir.passes import PassManager

OPS: list[Any] = list(tensor.DIALECT.ops.values())
BY_REGION = {"tensor.generate", "tensor.pad", "tensor.yield"}
UNKNOWN = frozenset({"tensor.rank"})  # to xDSL


@pytest.mark.parametrize("op", [op for op in OPS if op.name not in BY_REGION], ids=lambda op: op.name)
def test_text_reads_back_and_goes_to_the_peer_and_back(op: Any) -> None:
    program = program_of(op)
    reads_back(program)
    goes_to_the_peer_and_back(program_of(op, peer_takes), unknown=op.name in UNKNOWN)


def peer_takes(sample: Sample) -> bool:
    """XDSL reshapes between known extents only, and no tensor without a rank."""
    shapes = [getattr(t, "shape", ()) for t in (*sample.types, *sample.result_types)]
    if sample.op is tensor.reshape:
        return not any(DYNAMIC in shape for shape in shapes)
    return sample.op not in (tensor.expand_shape, tensor.collapse_shape) or () not in shapes


LINES = """func.func @f(%arg0: tensor<4x?xf32>, %arg1: index, %arg2: f32) {
  %0 = tensor.empty(%arg1) : tensor<?x4xf32>
  %1 = tensor.empty() : tensor<2xf32>
  %2 = tensor.from_elements %arg2, %arg2 : tensor<2xf32>
  %3 = tensor.splat %arg2[%arg1] : tensor<?x4xf32>
  %4 = tensor.splat %arg2 : tensor<4xf32>
  %5 = tensor.extract %arg0[%arg1, %arg1] : tensor<4x?xf32>
  %6 = tensor.insert %arg2 into %arg0[%arg1, %arg1] : tensor<4x?xf32>
  %7 = tensor.dim %arg0, %arg1 : tensor<4x?xf32>
  %8 = tensor.rank %arg0 : tensor<4x?xf32>
  %9 = tensor.cast %arg0 : tensor<4x?xf32> to tensor<*xf32>
  %10 = tensor.expand_shape %4 [[0, 1]] output_shape [2, 2] : tensor<4xf32> into tensor<2x2xf32>
  %11 = tensor.collapse_shape %10 [[0, 1]] : tensor<2x2xf32> into tensor<4xf32>
  %12 = tensor.extract_slice %arg0[%arg1, 0] [1, 2] [1, 1] : tensor<4x?xf32> to tensor<2xf32>
  %13 = tensor.insert_slice %12 into %arg0[%arg1, 0] [1, 2] [1, 1] : tensor<2xf32> into tensor<4x?xf32>
  %14 = tensor.concat dim(0) %1, %4 : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
  %15 = tensor.pad %1 low[%arg1] high[0] {
  ^bb0(%arg3: index):
    tensor.yield %arg2 : f32
  } : tensor<2xf32> to tensor<?xf32>
  %16 = tensor.pad %1 nofold low[0] high[3] {
  ^bb0(%arg4: index):
    tensor.yield %arg2 : f32
  } : tensor<2xf32> to tensor<5xf32>
  %17 = tensor.generate %arg1 {
  ^bb0(%arg5: index, %arg6: index):
    %18 = tensor.extract %arg0[%arg6, %arg5] : tensor<4x?xf32>
    tensor.yield %18 : f32
  } : tensor<?x4xf32>
  return
}"""


def test_lines_of_mlir_are_written_as_they_are() -> None:
    program = parse(LINES)
    reads_back(program)
    assert print_op(parse_op(LINES), short=True, generic=True) == LINES


def test_regions_go_to_the_peer_and_back() -> None:
    lines = [line for line in LINES.splitlines() if "tensor.rank" not in line]
    program = parse("\n".join(lines))
    goes_to_the_peer_and_back(program, unknown=True)  # tensor.generate
    del lines[lines.index("  %17 = tensor.generate %arg1 {") : -2]
    goes_to_the_peer_and_back(parse("\n".join(lines)))


# --- values ----------------------------------------------------------------------------------------------------------


def run(signature: str, body: str, *arrays: Any) -> list[np.ndarray]:
    """The results of `main` with the arguments %a, %b, …"""
    program = parse(f"func.func @main({signature} {{\n{body}\n}}")
    program.verify()
    names = list(program.inputs)
    given_arrays = {n: np.asarray(a) for n, a in zip(names, arrays, strict=True)}
    before = list(evaluate(program, given_arrays).values())
    PassManager.parse("canonicalize,cse,dce").run(program)
    after = list(evaluate(program, given_arrays).values())
    assert all(np.array_equal(x, y) for x, y in zip(before, after, strict=True))
    return before


X = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_what_is_made() -> None:
    body = """  %e = tensor.from_elements %a, %b, %b, %a : tensor<2x2xi32>
  %s = tensor.splat %a[%n] : tensor<?x2xi32>
  %c = tensor.concat dim(0) %e, %s : (tensor<2x2xi32>, tensor<?x2xi32>) -> tensor<?x2xi32>
  %r = tensor.rank %c : tensor<?x2xi32>
  %0 = index.constant 0
  %d = tensor.dim %c, %0 : tensor<?x2xi32>
  return %e, %c, %r, %d : tensor<2x2xi32>, tensor<?x2xi32>, index, index"""
    found = run("%a: i32, %b: i32, %n: index) -> (tensor<2x2xi32>, tensor<?x2xi32>, index, index)", body,
                np.int32(1), np.int32(2), np.int64(3))  # fmt: skip
    assert [f.tolist() for f in found] == [
        [[1, 2], [2, 1]], [[1, 2], [2, 1], [1, 1], [1, 1], [1, 1]], 2, 5,
    ]  # fmt: skip


def test_elements_are_taken_and_put() -> None:
    body = """  %e = tensor.extract %a[%i, %j] : tensor<4x6xf32>
  %0 = arith.negf %e : f32
  %p = tensor.insert %0 into %a[%j, %i] : tensor<4x6xf32>
  return %e, %p : f32, tensor<4x6xf32>"""
    signature = "%a: tensor<4x6xf32>, %i: index, %j: index) -> (f32, tensor<4x6xf32>)"
    taken, put = run(signature, body, X, np.int64(1), np.int64(2))
    wanted = X.copy()
    wanted[2, 1] = -X[1, 2]
    assert taken == X[1, 2]
    np.testing.assert_array_equal(put, wanted)
    for place in ((-1, 0), (0, 5), (4, 0)):
        with pytest.raises(EvaluationError, match="no element at"):
            run(signature, body, X, *map(np.int64, place))


def test_what_may_lie_outside_of_a_tensor_is_not_moved() -> None:
    program = parse("""func.func @main(%a: tensor<4x6xf32>, %d: tensor<?xf32>, %i: index) {
  %0 = index.constant 3
  %1 = tensor.extract %a[%0, %0] : tensor<4x6xf32>
  %2 = tensor.extract %a[%0, %i] : tensor<4x6xf32>
  %3 = tensor.extract %d[%0] : tensor<?xf32>
  %4 = tensor.dim %a, %0 : tensor<4x6xf32>
  %5 = tensor.extract_slice %a[0, 0] [1, 1] [1, 1] : tensor<4x6xf32> to tensor<1x1xf32>
  %6 = tensor.extract_slice %a[%i, 0] [1, 1] [1, 1] : tensor<4x6xf32> to tensor<1x1xf32>
  return
}""")
    found = [op.interface(ConditionallySpeculatable) for op in program.main.body.block]
    assert [f.can_fail() for f in found if f is not None] == [False, True, True, True, False, True]


def test_shapes_change() -> None:
    body = """  %0 = tensor.collapse_shape %a [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  %1 = tensor.expand_shape %0 [[0, 1, 2]] output_shape [2, %n, 3] : tensor<24xf32> into tensor<2x?x3xf32>
  %2 = tensor.cast %1 : tensor<2x?x3xf32> to tensor<?x4x?xf32>
  %s = tensor.from_elements %n, %m : tensor<2xindex>
  %3 = tensor.reshape %a(%s) : (tensor<4x6xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  return %2, %3 : tensor<?x4x?xf32>, tensor<?x?xf32>"""
    signature = "%a: tensor<4x6xf32>, %n: index, %m: index) -> (tensor<?x4x?xf32>, tensor<?x?xf32>)"
    found = run(signature, body, X, np.int64(4), np.int64(6))
    np.testing.assert_array_equal(found[0], X.reshape(2, 4, 3))
    np.testing.assert_array_equal(found[1], X)
    with pytest.raises(EvaluationError):
        run(signature, body, X, np.int64(2), np.int64(12))  # not what the type of the cast promises


@given(st.data())
def test_slices_are_those_of_numpy(data: st.DataObject) -> None:
    offsets, sizes, strides = [], [], []
    for extent in X.shape:
        offset = data.draw(st.integers(0, extent - 1))
        stride = data.draw(st.integers(1, 3))
        offsets.append(offset)
        strides.append(stride)
        sizes.append(data.draw(st.integers(0, (extent - 1 - offset) // stride + 1)))
    part = f"tensor<{sizes[0]}x{sizes[1]}xf32>"
    where = f"[{offsets[0]}, %i] {sizes} {strides}"
    body = f"""  %0 = tensor.extract_slice %a{where} : tensor<4x6xf32> to {part}
  %1 = arith.negf %0 : {part}
  %2 = tensor.insert_slice %1 into %a{where} : {part} into tensor<4x6xf32>
  return %0, %2 : {part}, tensor<4x6xf32>"""
    signature = f"%a: tensor<4x6xf32>, %i: index) -> ({part}, tensor<4x6xf32>)"
    found = run(signature, body, X, np.int64(offsets[1]))
    rows = [offsets[0] + n * strides[0] for n in range(sizes[0])]
    columns = [offsets[1] + n * strides[1] for n in range(sizes[1])]
    wanted = X.copy()
    wanted[np.ix_(rows, columns)] *= -1
    np.testing.assert_array_equal(found[0], X[np.ix_(rows, columns)])
    np.testing.assert_array_equal(found[1], wanted)


def test_a_slice_may_leave_out_dimensions_of_one_element_and_not_reach_outside() -> None:
    body = """  %0 = tensor.extract_slice %a[%i, 0] [1, 3] [1, 2] : tensor<4x6xf32> to tensor<3xf32>
  %1 = tensor.insert_slice %0 into %a[0, %i] [3, 1] [1, 1] : tensor<3xf32> into tensor<4x6xf32>
  return %0, %1 : tensor<3xf32>, tensor<4x6xf32>"""
    signature = "%a: tensor<4x6xf32>, %i: index) -> (tensor<3xf32>, tensor<4x6xf32>)"
    row, put = run(signature, body, X, np.int64(2))
    np.testing.assert_array_equal(row, X[2, ::2])
    np.testing.assert_array_equal(put[:3, 2], X[2, ::2])
    with pytest.raises(EvaluationError, match="leave a tensor"):
        run(signature, body, X, np.int64(4))


@pytest.mark.parametrize("at_once", [True, False])
def test_a_region_gives_each_element(at_once: bool) -> None:
    element = "" if at_once else "%e = tensor.extract %a[%i, %j] : tensor<4x6xf32>\n    "
    given_element = "arith.sitofp %k : i64 to f32" if at_once else "arith.negf %e : f32"
    body = f"""  %g = tensor.generate %n {{
  ^bb0(%i: index, %j: index):
    {element}%s = arith.addi %i, %j : index
    %k = arith.index_cast %s : index to i64
    %f = {given_element}
    tensor.yield %f : f32
  }} : tensor<?x6xf32>
  %p = tensor.pad %g low[%n, 0] high[0, 1] {{
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  }} : tensor<?x6xf32> to tensor<?x7xf32>
  return %g, %p : tensor<?x6xf32>, tensor<?x7xf32>"""
    signature = "%a: tensor<4x6xf32>, %n: index, %c: f32) -> (tensor<?x6xf32>, tensor<?x7xf32>)"
    found, padded = run(signature, body, X, np.int64(3), np.float32(9))
    wanted = np.add.outer(np.arange(3), np.arange(6)) if at_once else -X[:3]
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(padded, np.pad(wanted, ((3, 0), (0, 1)), constant_values=9))


# --- folding and errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "gone"),
    [
        ("%0 = tensor.splat %f : tensor<4xf32>\n%1 = index.constant 1\n"
         "%r = tensor.extract %0[%1] : tensor<4xf32>", True),
        ("%0 = tensor.from_elements %f, %g : tensor<2xf32>\n%1 = index.constant 0\n"
         "%r = tensor.extract %0[%1] : tensor<2xf32>", True),
        ("%0 = tensor.from_elements %f, %g : tensor<2xf32>\n%1 = index.constant 2\n"
         "%r = tensor.extract %0[%1] : tensor<2xf32>", False),
    ],
)  # fmt: skip
def test_an_element_that_is_known_is_taken_from_where_it_comes(lines: str, gone: bool) -> None:
    program = parse(f"func.func @main(%f: f32, %g: f32) -> f32 {{\n{lines}\nreturn %r : f32\n}}")
    PassManager.parse("canonicalize,dce").run(program)
    assert (program.main.body.block.last_op.operands[0] is program.main.body.block.args[0]) == gone


def test_extents_and_constants_fold() -> None:
    program = parse("""func.func @main(%n: index, %x: tensor<?x3xf32>) -> (index, index, index, tensor<2x2xi32>) {
  %0 = index.constant 0
  %1 = index.constant 1
  %e = tensor.empty(%n) : tensor<?x3xf32>
  %d = tensor.dim %e, %0 : tensor<?x3xf32>
  %k = tensor.dim %x, %1 : tensor<?x3xf32>
  %r = tensor.rank %x : tensor<?x3xf32>
  %c = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %s = tensor.expand_shape %c [[0, 1]] output_shape [2, 2] : tensor<4xi32> into tensor<2x2xi32>
  return %d, %k, %r, %s : index, index, index, tensor<2x2xi32>
}""")
    PassManager.parse("canonicalize,dce").run(program)
    text = print_op(program.module, short=True)
    assert "tensor." not in text
    for piece in ("3 : index", "2 : index", "dense<[[1, 2], [3, 4]]>", "return %arg0, "):
        assert piece in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = tensor.empty() : tensor<?xf32>", "1 dynamic extents, for 0 values"),
        ("%0 = tensor.from_elements %f : tensor<2xf32>", "of its elements in order"),
        ("%0 = tensor.extract %x[%i] : tensor<4x6xf32>", "has 1 indices"),
        ("%0 = tensor.cast %x : tensor<4x6xf32> to tensor<4x7xf32>", "no tensor is of"),
        ("%0 = tensor.cast %x : tensor<4x6xf32> to tensor<4x6xi32>", "keeps the elements"),
        ("%0 = tensor.collapse_shape %x [[0], [1]] : tensor<4x6xf32> into tensor<24xf32>", "groups the dimensions"),
        ("%0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<25xf32>", "are not 25"),
        ("%0 = tensor.collapse_shape %x [] : tensor<4x6xf32> into tensor<f32>", "groups the dimensions"),
        ("%0 = tensor.extract_slice %x[0, 0] [5, 1] [1, 1] : tensor<4x6xf32> to tensor<5x1xf32>", "reaches outside"),
        ("%0 = tensor.extract_slice %x[0, 0] [2, 2] [1, 1] : tensor<4x6xf32> to tensor<2x3xf32>", "is not part of"),
        ("%0 = tensor.extract_slice %x[0] [2] [1] : tensor<4x6xf32> to tensor<2xf32>", "has 1 offsets, expected 2"),
        ("%0 = tensor.concat dim(2) %x : (tensor<4x6xf32>) -> tensor<4x6xf32>", "of the rank of its result"),
        ("%0 = tensor.concat dim(0) %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>", "does not give"),
        ("%0 = tensor.pad %x low[0] high[0, 0] {\n^bb0(%a: index, %b: index):\ntensor.yield %f : f32\n} "
         ": tensor<4x6xf32> to tensor<4x6xf32>", "1 low paddings, expected 2"),
        ("%0 = tensor.generate {\n^bb0(%a: index):\ntensor.yield %f : f32\n} : tensor<4x6xf32>", "an index for each"),
        ("%0 = tensor.generate {\n^bb0(%a: index):\ntensor.yield %i : index\n} : tensor<4xf32>", "is another"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(line: str, message: str) -> None:
    with pytest.raises((VerifyError, ParseError), match=message):
        parse(f"func.func @f(%x: tensor<4x6xf32>, %f: f32, %i: index) {{\n{line}\nreturn\n}}").verify()
