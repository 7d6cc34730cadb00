"""`lower-to-tx8be`: which backend ops a tensor program becomes, that they mean the same, and what cannot be lowered."""

# The table has one case per line.
# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tx8ir
from tx8ir.backend.graph import CompileError
from tx8ir.core import Program, TensorType, VTensorType, at_location, bf16, f32, i1, i4, i32, i64, ui8
from tx8ir.core.location import FileLocation
from tx8ir.dialects import builtin, pd, tx8be
from tx8ir.interpreter import evaluate
from tx8ir.passes import PassError

Fixture = Callable[..., Any]
RNG = np.random.default_rng(3)


def t(*shape: int, element: Any = f32) -> VTensorType:
    return VTensorType(shape, element)


def w(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def const(*numbers: float, shape: tuple[int, ...] | None = None) -> Any:
    array = np.array(numbers, np.float32)
    return builtin.constant(value=array.reshape(shape if shape is not None else array.shape)).out


@attrs.frozen
class Case:
    """A tensor program and the backend ops it is expected to become."""

    inputs: dict[str, VTensorType]
    build: Callable[..., Any]
    ops: list[str]
    weights: dict[str, np.ndarray] = attrs.field(factory=dict)
    tolerance: float = 1e-12


X, V4, IMAGE = t(2, 3, 4), t(4), t(2, 6, 8, 4)
NHWC = {"data_format": "NHWC", "filter_format": "HWOI"}
CASES: dict[str, Case] = {
    # arithmetic
    "vector with vector": Case({"x": X, "y": X}, lambda x, y, p: pd.add(x, y), ["Add"]),
    "scalar on the right": Case({"x": X}, lambda x, p: pd.divide(x, const(3.0, shape=())), ["Div"]),
    "scalar on the left of a commutative op": Case({"x": X}, lambda x, p: pd.multiply(const(3.0, shape=(1, 1)), x), ["Mul"]),
    "scalar minus vector": Case({"x": X}, lambda x, p: pd.subtract(const(3.0, shape=()), x), ["Mul", "Add"]),
    "scalar over vector": Case({"x": X}, lambda x, p: pd.divide(const(3.0, shape=()), x), ["Div"]),
    "scalar below vector": Case({"x": X}, lambda x, p: pd.where(pd.less_than(const(0.5, shape=()), x), x, const(0.0, shape=())), ["Gt", "Select"]),
    "row on the right": Case({"x": X}, lambda x, p: pd.subtract(x, p("b")), ["Sub"], {"b": w(4)}),
    "row with leading ones": Case({"x": X}, lambda x, p: pd.add(p("b"), x), ["Add"], {"b": w(1, 1, 4)}),
    "row on the left of sub": Case({"x": X}, lambda x, p: pd.subtract(p("b"), x), ["Mul", "Add"], {"b": w(4)}),
    "computed row": Case({"x": X, "y": t(1, 4)}, lambda x, y, p: pd.multiply(x, y), ["Reshape", "Mul"]),
    "column of a variable": Case({"x": X, "y": t(3, 1)}, lambda x, y, p: pd.multiply(x, y), ["Broadcast", "Mul"]),
    "column of a constant": Case({"x": X}, lambda x, p: pd.multiply(x, p("c")), ["Mul"], {"c": w(3, 1)}),
    "both sides broadcast": Case({"x": t(3, 1), "y": t(1, 4)}, lambda x, y, p: pd.maximum(x, y), ["Broadcast", "Reshape", "Max"]),
    "full": Case({"x": X}, lambda x, p: pd.add(x, pd.full(shape=(2, 3, 4), value=2.0)), ["Add"]),
    "pow 3": Case({"x": X}, lambda x, p: pd.pow(x, y=3.0), ["Square", "Mul"]),
    "pow 6 by a constant": Case({"x": X}, lambda x, p: pd.elementwise_pow(x, const(6.0, shape=())), ["Square", "Square", "Mul"]),
    "pow 3 by a full tensor": Case({"x": X}, lambda x, p: pd.elementwise_pow(x, pd.full(shape=(2, 3, 4), value=3.0)), ["Square", "Mul"]),
    "pow -1 by a variable of equal numbers": Case({"x": X}, lambda x, p: pd.elementwise_pow(x, p("n")), ["Recip"], {"n": np.full((3, 1), -1, np.float32)}),
    "pow by equal numbers that widen": Case({"x": t(3, 1)}, lambda x, p: pd.elementwise_pow(x, const(2.0, 2.0, 2.0, 2.0)), ["Broadcast", "Square"]),
    "pow -2": Case({"x": X}, lambda x, p: pd.pow(x, y=-2.0), ["Square", "Recip"]),
    "pow 0.5": Case({"x": X}, lambda x, p: pd.pow(pd.abs(x), y=0.5), ["Abs", "Sqrt"]),
    "pow 0": Case({"x": X}, lambda x, p: pd.pow(x, y=0.0), ["Ne", "Mul", "Add"]),
    "scale after": Case({"x": X}, lambda x, p: pd.scale(x, scale=2.0, bias=1.0), ["Mul", "Add"]),
    "scale before": Case({"x": X}, lambda x, p: pd.scale(x, scale=2.0, bias=1.0, bias_after_scale=False), ["Add", "Mul"]),
    "scale by one": Case({"x": X}, lambda x, p: pd.scale(x, bias=1.0), ["Add"]),
    "gelu": Case({"x": X}, lambda x, p: pd.gelu(x, approximate=True), ["Square", "Mul", "Mul", "Add", "Mul", "Tanh", "Mul", "Add", "Mul"]),
    "softplus": Case({"x": X}, lambda x, p: pd.softplus(x, beta=2.0), ["Mul", "Softplus", "Mul"]),
    # masks
    "isnan": Case({"x": X}, lambda x, p: pd.where(pd.isnan(x), const(0.0, shape=()), x), ["Ne", "Select"]),
    "and, or, not": Case({"x": X, "y": X}, lambda x, y, p: pd.where(pd.logical_or(pd.logical_and(pd.greater_than(x, y), pd.less_equal(x, y)), pd.logical_not(pd.equal(x, y))), x, y), ["Gt", "Le", "Min", "Eq", "Eq", "Max", "Select"]),
    "mask broadcast": Case({"x": X, "y": t(1, 4)}, lambda x, y, p: pd.where(pd.greater_than(y, const(0.0, shape=())), x, const(1.0, shape=())), ["Gt", "Broadcast", "Select"]),
    "mask as number": Case({"x": X}, lambda x, p: pd.cast(pd.greater_equal(x, const(0.0, shape=())), dtype=f32), ["Ge"]),
    "number as mask": Case({"x": X}, lambda x, p: pd.where(pd.cast(x, dtype=i1), x, const(1.0, shape=())), ["Ne", "Select"]),
    "constant mask": Case({"x": X}, lambda x, p: pd.where(builtin.constant(value=np.tri(3, 4, dtype=bool)).out, x, const(-1e9, shape=())), ["Select"]),
    # neural engine
    "matrices": Case({"x": t(5, 4), "y": t(4, 3)}, lambda x, y, p: pd.matmul(x, y), ["Gemm"]),
    "transposed": Case({"x": t(4, 5), "y": t(3, 4)}, lambda x, y, p: pd.matmul(x, y, transpose_x=True, transpose_y=True), ["Gemm"]),
    "batch with a weight": Case({"x": t(2, 5, 4)}, lambda x, p: pd.matmul(x, p("w")), ["Gemm"], {"w": w(4, 3)}),
    "rank 4": Case({"x": t(2, 3, 5, 4), "y": t(2, 3, 4, 6)}, lambda x, y, p: pd.matmul(x, y), ["Reshape", "Reshape", "Gemm", "Reshape"]),
    "partly broadcast batches": Case({"x": t(2, 3, 5, 4), "y": t(3, 4, 6)}, lambda x, y, p: pd.matmul(x, y), ["Reshape", "Broadcast", "Reshape", "Gemm", "Reshape"]),
    "partly broadcast constant": Case({"x": t(2, 3, 5, 4)}, lambda x, p: pd.matmul(x, p("w")), ["Reshape", "Gemm", "Reshape"], {"w": w(3, 4, 6)}),
    "vector times matrix": Case({"x": t(4), "y": t(4, 3)}, lambda x, y, p: pd.matmul(x, y), ["Reshape", "Gemm", "Reshape"]),
    "vector times vector": Case({"x": t(4), "y": t(4)}, lambda x, y, p: pd.matmul(x, y), ["Reshape", "Reshape", "Gemm", "Reshape"]),
    "linear with relu": Case({"x": t(5, 4)}, lambda x, p: pd.relu(pd.add(pd.matmul(x, p("w")), p("b"))), ["Gemm"], {"w": w(4, 3), "b": w(3)}),
    "linear of rank 4": Case({"x": t(2, 2, 5, 4)}, lambda x, p: pd.add(p("b"), pd.matmul(x, p("w"))), ["Reshape", "Gemm", "Reshape"], {"w": w(4, 3), "b": w(1, 3)}),
    "bias after relu stays": Case({"x": t(5, 4)}, lambda x, p: pd.add(pd.relu(pd.matmul(x, p("w"))), p("b")), ["Gemm", "Add"], {"w": w(4, 3), "b": w(3)}),
    "product used twice": Case({"x": t(5, 4)}, lambda x, p: (lambda m: (pd.add(m, p("b")), m))(pd.matmul(x, p("w")).out), ["Gemm", "Add"], {"w": w(4, 3), "b": w(3)}),
    "variable bias": Case({"x": t(5, 4), "b": t(3)}, lambda x, b, p: pd.add(pd.matmul(x, p("w")), b), ["Gemm", "Add"], {"w": w(4, 3)}),
    "conv": Case({"x": IMAGE}, lambda x, p: pd.relu(pd.conv2d(x, p("w"), bias=p("b"), strides=(2, 1), paddings=(1, 0, 2, 1), dilations=(1, 2), **NHWC)), ["Conv"], {"w": w(3, 2, 5, 4), "b": w(5)}),
    "conv with SAME padding": Case({"x": IMAGE}, lambda x, p: pd.add(pd.conv2d(x, p("w"), strides=(2, 2), padding_algorithm="SAME", **NHWC), p("b")), ["Conv"], {"w": w(3, 3, 5, 4), "b": w(1, 1, 1, 5)}),
    "depthwise": Case({"x": IMAGE}, lambda x, p: pd.depthwise_conv2d(x, p("w"), groups=4, **NHWC), ["Conv"], {"w": w(3, 3, 4, 1)}),
    "depthwise, two outputs each": Case({"x": IMAGE}, lambda x, p: pd.depthwise_conv2d(x, p("w"), bias=p("b"), groups=4, **NHWC), ["Conv", "Reshape", "Conv", "Reshape", "Concatenate", "Reshape"], {"w": w(3, 3, 8, 1), "b": w(8)}),
    "grouped conv": Case({"x": IMAGE}, lambda x, p: pd.conv2d(x, p("w"), bias=p("b"), groups=2, **NHWC), ["Slice", "Conv", "Slice", "Conv", "Concatenate"], {"w": w(3, 3, 6, 2), "b": w(6)}),
    "batch norm": Case({"x": IMAGE}, lambda x, p: pd.batch_norm(x, p("m"), p("v"), scale=p("s"), data_format="NHWC"), ["Mul", "Add"], {"m": w(4), "v": np.abs(w(4)), "s": w(4)}, 3e-7),
    # (3e-7: the folded factors are rounded to fp32)
    # reductions
    "mean of an image": Case({"x": IMAGE}, lambda x, p: pd.mean(x, axis=(1, 2)), ["Reduce", "Reshape"]),
    "last axis kept": Case({"x": X}, lambda x, p: pd.sum(x, axis=(-1,), keepdim=True), ["Reduce"]),
    "leading axes": Case({"x": X}, lambda x, p: pd.max(x, axis=(0, 1)), ["Reshape", "Reduce", "Reshape"]),
    "trailing axes": Case({"x": X}, lambda x, p: pd.min(x, axis=(1, 2)), ["Reshape", "Reduce", "Reshape"]),
    "all axes": Case({"x": IMAGE}, lambda x, p: pd.mean(x), ["Reshape", "Reduce", "Reshape"]),
    "outer axes": Case({"x": IMAGE}, lambda x, p: pd.sum(x, axis=(0, 2)), ["Transpose", "Reshape", "Reduce", "Reshape"]),
    "max pool": Case({"x": IMAGE}, lambda x, p: pd.pool2d(x, kernel_size=(3, 3), strides=(2, 2), paddings=(1, 1), pooling_type="max", data_format="NHWC"), ["Pool"]),
    "max pool, ceil": Case({"x": IMAGE}, lambda x, p: pd.pool2d(x, kernel_size=(3, 3), strides=(2, 2), ceil_mode=True, pooling_type="max", data_format="NHWC"), ["Pool"]),
    "average of image cells": Case({"x": IMAGE}, lambda x, p: pd.pool2d(x, kernel_size=(3, 3), strides=(2, 2), paddings=(1, 1), pooling_type="avg", data_format="NHWC"), ["Pool", "Mul"]),
    "average of all cells": Case({"x": IMAGE}, lambda x, p: pd.pool2d(x, kernel_size=(3, 3), strides=(2, 2), paddings=(1, 1), exclusive=False, pooling_type="avg", data_format="NHWC"), ["Pool"]),
    "average of all cells, ceil": Case({"x": IMAGE}, lambda x, p: pd.pool2d(x, kernel_size=(3, 3), strides=(2, 2), paddings=(1, 1), exclusive=False, ceil_mode=True, pooling_type="avg", data_format="NHWC"), ["Pool", "Mul"]),
    "global pool": Case({"x": IMAGE}, lambda x, p: pd.pool2d(x, kernel_size=(1, 1), global_pooling=True, pooling_type="avg", data_format="NHWC"), ["Reduce"]),
    "adaptive pool": Case({"x": IMAGE}, lambda x, p: pd.pool2d(x, kernel_size=(2, 4), adaptive=True, pooling_type="max", data_format="NHWC"), ["Pool"]),
    "softmax": Case({"x": X}, lambda x, p: pd.softmax(x), ["Softmax"]),
    "softmax of the first axis": Case({"x": X}, lambda x, p: pd.softmax(x, axis=0), ["Transpose", "Softmax", "Transpose"]),
    "layer norm": Case({"x": X}, lambda x, p: pd.layer_norm(x, scale=p("s"), bias=p("b"), begin_norm_axis=2), ["LayerNorm"], {"s": w(4), "b": w(4)}),
    "layer norm of two axes": Case({"x": X}, lambda x, p: pd.layer_norm(x, scale=p("s"), begin_norm_axis=1), ["Reshape", "LayerNorm", "Reshape"], {"s": w(3, 4)}),
    "rms norm": Case({"x": X}, lambda x, p: pd.rms_norm(x, p("s")), ["Square", "Reduce", "Add", "Rsqrt", "Broadcast", "Mul", "Mul"], {"s": w(4)}),
    "rms norm of two axes": Case({"x": X}, lambda x, p: pd.rms_norm(x, p("s"), begin_norm_axis=1), ["Reshape", "Square", "Reduce", "Add", "Rsqrt", "Broadcast", "Mul", "Mul", "Reshape"], {"s": w(12)}),
    # attention
    "attention": Case({"q": t(2, 5, 4), "k": t(2, 3, 4), "v": t(2, 3, 6)}, lambda q, k, v, p: pd.scaled_dot_product_attention(q, k, v), ["Mul", "Gemm", "Softmax", "Gemm"]),
    "attention with a large scale": Case({"q": t(5, 4), "k": t(3, 4), "v": t(3, 6)}, lambda q, k, v, p: pd.scaled_dot_product_attention(q, k, v, scale=3.0), ["Gemm", "Mul", "Softmax", "Gemm"]),
    "attention with a negative scale": Case({"q": t(5, 4), "k": t(3, 4), "v": t(3, 6)}, lambda q, k, v, p: pd.scaled_dot_product_attention(q, k, v, scale=-1.0), ["Mul", "Gemm", "Softmax", "Gemm"]),
    "attention with a bias": Case({"q": t(2, 5, 4), "k": t(2, 3, 4), "v": t(2, 3, 6)}, lambda q, k, v, p: pd.scaled_dot_product_attention(q, k, v, p("m"), scale=1.0), ["Gemm", "Add", "Softmax", "Gemm"], {"m": w(5, 3)}),
    "causal attention": Case({"q": t(2, 5, 4), "k": t(2, 5, 4), "v": t(2, 5, 6)}, lambda q, k, v, p: pd.scaled_dot_product_attention(q, k, v, scale=1.0, is_causal=True, masked_score=-10.0), ["Gemm", "Select", "Softmax", "Gemm"]),
    "attention without NaN": Case({"q": t(5, 4), "k": t(3, 4), "v": t(3, 6)}, lambda q, k, v, p: pd.scaled_dot_product_attention(q, k, v, scale=1.0, nan_to_zero=True), ["Gemm", "Softmax", "Ne", "Select", "Gemm"]),
    # movement
    "pad": Case({"x": X}, lambda x, p: pd.pad(x, paddings=(0, 1, 2, 0, 1, 1), pad_value=-0.5), ["Concatenate", "Concatenate", "Concatenate"]),
    "set_value": Case({"x": X}, lambda x, p: pd.set_value(x, p("c"), axes=(1, 2), starts=(1, 0), ends=(2, 1), decrease_axis=(2,)), ["Reshape", "Slice", "Concatenate", "Slice", "Slice", "Concatenate"], {"c": w(2, 1)}),
    "set_value of everything": Case({"x": X}, lambda x, p: pd.set_value(x, p("c"), axes=(0,), starts=(-9,), ends=(9,)), [], {"c": w(1)}),
    "pad of a constant": Case({"x": X}, lambda x, p: pd.add(x, pd.pad(p("c"), paddings=(0, 0, 0, 0, 0, 1))), ["Add"], {"c": w(2, 3, 3)}),
    "reshape": Case({"x": X}, lambda x, p: pd.reshape(x, shape=(6, -1)), ["Reshape"]),
    "reshape to the same shape": Case({"x": X}, lambda x, p: pd.relu(pd.reshape(x, shape=(2, 3, 4))), ["Relu"]),
    "squeeze": Case({"x": t(1, 3, 1)}, lambda x, p: pd.squeeze(x), ["Reshape"]),
    "transpose": Case({"x": X}, lambda x, p: pd.transpose(x, perm=(2, 0, 1)), ["Transpose"]),
    "transpose of unit axes": Case({"x": t(3, 1, 4)}, lambda x, p: pd.transpose(x, perm=(1, 0, 2)), ["Reshape"]),
    "transposed constant": Case({"x": t(4, 3)}, lambda x, p: pd.add(x, pd.transpose(p("w"), perm=(1, 0))), ["Add"], {"w": w(3, 4)}),
    "slice": Case({"x": X}, lambda x, p: pd.slice(x, axes=(0, 2), starts=(-1, 1), ends=(2, 100), decrease_axis=(0,)), ["Slice", "Reshape"]),
    "split": Case({"x": X}, lambda x, p: pd.split(x, sections=(1, -1, 2), axis=-1).outs, ["Slice", "Slice", "Slice"]),
    "concat": Case({"x": X, "y": t(2, 1, 4)}, lambda x, y, p: pd.concat([x, y], axis=-2), ["Concatenate"]),
    "concat of one": Case({"x": X}, lambda x, p: pd.relu(pd.concat([x])), ["Relu"]),
    "expand": Case({"x": t(3, 1)}, lambda x, p: pd.expand(x, shape=(2, -1, 4)), ["Broadcast"]),
    "embedding": Case({"i": t(2, 3, element=i32)}, lambda i, p: pd.embedding(i, p("w")), ["Gather"], {"w": w(5, 4)}),
    "embedding with padding": Case({"i": t(2, 3, element=i32)}, lambda i, p: pd.embedding(i, p("w"), padding_idx=1), ["Gather"], {"w": w(5, 4)}),
    "gather of rows": Case({"x": t(5, 2, 3), "i": t(2, element=i32)}, lambda x, i, p: pd.gather(x, i), ["Reshape", "Gather", "Reshape"]),
    "gather inside": Case({"x": t(2, 5, 3), "i": t(2, 2, element=i32)}, lambda x, i, p: pd.gather(x, i, axis=1), ["Transpose", "Reshape", "Gather", "Reshape", "Transpose"]),
    "cast": Case({"x": X}, lambda x, p: pd.cast(x, dtype=i32), ["Cast"]),
    "copies": Case({"x": X}, lambda x, p: pd.assign(builtin.to_vtensor(builtin.to_tensor(pd.relu(x)))), ["Relu"]),
    "an argument as it is": Case({"x": X}, lambda x, p: x, []),
    "a constant as it is": Case({"x": X}, lambda x, p: (x, p("w")), [], {"w": w(3)}),
    "a number as it is": Case({"x": X}, lambda x, p: (x, const(3.0, shape=())), []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_becomes_these_ops_and_means_the_same(
    name: str, build_program: Fixture, run_passes: Fixture, check_same_values: Fixture, op_names: Fixture
) -> None:
    case = CASES[name]
    program = build_program(case.build, case.inputs, case.weights)
    lowered = run_passes(program, "lower-to-tx8be")
    assert op_names(lowered) == case.ops
    assert lowered.inputs == program.inputs
    check_same_values(program, lowered, tolerance=case.tolerance)


@pytest.mark.parametrize("name", CASES)
def test_compiles_and_runs(name: str, build_program: Fixture, random_inputs: Fixture) -> None:
    """Each case through the whole compiler and the simulator: within 2e-6 of fp64, relative to the largest output."""
    case = CASES[name]
    program = build_program(case.build, case.inputs, case.weights)
    inputs = random_inputs(program)
    expected, given = evaluate(program, inputs, "fp64"), tx8ir.compile(program).run(inputs)
    for output, array in expected.items():
        scale = max(1e-30, float(np.abs(array).max()))
        np.testing.assert_allclose(given[output], array, rtol=0, atol=2e-6 * scale)


def lowered_op(program: Program, kind: type[Any]) -> Any:
    return next(op for op in program.main.body.block if isinstance(op, kind))


class TestForms:
    """What the lowered ops carry."""

    def test_the_text(self, build_program: Fixture, run_passes: Fixture, golden: Fixture) -> None:
        def build(x: Any, p: Any) -> Any:
            hidden = pd.relu(pd.add(pd.matmul(x, p("w")), p("b")))
            return pd.where(pd.isnan(hidden), const(0.0, shape=()), pd.subtract(const(1.0, shape=()), hidden))

        program = build_program(build, {"x": t(1, 8)}, {"w": w(8, 4), "b": w(4)})
        golden(f"{program}\n// lower-to-tx8be\n{run_passes(program, 'lower-to-tx8be')}", "lowering/mlp.mlir")

    def test_a_repeated_row_is_a_vector_of_the_same_variable(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(lambda x, p: pd.add(x, p("b")), {"x": X}, {"b": w(4)})
        lowered = run_passes(program, "lower-to-tx8be")
        add = lowered_op(lowered, tx8be.AddOp)
        assert add.rhs.type is t(4)
        assert add.rhs.defining_op.parameter == "b"
        assert list(lowered.weights) == ["b"]

    def test_an_expanded_constant_is_made_once(self, build_program: Fixture, run_passes: Fixture) -> None:
        def build(x: Any, p: Any) -> Any:
            return pd.multiply(pd.add(x, p("c")), p("c"))

        lowered = run_passes(build_program(build, {"x": X}, {"c": w(3, 1)}), "lower-to-tx8be")
        assert sorted(lowered.weights) == ["c", "c.1"]
        assert lowered.weights["c.1"].type.shape == (2, 3, 4)

    def test_bias_and_activation_go_into_the_engine(self, build_program: Fixture, run_passes: Fixture) -> None:
        case = CASES["linear with relu"]
        gemm = lowered_op(
            run_passes(build_program(case.build, case.inputs, case.weights), "lower-to-tx8be"), tx8be.GemmOp
        )
        assert gemm.bias.type is t(3)
        assert gemm.activation is tx8be.Activation.RELU

    def test_tensors_become_values(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(lambda x, p: pd.relu(builtin.to_vtensor(x)), {"x": TensorType((2,), f32)})
        assert run_passes(program, "lower-to-tx8be").inputs == {"x": t(2)}

    def test_mask_keeps_the_compared_format(self, build_program: Fixture, run_passes: Fixture) -> None:
        def build(x: Any, y: Any, p: Any) -> Any:
            return pd.where(pd.greater_than(x, y), pd.cast(x, dtype=f32), pd.cast(y, dtype=f32))

        narrow = t(2, 3, element=bf16)
        lowered = run_passes(build_program(build, {"x": narrow, "y": narrow}), "lower-to-tx8be")
        assert lowered_op(lowered, tx8be.GtOp).out.type is narrow
        select = lowered_op(lowered, tx8be.SelectOp)
        assert isinstance(select.cond.defining_op, tx8be.CastOp)  # to the format of the values it chooses from


class TestErrors:
    def test_every_illegal_op_is_listed_with_types_reason_and_source(
        self, build_program: Fixture, run_passes: Fixture
    ) -> None:
        def build(x: Any, p: Any) -> Any:
            with at_location(FileLocation("model.py", 7, 1)):
                y = pd.cumsum(x)
            with at_location(FileLocation("model.py", 9, 1)):
                return pd.det(pd.relu(y))

        program = build_program(build, {"x": t(3, 3)})
        with pytest.raises(PassError) as info:
            run_passes(program, "lower-to-tx8be")
        assert isinstance(info.value.__cause__, CompileError)
        assert info.value.__cause__.message.splitlines() == [
            "2 ops cannot be lowered to tx8be:",
            '  pd.cumsum (!pd.vtensor<3x3xf32>) -> (!pd.vtensor<3x3xf32>) at loc("model.py":7:1): '
            "there is no lowering for this op",
            '  pd.det (!pd.vtensor<3x3xf32>) -> (!pd.vtensor<f32>) at loc("model.py":9:1): '
            "there is no lowering for this op",
        ]

    WRONG: dict[str, tuple[dict[str, VTensorType], Callable[..., Any], dict[str, np.ndarray], str]] = {
        "layout": (
            {"x": t(1, 3, 8, 8)},
            lambda x, p: pd.conv2d(x, p("w")),
            {"w": w(4, 3, 3, 3)},
            "data is NCHW and filter OIHW; expected NHWC and HWOI: run nhwc",
        ),
        "format": ({"x": t(2, element=i64)}, lambda x, p: pd.add(x, x), {}, "element type i64 .* run convert-dtype"),
        "integer arithmetic": (
            {"x": t(2, element=i32)},
            lambda x, p: pd.add(x, x),
            {},
            "fp32 may not have every result in i32",
        ),
        "integer product": (
            {"x": t(2, 2, element=i32)},
            lambda x, p: pd.matmul(x, x),
            {},
            r"tx8be\.Gemm computes in f32, f16, bf16, tf32, i8, not i32",
        ),
        "cast": (
            {"x": t(2)},
            lambda x, p: pd.cast(x, dtype=ui8),
            {},
            r"tx8be\.Cast converts between .*, i8, i16, i32, not ui8",
        ),
        "packed": (
            {"x": t(2, element=i4)},
            lambda x, p: x,
            {},
            r"argument 0: element type i4 packs several elements into a byte, which no DMA moves; cast it to i8",
        ),
        "exponent": ({"x": t(2)}, lambda x, p: pd.pow(x, y=2.5), {}, "the exponent is 2.5; expected an integer"),
        "exponents": ({"x": t(2)}, lambda x, p: pd.elementwise_pow(x, x), {}, "the exponent is not one number"),
        "softplus": ({"x": t(2)}, lambda x, p: pd.softplus(x, threshold=1.0), {}, "threshold is 1.0; .* at least 20"),
        "softplus of one slope": ({"x": t(2)}, lambda x, p: pd.softplus(x, beta=np.inf), {}, "beta is inf; expected a finite"),
        "adaptive": (
            {"x": t(1, 5, 5, 2)},
            lambda x, p: pd.pool2d(x, kernel_size=(2, 2), adaptive=True, pooling_type="max", data_format="NHWC"),
            {},
            "adaptive pooling of 5 x 5 to 2 x 2 has windows of different sizes",
        ),
    }  # fmt: skip

    @pytest.mark.parametrize("name", WRONG)
    def test_the_reason(self, name: str, build_program: Fixture, run_passes: Fixture) -> None:
        inputs, build, weights, message = self.WRONG[name]
        with pytest.raises(PassError, match=message):
            run_passes(build_program(build, inputs, weights), "lower-to-tx8be")

    def test_a_mutable_parameter(self, build_program: Fixture, run_passes: Fixture) -> None:
        program = build_program(lambda x, p: pd.add(x, p("w")), {"x": t(2)}, {"w": w(2)})
        program.weights["w"].is_mutable = True
        with pytest.raises(PassError, match=r"parameter 'w' is mutable: .*: run lift-state before"):
            run_passes(program, "lower-to-tx8be")

    def test_the_program_stays_as_it_was(self, build_program: Fixture) -> None:
        from tx8ir.backend.lowering import LowerToTx8be

        program = build_program(lambda x, p: pd.cumsum(pd.add(x, p("c"))), {"x": X}, {"c": w(3, 1)})
        text = str(program)
        with pytest.raises(CompileError):
            LowerToTx8be().run(program)
        assert str(program) == text
        assert list(program.weights) == ["c"]


class TestProperties:
    @given(data=st.data())
    def test_binary_ops_broadcast_as_numpy_does(
        self, data: st.DataObject, build_program: Fixture, run_passes: Fixture, check_same_values: Fixture
    ) -> None:
        """Any two shapes that broadcast, each side an argument, a parameter or a number, under any op."""
        full = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4), label="shape")
        sides = []
        for side in "xy":
            rank = data.draw(st.integers(0, len(full)), label=f"rank of {side}")
            kept = data.draw(st.lists(st.booleans(), min_size=rank, max_size=rank), label=f"kept of {side}")
            shape = tuple(n if k else 1 for n, k in zip(full[len(full) - rank :], kept, strict=True))
            sides.append((side, shape, data.draw(st.sampled_from(["argument", "parameter"]), label=f"kind of {side}")))
        kind = data.draw(
            st.sampled_from([pd.add, pd.subtract, pd.multiply, pd.divide, pd.maximum, pd.less_than]), label="op"
        )
        inputs = {side: t(*shape) for side, shape, where in sides if where == "argument"}
        assume(inputs)
        weights = {side: w(*shape) for side, shape, where in sides if where == "parameter"}

        def build(*values: Any) -> Any:
            arguments, p = dict(zip(inputs, values[:-1], strict=True)), values[-1]
            x, y = (arguments[s] if s in arguments else p(s) for s in "xy")
            out = kind(x, y).out
            return pd.cast(out, dtype=f32) if out.type.element is i1 else out

        program = build_program(build, inputs, weights)
        check_same_values(program, run_passes(program, "lower-to-tx8be"))

    @given(data=st.data())
    def test_any_axes_are_reduced(
        self, data: st.DataObject, build_program: Fixture, run_passes: Fixture, check_same_values: Fixture
    ) -> None:
        shape = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5), label="shape")
        axes = data.draw(st.sets(st.integers(0, len(shape) - 1)), label="axes")
        keepdim = data.draw(st.booleans(), label="keepdim")
        kind = data.draw(st.sampled_from([pd.sum, pd.mean, pd.max, pd.min]), label="op")
        program = build_program(lambda x, p: kind(x, axis=tuple(axes), keepdim=keepdim), {"x": t(*shape)})
        check_same_values(program, run_passes(program, "lower-to-tx8be"))
