"""The page: the shell, the styles, the modules and the data put into one file.

The modules in `assets` import each other by name (`import {…} from "explorer/store"`); an import map binds the names to
`data:` addresses, so that a browser loads them from the page itself. The data is compressed, and unpacked by the page.
"""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from importlib.resources import files
from typing import Final

MODULES: Final = (
    "colour", "store", "format", "dom", "tooltip", "viewport", "layout", "graph", "diff", "ir", "strips", "timeline",
    "buffers", "memory", "groups", "roofline", "tables", "details", "search", "main",
)  # fmt: skip
"""The modules in `assets`, without those of others in `assets/vendor`."""

_VENDOR: Final = {"d3-dag": "d3-dag.esm.min.mjs"}
_ASSETS: Final = files("tx8ir.explorer") / "assets"


def page(data: str, title: str) -> str:
    """The HTML of the explorer.

    Args:
        data: JSON of `ExplorerData`.
        title: shown in the tab of the browser.
    """
    sources = {f"explorer/{name}": _read(f"{name}.js") for name in MODULES}
    sources |= {name: _read(f"vendor/{file}") for name, file in _VENDOR.items()}
    imports = {name: f"data:text/javascript;base64,{_base64(text.encode())}" for name, text in sources.items()}
    packed = _base64(gzip.compress(data.encode(), 6, mtime=0))
    parts = {
        "TITLE": escape(title),
        "STYLE": _read("style.css"),
        "IMPORTS": json.dumps({"imports": imports}),
        "DATA": packed,
        "LICENSES": _read("vendor/LICENSES"),
    }
    html = _read("index.html")
    for name, text in parts.items():
        before, after = html.split(f"{{{{{name}}}}}")
        html = before + text + after
    return html


def _read(name: str) -> str:
    return _ASSETS.joinpath(name).read_text(encoding="utf-8")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
