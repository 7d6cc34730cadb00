"""Operations that differ in nothing but their name."""

from __future__ import annotations

from collections.abc import Iterable

from tx8ir.core import Op
from tx8ir.core.opdef.op import OpMeta


def family(base: type[Op], dialect: str, names: Iterable[str]) -> list[type[Op]]:
    """An operation like `base` for each name."""
    found: list[type[Op]] = []
    for name in names:
        words = "".join(word.capitalize() for word in name.split("_"))
        space = {"__module__": base.__module__, "__qualname__": f"{words}Op", "__doc__": base.__doc__}
        found.append(OpMeta(f"{words}Op", (base,), space, name=f"{dialect}.{name}"))
    return found
