"""Modules that register something when they are imported, named before anything looks for it."""

from __future__ import annotations

import importlib
import sys
from typing import Final

_MODULES: Final[dict[str, list[str]]] = {}


def register_lazily(kind: str, module: str) -> None:
    """Let the module be imported when something of this kind is first looked for; it registers what it has."""
    _MODULES.setdefault(kind, []).append(module)


def is_loaded(kind: str) -> bool:
    """Whether all modules that register things of this kind are imported, or being imported."""
    return all(module in sys.modules for module in _MODULES.get(kind, ()))


def load_registered(kind: str) -> None:
    """Import the modules that register things of this kind."""
    for module in _MODULES.get(kind, ()):
        importlib.import_module(module)
