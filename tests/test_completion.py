"""TAB: what `rlcompleter` and jedi (IPython, notebooks, editors) propose on the public modules."""

from __future__ import annotations

import importlib
import inspect
import rlcompleter
import subprocess
import sys
from types import ModuleType

import jedi
import pytest

import tx8ir
from tx8ir.core import Op
from tx8ir.dialects import pd

MODULES = (
    "tx8ir",
    "tx8ir.core",
    "tx8ir.dialects",
    *(f"tx8ir.dialects.{name}" for name in ("builtin", "cf", "func", "pd", "scf", "tx8", "tx8be")),
    *(f"tx8ir.{name}" for name in dir(tx8ir) if isinstance(getattr(tx8ir, name), ModuleType)),
    "tx8ir.frontends.onnx",
    "tx8ir.frontends.paddle",
    "tx8ir.frontends.torch",
    "tx8ir.rewriting.declarative",
)


def completions(module: ModuleType, prefix: str = "") -> set[str]:
    """What TAB proposes after `m.` and the prefix."""
    completer = rlcompleter.Completer({"m": module})
    found: set[str] = set()
    while (text := completer.complete(f"m.{prefix}", len(found))) is not None:
        found.add(text)
    return {text.removeprefix("m.").rstrip("()") for text in found}


def public(module: ModuleType) -> set[str]:
    """What a module offers."""
    exports = getattr(getattr(module, "DIALECT", None), "exports", {})
    return {*getattr(module, "__all__", ()), *(exports if "DIALECT" in getattr(module, "__all__", ()) else ())}


@pytest.mark.parametrize("name", sorted(set(MODULES)))
def test_tab_proposes_everything_public(name: str) -> None:
    module = importlib.import_module(name)
    assert public(module) <= completions(module)
    proposed = {c.name for c in jedi.Interpreter("m.", [{"m": module}]).complete()}
    assert public(module) <= proposed


def test_tab_proposes_what_is_not_loaded_yet() -> None:
    """In a fresh process, where nobody has touched a name."""
    code = """
import rlcompleter, jedi, tx8ir
from tx8ir import viz, core
names = {"tx8ir": tx8ir, "viz": viz, "core": core}
completer = rlcompleter.Completer(names)
for text in ("tx8ir.comp", "tx8ir.vi", "viz.d", "core.Prog"):
    print(completer.complete(text, 0), text.split(".")[1] in {c.name[:len(text.split(".")[1])] for c in
          jedi.Interpreter(text, [names]).complete()})
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split("\n")[:4] == [
        "tx8ir.compile( True",
        "tx8ir.viz True",
        "viz.dot( True",
        "core.Program( True",
    ]


def test_lazy_packages_list_what_is_public_and_nothing_they_import() -> None:
    assert "TYPE_CHECKING" not in dir(tx8ir)
    assert {"compile", "parse", "viz", "core", "dialects"} <= set(dir(tx8ir))


def test_a_name_that_does_not_exist_gets_the_nearest_one() -> None:
    ran = subprocess.run([sys.executable, "-c", "import tx8ir; tx8ir.complie"], capture_output=True, text=True)
    assert "module 'tx8ir' has no attribute 'complie'. Did you mean: 'compile'?" in ran.stderr


def test_methods_of_values_are_proposed() -> None:
    program = tx8ir.parse(
        '%0 = "pd.full"() {shape = array<i64: 2>, value = 1.0, dtype = f32} : () -> !pd.vtensor<2xf32>'
    )
    value = program.body.first_op.results[0]  # type: ignore[union-attr]
    assert {"relu", "reshape", "T", "shape", "users"} <= set(dir(value))


def test_signatures_are_there_before_the_first_call() -> None:
    code = "import inspect; from tx8ir.dialects import pd; print(inspect.signature(pd.conv2d)); help(pd.relu_)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(
        "(input: 'Value | Operation', filter: 'Value | Operation', bias: 'Value | Operation | None' = None, *"
    )
    assert "class Relu_Op" in ran.stdout
    assert "Relu_Op(x: 'Value | Operation', *, out: 'Type | None' = None)" in ran.stdout


@pytest.mark.parametrize("name", ["pd", "tx8be", "tx8", "scf", "cf", "func", "builtin"])
def test_the_signature_is_what_the_constructor_takes(name: str) -> None:
    dialect = importlib.import_module(f"tx8ir.dialects.{name}").DIALECT
    from tx8ir.core.opdef.constructor import generate_constructor

    for op_class in dialect.ops.values():
        if not issubclass(op_class, Op) or (
            "__init__" in vars(op_class) and op_class.__init__.__name__ != "_first_init"
        ):
            continue
        shown = inspect.signature(op_class).parameters
        taken = list(inspect.signature(generate_constructor(op_class.definition)).parameters.values())[1:]
        assert [(p.name, p.kind) for p in shown.values()] == [(p.name, p.kind) for p in taken]
        assert [p.default is p.empty for p in shown.values()] == [p.default is p.empty for p in taken], op_class


def test_a_method_shows_the_signature_of_its_operation() -> None:
    assert (
        str(inspect.signature(pd.Tensor.softmax))
        == "(self, axis: 'int' = -1, *, out: 'Type | None' = None) -> 'Tensor'"
    )
