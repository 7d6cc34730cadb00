"""One float format and 32-bit integers for a whole program."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tx8ir.core import (
    Program,
    TensorType,
    UnsupportedError,
    Value,
    VTensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i32,
    i64,
    parse,
    ui64,
)
from tx8ir.dialects import builtin, pd
from tx8ir.passes import PassError
from tx8ir.testing import assert_preserves
from tx8ir.transforms import ConvertDtype


def read(name: str, kind: Any) -> Any:
    return builtin.GetParameterOp(parameter=name, out=kind)


W = np.float32([[1.0009765625, -3.0, 0.1], [65504.0, 1e-3, 7.0]])


def _body(x: Value, index: Value) -> list[Any]:
    rows = pd.embedding(index, read("table", VTensorType((4, 3), f32)))
    y = pd.add(pd.matmul(x, read("w", VTensorType((2, 3), f32))), rows)
    return [pd.cast(pd.multiply(y, builtin.constant(value=np.float32([0.5]))), dtype=f64), pd.sum(index)]


def _program(build) -> Program:
    table = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
    return build(_body, VTensorType((5, 2), f32), VTensorType((5,), i64), weights={"w": W, "table": table})


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f32"])
def test_every_float_gets_the_format_and_every_long_integer_32_bits(build, run, golden, dtype: str) -> None:
    program = _program(build)
    before = program.clone()
    report = run(program, f"convert-dtype{{dtype={dtype}}}")
    kinds = {v.type.element for op in program.main.walk() for v in (*op.operands, *op.results)}
    assert {str(k) for k in kinds} == {dtype, "i32"}
    assert {str(k.element) for k in program.inputs.values()} == {dtype, "i32"}
    assert report.stages[0].statistics.get("parameters", 0) == (2 if dtype != "f32" else 0)
    if dtype == "bf16":
        golden(f"// before\n{before}\n\n// convert-dtype{{dtype=bf16}}\n{program}", "transforms/convert-dtype.mlir")
    assert run(program, f"convert-dtype{{dtype={dtype}}}").stages[0].statistics == {}


@pytest.mark.parametrize(("dtype", "tolerance"), [("bf16", 2e-2), ("f16", 2e-3), ("f32", 0.0)])
def test_the_program_computes_the_same_up_to_the_precision(
    build, run, assert_same, dtype: str, tolerance: float
) -> None:
    program = build(
        lambda x: pd.softmax(pd.matmul(x, pd.tanh(read("w", VTensorType((2, 3), f32))))),
        VTensorType((5, 2), f32),
        weights={"w": W},
    )
    before = program.clone()
    run(program, f"convert-dtype{{dtype={dtype}}}")
    assert_same(before, program, tolerance=tolerance)


def test_parameters_are_rounded_once_to_nearest_even_and_the_originals_stay(build, run) -> None:
    program = build(
        lambda: [read("w", VTensorType((2, 3), f32)), read("w", VTensorType((2, 3), f32))], weights={"w": W}
    )
    assert run(program, "convert-dtype{dtype=bf16}").stages[0].statistics["parameters"] == 1  # once, for both reads
    assert list(program.weights) == ["w", "w.bf16"]
    np.testing.assert_array_equal(program.weights["w"].numpy(), W)
    np.testing.assert_array_equal(program.weights["w.bf16"].numpy(), W.astype(ml_dtypes.bfloat16))


def test_a_finite_number_stays_finite_and_infinity_infinite(build, run) -> None:
    mask = np.float32([[0.0, np.finfo(np.float32).min, np.finfo(np.float32).max, -np.inf, np.nan, 1e5]])
    for dtype, largest, cut in (("bf16", 3.3895313892515355e38, 2), ("f16", 65504.0, 3)):
        program = build(
            lambda: [read("m", VTensorType((1, 6), f32)), builtin.constant(value=mask)], weights={"m": mask}
        )
        assert run(program, f"convert-dtype{{dtype={dtype}}}").stages[0].statistics["saturated"] == 2 * cut
        constant = program.main.body.block.terminator.operands[1].defining_op.value.value
        for array in (program.weights[f"m.{dtype}"].numpy(), constant):
            found = array.astype(np.float64)[0]
            np.testing.assert_array_equal(found[:5], [0.0, -largest, largest, -np.inf, np.nan])
            assert found[5] == (largest if dtype == "f16" else 99840.0)


def test_without_a_dtype_only_integers_change(build, run) -> None:
    program = build(
        lambda x, h, n: [x, h, pd.cast(n, dtype=ui64), pd.sum(n), pd.sum(pd.isnan(x))],
        VTensorType((2,), f32), VTensorType((2,), bf16), VTensorType((2,), i64),
    )  # fmt: skip
    run(program, "convert-dtype")
    assert [str(t) for t in program.outputs.values()] == [
        "!pd.vtensor<2xf32>", "!pd.vtensor<2xbf16>", "!pd.vtensor<2xui32>", "!pd.vtensor<i32>", "!pd.vtensor<i32>",
    ]  # fmt: skip


@pytest.mark.parametrize("where", ["constant", "parameter"])
def test_an_integer_that_does_not_fit_is_an_error_that_shows_it(build, run, where: str) -> None:
    data = np.array([[1, -(2**31)], [2**31 - 1, 2**31]])

    def body() -> Any:
        return builtin.constant(value=data) if where == "constant" else read("ids", VTensorType((2, 2), i64))

    what = "the constant" if where == "constant" else "parameter 'ids'"
    message = rf"{what} holds 2147483648 at \[1, 1\], which does not fit in i32 \(-2147483648 to 2147483647\)"
    with pytest.raises(PassError, match=message) as caught:
        run(build(body, weights={"ids": data}), "convert-dtype")
    assert "test_convert_dtype.py" in str(caught.value)
    program = build(lambda: builtin.constant(value=data[0]))
    run(program, "convert-dtype")
    np.testing.assert_array_equal(program.main.body.block.first_op.value.value, data[0])


def test_a_mutable_parameter_keeps_its_format_behind_casts(build, run, names) -> None:
    kind = VTensorType((2,), f32)

    def body(x: Value) -> Any:
        y = pd.add(read("state", kind), x)
        builtin.SetParameterOp(y, parameter="state")
        return y

    program = build(body, kind, weights={"state": np.float32([1, 2])})
    run(program, "convert-dtype{dtype=bf16}")
    assert names(program) == ["builtin.get_parameter", "pd.cast", "pd.add", "pd.cast", "builtin.set_parameter"]
    assert program.weights["state"].type is kind
    assert list(program.weights) == ["state"]
    assert run(program, "convert-dtype{dtype=bf16}").stages[0].statistics == {}


def test_an_alias_of_a_mutable_parameter_cannot_change_its_format(build, run) -> None:
    program = build(lambda: read("w", TensorType((2, 3), f32)), weights={"w": W})
    with pytest.raises(PassError, match=r"mutable parameter 'w' is read as !pd.tensor<2x3xf32>, an alias"):
        run(program, "convert-dtype{dtype=bf16}")


def test_a_parameter_that_is_not_there_is_an_error(build, run) -> None:
    with pytest.raises(PassError, match="the parameter 'w' is not in the weight store"):
        run(build(lambda: read("w", VTensorType((2, 3), f32))), "convert-dtype{dtype=bf16}")


def test_masks_and_narrow_integers_stay(build, run) -> None:
    program = build(lambda c, n: [c, n], VTensorType((2,), i1), VTensorType((2,), i32))
    before = str(program)
    assert run(program, "convert-dtype{dtype=f16}").stages[0].statistics == {}
    assert str(program) == before


def test_attributes_that_hold_types_follow(build, run) -> None:
    program = build(
        lambda n: [pd.full(shape=(2,), value=1.0, dtype=f64), pd.cast(n, dtype=f16), pd.sum(n, dtype=i64)],
        VTensorType((2,), i64),
    )
    run(program, "convert-dtype{dtype=bf16}")
    full, cast, total, _ = program.main.body.block
    assert (full.dtype, cast.dtype, total.dtype) == (bf16, bf16, i32)


def test_functions_that_are_called_change_with_their_calls(run) -> None:
    program = parse("""module {
      func.func @main(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
        %y = "func.call"(%x) {callee = @helper} : (!pd.vtensor<2xf32>) -> !pd.vtensor<2xf32>
        return %y : !pd.vtensor<2xf32>
      }
      func.func @helper(%x: !pd.vtensor<2xf32>) -> !pd.vtensor<2xf32> {
        return %x : !pd.vtensor<2xf32>
      }
    }""")
    run(program, "convert-dtype{dtype=f16}")
    assert str(program).count("!pd.vtensor<2xf16>") == 8
    assert "f32" not in str(program)


def test_a_program_that_is_refused_stays_as_it_is(build) -> None:
    """Also what was folded before: 2 * (2**31 - 1) does not fit in i32."""

    def body(x: Value) -> list[Any]:
        numbers = builtin.constant(value=np.int64([2**31 - 1]))
        return [pd.add(x, pd.add(numbers, numbers))]

    program = build(body, VTensorType((1,), i64))
    before, module = str(program), program.module
    with pytest.raises(UnsupportedError, match="4294967294"):
        ConvertDtype().run(program)
    assert str(program) == before
    assert program.module is module


def test_a_program_of_a_number_that_does_not_fit_stays_as_it_is(build) -> None:
    program = build(lambda x: [pd.add(x, builtin.constant(value=np.int64([2**40])))], VTensorType((1,), i64))
    before = str(program)
    with pytest.raises(UnsupportedError):
        ConvertDtype().run(program)
    assert str(program) == before


def test_a_number_of_full_that_does_not_fit_is_refused(build) -> None:
    program = build(lambda x: [pd.add(x, pd.full(shape=(1,), value=2.0**40, dtype=i64))], VTensorType((1,), i64))
    with pytest.raises(UnsupportedError, match="does not fit in i32"):
        ConvertDtype().run(program)


def test_floats_are_not_computed_in_other_formats_ahead(build) -> None:
    """A loss of constants has 64-bit labels; only such labels as 32 bits do not hold let it be folded."""

    def body() -> list[Any]:
        logits = builtin.constant(value=np.float32([[0, 1, 2]]))
        softmax, _ = pd.cross_entropy_with_softmax(logits, builtin.constant(value=np.int64([[2]]))).results
        return [softmax, pd.cast(builtin.constant(value=np.int64([3, 2**40])), dtype=f32)]

    program = build(body)
    ConvertDtype().run(program)
    names = [op.name for op in program.main.walk()]
    assert "pd.cross_entropy_with_softmax" in names
    assert "pd.cast" not in names
    assert assert_preserves("convert-dtype", build(body), inputs={}).changed
