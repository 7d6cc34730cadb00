"""Writes the documentation as HTML into build/docs: the pages of docs/ and the reference pages made from docstrings.

Run by `make docs`. Links between pages are checked by tests/test_docs.py.
"""

from __future__ import annotations

import html
import importlib
import inspect
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from tx8ir.core import Op
from tx8ir.core.opdef.fields import MISSING

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
OUT = ROOT / "build" / "docs"

NAVIGATION = (
    ("tx8ir", "index.html"),
    ("Tutorial", "docs/tutorial/a-model-on-the-chip.html"),
    ("How-to", "docs/how-to/index.html"),
    ("Command line", "docs/reference/cli.html"),
    ("Python", "docs/reference/python.html"),
    ("Operations", "docs/reference/operations.html"),
    ("Instructions", "docs/reference/instructions.html"),
    ("Passes", "docs/reference/passes.html"),
    ("Pipeline", "docs/explanation/pipeline.html"),
)

DIALECTS = ("builtin", "func", "pd", "tx8be", "tx8")


def build(out: Path = OUT) -> list[Path]:
    """Writes the whole documentation into `out` and returns the pages written."""
    shutil.rmtree(out, ignore_errors=True)
    pages = {Path("index.html"): (ROOT / "README.md").read_text(encoding="utf-8")}
    for name in ("CONTRIBUTING", "CHANGELOG"):
        pages[Path(f"{name}.html")] = (ROOT / f"{name}.md").read_text(encoding="utf-8")
    for source in sorted(DOCS.rglob("*.md")):
        pages[source.relative_to(ROOT).with_suffix(".html")] = source.read_text(encoding="utf-8")
    pages[Path("docs/reference/operations.html")] = "\n".join(operations())
    renderer = MarkdownIt("commonmark").enable("table")
    for path, text in pages.items():
        target = out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(page(path, renderer.render(text)), encoding="utf-8")
    for name in ("flow.svg", "style.css"):
        shutil.copy(DOCS / name, out / "docs" / name)
    shutil.copytree(DOCS / "explorer", out / "docs" / "explorer")
    for schema in (DOCS / "reference").glob("*.schema.json"):
        shutil.copy(schema, out / "docs" / "reference" / schema.name)
    return [out / path for path in pages]


def page(path: Path, body: str) -> str:
    """A whole HTML page around a rendered body; links to .md files become links to the pages made of them."""
    up = "../" * (len(path.parts) - 1)
    links = "".join(f'<a href="{up}{target}">{title}</a>' for title, target in NAVIGATION)
    body = re.sub(r'href="(?!\w+:)([^"#]*?)(?:README)?\.md(#[^"]*)?"', r'href="\1.html\2"', body)
    title = html.escape(re.sub(r"<.*?>", "", body.partition("</h1>")[0]).strip() or "tx8ir")
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<link rel="stylesheet" href="{up}docs/style.css">\n'
        "</head>\n<body>\n"
        f"<nav>{links}</nav>\n{body}\n</body>\n</html>\n"
    )


def operations() -> Iterator[str]:
    """The Markdown page that lists every operation of every dialect, from its class."""
    yield "# Operations\n\nBy dialect, made from the classes that define them.\n"
    for name in DIALECTS:
        package = importlib.import_module(f"tx8ir.dialects.{name}")
        yield f"## `{name}`\n\n{inspect.getdoc(package) or ''}\n"
        for _, op in sorted(package.DIALECT.ops.items()):
            yield from operation(op)


def operation(op: type[Op]) -> Iterator[str]:
    """One operation: its text name, its documentation, and a table of its fields."""
    yield f"### `{op.name}`\n\n{inspect.cleandoc(op.__doc__ or '')}\n"
    definition = op.definition
    rows: list[str] = []
    for kind, fields in (
        ("operand", definition.operands),
        ("attribute", definition.attributes),
        ("region", definition.regions),
        ("result", definition.results),
    ):
        for field in fields:
            default = getattr(field, "default", MISSING)
            spelled = field.name if default is MISSING else f"{field.name} = {getattr(default, 'value', default)!r}"
            rows.append(f"| {kind} | `{spelled}` | {field.doc.replace('|', chr(92) + '|')} |")
    if rows:
        yield "| | name, default | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    traits = sorted(trait.__name__ for trait in op.info.traits)
    if traits:
        yield f"Traits: {', '.join(traits)}\n"


if __name__ == "__main__":
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else OUT
    print(f"{len(build(out))} pages; start at {out / 'index.html'}")
