"""Names of a package that are imported when they are first touched, and shown to `dir` and to TAB before that."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazy_names(
    package: str, names: Mapping[str, str] | None = None, modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package (PEP 562).

        __getattr__, __dir__ = lazy_names(__name__, {"compile": "compiler"}, ["viz"])

    Args:
        package: its import name.
        names: what its modules define: name to module, relative to the package.
        modules: names of modules, which are attributes themselves.

    `__dir__` lists these and `__all__`: what is public, and not what the package itself imports. An unknown name is an
    AttributeError, for which Python proposes the nearest known one.
    """
    homes = dict(names or {})
    rooms = frozenset(modules)

    def get(name: str) -> Any:
        if name in homes:
            return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        if name in rooms:
            return importlib.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=sys.modules.get(package))

    def listed() -> list[str]:
        public = vars(sys.modules[package]).get("__all__", ())
        return sorted({*homes, *rooms, *public})

    return get, listed
