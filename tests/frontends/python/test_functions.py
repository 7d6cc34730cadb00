"""`tx8ir.function`, `tx8ir.jit`, `cond` and `while_loop`: Python functions of arrays, as programs and on the chip."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tx8ir
from tx8ir.core import IrError, VTensorType, bf16, f32, i32
from tx8ir.dialects import pd

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
W = np.arange(20, dtype=np.float32).reshape(4, 5) / 10


@tx8ir.function
def layer(x: Any, params: Any, scale: float = 2.0) -> Any:
    hidden = (x @ params["w"] + params["b"]).relu()
    return {"hidden": hidden, "scaled": [hidden * scale, 1]}


PARAMS = {"w": W, "b": np.ones(5)}


def expected(x: Any) -> Any:
    return np.maximum(x @ W + 1, 0)


def test_a_function_is_a_program() -> None:
    program = layer.program(X, PARAMS)
    assert {name: str(kind) for name, kind in program.inputs.items()} == {
        "x": "!pd.vtensor<3x4xf32>",
        "params.w": "!pd.vtensor<4x5xf32>",
        "params.b": "!pd.vtensor<5xf32>",  # float64 counts as f32
    }
    assert list(program.outputs) == ["hidden", "scaled.0", "scaled.1"]
    assert [op.name for op in program["main"].body.block] == [
        *("pd.matmul", "pd.add", "pd.relu", "pd.full", "pd.multiply", "builtin.constant", "func.return")
    ]
    assert program.main.location.name == "layer"
    assert str(program.main.location).count(__file__) == 1


def test_types_stand_for_arrays() -> None:
    program = layer.program(VTensorType((2, 4), bf16), {"w": VTensorType((4, 5), bf16), "b": VTensorType((5,), bf16)})
    assert str(program.outputs["hidden"]) == "!pd.vtensor<2x5xbf16>"


@pytest.mark.parametrize("call", [layer, tx8ir.jit(layer)])
def test_arrays_give_arrays_nested_as_the_function_nests_them(call: Callable[..., Any]) -> None:
    found = call(X, PARAMS)
    assert list(found) == ["hidden", "scaled"]
    assert isinstance(found["scaled"], list)
    np.testing.assert_allclose(found["hidden"], expected(X), rtol=1e-5)
    np.testing.assert_allclose(found["scaled"][0], 2 * expected(X), rtol=1e-5)
    assert found["scaled"][1] == 1
    np.testing.assert_allclose(call(params=PARAMS, x=X, scale=3.0)["scaled"][0], 3 * expected(X), rtol=1e-5)


def test_functions_call_functions_of_the_same_program() -> None:
    @tx8ir.function
    def twice(x: Any) -> Any:
        return layer(x, PARAMS)["hidden"] + layer(x, PARAMS)["hidden"]

    assert sum(op.name == "pd.matmul" for op in twice.program(X).module.walk()) == 2
    np.testing.assert_allclose(twice(X), 2 * expected(X), rtol=1e-5)


def test_large_arrays_of_the_surroundings_become_weights() -> None:
    weights = np.arange(400, dtype=np.float32).reshape(4, 100)
    program = tx8ir.function(lambda x: x @ weights).program(X)
    assert [v.type for v in program.weights.values()] == [VTensorType((4, 100), f32)]
    np.testing.assert_array_equal(next(iter(program.weights.values())).numpy(), weights)


def test_a_function_is_compiled_once_for_each_kind_of_arguments() -> None:
    call = tx8ir.jit(lambda x, times: x * times)
    with pytest.raises(ValueError, match="has not been called yet, so there is nothing to report"):
        _ = call.report
    for x, times in ((X, 2), (X + 1, 2), (X, 2.0), (X, 3), (X[:2], 2)):
        np.testing.assert_allclose(call(x, times), x * times, rtol=1e-6)
    assert "4 compiled" in repr(call)
    assert call.report.run is not None
    assert call.compile(X, 2) is call.compile(VTensorType((3, 4), f32), 2)


def test_the_format_and_the_target_are_options() -> None:
    exact = X * np.float32(1.0009765625)
    assert np.abs(tx8ir.jit(lambda x: x * 1.0009765625)(X) - exact).max() == 0
    rounded = tx8ir.jit(lambda x: x * 1.0009765625, dtype="bf16")
    assert 0 < np.abs(rounded(X) - exact).max() < 2e-2
    with pytest.raises(TypeError, match="dtype, or options with one, not both"):
        tx8ir.jit(layer, dtype="bf16", options=tx8ir.CompileOptions())


class Pair(NamedTuple):
    first: Any
    second: Any


def test_named_tuples_stay_named() -> None:
    found = tx8ir.function(lambda x: Pair(x + 1, (x,)))(X)
    assert isinstance(found, Pair)
    np.testing.assert_array_equal(found.first, X + 1)
    np.testing.assert_array_equal(found.second[0], X)


@tx8ir.function
def chosen(x: Any) -> Any:
    return tx8ir.cond(x.sum() > 0, lambda v: {"y": v * 2, "n": 1.0}, lambda v: {"y": v - 1, "n": 2.0}, x)


@pytest.mark.parametrize("call", [chosen, tx8ir.jit(chosen)])
@pytest.mark.parametrize("x", [X + 1, X - 1])
def test_cond_is_decided_by_the_numbers(call: Callable[..., Any], x: Any) -> None:
    found = call(x)
    np.testing.assert_allclose(found["y"], x * 2 if x.sum() > 0 else x - 1, rtol=1e-6)
    assert found["n"] == (1 if x.sum() > 0 else 2)


def test_cond_of_a_python_truth_is_decided_now() -> None:
    program = tx8ir.function(lambda x: tx8ir.cond(True, lambda: x + 1, lambda: x)).program(X)
    assert not any(op.name == "scf.if" for op in program.module.walk())


@tx8ir.function
def doubled_until_large(x: Any) -> Any:
    steps, y = tx8ir.while_loop(lambda i, y: y.max() < 100.0, lambda i, y: (i + 1, y * 2.0), (0, x))
    return steps, y


def test_while_loop_runs_as_long_as_the_numbers_say() -> None:
    steps, y = doubled_until_large(X)
    assert steps == 6
    np.testing.assert_allclose(y, X * 64, rtol=1e-6)


def test_the_chip_runs_loops_of_a_known_number_of_rounds() -> None:
    with pytest.raises(IrError, match=r"scf.while .* how many rounds it has is not known"):
        tx8ir.jit(doubled_until_large)(X)
    counted = tx8ir.jit(lambda x: tx8ir.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), (0, x))[1])
    np.testing.assert_allclose(counted(X), X * 8, rtol=1e-6)


def test_while_loop_takes_a_single_variable_or_a_list() -> None:
    one = tx8ir.function(lambda x: tx8ir.while_loop(lambda v: v.sum() < 9.0, lambda v: v + 1.0, x))
    np.testing.assert_array_equal(one(np.zeros(3)), np.full(3, 3.0))
    several = tx8ir.function(lambda x: tx8ir.while_loop(lambda a, b: a.sum() < 9.0, lambda a, b: [b, a + 1.0], [x, x]))
    assert [array.tolist() for array in several(np.zeros(3))] == [[3.0] * 3, [3.0] * 3]


MISTAKES: list[tuple[Callable[[Any], Any], type[Exception], str]] = [
    (
        lambda x: x if x.sum() > 0 else -x,
        TypeError,
        "neither true nor false before the program runs; branch .*tx8ir.cond",
    ),
    (lambda x: None, IrError, "<lambda> gives None; expected tensors, nested in lists or dictionaries"),
    (lambda x: {"a": [x, "b"]}, IrError, "<lambda> gives 'b' at a.1; expected tensors"),
    (lambda x: np.exp(x), TypeError, "does not support ufuncs"),
    (
        lambda x: tx8ir.cond(x > 0, lambda: x, lambda: x),
        IrError,
        r"one element of i1, as x.sum\(\) > 0 gives it, not by a value",
    ),
    (
        lambda x: tx8ir.cond(1, lambda: x, lambda: x),
        IrError,
        "cond decides by a tensor with one element of i1.*not by 1",
    ),
    (
        lambda x: tx8ir.cond(x.sum() > 0, lambda: x, lambda: x[0]),
        IrError,
        r"the branches of cond give \(.*\) and \(.*\)",
    ),
    (lambda x: tx8ir.cond(x.sum() > 0, lambda: [x], lambda: x), IrError, "expected the same from both"),
    (lambda x: tx8ir.cond(x.sum() > 0, lambda: x, lambda: None), IrError, "a branch of cond is None; expected tensors"),
    (
        lambda x: tx8ir.while_loop(lambda v: v, lambda v: v, x),
        IrError,
        "the condition of while_loop decides by a tensor",
    ),
    (
        lambda x: tx8ir.while_loop(lambda v: v.sum() > 0, lambda v: v[0], x),
        IrError,
        "the body of while_loop gives .* expected",
    ),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), MISTAKES)
def test_a_mistake_is_one_sentence(wrong: Callable[[Any], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        tx8ir.function(wrong).program(X)
    assert "\n" not in str(caught.value)


def test_what_is_no_function_or_no_argument_is_said() -> None:
    with pytest.raises(TypeError, match="takes a Python function, not 3"):
        tx8ir.function(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"an argument is an array, or else hashable, and not {1}"):
        tx8ir.jit(lambda x, y: x)(X, {1})
    with pytest.raises(IrError, match="no place for them: write it inside"):
        tx8ir.cond(pd.full(shape=(), value=1.0, dtype=tx8ir.core.i1), lambda: 1, lambda: 2)


def test_integers_are_integers() -> None:
    found = tx8ir.jit(lambda table, rows: pd.gather(table, rows))(X, np.array([2, 0], np.int32))
    np.testing.assert_array_equal(found, X[[2, 0]])
    assert tx8ir.function(lambda n: n + 1)(np.array([1, 2], np.int32)).dtype == np.int32
    assert (
        str(tx8ir.function(lambda n: n * n).program(VTensorType((2,), i32)).outputs["result"]) == "!pd.vtensor<2xi32>"
    )
