"""What is refused, and how; and the hook for operators that the front end lacks."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tx8ir
from tx8ir.dialects import pd
from tx8ir.frontends import torch
from tx8ir.frontends.torch import TorchImportError, registry
from tx8ir.frontends.torch.signatures import parse_signature
from tx8ir.frontends.torch.symbols import ExpressionError, Symbolic, evaluate

FOLDER = Path(__file__).parents[2] / "data" / "torch"


def edited(name: str, edit: Callable[[dict[str, Any]], None], file: str = "models/model.json", **options: Any) -> bytes:
    """A sample with one of its JSON documents changed."""
    out = io.BytesIO()
    with zipfile.ZipFile(FOLDER / f"{name}.pt2") as source, zipfile.ZipFile(out, "w", **options) as target:
        for entry in source.namelist():
            data = source.read(entry)
            if entry.endswith(file):
                document = json.loads(data)
                edit(document)
                data = json.dumps(document).encode()
            target.writestr(entry, data)
    return out.getvalue()


def node(document: dict[str, Any], name: str) -> dict[str, Any]:
    return next(item for item in document["graph_module"]["graph"]["nodes"] if item["name"] == name)


def test_all_lacking_operators_are_named_at_once() -> None:
    def edit(document: dict[str, Any]) -> None:
        node(document, "relu_")["target"] = "torch.ops.my.first.default"
        node(document, "softmax")["target"] = "torch.ops.my.second.default"

    with pytest.raises(TorchImportError) as caught:
        torch.load(edited("mlp", edit))
    assert [(item.operator, item.node) for item in caught.value.missing] == [
        ("my.first.default", "relu_"),
        ("my.second.default", "softmax"),
    ]
    assert "make_samples.py" in caught.value.missing[1].place
    assert "2 nodes of 2 operators are not supported" in str(caught.value)


def test_an_operator_can_be_registered() -> None:
    def edit(document: dict[str, Any]) -> None:
        softmax = node(document, "softmax")
        softmax["target"] = "torch.ops.my.doubled.default"
        factor = {"name": "factor", "arg": {"as_float": 2.0}, "kind": 1}
        softmax["inputs"] = [{**softmax["inputs"][0], "name": "x"}, factor]

    content = edited("mlp", edit)

    @torch.register_operator("my::doubled(Tensor x, float factor=1.0) -> Tensor")
    def doubled(node: torch.TorchNode, x: Any, factor: float) -> Any:
        return pd.scale(x, scale=factor)

    try:
        with pytest.raises(ValueError, match="two converters"):
            torch.register_operator("my::doubled(Tensor x)")(doubled)
        program = torch.load(content)
    finally:
        registry._CONVERTERS.pop("my.doubled.default")
    assert [op.name for op in program.module.walk()].count("pd.softmax") == 0
    (scale,) = (op for op in program.module.walk() if op.name == "pd.scale")
    assert scale.scale == 2.0


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("no_namespace(Tensor x)", "has no namespace"),
        ("my::op", "is not a signature"),
        ("my::op(Tensors x)", "is not a parameter"),
    ],
)
def test_what_is_no_signature_is_refused(signature: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        torch.register_operator(signature)


def test_signatures_are_read_as_pytorch_writes_them() -> None:
    text = (
        "aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int[2] dim=[0, 1], *, str? how='x') -> Tensor(a)[]"
    )
    signature = parse_signature(text)
    assert signature.operator == "aten.split.Tensor"
    assert [parameter.name for parameter in signature.parameters] == ["self", "split_size", "dim", "how"]
    first, _, dim, how = signature.parameters
    assert first.is_view
    assert dim.is_list
    assert dim.default == (0, 1)
    assert how.is_optional
    assert how.default == "x"


def set_at(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def edit(document: dict[str, Any]) -> None:
        place: Any = document
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return edit


GRAPH = ("graph_module", "graph")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_at("schema_version", "major", to=99), "has version 99.*supported are"),
        (set_at(*GRAPH, "nodes", 0, "inputs", to=[]), "has no argument 'input'; expected linear"),
        (set_at(*GRAPH, "nodes", 0, "inputs", 0, "arg", to={"as_tensor": {"name": "z"}}),
         "'z' is neither an input of the graph"),
        (set_at(*GRAPH, "nodes", 0, "inputs", 0, "arg", to={"as_int": 1}),
         "argument 'input' is of kind int, 1; expected"),
        (set_at(*GRAPH, "nodes", 0, "inputs", 0, "name", to="weigth"), "has an argument 'weigth'"),
        (set_at(*GRAPH, "nodes", 1, "outputs", 0, "as_tensor", "name", to="linear"), "'linear' is defined twice"),
        (set_at(*GRAPH, "tensor_values", "linear", "sizes", 0, to={"as_int": 5}), "is declared as .*5x16.* comes to"),
        (set_at(*GRAPH, "tensor_values", "x", "dtype", to=10), "element type complex64 is not supported"),
        (set_at(*GRAPH, "tensor_values", "x", "sizes", 0, to={"as_expr": {"expr_str": "f(s0)"}}),
         "f.s0. is not understood"),
        (set_at(*GRAPH, "nodes", to={}), "graph.nodes: expected a list"),
        (set_at("graph_module", "signature", "output_specs", to=[{"token": {}}]), "output 0 is a gradient or a token"),
    ],
)  # fmt: skip
def test_damaged_documents_are_refused_with_the_place(edit: Callable[[dict[str, Any]], None], message: str) -> None:
    with pytest.raises(TorchImportError, match=message):
        torch.load(edited("mlp", edit))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_at("config", "layers.0.weight", "path_name", to="weight_99"), "has no file .*weight_99"),
        (set_at("config", "layers.0.weight", "use_pickle", to=True), "'layers.0.weight' is a pickled object"),
        (set_at("config", "layers.0.weight", "tensor_meta", "storage_offset", to={"as_int": 1}),
         "takes .* bytes; there are"),
        (set_at("config", "layers.0.weight", "tensor_meta", "strides", to=[{"as_int": -8}, {"as_int": 1}]),
         "is -8; expected"),
        (set_at("config", "layers.0.weight", "tensor_meta", "layout", to=1), "layout 1; expected 7"),
        (set_at("config", to={}), "has no data of 'layers.0.weight'"),
    ],
)  # fmt: skip
def test_damaged_weights_are_refused_by_name(edit: Callable[[dict[str, Any]], None], message: str) -> None:
    with pytest.raises(TorchImportError, match=message):
        torch.load(edited("mlp", edit, "weights_config.json"))


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TorchImportError, match="is not an archive of"):
        torch.load(b"something else")
    with pytest.raises(TorchImportError, match="cannot be read"):
        torch.load(tmp_path / "nothing.pt2")
    path = tmp_path / "short.pt2"
    path.write_bytes((FOLDER / "mlp.pt2").read_bytes()[:-100])
    with pytest.raises(TorchImportError, match=r"short\.pt2"):
        tx8ir.load(path)
    with pytest.raises(TorchImportError, match="no 'other'; its programs are 'model'"):
        torch.load(FOLDER / "mlp.pt2", model="other")


def test_compressed_archives_are_read() -> None:
    content = edited("mlp", lambda document: None, compression=zipfile.ZIP_DEFLATED)
    packed, plain = torch.load(content), torch.load(FOLDER / "mlp.pt2")
    for name, variable in plain.weights.items():
        np.testing.assert_array_equal(packed.weights[name].numpy(), variable.numpy())


@pytest.mark.parametrize(
    ("dimensions", "message"),
    [
        ({"y": 1}, r"names no open dimension of an input; open are: x\[0\]"),
        ({"x[0]": -1}, "expected an integer >= 0"),
        ({"x[0]": 65}, "exported for 1 to 64"),
    ],
)
def test_extents_are_checked(dimensions: dict[str, int], message: str) -> None:
    with pytest.raises(TorchImportError, match=message):
        torch.load(FOLDER / "dynamic.pt2", dimensions=dimensions)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2*s0 + 1", 7),
        ("Add(Mul(Integer(2), Symbol('s0', positive=True, integer=True)), Integer(1))", 7),
        ("((s0 + 5)//2)", 4),
        ("Max(1, s0) - Mod(s0, 2)", 2),
        ("s0**2", 9),
        ("-s0", -3),
        ("s0 + s1", Symbolic("s0 + s1", ("s0", "s1"))),
        ("Symbol('s1', integer=True)", Symbolic("s1", ("s1",))),
    ],
)
def test_expressions_are_evaluated(text: str, value: object) -> None:
    assert evaluate(text, {"s0": 3}) == value


@pytest.mark.parametrize("text", ["", "f(s0)", "1//0", "9**99", "__import__('os')", "s0.real", "(" * 500, "1" * 20_000])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(text, {"s0": 3})
