"""The command in a shell: TAB, help on a narrow terminal, a reader that goes away, the status it ends with."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from tx8ir.cli import completion
from tx8ir.cli import console as progress_console
from tx8ir.cli.app import COMMANDS, app, load_command
from tx8ir.cli.compiling import choices_in_words
from tx8ir.compiler import DTYPES

ROOT = Path(__file__).parents[2]
MODEL = ROOT / "tests/data/models/gpt2/model.onnx"

CASES = ("list", "run", "save")


def loaded(command: tuple[str, ...]) -> Any:
    found = load_command(command[0])
    return found.commands[command[1]] if command[1:] else found


@pytest.mark.parametrize(
    "command", [(), *((name,) for name in COMMANDS), *(("cases", name) for name in CASES)], ids=" ".join
)
def test_help_fits_a_terminal_of_80_columns(command: tuple[str, ...]) -> None:
    """No line is wider, no option is cut short, and the exit status is said."""
    ran = CliRunner().invoke(
        app, [*command, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}, terminal_width=80
    )
    assert ran.exit_code == 0
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert "…" not in ran.stdout
    assert command == ("cases",) or "Exit status: 0 " in ran.stdout
    if command:
        options = loaded(command).params
        assert all(option in ran.stdout for param in options for option in param.opts if option.startswith("--"))
    else:
        assert all(f"  {name} " in ran.stdout for name in COMMANDS)
        assert "..." not in ran.stdout.partition("Commands:")[2]


def test_the_words_of_the_options_are_those_of_the_compiler() -> None:
    options = {option: param for param in load_command("run").params for option in param.opts}
    assert options["--opt"].help == f"how to compile, repeatable: {choices_in_words()}"
    assert options["--dtype"].metavar == "|".join(map(str, DTYPES))


def test_tab_completes_the_last_name_of_a_pipeline() -> None:
    assert completion.pipeline("canon") == ["canonicalize", "canonicalize-reductions"]
    assert completion.pipeline("func.func(cse,dc") == ["func.func(cse,dce"]
    assert completion.pipeline("cse,canonicalize{max-r") == ["cse,canonicalize{max-rewrites="]
    assert completion.pipeline("func.func(convert-dtype{dtype=bf16},cse") == ["func.func(convert-dtype{dtype=bf16},cse"]
    assert "lower-to-tx8be" in completion.stages("lower")
    assert completion.patterns("no-such") == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("tx8ir opt -p cse,dc", "cse,dce"),
        ("tx8ir fuzz canonicalize-r", "canonicalize-reductions"),
        ("tx8ir print model --after layout-i", "layout-init"),
        ("tx8ir comp", "compile"),
        ("tx8ir opt --print-ir-after layout-i", "layout-init"),
        ("tx8ir opt --explain gelu-e", "gelu-erf"),
        ("tx8ir opt --guarantee no", "no-nans"),
        ("tx8ir run model --dtype b", "bf16"),
        ("tx8ir compile model --opt graph=r", "graph=required"),
        ("tx8ir compile model --profile b", "board"),
        ("tx8ir cases run Softm", "Softmax"),
    ],
)
def test_the_shell_asks_for_completions(words: str, expected: str) -> None:
    asked = {"_TX8IR_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    code = "import sys; sys.argv = ['tx8ir']; from tx8ir.cli import main; main()"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **asked})
    assert ran.stdout.split() == [expected]


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    model = tmp_path / "long.mlir"
    lines = ['%0 = "pd.full"() {shape = array<i64>, value = 1.0, dtype = f32} : () -> !pd.vtensor<f32>'] * 5000
    model.write_text("module {\n" + "\n".join(line.replace("%0", f"%{i}") for i, line in enumerate(lines)) + "\n}\n")
    commands = (
        ["print", str(model)],
        ["opt", str(model)],
        ["opt", "--list"],
        ["cases", "list"],
        ["cases", "list", "--json"],
    )
    for command in commands:
        running = subprocess.Popen(
            [sys.executable, "-m", "tx8ir", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stdout.read(1)
        running.stdout.close()
        assert running.stderr.read() == "", command
        running.stderr.close()
        assert running.wait() in (0, 1)  # by how much was written already


def on_a_terminal(*arguments: str) -> str:
    """What a command writes to stderr when that is a terminal."""
    pty = pytest.importorskip("pty", reason="pseudo-terminals are of POSIX systems")
    reader, terminal = pty.openpty()
    command = [sys.executable, "-m", "tx8ir", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal) as running:
        os.close(terminal)
        written = b""
        while True:
            try:
                part = os.read(reader, 4096)
            except OSError:  # nobody has the other end open
                break
            written += part
            if not part:
                break
    os.close(reader)
    assert running.returncode == 0
    return written.decode()


def test_progress_is_for_terminals_alone() -> None:
    command = ("fuzz", "dce", "--examples", "30")
    assert "30 programs, " in on_a_terminal(*command)
    piped = subprocess.run([sys.executable, "-m", "tx8ir", *command], capture_output=True, text=True, check=True)
    assert piped.stderr == ""


def test_a_stage_that_takes_long_is_named_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_console, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(
        progress_console, "console", lambda **_: Console(file=written, force_terminal=True, highlight=False)
    )
    written = io.StringIO()
    with progress_console.StageProgress().stage("group-fuse"):
        pass
    assert "group-fuse: 0.0 s" in written.getvalue()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--version"], 0),
        (["print", "nowhere.mlir"], 2),
        (["opt", "-p", "no-such-pass"], 2),
        (["fuzz", "dce", "--examples", "0"], 3),
        (["run"], 2),
    ],
)
def test_the_status_says_what_happened(arguments: list[str], status: int) -> None:
    """Status 1, for answers that differ, is in `test_opt`, `test_app` and `test_fuzz`."""
    assert CliRunner().invoke(app, arguments, input="module {}").exit_code == status
