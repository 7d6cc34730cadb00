"""Crash reproducers: what a failing pass leaves can be run again, and fails in the same way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import attrs
import numpy as np
import pytest
from typer.testing import CliRunner

import tx8ir
from tx8ir.cli.app import app
from tx8ir.core import IrError, ListType, Operation, Program, print_op
from tx8ir.passes import OperationPass, PassError, PassManager, read_reproducer, register_pass
from tx8ir.passes import base as pass_base

TEXT = """\
module {
  func.func @main(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    %0 = "pd.exp"(%arg0) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %1 = "pd.exp"(%arg0) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    %2 = "pd.add"(%0, %1) : (!pd.vtensor<4xf32>, !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>
    return %2 : !pd.vtensor<4xf32>
  }
  func.func @other(%arg0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {
    return %arg0 : !pd.vtensor<4xf32>
  }
}"""


@attrs.frozen
class FailOn(OperationPass):
    """Fails when there is an operation of some name."""

    name: ClassVar[str] = "test-fail-on"

    op: str = "pd.add"
    how: str = "bug"

    def run_on(self, root: Operation, program: Program) -> None:
        for op in root.walk():
            if op.name != self.op:
                continue
            if self.how == "bug":
                raise KeyError(self.op)
            if self.how == "refuse":
                raise IrError(f"no {self.op} is wanted", op)
            op.results[0].type = ListType([])  # what verification finds


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before = dict(pass_base.all_passes())
    register_pass(FailOn)
    yield
    pass_base._REGISTRY.clear()
    pass_base._REGISTRY.update(before)


def failure(text: str, pipeline: str, path: Path, *, local: bool = False) -> Exception:
    with pytest.raises((PassError, KeyError)) as caught:
        PassManager.parse(pipeline).run(tx8ir.parse(text), crash_reproducer=path, local_reproducer=local)
    return caught.value


@pytest.mark.parametrize("how", ["bug", "refuse", "break"])
def test_a_failure_is_written_and_happens_again(tmp_path: Path, how: str) -> None:
    path = tmp_path / "crash.mlir"
    pipeline = f"canonicalize,func.func(cse,test-fail-on{{how={how}}}),dce"
    first = failure(TEXT, pipeline, path)
    assert first.__notes__[-1] == f"a reproducer is in {path}; run it with: tx8ir opt --run-reproducer {path}"
    found = read_reproducer(path)
    assert str(found.program.module) == TEXT
    assert PassManager(found.passes) == PassManager.parse(pipeline)
    assert found.verify_each
    with pytest.raises(type(first)) as again:
        PassManager(found.passes).run(found.program)
    assert str(again.value).replace(str(path), "<text>") == str(first)


def test_a_local_one_has_the_pass_that_failed_and_the_program_before_it(tmp_path: Path) -> None:
    path = tmp_path / "crash.mlir"
    first = failure(TEXT, "func.func(cse,test-fail-on{op=pd.add})", path, local=True)
    found = read_reproducer(path)
    assert str(PassManager(found.passes)) == "func.func(test-fail-on)"
    assert str(found.program.module).count("pd.exp") == 1  # cse has run
    with pytest.raises(KeyError) as again:
        PassManager(found.passes).run(found.program)
    assert str(again.value) == str(first)


def test_the_file_is_as_mlir_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "crash.mlir"
    failure(TEXT, "test-fail-on", path)
    assert (
        path.read_text()
        == f"""{TEXT}

{{-#
  external_resources: {{
    mlir_reproducer: {{
      pipeline: "builtin.module(test-fail-on)",
      disable_threading: true,
      verify_each: true
    }}
  }}
#-}}
"""
    )


def test_weights_go_into_a_file_beside_it_as_they_were(tmp_path: Path) -> None:
    program = tx8ir.parse(
        TEXT.replace('"pd.exp"(%arg0) : (!pd.vtensor<4xf32>)', '"builtin.get_parameter"() {name = "w"} : ()', 1)
    )
    program.weights.add("w", np.arange(4, dtype=np.float32))
    path = tmp_path / "crash.mlir"
    with pytest.raises(KeyError):
        PassManager.parse("test-fail-on").run(program, crash_reproducer=path)
    found = read_reproducer(path)
    assert found.program.weights["w"].numpy().tolist() == [0, 1, 2, 3]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["crash.mlir", "crash.safetensors"]


def test_blobs_of_the_program_stay_in_the_section(tmp_path: Path) -> None:
    text = TEXT.replace("module {", "module attributes {blob = dense_resource<big> : tensor<?xf32>} {")
    text += '\n\n{-#\n  dialect_resources: {\n    builtin: {\n      big: "0x04000000CDAB"\n    }\n  }\n#-}'
    path = tmp_path / "crash.mlir"
    failure(text, "test-fail-on", path)
    assert print_op(read_reproducer(path).program.module) == print_op(tx8ir.parse(text).module)
    assert path.read_text().count("{-#") == 1


def test_nothing_is_written_without_a_failure_and_a_full_disk_hides_none(tmp_path: Path) -> None:
    path = tmp_path / "crash.mlir"
    PassManager.parse("cse").run(tx8ir.parse(TEXT), crash_reproducer=path)
    assert not path.exists()
    first = failure(TEXT, "test-fail-on", tmp_path / "absent" / "crash.mlir")
    assert isinstance(first, KeyError)
    assert "a reproducer could not be written" in first.__notes__[-1]


@pytest.mark.parametrize(
    "text", [TEXT, TEXT + "\n{-#\n  external_resources: {\n    mlir_reproducer: {\n    }\n  }\n#-}\n"]
)
def test_a_text_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plain.mlir"
    path.write_text(text)
    with pytest.raises(
        IrError, match=r"plain\.mlir is not a reproducer: it has no `mlir_reproducer` with a `pipeline`"
    ):
        read_reproducer(path)


def test_on_the_command_line(tmp_path: Path) -> None:
    source, path = tmp_path / "in.mlir", tmp_path / "crash.mlir"
    source.write_text(TEXT)
    run = CliRunner().invoke
    arguments = ["opt", str(source), "-p", "cse,test-fail-on{how=refuse}"]
    first = run(app, [*arguments, f"--mlir-pass-pipeline-crash-reproducer={path}"])
    assert first.exit_code == 2
    assert f"note: a reproducer is in {path}" in first.stderr
    again = run(app, ["opt", "--run-reproducer", str(path)])
    assert again.exit_code == 2
    assert "pass 'test-fail-on': no pd.add is wanted" in again.stderr
    local = run(
        app, [*arguments, f"--mlir-pass-pipeline-crash-reproducer={path}", "--mlir-pass-pipeline-local-reproducer"]
    )
    assert local.exit_code == 2
    assert 'pipeline: "builtin.module(test-fail-on{how=refuse})"' in path.read_text()
