"""`tx8ir opt`: what goes to stdout, to stderr and into files, how errors look, and the exit status."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

import tx8ir
from tx8ir.cli.app import app
from tx8ir.core import IrError, Operation, Program
from tx8ir.dialects import pd
from tx8ir.passes import OperationPass, all_passes, all_pipelines, register_pass
from tx8ir.passes import base as pass_base

TWO_EXPS = """\
module {
  func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %1 = "pd.exp"(%x) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %2 = "pd.add"(%0, %1) : (!pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %2 : !pd.vtensor<4xf32>
  }
}
"""

SQUARE = """\
func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
  %0 = "pd.pow"(%x) {y = 2.0 : f64} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
  %1 = "pd.pow"(%0) {y = 3.0 : f64} : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
  return %1 : !pd.vtensor<4xf32>
}
"""

Opt = Callable[..., Result]
Golden = Callable[[str, str], None]


@attrs.frozen
class ExpToTanh(OperationPass):
    """A pass that is wrong."""

    name: ClassVar[str] = "test-exp-to-tanh"

    def run_on(self, root: Operation, program: Program) -> None:
        for op in [op for op in root.walk() if isinstance(op, pd.ExpOp)]:
            tanh = pd.tanh(op.x)
            op.parent.insert_before(tanh, op)
            op.replace_with([tanh.result])


@attrs.frozen
class NoAdd(OperationPass):
    """A pass that cannot handle additions."""

    name: ClassVar[str] = "test-no-add"

    def run_on(self, root: Operation, program: Program) -> None:
        for op in root.walk():
            if isinstance(op, pd.AddOp):
                raise IrError("additions are not supported", op)


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before = dict(pass_base.all_passes())
    for cls in (ExpToTanh, NoAdd):
        register_pass(cls)
    yield
    pass_base._REGISTRY.clear()
    pass_base._REGISTRY.update(before)


@pytest.fixture
def opt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Opt:
    """Runs `tx8ir opt` in a folder with `a.mlir` (two equal exps); `stdin=` is what it reads from there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mlir").write_text(TWO_EXPS)

    def invoke(*arguments: str, stdin: str = "") -> Result:
        return CliRunner().invoke(app, ["opt", *arguments], input=stdin, catch_exceptions=False)

    return invoke


def shown(result: Result) -> str:
    return f"status {result.exit_code}\n--- stdout\n{result.stdout}--- stderr\n{result.stderr}"


# --- input and output


def test_a_file_is_printed_after_the_passes(opt: Opt, golden: Golden) -> None:
    golden(shown(opt("a.mlir", "--passes", "canonicalize,func.func(cse)")), "cli_opt/passes.txt")


def test_stdin_and_no_passes(opt: Opt) -> None:
    for arguments in (["-"], []):
        result = opt(*arguments, stdin=TWO_EXPS)
        assert (result.exit_code, result.stderr) == (0, "")
        assert str(tx8ir.parse(result.stdout)) == str(tx8ir.parse(TWO_EXPS))


def test_the_result_goes_into_a_file(opt: Opt, tmp_path: Path) -> None:
    result = opt("a.mlir", "-p", "cse", "-o", "b.mlir")
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "b.mlir").read_text() == opt("a.mlir", "-p", "cse").stdout


def test_locations_are_printed_on_request(opt: Opt) -> None:
    result = opt("a.mlir", "--passes", "cse", "--locations")
    assert 'loc(fused<"cse">["a.mlir":3:10, "a.mlir":4:10])' in result.stdout


def test_a_file_is_split_and_each_part_stands_alone(opt: Opt, golden: Golden) -> None:
    text = f"{TWO_EXPS}// -----\n{SQUARE}// -----  \n{TWO_EXPS}"
    golden(shown(opt("--split-input-file", "-p", "canonicalize,cse", stdin=text)), "cli_opt/split.txt")


def test_without_splitting_the_marker_is_a_comment(opt: Opt) -> None:
    assert opt("-p", "cse", stdin=f"// -----\n{TWO_EXPS}").exit_code == 0


# --- what can be watched


def test_print_after_change(opt: Opt, golden: Golden) -> None:
    golden(shown(opt("a.mlir", "-p", "canonicalize,func.func(cse),dce", "--print-after-change")), "cli_opt/change.txt")


def test_print_ir_after_all(opt: Opt, golden: Golden) -> None:
    golden(shown(opt("a.mlir", "-p", "canonicalize,cse", "--print-ir-after-all")), "cli_opt/after_all.txt")


def test_print_diff(opt: Opt, golden: Golden) -> None:
    golden(opt("a.mlir", "-p", "canonicalize,cse", "--print-diff").stderr, "cli_opt/diff.txt")


def test_timing_statistics_and_counts_are_tables_on_stderr(opt: Opt) -> None:
    result = opt("a.mlir", "-p", "canonicalize,func.func(cse)", "--timing", "--statistics", "--op-counts")
    assert result.exit_code == 0
    tx8ir.parse(result.stdout).verify()
    assert [line.split()[-1] for line in result.stderr.splitlines()[:5]] == [
        "pass",
        "canonicalize",
        "func.func(cse)",
        "cse",
        "total",
    ]
    assert "cse\n       1  merged" in result.stderr
    assert "cse in func.func @main: 4 -> 3 operations (pd.exp -1)" in result.stderr


# --- questions


def test_list_names_every_pass_with_options_and_patterns(opt: Opt) -> None:
    lines = opt("--list").stdout.splitlines()
    titles = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert [title.partition(" (")[0] for title in titles] == [*all_pipelines(), *all_passes()]
    assert "loop-invariant-motion (licm)" in titles
    assert "    max-rewrites=none  an integer or none: the bound on rewrites, an error when hit;" in "\n".join(lines)
    assert any(line.startswith("    patterns: add_zero, ") for line in lines)


def test_explain_says_why_for_each_operation_of_the_kind(opt: Opt) -> None:
    result = opt("--explain", "pow_two", stdin=SQUARE)
    assert result.exit_code == 0
    declared, *source, first, second, place = result.stdout.splitlines()
    assert re.fullmatch(r"pow_two, declared at .*/cleanup/patterns/elementwise\.py:\d+:", declared)
    assert source[:3] == [
        "    @canonicalization",
        "    @pattern(pd.PowOp)",
        "    def pow_two(op: pd.PowOp, rewriter: Rewriter) -> bool:",
    ]
    assert first == "pow_two matches pd.pow"
    assert second.startswith("pow_two does not match pd.pow: the root: ")
    assert "expected not (op.y != 2.0 or _element(op.out) is None), found op = pd.pow" in second
    assert place == '  at loc("<stdin>":3:8)'


def test_explain_says_when_there_is_nothing_to_explain(opt: Opt) -> None:
    last = opt("a.mlir", "--explain", "pow_two").stdout.splitlines()[-1]
    assert last == "pow_two: the program has no operation that it is for (pd.pow)"


def test_explain_shows_the_statement_of_a_rule_and_the_class_of_other_patterns(opt: Opt) -> None:
    assert '    gelu_erf: Final = Rule(\n        "gelu-erf",\n' in opt("a.mlir", "--explain", "gelu-erf").stdout
    assert "    class SplitSpace(_ConvPattern):\n" in opt("a.mlir", "--explain", "conv_rows").stdout


def test_explain_shows_no_address_of_an_object(opt: Opt) -> None:
    text = (
        'func.func @main(%x: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {\n  %0 = "pd.relu"(%x) : (!pd.vtensor<4xf32>)'
    )
    text += " -> !pd.vtensor<4xf32>\n  return %0 : !pd.vtensor<4xf32>\n}\n"
    shown = opt("--explain", "idempotent", stdin=text).stdout
    assert "found op = pd.relu" in shown
    assert " at 0x" not in shown


# --- status and errors


def test_check_accepts_what_keeps_the_answers(opt: Opt) -> None:
    result = opt("a.mlir", "-p", "canonicalize,cse,dce", "--check")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("pd.exp") == 1


def test_check_refuses_what_does_not_with_status_1_and_a_small_example(opt: Opt) -> None:
    result = opt("a.mlir", "-p", "cse,test-exp-to-tanh", "--check")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert "test-exp-to-tanh" in result.stderr
    assert "pd.exp" in result.stderr


def test_check_holds_each_pass_to_its_guarantee_or_to_the_one_that_is_chosen(opt: Opt) -> None:
    assert opt("a.mlir", "-p", "convert-dtype{dtype=bf16}", "--check").exit_code == 0
    assert opt("a.mlir", "-p", "convert-dtype{dtype=bf16}", "--check", "--guarantee", "bitwise").exit_code == 1


def test_check_evaluates_on_the_inputs_of_a_file(opt: Opt, tmp_path: Path) -> None:
    """The functions exp and tanh agree on no number, but their results do where both are infinite or no number."""
    np.savez(tmp_path / "nan.npz", x=np.full(4, np.nan, np.float32))
    np.savez(tmp_path / "one.npz", x=np.ones(4, np.float32))
    wrong = ("a.mlir", "-p", "test-exp-to-tanh", "--check", "--inputs")
    assert opt(*wrong, "nan.npz").exit_code == 0
    assert opt(*wrong, "one.npz").exit_code == 1
    np.savez(tmp_path / "other.npz", y=np.ones(4, np.float32))
    assert "'y' is neither an input" in opt(*wrong, "other.npz").stderr
    assert opt("a.mlir", "--inputs", "one.npz").exit_code == 2


def test_check_draws_indices_inside_of_what_they_index(opt: Opt) -> None:
    text = """
    func.func @main(%t: !pd.vtensor<3x2xf32>, %i: !pd.vtensor<64xi64>) -> !pd.vtensor<64x2xf32> {
      %0 = "pd.gather"(%t, %i) {axis = 0 : i64} : (!pd.vtensor<3x2xf32>, !pd.vtensor<64xi64>) -> !pd.vtensor<64x2xf32>
      %1 = "pd.exp"(%0) : (!pd.vtensor<64x2xf32>) -> !pd.vtensor<64x2xf32>
      return %1 : !pd.vtensor<64x2xf32>
    }
    """
    assert opt("-p", "canonicalize", "--check", stdin=text).exit_code == 0
    assert opt("-p", "test-exp-to-tanh", "--check", stdin=text).exit_code == 1


@pytest.mark.parametrize(
    ("name", "text", "arguments"),
    [
        ("syntax", TWO_EXPS.replace('"pd.add"(%0, %1)', '"pd.add"(%0, %9)'), ["-p", "cse"]),
        ("invalid", TWO_EXPS.replace("-> !pd.vtensor<4xf32> {", "-> !pd.vtensor<5xf32> {"), ["-p", "cse"]),
        ("pass", TWO_EXPS, ["-p", "cse,test-no-add"]),
        ("pipeline", TWO_EXPS, ["-p", "cse{x=1}"]),
        ("nested", TWO_EXPS, ["-p", "cse,func.func(cse,nhwc)"]),
    ],
)
def test_errors_point_at_the_place(opt: Opt, golden: Golden, name: str, text: str, arguments: list[str]) -> None:
    result = opt(*arguments, stdin=text)
    assert (result.exit_code, result.stdout) == (2, "")
    golden(result.stderr, f"cli_opt/error_{name}.txt")


def test_an_error_in_one_part_is_at_its_line_in_the_file_and_the_others_go_on(opt: Opt) -> None:
    bad = TWO_EXPS.replace('"pd.add"(%0, %1)', '"pd.add"(%0, %9)')
    result = opt("--split-input-file", "-p", "cse", stdin=f"{TWO_EXPS}// -----\n{bad}// -----\n{SQUARE}")
    assert result.exit_code == 2
    assert result.stderr.startswith("<stdin>:14:")
    assert result.stdout.count("func.func @main") == 2
    later = opt("--split-input-file", "-p", "test-no-add", stdin=f"{SQUARE}// -----\n{TWO_EXPS}")
    assert later.exit_code == 2
    assert later.stderr.startswith("<stdin>:11:")


def test_an_invalid_program_passes_without_verification(opt: Opt) -> None:
    text = TWO_EXPS.replace("-> !pd.vtensor<4xf32> {", "-> !pd.vtensor<5xf32> {")
    assert opt("-p", "cse", "--no-verify-each", stdin=text).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.mlir"], "missing.mlir: expected a file of IR text, found nothing there"),
        (["a.mlir", "--explain", "no_such"], "no pattern is named 'no_such'; patterns are add_zero, "),
        (["a.mlir", "-o", "no/such/folder.mlir"], "No such file or directory"),
        (
            ["missing.onnx"],
            "missing.onnx: expected a model of ONNX, PyTorch, Paddle or JAX, IR text or a saved program, "
            "found nothing there",
        ),
        (["b.onnx", "--split-input-file"], "--split-input-file is for IR text; b.onnx is none"),
    ],
)
def test_wrong_requests_are_one_line_and_status_2(opt: Opt, arguments: list[str], message: str) -> None:
    result = opt(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


# --- what mlir-opt and xdsl-opt have

UNKNOWN = '%0 = "foo.make"() <{size = 3 : si32}> : () -> !foo.thing<vector<2xf32>>\n'


def test_unknown_dialects_are_kept_on_request(opt: Opt) -> None:
    refused = opt("-", stdin=UNKNOWN)
    assert (refused.exit_code, "unknown dialect 'foo'" in refused.stderr) == (2, True)
    kept = opt("-", "--allow-unregistered-dialect", "--print-op-generic", stdin=UNKNOWN)
    assert kept.exit_code == 0
    assert '"foo.make"() <{size = 3 : si32}> : () -> !foo.thing<vector<2xf32>>' in kept.stdout


STABLEHLO = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.exponential %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def test_stablehlo_is_imported_unless_it_is_to_be_kept(opt: Opt, tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(STABLEHLO)
    for file, stdin in ((str(path), ""), ("-", STABLEHLO)):
        assert '"pd.exp"' in opt(file, stdin=stdin).stdout
    wrong = opt("-", stdin=STABLEHLO.replace("exponential", "fft"))
    assert (wrong.exit_code, "<stdin>:2:" in wrong.stderr) == (2, True)
    generic = '"stablehlo.exponential"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n'
    kept = opt("-", "--allow-unregistered-dialect", stdin=f'%0 = "foo.x"() : () -> tensor<4xf32>\n%1 = {generic}')
    assert '"stablehlo.exponential"' in kept.stdout


def test_the_generic_form_has_no_types_of_ours(opt: Opt) -> None:
    text = opt("a.mlir", "--mlir-print-op-generic").stdout
    assert '"func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({' in text
    assert "vtensor" not in text


def test_names_are_kept_on_request(opt: Opt) -> None:
    assert "%x: !pd.vtensor" in opt("a.mlir", "--keep-names").stdout
    assert "%x" not in opt("a.mlir").stdout


def test_the_ir_is_printed_around_passes_by_name(opt: Opt) -> None:
    result = opt("a.mlir", "-p", "canonicalize,cse", "--mlir-print-ir-before", "cse", "--print-ir-after", "cse")
    assert result.stderr.count("// -----// IR before cse") == result.stderr.count("// -----// IR after cse") == 1
    assert "canonicalize" not in result.stderr
    everything = opt("a.mlir", "-p", "canonicalize,cse", "--print-ir-before-all")
    assert everything.stderr.count("IR before") == 2
    assert "no pass is named 'cze'" in opt("a.mlir", "--print-ir-after", "cze").stderr


def test_a_pipeline_in_a_module_is_the_same_and_can_be_dumped(opt: Opt) -> None:
    result = opt("a.mlir", "--pass-pipeline", "builtin.module(func.func(cse))", "--dump-pass-pipeline")
    assert result.stdout == opt("a.mlir", "-p", "func.func(cse)").stdout
    assert result.stderr == "builtin.module(func.func(cse))\n"


def test_dialects_are_listed(opt: Opt) -> None:
    assert {"builtin", "func", "scf"} <= set(opt("--show-dialects").stdout.split())


def test_long_numbers_are_left_out_on_request(opt: Opt) -> None:
    text = '%0 = "builtin.constant"() {value = dense<[1, 2, 3]> : tensor<3xi32>} : () -> tensor<3xi32>\n'
    assert "dense_resource<__elided__>" in opt("--elide-large-elements", "2", stdin=text).stdout
    assert "dense<[1, 2, 3]>" in opt("--elide-large-elements", "3", stdin=text).stdout


def test_weights_are_saved_into_a_folder_and_never_left_out_in_silence(opt: Opt, tmp_path: Path) -> None:
    program = tx8ir.parse(TWO_EXPS)
    program.weights.add("w", np.ones(3, np.float32))
    program.save(tmp_path / "model")
    assert "none of the 1 weights" in opt("model", "-p", "cse").stderr
    lost = opt("model", "-p", "cse", "-o", "text.mlir")
    assert (lost.exit_code, (tmp_path / "text.mlir").exists()) == (2, False)
    assert "text.mlir would have none of the 1 weights" in lost.stderr
    result = opt("model", "-p", "cse", "-o", "saved")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    saved = Program.load(tmp_path / "saved")
    assert list(saved.weights) == ["w"]
    assert sum(op.name == "pd.exp" for op in saved.module.walk()) == 1


def test_the_round_trip_of_the_input_is_verified_on_request(opt: Opt, monkeypatch: pytest.MonkeyPatch) -> None:
    assert opt("a.mlir", "--verify-roundtrip").exit_code == 0
    monkeypatch.setattr("tx8ir.cli.opt_command.parse_op", lambda *_, **__: Program.empty().module)
    refused = opt("a.mlir", "--verify-roundtrip")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "the program is another one after its text was parsed" in refused.stderr


class TestExpectedErrors:
    @pytest.mark.parametrize(
        "text",
        [
            "// expected-error @+1 {{unknown dialect 'foo'}}\n" + UNKNOWN,
            UNKNOWN.rstrip() + " // expected-error {{unknown dialect}}\n",
            "// expected-error-re @below {{unknown {{[a-z]+}} 'foo'}}\n" + UNKNOWN,
            f"{TWO_EXPS}// -----\n// expected-error @below {{{{unknown dialect 'foo'}}}}\n{UNKNOWN}",
            TWO_EXPS.replace("    return", "    // expected-error @below {{func.return gives}}\n    return %x, %x : "
                             "!pd.vtensor<4xf32>, !pd.vtensor<4xf32> //"),
        ],
    )  # fmt: skip
    def test_those_that_come(self, opt: Opt, text: str) -> None:
        result = opt("--verify-diagnostics", "--split-input-file", stdin=text)
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")

    def test_those_that_do_not_come_and_others(self, opt: Opt) -> None:
        result = opt("--verify-diagnostics", stdin="// expected-error {{nothing}}\n" + UNKNOWN)
        assert result.exit_code == 1
        assert "line 2: unexpected error: unknown dialect 'foo'" in result.stderr
        assert "line 1: expected error 'nothing' was not produced" in result.stderr
