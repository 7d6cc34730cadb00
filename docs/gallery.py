"""The notebooks as pages of the site: text as it is, cells as blocks of code, what they show below.

Their outputs are those of the files; docs/notebooks.py renews these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOKS = sorted((Path(__file__).parent.parent / "examples" / "notebooks").glob("*.ipynb"))


def index() -> str:
    """The page that lists the notebooks, each with its first paragraph."""
    lines = [
        "# Notebooks",
        "",
        "Stories with real output, from top to bottom in a few seconds each. They are in `examples/notebooks` of the",
        "repository and of the source distribution, and need the extras `onnx`, `prove` and `viz` (`all` has them).",
        "",
    ]
    for path in NOTEBOOKS:
        title, text = _opening(path)
        lines += [f"## [{title}]({path.stem}.md)", "", text, ""]
    return "\n".join(lines)


def page(path: Path) -> str:
    """A notebook as Markdown."""
    lines: list[str] = []
    for cell in _cells(path):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            lines += [source, ""]
        else:
            lines += ["```python", source, "```", ""]
            for output in cell["outputs"]:
                lines += [*_output(output), ""]
    return "\n".join(lines)


def _cells(path: Path) -> list[Any]:
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def _opening(path: Path) -> tuple[str, str]:
    heading, text, *_ = "".join(_cells(path)[0]["source"]).split("\n\n")
    return heading.removeprefix("# "), text


def _output(output: Any) -> Iterator[str]:
    data = output.get("data", {})
    if output["output_type"] == "stream":
        yield from _text("".join(output["text"]))
    elif output["output_type"] == "error":
        yield from _text(f"{output['ename']}: {output['evalue']}", "error")
    elif "image/svg+xml" in data:
        yield f'<div class="shown">{_one_line("".join(data["image/svg+xml"]))}</div>'
    elif "image/png" in data:
        picture = "".join("".join(data["image/png"]).split())
        yield f'<div class="shown"><img alt="What the cell above draws." src="data:image/png;base64,{picture}"></div>'
    elif "text/html" in data:
        yield f'<div class="shown">{_one_line("".join(data["text/html"]))}</div>'
    else:
        yield from _text("".join(data["text/plain"]))


def _text(text: str, kind: str = "output") -> Iterator[str]:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    yield from (f"{fence} {{ .text .{kind} }}", text.rstrip("\n"), fence)


def _one_line(markup: str) -> str:
    """Markdown ends a block of HTML at an empty line."""
    return markup.replace("\n", "&#10;" if "<pre" in markup else " ")
