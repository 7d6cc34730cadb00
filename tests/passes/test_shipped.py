"""The table of the passes that come with tx8ir, and what is imported when a pipeline names one."""

from __future__ import annotations

import importlib
import os
import pkgutil
import subprocess
import sys

import pytest

import tx8ir.backend
import tx8ir.transforms
from tx8ir.passes import Pass, PassManager, all_passes, find_pass, register_pass, shipped


def test_the_table_has_what_the_modules_define() -> None:
    """Every named pass, each under its name, its aliases with it; `passes/shipped.py` is where one is added."""
    for package in (tx8ir.transforms, tx8ir.backend):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    places: dict[str, str] = {}
    aliases: dict[str, str] = {}
    work: list[type[Pass]] = [Pass]
    while work:
        cls = work.pop()
        work.extend(cls.__subclasses__())
        module = cls.__module__.removeprefix("tx8ir.")
        if module.startswith(("transforms.", "backend.")) and "name" in cls.__dict__:
            places[cls.name] = f"{module}:{cls.__qualname__}"
            aliases.update(dict.fromkeys(cls.aliases, cls.name))
    assert dict(shipped.PASSES) == places
    assert dict(shipped.ALIASES) == aliases


def test_each_is_found_by_its_name_and_its_aliases() -> None:
    for name in shipped.PASSES:
        assert all_passes()[name].name == name
    for alias, name in shipped.ALIASES.items():
        assert find_pass(alias) is all_passes()[name]
    for name in shipped.PIPELINES_IN:
        assert PassManager.parse(name).passes


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each module is imported in a process of its own, made by fork")
def test_each_module_can_be_the_first_that_is_imported() -> None:
    code = f"""
import importlib, os, tx8ir.passes, tx8ir.dialects.pd, tx8ir.interpreter
for place in {sorted({place.partition(":")[0] for place in shipped.PASSES.values()})!r}:
    child = os.fork()
    if not child:
        importlib.import_module("tx8ir." + place)
        os._exit(0)
    assert not os.waitpid(child, 0)[1], place
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(("name", "kind"), [("lower-to-tx8be", "pass"), ("licm", "pass"), ("prepare", "pipeline")])
def test_a_shipped_name_is_taken_before_it_is_loaded(name: str, kind: str) -> None:
    code = f"""
import attrs
from tx8ir.passes import OperationPass, register_pass, register_pipeline
class Mine(OperationPass):
    name = {name!r}
    def run_on(self, root, program): pass
try:
    register_pass(attrs.frozen(Mine))
except TypeError as error:
    assert "is taken by" in str(error), error
else:
    raise SystemExit("registered")
try:
    register_pipeline({name!r}, "cse")
except ValueError as error:
    assert "is taken by" in str(error), error
else:
    raise SystemExit("registered")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_a_class_may_be_registered_again() -> None:
    for cls in all_passes().values():
        assert register_pass(cls) is cls
