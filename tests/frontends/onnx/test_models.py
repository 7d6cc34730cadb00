"""The two bundled models: what they become, and how far their values are from PyTorch's."""

from __future__ import annotations

import collections
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

from tx8ir.core import Program, parse
from tx8ir.frontends.onnx import load
from tx8ir.interpreter import evaluate

MODELS = Path(__file__).parents[2] / "data" / "models"

# Error relative to the largest output, against PyTorch in double precision. What is measured in double precision is
# what the exporter rounded to single precision: resnet18 4.8e-7 (batch normalisation merged into the filters), gpt2
# 4.5e-9 (scalars). In single precision: resnet18 2.7e-6, gpt2 3.3e-7.
BOUNDS = {("resnet18", "fp64"): 1e-6, ("gpt2", "fp64"): 1e-8, ("resnet18", "native"): 1e-5, ("gpt2", "native"): 1e-5}


@pytest.fixture(scope="module", params=["resnet18", "gpt2"])
def model(request) -> tuple[str, Program, dict[str, np.ndarray], np.ndarray]:
    folder = MODELS / request.param
    with np.load(folder / "data.npz") as data:
        inputs = {name.removeprefix("in_"): data[name] for name in data.files if name.startswith("in_")}
        return request.param, load(folder / "model.onnx"), inputs, data["ref64_0"]


def relative_error(program: Program, inputs, reference: np.ndarray, precision) -> float:
    (found,) = evaluate(program, inputs, precision=precision).values()
    assert found.shape == reference.shape
    return float(np.abs(found - reference).max() / np.abs(reference).max())


@pytest.mark.parametrize("precision", ["fp64", "native"])
def test_values_agree_with_pytorch(model, precision):
    name, program, inputs, reference = model
    assert relative_error(program, inputs, reference, precision) <= BOUNDS[name, precision]


def test_double_precision_agrees_with_the_same_model_in_double_precision(model):
    """The exported numbers, computed by ONNX's reference implementation in fp64: here nothing is rounded away."""
    name, program, inputs, _ = model
    exported = in_double_precision(onnx.load(MODELS / name / "model.onnx"))
    wide = {key: x.astype(np.float64) if x.dtype == np.float32 else x for key, x in inputs.items()}
    (reference,) = ReferenceEvaluator(exported).run(None, wide)
    assert reference.dtype == np.float64
    assert relative_error(program, inputs, reference, "fp64") <= 1e-12


def in_double_precision(model: onnx.ModelProto) -> onnx.ModelProto:
    for tensor in model.graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))
    for value in (*model.graph.input, *model.graph.output):
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    return model


def test_public_names_are_those_of_the_model(model):
    name, program, inputs, _ = model
    assert list(program.inputs) == list(inputs) == (["pixel_values"] if name == "resnet18" else ["input_ids"])
    assert list(program.outputs) == ["logits"]


def test_every_operation_names_its_node(model):
    _, program, _, _ = model
    nodes = [op.location.name for op in program.main.body.block if op.name.startswith("pd.")]
    assert all(node.startswith("node_") for node in nodes)


def test_weights_are_parameters_and_steering_initialisers_are_not(model):
    name, program, _, _ = model
    assert all(variable.type.element.is_float for variable in program.weights.values())
    assert len(program.weights) == (42 if name == "resnet18" else 30)
    # Names of the model are kept.
    assert ("model.classifier.1.weight" if name == "resnet18" else "model.lm_head.weight") in program.weights


def test_operations_are_the_ones_expected(model):
    name, program, _, _ = model
    counts = collections.Counter(op.name for op in program.main.body.block)
    del counts["builtin.get_parameter"], counts["func.return"]
    if name == "resnet18":
        expected = {"conv2d": 20, "relu": 17, "add": 9, "pool2d": 1, "mean": 1, "reshape": 1, "matmul": 1}
    else:
        expected = {
            "reshape": 26, "multiply": 12, "add": 19, "transpose": 10, "matmul": 13, "layer_norm": 5, "split": 2,
            "softmax": 2, "isnan": 2, "where": 2, "pow": 2, "tanh": 2, "embedding": 1,
        }  # fmt: skip
    assert {op.removeprefix("pd."): n for op, n in counts.items() if op.startswith("pd.")} == expected
    # gpt2 has 28 Reshape nodes; two of them change nothing.
    # Scalars of the model: each is one constant however many nodes read it.
    assert counts["builtin.constant"] == (0 if name == "resnet18" else 5)


def test_the_imported_program_survives_text_and_files(model, tmp_path):
    _, program, inputs, _ = model
    assert str(parse(str(program))) == str(program)
    program.save(tmp_path)
    again = Program.load(tmp_path)
    again.verify()
    (first,), (second,) = evaluate(program, inputs).values(), evaluate(again, inputs).values()
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("name", "weights", "result"),
    [
        ("squeezenet", 1_235_496, "!pd.vtensor<1x1000x1x1xf32>"),
        ("resnet50", 25_610_152, "!pd.vtensor<1x1000xf32>"),
        ("shufflenet", 1_420_152, "!pd.vtensor<1x1000xf32>"),
        ("densenet121", 8_146_152, "!pd.vtensor<1x1000x1x1xf32>"),
        ("inception_v2", 11_234_792, "!pd.vtensor<1x1000xf32>"),
    ],
)
def test_models_of_older_exporters(name, weights, result):
    """Image classifiers of 2017 that onnx ships, opsets 7 to 9, their weights made by ConstantOfShape nodes."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    program = load(folder / f"light_{name}.onnx")
    assert program.weights.nbytes == 4 * weights
    assert [str(type_) for type_ in program.outputs.values()] == [result]
