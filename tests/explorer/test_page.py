"""The page: one file that loads nothing, made of modules that are there."""

from __future__ import annotations

import base64
import gzip
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import tx8ir
from tx8ir.explorer import explore
from tx8ir.explorer.render import MODULES

ASSETS = Path(tx8ir.__file__).parent / "explorer" / "assets"
TEXT = """module {
  func.func @main(%x: !pd.vtensor<8xf32>) -> !pd.vtensor<8xf32> {
    %0 = "pd.exp"(%x) : (!pd.vtensor<8xf32>) -> !pd.vtensor<8xf32>
    return %0 : !pd.vtensor<8xf32>
  }
}"""


class Reader(HTMLParser):
    """Collects what elements load, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.scripts: dict[str, str] = {}
        self._script = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.loads += [f"{tag} {name}={found[name]}" for name in ("src", "href", "srcset", "action") if name in found]
        self._script = found.get("id") or found.get("type") or "" if tag == "script" else ""

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data


@pytest.fixture(scope="module")
def page() -> str:
    return explore(tx8ir.parse(TEXT), title="a <title> & more").html


def test_it_loads_nothing(page: str) -> None:
    reader = Reader(page)
    assert reader.loads == []
    assert "a &lt;title&gt; &amp; more" in page
    imports = json.loads(reader.scripts["importmap"])["imports"]
    assert all(address.startswith("data:text/javascript;base64,") for address in imports.values())
    own = [path.read_text() for path in (*ASSETS.glob("*.js"), ASSETS / "style.css", ASSETS / "index.html")]
    for text in own:
        assert not re.search(r"https?://|@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket", text)


def test_its_data_is_what_was_collected(page: str) -> None:
    packed = Reader(page).scripts["data"]
    assert json.loads(gzip.decompress(base64.b64decode(packed)))["title"] == "a <title> & more"


def test_modules_import_modules_that_are_there(page: str) -> None:
    assert {f"{name}.js" for name in MODULES} == {path.name for path in ASSETS.glob("*.js")}
    names = set(json.loads(Reader(page).scripts["importmap"])["imports"])
    for path in ASSETS.glob("*.js"):
        text = path.read_text()
        assert len(text.splitlines()) < 600
        for imported in re.findall(r'from "([^"]+)"', text):
            assert imported in names, f"{path.name} imports {imported}"


def test_libraries_come_with_their_licenses() -> None:
    licenses = (ASSETS / "vendor" / "LICENSES").read_text()
    for library in (ASSETS / "vendor").glob("*.mjs"):
        assert library.name in licenses
    assert sum(path.stat().st_size for path in (ASSETS / "vendor").iterdir()) < 2_000_000


def test_a_frame_shows_it_in_a_notebook(page: str) -> None:
    bundle = explore(tx8ir.parse(TEXT))._repr_mimebundle_()
    assert bundle["text/html"].startswith('<iframe srcdoc="')
    assert bundle["text/plain"] == "Exploration(data='program')"
