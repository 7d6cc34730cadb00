"""Compiling a program and running it: what goes in, what comes out, what is reported, what is refused."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import ml_dtypes
import numpy as np
import pytest

import tx8ir
from tx8ir.backend.set_target import target_with
from tx8ir.compiler import CompileOptions, Dtype, lower, pipeline
from tx8ir.core import IrError, bf16
from tx8ir.dialects import tx8
from tx8ir.executable import Executable, _checksum
from tx8ir.passes import PassManager
from tx8ir.signature import InputError, Signature
from tx8ir.target.chip import BOARD, TX8, Target
from tx8ir.target.formats import BF16, F16, F32, Format
from tx8ir.testing import OutputCheck, check, check_outputs, random_inputs, ulp

ADD_RELU = """
module {
  func.func @main(%x: !pd.vtensor<4x64xf32>, %y: !pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>
      attributes {arg_names = ["x", "y"], result_names = ["out"]} {
    %0 = "pd.add"(%x, %y) : (!pd.vtensor<4x64xf32>, !pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>
    %1 = "pd.relu"(%0) : (!pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>
    return %1 : !pd.vtensor<4x64xf32>
  }
}
"""

LOOKUP = """
module {
  func.func @main(%ids: !pd.vtensor<3xi64>, %table: !pd.vtensor<10x64xf32>)
      -> (!pd.vtensor<3x64xf32>, !pd.vtensor<3xi64>)
      attributes {arg_names = ["ids", "the table"], result_names = ["rows", "same ids"]} {
    %0 = "pd.embedding"(%ids, %table) : (!pd.vtensor<3xi64>, !pd.vtensor<10x64xf32>) -> !pd.vtensor<3x64xf32>
    return %0, %ids : !pd.vtensor<3x64xf32>, !pd.vtensor<3xi64>
  }
}
"""

X = np.linspace(-1, 1, 256, dtype=np.float32).reshape(4, 64)
Y = np.full((4, 64), 0.25, np.float32)


@pytest.fixture(scope="module")
def add_relu() -> Executable:
    return tx8ir.compile(tx8ir.parse(ADD_RELU))


@pytest.fixture(scope="module")
def lookup() -> Executable:
    return tx8ir.compile(tx8ir.parse(LOOKUP))


# --- what goes in and what comes out


def test_inputs_are_given_by_name_as_keywords_or_in_a_mapping(add_relu: Executable) -> None:
    expected = np.maximum(X + Y, 0)
    np.testing.assert_array_equal(add_relu.run(x=X, y=Y)["out"], expected)
    np.testing.assert_array_equal(add_relu.run({"x": X}, y=Y)["out"], expected)


def test_outputs_have_the_types_of_the_source_program(lookup: Executable) -> None:
    table = np.arange(640, dtype=np.float32).reshape(10, 64)
    outputs = lookup.run({"ids": np.array([7, 0, 7]), "the table": table})
    assert [(name, array.dtype) for name, array in outputs.items()] == [("rows", np.float32), ("same ids", np.int64)]
    np.testing.assert_array_equal(outputs["rows"], table[[7, 0, 7]])
    np.testing.assert_array_equal(outputs["same ids"], [7, 0, 7])


def test_a_narrower_format_computes_in_it_and_gives_back_the_source_types() -> None:
    executable = tx8ir.compile(tx8ir.parse(ADD_RELU), options=CompileOptions(dtype="bfloat16"))
    out = executable.run(x=X, y=Y)["out"]
    rounded = X.astype(ml_dtypes.bfloat16) + Y.astype(ml_dtypes.bfloat16)
    assert out.dtype == np.float32
    np.testing.assert_array_equal(out, np.maximum(rounded, 0).astype(np.float32))


def test_any_floating_array_fits_a_floating_input(add_relu: Executable) -> None:
    expected = add_relu.run(x=X, y=Y)["out"]
    np.testing.assert_array_equal(add_relu.run(x=X.astype(np.float64), y=Y.astype(np.float16))["out"], expected)


def test_fp64_is_rounded_once_to_the_format_of_the_chip() -> None:
    """1 + 2^-8 + 2^-40 is above the middle of two bf16 neighbours; rounding to fp32 on the way would make it a tie."""
    executable = tx8ir.compile(tx8ir.parse(ADD_RELU), options=CompileOptions(dtype="bfloat16"))
    x = np.full((4, 64), 1 + 2.0**-8 + 2.0**-40)
    assert executable.run(x=x, y=np.zeros((4, 64)))["out"][0, 0] == 1 + 2.0**-7


def test_compiling_leaves_the_program_as_it_was() -> None:
    program = tx8ir.parse(ADD_RELU)
    before = str(program)
    tx8ir.compile(program, options=CompileOptions(dtype="float16"))
    assert str(program) == before


# --- what is refused


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"x": X}, "missing input 'y'; expected inputs: x: 4x64xf32, y: 4x64xf32"),
        ({}, "missing inputs 'x', 'y'; expected"),
        ({"x": X, "y": Y, "z": Y}, "unknown input 'z'; expected inputs: x: 4x64xf32, y: 4x64xf32"),
        ({"x": X, "y": Y[:2]}, "input 'y' has shape (4, 64); given: (2, 64)"),
        ({"x": X, "y": 1.0}, "input 'y' has shape (4, 64); given: ()"),
        ({"x": X, "y": Y.astype(int)}, "input 'y' takes float values (f32); given: int64"),
        ({"x": X, "y": Y > 0}, "input 'y' takes float values (f32); given: bool"),
        ({"x": X, "y": [[1.0], [1.0, 2.0]]}, "input 'y' cannot be made an array: "),
        ({"x": X, "y": np.full((4, 64), "a")}, "input 'y' takes float values (f32); given: <U1"),
    ],
)
def test_inputs_that_do_not_fit_are_named(add_relu: Executable, inputs: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(InputError) as caught:
        add_relu.run(inputs)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("given", "named", "message"),
    [
        ((X,), {}, "missing input 'y'; expected inputs: x: 4x64xf32, y: 4x64xf32"),
        ((X, Y, X), {}, "3 inputs are given by position; expected inputs: x: 4x64xf32, y: 4x64xf32"),
        ((X, Y), {"y": Y}, "input 'y' given by position and as keyword"),
        ((X, {"y": Y}), {}, "input 'y' is an array, not a mapping; expected inputs: "),
        (("x", Y), {}, "input 'x' takes float values (f32); given: <U1"),
    ],
)
def test_inputs_by_position_that_do_not_fit_are_named(
    add_relu: Executable, given: Any, named: Any, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        add_relu.run(*given, **named)
    assert str(caught.value).startswith(message)


def test_inputs_go_by_position_or_by_name(add_relu: Executable) -> None:
    expected = add_relu.run({"x": X, "y": Y})
    for found in (add_relu.run(X, Y), add_relu.run(X, y=Y), add_relu.run(y=Y, x=X)):
        assert list(found) == list(expected)
        np.testing.assert_array_equal(*[next(iter(outputs.values())) for outputs in (found, expected)])
    np.testing.assert_array_equal(add_relu(X, Y), next(iter(expected.values())))  # a single output has no name


def test_an_executable_is_pickled_and_copied(add_relu: Executable) -> None:
    expected = add_relu(X, Y)
    for other in (pickle.loads(pickle.dumps(add_relu)), copy.copy(add_relu), copy.deepcopy(add_relu)):
        np.testing.assert_array_equal(other(X, Y), expected)
        assert str(other.report.compilation) == str(add_relu.report.compilation)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda p: tx8ir.compile(str(p)),
            "compile takes a Program, not 'module .*': tx8ir.load reads a file, tx8ir.parse",
        ),
        (lambda p: tx8ir.compile("model.onnx"), "compile takes a Program, not 'model.onnx': tx8ir.load reads a file"),
        (lambda p: tx8ir.compile(p.module), "compile takes a Program, not <ModuleOp .*>: Program.module. is one"),
        (
            lambda p: tx8ir.compile(abs),
            "compile takes a Program, not <built-in .*>: tx8ir.jit compiles a Python function",
        ),
        (lambda p: tx8ir.compile(p, "bf16"), "target is a .*Target, not 'bf16'; options go by name: options="),
        (lambda p: tx8ir.compile(p, options="bf16"), "options are a CompileOptions, not 'bf16': CompileOptions.dtype="),
    ],
)
def test_a_wrong_argument_of_compile_is_one_sentence(wrong: Any, message: str) -> None:
    program = tx8ir.Program.empty()
    with pytest.raises(TypeError, match=message):
        wrong(program)


def test_a_dynamic_extent_is_one_sentence() -> None:
    program = tx8ir.parse(
        "func.func @main(%x: !pd.vtensor<?x4xf32>) -> !pd.vtensor<?x4xf32> "
        'attributes {arg_names = ["x"]} { return %x : !pd.vtensor<?x4xf32> }'
    )
    message = r"input 'x' has a dynamic extent \(x: \?x4xf32\), and the chip runs static shapes alone: give each extent"
    with pytest.raises(IrError, match=message):
        tx8ir.compile(program)
    with pytest.raises(IrError, match=message):
        check(program)


def test_an_input_is_given_once(add_relu: Executable) -> None:
    with pytest.raises(InputError, match="input 'y' given in the mapping and as keyword"):
        add_relu.run({"x": X, "y": Y}, y=Y)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (np.array([1.0, 2.0, 3.0]), "input 'ids' takes integer values (i64); given: float64"),
        (
            np.array([0, 2**40, 1]),
            "input 'ids' is computed in i32, from -2147483648 to 2147483647; given: 1099511627776 at index (1)",
        ),
    ],
)
def test_integers_are_checked_against_the_range_of_the_chip(lookup: Executable, ids: np.ndarray, message: str) -> None:
    with pytest.raises(InputError) as caught:
        lookup.run({"ids": ids, "the table": np.zeros((10, 64), np.float32)})
    assert str(caught.value) == message


def test_an_output_that_is_no_tensor_cannot_be_compiled() -> None:
    text = 'module {\nfunc.func @main() -> none {\n%0 = "tx8be.None"() : () -> none\nreturn %0 : none\n}\n}'
    with pytest.raises(IrError, match="output 'result0' has type none; only tensors can be compiled"):
        tx8ir.compile(tx8ir.parse(text))


def test_an_unknown_dtype_is_refused() -> None:
    for dtype in ("int8", "fp8", np.int8):
        with pytest.raises(ValueError, match=r"dtype is .*; expected one of f32, bf16, f16$"):
            CompileOptions(dtype=dtype)


@pytest.mark.parametrize(
    ("dtype", "meant"),
    [
        *(("f32", "f32"), ("fp32", "f32"), ("float32", "f32"), (np.float32, "f32"), (np.dtype("float16"), "f16")),
        *(("bfloat16", "bf16"), (bf16, "bf16"), (bf16.dtype, "bf16"), (None, None)),
    ],
)
def test_a_dtype_has_one_spelling_and_is_understood_in_others(dtype: Any, meant: str | None) -> None:
    assert CompileOptions(dtype=dtype).dtype == meant


# --- the target


def test_a_program_is_compiled_for_the_target_that_it_names() -> None:
    program = tx8ir.parse(ADD_RELU)
    tx8.set_target(program, SMALL)
    named = tx8ir.compile(program)
    assert named.target == SMALL
    assert str(named.program) == str(tx8ir.compile(tx8ir.parse(ADD_RELU), SMALL).program)
    assert {tile for op in named.program.module.walk() for tile in getattr(op, "tiles", ())} == {0, 1, 2, 3}
    assert tx8ir.compile(program, TX8).target == TX8
    assert "target" not in str(tx8ir.compile(program, TX8).program)


def test_each_stage_reads_the_target_from_the_text() -> None:
    whole = tx8ir.compile(tx8ir.parse(ADD_RELU), SMALL, keep_stages=True)
    names = list(whole.stages)
    for before, after in pairwise(names[names.index("lower-to-tx8be") :]):
        program = tx8ir.parse(whole.stages[before])
        program.weights = tx8ir.parse(ADD_RELU).weights
        PassManager.parse(after).run(program)
        assert str(program) == whole.stages[after], after


# --- stages


def test_stages_can_be_kept_and_each_text_parses_again() -> None:
    executable = tx8ir.compile(tx8ir.parse(ADD_RELU), keep_stages=True)
    assert list(executable.stages) == [p.title for p in pipeline().passes]
    for name, text in executable.stages.items():
        assert str(tx8ir.parse(text)) == text, name


def test_lower_stops_behind_a_stage() -> None:
    lowered = lower(tx8ir.parse(ADD_RELU), through="lower-to-tx8be")
    names = {op.name for op in lowered.module.walk()}
    assert "tx8be.Add" in names
    assert not any(name.startswith("pd.") for name in names)


def test_lower_refuses_a_stage_that_is_none() -> None:
    with pytest.raises(
        IrError, match="no stage is named 'unfuse-bn'; stages are value-signature, lift-state, straighten"
    ):
        lower(tx8ir.parse(ADD_RELU), through="unfuse-bn")


def test_progress_hears_of_the_start_and_the_end_of_each_stage() -> None:
    heard: list[tuple[str, bool]] = []
    tx8ir.compile(tx8ir.parse(ADD_RELU), progress=lambda stage, seconds: heard.append((stage, seconds is None)))
    assert heard == [(p.title, start) for p in pipeline().passes for start in (True, False)]


# --- the report


def test_the_report_counts_what_was_compiled_and_run() -> None:
    executable = tx8ir.compile(tx8ir.parse(ADD_RELU))
    compilation = executable.report.compilation
    assert executable.report.run is None
    assert compilation.ops_by_dialect == {"builtin": 1, "func": 2, "pd": 2}
    assert compilation.ddr_bytes["input"] >= 2 * X.nbytes
    assert 0 < compilation.spm_peak_bytes <= compilation.spm_bytes
    assert [stage.name for stage in compilation.stages] == [p.title for p in pipeline().passes]
    executable.run(x=X, y=Y)
    run = executable.report.run
    assert run is not None
    assert run.sim.instructions == sum(compilation.instructions.values())
    assert run.sim.bytes["DDR to SPM"] >= X.nbytes + Y.nbytes
    assert run.sim.bytes["SPM to DDR"] >= X.nbytes


def test_the_report_reads_as_tables(add_relu: Executable) -> None:
    add_relu.run(x=X, y=Y)
    text = str(add_relu.report)
    for expected in ("compiled for tx8 (datasheet profile)", "generate-tx8", "peak SPM per tile", "RDMA", "DDR to SPM"):
        assert expected in text
    lines = text.splitlines()
    header = next(i for i, line in enumerate(lines) if "busy cycles" in line)
    ends = {len(line.rstrip()) for line in lines[header : header + 6]}
    assert len(ends) == 1, "columns of numbers end under each other"


def test_the_report_is_html_in_a_notebook(add_relu: Executable) -> None:
    html = add_relu._repr_html_()
    assert html.count("<table ") == html.count("</table>") >= 2
    assert "<td" in html


def test_a_board_is_slower_than_its_data_sheet() -> None:
    def microseconds(target: Target) -> float:
        executable = tx8ir.compile(tx8ir.parse(ADD_RELU), target)
        executable.run(x=X, y=Y)
        run = executable.report.run
        assert run is not None
        return run.sim.microseconds

    assert microseconds(attrs.evolve(TX8, profile=BOARD)) > microseconds(TX8)


# --- saving


def test_a_saved_executable_runs_as_before(lookup: Executable, tmp_path: Path) -> None:
    inputs = {"ids": np.array([3, 1, 4]), "the table": np.random.default_rng(0).standard_normal((10, 64))}
    lookup.save(tmp_path / "lookup")
    loaded = Executable.load(tmp_path / "lookup")
    assert loaded.signature == lookup.signature
    assert str(loaded.report.compilation) == str(lookup.report.compilation)
    for name, array in lookup.run(inputs).items():
        np.testing.assert_array_equal(loaded.run(inputs)[name], array)


SMALL = attrs.evolve(
    TX8, name="small", grid=(2, 2), spm_bytes=1 << 20, spm_allocatable=(0x10000, 0xF0000), ddr_base=1 << 32,
    ddr_bytes=1 << 30, ddr_bank=512, dma_levels=2, tdma_levels=2,
    profile=attrs.evolve(BOARD, name="half", ne_step=(8, 8, 8), ct_bytes_per_cycle=64),
)  # fmt: skip


@pytest.mark.parametrize("target", [attrs.evolve(TX8, profile=BOARD), SMALL], ids=["board", "small"])
def test_a_saved_executable_remembers_its_target(target: Target, tmp_path: Path) -> None:
    executable = tx8ir.compile(tx8ir.parse(ADD_RELU), target)
    executable.save(tmp_path)
    loaded = Executable.load(tmp_path)
    assert loaded.target == executable.target == target
    np.testing.assert_array_equal(*loaded.run(x=X, y=Y).values(), np.maximum(X + Y, 0))


def test_a_manifest_that_says_the_target_is_read(tmp_path: Path) -> None:
    executable = tx8ir.compile(tx8ir.parse(ADD_RELU))
    executable.save(tmp_path)
    file = tmp_path / "executable.json"
    manifest = json.loads(file.read_text()) | {"target": {"spm_bytes": 1 << 20, "profile": "board"}}
    manifest["checksum"] = _checksum({key: value for key, value in manifest.items() if key != "checksum"})
    file.write_text(json.dumps(manifest))
    assert Executable.load(tmp_path).target == target_with(1 << 20, "board")


def _without_manifest(folder: Path) -> None:
    (folder / "executable.json").unlink()


def _other_format(folder: Path) -> None:
    manifest = json.loads((folder / "executable.json").read_text())
    (folder / "executable.json").write_text(json.dumps(manifest | {"format": 99}))


def _cut_short(folder: Path) -> None:
    text = (folder / "executable.json").read_text()
    (folder / "executable.json").write_text(text[: len(text) // 2])


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_without_manifest, "is not a saved executable: it has no executable.json"),
        (_other_format, "executable.json: format: expected 2, the format that this version reads .*, found 99"),
        (_cut_short, "executable.json: expected a manifest, found a damaged file"),
    ],
)
def test_a_folder_that_is_none_is_refused(
    add_relu: Executable, tmp_path: Path, damage: Callable[[Path], None], message: str
) -> None:
    add_relu.save(tmp_path)
    damage(tmp_path)
    with pytest.raises(IrError, match=message):
        Executable.load(tmp_path)


# --- the check against the interpreter


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16"])
def test_check_compiles_runs_and_compares(dtype: Dtype) -> None:
    result = check(tx8ir.parse(ADD_RELU), options=CompileOptions(dtype=dtype))
    assert result.passed, str(result)


def test_check_draws_indices_inside_the_table() -> None:
    result = check(
        tx8ir.parse("""
        module {
          func.func @main(%x: !pd.vtensor<1x3xf32>, %i: !pd.vtensor<64xi32>) -> !pd.vtensor<64x3xf32> {
            %0 = "pd.gather"(%x, %i) {axis = 0 : i64}
              : (!pd.vtensor<1x3xf32>, !pd.vtensor<64xi32>) -> !pd.vtensor<64x3xf32>
            return %0 : !pd.vtensor<64x3xf32>
          }
        }
        """)
    )
    assert result.passed


@pytest.mark.parametrize("target", ["bf16", "f16", "tf32", "f32", "i8", "i16", "i32"])
@pytest.mark.parametrize("source", ["i8", "i16", "i32", "i64"])
def test_check_of_a_cast_from_integers(source: str, target: str) -> None:
    given, wanted = f"!pd.vtensor<4x{source}>", f"!pd.vtensor<4x{target}>"
    program = tx8ir.parse(f"""
    module {{
      func.func @main(%x: {given}) -> {wanted} {{
        %0 = "pd.cast"(%x) {{dtype = {target}}} : ({given}) -> {wanted}
        return %0 : {wanted}
      }}
    }}
    """)
    (argument,) = program.inputs
    assert check(program, inputs={argument: np.array([-100, -1, 0, 127], f"int{source[1:]}")}).passed


def test_check_fails_when_an_output_is_off_by_more_than_the_bound() -> None:
    program = tx8ir.parse(ADD_RELU)
    inputs = random_inputs(Signature.of(program), seed=1)
    out = np.maximum(inputs["x"] + inputs["y"], 0)
    largest = float(out.max())
    right = check_outputs(program, inputs, {"out": out})
    wrong = check_outputs(program, inputs, {"out": out + 16 * ulp(largest, F32)})
    assert right.passed
    assert not wrong.passed
    assert "FAILED" in str(wrong)


def test_check_fails_on_a_nan() -> None:
    program = tx8ir.parse(ADD_RELU)
    outputs = {"out": np.where(X > 0.9, np.nan, np.maximum(X + Y, 0))}
    assert not check_outputs(program, {"x": X, "y": Y}, outputs).passed


def test_integers_must_be_equal() -> None:
    program = tx8ir.parse(LOOKUP)
    inputs = {"ids": np.array([1, 2, 3]), "the table": np.zeros((10, 64), np.float32)}
    outputs = {"rows": np.zeros((3, 64), np.float32), "same ids": np.array([1, 2, 4])}
    result = check_outputs(program, inputs, outputs)
    assert [c.passed for c in result.outputs] == [True, False]


def test_a_reference_in_fp32_gets_room_for_its_own_rounding() -> None:
    program = tx8ir.parse(ADD_RELU)
    out = np.maximum(X + Y, 0)
    references = {"exact": {"out": out.astype(np.float64)}, "other": {"out": out}}
    bounds = {
        c.reference: c.bound
        for c in check_outputs(program, {"x": X, "y": Y}, {"out": out}, references=references).outputs
    }
    assert bounds["exact"] == bounds["interpreter fp64"] < bounds["other"] <= 2 * bounds["exact"]


def test_a_reference_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match=r"outputs of the program are out: 4x64xf32"):
        check_outputs(tx8ir.parse(ADD_RELU), {"x": X, "y": Y}, {"out": X}, references={"file": {"out": np.zeros(3)}})


def test_an_error_of_nan_never_passes() -> None:
    assert not OutputCheck("out", "r", "f32", 1.0, float("nan"), 1.0).passed


@pytest.mark.parametrize(
    ("value", "number_format", "expected"),
    [
        (1.0, F32, 2.0**-23),
        (1.999, F32, 2.0**-23),
        (2.0, BF16, 2.0**-6),
        (1000.0, F16, 0.5),
        (0.0, F16, 2.0**-24),
        (0.0, F32, 2.0**-149),
    ],
)
def test_ulp(value: float, number_format: Format, expected: float) -> None:
    assert ulp(value, number_format) == expected


def test_variables_share_ddr_unless_they_should_not() -> None:
    chain = "\n".join(
        f'%{i} = "pd.{op}"(%{i - 1}) : (!pd.vtensor<4x64xf32>) -> !pd.vtensor<4x64xf32>'
        for i, op in ((2, "exp"), (3, "sin"))
    )
    program = tx8ir.parse(ADD_RELU.replace("return %1", f"{chain}\nreturn %3"))
    apart = CompileOptions(opt_graph="required", opt_group="single")
    reused, own = (tx8ir.compile(program, options=attrs.evolve(apart, opt_ddr=ddr)) for ddr in ("on", "off"))
    assert reused.report.compilation.ddr_bytes["scratch"] == 2 * TX8.ddr_bank
    assert own.report.compilation.ddr_bytes["scratch"] == 3 * TX8.ddr_bank
    assert np.array_equal(reused.run(x=X, y=Y)["out"], own.run(x=X, y=Y)["out"])
