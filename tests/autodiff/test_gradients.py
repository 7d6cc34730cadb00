"""The gradient of every operation that has one, against finite differences in fp64, in many shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from support.formulas import formula_of, mnemonic, unary_operations
from tx8ir.autodiff import append_backward
from tx8ir.core import Builder, FunctionType, Grad, IrError, Program, VTensorType, f64
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import evaluate

Arrays = Mapping[str, NDArray[Any]]
Body = Callable[..., Any]


def differentiated(data: Arrays, body: Body) -> Program:
    """A program that gives a weighted sum of what `body` makes of parameters, and its gradients by them."""
    program = Program.empty()
    for name, array in data.items():
        program.weights.add(name, array, VTensorType(array.shape, f64))
    with Builder.at_end(program.body):
        main = func.func(sym_name="main", function_type=FunctionType((), ()))
    with Builder.at_end(main.body.block):
        read = [builtin.get_parameter(parameter=n, out=VTensorType(a.shape, f64)) for n, a in data.items()]
        made = body(*read)
        shape = made.results[0].type.shape
        weights = np.random.default_rng(5).standard_normal(shape)  # each element of the result counts
        loss = pd.sum(pd.multiply(made, builtin.constant(value=weights)))
        end = func.return_([loss])
    gradients = append_backward(program, loss.out).parameters
    end.set_operands([loss, *(gradients[n] for n in data)])
    main.set_attribute("function_type", FunctionType((), [v.type for v in end.operands]))
    main.set_attribute("result_names", ("loss", *data))
    program.verify()
    return program


def check(data: Arrays, body: Body) -> None:
    """Compares the slope along random directions with central differences, of error h^2 and rounding eps / h."""
    program = differentiated(data, body)
    results = evaluate(program, {}, "fp64")
    rng = np.random.default_rng(11)
    h = 6e-6
    for name, array in data.items():
        assert results[name].shape == array.shape
        for _ in range(3):
            direction = rng.standard_normal(array.shape)
            ends: list[float] = []
            for step in (h, -h):
                shifted = Program(program.module, program.weights.copy())
                shifted.weights[name].data = array + step * direction
                ends.append(float(evaluate(shifted, {}, "fp64")["loss"].item()))
            slope = (ends[0] - ends[1]) / (2 * h)
            found = float(np.sum(results[name] * direction))
            assert abs(found - slope) <= 1e-6 * max(1.0, abs(slope)), f"{name}: {found}, by differences {slope}"


def drawn(*shape: int, seed: int = 0) -> NDArray[Any]:
    """Numbers that are apart from each other and from 0, where functions with corners have them."""
    size = int(np.prod(shape))
    places = np.random.default_rng(seed).permutation(size)
    return ((places - size / 2 + 0.25) * (3.0 / max(size, 1))).reshape(shape)


X, POSITIVE = {"x": drawn(2, 3)}, {"x": np.abs(drawn(2, 3)) + 0.5}
INDEX = np.array([[2, 0, 2], [1, 1, 3]])


def _with(op: type[pd.ElementwiseUnaryOp], attributes: Mapping[str, Any]) -> Body:
    # Beside itself, so that a result that does not depend on x has a gradient too.
    return lambda x: pd.add(op(x, **attributes), x)


ELEMENTWISE: dict[str, tuple[type[pd.ElementwiseUnaryOp], Mapping[str, Any]]] = {
    f"{mnemonic(op)} {dict(variant) or ''}": (op, variant)
    for op in unary_operations()
    for variant in ({}, *formula_of(op).variants)
}
ONE_OPERAND: dict[str, Body] = {
    "max": lambda x: pd.max(x, axis=(1,)), "min": pd.min,
    "max, axis kept": lambda x: pd.max(x, axis=(0,), keepdim=True), "softmax": lambda x: pd.softmax(x, axis=-1),
    "pad": lambda x: pd.pad(x, paddings=(1, 0, 2, 1), pad_value=3.0),
    "fill": lambda x: pd.add(x, pd.fill(x, value=2.0)),
    "gather": lambda x: pd.gather(x, builtin.constant(value=np.array([1, 0, 1])), axis=0),
    "gather of an axis": lambda x: pd.gather(x, builtin.constant(value=np.array([[2, 0], [2, 2]])), axis=1),
    "set_value": lambda x: pd.set_value(x, pd.square(x), axes=(0,), starts=(0,), ends=(2,)),
    "window of it": lambda x: pd.set_value(
        x, pd.slice(pd.exp(x), axes=(0, 1), starts=(0, 0), ends=(1, 1), decrease_axis=(0, 1)),
        axes=(1,), starts=(1,), ends=(3,)),
}  # fmt: skip
OF_POSITIVE: dict[str, Body] = {"root": lambda x: pd.pow(x, y=0.3)}
PAIR = {"x": drawn(2, 3), "y": drawn(2, 1, seed=1) + 0.01}
TWO_OPERANDS: dict[str, tuple[Arrays, Body]] = {
    "maximum": (PAIR, pd.maximum), "minimum": (PAIR, pd.minimum), "subtract": (PAIR, pd.subtract),
    "divide": (PAIR, pd.divide),
    "power": ({"x": POSITIVE["x"], "y": drawn(1, 3)}, pd.elementwise_pow),
    "where": (PAIR, lambda x, y: pd.where(pd.greater_than(x, pd.full(shape=(), value=0.0, dtype=f64)), x, y)),
    "concat": ({"x": drawn(2, 3), "y": drawn(2, 1)}, lambda x, y: pd.concat([x, y, x], axis=-1)),
    "sgd": ({"x": drawn(2, 3), "y": drawn(1), "z": drawn(2, 3, seed=2)}, pd.sgd),
    "embedding": ({"x": drawn(5, 2)}, lambda w: pd.embedding(builtin.constant(value=INDEX), w)),
    "embedding, padding": ({"x": drawn(5, 2)}, lambda w: pd.embedding(builtin.constant(value=INDEX), w, padding_idx=1)),
    "layer_norm": ({"x": drawn(2, 3, 4)}, lambda x: pd.layer_norm(x, begin_norm_axis=1)),
    "layer_norm, affine": (
        {"x": drawn(2, 3, 4), "s": drawn(4), "b": drawn(4)},
        lambda x, s, b: pd.layer_norm(x, s, b, begin_norm_axis=-1)),
    "layer_norm, flat weights": (
        {"x": drawn(2, 3, 4), "s": drawn(12), "b": drawn(3, 4)}, lambda x, s, b: pd.layer_norm(x, s, b)),
    "rms_norm": ({"x": drawn(2, 3), "w": drawn(3)}, pd.rms_norm),
    "batch_norm": ({"x": drawn(2, 3, 2, 2), "m": drawn(3), "v": np.array([0.5, 1.0, 2.0])}, pd.batch_norm),
    "batch_norm, affine": (
        {"x": drawn(2, 4, 3), "m": drawn(3), "v": np.array([0.5, 1.0, 2.0]), "s": drawn(3), "b": drawn(3)},
        lambda x, m, v, s, b: pd.batch_norm(x, m, v, s, b, data_format="NHWC", epsilon=0.1)),
}  # fmt: skip


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_operations(name: str) -> None:
    op, variant = ELEMENTWISE[name]
    low, high = max(op.interval[0], -3.0), min(op.interval[1], 3.0)
    x = drawn(2, 3) / 3.0  # between -1 and 1
    check({"x": low + (high - low) * (x + 1.0) / 2 if low >= 0 else high * x}, _with(op, variant))


@pytest.mark.parametrize("name", ONE_OPERAND)
def test_operations_on_one_operand(name: str) -> None:
    check(X, ONE_OPERAND[name])


@pytest.mark.parametrize("name", OF_POSITIVE)
def test_operations_on_positive_numbers(name: str) -> None:
    check(POSITIVE, OF_POSITIVE[name])


@pytest.mark.parametrize("name", TWO_OPERANDS)
def test_operations_on_several_operands(name: str) -> None:
    check(*TWO_OPERANDS[name])


pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
pads = st.tuples(*[st.integers(0, 2)] * 4)


@given(st.data())
def test_convolutions(data: st.DataObject) -> None:
    groups, group_in, group_out = (data.draw(st.integers(1, 2)) for _ in range(3))
    kernel, strides, dilations, padding = data.draw(pairs), data.draw(pairs), data.draw(pairs), data.draw(pads)
    last, filter_last = data.draw(st.booleans()), data.draw(st.booleans())
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    room = (padding[0] + padding[1], padding[2] + padding[3])
    space = [data.draw(st.integers(max(1, r - p), r + 3)) for r, p in zip(reach, room, strict=True)]
    image = drawn(2, groups * group_in, *space)
    weight = drawn(groups * group_out, group_in, *kernel, seed=1)
    arrays = {
        "x": image.transpose(0, 2, 3, 1) if last else image,
        "w": weight.transpose(2, 3, 0, 1) if filter_last else weight,
    }
    if data.draw(st.booleans()):
        arrays["b"] = drawn(groups * group_out)
    check(
        arrays,
        lambda x, w, b=None: pd.conv2d(
            x, w, b, strides=strides, paddings=padding, dilations=dilations, groups=groups,
            data_format="NHWC" if last else "NCHW", filter_format="HWOI" if filter_last else "OIHW",
        ),
    )  # fmt: skip


def test_convolutions_of_other_kinds() -> None:
    arrays = {"x": drawn(1, 2, 5, 4), "w": drawn(4, 1, 3, 3, seed=1), "b": drawn(4)}
    check(arrays, lambda x, w, b: pd.depthwise_conv2d(x, w, b, groups=2, padding_algorithm="SAME", strides=(2, 1)))
    arrays["w"] = drawn(4, 2, 3, 3, seed=1)
    check(arrays, lambda x, w, b: pd.fused_conv2d_add_act(x, w, b, padding_algorithm="VALID"))


@given(st.data())
def test_pooling(data: st.DataObject) -> None:
    kernel, strides = data.draw(pairs), data.draw(pairs)
    padding = tuple(data.draw(st.integers(0, (k - 1) // 2)) for k in kernel for _ in range(2))
    space = [data.draw(st.integers(k, k + 4)) for k in kernel]
    ceil_mode = (
        data.draw(st.booleans()) and all(s <= k for s, k in zip(strides, kernel, strict=True)) and not any(padding)
    )
    kind, last, exclusive = (
        data.draw(st.sampled_from(["max", "avg"])),
        data.draw(st.booleans()),
        data.draw(st.booleans()),
    )
    image = drawn(2, 2, *space)
    check(
        {"x": image.transpose(0, 2, 3, 1) if last else image},
        lambda x: pd.pool2d(
            x, kernel_size=kernel, strides=strides, paddings=padding, pooling_type=kind, ceil_mode=ceil_mode,
            exclusive=exclusive, data_format="NHWC" if last else "NCHW",
        ),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pooling_of_whole_images_and_into_a_number_of_windows(kind: str) -> None:
    image = {"x": drawn(2, 3, 4, 6)}
    check(image, lambda x: pd.pool2d(x, kernel_size=(1, 1), pooling_type=kind, global_pooling=True))
    check(image, lambda x: pd.pool2d(x, kernel_size=(2, 3), pooling_type=kind, adaptive=True))
    with pytest.raises(IrError, match=r"pd.pool2d has no gradient where adaptive windows overlap or differ in size"):
        check(image, lambda x: pd.pool2d(x, kernel_size=(3, 4), pooling_type=kind, adaptive=True))


def test_operations_with_a_gradient() -> None:
    """Which operations have none: an answer for the documentation, and a reminder for a new operation."""
    without = {
        name
        for name, op in pd.DIALECT.ops.items()
        if Grad not in op.info.interfaces and not name.endswith("_") and "grad" not in name
    }
    assert without == {
        "pd.equal", "pd.not_equal", "pd.greater_than", "pd.greater_equal", "pd.less_than", "pd.less_equal",
        "pd.logical_and", "pd.logical_or", "pd.logical_not", "pd.isnan",  # truth values
        "pd.full", "pd.feed", "pd.fetch",  # no operand, or no result
        "pd.fusion", "pd.fusion_yield", "pd.scaled_dot_product_attention",  # made by passes
        "pd.argmax", "pd.argmin", "pd.bitcast",  # places and bits
        "pd.prod", "pd.cumsum", "pd.cumprod", "pd.topk", "pd.scatter", "pd.det",  # not yet
    }  # fmt: skip
