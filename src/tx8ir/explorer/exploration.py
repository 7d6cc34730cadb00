"""What `explore` returns: data, JSON, and a page."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any, Final

import attrs

from tx8ir.compiler import CompileOptions, Progress
from tx8ir.core import Program
from tx8ir.executable import Executable
from tx8ir.support.display import register_explorer
from tx8ir.target.chip import Target

from .collect import collect, collect_executable
from .model import ExplorerData
from .render import page

_HEIGHT: Final = 760


@attrs.frozen
class Exploration:
    """A program to look at. Notebooks show it as a frame; `save` writes a file that opens by double click."""

    data: ExplorerData = attrs.field(repr=lambda data: f"'{data.title}'")

    @property
    def html(self) -> str:
        """The page: one file that loads nothing."""
        return page(self.json(), self.data.title)

    def json(self) -> str:
        """The data as JSON; `json_schema(ExplorerData)` is its schema."""
        return json.dumps(attrs.asdict(self.data), separators=(",", ":"))

    def save(self, path: str | Path) -> Path:
        """Writes the page, or the data when the file is called `.json`, and returns the path."""
        file = Path(path)
        file.write_text(self.json() if file.suffix == ".json" else self.html, encoding="utf-8")
        return file

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        frame = f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
        return {"text/plain": repr(self), "text/html": frame}


def explore(
    subject: Program | Executable,
    target: Target | None = None,
    options: CompileOptions = CompileOptions(),
    *,
    title: str = "program",
    progress: Progress | None = None,
) -> Exploration:
    """A program from its source to its instructions and their times.

    A program is compiled for `target` with `options`, an executable that knows its source once more as it was compiled.
    Of an executable that was loaded from a folder the compiled program and its run are shown. The time is that of the
    simulator's clock: no inputs are needed.

    Raises what `tx8ir.compile` raises.
    """
    if isinstance(subject, Executable):
        if subject.source is None:
            return Exploration(collect_executable(subject, title=title))
        return explore(subject.source, None, CompileOptions(**subject.options), title=title, progress=progress)
    return Exploration(collect(subject, target, options, title=title, progress=progress))


def _explored(executable: Executable, title: str) -> Exploration:
    return explore(executable, title=title)


register_explorer(_explored)
