"""What a command imports before it begins: `tx8ir opt` does not wait for the compiler, nor `--help` for anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
sys.argv = ["tx8ir", *{arguments!r}]
from tx8ir.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sorted(name for name in sys.modules if name.startswith("tx8ir.") or name in {outside!r}), file=sys.stderr)
"""
OUTSIDE = ("networkx", "onnx", "matplotlib")


def imported(*arguments: str, **environment: str) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", CODE.format(arguments=arguments, outside=OUTSIDE)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert ran.returncode == 0, ran.stderr
    return set(ran.stderr.split())


def parts(modules: set[str]) -> set[str]:
    """The packages and modules right under `tx8ir`, and what is not ours."""
    return {name.split(".")[1] if name.startswith("tx8ir.") else name for name in modules}


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "empty.mlir"
    path.write_text("module {}")
    return str(path)


HEAVY = {"backend", "compiler", "executable", "interpreter", "kernels", "reports", "sim", "testing", "explorer", "viz"}


def test_opt_imports_the_passes_that_it_runs_and_nothing_of_the_compiler(model: str) -> None:
    found = imported("opt", model, "-p", "func.func(cse),dce")
    assert not parts(found) & {*HEAVY, *OUTSIDE}
    kinds = {"cleanup", "control_flow", "fusion", "legalize", "precision", "recognize", "storage"}
    passes = {name for name in found if name.startswith("tx8ir.transforms.") and name.split(".")[2] in kinds}
    assert passes == {"tx8ir.transforms.cleanup", "tx8ir.transforms.cleanup.cse", "tx8ir.transforms.cleanup.dce"}


def test_print_imports_nothing_of_the_compiler(model: str) -> None:
    assert not parts(imported("print", model)) & {*HEAVY, *OUTSIDE}


def test_help_imports_no_command() -> None:
    assert not {name for name in imported("--help") if name.endswith("_command")}
    assert not parts(imported("opt", "--help")) & {*HEAVY, "transforms", *OUTSIDE}


def test_completing_a_pass_imports_no_other_command() -> None:
    found = imported(_TX8IR_COMPLETE="complete_bash", COMP_WORDS="tx8ir opt --verify-d", COMP_CWORD="2")
    assert {name for name in found if name.endswith("_command")} == {"tx8ir.cli.opt_command"}
    assert not parts(found) & {*HEAVY, *OUTSIDE}
