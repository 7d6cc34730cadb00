"""The explorer: one HTML file that shows a program from its source to its instructions, and the same as JSON.

    from tx8ir.explorer import explore
    explore(program, title="gpt2").save("gpt2.html")

`collect` makes the data (`model`), `render` the page; the page knows nothing but the data.
"""

from __future__ import annotations

from tx8ir.support.json_schema import json_schema

from .collect import collect, collect_executable
from .exploration import Exploration, explore
from .model import ExplorerData

__all__ = ["Exploration", "ExplorerData", "collect", "collect_executable", "explore", "json_schema"]
