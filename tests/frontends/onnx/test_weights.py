"""What becomes of initialisers: names, types, constants, and that their bytes are shared, mapped, or copied once."""

from __future__ import annotations

import tracemalloc

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tx8ir.core import MappedTensor, VTensorType, bf16, f16, i4
from tx8ir.frontends.onnx import OnnxImportError, load
from tx8ir.interpreter import evaluate


def model(nodes, initializers, *, x=(TensorProto.FLOAT, [2, 3]), opset=20, functions=(), **domains) -> onnx.ModelProto:
    tensors = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(value, name)
        for name, value in initializers.items()
    ]
    graph = helper.make_graph(
        nodes, "test", [helper.make_tensor_value_info("x", *x)], [onnx.ValueInfoProto(name="y")], tensors
    )
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, v) for d, v in domains.items())]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)


def add(left: str, right: str, out: str = "y") -> onnx.NodeProto:
    return helper.make_node("Add", [left, right], [out], name=f"add_{right}")


def operations(program, name: str) -> list:
    return [op for op in program.main.body.block if op.name == name]


def test_a_weight_is_a_view_of_the_decoded_bytes():
    weight = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = load(model([add("x", "w")], {"w": weight})).weights["w"].numpy()
    assert not array.flags.owndata
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, bytes), "the buffer is the bytes object that protobuf made, not a copy of it"
    assert np.array_equal(array, weight)


def test_large_weights_are_copied_at_most_once(tmp_path):
    weight = np.zeros((1024, 1024), np.float32)
    path = tmp_path / "model.onnx"
    onnx.save(
        model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": weight}, x=(TensorProto.FLOAT, [1, 1024])), path
    )
    tracemalloc.start()
    try:
        program = load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert program.weights["w"].numpy().nbytes == weight.nbytes
    assert peak < 1.1 * weight.nbytes, "the file's bytes and the weight are never there at the same time"


def external(tmp_path, location: str = "weights.bin", **facts: object) -> onnx.ModelProto:
    """A model whose weight [2, 3] lies at byte 64 of an external file."""
    (tmp_path / "weights.bin").write_bytes(bytes(64) + np.arange(6, dtype=np.float32).tobytes())
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, "offset": 64, "length": 24, **facts}.items():
        tensor.external_data.add(key=key, value=str(value))
    return model([add("x", "w")], {"w": tensor})


def test_external_data_is_mapped_and_not_read(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(external(tmp_path).SerializeToString())
    program = load(path)
    data = program.weights["w"].data
    assert isinstance(data, MappedTensor)
    assert data.file._map is None, "nothing is read on import"
    x = np.ones((2, 3), np.float32)
    assert np.array_equal(evaluate(program, {"x": x})["y"], x + np.arange(6).reshape(2, 3))
    assert np.shares_memory(data, data)


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"location": "../weights.bin"}, "path '../weights.bin' leaves the folder"),
        ({"location": ""}, "'' is not a file name"),
        ({"location": "other.bin"}, "expected a regular file, found nothing there"),
        ({"offset": 80}, "a tensor of 24 bytes at offset 80 does not lie inside the file, which has 88 bytes"),
        ({"offset": -64}, "at offset -64 does not lie inside the file"),
        ({"length": 20}, "has length 20, but !pd.vtensor<2x3xf32> takes 24 bytes"),
        ({"length": "many"}, "external data of tensor 'w' is malformed"),
    ],
)
def test_external_data_that_is_not_there(tmp_path, facts, message):
    path = tmp_path / "model.onnx"
    path.write_bytes(external(tmp_path, **facts).SerializeToString())
    with pytest.raises(OnnxImportError, match=r"node 'add_w' \(Add, opset 20\): ") as caught:
        load(path)
    assert message in caught.value.message


def test_external_data_needs_the_path_of_the_model(tmp_path):
    with pytest.raises(OnnxImportError, match=r"in the file 'weights.bin' next to the model; load .* from its path"):
        load(external(tmp_path))


@pytest.mark.parametrize(
    ("dtype", "element"),
    [(np.float16, f16), (ml_dtypes.bfloat16, bf16), (ml_dtypes.int4, i4)],
)
def test_narrow_weights_keep_their_type(dtype, element):
    weight = np.arange(6000).reshape(2000, 1, 3) % 5 - 2
    program = load(model([helper.make_node("Cast", ["w"], ["c"], to=1), add("x", "c")], {"w": weight.astype(dtype)}))
    assert program.weights["w"].type.element is element
    assert np.array_equal(program.weights["w"].numpy().astype(int), weight)


def test_data_in_typed_fields():
    tensor = helper.make_tensor("w", TensorProto.FLOAT, [2, 3], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert tensor.float_data
    program = load(model([add("x", "w")], {"w": tensor}))
    assert program.weights["w"].numpy().tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_single_element_is_a_constant_and_made_once():
    nodes = [add("x", "half", "a"), add("a", "half", "b"), add("b", "row")]
    program = load(model(nodes, {"half": np.asarray(0.5, np.float32), "row": np.ones((1, 1), np.float32)}))
    assert len(program.weights) == 0
    constants = operations(program, "builtin.constant")
    assert [str(op.results[0].type) for op in constants] == ["!pd.vtensor<f32>", "!pd.vtensor<1x1xf32>"]
    assert [op.location.name for op in constants] == ["half", "row"]


def test_what_no_output_needs_is_left_out():
    nodes = [helper.make_node("Unheard", ["x"], ["u"]), add("x", "w")]
    initializers = {"w": np.ones(3, np.float32), "unused": np.ones(3, np.float32)}
    assert list(load(model(nodes, initializers)).weights) == ["w"]


def test_a_default_for_an_input_is_a_weight():
    """Until IR version 4 an initialiser had to be listed among the inputs; its value is taken as final."""
    old = model([add("x", "w")], {"w": np.ones(3, np.float32)})
    old.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    old.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "unused"))
    old.graph.input.append(helper.make_tensor_value_info("unused", TensorProto.FLOAT, [3]))
    assert list(load(old).inputs) == ["x"]


def test_shape_computations_are_folded():
    """Shape, Gather, Unsqueeze, Concat, Reshape: what exporters make of x.view(x.shape[1], -1)."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["extent"]),
        helper.make_node("Unsqueeze", ["extent", "zero"], ["row"]),
        helper.make_node("Concat", ["row", "rest"], ["target"], axis=0),
        helper.make_node("Reshape", ["x", "target"], ["y"]),
    ]
    steering = {"one": np.asarray(1), "zero": np.asarray([0]), "rest": np.asarray([-1])}
    program = load(model(nodes, steering))
    assert [op.name for op in program.main.body.block] == ["pd.reshape", "func.return"]
    assert len(program.weights) == 0
    assert program.outputs["y"] is VTensorType((3, 2), program.inputs["x"].element)


def test_small_constants_are_folded_and_large_ones_left_to_the_passes():
    def count(extent: int) -> int:
        nodes = [helper.make_node("Sqrt", ["w"], ["s"]), add("x", "s")]
        return len(operations(load(model(nodes, {"w": np.ones((extent, 1, 3), np.float32)})), "pd.sqrt"))

    assert count(1) == 0
    assert count(2000) == 1


def test_a_function_of_the_model_is_inlined():
    body = helper.make_function(
        "mine", "Shifted", ["a", "b"], ["c"],
        [helper.make_node("Add", ["a", "b"], ["t"]), helper.make_node("Relu", ["t"], ["c"])],
        [helper.make_opsetid("", 20)],
    )  # fmt: skip
    call = helper.make_node("Shifted", ["x", "w"], ["y"], domain="mine")
    program = load(model([call], {"w": np.full(3, -2, np.float32)}, functions=[body], mine=1))
    assert [op.name for op in program.main.body.block if op.name.startswith("pd.")] == ["pd.add", "pd.relu"]
    x = np.asarray([[1, 2, 3], [4, 5, 6]], np.float32)
    assert np.array_equal(evaluate(program, {"x": x})["y"], np.maximum(x - 2, 0))


def test_functions_in_functions_are_inlined_with_their_default_attributes():
    """Swish has a body in ONNX and no converter; its attribute alpha is 1 where it is not written."""
    body = helper.make_function(
        "mine", "Twice", ["a"], ["c"],
        [helper.make_node("Swish", ["a"], ["b"]), helper.make_node("Add", ["b", "b"], ["c"])],
        [helper.make_opsetid("", 24)],
    )  # fmt: skip
    call = helper.make_node("Twice", ["x"], ["y"], domain="mine")
    program = load(model([call], {"unused": np.ones(3, np.float32)}, opset=24, functions=[body], mine=1))
    x = np.linspace(-2, 3, 6).reshape(2, 3)
    assert list(program.inputs) == ["x"]
    found = evaluate(program, {"x": x.astype(np.float32)}, precision="fp64")["y"]
    np.testing.assert_allclose(found, 2 * x / (1 + np.exp(-x)), rtol=1e-6)


def test_the_model_given_is_not_changed():
    given = model([helper.make_node("Mish", ["w"], ["m"]), add("x", "m")], {"w": np.ones(3, np.float32)})
    before = given.SerializeToString()
    load(given)
    assert given.SerializeToString() == before
