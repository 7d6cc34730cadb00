"""The site: every page is in the navigation once, every link and anchor leads somewhere. Without building it."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any

import pytest
from markdown_it import MarkdownIt

from support.scripts import ROOT, load

DOCS = ROOT / "docs"


@cache
def build() -> ModuleType:
    """docs/build.py, whose dialects come without examples: these need models compiled."""
    sys.path.insert(0, str(DOCS))  # as for a script of that folder
    module = load("docs/build.py")
    module.pages.dialects.examples = dict
    return module


@cache
def site() -> dict[str, str]:
    """The Markdown of every page by its path, as the generator gets it."""
    pages = build().pages
    written = {file.relative_to(DOCS).as_posix(): file.read_text(encoding="utf-8") for file in DOCS.rglob("*.md")}
    made = {path: make() for path, make in pages.generated().items()}
    assert not written.keys() & made.keys()
    return {path: pages.relinked(text, path) for path, text in {**written, **made}.items()}


def in_navigation(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        if isinstance(entry, dict):
            for below in entry.values():
                yield from in_navigation(below if isinstance(below, list) else [below])
        else:
            yield entry


def slug(heading: str) -> str:
    """The anchor that Python-Markdown's table of contents gives a heading."""
    text = re.sub(r"[^\w\s-]", "", heading.encode("ascii", "ignore").decode()).strip().lower()
    return re.sub(r"[-\s]+", "-", text)


def tokens(text: str) -> Any:
    return MarkdownIt("commonmark").enable("table").parse(text)


@cache
def anchors(path: str) -> frozenset[str]:
    """The anchors of a page: of its headings, and of the names that it documents."""
    found: list[str] = []
    parsed = tokens(site()[path])
    for token, inline in pairwise(parsed):
        if token.type == "heading_open":
            name = slug("".join(part.content for part in inline.children))
            found.append(name if name not in found else f"{name}_{found.count(name)}")
    for module, members in re.findall(r"^::: ([\w.]+)\n    options:\n      members: \[(.*)\]$", site()[path], re.M):
        found += [f"{module}.{name.strip(chr(39))}" for name in members.split(", ")]
    found += re.findall(r"^::: ([\w.]+)$", site()[path], re.M)
    return frozenset(found)


def links(path: str) -> Iterator[str]:
    for token in tokens(site()[path]):
        for part in token.children or ():
            target = part.attrs.get("href") or part.attrs.get("src")
            if target and "://" not in target:
                yield target


def test_every_page_is_in_the_navigation_once() -> None:
    listed = list(in_navigation(build().configuration()["nav"]))
    assert sorted(set(site()) - set(listed)) == [], "pages that the navigation in docs/mkdocs.yml does not have"
    assert sorted(set(listed) - set(site())) == [], "there are no such pages"
    assert len(listed) == len(set(listed))


def test_a_page_begins_with_its_title() -> None:
    untitled = [path for path, text in site().items() if not text.startswith("# ")]
    assert untitled == []


@pytest.mark.slow
def test_links_and_anchors_lead_somewhere() -> None:
    wrong: list[str] = []
    for path in site():
        for link in links(path):
            target, _, anchor = link.partition("#")
            page = os.path.normpath(PurePosixPath(path).parent / target) if target else path
            if page in site():
                if anchor and anchor not in anchors(page):
                    wrong.append(f"{path}: {link}: there is no such anchor")
            elif not (DOCS / page).is_file():
                wrong.append(f"{path}: {link}: there is no such page")
    assert wrong == []


def test_a_link_out_of_the_site_becomes_text() -> None:
    """There is no public place where the file is."""
    relinked = build().pages.relinked
    text = "[licence](LICENSE), [pipeline](docs/explanation/pipeline.md#here), [contributing](CONTRIBUTING.md)"
    changed = "licence, [pipeline](explanation/pipeline.md#here), [contributing](contributing.md)"
    assert relinked(text, "index.md") == changed
    assert relinked("[home](../README.md)", "first-minutes.md") == "[home](index.md)"
    assert relinked("```\n[x](LICENSE)\n```", "index.md") == "```\n[x](LICENSE)\n```"


def test_every_operation_has_its_place_on_the_page_of_its_dialect() -> None:
    dialects = build().pages.dialects
    for name in dialects.NAMES:
        ops = importlib.import_module(f"tx8ir.dialects.{name}").DIALECT.ops
        page = f"reference/dialects/{dialects.file(name)}"
        assert {dialects.anchor(op) for op in ops} <= set(anchors(page)), page
    assert "dialects" in anchors("reference/dialects/index.md")


@pytest.mark.parametrize("page", ["install.md", "first-minutes.md", *(f.name for f in DOCS.glob("tutorial/*.md"))])
def test_a_tutorial_needs_nothing_but_the_package(page: str) -> None:
    """Who has installed the wheel has no tests/, and no examples/ either."""
    (file,) = (f for f in (DOCS / page, DOCS / "tutorial" / page) if f.exists())
    for block in re.findall(r"^```(?:python|console)\n(.*?)^```$", file.read_text(encoding="utf-8"), re.M | re.S):
        assert not re.search(r"\b(tests|examples)/|\bsupport\b", block)


@pytest.mark.slow
def test_the_picture_of_the_architecture_is_current() -> None:
    ran = subprocess.run([sys.executable, DOCS / "architecture.py", "--check"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_fields_of_docstrings_become_lists() -> None:
    pytest.importorskip("griffe")
    listed = load("docs/docstrings.py").listed
    assert listed("A thing.\n\ncount: how many,\n    in all.\nname: its name.\n\nNote: this.") == (
        "A thing.\n\n- `count`: how many,\n  in all.\n- `name`: its name.\n\nNote: this."
    )
