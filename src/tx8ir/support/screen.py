"""Reprs that fit a screen: at most 25 lines of 100 characters, whatever the object holds."""

from __future__ import annotations

import reprlib
import types
from typing import Any, Final, cast

import attrs

WIDTH: Final = 100
LINES: Final = 25


class _Short(reprlib.Repr):
    """Cuts values; functions and classes by their names."""

    def repr1(self, x: Any, level: int) -> str:
        return x.__qualname__ if isinstance(x, type | types.FunctionType) else super().repr1(x, level)


_short: Final = _Short()
_short.maxlevel = 2
_short.maxtuple = _short.maxlist = _short.maxdict = _short.maxset = _short.maxfrozenset = 4
_short.maxstring = _short.maxother = 64


def fitted(text: str) -> str:
    """A line of text, the middle left out where it is longer than a line of the screen."""
    if len(text) <= WIDTH:
        return text
    left = WIDTH * 2 // 3
    return f"{text[:left]}...{text[left + 3 - WIDTH :]}"


def fitting_repr(self: Any) -> str:
    """The `__repr__` of an attrs class: `Name(field=value, ...)`, a field in a line where one line is too short.

    Values that are long themselves are cut; private fields and those with `repr=False` are left out.
    """
    fields = [
        field
        for field in cast("tuple[attrs.Attribute[Any], ...]", self.__attrs_attrs__)
        if field.repr and not field.name.startswith("_")
    ]
    parts = [f"{field.name}={' '.join(_short.repr(getattr(self, field.name)).split())}" for field in fields]
    name = type(self).__name__
    line = f"{name}({', '.join(parts)})"
    if len(line) <= WIDTH:
        return line
    left_out = len(parts) - (LINES - 3)
    shown = parts if left_out <= 1 else [*parts[: LINES - 3], f"... {left_out} more"]
    return "\n".join([f"{name}(", *(fitted(f"  {part},") for part in shown), ")"])
