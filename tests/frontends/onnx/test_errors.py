"""What the ONNX front end refuses, and what it says then: file, node, operator, opset, and what is supported."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tx8ir.core import IrError
from tx8ir.frontends.onnx import OnnxImportError, load


def ints(*values: int) -> np.ndarray:
    return np.asarray(values, np.int64)


def model(
    nodes,
    *,
    x=(TensorProto.FLOAT, [2, 3]),
    y=None,
    initializers=None,
    opset: int = 20,
    outputs=("y",),
    extra_inputs=(),
) -> onnx.ModelProto:
    """A model with an input x, the given nodes, and outputs without a declared type unless `y` says one."""
    graph = helper.make_graph(
        [nodes] if isinstance(nodes, onnx.NodeProto) else nodes,
        "test",
        [helper.make_tensor_value_info("x", *x), *extra_inputs],
        [onnx.ValueInfoProto(name=name) if y is None else helper.make_tensor_value_info(name, *y) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (initializers or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def refusal(source, **options) -> OnnxImportError:
    with pytest.raises(OnnxImportError) as caught:
        load(source, **options)
    error = caught.value
    assert isinstance(error, IrError)
    assert isinstance(error, ValueError)
    assert "\n" not in error.message, "one paragraph"
    return error


def node(op: str, *inputs: str, outputs: tuple[str, ...] = ("y",), **attributes) -> onnx.NodeProto:
    return helper.make_node(op, inputs or ["x"], outputs, name="the node", **attributes)


# --- the file ----------------------------------------------------------------------------------------------------


def test_a_missing_file(tmp_path):
    error = refusal(tmp_path / "nothing.onnx")
    assert error.message == f"{tmp_path}/nothing.onnx: cannot be read: expected an ONNX model, found nothing there"
    assert error.file == f"{tmp_path}/nothing.onnx"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip file", b'{"json": 1}', b"\x08\x0a"])
def test_a_file_that_is_no_onnx_model(tmp_path, content):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    assert refusal(path).message.startswith(f"{path}: is not an ONNX model, or is truncated: ")


@pytest.mark.parametrize("part", [0.01, 0.3, 0.6, 0.9, 0.99])
def test_a_truncated_file(tmp_path, part):
    content = model(node("Relu"), initializers={"w": np.zeros(100, np.float32)}).SerializeToString()
    path = tmp_path / "model.onnx"
    path.write_bytes(content[: int(len(content) * part)])
    assert "truncated" in refusal(path).message


def test_a_file_cut_between_its_fields_lacks_its_opset():
    whole = model(node("Relu"))
    del whole.opset_import[:]
    expected = (
        "<bytes>: declares no version of the standard operator set; expected one (a file without it may be truncated)"
    )
    assert refusal(whole.SerializeToString()).message == expected


def test_an_opset_of_the_future():
    newest = onnx.defs.onnx_opset_version()
    assert refusal(model(node("Relu"), opset=newest + 1)).message == (
        f"<ModelProto>: uses opset {newest + 1}; the installed onnx {onnx.__version__} knows opsets 1 to {newest}"
    )


def test_the_package_onnx_is_an_extra():
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import tx8ir.frontends\n"
        "try:\n    tx8ir.frontends.onnx\n"
        "except ImportError as error:\n    print(error)"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out == "the ONNX front end needs the package 'onnx': pip install tx8ir[onnx]\n"


# --- operators ---------------------------------------------------------------------------------------------------


def test_an_unsupported_operator():
    error = refusal(model(node("StringSplit")))
    assert (error.node, error.operator, error.opset) == ("the node", "StringSplit", 20)
    assert error.message == (
        "<ModelProto>: node 'the node' (StringSplit, opset 20): the operator is not supported: StringSplit (version 20)"
        " at node 'the node'; docs/reference/onnx.md lists those that are, and `register_operator` adds others"
    )


def test_an_unnamed_node_is_named_by_its_output():
    assert refusal(model(helper.make_node("StringSplit", ["x"], ["y"]))).node == "y"


def test_an_operator_of_another_domain():
    assert (
        "(FusedMatMul, opset 20): the operator is not supported: com.microsoft::FusedMatMul (version 0) at node"
        in refusal(model(node("FusedMatMul", domain="com.microsoft"))).message
    )


def test_all_operators_that_are_lacking_are_reported_at_once():
    inner = helper.make_graph(
        [helper.make_node("Secret", ["x"], ["z"], name="inside", domain="com.example")],
        "branch", [], [onnx.ValueInfoProto(name="z")],
    )  # fmt: skip
    nodes = [
        helper.make_node("StringNormalizer", ["x"], ["a"], name="first"),
        helper.make_node("Relu", ["x"], ["b"]),
        helper.make_node("If", ["c"], ["d"], name="choice", then_branch=inner, else_branch=inner),
        helper.make_node("Sum", ["a", "b", "d"], ["y"]),
    ]
    error = refusal(model(nodes, initializers={"c": np.asarray(True)}))
    assert {(m.operator, m.domain, m.version, m.node, m.place) for m in error.missing} == {
        ("StringNormalizer", "", 10, "first", ""),
        ("Secret", "com.example", 0, "inside", "choice/else_branch"),
        ("Secret", "com.example", 0, "inside", "choice/then_branch"),
    }
    assert error.message.startswith(
        "<ModelProto>: 3 nodes of 2 operators are not supported: StringNormalizer (version 10) at node 'first'; "
        "com.example::Secret (version 0) at node 'choice/"
    )


def test_an_operator_that_the_opset_does_not_have():
    assert refusal(model(node("Gelu"), opset=19)).message == (
        "<ModelProto>: node 'the node' (Gelu, opset 19): no such operator in this opset of the standard domain"
    )


def test_an_old_operator_that_does_not_broadcast_so():
    assert refusal(model(node("Add", "x", "x", axis=1, broadcast=1), opset=6)).message == (
        "<ModelProto>: node 'the node' (Add, opset 6): attribute axis is 1; !pd.vtensor<2x3xf32> does not fit "
        "!pd.vtensor<2x3xf32> there"
    )


def test_an_error_in_a_graph_inside_names_the_node_there():
    branch = helper.make_graph(
        [helper.make_node("Softmax", ["x"], ["z"], name="inside", axis=7)],
        "branch", [], [onnx.ValueInfoProto(name="z")],
    )  # fmt: skip
    condition = {"c": np.asarray(True)}
    error = refusal(model(node("If", "c", then_branch=branch, else_branch=branch), initializers=condition))
    assert error.node == "the node/inside"


def test_what_has_to_be_known_names_the_inputs_it_depends_on():
    given = [helper.make_tensor_value_info("w", TensorProto.INT64, [2])]
    shapes = [helper.make_node("Abs", ["w"], ["s"]), node("Reshape", "x", "s")]
    error = refusal(model(shapes, extra_inputs=given))
    assert error.needs == ("w",)
    assert "it depends on the inputs w (constants=…)" in error.message
    program = load(model(shapes, extra_inputs=given), constants={"w": np.asarray([3, -2])})
    assert list(program.inputs) == ["x"]
    assert [str(type_) for type_ in program.outputs.values()] == ["!pd.vtensor<3x2xf32>"]


# --- attributes and steering inputs ------------------------------------------------------------------------------

NODE_ERRORS = {
    "unknown attribute": (node("Relu", colour=1), {}, "attribute colour is not supported; none is supported"),
    "unknown attribute of many": (
        node("Softmax", axes=1),
        {},
        "attribute axes is not supported; supported are axis",
    ),
    "attribute of another kind": (
        node("Softmax", axis=1.0),
        {},
        "attribute axis is of kind FLOAT; expected INT",
    ),
    "attribute value": (
        node("Gelu", approximate="fast"),
        {},
        "attribute approximate is 'fast'; supported are 'none', 'tanh'",
    ),
    "missing attribute": (node("Cast"), {}, "attribute to is missing; operator Cast needs it"),
    "axis": (node("Softmax", axis=2), {}, "attribute axis is [2]; expected different axes of a tensor of rank 2"),
    "not a flag": (node("ReduceSum", keepdims=2), {}, "attribute keepdims is 2; expected 0 or 1"),
    "cast": (
        node("Cast", to=TensorProto.STRING),
        {},
        "attribute to: element type STRING is not supported; supported are FLOAT, DOUBLE",
    ),
    "undefined input": (
        node("Add", "x", "z"),
        {},
        "an input is 'z', which is not a graph input, no initialiser, and no output of an earlier node",
    ),
    "absent input": (node("Add", "x"), {}, "input 1 is missing; the node has 1 inputs"),
    "element types": (
        node("Add", "x", "w"),
        {"w": ints(1, 2, 3)},
        "pd.add: operands have different element types: `x` f32, `y` i64; insert a pd.cast",
    ),
    "shapes": (node("MatMul", "x", "x"), {}, "pd.matmul: K differs: 3 in `x` [2, 3], 2 in `y` [2, 3]"),
    "shape at run time": (
        node("Expand", "x", "x"),
        {},
        "the shape (input 1, 'x') is computed at run time; it must be an initialiser or a constant",
    ),
    "shape of reals": (
        node("Expand", "x", "w"),
        {"w": np.ones(2)},
        "the shape (input 1) must be a list of integers, found float64 [2]",
    ),
    "reshape": (node("Reshape", "x", "w"), {"w": ints(4, -1)}, "the shape is [4, -1]; !pd.vtensor<2x3xf32> has 6"),
    "reshape sizes": (
        node("Reshape", "x", "w"),
        {"w": ints(7)},
        "!pd.vtensor<2x3xf32> has 6 elements and cannot become [7]",
    ),
    "squeeze": (node("Squeeze", "x", "w"), {"w": ints(0)}, "the list of axes is [0]; expected axes of extent 1"),
    "split": (
        node("Split", "x", "w", outputs=("y", "z")),
        {"w": ints(1, 2)},
        "the pieces [1, 2] do not make the extent 2 of 2 outputs",
    ),
    "gather": (
        node("Gather", "x", "w"),
        {"w": ints(0, 2)},
        "the indices must be integers from -2 to 1, for axis 0 of !pd.vtensor<2x3xf32>",
    ),
    "expand": (
        node("Expand", "x", "w"),
        {"w": ints(4)},
        "!pd.vtensor<2x3xf32> does not broadcast with the shape [4]",
    ),
    "conv rank": (
        node("Conv", "x", "w"),
        {"w": np.zeros((1, 2), np.float32)},
        "the input is !pd.vtensor<2x3xf32>; expected [N, C, D1, …]",
    ),
    "pad mode": (
        node("Pad", "x", "w", mode="odd"),
        {"w": ints(0, 1, 0, 1)},
        "attribute mode is 'odd'; supported are 'constant', 'edge', 'reflect', 'wrap'",
    ),
    "training": (
        node("Dropout", "x", "w", "t"),
        {"w": np.asarray(0.5, np.float32), "t": np.asarray(True)},
        "training_mode is true; only inference, or a ratio of 0, is supported",
    ),
    "too few statistics": (
        node("BatchNormalization", "x", "w", "w", "w"),
        {"w": np.ones(3, np.float32)},
        "input 4 is missing; the node has 4 inputs, operator BatchNormalization needs this one (input_var)",
    ),
    "a statistic left out": (
        node("BatchNormalization", "x", "w", "", "w", "w"),
        {"w": np.ones(3, np.float32)},
        "input 2 is missing; the node has 5 inputs, operator BatchNormalization needs this one (B)",
    ),
    "too many inputs": (node("Relu", "x", "x"), {}, "has 2 inputs; operator Relu has at most 1"),
    "too many outputs": (node("Relu", "x", outputs=("y", "z")), {}, "has 2 outputs; operator Relu has at most 1"),
    "second output": (
        [
            node("BatchNormalization", "x", "w", "w", "w", "w", outputs=("z", "indices", "other")),
            helper.make_node("Identity", ["indices"], ["y"]),
        ],
        {"w": np.ones(3, np.float32)},
        "output 1 ('indices') is used; only the first 1 are supported",
    ),
    "defined twice": (
        [helper.make_node("Relu", ["x"], ["y"]), node("Neg")],
        {},
        "'y' is defined twice; every name of a graph is defined once",
    ),
    "constant of nothing": (
        node("Constant", "", outputs=("y",)),
        {},
        "expected one of the attributes value, value_float, value_floats, value_int, value_ints; found none",
    ),
    "a huge constant": (
        node("ConstantOfShape", "w"),
        {"w": ints(2**20, 2**20)},
        "would make a constant of 1099511627776 elements; at most 268435456 are supported",
    ),
    "an impossible constant": (
        node("Range", "w", "w", "w"),
        {"w": ints(0)},
        "the step is 0",
    ),
}


@pytest.mark.parametrize("case", NODE_ERRORS)
def test_a_node_that_cannot_be_imported(case):
    nodes, initializers, message = NODE_ERRORS[case]
    error = refusal(model(nodes, initializers=initializers))
    assert re.match(r"<ModelProto>: node 'the node' \(\w+, opset 20\): ", error.message)
    assert message in error.message


# --- tensors -----------------------------------------------------------------------------------------------------


def test_an_initialiser_whose_data_does_not_fit():
    broken = model(node("Add", "x", "w"), initializers={"w": np.zeros(3, np.float32)})
    broken.graph.initializer[0].raw_data = b"12345"
    assert refusal(broken).message == (
        "<ModelProto>: node 'the node' (Add, opset 20): tensor 'w' has 5 bytes; !pd.vtensor<3xf32> takes 12"
    )


def test_an_initialiser_of_an_unsupported_element_type():
    broken = model(node("Add", "x", "w"), initializers={"w": np.zeros(3, np.complex64)})
    assert refusal(broken).message.startswith(
        "<ModelProto>: initialiser 'w': element type COMPLEX64 is not supported; supported are FLOAT, DOUBLE, FLOAT16"
    )


def test_an_output_that_is_a_broken_initialiser():
    broken = model([], initializers={"y": np.zeros(3, np.float32)})
    broken.graph.initializer[0].raw_data = b"12345"
    assert refusal(broken).message == ("<ModelProto>: output 'y': tensor 'y' has 5 bytes; !pd.vtensor<3xf32> takes 12")


def test_truth_values_that_are_neither():
    broken = model(node("Not", "w"), initializers={"w": np.zeros((2, 3), bool)})
    broken.graph.initializer[0].raw_data = b"\0\1\2\0\1\0"
    assert "tensor 'w' of truth values has bytes other than 0 and 1" in refusal(broken).message


def test_an_initialiser_with_a_negative_extent():
    broken = model(node("Add", "x", "w"), initializers={"w": np.zeros(3, np.float32)})
    broken.graph.initializer[0].dims[0] = -3
    assert "initialiser 'w': tensor 'w' has shape [-3]; expected extents >= 0" in refusal(broken).message


def test_typed_data_of_the_wrong_length():
    broken = model(node("Add", "x", "w"), initializers={"w": np.zeros(3, np.float32)})
    broken.graph.initializer[0].ClearField("raw_data")
    broken.graph.initializer[0].float_data.extend([1.0, 2.0])
    assert "data of tensor 'w' does not fit !pd.vtensor<3xf32>: " in refusal(broken).message


# --- shapes of inputs and outputs --------------------------------------------------------------------------------


def test_a_dynamic_shape_says_how_to_give_the_extents():
    dynamic = model(node("Relu"), x=(TensorProto.FLOAT, ["batch", None, 3]))
    assert refusal(dynamic).message == (
        "<ModelProto>: input 'x' has a dynamic shape: batch, x[1]; only static shapes are supported, "
        "give the extents: load(…, dimensions={'batch': 1, 'x[1]': 1})"
    )
    program = load(dynamic, dimensions={"batch": 4, "x[1]": 2})
    assert [str(type_) for type_ in program.inputs.values()] == ["!pd.vtensor<4x2x3xf32>"]
    assert refusal(dynamic, dimensions={"bach": 4}).message == (
        "<ModelProto>: dimensions['bach'] names no open dimension of an input; open are: batch, x[0], x[1]"
    )
    assert refusal(dynamic, dimensions={"batch": -1}).message == (
        "<ModelProto>: dimensions['batch'] is -1; expected an integer >= 0"
    )


def test_inputs_that_are_no_tensors_of_a_known_shape():
    assert refusal(model(node("Relu"), x=(TensorProto.FLOAT, None))).message == (
        "<ModelProto>: input 'x' has no shape, not even a rank; export the model with input shapes"
    )
    assert (
        "input 'x': element type STRING is not supported"
        in refusal(model(node("Relu"), x=(TensorProto.STRING, [1]))).message
    )
    sequence = model(node("Relu"))
    sequence.graph.input[0].CopyFrom(helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, [1]))
    error = refusal(sequence)
    assert error.message == "<ModelProto>: input 'x' is a sequence_type; its length has to be known: give its value"
    assert error.needs == ("x",)


@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        ((TensorProto.FLOAT, [2, 4]), "2x4xf32"),
        ((TensorProto.FLOAT, ["n", 3, 1]), "nx3x1xf32"),
        ((TensorProto.INT64, [2, 3]), "2x3xi64"),
    ],
)
def test_an_output_that_is_declared_otherwise(declared, shown):
    assert refusal(model(node("Relu"), y=declared)).message == (
        f"<ModelProto>: output 'y' is declared as {shown}, but its node gives !pd.vtensor<2x3xf32>"
    )


def test_outputs_that_nothing_gives():
    assert refusal(model(node("Relu"), outputs=("z",))).message == (
        "<ModelProto>: an output of the graph is 'z', which is not a graph input, no initialiser, "
        "and no output of an earlier node"
    )
    assert refusal(model(node("Relu"), outputs=())).message == "<ModelProto>: the graph has no outputs"
    assert refusal(model(node("Relu"), outputs=("y", "y"))).message == "<ModelProto>: an output is listed twice: y, y"


def test_nodes_in_the_wrong_order():
    nodes = [node("Neg", "z"), helper.make_node("Relu", ["x"], ["z"])]
    assert "an input is 'z', which is not a graph input" in refusal(model(nodes)).message


# --- anything ----------------------------------------------------------------------------------------------------

SOUND = model(
    [
        helper.make_node("Gemm", ["x", "w"], ["a"], transB=1),
        helper.make_node("Reshape", ["a", "s"], ["b"]),
        helper.make_node("Softmax", ["b"], ["y"], axis=0),
    ],
    initializers={"w": np.ones((4, 3), np.float32), "s": ints(-1)},
    y=(TensorProto.FLOAT, [8]),
).SerializeToString()


FUNCTIONS = model([helper.make_node("Mish", ["x"], ["a"]), helper.make_node("Twice", ["a"], ["y"], domain="mine")])
FUNCTIONS.functions.append(
    helper.make_function(
        "mine", "Twice", ["b"], ["d"],
        [helper.make_node("Swish", ["b"], ["c"]), helper.make_node("Add", ["c", "c"], ["d"])],
        [helper.make_opsetid("", 24)],
    )
)  # fmt: skip
FUNCTIONS.opset_import[0].version = 24
FUNCTIONS.opset_import.append(helper.make_opsetid("mine", 1))


@given(
    sound=st.sampled_from([SOUND, FUNCTIONS.SerializeToString()]),
    position=st.integers(0, 1000),
    value=st.integers(0, 255),
    cut=st.none() | st.integers(0, 1000),
)
def test_a_damaged_file_is_imported_or_refused(sound, position, value, cut):
    content = bytearray(sound)
    content[position % len(content)] = value
    with contextlib.suppress(OnnxImportError):
        load(bytes(content[:cut])).verify()


def test_an_operator_whose_body_onnx_cannot_write_is_refused_by_name(monkeypatch):
    def failing(*_):
        raise RuntimeError("Error parsing node: expected character = not found")

    monkeypatch.setattr("tx8ir.frontends.onnx.importer.schema_body", failing)
    error = refusal(model(node("Bernoulli")))
    assert error.node == "the node"
    assert "onnx cannot write this operator's body for the node: Error parsing node" in error.message


def test_what_has_to_be_one_number_is_refused_by_role():
    error = refusal(model(node("CumSum", "x", "axes"), initializers={"axes": ints(0, 1)}))
    assert "the axis (input 1) must be one number, found shape [2]" in error.message
