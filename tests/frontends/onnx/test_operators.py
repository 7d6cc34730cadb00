"""Every converter against ONNX's reference implementation, evaluated in double precision on both sides."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import attrs
import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator

from support.formulas import formula_of, unary_operations
from tx8ir.dialects import pd
from tx8ir.frontends.onnx import OnnxImportError, load
from tx8ir.interpreter import evaluate

RNG = np.random.default_rng(7)


def reals(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape)


def positives(*shape: int) -> np.ndarray:
    return RNG.uniform(0.1, 2.0, shape)


def ints(*values: int) -> np.ndarray:
    return np.asarray(values, np.int64)


@attrs.frozen(eq=False)
class Case:
    """One node: its inputs in order (None: absent), which of them are initialisers, attributes, opset."""

    op: str
    inputs: list[np.ndarray | None]
    attributes: dict[str, Any] = attrs.Factory(dict)
    known: tuple[int, ...] = ()
    opset: int = 20
    outputs: int = 1
    note: str = ""
    value: np.ndarray | None = None  # where the reference implementation is wrong, or only an approximation
    tolerance: float = 1e-12

    def __str__(self) -> str:
        return "-".join(filter(None, (self.op, str(self.opset), self.note)))


X = reals(2, 3, 4)
IMAGE = reals(2, 4, 7, 6)
SIGNS = np.asarray([[-2.5, -0.0, 0.0], [0.4, 1.5, 3.0]])
STATISTICS = [reals(4), reals(4), reals(4), positives(4)]
SCALE, BIAS, MEAN, VARIANCE = (statistic[:, None, None] for statistic in STATISTICS)
NORMALISED = (IMAGE - MEAN) / np.sqrt(VARIANCE + float(np.float32(1e-5))) * SCALE + BIAS
ERF = np.vectorize(math.erf)
ZEROS = np.asarray([[0.0, 0.0], [3.0, -1.0]])
TRUTH = np.asarray([[True, False, True], [False, False, True]])


def declared(op: type[pd.ElementwiseUnaryOp], x: np.ndarray) -> np.ndarray:
    """What an element-wise operation computes as the ONNX operator that it says it is, by its formula."""
    usual = {ours: float(np.float32(number)) for ours, number in op.onnx.numbers.values()}  # ONNX holds fp32
    return formula_of(op).of(x, **usual, **op.onnx.fixed)


CASES = [
    # activation
    *(
        Case(
            op.onnx.name,
            [x := SIGNS if op.interval[0] < 0 else positives(2, 3)],
            value=declared(op, x),
            note="declared",
        )
        for op in unary_operations()
        if op.onnx is not None
    ),
    *(Case(op, [SIGNS]) for op in ("Relu", "Tanh", "Neg", "Ceil")),
    *(Case(op, [SIGNS * 4]) for op in ("Softplus", "Elu", "Selu", "HardSigmoid", "LeakyRelu")),
    Case("Gelu", [SIGNS], value=SIGNS * (1 + ERF(SIGNS / math.sqrt(2))) / 2),
    Case("Softplus", [np.asarray([700.0, -700.0])], note="large"),
    Case("Elu", [SIGNS], {"alpha": 0.5}, opset=17),
    Case("Elu", [np.asarray([800.0, -800.0])], note="large"),
    Case("Selu", [SIGNS], {"alpha": 1.5, "gamma": 1.1}),
    Case("HardSigmoid", [SIGNS], {"alpha": 0.5, "beta": 0.25}),
    Case(
        "Gelu",
        [SIGNS],
        {"approximate": "tanh"},
        value=SIGNS / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (SIGNS + 0.044715 * SIGNS**3))),
        note="tanh",
    ),
    Case("HardSwish", [SIGNS], value=SIGNS * np.clip(SIGNS / 6 + 0.5, 0, 1)),
    Case("LeakyRelu", [SIGNS], {"alpha": 0.25}),
    Case("PRelu", [X, reals(3, 1)], known=(1,)),
    Case("IsNaN", [np.asarray([1.0, np.nan, np.inf])]),
    Case("Not", [TRUTH]),
    Case("Clip", [SIGNS, np.asarray(-1.0), np.asarray(1.0)], known=(1, 2)),
    Case("Clip", [SIGNS, None, np.asarray(1.0)], note="high"),
    Case("Clip", [SIGNS.astype(np.int64), np.asarray(-1), None], known=(1,), note="integers"),
    Case("Clip", [SIGNS], {"min": -0.5}, opset=10),
    Case("Cast", [SIGNS], {"to": onnx.TensorProto.INT32}),
    Case("Cast", [ints(-1, 0, 5)], {"to": onnx.TensorProto.DOUBLE}, note="to-double"),
    Case("Cast", [ints(-1, 0, 5)], {"to": onnx.TensorProto.BOOL}, note="to-bool"),
    Case("Cast", [ints(-1, 0, 5)], {"to": onnx.TensorProto.INT64}, note="nothing"),
    Case("CastLike", [ints(-1, 0, 5), SIGNS]),
    # arithmetic
    *(Case(op, [X, reals(3, 1)]) for op in ("Add", "Sub", "Mul", "Max", "Min")),
    *(Case(op, [X, reals(4)], known=(1,), opset=13) for op in ("Add", "Sub", "Mul")),
    Case("Mul", [X, np.asarray(0.5)], known=(1,), note="scalar"),
    Case("Add", [ints(1, 2), ints(3, -4)], note="integers"),
    Case("Div", [X, positives(4)]),
    Case("Div", [ints(7, -7, 7, -7, 6), ints(2, 2, -2, -2, 3)], note="integers"),
    *(Case(op, [X, reals(3, 4), reals(1)]) for op in ("Sum", "Mean", "Max", "Min")),
    *(Case(op, [X]) for op in ("Sum", "Mean")),
    *(Case(op, [SIGNS, SIGNS[::-1].copy()]) for op in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")),
    *(Case(op, [TRUTH, TRUTH[::-1].copy()]) for op in ("And", "Or", "Xor", "Equal")),
    Case("Where", [TRUTH, reals(2, 3), reals(3)]),
    Case("Pow", [SIGNS, np.asarray(3.0)], known=(1,)),
    Case("Pow", [SIGNS, ints(2)], known=(1,), note="integer-exponent"),
    Case("Pow", [positives(2, 3), reals(3)], note="elementwise"),
    Case("Pow", [positives(2, 3), ints(1, 2, 3)], note="elementwise-integers"),
    Case("Pow", [np.asarray(2.0), np.asarray([[0.5]])], known=(1,), note="exponent-of-higher-rank"),
    # constants
    Case("Identity", [X]),
    Case("Dropout", [X], opset=11),
    Case("Dropout", [X, np.asarray(0.5), np.asarray(False)], known=(1, 2)),
    Case("Shape", [X]),
    Case("Shape", [X], {"start": -2, "end": 9}, note="range"),
    Case("Size", [X]),
    # reduction
    *(Case(op, [positives(2, 3, 4), ints(-1, 0)], known=(1,)) for op in ("ReduceMean", "ReduceMax", "ReduceSum")),
    *(Case(op, [positives(2, 3, 4)], {"keepdims": 0}) for op in ("ReduceMean", "ReduceMin", "ReduceSum", "ReduceL2")),
    *(
        Case(op, [positives(2, 3, 4)], {"axes": [1], "keepdims": 0}, opset=12)
        for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare")
    ),
    *(
        Case(op, [reals(2, 3, 4), ints(1)], {"keepdims": keep}, known=(1,), note=f"keepdims={keep}")
        for op in ("ReduceLogSumExp", "ReduceSumSquare", "ReduceL1", "ReduceL2")
        for keep in (0, 1)
    ),
    Case("ReduceLogSumExp", [np.asarray([[800.0, 801.0]]), ints(1)], known=(1,), note="large"),
    Case("ReduceLogSum", [positives(2, 3), ints(1)], known=(1,)),
    Case("ReduceSum", [X, ints()], {"noop_with_empty_axes": 1}, known=(1,), note="nothing"),
    Case("ReduceSum", [np.asarray([[1, 2]], np.int32), ints(1)], known=(1,), note="int32"),
    *(Case(op, [np.asarray(3.0)], note="scalar") for op in ("ReduceMax", "ReduceL2", "ReduceLogSum")),
    Case("GlobalAveragePool", [IMAGE]),
    Case("GlobalMaxPool", [IMAGE]),
    # normalisation
    *(Case(op, [X], {"axis": axis}, note=f"axis={axis}") for op in ("Softmax", "LogSoftmax") for axis in (-1, 1)),
    Case("Softmax", [X], opset=11, value=np.exp(X) / np.exp(X).sum(axis=(1, 2), keepdims=True)),
    Case("LogSoftmax", [X], opset=11, value=X - np.log(np.exp(X).sum(axis=(1, 2), keepdims=True))),
    Case("Softmax", [X], {"axis": 2}, opset=11, note="last"),
    Case("LayerNormalization", [X, reals(4), reals(4)], {"epsilon": 1e-3}, known=(1, 2)),
    Case("LayerNormalization", [X, reals(3, 4)], {"axis": 1}, known=(1,), note="no-bias"),
    Case("LayerNormalization", [X, reals(4), reals(3, 1)], {"axis": 1}, known=(1, 2), note="broadcast"),
    Case(
        "BatchNormalization", [IMAGE, reals(4), reals(4), reals(4), positives(4)], {"epsilon": 1e-3}, known=(1, 2, 3, 4)
    ),
    Case("BatchNormalization", [IMAGE, *STATISTICS], opset=13, value=NORMALISED),
    Case("InstanceNormalization", [IMAGE, reals(4), reals(4)], known=(1, 2)),
    Case("LpNormalization", [X], {"axis": 1}),
    Case("LpNormalization", [ZEROS], {"p": 1}, value=np.asarray([[0, 0], [0.75, -0.25]]), note="zeros"),
    # linear
    Case("MatMul", [reals(2, 3, 4), reals(4, 5)], known=(1,)),
    Case("MatMul", [reals(3), reals(2, 3, 4)], note="vector"),
    Case("Gemm", [reals(2, 3), reals(3, 4), reals(4)], known=(1, 2)),
    Case("Gemm", [reals(3, 2), reals(4, 3), reals(2, 1)], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    Case("Gemm", [reals(2, 3), reals(3, 4)], {"beta": 3.0}, note="no-C"),
    Case("Conv", [IMAGE, reals(5, 4, 3, 2), reals(5)], {"pads": [1, 0, 2, 1], "strides": [2, 1]}, known=(1, 2)),
    Case("Conv", [IMAGE, reals(6, 2, 3, 3)], {"group": 2, "dilations": [2, 1]}, known=(1,), note="groups"),
    Case(
        "Conv", [IMAGE, reals(8, 1, 3, 3)], {"group": 4, "auto_pad": "SAME_UPPER", "strides": [2, 2]}, note="depthwise"
    ),
    Case("Conv", [IMAGE, reals(3, 4, 2, 2)], {"auto_pad": "SAME_LOWER"}, note="same-lower"),
    Case("Conv", [IMAGE, reals(3, 4, 2, 2)], {"auto_pad": "VALID", "kernel_shape": [2, 2]}, note="valid"),
    Case("Conv", [reals(2, 3, 9), reals(4, 3, 3), reals(4)], {"pads": [1, 2], "strides": [2]}, known=(1, 2), note="1d"),
    Case("MaxPool", [IMAGE], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
    Case("MaxPool", [reals(2, 3, 9)], {"kernel_shape": [3], "strides": [2]}, note="1d"),
    Case("MaxPool", [reals(1, 1, 8, 8)], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, note="ceil"),
    Case("AveragePool", [IMAGE], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
    Case("AveragePool", [IMAGE], {"kernel_shape": [3, 2], "pads": [1, 0, 1, 1], "count_include_pad": 1}, note="padded"),
    Case("AveragePool", [reals(1, 1, 8, 8)], {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}, note="ceil"),
    # movement
    Case("Reshape", [X, ints(0, -1, 2)], known=(1,)),
    Case("Reshape", [X, ints(4, 6)], {"allowzero": 1}, known=(1,)),
    *(Case("Flatten", [X], {"axis": axis}, note=f"axis={axis}") for axis in (0, 2, 3, -1)),
    Case("Squeeze", [reals(1, 3, 1), ints(-1)], known=(1,)),
    Case("Squeeze", [reals(1, 3, 1)], note="all"),
    Case("Squeeze", [reals(1, 3, 1)], {"axes": [0]}, opset=11),
    Case("Unsqueeze", [X, ints(0, -1)], known=(1,)),
    Case("Unsqueeze", [X], {"axes": [3, 1]}, opset=11, value=X.reshape(2, 1, 3, 1, 4)),
    Case("Transpose", [X], {"perm": [1, 2, 0]}),
    Case("Transpose", [X], note="reverse"),
    *(Case("DepthToSpace", [reals(2, 8, 2, 3)], {"blocksize": 2, "mode": mode}, note=mode) for mode in ("DCR", "CRD")),
    Case("SpaceToDepth", [reals(2, 2, 4, 6)], {"blocksize": 2}),
    Case("Expand", [reals(3, 1), ints(2, 1, 4)], known=(1,)),
    Case("Tile", [reals(2, 3), ints(3, 2)], known=(1,)),
    Case("Concat", [X, reals(2, 1, 4), reals(2, 2, 4)], {"axis": -2}, known=(2,)),
    Case("Concat", [X], {"axis": 0}, note="one"),
    Case("Split", [X], {"axis": 1, "num_outputs": 2}, outputs=2, note="uneven"),
    Case("Split", [X, ints(1, 3)], {"axis": 2}, known=(1,), outputs=2),
    Case("Split", [X], {"axis": 2, "split": [3, 1]}, opset=11, outputs=2),
    Case("Split", [X], {"axis": 2}, opset=13, outputs=2, note="even"),
    Case("Pad", [X, ints(0, 1, 2, 1, 0, 0), np.asarray(2.5)], known=(1, 2)),
    Case("Pad", [X, ints(0, 1, 2, 1, 0, 0), np.asarray(2.5)], known=(1,), note="value-at-run-time"),
    Case("Pad", [X], {"pads": [0, 1, 0, 0, 2, 0], "value": -1.5}, opset=10, note="attributes"),
    Case(
        "Pad",
        [X, ints(-1, 1, 0, 2), None, ints(-1, 1)],
        known=(1, 3),
        value=np.pad(X, ((0, 0), (1, 2), (0, 0)))[:, :, 1:],
        note="axes-and-cut",
    ),
    # selection
    Case("Slice", [X, ints(1, -3), ints(2, 100), ints(1, 2)], known=(1, 2, 3)),
    Case("Slice", [X, ints(-1, 0), ints(-99, 4), ints(1, 2), ints(-1, 2)], known=(1, 2, 3, 4), note="steps"),
    Case("Slice", [X], {"starts": [1], "ends": [3], "axes": [2]}, opset=9),
    Case("Gather", [reals(5, 4), np.asarray([[0, 3], [4, 1]])]),
    Case("Gather", [X, np.asarray([2, 0])], {"axis": 1}, note="axis"),
    Case("Gather", [X, np.asarray(-1)], {"axis": 1}, known=(1,), note="scalar"),
    Case("Gather", [X, ints(1, 2)], {"axis": 2}, known=(1,), note="run"),
    Case("Gather", [X, np.asarray([[0, -1], [2, 2]])], {"axis": 1}, known=(1,), note="negative"),
    Case("Gather", [reals(5, 4), ints(4, 0)], known=(0, 1), note="known"),
    # imported through the function body that ONNX gives them
    Case("Mish", [SIGNS]),
    Case("Softsign", [SIGNS]),
    Case("ThresholdedRelu", [SIGNS], {"alpha": 0.5}),
    Case("MeanVarianceNormalization", [IMAGE.astype(np.float32)], tolerance=1e-6),
    Case("GroupNormalization", [IMAGE, reals(4), reals(4)], {"num_groups": 2}, known=(1, 2), opset=21, tolerance=1e-6),
    Case("RMSNormalization", [X, reals(4)], known=(1,), opset=23, tolerance=1e-6),
    Case("Swish", [SIGNS], opset=24),
]


def check(case: Case, model_of) -> None:
    names = [f"x{index}" if array is not None else "" for index, array in enumerate(case.inputs)]
    arrays = {name: array for name, array in zip(names, case.inputs, strict=True) if array is not None}
    initializers = {f"x{index}": arrays.pop(f"x{index}") for index in case.known}
    node = helper.make_node(
        case.op, names, [f"y{index}" for index in range(case.outputs)], name="the node", **case.attributes
    )
    values = None if case.value is None else [case.value]
    model = model_of(node, arrays, initializers, opset=case.opset, values=values)
    results = ReferenceEvaluator(model).run(None, arrays) if values is None else values
    program = load(model)
    found = evaluate(program, arrays, precision="fp64")
    assert list(found) == [f"y{index}" for index in range(case.outputs)]
    for output, reference in zip(found.values(), results, strict=True):
        reference = np.asarray(reference)
        assert output.shape == reference.shape
        assert output.dtype == (np.float64 if reference.dtype == np.float32 else reference.dtype)
        scale = np.abs(reference[np.isfinite(reference)]).max(initial=1.0) if reference.dtype.kind == "f" else 0
        np.testing.assert_allclose(output, reference, rtol=0, atol=case.tolerance * scale)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_converter_agrees_with_the_reference(case, model_of):
    check(case, model_of)


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ({"value": onnx.numpy_helper.from_array(np.asarray([[1.5, 2.5]]), "")}, np.asarray([[1.5, 2.5]])),
        ({"value_float": 0.5}, np.asarray(0.5, np.float32)),
        ({"value_floats": [0.5, 1.5]}, np.asarray([0.5, 1.5], np.float32)),
        ({"value_int": 3}, np.asarray(3)),
        ({"value_ints": [3, 4]}, np.asarray([3, 4])),
    ],
)
def test_constants(attributes, value, model_of):
    program = load(model_of(helper.make_node("Constant", [], ["y"], **attributes), {}))
    (found,) = evaluate(program, {}, precision="native").values()
    assert found.dtype == value.dtype
    assert np.array_equal(found, value)


# --- properties --------------------------------------------------------------------------------------------------


@given(data=st.data())
def test_any_slice(data):
    extent = data.draw(st.integers(1, 6))
    bound = st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63)])
    start, end = data.draw(bound), data.draw(bound)
    step = data.draw(st.sampled_from([-3, -1, 1, 2]))
    places = ints(start), ints(end), ints(0), ints(step)
    x = np.arange(extent, dtype=np.float64)
    expected = x[slicing(extent, start, end, step)]
    nodes = [helper.make_node("Slice", ["x", "s", "e", "a", "t"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "slice",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, [extent])],
        [helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, expected.shape)],
        [onnx.numpy_helper.from_array(a, n) for n, a in zip("seat", places, strict=True)],
    )
    program = load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8))
    assert np.array_equal(evaluate(program, {"x": x}, precision="fp64")["y"], expected)


def slicing(extent: int, start: int, end: int, step: int) -> list[int]:
    """The places of an ONNX slice by its specification: clamp to [0, n] (forwards) or [-1, n - 1] (backwards)."""
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    start = min(max(start + extent if start < 0 else start, 0), high)
    end = min(max(end + extent if end < 0 else end, low), extent)
    return list(range(start, end, step))


def windows(x: np.ndarray, fill: float, kernel, strides, pads, ceil_mode: bool) -> list[list[np.ndarray]]:
    """The cells under each window of the padded image, [N, C, at most KH, at most KW], by ONNX's specification.

    With `ceil_mode` a window may hang over the end of the padded image, but not start after the image's last cell
    and leading padding.
    """
    padded = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    starts = []
    for axis in range(2):
        size = padded.shape[2 + axis]
        last = size - 1 if ceil_mode else size - kernel[axis]
        begins = [b for b in range(0, last + 1, strides[axis]) if b < pads[axis] + x.shape[2 + axis]]
        fitting = [b for b in begins if b + kernel[axis] <= size]
        over = begins[len(fitting) : len(fitting) + 1] if fitting and fitting[-1] + kernel[axis] < size else []
        starts.append(fitting + over)
    return [[padded[:, :, r : r + kernel[0], c : c + kernel[1]] for c in starts[1]] for r in starts[0]]


@given(data=st.data())
def test_any_window(data):
    """Convolution and pooling with any extents, pads, strides and padding rule, against the definition."""
    space = data.draw(st.tuples(st.integers(3, 7), st.integers(3, 7)))
    kernel = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    strides = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    rule = data.draw(st.sampled_from(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]))
    if rule == "NOTSET":
        pads = [data.draw(st.integers(0, extent - 1)) for extent in (*kernel, *kernel)]
    elif rule == "VALID":
        pads = [0, 0, 0, 0]
    else:
        total = [max((math.ceil(n / s) - 1) * s + k - n, 0) for n, k, s in zip(space, kernel, strides, strict=True)]
        less, more = [t // 2 for t in total], [t - t // 2 for t in total]
        pads = less + more if rule == "SAME_UPPER" else more + less
    padding = {"pads": pads} if rule == "NOTSET" else {"auto_pad": rule}
    op = data.draw(st.sampled_from(["Conv", "MaxPool", "AveragePool"]))
    x = RNG.standard_normal((1, 2, *space))
    weight = RNG.standard_normal((3, 2, *kernel))
    ceil_mode = op != "Conv" and rule == "NOTSET" and data.draw(st.booleans())
    count_pads = op == "AveragePool" and data.draw(st.booleans())
    cells = windows(x, 0.0 if op == "Conv" or count_pads else np.nan, kernel, strides, pads, ceil_mode)
    functions = {
        "Conv": lambda window: np.einsum("nchw,ochw->no", window, weight),
        "MaxPool": lambda window: np.nanmax(window, axis=(2, 3)),
        "AveragePool": lambda window: np.nanmean(window, axis=(2, 3)),
    }
    expected = np.moveaxis(np.asarray([[functions[op](window) for window in row] for row in cells]), (0, 1), (2, 3))
    extra = {"Conv": {}, "MaxPool": {"ceil_mode": int(ceil_mode)}}.get(
        op, {"ceil_mode": int(ceil_mode), "count_include_pad": int(count_pads)}
    )
    names = ["x", "w"] if op == "Conv" else ["x"]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], kernel_shape=kernel, strides=strides, **padding, **extra)],
        "window",
        [helper.make_tensor_value_info("x", onnx.TensorProto.DOUBLE, x.shape)],
        [onnx.ValueInfoProto(name="y")],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    if count_pads and ceil_mode:
        with contextlib.suppress(OnnxImportError):  # refused if the windows hang over one edge only
            found = evaluate(load(model), {"x": x}, precision="fp64")["y"]
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        return
    found = evaluate(load(model), {"x": x}, precision="fp64")["y"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
