"""The pages of the site that no file of docs/ holds: made from the code, from notebooks and from files of the root.

`generated` names them all without making any, so that the navigation is checked in a moment (tests/test_site.py);
docs/build.py writes them.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import ModuleType

import dialects
import gallery

DOCS = Path(__file__).parent
ROOT = DOCS.parent
OF_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files of the root that are pages, by the pages' paths."""

MODULES = (
    *("compiler", "executable", "signature", "reports", "support.table", "support.display"),
    *("passes.instrumentation", "passes.guarantee"),
    *("rewriting.dialect_conversion", "rewriting.type_conversion", "rewriting.provenance", "rewriting.subgraphs"),
    *("analysis.call_graph", "analysis.constants", "analysis.effects", "analysis.symbols", "analysis.trip_count"),
    *("target.chip", "target.cost", "target.formats", "target.layout", "target.rounding", "target.vector_functions"),
    *("dialects.domains", "dialects.samples"),
)
"""Modules with public names that no package lists."""


def generated() -> dict[str, Callable[[], str]]:
    """The pages by their paths in the site, each with what makes its Markdown."""
    pages: dict[str, Callable[[], str]] = {}
    for file, path in OF_ROOT.items():
        pages[path] = (ROOT / file).read_text
    pages["reference/dialects/index.md"] = dialects.index
    for name in dialects.NAMES:
        pages[f"reference/dialects/{dialects.file(name)}"] = partial(_dialect, name)
    pages["reference/api/index.md"] = _api_index
    for module in api_modules():
        pages[api_path(module)] = partial(_api_page, module)
    pages["notebooks/index.md"] = gallery.index
    for notebook in gallery.NOTEBOOKS:
        pages[f"notebooks/{notebook.stem}.md"] = partial(gallery.page, notebook)
    return pages


def relinked(text: str, path: str) -> str:
    """The Markdown of a page with links that lead where the files are in the site.

    A link to a file of the repository that is no page becomes plain text: there is no public place where it is.
    """
    source = next((ROOT / file for file, page in OF_ROOT.items() if page == path), DOCS / path)
    here = os.path.dirname(path) or "."

    def replaced(match: re.Match[str]) -> str:
        image, label, target, anchor = match.groups()
        if "://" in target or not target:
            return match[0]
        found = Path(os.path.normpath(source.parent / target))
        if found.is_relative_to(DOCS):
            page = str(found.relative_to(DOCS))
        elif found.suffix == ".ipynb":
            page = f"notebooks/{found.stem}.md"
        elif found.is_relative_to(ROOT) and str(found.relative_to(ROOT)) in OF_ROOT:
            page = OF_ROOT[str(found.relative_to(ROOT))]
        else:
            return label
        return f"{image}[{label}]({os.path.relpath(page, here)}{anchor or ''})"

    link = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else link.sub(replaced, part) for part in parts)


# -- dialects ---------------------------------------------------------------------------------------------------------


@cache
def _examples() -> dict[str, str]:
    return dialects.examples()


def _dialect(name: str) -> str:
    return dialects.page(name, _examples())


# -- the Python interface ---------------------------------------------------------------------------------------------


@cache
def api_modules() -> tuple[str, ...]:
    """The packages that list public names, but those of dialects, and the modules of `MODULES`; `tx8ir` is first."""
    source = ROOT / "src"
    found: list[str] = []
    for file in sorted(source.glob("tx8ir/**/__init__.py")):
        name = ".".join(file.parent.relative_to(source).parts)
        if not name.startswith("tx8ir.dialects") and _lists_names(file):
            found.append(name)
    return "tx8ir", *sorted({*found, *(f"tx8ir.{name}" for name in MODULES)} - {"tx8ir"})


def _lists_names(file: Path) -> bool:
    body = ast.parse(file.read_text(encoding="utf-8")).body
    targets = [t for node in body if isinstance(node, ast.Assign) for t in node.targets]
    targets += [node.target for node in body if isinstance(node, ast.AnnAssign)]
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)


def api_path(module: str) -> str:
    """The path of a module's page."""
    return f"reference/api/{module}.md"


@cache
def _documented() -> dict[str, tuple[list[str], dict[str, str]]]:
    """For each module the names that its page documents, and those that another one does, with that module.

    A name that several modules list is documented with the first.
    """
    home: dict[int, str] = {}
    found: dict[str, tuple[list[str], dict[str, str]]] = {}
    for name in api_modules():
        module = importlib.import_module(name)
        own, elsewhere = list[str](), dict[str, str]()
        for public in _public(module):
            value = getattr(module, public)
            if isinstance(value, ModuleType):
                continue
            shared = inspect.isclass(value) or inspect.isfunction(value)
            first = home.setdefault(id(value), name) if shared else name
            if first == name:
                own.append(public)
            else:
                elsewhere[public] = first
        found[name] = own, elsewhere
    return found


def _public(module: ModuleType) -> Iterator[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        yield from listed
        return
    for name, value in vars(module).items():
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__:
            yield name


def _api_page(module: str) -> str:
    own, elsewhere = _documented()[module]
    hidden = [name for name in own if _is_hidden(module, name)]
    shown = [name for name in own if name not in hidden]
    lines = [f"# `{module}`", "", f"::: {module}", "    options:", f"      members: {shown or 'false'}", ""]
    for name in hidden:
        lines += [
            f"::: {_anchor(module, name)}",
            "    options: {show_root_heading: true, show_root_toc_entry: true}",
            "",
        ]
    if elsewhere:
        links = (f"[`{name}`]({home}.md#{_anchor(home, name)})" for name, home in elsewhere.items())
        lines += [f"Also here: {', '.join(links)}.", ""]
    return "\n".join(lines)


def _is_hidden(module: str, name: str) -> bool:
    """Whether a module of the same name hides it from who reads the source: `frontends.python.jit` is both."""
    value = getattr(importlib.import_module(module), name)
    return getattr(value, "__module__", "").rpartition(".")[2] == name


def _anchor(module: str, name: str) -> str:
    """The anchor of a public name, and what the page is made of."""
    if _is_hidden(module, name):
        return f"{getattr(importlib.import_module(module), name).__module__}.{name}"
    return f"{module}.{name}"


def _api_index() -> str:
    lines = [
        "# Every public name",
        "",
        "Made from the docstrings. [The Python interface](../python.md) is an overview.",
        "",
    ]
    lines += ["| module | names | |", "|---|---:|---|"]
    for module in api_modules():
        about = (inspect.getdoc(importlib.import_module(module)) or "").partition("\n\n")[0].replace("\n", " ")
        about = about.replace("|", "\\|")
        lines.append(f"| [`{module}`]({module}.md) | {len(_documented()[module][0])} | {about} |")
    return "\n".join(lines) + "\n"
