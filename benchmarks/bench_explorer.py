"""Frames of the explorer: what each takes while a view is moved, for 10,000 operations and 100,000 executions.

    python benchmarks/bench_explorer.py [--frames 60] [--output docs/benchmarks/explorer.md]

Needs Chromium with its driver, and selenium (the extra `browser`). A headless Chromium draws without a graphics card.
A page with twice as much is beside it: what is drawn is bounded by pixels, so twice as much may not take twice as long.
Each movement is made three times on both; the least counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import attrs

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.chromium import Page, browser, missing  # noqa: E402  # of the tests, which are not a package
from support.large_exploration import large  # noqa: E402
from tx8ir.explorer.render import page as render  # noqa: E402

SIZES: Final = {"once": (10_000, 100_000), "twice": (20_000, 200_000)}
REPEATED: Final = 3
BUDGET_MS: Final = 1000 / 60
"""A frame at 60 Hz."""

# Each does one step of a movement; `n` counts the frames. `canvas` is that of the view.
MOVEMENTS: Final = {
    "timeline: the whole run, panned": ("timeline", "", "wheel(canvas, n % 20 < 10 ? 30 : -30, 0)"),
    "timeline: zoomed in and out": ("timeline", "", "wheel(canvas, 0, n % 40 < 20 ? -60 : 60)"),
    "timeline: all tiles, zoomed": (
        "timeline", "explorer.views.timeline.choose('all')", "wheel(canvas, 0, n % 40 < 20 ? -60 : 60)"
    ),
    "graph: every operation shown, zoomed": (
        "graph",
        "document.querySelector('#panel-graph .segmented button:last-child').click()",
        "wheel(canvas, 0, n % 40 < 20 ? 60 : -60)",
    ),
    "SPM: zoomed": ("spm", "explorer.showTab('spm')", "wheel(canvas, 0, n % 40 < 20 ? -60 : 60)"),
    "DDR: zoomed": ("ddr", "explorer.showTab('ddr')", "wheel(canvas, 0, n % 40 < 20 ? -60 : 60)"),
    "all views: another operation selected": (
        "graph", "explorer.showTab('spm')",
        "explorer.store.select('source', (n * 7919) % explorer.store.data.source.length)",
    ),
    "IR: another stage shown": (
        "graph", "explorer.showTab('ir')", "explorer.store.setStage(n % explorer.store.data.passes.length)"
    ),
}  # fmt: skip

SCRIPT: Final = """
const [name, prepare, step, frames] = arguments;
const done = arguments[arguments.length - 1];
const wheel = (canvas, deltaX, deltaY) => {
  const box = canvas.getBoundingClientRect();
  canvas.dispatchEvent(new WheelEvent("wheel", {deltaX, deltaY, cancelable: true,
    clientX: box.left + box.width * 0.6, clientY: box.top + box.height * 0.6}));
};
const viewports = () => Object.values(explorer.views).map((v) => v.view).filter(Boolean);
const drawn = () => viewports().map((v) => [v.frames, v.lastFrame]);
new Function(prepare)();
const act = new Function("canvas", "n", "wheel", step);
const script = [], apart = [];
let n = 0, last = 0, before = null;
window.addEventListener("error", (event) => done(String(event.message)));
const frame = (at) => {  // after the drawing that the step before has asked for
  if (before) {
    const painted = drawn().filter(([count], i) => count !== before[i]?.[0]).map(([, ms]) => ms);
    script[script.length - 1] += painted.reduce((a, b) => a + b, 0);
    apart.push(at - last);
  }
  if (n === frames) return done([script, apart]);
  last = at;
  before = drawn();
  const started = performance.now();
  act(explorer.views[name].view.canvas, n++, wheel);
  document.body.offsetHeight;  // lays out what the step has changed
  script.push(performance.now() - started);
  requestAnimationFrame(frame);
};
requestAnimationFrame(() => requestAnimationFrame(frame));
"""


@attrs.frozen
class Movement:
    """What frames took while a view was moved, in ms.

    script: of scripts, layout and drawing on canvases: the middle frame, and that which 5 in 100 exceed.
    apart: from one frame to the next, with what the browser does itself: the middle one.
    """

    script: float
    worst: float
    apart: float


def measure(page: Page, movement: str, frames: int) -> Movement:
    """One movement on the page that is open."""
    name, prepare, step = MOVEMENTS[movement]
    found: list[Movement] = []
    for _ in range(REPEATED):
        came = page.driver.execute_async_script(SCRIPT, name, prepare, step, frames)
        if isinstance(came, str):
            raise SystemExit(f"{movement}: {came}")
        script, apart = came
        page.settle()
        ordered = sorted(script)
        found.append(Movement(statistics.median(ordered), ordered[int(len(ordered) * 0.95)], statistics.median(apart)))
    return min(found, key=lambda one: one.script)


def loaded(page: Page, path: Path) -> float:
    """Opens a page; the seconds until it is drawn."""
    started = time.perf_counter()
    page.open(path)
    return time.perf_counter() - started


def table(found: dict[str, dict[str, Movement]], loads: dict[str, float], frames: int, browser_name: str) -> str:
    """The report."""
    operations, events = SIZES["once"]
    lines = [
        "# Frames of the explorer\n",
        f"`make bench-explorer`: {operations:,} operations and {events:,} executions on 16 tiles, and twice as much "
        f"beside it; {frames} frames of each movement, the least of {REPEATED} rounds.\n",
        f"- {platform.machine()}, {platform.system()} {platform.release()}; {browser_name}, headless, without a "
        "graphics card",
        f"- {loads['once']:.1f} s until the page is drawn, {loads['twice']:.1f} s with twice as much\n",
        "A frame takes scripts, layout and drawing; 60 frames per second leave 16.7 ms. *Apart* is the time from one "
        "frame to the next, with what the browser rasters by itself. The ratio says how a frame grows with the "
        "program.\n",
        "| movement | frame, ms | 95 of 100 below, ms | apart, ms | with twice as much, ms | ratio | within 16.7 ms |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for name, of in found.items():
        once, twice = of["once"], of["twice"]
        met = "yes" if once.worst <= BUDGET_MS else "no"
        lines.append(
            f"| {name} | {once.script:.1f} | {once.worst:.1f} | {once.apart:.1f} | {twice.script:.1f} "
            f"| {twice.script / max(once.script, 0.1):.2f}x | {met} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures and reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "benchmarks" / "explorer.md")
    arguments = parser.parse_args()
    absent = missing()
    if absent is not None:
        print(f"not measured: {absent}")
        return
    found: dict[str, dict[str, Movement]] = {name: {} for name in MOVEMENTS}
    loads: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder, browser() as page:
        page.driver.set_script_timeout(300)
        for size, (operations, events) in SIZES.items():
            path = Path(folder) / "large.html"
            data: dict[str, Any] = large(operations, events)
            path.write_text(render(json.dumps(data), "large"), encoding="utf-8")
            loads[size] = loaded(page, path)
            for name in MOVEMENTS:
                found[name][size] = measure(page, name, arguments.frames)
        version = page.driver.capabilities["browserVersion"]
        text = table(found, loads, arguments.frames, f"Chromium {version}")
    arguments.output.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
