"""Matrix products of whole blocks: what is padded, by how much, what is cut out, and that no sum changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from support.examples import with_examples
from tx8ir.core import DYNAMIC, Builder, Program, TensorType, Value, VTensorType, bf16, f32, i8, i32, parse, ui4
from tx8ir.dialects import pd
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassError, PassManager
from tx8ir.testing import NumericGuarantee, assert_preserves, check
from tx8ir.testing.programs import EVERYTHING, Writer, ranked, tensor_programs

PASS = "pad-matmul"
SMALL = f"{PASS}{{m=4,n=4,k=4,max-waste=0.9}}"


def f(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


def product(program: Program) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shapes of the operands of the only product."""
    (op,) = (op for op in program.main.walk() if isinstance(op, pd.MatmulOp))
    return ranked(op.x).shape, ranked(op.y).shape


# Each: operand shapes, flags; shapes of the padded operands, the operations left.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, bool], Any, list[str]]] = [
    ((3, 5), (5, 6), {}, ((4, 8), (8, 8)), ["pad", "pad", "matmul", "slice"]),
    ((5, 3), (5, 6), {"transpose_x": True}, ((8, 4), (8, 8)), ["pad", "pad", "matmul", "slice"]),
    ((3, 5), (6, 5), {"transpose_y": True}, ((4, 8), (8, 8)), ["pad", "pad", "matmul", "slice"]),
    ((4, 5), (5, 8), {}, ((4, 8), (8, 8)), ["pad", "pad", "matmul"]),
    ((3, 4), (4, 8), {}, ((4, 4), (4, 8)), ["pad", "matmul", "slice"]),
    ((4, 4), (4, 6), {}, ((4, 4), (4, 8)), ["pad", "matmul", "slice"]),
    ((2, 3, 5), (5, 4), {}, ((2, 4, 8), (8, 4)), ["pad", "pad", "matmul", "slice"]),
    ((2, 1, 3, 4), (3, 4, 5), {}, ((2, 1, 4, 4), (3, 4, 8)), ["pad", "pad", "matmul", "slice"]),
    ((5,), (5, 6), {}, ((8,), (8, 8)), ["pad", "pad", "matmul", "slice"]),
    ((3, 5), (5,), {}, ((4, 8), (8,)), ["pad", "pad", "matmul", "slice"]),
    ((5,), (5,), {}, ((8,), (8,)), ["pad", "pad", "matmul"]),
]


def inputs_of(program: Program, seed: int = 0) -> dict[str, Any]:
    """Small whole numbers, whose products and sums are exact, with infinities and NaN among them."""
    rng = np.random.default_rng(seed)
    drawn: dict[str, Any] = {}
    for name, kind in program.inputs.items():
        array = rng.integers(-3, 4, kind.shape).astype(np.float64)
        if kind.element.is_float:
            odd = rng.choice([np.inf, -np.inf, np.nan, -0.0], kind.shape)
            array = np.where(rng.random(kind.shape) < 0.15, odd, array)
        drawn[name] = array.astype(kind.element.dtype)
    return drawn


@pytest.mark.parametrize("element", [f32, bf16, i32], ids=str)
@pytest.mark.parametrize(("x", "y", "flags", "shapes", "left"), CASES)
def test_products_of_whole_blocks_keep_every_sum(build, run, names, x, y, flags, shapes, left, element) -> None:
    """Sums of whole numbers are exact in any order: NaN, infinities and numbers are the same."""
    kinds = (VTensorType(x, element), VTensorType(y, element))
    program: Program = build(lambda x, y: pd.matmul(x, y, **flags), *kinds)
    before = program.clone()
    assert run(program, SMALL).stages[0].statistics == {"padded_matmul": 1}
    assert product(program) == shapes
    assert names(program) == [f"pd.{name}" for name in left]
    for seed in range(5):
        result = check(before, SMALL, inputs=inputs_of(before, seed), guarantee=NumericGuarantee.VALUES)
        assert result.passed, str(result)
    text = str(program)
    assert run(program, SMALL).stages[0].statistics == {}
    assert str(program) == text


def test_an_infinity_meets_no_padding(build, run) -> None:
    """Each row of x but the first, and each column of y but the first, is finite."""
    program: Program = build(lambda x, y: pd.matmul(x, y), f(3, 5), f(5, 6))
    run(program, SMALL)
    x, y = np.ones((3, 5), np.float32), np.ones((5, 6), np.float32)
    x[0, 0], y[0, 0] = np.inf, -np.inf
    (out,) = evaluate(program, {"arg0": x, "arg1": y}).values()
    assert np.isposinf(out[0, 1:]).all()
    assert np.isneginf(out[:, 0]).all()
    assert (out[1:, 1:] == 5).all()


# Blocks by default: 8 for M, the channel block for N and K. Each: the element type, (M, K, N), and what they become.
DEFAULTS: list[tuple[Any, tuple[int, int, int], tuple[int, int, int]]] = [
    (f32, (13, 100, 50), (16, 128, 64)),
    (bf16, (13, 100, 50), (16, 128, 64)),
    (i8, (13, 100, 50), (16, 128, 50)),  # blocks of 128: more than a quarter of 128 would be padding
    (f32, (5, 40, 48), (5, 40, 64)),
    (f32, (6, 49, 47), (8, 64, 47)),
    (f32, (8, 64, 128), (8, 64, 128)),
    (ui4, (13, 100, 50), (16, 100, 50)),  # a packed format has no channel block
]


@pytest.mark.parametrize(("element", "extents", "wanted"), DEFAULTS)
def test_an_extent_is_padded_when_that_wastes_little(build, run, element, extents, wanted) -> None:
    m, k, n = extents
    program: Program = build(lambda x, y: pd.matmul(x, y), VTensorType((m, k), element), VTensorType((k, n), element))
    run(program, PASS)
    assert product(program) == (wanted[:2], wanted[1:])


@pytest.mark.parametrize(
    ("x", "y"),
    [(f(4, 8), f(8, 4)), (TensorType((3, 5), f32), f(5, 6)), (f(DYNAMIC, 5), f(5, 6)), (f(0, 5), f(5, 6))],
    ids=["whole blocks", "a tensor", "a dynamic extent", "no elements"],
)
def test_what_stays(build, run, x, y) -> None:
    program: Program = build(lambda x, y: pd.matmul(x, y), x, y)
    text = str(program)
    assert run(program, SMALL).stages[0].statistics == {}
    assert str(program) == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("m=0", r"'m' must be >= 1: 0"),
        ("k=-64", r"'k' must be >= 1: -64"),
        ("max-waste=1.0", r"'max_waste' must be < 1: 1.0"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        PassManager.parse(f"{PASS}{{{options}}}")


TEXT = """
module {
  func.func @main(%x: !pd.vtensor<2x12x60xf32>, %w: !pd.vtensor<60x10xf32>) -> !pd.vtensor<2x12x10xf32> {
    %0 = "pd.matmul"(%x, %w) {transpose_x = false, transpose_y = false} : (!pd.vtensor<2x12x60xf32>, !pd.vtensor<60x10xf32>) -> !pd.vtensor<2x12x10xf32>
    return %0 : !pd.vtensor<2x12x10xf32>
  }
}
"""  # noqa: E501  (as it is printed)


def test_the_text_before_and_after(run, golden) -> None:
    program = parse(TEXT)
    before = str(program)
    assert run(program, PASS).stages[0].statistics == {"padded_matmul": 1}
    golden(f"// before\n{before}\n\n// {PASS}\n{program}", "transforms/pad-matmul.mlir")


@pytest.mark.parametrize("flags", [{}, {"transpose_x": True, "transpose_y": True}])
def test_the_chip_agrees(build, run, flags: dict[str, bool]) -> None:
    shapes = ((60, 13), (50, 60)) if flags else ((13, 60), (60, 50))
    program: Program = build(lambda x, y: pd.matmul(x, y, **flags), *(f(*shape) for shape in shapes))
    run(program, PASS)
    assert product(program) != shapes
    assert check(program).passed


def matmul(writer: Writer) -> Sequence[Value]:
    """A product of a value with itself, or of two."""
    x = writer.value(lambda t: t.element in (f32, bf16, i32) and t.rank >= 1 and isinstance(t, VTensorType))
    if x is None:
        return ()
    kind = ranked(x)
    y = writer.value(lambda t: t.element is kind.element and t.rank == 2 and t.shape[0] == kind.shape[-1])
    with Builder.at_end(writer.block):
        if y is not None:
            return pd.matmul(x, y).results
        if kind.rank == 1:
            return pd.matmul(x, x).results
        flag = writer.one_of([False, True])
        return pd.matmul(x, x, transpose_x=flag, transpose_y=not flag).results


INPUTS = [VTensorType((2, 3), f32), VTensorType((3, 2), f32), VTensorType((2, 1, 3), bf16), VTensorType((5, 2), i32)]
INPUTS += [TensorType((3, 3), f32)]


@with_examples()
def test_generated_programs_keep_their_values(examples: int) -> None:
    programs = tensor_programs(EVERYTHING, steps=[matmul], inputs=INPUTS)
    assert_preserves(SMALL, programs=programs, examples=examples, guarantee=NumericGuarantee.ROUNDING, changed=2 / 3)
