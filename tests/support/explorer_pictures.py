"""Pictures of the explorer: each view of a page, light, and the whole page, dark."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path

from PIL import Image

import tx8ir
from tx8ir.core import Program
from tx8ir.explorer import explore

from .chromium import Page, browser, missing
from .networks import llama

MODELS = Path(__file__).parent.parent / "data" / "models"
NETWORKS = ("resnet18", "gpt2", "llama")
VIEWS = ("overview", "graph", "ir", "sides", "timeline", "spm", "ddr", "groups", "roofline", "tables", "dark")

_COLOURS = 192  # of pictures that are kept


def network(name: str) -> Program:
    """A network by name."""
    return llama(2) if name == "llama" else tx8ir.frontends.onnx.load(MODELS / name / "model.onnx")


def pictures(page: Page, folder: Path, name: str, views: Collection[str] = VIEWS) -> Iterator[Path]:
    """Writes pictures of views of the page that is open."""

    def show(script: str, panel: str = "") -> None:
        page.run(
            "document.querySelectorAll('.maximised').forEach((p) => p.classList.remove('maximised'));"
            f"{script}; if (arguments[0]) document.getElementById(arguments[0]).classList.add('maximised');",
            panel,
        )

    busy = (
        "const {run} = explorer.store; let most = 0, best = 0;"
        "run.instructions.forEach((i, n) => { if (i.engine === 'NE' && explorer.store.eventsOf[n].length) {"
        " const e = explorer.store.eventsOf[n][0]; const d = run.events.end[e] - run.events.start[e];"
        " if (d > most) { most = d; best = n; } } });"
    )
    change = (
        "const {passes} = explorer.store.data;"
        "explorer.store.setStage(passes.findIndex((p) => p.changed && p.rewrites.length && p.name !== 'convert-dtype'))"
    )
    most_tried = "[...explorer.store.data.groups].sort((a, b) => b.priced - a.priced)[0].id"
    steps = {
        "overview": ("", ""),
        "graph": ("", "panel-graph"),
        "ir": (f"explorer.showTab('ir'); {change}; explorer.views.ir.setMode('diff')", "panel-middle"),
        "sides": ("explorer.showTab('ir'); explorer.views.ir.setMode('sides')", "panel-middle"),
        "timeline": (
            "explorer.store.setColourBy('engine'); explorer.views.timeline.choose('distinct')",
            "panel-timeline",
        ),
        "spm": ("explorer.store.setColourBy('group'); explorer.showTab('spm')", "panel-middle"),
        "ddr": ("explorer.showTab('ddr')", "panel-middle"),
        "groups": (f"explorer.showTab('groups'); explorer.views.groups.open({most_tried})", "panel-middle"),
        "roofline": ("explorer.showTab('roofline')", "panel-middle"),
        "tables": ("explorer.showTab('tables')", "panel-middle"),
        "dark": (
            f"explorer.setTheme('dark'); explorer.showTab('spm'); {busy}"
            "explorer.store.select('group', run.instructions[best].group)",
            "",
        ),
    }  # fmt: skip
    assert tuple(steps) == VIEWS
    for view, (script, panel) in steps.items():
        show(script, panel)
        if view not in views:
            continue
        yield page.picture(folder / f"{name}-{view}.png")
    page.run("explorer.setTheme('light')")


def write_pictures(folder: Path, views: Collection[str]) -> None:
    """Pictures of some views of gpt2, into `folder`. Raises SystemExit where there is no browser."""
    absent = missing()
    if absent is not None:
        raise SystemExit(absent)
    with tempfile.TemporaryDirectory() as temporary, browser() as page:
        page.open(explore(network("gpt2"), title="gpt2").save(Path(temporary) / "gpt2.html"))
        for path in pictures(page, folder, "gpt2", views):
            Image.open(path).convert("RGB").quantize(_COLOURS).save(path, optimize=True)
            print(path)
