"""What importing costs and what it must not need: optional packages stay out until their room is entered."""

from __future__ import annotations

import subprocess
import sys

import pytest

OPTIONAL = ("onnx", "torch", "typer", "rich", "matplotlib")


def run(code: str) -> str:
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize(
    "statement",
    [
        "import tx8ir",
        "from tx8ir.dialects import builtin, func, pd, tx8be, tx8",
        "from tx8ir import compile, Executable, interpreter, transforms, sim, viz, testing",
        "import tx8ir.frontends",
    ],
)
def test_no_optional_package_is_imported(statement: str) -> None:
    loaded = run(f"{statement}\nimport sys\nprint(*sorted({set(OPTIONAL)!r} & set(sys.modules)))")
    assert loaded == ""


def test_the_compiler_works_where_no_optional_package_is_installed() -> None:
    blocked = "\n".join(f"sys.modules[{name!r}] = None" for name in OPTIONAL)
    assert run(f"import sys\n{blocked}\nimport tx8ir\nprint(tx8ir.compile.__name__)") == "compile"


@pytest.mark.parametrize(
    ("package", "statement"),
    [
        ("onnx", "from tx8ir.frontends.onnx import load"),
        ("torch", "from tx8ir.frontends.torch import trace; trace(None)"),
        ("typer", MAIN := "from tx8ir.cli import main; main()"),
        ("rich", f"sys.argv = ['tx8ir', 'print', '-']; {MAIN}"),
    ],
)
def test_a_missing_extra_is_named(package: str, statement: str) -> None:
    code = f"import sys\nsys.modules[{package!r}] = None\n{statement}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode != 0
    assert "pip install" in ran.stderr
    assert f"tx8ir[{package if package in ('onnx', 'torch') else 'cli'}]" in ran.stderr


def test_the_package_alone_imports_quickly() -> None:
    """The compiler and the simulator are loaded when they are first asked for."""
    heavy = (
        "tx8ir.backend",
        "tx8ir.sim",
        "tx8ir.compiler",
        "tx8ir.executable",
        "tx8ir.transforms",
        "networkx",
        "ml_dtypes",
    )
    assert run(f"import tx8ir, sys\nprint(*sorted(m for m in sys.modules if m.startswith({heavy!r})))") == ""


def test_passes_are_there_when_they_are_looked_for() -> None:
    code = (
        "import tx8ir.passes, sys\nprint('tx8ir.transforms' in sys.modules, tx8ir.passes.find_pass('licm') is not None)"
    )
    assert run(code) == "False True"
