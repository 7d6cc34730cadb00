"""Builds the site: writes all pages into build/docs/pages; Zensical makes build/docs/site of them (`make docs`).

A link or an anchor that leads nowhere is an error. `--pages-only` stops before Zensical, which the extra `docs` has.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

import pages

CONFIGURATION = pages.DOCS / "mkdocs.yml"
OUT = pages.ROOT / "build" / "docs"


def write_pages(folder: Path) -> None:
    """Writes every page and picture of the site into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    for file in sorted(pages.DOCS.rglob("*")):
        path = file.relative_to(pages.DOCS)
        if file.suffix == ".md":
            _write(folder / path, pages.relinked(file.read_text(encoding="utf-8"), path.as_posix()))
        elif file.suffix in (".svg", ".png", ".css", ".js", ".json"):
            _write(folder / path, file.read_bytes())
    for path, make in pages.generated().items():
        _write(folder / path, pages.relinked(make(), path))


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def configuration() -> dict[str, Any]:
    """The configuration with the folders of a build, relative to `OUT`, and with all pages in its navigation."""
    found: dict[str, Any] = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
    found["docs_dir"], found["site_dir"] = "pages", "site"
    found["nav"] = expanded(found["nav"])
    for plugin in found["plugins"]:
        if isinstance(plugin, dict) and "mkdocstrings" in plugin:
            python = plugin["mkdocstrings"]["handlers"]["python"]
            python["paths"] = [str(pages.ROOT / "src")]
            python["options"]["extensions"] = [str(pages.ROOT / path) for path in python["options"]["extensions"]]
    return found


def expanded(nav: list[Any]) -> list[Any]:
    """A navigation in which `folder/` stands no more for the pages of that folder that have no place of their own."""
    written = [file.relative_to(pages.DOCS).as_posix() for file in sorted(pages.DOCS.rglob("*.md"))]
    left = [path for path in (*written, *pages.generated()) if path not in set(_named(nav))]

    def places(entries: list[Any]) -> Iterator[Any]:
        for entry in entries:
            if isinstance(entry, dict):
                yield {
                    title: list(places(below)) if isinstance(below, list) else below for title, below in entry.items()
                }
            elif entry.endswith("/"):
                yield from (path for path in left if str(PurePosixPath(path).parent) == entry.rstrip("/"))
            else:
                yield entry

    return list(places(nav))


def _named(nav: list[Any]) -> Iterator[str]:
    for entry in nav:
        for below in entry.values() if isinstance(entry, dict) else (entry,):
            yield from _named(below) if isinstance(below, list) else [below]


def main() -> int:
    """Builds into build/docs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages-only", action="store_true")
    arguments = parser.parse_args()
    write_pages(OUT / "pages")
    (OUT / "mkdocs.yml").write_text(yaml.safe_dump(configuration(), sort_keys=False), encoding="utf-8")
    if arguments.pages_only:
        return 0
    shutil.rmtree(OUT / "site", ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "zensical",
        "build",
        "--clean",
        "--strict",
        "--config-file",
        str(OUT / "mkdocs.yml"),
    ]
    status = subprocess.run(command).returncode
    if status == 0:
        print(f"start at {OUT / 'site' / 'index.html'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
