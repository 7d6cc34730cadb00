"""The interface of ONNX backends: preparing, running, binding what has to be known, both devices."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tx8ir.core import f32, i64
from tx8ir.dialects import pd
from tx8ir.frontends.onnx import OnnxImportError, OnnxNode, backend, load, register_operator

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def model_of(nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], opset: int = 20) -> onnx.ModelProto:
    graph = helper.make_graph(nodes, "graph", inputs, [onnx.ValueInfoProto(name="y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def reshaping() -> onnx.ModelProto:
    info = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("s", TensorProto.INT64, [2]),
    ]
    return model_of([helper.make_node("Reshape", ["x", "s"], ["y"], name="shaping")], info)


@pytest.mark.parametrize("device", backend.DEVICES)
def test_a_node_runs_on_each_device(device: str) -> None:
    assert backend.supports_device(device)
    (y,) = backend.run_node(helper.make_node("Add", ["x", "x"], ["y"]), [X], device)
    assert np.array_equal(y, X + X)


def test_no_other_device() -> None:
    assert not backend.supports_device("CUDA")
    with pytest.raises(ValueError, match="unknown device 'CUDA'; expected one of CPU, TX8"):
        backend.prepare(reshaping(), "CUDA")


def test_a_shape_that_is_an_input_is_bound_at_each_run_and_kept() -> None:
    prepared = backend.prepare(reshaping())
    assert prepared.programs == []
    assert prepared.run([X, np.asarray([3, 2])]).y.shape == (3, 2)
    assert prepared.run({"x": X, "s": np.asarray([6, 1])})["y"].shape == (6, 1)
    assert prepared.run([X + 1, np.asarray([3, 2])])[0][0, 0] == 1
    assert len(prepared.programs) == 2


def test_a_constant_is_bound_once() -> None:
    prepared = backend.prepare(reshaping(), constants={"s": np.asarray([1, 6])})
    assert len(prepared.programs) == 1
    assert prepared.run(X).y.shape == (1, 6)


def test_open_dimensions_are_those_of_the_inputs() -> None:
    info = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])]
    prepared = backend.prepare(model_of([helper.make_node("Relu", ["x"], ["y"])], info))
    assert prepared.run([X]).y.shape == (2, 3)
    assert prepared.run([X[:1]]).y.shape == (1, 3)


def test_what_no_input_can_help_is_refused_when_prepared() -> None:
    broken = model_of([helper.make_node("StringSplit", ["x"], ["y"])], [])
    assert not backend.is_compatible(broken)
    with pytest.raises(OnnxImportError, match="the operator is not supported"):
        backend.prepare(broken)


def test_inputs_that_do_not_fit_are_named() -> None:
    prepared = backend.prepare(reshaping())
    with pytest.raises(ValueError, match="3 inputs are given; the model has 2: x, s"):
        prepared.run([X, X, X])
    with pytest.raises(ValueError, match="'z' is not an input of the model; inputs are x, s"):
        prepared.run({"z": X})


def test_sequences_go_in_and_out_as_lists() -> None:
    info = [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None)]
    nodes = [
        helper.make_node("SequenceAt", ["s", "first"], ["a"]),
        helper.make_node("SequenceInsert", ["s", "a"], ["y"]),
    ]
    model = model_of(nodes, info)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(0), "first"))
    prepared = backend.prepare(model)
    (outputs,) = prepared.run([[X, X[:1]]])
    assert [part.shape for part in outputs] == [(2, 3), (1, 3), (2, 3)]


def test_a_loop_becomes_its_steps() -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["a", "x"], ["b"]), helper.make_node("Identity", ["go"], ["still"])],
        "body",
        [onnx.ValueInfoProto(name=name) for name in ("i", "go", "a")],
        [onnx.ValueInfoProto(name=name) for name in ("still", "b")],
    )
    info = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
        helper.make_tensor_value_info("n", TensorProto.INT64, []),
    ]
    prepared = backend.prepare(model_of([helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)], info))
    assert np.array_equal(prepared.run([X, np.asarray(3)]).y, 4 * X)
    assert np.array_equal(prepared.run([X, np.asarray(0)]).y, X)


def test_an_operator_of_another_domain_is_registered() -> None:
    @register_operator("Halve", domain="com.example.test", attributes=("bias",))
    def halve(node: OnnxNode) -> object:
        return pd.scale(node.operand(0), scale=0.5, bias=node.float("bias", 0.0))

    node = helper.make_node("Halve", ["x"], ["y"], domain="com.example.test", bias=1.0)
    model = model_of([node], [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])])
    model.opset_import.append(helper.make_opsetid("com.example.test", 1))
    assert np.array_equal(backend.run_model(model, [X])[0], X / 2 + 1)
    with pytest.raises(ValueError, match=r"ONNX operator com\.example\.test::Halve has two converters"):
        register_operator("Halve", domain="com.example.test")(halve)


def test_an_unknown_operator_can_be_kept_as_it_is() -> None:
    node = helper.make_node("Secret", ["x"], ["a"], name="hidden", domain="com.example", alpha=0.5, names=[1, 2])
    model = model_of([node, helper.make_node("Relu", ["a"], ["y"])], [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    ])  # fmt: skip
    with pytest.raises(OnnxImportError, match="output 'a' of an operator that is not known needs a static type"):
        load(model, opaque=True)
    model.graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.INT64, [4]))
    text = str(load(model, opaque=True))
    assert '"onnx.com.example.Secret"(%arg0) {alpha = 0.5' in text
    assert f"!pd.vtensor<4x{i64}>" in text
    assert str(f32) in text


@pytest.mark.parametrize(
    ("given", "to", "found"),
    [
        (np.asarray([200, -129], np.int32), np.int8, [-56, 127]),
        (np.asarray([2**40 + 5], np.int64), np.int32, [5]),
        (np.asarray([300, -1], np.int16), np.uint8, [44, 255]),
    ],
)
def test_integers_wrap_when_they_are_cast(given: np.ndarray, to: type, found: list[int]) -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))
    for values in (given,):
        (y,) = backend.run_node(node, [values])
        assert y.dtype == to
        assert y.tolist() == found


def test_floats_of_8_bits_go_in_and_out() -> None:
    import ml_dtypes

    numbers = np.asarray([0.3, -500.0, np.nan, 1e-9, 17.0], np.float32)
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT8E4M3FN)
    (codes,) = backend.run_node(node, [numbers])
    assert codes.dtype == ml_dtypes.float8_e4m3fn
    assert np.array_equal(codes.astype(np.float32), [0.3125, -448.0, np.nan, 0.0, 16.0], equal_nan=True)
    (back,) = backend.run_node(helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT), [codes])
    assert np.array_equal(back, codes.astype(np.float32), equal_nan=True)
