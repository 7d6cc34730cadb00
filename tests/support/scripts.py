"""Scripts of the repository, which belong to no package, as modules: what makes a page, and benchmarks."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def load(path: str) -> ModuleType:
    """The module of a file, by its path from the root of the repository; executed anew at each call."""
    name = f"script_{Path(path).stem}"
    spec = importlib.util.spec_from_file_location(name, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # data classes look their module up
    spec.loader.exec_module(module)
    return module
