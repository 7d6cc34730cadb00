"""Constant folding: what is evaluated, where the result goes, and what must not be touched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tx8ir.core import (
    Compute,
    Op,
    Operand,
    Program,
    Pure,
    Result,
    SameOperandsAndResultType,
    TensorType,
    Value,
    VTensorType,
    bf16,
    f32,
    i32,
    operand,
    result,
)
from tx8ir.dialects import builtin, pd
from tx8ir.interpreter import EvaluationError, evaluate
from tx8ir.passes import PassError


def read(name: str, *shape: int, element=f32) -> Any:
    return builtin.GetParameterOp(parameter=name, out=VTensorType(shape, element))


W = np.arange(24, dtype=np.float32).reshape(4, 6)


def test_a_chain_becomes_one_variable(build, run, golden, assert_same) -> None:
    def body(x: Value) -> Any:
        w = pd.relu(pd.scale(pd.transpose(read("w", 4, 6), perm=(1, 0)), scale=-1.0, bias=3.5))
        return pd.matmul(x, w)

    program = build(body, VTensorType((2, 6), f32), weights={"w": W})
    before = program.clone()
    report = run(program, "constant-fold")
    assert report.stages[0].statistics == {"folded": 3, "variables": 1}
    np.testing.assert_array_equal(program.weights["w.folded"].numpy(), np.maximum(3.5 - W.T, 0))
    np.testing.assert_array_equal(program.weights["w"].numpy(), W)  # others may read it
    golden(f"// before\n{before}\n\n// constant-fold\n{program}", "transforms/constant-fold.mlir")
    assert_same(before, program)
    assert run(program, "constant-fold").stages[0].statistics == {}


def test_a_small_result_becomes_a_constant_in_the_graph(build, run, names) -> None:
    def body() -> Any:
        return pd.max(read("w", 4, 6), axis=(0,)), pd.add(
            pd.full(shape=(2,), value=1.5), builtin.constant(value=np.float32(2))
        )

    program = build(body, weights={"w": W})
    assert run(program, "constant-fold").stages[0].statistics == {"folded": 2, "constants": 2}
    assert names(program) == ["builtin.constant", "builtin.constant"]
    first, second = (v.defining_op.value.value for v in program.main.body.block.terminator.operands)
    np.testing.assert_array_equal(first, W[-1])
    np.testing.assert_array_equal(second, [3.5, 3.5])
    assert list(program.weights) == ["w"]


def test_results_used_inside_and_outside_of_the_folded_part_are_both_kept(build, run, names) -> None:
    def body(x: Value) -> Any:
        a = pd.exp(read("w", 4, 6))
        return pd.add(x, a), pd.add(x, pd.exp(a))

    program = build(body, VTensorType((4, 6), f32), weights={"w": W})
    assert run(program, "constant-fold").stages[0].statistics == {"folded": 2, "variables": 2}
    assert list(program.weights) == ["w", "w.folded", "w.folded_1"]


def test_every_result_of_an_operation_is_folded(build, run, names) -> None:
    program = build(lambda: pd.split(read("w", 4, 6), sections=(1, 3)).outs, weights={"w": W})
    assert run(program, "constant-fold").stages[0].statistics == {"folded": 1, "constants": 1, "variables": 1}
    assert names(program) == ["builtin.constant", "builtin.get_parameter"]


@pytest.mark.parametrize("how", ["flag", "write", "alias"])
def test_a_mutable_parameter_is_no_constant(build, run, how: str) -> None:
    def body(x: Value) -> Any:
        y = pd.exp(read("w", 4, 6))
        if how == "write":
            builtin.SetParameterOp(x, parameter="w")
        if how == "alias":
            builtin.GetParameterOp(parameter="w", out=TensorType((4, 6), f32))
        return y

    mutable = ["w"] if how == "flag" else []
    program = build(body, VTensorType((4, 6), f32), weights={"w": W}, mutable=mutable)
    assert run(program, "constant-fold").stages[0].statistics == {}


def test_what_grows_beyond_the_cap_is_refused(build, run) -> None:
    def body() -> Any:
        return pd.expand(read("w", 4, 6), shape=(8, 4, 6)), pd.relu(read("w", 4, 6))

    program = build(body, weights={"w": W})
    # 96 bytes are allowed; relu gives as many bytes as it takes, expand eight times as many.
    assert run(program, "constant-fold{max-bytes=95}").stages[0].statistics == {
        "refused": 1,
        "folded": 1,
        "variables": 1,
    }
    assert run(program, "constant-fold{max-bytes=768}").stages[0].statistics == {"folded": 1, "variables": 1}


def test_rounding_is_that_of_the_interpreter(build, run) -> None:
    """One rounding to bf16 per operation, computed in float32."""

    def body() -> Any:
        x = read("w", 64, element=bf16)
        return pd.tanh(pd.multiply(pd.exp(x), x))

    data = np.random.default_rng(0).standard_normal(64).astype(bf16.dtype)
    program = build(body, weights={"w": data})
    expected = evaluate(program, {})
    assert run(program, "constant-fold").stages[0].statistics == {"folded": 3, "variables": 1}
    for name, array in evaluate(program, {}).items():
        assert array.dtype == expected[name].dtype
        assert array.tobytes() == expected[name].tobytes()


def test_an_operation_that_fails_is_left_to_fail_when_it_runs(build, run) -> None:
    def body() -> Any:
        table = pd.reshape(read("w", 4, 6), shape=(6, 4))
        index = builtin.constant(value=np.int32([1, 7]))
        zero = builtin.constant(value=np.int32([0]))
        return pd.gather(table, index), pd.divide(pd.cast(index, dtype=i32), zero)

    program = build(body, weights={"w": W})
    assert run(program, "constant-fold").stages[0].statistics == {
        "refused": 2, "folded": 2, "variables": 1, "constants": 1,
    }  # fmt: skip
    with pytest.raises(EvaluationError, match=r"index\[1\] is 7"):
        evaluate(program, {})


class BrokenOp(Op, Compute, name="test_constant_fold.broken", traits=(Pure, SameOperandsAndResultType)):
    """An operation whose evaluation has a bug."""

    x: Operand = operand()
    out: Result = result()

    def compute(self, x: Any) -> Any:
        raise TypeError("a bug")


def test_a_bug_in_an_operation_is_not_hidden(build, run) -> None:
    program: Program = build(lambda: BrokenOp(read("w", 4, 6)), weights={"w": W})
    with pytest.raises(PassError, match=r"pass 'constant-fold': .*a bug"):
        run(program, "constant-fold")


def test_a_name_that_is_taken_is_not_overwritten(build, run) -> None:
    program = build(lambda: pd.relu(read("w", 4, 6)), weights={"w": W, "w.folded": W[:1]})
    run(program, "constant-fold")
    assert list(program.weights) == ["w", "w.folded", "w.folded_1"]
    np.testing.assert_array_equal(program.weights["w.folded"].numpy(), W[:1])


def test_values_of_unknown_shape_and_tensors_are_left_alone(build, run) -> None:
    def body(x: Value) -> Any:
        return pd.relu(x), pd.exp(builtin.to_tensor(read("w", 4, 6)))

    program = build(body, VTensorType((-1,), f32), weights={"w": W})
    assert run(program, "constant-fold").stages[0].statistics == {}


def test_a_full_is_a_constant_already_and_takes_no_memory(build, run, names) -> None:
    def body(x: Value) -> Any:
        full = pd.full(shape=(1 << 20, 1 << 20), value=1.0)
        return pd.multiply(x, pd.full(shape=(4, 6), value=0.1)), pd.slice(full, axes=(0, 1), starts=(0, 0), ends=(1, 2))

    program = build(body, VTensorType((4, 6), f32))
    assert run(program, "constant-fold").stages[0].statistics == {"folded": 1, "constants": 1}
    assert names(program) == ["pd.full", "pd.multiply", "builtin.constant"]


def test_what_would_stretch_a_full_beyond_the_bound_is_refused(build, run, names) -> None:
    def body(x: Value) -> Any:
        full = pd.full(shape=(1 << 20, 1 << 20), value=1.0)
        return pd.max(full), pd.add(x, pd.max(pd.full(shape=(8, 8), value=0.5)))

    program = build(body, VTensorType((4, 6), f32))
    assert run(program, "constant-fold").stages[0].statistics == {"refused": 1, "folded": 1, "constants": 1}
    assert names(program) == ["pd.full", "pd.max", "builtin.constant", "pd.add"]
