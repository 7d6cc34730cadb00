"""Every converter on nodes as files may have them: inputs missing or too many, of any rank, attributes left out or odd.

A model either imports or is refused with the node's name: no other exception leaves `load`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnx.defs
import pytest
from onnx import TensorProto, helper, numpy_helper

from tx8ir.frontends.onnx import OnnxImportError, load, supported_ops
from tx8ir.testing import check

CONVERTERS = {item.operator: item for item in supported_ops() if not item.domain}
SHAPES: tuple[tuple[int, ...], ...] = (
    (),
    (1,),
    (0,),
    (3,),
    (2, 3),
    (1, 1),
    (2, 0),
    (1, 2, 3),
    (1, 2, 3, 3),
    (1, 1, 2, 1, 2),
)
"""Every input of a node has one of these, or each another one."""
ELEMENTS = ("tensor(float)", "tensor(int64)", "tensor(bool)")
"""The element types inputs have, the first of them that the operator takes."""
ODD: dict[Any, tuple[Any, ...]] = {
    onnx.defs.OpSchema.AttrType.INT: (-1, 0, 1, 2, 99),
    onnx.defs.OpSchema.AttrType.INTS: ((), (0,), (1,), (-1,), (1, 1), (2, 2), (0, 0, 0, 0), (-1, 5)),
    onnx.defs.OpSchema.AttrType.FLOAT: (0.0, -0.5, float("nan")),
    onnx.defs.OpSchema.AttrType.FLOATS: ((), (0.5,)),
    onnx.defs.OpSchema.AttrType.STRING: ("", "SAME_UPPER", "none"),
    onnx.defs.OpSchema.AttrType.TENSOR: (
        helper.make_tensor("t", TensorProto.FLOAT, (), [1.0]),
        helper.make_tensor("t", TensorProto.INT64, (1,), [2]),
    ),
}
"""Values to try for each kind of attribute."""


def versions(op: str) -> list[int]:
    """The opsets that brought a version of the operator which the converter takes."""
    converter = CONVERTERS[op]
    newest = range(converter.first, min(converter.last, onnx.defs.onnx_opset_version()) + 1)
    return sorted({onnx.defs.get_schema(op, opset, "").since_version for opset in newest})


def element_of(schema: onnx.defs.OpSchema, index: int) -> np.dtype[Any]:
    """The element type to give input `index`."""
    declared = schema.inputs[min(index, len(schema.inputs) - 1)] if schema.inputs else None
    allowed = set() if declared is None else set(declared.types)
    chosen = next((element for element in ELEMENTS if element in allowed), ELEMENTS[0])
    return np.dtype({"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}[chosen])


def attribute_sets(schema: onnx.defs.OpSchema) -> Iterator[dict[str, Any]]:
    """No attributes; those that the operator needs; and these with one more, odd or not."""
    yield {}
    needed = {name: ODD[a.type][1] for name, a in schema.attributes.items() if a.required and a.type in ODD}
    if needed:
        yield needed
    for name, attribute in schema.attributes.items():
        for value in ODD.get(attribute.type, ()):
            yield {**needed, name: value}


Variation = tuple[dict[str, Any], list[tuple[int, ...] | None], tuple[int, ...]]
"""Attributes; shapes of the inputs (None: absent); which inputs are initialisers."""


def variations(schema: onnx.defs.OpSchema) -> Iterator[Variation]:
    attribute_choices = list(attribute_sets(schema))
    counts = range(min(schema.max_input, schema.min_input + 3) + 2)
    plain = itertools.product(attribute_choices[:2], counts, SHAPES)
    odd = itertools.product(attribute_choices[2:], [schema.min_input], SHAPES)
    for attributes, count, shape in itertools.chain(plain, odd):
        for absent in ((), *((i,) for i in range(count))):
            for known in dict.fromkeys([(), tuple(range(1, count)), tuple(range(count))]):
                yield attributes, [None if i in absent else shape for i in range(count)], known
    if schema.min_input in (2, 3):
        for attributes, shapes in itertools.product(attribute_choices[:2], itertools.product(SHAPES[::2], repeat=2)):
            yield attributes, [*shapes, shapes[0]][: schema.min_input], ()


def model(
    schema: onnx.defs.OpSchema,
    attributes: dict[str, Any],
    shapes: list[tuple[int, ...] | None],
    known: tuple[int, ...],
    version: int,
) -> onnx.ModelProto:
    """One node of these inputs; None is an absent one, written as an empty name."""
    names = ["" if shape is None else f"x{i}" for i, shape in enumerate(shapes)]
    inputs: list[onnx.ValueInfoProto] = []
    initializers: list[onnx.TensorProto] = []
    for i, shape in enumerate(shapes):
        if shape is None:
            continue
        array = np.ones(shape, element_of(schema, i))
        if i in known:
            initializers.append(numpy_helper.from_array(array, names[i]))
        else:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            inputs.append(helper.make_tensor_value_info(names[i], kind, shape))
    node = helper.make_node(schema.name, names, ["y"], name="the_node")
    for name, value in attributes.items():
        node.attribute.append(helper.make_attribute(name, value, attr_type=int(schema.attributes[name].type)))
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")], initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)


def refused(model: onnx.ModelProto) -> OnnxImportError | None:
    """The error that refuses a model; None when it imports."""
    try:
        load(model)
    except OnnxImportError as error:
        return error
    return None


def sample(op: str, step: int) -> Iterator[onnx.ModelProto]:
    """Every `step`-th variation of every version of an operator."""
    for version in versions(op):
        schema = onnx.defs.get_schema(op, version, "")
        for attributes, shapes, known in itertools.islice(variations(schema), version % step, None, step):
            yield model(schema, attributes, shapes, known, version)


@pytest.mark.parametrize("op", sorted(CONVERTERS))
def test_a_node_imports_or_is_refused_by_name(op: str) -> None:
    for candidate in sample(op, 41):
        error = refused(candidate)
        assert error is None or error.node == "the_node", error


def test_absent_inputs_may_be_written_as_empty_names() -> None:
    schema = onnx.defs.get_schema("Clip", 13, "")
    assert refused(model(schema, {}, [(2, 3), None, None], (), 13)) is None
    assert refused(model(schema, {}, [(2, 3), None, (), None, None], (2,), 13)) is None


@pytest.mark.parametrize("addend", [(), (1,), (4,), (3, 1), (1, 1), None])
@pytest.mark.parametrize("known", [(), (1, 2)])
def test_a_product_with_an_addend_of_any_rank_compiles(addend: tuple[int, ...] | None, known: tuple[int, ...]) -> None:
    schema = onnx.defs.get_schema("Gemm", 13, "")
    shapes: list[tuple[int, ...] | None] = [(3, 5), (5, 4), addend]
    assert check(load(model(schema, {"alpha": 0.5, "beta": 2.0}, shapes, known, 13))).passed


@pytest.mark.nightly
@pytest.mark.parametrize("op", sorted(CONVERTERS))
def test_every_variation_imports_or_is_refused_by_name(op: str) -> None:
    for candidate in sample(op, 1):
        error = refused(candidate)
        assert error is None or error.node == "the_node", error
