"""Front ends: one folder per source format, each an optional extra, imported when it is first used.

`tx8ir.frontends.onnx.load("model.onnx")` needs `pip install tx8ir[onnx]`; importing `tx8ir.frontends` needs nothing.
"""

from __future__ import annotations

import importlib
from types import ModuleType

_FRONTENDS = ("onnx",)


def __getattr__(name: str) -> ModuleType:
    if name in _FRONTENDS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; front ends are {', '.join(_FRONTENDS)}")


def __dir__() -> list[str]:
    return list(_FRONTENDS)
