"""What is refused, and how; and the hook for operators that the front end lacks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tx8ir.dialects import pd
from tx8ir.frontends import paddle
from tx8ir.frontends.paddle import PaddleImportError, registry
from tx8ir.interpreter import evaluate

FOLDER = Path(__file__).parents[2] / "data" / "paddle"
Ops = list[dict[str, Any]]


@pytest.fixture
def edited(tmp_path: Path) -> Callable[..., Path]:
    """A copy of a sample whose operations a function has changed."""

    def make(name: str, edit: Callable[[Ops], object], version: int | None = None) -> Path:
        document = json.loads((FOLDER / f"{name}.json").read_text())
        edit(document["program"]["regions"][0]["blocks"][0]["ops"])
        if version is not None:
            document["base_code"]["version"] = version
        if (FOLDER / f"{name}.pdiparams").exists():
            shutil.copy(FOLDER / f"{name}.pdiparams", tmp_path)
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(document))
        return path

    return make


def find(ops: Ops, name: str) -> dict[str, Any]:
    return next(op for op in ops if op["#"] == name)


def test_all_lacking_operators_are_named_at_once(edited: Callable[..., Path]) -> None:
    def edit(ops: Ops) -> None:
        find(ops, "1.relu")["#"] = "3.first"
        find(ops, "1.softmax")["#"] = "1.second"

    with pytest.raises(PaddleImportError) as caught:
        paddle.load(edited("mlp", edit))
    assert [(item.operator, item.node, item.place) for item in caught.value.missing] == [
        ("custom_op.first", "/Sequential/ReLU/first_8", "operation 7"),
        ("pd_op.second", "second_14", "operation 12"),
    ]
    assert "2 nodes of 2 operators are not supported" in str(caught.value)


def test_an_operator_can_be_registered(edited: Callable[..., Path]) -> None:
    path = edited("mlp", lambda ops: find(ops, "1.relu").update({"#": "3.doubled"}))

    @paddle.register_operator("custom_op.doubled")
    def doubled(node: paddle.PaddleNode) -> Any:
        return pd.scale(node.operand(0), scale=node.float("factor", 2.0))

    try:
        with pytest.raises(ValueError, match="two converters"):
            paddle.register_operator("custom_op.doubled")(doubled)
        program = paddle.load(path)
    finally:
        registry._CONVERTERS.pop("custom_op.doubled")
    (scale,) = (op for op in program.module.walk() if op.name == "pd.scale")
    assert scale.scale == 2.0


def test_an_operator_needs_a_dialect() -> None:
    with pytest.raises(ValueError, match=r"'custom_op\.mine'"):
        paddle.register_operator("mine")


def test_errors_say_file_node_operator_version_and_place(edited: Callable[..., Path]) -> None:
    path = edited("mlp", lambda ops: find(ops, "1.softmax").update({"I": [{"%": 99}]}))
    with pytest.raises(PaddleImportError) as caught:
        paddle.load(path)
    assert str(caught.value) == (
        f"{path}: node 'softmax_14' (pd_op.softmax, version 4, operation 12): uses the value %99, which is not "
        "computed before"
    )
    assert (caught.value.version, caught.value.place) == (4, "operation 12")


def test_dialects_may_be_spelled_out_and_versions_older(edited: Callable[..., Path]) -> None:
    def edit(ops: Ops) -> None:
        find(ops, "1.relu")["#"] = "pd_op.relu"
        find(ops, "1.softmax")["#"] = "pd.softmax"

    x = np.ones((2, 8), np.float32)
    (found,) = evaluate(paddle.load(edited("mlp", edit, version=1)), {"x": x}).values()
    (expected,) = evaluate(paddle.load(FOLDER / "mlp"), {"x": x}).values()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("version", [None, -1, 5, True, "1"])
def test_versions_that_are_not_known_are_refused(tmp_path: Path, version: object) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"base_code": {"magic": "pir", "version": version}, "program": {"regions": []}}))
    with pytest.raises(PaddleImportError, match="supported are 0 to 4"):
        paddle.load(path)


def test_a_declared_type_is_checked(edited: Callable[..., Path]) -> None:
    def edit(ops: Ops) -> None:
        find(ops, "1.softmax")["O"][0]["TT"]["D"][1] = [2, 5]

    with pytest.raises(
        PaddleImportError, match=r"declared as !pd\.vtensor<2x5xf32>; it comes to !pd\.vtensor<2x4xf32>"
    ):
        paddle.load(edited("mlp", edit))


def test_what_depends_on_open_dimensions_asks_for_them(edited: Callable[..., Path]) -> None:
    def edit(ops: Ops) -> None:
        find(ops, "1.relu").update({"#": "1.numel"})

    with pytest.raises(PaddleImportError, match=r'dimensions=\{"x\[0\]": 4\}') as caught:
        paddle.load(edited("dynamic", edit))
    assert caught.value.needs == ("x[0]",)


def test_parameters_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PaddleImportError, match="has 6 tensors; the program has 4"):
        paddle.load(FOLDER / "mlp", parameters=_joined(tmp_path))
    content = (FOLDER / "mlp.pdiparams").read_bytes()
    (tmp_path / "short.pdiparams").write_bytes(content[:-1])
    with pytest.raises(PaddleImportError, match="does not lie inside the file"):
        paddle.load(FOLDER / "mlp", parameters=tmp_path / "short.pdiparams")
    with pytest.raises(PaddleImportError, match="regular file, found nothing"):
        paddle.load(FOLDER / "mlp", parameters=tmp_path / "none.pdiparams")


def _joined(folder: Path) -> Path:
    path = folder / "more.pdiparams"
    path.write_bytes((FOLDER / "mlp.pdiparams").read_bytes() + (FOLDER / "rounds.pdiparams").read_bytes())
    return path
