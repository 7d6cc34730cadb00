"""The shipped dialects. Each is imported when it is first used, by name in a text or as `tx8ir.dialects.pd`."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

from tx8ir.core.context import default_context

if TYPE_CHECKING:
    from . import builtin, cf, func, pd, scf, tx8, tx8be

__all__ = ["builtin", "cf", "func", "pd", "scf", "tx8", "tx8be"]

_KEYWORDS = {"builtin": {"module": "builtin.module"}, "func": {"return": "func.return"}}

for _name in __all__:
    default_context().register_lazily(_name, f"{__name__}.{_name}", _KEYWORDS.get(_name))


def __getattr__(name: str) -> ModuleType:
    if name in __all__:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
