"""Cases of operations: every operation of the library has them, they pass, vary, and travel as folders."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import attrs
import numpy as np
import pytest

from tx8ir.backend.oplib.interface import OpLib
from tx8ir.core import IrError, LoadError, bf16, f32
from tx8ir.dialects import tx8, tx8be
from tx8ir.target.chip import BOARD, TX8
from tx8ir.testing.cases.operations import (
    Case,
    Configuration,
    OperandConfig,
    fixed_cases,
    load_case,
    ops,
    random_case,
    read_answer,
    save_case,
)
from tx8ir.testing.cases.operations.library import CHANNELS, MAKERS

each_op = pytest.mark.parametrize("op", ops())


def test_every_operation_of_the_library_has_cases() -> None:
    library = {op for op in tx8be.DIALECT.ops.values() if OpLib in op.info.interfaces}
    assert set(MAKERS) == library
    with pytest.raises(KeyError):
        fixed_cases("Frobnicate")


@each_op
def test_fixed_cases_pass(op: str) -> None:
    cases = fixed_cases(op)
    assert len(cases) >= 3
    for case in cases:
        result = case.init_data().compile()
        assert result.check.passed, (str(case), result.check)


@each_op
def test_random_cases_pass(op: str) -> None:
    case = random_case(op, 1)
    result = case.init_data(1).compile()
    assert result.check.passed, (str(case), result.check)


@pytest.mark.nightly
@each_op
def test_many_random_cases_pass(op: str) -> None:
    for seed in range(100, 200):
        case = random_case(op, seed)
        result = case.init_data(seed).compile()
        assert result.check.passed, (str(case), result.check)


@pytest.mark.parametrize("kind", MAKERS, ids=lambda kind: kind.name)
def test_the_case_is_of_the_operation(kind: type[tx8be.BackendOp]) -> None:
    case = fixed_cases(kind.name.partition(".")[2])[0].init_data()
    found = {type(op) for op in case.program.module.walk()}
    if kind is tx8be.ChannelNormOp:  # which the compiler puts around what is pinned to another layout
        found = {type(op) for op in case.compile().compiled.module.walk()}
        assert tx8.ChannelNormOp in found
    else:
        assert kind in found


def test_random_cases_vary_in_rank_format_layout_and_shape() -> None:
    cases = [random_case("Add", seed) for seed in range(80)]
    (operands,) = zip(*[(case.types["x0"],) for case in cases], strict=True)
    assert {t.rank for t in operands} == {1, 2, 3, 4}
    assert {t.shape[-1] for t in operands} == set(CHANNELS)
    assert {str(t.element) for t in operands} == {"f32", "bf16", "f16"}
    layouts = {case.name.rpartition(" ")[2] for case in cases}
    assert {"dense", "blocked"} < layouts
    assert {"x1" in case.types for case in cases} == {True, False}, "with a vector, a unit or a scalar"
    assert str(random_case("Add", 7)) == str(cases[7])


def test_a_layout_is_that_of_the_compiled_operation() -> None:
    for blocked, moves in ((True, True), (False, False)):
        made = Configuration("", (OperandConfig((4, 5, 65)),), tx8be.ReluOp, is_blocked=blocked)
        compiled = Case.of("Relu", made).init_data().compile().compiled
        assert any(isinstance(op, tx8.ChannelNormOp) for op in compiled.module.walk()) is moves


@pytest.mark.parametrize(
    ("op", "holds"),
    [
        ("Relu", lambda x: (x > 0).any() and (x < 0).any()),
        ("Abs", lambda x: (x > 0).any() and (x < 0).any()),
        ("Log", lambda x: (x > 0).all()),
        ("Rsqrt", lambda x: (x > 0).all()),
        ("Recip", lambda x: (np.abs(x) >= 0.5).all() and (x < 0).any()),
        ("Exp", lambda x: (np.abs(x) <= 8).all()),
        ("Select", lambda x: set(np.unique(x)) == {0, 1}),
    ],
)
def test_data_is_in_the_range_of_the_operation(op: str, holds: Callable[[np.ndarray], bool]) -> None:
    for case in (*fixed_cases(op), random_case(op, 5)):
        x = case.init_data(3).data["x0"]
        assert x.size < 4 or holds(x.astype(np.float64)), str(case)


def test_relations_meet_equal_numbers() -> None:
    data = fixed_cases("Eq")[0].init_data().data
    assert (data["x0"] == data["x1"]).any()
    assert (data["x0"] != data["x1"]).any()


def test_indices_lie_in_the_table() -> None:
    for case in fixed_cases("Gather"):
        data = case.init_data().data
        assert ((data["x1"] >= 0) & (data["x1"] < len(data["x0"]))).all()


def test_data_depends_on_the_seed_alone() -> None:
    case = random_case("Gemm", 1)
    first, again, other = (case.init_data(seed).data for seed in (4, 4, 5))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not all(np.array_equal(first[name], other[name]) for name in first)


def test_a_wrong_answer_is_found() -> None:
    case = fixed_cases("Softmax")[0].init_data()
    result = case.compile()
    assert case.check(result.chip).passed
    wrong = result.chip.copy()
    wrong.flat[7] += 0.01
    assert not case.check(wrong).passed


def test_another_target() -> None:
    case = fixed_cases("Relu")[0].init_data()
    board = case.compile(attrs.evolve(TX8, profile=BOARD))
    assert board.report.cycles > case.compile().report.cycles


def test_a_context_of_ones_own() -> None:
    axes = next(iter(tx8be.reduce_axes(2)))

    def made(x: object) -> tx8be.ReduceOp:
        return tx8be.ReduceOp(tx8be.SquareOp(x).y, function=tx8be.ReduceFunction.SUM, axes=axes)

    case = Case.of("square-sum", Configuration("", (OperandConfig((3, 70), bf16),), made)).init_data()
    assert case.compile().check.passed


def test_without_data_nothing_is_computed() -> None:
    case = fixed_cases("Add")[0]
    with pytest.raises(IrError, match=r"case Add .* has no data; call init_data first"):
        case.compile()


def test_data_of_ones_own() -> None:
    case = Case.of("Relu", Configuration("small", (OperandConfig((2, 3)),), tx8be.ReluOp))
    x = np.array([[-1, 0, 2], [3, -4, 5]], np.float32)
    assert np.array_equal(case.with_data({"x0": x}).compile().chip, np.maximum(x, 0))
    with pytest.raises(IrError, match="case Relu small takes x0; given: y"):
        case.with_data({"y": x})
    with pytest.raises(IrError, match=r"x0 is .*2x3xf32.*; given: float32\[3, 2\]"):
        case.with_data({"x0": x.T.copy()})


# --- folders


@pytest.mark.parametrize("op", ["Gemm", "Gather", "Cast", "conv-relu-pool"])
def test_a_saved_case_is_the_same_case(op: str, tmp_path: Path) -> None:
    case = random_case(op, 3).init_data(8)
    result = case.compile()
    save_case(case, result, tmp_path)
    again = load_case(tmp_path)
    assert (again.op, again.name, str(again.program)) == (case.op, case.name, str(case.program))
    assert again.ranges == case.ranges
    assert {n: a.tobytes() for n, a in again.data.items()} == {n: a.tobytes() for n, a in case.data.items()}
    assert again.compile().chip.tobytes() == result.chip.tobytes()
    for what in ("exact", "expected", "chip"):
        assert read_answer(tmp_path, what).tobytes() == getattr(result, what).tobytes()
    assert again.check(read_answer(tmp_path, "expected")).passed
    assert sorted(p.name for p in (tmp_path / "compiled").iterdir()) == [
        "graph.mlir", "main.c", "tx8.h", "weights.safetensors",
    ]  # fmt: skip


def test_the_files_are_plain(tmp_path: Path) -> None:
    case = Case.of("Relu", Configuration("small", (OperandConfig((2, 3), bf16),), tx8be.ReluOp)).init_data()
    save_case(case, case.compile(), tmp_path)
    bits = np.fromfile(tmp_path / "x0.bin", "<u2").reshape(2, 3)
    assert np.array_equal((bits.astype(np.uint32) << 16).view(np.float32), case.data["x0"].astype(np.float32))
    manifest = json.loads((tmp_path / "case.json").read_text())
    assert manifest["tensors"]["x0"]["element"] == "bf16"
    assert manifest["tensors"]["x0"]["shape"] == [2, 3]
    assert manifest["results"]["y"]["bound"] >= 0


@pytest.mark.parametrize(
    ("break_it", "at", "message"),
    [
        (lambda folder: (folder / "x0.bin").unlink(), "tensors.x0", "24 bytes in x0.bin, found no such file"),
        (lambda folder: (folder / "x0.bin").write_bytes(b"123"), "tensors.x0", "24 bytes in x0.bin, found 3 bytes"),
    ],
)
def test_a_damaged_case(break_it: Callable[[Path], object], at: str, message: str, tmp_path: Path) -> None:
    case = Case.of("Relu", Configuration("small", (OperandConfig((2, 3), f32),), tx8be.ReluOp)).init_data()
    save_case(case, case.compile(), tmp_path)
    break_it(tmp_path)
    with pytest.raises(LoadError, match=message) as error:
        load_case(tmp_path)
    assert error.value.at == at


@pytest.mark.parametrize(("key", "value"), [("format", 9), ("tensors", []), ("op", 3)])
def test_another_manifest(key: str, value: object, tmp_path: Path) -> None:
    case = Case.of("Relu", Configuration("small", (OperandConfig((2, 3), f32),), tx8be.ReluOp)).init_data()
    save_case(case, case.compile(), tmp_path)
    manifest = json.loads((tmp_path / "case.json").read_text())
    manifest[key] = value
    (tmp_path / "case.json").write_text(json.dumps(manifest))
    with pytest.raises(LoadError) as error:
        load_case(tmp_path)
    assert error.value.at == key
