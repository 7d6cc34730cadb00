"""lower-to-pd: every operation that it lowers computes the same as before, and whole programs run on the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.samples import program_of, samples
from tx8ir.core import IrError, Program, i1, parse
from tx8ir.core.attrs.builtin_types import array_type
from tx8ir.dialects import arith, index, math
from tx8ir.dialects.samples import Sample
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassManager
from tx8ir.testing import assert_preserves, check
from tx8ir.transforms.lowering.numbers import NUMBERS
from tx8ir.transforms.lowering.tensors import TENSORS


def lowered(program: Program) -> Program:
    """The program after the pass, which leaves `pd`, `scf` and `func` alone."""
    PassManager.parse("lower-to-pd").run(program)
    program.verify()
    dialects = {op.name.partition(".")[0] for op in program.module.walk()}
    assert dialects <= {"builtin", "func", "pd", "scf"}
    return program


# --- numbers ---------------------------------------------------------------------------------------------------------

_UNIT = {math.AcosOp, math.AsinOp, math.AtanhOp}


def numbers(op: Any, type: Any, rng: np.random.Generator) -> np.ndarray:
    held = array_type(type)
    shape = held.shape
    if held.element is i1:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if held.element.is_float:
        low, high = (-1, 1) if op in _UNIT else (1, 4) if op is math.AcoshOp else (-3, 3)
        return rng.uniform(low, high, shape).astype(held.element.dtype)
    found = rng.integers(-5, 6, shape)
    return np.where(found == 0, 3, found).astype(held.element.dtype)


def is_known(sample: Sample) -> bool:
    types = [array_type(t) for t in (*sample.types, *sample.result_types)]
    elements = all(t is not None and (t.element is i1 or t.element.format.bits > 4) for t in types)
    return elements and all(t.is_static and 0 not in t.shape for t in types)


def is_refused(program: Program) -> bool:
    """Whether the pass says of a copy that there is nothing for the operation."""
    try:
        PassManager.parse("lower-to-pd").run(program.clone())
    except IrError as error:
        return "pd has nothing for" in str(error)
    return False


@pytest.mark.parametrize("op", NUMBERS, ids=lambda op: op.name)
def test_what_is_computed_stays_the_same(op: Any) -> None:
    rng = np.random.default_rng(11)
    chosen = [s for s in samples(op) if is_known(s)]
    done = 0
    for sample in {str(s): s for s in chosen}.values():
        program = program_of(op, lambda s, sample=sample: s is sample)
        (function,) = program.body
        function.sym_name = "main"
        given = {n: numbers(op, t, rng) for n, t in program.inputs.items()}
        if is_refused(program):
            continue
        assert_preserves("lower-to-pd", program, inputs=given, reduce=False)
        done += 1
        if done >= 4 and op not in (arith.CmpFOp, arith.CmpIOp, index.CmpOp):
            break
    assert done


def test_comparisons_of_nan_stay_the_same() -> None:
    for number, word in enumerate(arith.FLOAT_PREDICATES):
        program = parse(f"""func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xi1> {{
  %0 = arith.cmpf {word}, %x, %y : tensor<4xf32>
  return %0 : tensor<4xi1>
}}""")
        assert arith.FLOAT_PREDICATES[number] == word
        given = {"arg0": np.array([1, 1, np.nan, np.nan], np.float32), "arg1": np.array([1, 2, 1, np.nan], np.float32)}
        assert_preserves("lower-to-pd", program, inputs=given, reduce=False)


# --- tensors ---------------------------------------------------------------------------------------------------------

TENSOR_LINES = {
    "tensor.empty": "%0 = tensor.empty() : tensor<2xf32>",
    "tensor.splat": "%0 = tensor.splat %f : tensor<2x3xf32>",
    "tensor.from_elements": "%0 = tensor.from_elements %f, %f, %f, %f : tensor<2x2xf32>",
    "tensor.extract": "%0 = tensor.extract %x[%i, %j] : tensor<4x6xf32>",
    "tensor.insert": "%0 = tensor.insert %f into %x[%i, %j] : tensor<4x6xf32>",
    "tensor.dim": "%k = index.constant 1\n  %0 = tensor.dim %x, %k : tensor<4x6xf32>",
    "tensor.rank": "%0 = tensor.rank %x : tensor<4x6xf32>",
    "tensor.cast": "%0 = tensor.cast %x : tensor<4x6xf32> to tensor<4x6xf32>",
    "tensor.reshape": "%s = tensor.from_elements %i, %i : tensor<2xindex>\n"
    "  %0 = tensor.reshape %x(%s) : (tensor<4x6xf32>, tensor<2xindex>) -> tensor<2x12xf32>",
    "tensor.expand_shape": "%0 = tensor.expand_shape %x [[0, 1], [2]] output_shape [2, 2, 6] "
    ": tensor<4x6xf32> into tensor<2x2x6xf32>",
    "tensor.collapse_shape": "%0 = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>",
    "tensor.concat": "%0 = tensor.concat dim(1) %x, %x : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x12xf32>",
    "tensor.extract_slice": "%0 = tensor.extract_slice %x[%i, 1] [1, 3] [1, 2] : tensor<4x6xf32> to tensor<3xf32>",
    "tensor.insert_slice": "%p = tensor.empty() : tensor<2xf32>\n"
    "  %0 = tensor.insert_slice %p into %x[1, 2] [1, 2] [1, 1] : tensor<2xf32> into tensor<4x6xf32>",
}


@pytest.mark.parametrize("name", TENSOR_LINES)
def test_tensors_stay_the_same(name: str) -> None:
    given = {
        "x": np.arange(24, dtype=np.float32).reshape(4, 6),
        "f": np.float32(0.5),
        "i": np.int64(2 if name != "tensor.reshape" else 0),
        "j": np.int64(5),
    }
    text = f"""func.func @main(%x: tensor<4x6xf32>, %f: f32, %i: index, %j: index) -> TYPE
    attributes {{arg_names = ["x", "f", "i", "j"]}} {{
  {TENSOR_LINES[name]}
  return %0 : TYPE
}}"""
    line = TENSOR_LINES[name].splitlines()[-1]
    kind = "f32" if "extract %" in line else "index" if name in ("tensor.dim", "tensor.rank") else None
    if kind is None:
        kind = "tensor<4x6xf32>" if "insert" in line else "tensor<" + line.rsplit("tensor<", 1)[1]
    if name == "tensor.reshape":
        text = text.replace("%i, %i", "%two, %twelve").replace(
            "{\n  %s", "{\n  %two = index.constant 2\n  %twelve = index.constant 12\n  %s"
        )
    assert_preserves("lower-to-pd", parse(text.replace("TYPE", kind)), inputs=given, reduce=False)


def test_every_operation_on_tensors_has_a_case() -> None:
    assert {op.name for op in TENSORS} == set(TENSOR_LINES)


def test_elements_that_a_region_gives_stay_the_same() -> None:
    program = parse("""func.func @main(%x: tensor<2x3xf32>, %f: f32, %n: index) -> (tensor<4x3xf32>, tensor<4x6xf32>) {
  %0 = tensor.generate {
  ^bb0(%i: index, %j: index):
    %s = arith.muli %i, %n : index
    %t = arith.addi %s, %j : index
    %u = arith.index_cast %t : index to i32
    %e = arith.sitofp %u : i32 to f32
    tensor.yield %e : f32
  } : tensor<4x3xf32>
  %1 = tensor.pad %x low[1, 0] high[1, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %f : f32
  } : tensor<2x3xf32> to tensor<4x6xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x6xf32>
}""")
    given = {"arg0": np.arange(6, dtype=np.float32).reshape(2, 3), "arg1": np.float32(-2), "arg2": np.int64(10)}
    assert_preserves("lower-to-pd", program, inputs=given, reduce=False)
    lowered(program)


# --- structured operations -------------------------------------------------------------------------------------------

STRUCTURED = """func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>, %f: f32, %n: index) -> (RESULTS) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x2xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x2xf32>) outs(%z : tensor<4x2xf32>) -> tensor<4x2xf32>
  %1 = linalg.exp ins(%0 : tensor<4x2xf32>) outs(%e : tensor<4x2xf32>) -> tensor<4x2xf32>
  %t = tensor.empty() : tensor<2x4xf32>
  %2 = linalg.transpose ins(%1 : tensor<4x2xf32>) outs(%t : tensor<2x4xf32>) permutation = [1, 0]
  %w = tensor.empty() : tensor<2x3x4xf32>
  %3 = linalg.broadcast ins(%2 : tensor<2x4xf32>) outs(%w : tensor<2x3x4xf32>) dimensions = [1]
  %r = tensor.splat %f : tensor<2x3xf32>
  %4 = linalg.reduce ins(%3 : tensor<2x3x4xf32>) outs(%r : tensor<2x3xf32>) dimensions = [2]
  (%in: f32, %acc: f32) {
    %m = arith.maximumf %in, %acc : f32
    linalg.yield %m : f32
  }
  %5 = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j)>,
      affine_map<(i, j, k) -> (j, i)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %v : tensor<4x8xf32>, tensor<2xf32>) outs(%t2 : tensor<2x4xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %j = linalg.index 1 : index
    %k = arith.addi %j, %n : index
    %l = arith.index_cast %k : index to i32
    %g = arith.sitofp %l : i32 to f32
    %h = arith.mulf %x, %y : f32
    %p = arith.mulf %h, %g : f32
    %q = arith.addf %o, %p : f32
    linalg.yield %q : f32
  } -> tensor<2x4xf32>
  return %1, %4, %5 : tensor<4x2xf32>, tensor<2x3xf32>, tensor<2x4xf32>
}""".replace("RESULTS", "tensor<4x2xf32>, tensor<2x3xf32>, tensor<2x4xf32>").replace(
    "  %5 = linalg", "  %v = tensor.splat %f : tensor<2xf32>\n  %t2 = tensor.splat %f : tensor<2x4xf32>\n  %5 = linalg"
)  # fmt: skip


def test_structured_operations_stay_the_same() -> None:
    rng = np.random.default_rng(3)
    given = {
        "arg0": rng.standard_normal((4, 8)).astype(np.float32), "arg1": rng.standard_normal((8, 2)).astype(np.float32),
        "arg2": np.float32(0.5), "arg3": np.int64(3),
    }  # fmt: skip
    program = parse(STRUCTURED)
    assert_preserves("lower-to-pd", program, inputs=given, reduce=False)
    text = str(lowered(program))
    for name in ("pd.matmul", "pd.exp", "pd.transpose", "pd.expand", "pd.max", "pd.sum"):
        assert f'"{name}"' in text


def test_products_in_other_orders_are_products() -> None:
    for x, y, a, b, flags in (
        ("(i, k)", "(k, j)", "4x8", "8x2", "transpose_x = false, transpose_y = false"),
        ("(k, i)", "(k, j)", "8x4", "8x2", "transpose_x = true, transpose_y = false"),
        ("(i, k)", "(j, k)", "4x8", "2x8", "transpose_x = false, transpose_y = true"),
    ):
        maps = ", ".join(f"affine_map<(i, j, k) -> {m}>" for m in (x, y, "(i, j)"))
        takes = f"%a: tensor<{a}xf32>, %b: tensor<{b}xf32>, %c: tensor<4x2xf32>"
        program = parse(f"""func.func @main({takes}) -> tensor<4x2xf32> {{
  %0 = linalg.matmul {{indexing_maps = [{maps}]}}
    ins(%a, %b : tensor<{a}xf32>, tensor<{b}xf32>) outs(%c : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}}""")
        assert_preserves("lower-to-pd", program, reduce=False)
        assert flags in str(lowered(program))


# --- control flow, and the chip --------------------------------------------------------------------------------------

LOOPS = """func.func @main(%x: tensor<4x8xf32>, %c: i1, %n: index) -> (tensor<8xf32>, i32) {
  %lower = index.constant 0
  %upper = index.constant 4
  %step = index.constant 1
  %z = arith.constant dense<0.0> : tensor<8xf32>
  %r = scf.for %i = %lower to %upper step %step iter_args(%acc = %z) -> (tensor<8xf32>) {
    %row = tensor.extract_slice %x[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<8xf32>
    %s = scf.if %c -> (tensor<8xf32>) {
      %0 = arith.addf %acc, %row : tensor<8xf32>
      scf.yield %0 : tensor<8xf32>
    } else {
      %0 = arith.maximumf %acc, %row : tensor<8xf32>
      scf.yield %0 : tensor<8xf32>
    }
    scf.yield %s : tensor<8xf32>
  }
  %a = arith.constant 10 : i32
  %b = arith.constant 20 : i32
  %k = scf.index_switch %n -> i32
  case 1 {
    scf.yield %a : i32
  }
  case 3 {
    %d = scf.execute_region -> i32 {
      %e = arith.addi %a, %b : i32
      scf.yield %e : i32
    }
    scf.yield %d : i32
  }
  default {
    scf.yield %b : i32
  }
  return %r, %k : tensor<8xf32>, i32
}"""


@pytest.mark.parametrize("n", [0, 1, 3])
def test_loops_and_switches_stay_the_same(n: int) -> None:
    x = np.random.default_rng(n).standard_normal((4, 8)).astype(np.float32)
    given = {"arg0": x, "arg1": np.bool_(n == 1), "arg2": np.int64(n)}
    assert_preserves("lower-to-pd", parse(LOOPS), inputs=given, reduce=False)
    found = evaluate(lowered(parse(LOOPS)), given)
    assert found["result1"] == {0: 20, 1: 10, 3: 30}[n]


def test_a_grid_of_rounds_stays_the_same() -> None:
    program = parse("""func.func @main(%x: tensor<4x3xf32>, %n: index) -> (f32, f32) {
  %0 = index.constant 0
  %1 = index.constant 1
  %3 = index.constant 3
  %z = arith.constant 1.0 : f32
  %r:2 = scf.parallel (%i, %j) = (%0, %0) to (%n, %3) step (%1, %1) init (%z, %z) -> (f32, f32) {
    %e = tensor.extract %x[%i, %j] : tensor<4x3xf32>
    scf.reduce (%e, %e : f32, f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%a: f32, %b: f32):
      %m = arith.maximumf %a, %b : f32
      scf.reduce.return %m : f32
    }
  }
  return %r#0, %r#1 : f32, f32
}""")
    for n in (0, 1, 4):
        given = {"arg0": np.arange(12, dtype=np.float32).reshape(4, 3), "arg1": np.int64(n)}
        assert_preserves("lower-to-pd", program, inputs=given, reduce=False)
    lowered(program)


CHIP = {
    "elementwise": """func.func @main(%x: tensor<4x16xf32>, %y: tensor<4x16xf32>) -> tensor<4x16xf32> {
  %0 = arith.mulf %x, %y : tensor<4x16xf32>
  %1 = math.tanh %0 : tensor<4x16xf32>
  %2 = arith.negf %1 : tensor<4x16xf32>
  return %2 : tensor<4x16xf32>
}""",
    "product": """
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %bias: tensor<16xf32>) -> tensor<4x16xf32> {
  %e = tensor.empty() : tensor<4x16xf32>
  %c = linalg.broadcast ins(%bias : tensor<16xf32>) outs(%e : tensor<4x16xf32>) dimensions = [0]
  %0 = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%c : tensor<4x16xf32>) -> tensor<4x16xf32>
  %z = arith.constant 0.0 : f32
  %1 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4x16xf32>) outs(%e : tensor<4x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %m = arith.maximumf %x, %z : f32
    linalg.yield %m : f32
  } -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}""",
    "convolution": """func.func @main(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x4x6x6xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : tensor<2xi64>, strides = dense<1> : tensor<2xi64>}
      ins(%x, %w : tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) outs(%f : tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  return %0 : tensor<1x4x6x6xf32>
}""",
    "loop": LOOPS.split("  %a = arith.constant 10")[0].replace(
        ", %n: index) -> (tensor<8xf32>, i32)", ") -> tensor<8xf32>"
    )
    + "  return %r : tensor<8xf32>\n}",
}  # fmt: skip


@pytest.mark.parametrize("name", CHIP)
def test_programs_run_on_the_chip(name: str) -> None:
    program = lowered(parse(CHIP[name]))
    assert check(program).passed


# --- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = math.fma %x, %x, %x : tensor<4xf32>", "math.fma"),
        ("%0 = tensor.cast %x : tensor<4xf32> to tensor<?xf32>", "pd has nothing for tensor.cast"),
        ("%0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (2 * i + j)>, affine_map<(i, j) -> (i, j)>], "
         'iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4xf32>) outs(%y : tensor<1x3xf32>) {\n'
         "^bb0(%a: f32, %b: f32):\nlinalg.yield %a : f32\n} -> tensor<1x3xf32>", "which is not a list of dimensions"),
    ],
)  # fmt: skip
def test_what_cannot_be_lowered_is_named_and_the_program_stays(line: str, message: str) -> None:
    program = parse(
        f"func.func @main(%x: tensor<4xf32>, %y: tensor<1x3xf32>) -> {line.rsplit(' ', 1)[1]} {{\n{line}\n"
        f"return %0 : {line.rsplit(' ', 1)[1]}\n}}"
    )
    before = str(program)
    with pytest.raises(IrError, match=message):
        PassManager.parse("lower-to-pd").run(program)
    assert str(program) == before
