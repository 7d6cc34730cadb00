"""Places of Python code, in files and in notebooks."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from tx8ir.core.location import python_location


def test_a_place_in_a_notebook_is_named_by_its_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """As IPython's tracebacks name it, not by the temporary file that the cell was compiled as."""
    cells = {"/tmp/ipykernel_1/2.py": ("Cell", "In[7]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    cell, file = (compile("x = 1\n", name, "exec") for name in ("/tmp/ipykernel_1/2.py", "net.py"))
    assert str(python_location(cell, 0)).startswith('loc("In[7]":')
    assert str(python_location(file, 0)).startswith('loc("net.py":')


def test_outside_of_a_notebook_it_is_named_by_its_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where IPython is loaded and runs nothing."""
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert str(python_location(compile("x = 1\n", "net.py", "exec"), 0)).startswith('loc("net.py":')
