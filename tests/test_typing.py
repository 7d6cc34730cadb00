"""What type checkers say to a user's file: nothing where it is right, something on each line where it is wrong."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FILES = Path(__file__).parent / "data" / "typing"
SOURCE = Path(__file__).parents[1] / "src"

pytestmark = pytest.mark.slow


def mypy(folder: Path) -> set[tuple[str, int]]:
    """The lines that mypy refuses."""
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", f"--cache-dir={folder / 'cache'}"]
    command = [sys.executable, "-m", "mypy", *options, "user.py", "mistakes.py"]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={"MYPYPATH": str(SOURCE)})
    assert not ran.stderr, ran.stderr
    # What it says of installed packages it keeps to itself; ours are found as sources here.
    return {(name, int(line)) for name, line in re.findall(r"^(\w+\.py):(\d+): error", ran.stdout, re.MULTILINE)}


def pyright(folder: Path) -> set[tuple[str, int]]:
    """The lines that pyright refuses."""
    settings = {"include": ["user.py", "mistakes.py"], "extraPaths": [str(SOURCE)], "pythonVersion": "3.11"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(folder)]
    ran = subprocess.run(command, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    assert found["summary"]["filesAnalyzed"] == 2
    errors = [d for d in found["generalDiagnostics"] if d["severity"] == "error"]
    return {(Path(d["file"]).name, d["range"]["start"]["line"] + 1) for d in errors}


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_right_lines_pass_and_wrong_ones_do_not(
    checker: Callable[[Path], set[tuple[str, int]]], tmp_path: Path
) -> None:
    wrong: set[tuple[str, int]] = set()
    for name in ("user.py", "mistakes.py"):
        text = (FILES / name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(text, encoding="utf-8")
        wrong |= {(name, n) for n, line in enumerate(text.splitlines(), 1) if line.endswith("# wrong")}
    assert len(wrong) == 14
    assert checker(tmp_path) == wrong


def test_the_users_file_runs() -> None:
    runpy.run_path(str(FILES / "user.py"), run_name="__main__")
