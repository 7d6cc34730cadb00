"""Helpers of the front-end tests: small ONNX models, and their value by ONNX's own reference implementation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

ModelOf = Callable[..., onnx.ModelProto]


def value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def make_model(
    nodes: Sequence[onnx.NodeProto] | onnx.NodeProto,
    inputs: Mapping[str, np.ndarray],
    initializers: Mapping[str, np.ndarray] | None = None,
    *,
    opset: int = 20,
    outputs: Sequence[str] | None = None,
    values: Sequence[np.ndarray] | None = None,
) -> onnx.ModelProto:
    """A model of nodes; its outputs are those of the last one, typed as the reference computes them or as `values`."""
    nodes = [nodes] if isinstance(nodes, onnx.NodeProto) else list(nodes)
    initializers = initializers or {}
    names = [name for name in nodes[-1].output if name] if outputs is None else list(outputs)
    graph = helper.make_graph(
        nodes,
        "test",
        [value_info(name, array) for name, array in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in names],
        [numpy_helper.from_array(array, name) for name, array in initializers.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    results = ReferenceEvaluator(model).run(None, dict(inputs)) if values is None else values
    del model.graph.output[:]
    model.graph.output.extend(value_info(name, np.asarray(a)) for name, a in zip(names, results, strict=True))
    return model


@pytest.fixture
def model_of() -> ModelOf:
    return make_model


@pytest.fixture
def expected() -> Callable[[onnx.ModelProto, Mapping[str, np.ndarray]], dict[str, np.ndarray]]:
    """The outputs of a model by name, as ONNX's reference implementation computes them."""

    def run(model: onnx.ModelProto, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        results = ReferenceEvaluator(model).run(None, dict(inputs))
        return {output.name: np.asarray(r) for output, r in zip(model.graph.output, results, strict=True)}

    return run
