"""The explorer in a browser: it loads in silence, views follow each other, search finds, large programs stay fluid."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import tx8ir
from support.chromium import WIDTH, Page
from support.explorer_pictures import NETWORKS, VIEWS, pictures
from support.large_exploration import large
from tx8ir.explorer import explore
from tx8ir.explorer.render import page as render

pytestmark = pytest.mark.browser
PICTURES = Path(__file__).parents[2] / "build" / "explorer"


@pytest.fixture
def gpt2(chromium: Page, saved: Callable[[str], Path]) -> Page:
    chromium.open(saved("gpt2"))
    return chromium


def selection(page: Page) -> dict[str, Any]:
    return page.run(
        "const s = explorer.store.selection;"
        "return {kind: s.kind, id: s.id, sources: [...s.sources], instructions: [...s.instructions]}"
    )


@pytest.mark.parametrize("name", NETWORKS)
def test_every_view_of_a_network_is_drawn_without_an_error(
    name: str, chromium: Page, saved: Callable[[str], Path]
) -> None:
    chromium.open(saved(name))
    written = list(pictures(chromium, PICTURES, name))
    assert chromium.errors() == []
    assert len(written) == len(VIEWS)
    for path in written:
        pixels = np.asarray(Image.open(path).convert("RGB"))
        assert pixels.shape[1] == WIDTH
        colours = np.unique(pixels.astype(np.int32) @ (1 << 16, 1 << 8, 1))
        assert len(colours) > 60, f"{path.name} is nearly empty"


def test_it_asks_for_nothing_but_itself(gpt2: Page) -> None:
    loaded = gpt2.run("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []


def test_it_starts_in_the_frame_of_a_notebook(chromium: Page, tmp_path: Path) -> None:
    program = tx8ir.parse(
        "module { func.func @main(%x: !pd.vtensor<8xf32>) -> !pd.vtensor<8xf32> {"
        '  %0 = "pd.exp"(%x) : (!pd.vtensor<8xf32>) -> !pd.vtensor<8xf32>  return %0 : !pd.vtensor<8xf32> } }'
    )
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><body>{explore(program)._repr_mimebundle_()['text/html']}", encoding="utf-8")
    chromium.driver.get(path.as_uri())
    chromium.wait("document.querySelector('iframe').contentDocument.documentElement.dataset.ready === 'true'")
    frame = "document.querySelector('iframe').contentDocument"
    assert chromium.run(f"return {frame}.querySelectorAll('.l').length") > 3
    assert chromium.errors() == []


def test_a_click_on_an_operation_selects_it_everywhere(gpt2: Page) -> None:
    number = gpt2.run("return explorer.store.data.source.findIndex((op) => op.kind === 'pd.matmul')")
    gpt2.run("explorer.store.select('source', arguments[0])", number)  # brings it into sight
    gpt2.run("explorer.store.select(null)")
    x, y = gpt2.run("return explorer.views.graph.positionOf(arguments[0])", number)
    gpt2.click("#panel-graph canvas", x, y)
    chosen = selection(gpt2)
    assert (chosen["kind"], chosen["id"], chosen["sources"]) == ("source", number, [number])
    assert chosen["instructions"] == gpt2.run("return explorer.store.instructionsOf[arguments[0]]", number)
    assert "matmul" in gpt2.run("return document.querySelector('#panel-details .title').textContent")
    lines = gpt2.run("return [...document.querySelectorAll('.l.linked')].map((l) => l.textContent)")
    assert any("pd.matmul" in line for line in lines)


def test_a_click_on_the_timeline_leads_back_to_the_source(gpt2: Page) -> None:
    event = gpt2.run(
        "const {run, critical} = explorer.store; explorer.views.timeline.choose('0');"
        "return run.events.start.findIndex((_, e) => run.instructions[run.events.instruction[e]].engine === 'RDMA'"
        " && run.tile_sets[run.events.tiles[e]].includes(0) && run.events.end[e] - run.events.start[e] > 500"
        " && run.instructions[run.events.instruction[e]].sources.length)"
    )
    gpt2.settle()
    x, y = gpt2.run("return explorer.views.timeline.positionOf(arguments[0])", event)
    gpt2.click("#panel-timeline canvas", x, y)
    chosen = selection(gpt2)
    assert (chosen["kind"], chosen["id"]) == ("event", event)
    instruction = gpt2.run("return explorer.store.run.events.instruction[arguments[0]]", event)
    assert chosen["sources"] == gpt2.run("return explorer.store.run.instructions[arguments[0]].sources", instruction)
    gpt2.run("explorer.showTab('groups')")
    group = gpt2.run("return explorer.store.run.instructions[arguments[0]].group", instruction)
    assert gpt2.run("return [...document.querySelectorAll('tr.linked')].map((r) => +r.dataset.group)") == [group]


def test_a_click_on_a_line_of_ir_selects_its_operation(gpt2: Page) -> None:
    gpt2.run("explorer.views.ir.setMode('text'); explorer.store.setStage(0)")
    row = gpt2.run(
        "return [...document.querySelectorAll('.l')].findIndex((l) => l.textContent.includes('pd.embedding'))"
    )
    gpt2.click(f".virtual-rows .l:nth-child({row + 1})", 120, 9)
    chosen = selection(gpt2)
    assert chosen["kind"] == "ir"
    (source,) = chosen["sources"]
    assert gpt2.run("return explorer.store.data.source[arguments[0]].kind", source) == "pd.embedding"


def test_the_slider_moves_over_the_passes(gpt2: Page) -> None:
    last = gpt2.run("return explorer.store.data.passes.length") - 1
    gpt2.run(
        "const s = document.querySelector('.ir-bar input'); s.value = arguments[0];s.dispatchEvent(new Event('input'))",
        last,
    )
    gpt2.settle()
    assert gpt2.run("return explorer.store.stage") == last
    assert gpt2.run("return document.querySelector('.pass.on .name').textContent") == "generate-tx8"
    gpt2.key("[")
    assert gpt2.run("return document.querySelector('.pass.on .name').textContent") == "allocate-ddr"


def test_rewrites_and_the_reasons_of_misses_are_told(gpt2: Page) -> None:
    gpt2.run("explorer.store.setStage(explorer.store.data.passes.findIndex((p) => p.name === 'recognize-gelu'))")
    text = gpt2.run("return document.querySelector('.why').textContent")
    assert "gelu-tanh × 2" in text
    assert "Why others did not match" in text
    assert "expected" in text


def test_the_diff_shows_what_a_pass_added_removed_and_changed(gpt2: Page) -> None:
    gpt2.run(
        "explorer.views.ir.setMode('diff');"
        "explorer.store.setStage(explorer.store.data.passes.findIndex((p) => p.name === 'recognize-gelu'))"
    )
    gpt2.settle()
    added = gpt2.run("return [...document.querySelectorAll('.l.added')].map((l) => l.textContent)")
    removed = gpt2.run("return [...document.querySelectorAll('.l.removed')].map((l) => l.textContent)")
    assert any("pd.gelu" in line for line in added)
    assert any("pd.tanh" in line for line in removed)
    assert not any("pd.tanh" in line for line in added)
    widths = gpt2.run(
        "return [...document.querySelectorAll('.l.added code')].map((c) => c.textContent.match(/^ */)[0].length)"
    )
    assert set(widths) == {4}, "inside of a module and a function"
    assert gpt2.run("return document.querySelector('.l.added code').getBoundingClientRect().width") > 100


def test_search_finds_and_selects(gpt2: Page) -> None:
    gpt2.key("/")
    gpt2.type("layer_norm")
    found = gpt2.run("return [...document.querySelectorAll('.result strong')].map((r) => r.textContent)")
    assert found.count("layer_norm") == 5
    gpt2.key("Enter")
    chosen = selection(gpt2)
    assert gpt2.run("return explorer.store.data.source[arguments[0]].kind", chosen["id"]) == "pd.layer_norm"
    gpt2.key("/")
    gpt2.type(" nothing has this name")
    assert "Nothing" in gpt2.run("return document.getElementById('results').textContent")


def test_layers_fold_and_unfold(gpt2: Page) -> None:
    def boxes() -> int:
        return gpt2.run("return explorer.views.graph.boxes().nodes")

    gpt2.click("#panel-graph .segmented button:first-child")
    folded = boxes()
    gpt2.click("#panel-graph .segmented button:last-child")
    assert folded < 15
    assert boxes() > 90


def test_zooming_keeps_the_moment_under_the_mouse(gpt2: Page) -> None:
    before = gpt2.run("return explorer.views.timeline.timeAt(700)")
    gpt2.wheel("#panel-timeline canvas", 700, 120, -400)
    after = gpt2.run("return explorer.views.timeline.timeAt(700)")
    assert abs(after - before) < 0.001 * gpt2.run("return explorer.store.run.cycles")
    assert gpt2.run("return explorer.views.timeline.timeAt(900) - explorer.views.timeline.timeAt(700)") < before


def test_the_tooltip_of_memory_names_the_value(gpt2: Page) -> None:
    gpt2.run("explorer.showTab('spm')")
    gpt2.settle()
    x, y = gpt2.run(
        "return explorer.views.spm.positionOf(explorer.views.spm.values().find((v) => v.high - v.low > 4096))"
    )
    gpt2.hover("[data-view=spm] canvas", x, y)
    text = gpt2.run("return document.getElementById('tooltip').textContent")
    assert "lives" in text
    assert "written by" in text


def test_a_group_shows_what_was_tried_for_it_and_what_was_chosen(gpt2: Page) -> None:
    gpt2.run("explorer.showTab('groups')")
    gpt2.settle()
    group = gpt2.run("return explorer.store.data.groups.find((g) => g.candidates.length > 1)")
    gpt2.click(f"tr[data-group='{group['id']}'] td")
    rows = gpt2.run("return [...document.querySelectorAll('.tried tbody tr')].map((r) => [r.className, r.textContent])")
    assert [row[0] for row in rows] == ["chosen" if c["chosen"] else "" for c in group["candidates"]]
    assert all(c["description"] in row[1] for row, c in zip(rows, group["candidates"], strict=True))


def test_ten_thousand_operations_and_a_hundred_thousand_executions(chromium: Page, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    path.write_text(render(json.dumps(large(10_000, 100_000)), "large"), encoding="utf-8")
    chromium.open(path)
    for tab in ("spm", "ddr", "groups", "roofline", "tables", "ir"):
        chromium.run("explorer.showTab(arguments[0])", tab)
        chromium.settle()
    chromium.run("explorer.store.select('source', 5000)")
    chromium.click("#panel-graph .segmented button:last-child")
    chromium.settle()
    assert chromium.run("return explorer.views.graph.boxes().nodes") == 10_000
    chromium.picture(PICTURES / "large.png")
    assert chromium.errors() == []
    # Level of detail: what is drawn is bounded by pixels, not by events.
    drawn = chromium.run("return explorer.views.timeline.drawn()")
    assert 0 < drawn < 60_000
