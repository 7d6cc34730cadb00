"""How notebooks show what the core holds: by a renderer that registers itself, or is named and imported when needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from .registration import load_registered


class Renderer(Protocol):
    """Shows programs, operations, blocks and values."""

    def html(self, thing: Any) -> str:
        """A fragment of HTML that stands on its own: styles and scripts included, other parts of a page untouched."""
        ...

    def text(self, thing: Any) -> str:
        """The same as plain text."""
        ...


class Page(Protocol):
    """A page about a program, as `tx8ir.explorer` makes it."""

    @property
    def html(self) -> str:
        """The page: one file that loads nothing."""
        ...

    def json(self) -> str:
        """What the page shows, as JSON."""
        ...

    def save(self, path: str | Path) -> Path:
        """Writes the page, or the JSON when the file is called `.json`, and returns the path."""
        ...


_renderer: Renderer | None = None
_explorer: Callable[[Any, str], Page] | None = None


def register_renderer(renderer: Renderer) -> None:
    """Let `renderer` show everything from now on."""
    global _renderer
    _renderer = renderer


def register_explorer(explorer: Callable[[Any, str], Page]) -> None:
    """Let `explorer(executable, title)` make the pages of executables from now on."""
    global _explorer
    _explorer = explorer


def explored(executable: Any, title: str) -> Page:
    """The page of an executable."""
    if _explorer is None:
        load_registered("explorer")
    assert _explorer is not None
    return _explorer(executable, title)


def _current() -> Renderer | None:
    if _renderer is None:
        load_registered("renderer")
    return _renderer


class Displayable:
    """What notebooks show richly. Without a renderer they show the `repr`."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        renderer = _current()
        return renderer.html(self) if renderer is not None else None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Mapping[str, str]:
        renderer = _current()
        if renderer is None:
            return {"text/plain": repr(self)}
        makers: dict[str, Callable[[Any], str]] = {"text/plain": renderer.text, "text/html": renderer.html}
        wanted = [m for m in makers if (not include or m in include) and m not in (exclude or ())]
        return {mime: makers[mime](self) for mime in wanted}
