// Tiles × engines over time: every execution of an instruction, what engines waited for, and the critical path.

import { causeColour, css } from "explorer/colour";
import { h, head } from "explorer/dom";
import { bytes, count, short, tail, ticks, tiles as tileNames, time } from "explorer/format";
import { Strip } from "explorer/strips";
import { hideTooltip, showTooltip } from "explorer/tooltip";
import { fitText, Viewport } from "explorer/viewport";

const LABEL = 84, AXIS = 22, GAP = 6, OVERVIEW = 22, MARGIN = 4, PATH = 24;

export function timelineView(panel, store, palette) {
  const { run, data } = store;
  const stage = h("div.stage");
  const legend = h("div.legend");
  const showStalls = toggle("Stalls", "Colour what engines waited for", true);
  const showPath = toggle("Critical path", "What the end of the program waited for", true);
  const zoomSelected = h("button", { title: "Zoom to the selection (F)", onclick: () => zoomToSelection() }, "Zoom to selection");
  const whole = h("button", { title: "The whole run (0)", onclick: () => { fitAll(); view.redraw(); } }, "Whole run");
  const tileChoice = h("select", { title: "Tiles", onchange: () => { choose(tileChoice.value); } },
    h("option", { value: "all" }, "all tiles"), h("option", { value: "distinct" }, "one of equal tiles"),
    ...Array.from({ length: data.machine.tiles }, (_, t) => h("option", { value: String(t) }, `tile ${t}`)));
  panel.append(head(panel, "Timeline", tileChoice, showStalls, showPath, zoomSelected, whole), stage,
    h("div.foot", {}, legend, h("span.hint", {}, "wheel zooms · drag moves · Shift-wheel scrolls · W A S D")));
  if (!run.complete) {
    stage.append(h("div.empty", {}, "The program executes too many instructions to keep each: the tables have the totals."));
    return {};
  }
  const { start, end, instruction, tiles, cause } = run.events;
  const all = buildRows(store);
  const criticalEnds = run.critical.map((e) => end[e]); // one after the other
  let top = AXIS + OVERVIEW + PATH;
  let rows = all, layout = [], contentHeight = 0, rowHeight = 12;
  let t0 = 0, scale = 1, scroll = 0; // cycles at the left, pixels per cycle, pixels scrolled
  let hovered = -1, hoveredTile = -1;
  const view = new Viewport(stage, draw);
  view.onresize = (first) => { if (first) { place(); fitAll(); } else { place(); if (untouched) fitAll(); clamp(); } };
  let untouched = true;

  function choose(which) {
    if (which === "all") rows = all;
    else if (which === "distinct") rows = distinct(all, data.machine.tiles);
    else rows = all.filter((row) => row.tile === +which);
    scroll = 0;
    collectLit();
    place();
    view.redraw();
  }

  function place() {
    const groups = new Set(rows.map((row) => row.tile)).size;
    const room = view.height - top - groups * GAP;
    rowHeight = Math.max(9, Math.min(26, room / Math.max(1, rows.length)));
    let y = MARGIN;
    layout = rows.map((row, i) => {
      if (i && rows[i - 1].tile !== row.tile) y += GAP;
      const at = y;
      y += rowHeight;
      return at;
    });
    contentHeight = y + 4;
  }

  function fitAll() { untouched = true; t0 = 0; scale = (view.width - LABEL - 8) / Math.max(1, run.cycles); }

  function clamp() {
    scroll = Math.max(0, Math.min(scroll, contentHeight - (view.height - top)));
    const span = (view.width - LABEL) / scale;
    t0 = Math.max(-span * 0.2, Math.min(t0, run.cycles - span * 0.2));
  }

  const xOf = (t) => LABEL + (t - t0) * scale;
  const tOf = (x) => t0 + (x - LABEL) / scale;

  // -- drawing --------------------------------------------------------------------------------------------------------

  function draw(c, width, height) {
    const colours = { text: css("--text"), soft: css("--soft"), faint: css("--faint"), line: css("--line"), grid: css("--grid"), panel: css("--panel"), accent: css("--accent"), raised: css("--raised"), bad: css("--bad") };
    const [from, to] = [tOf(LABEL), tOf(width)];
    drawn = 0;
    drawOverview(c, width, colours);
    c.save();
    c.beginPath();
    c.rect(0, top, width, height - top);
    c.clip();
    const lines = ticks(from, to, width / 110);
    c.fillStyle = colours.grid;
    for (const t of lines) c.fillRect(Math.round(xOf(t)), top, 1, height);
    const some = store.selection.instructions.size > 0;
    rows.forEach((row, i) => {
      const y = top + layout[i] - scroll;
      if (y > height || y + rowHeight < top) return;
      if (showStalls.on) drawStalls(c, row, y, from, to, some);
      drawEvents(c, row, y, from, to, some, colours);
    });
    drawLabels(c, height, colours);
    c.restore();
    if (showPath.on) drawPath(c, from, to, colours, some);
    drawAxis(c, width, lines, colours);
  }

  /**
   * Executions in sight. Of those thinner than a pixel one for each pixel is drawn, and the search goes on behind that
   * pixel: at every zoom something shows, and a frame costs as much as it has pixels. What is selected comes on top.
   */
  let drawn = 0; // in the last frame
  const strip = new Strip();
  let filled = ""; // the colour that is set: setting it costs more than a box
  function fill(c, colour) { if (colour !== filled) c.fillStyle = filled = colour; }
  function drawEvents(c, row, y, from, to, some, colours) {
    const list = row.events;
    c.font = `10.5px ${css("--sans")}`;
    c.textBaseline = "middle";
    c.globalAlpha = some ? 0.28 : 1;
    filled = "";
    strip.begin(view.width);
    for (let n = firstAfter(row.ends, from); n < list.length && start[list[n]] <= to; n++) {
      const e = list[n], x1 = xOf(end[e]);
      if ((end[e] - start[e]) * scale >= 1) { drawEvent(c, e, y, colours, false); continue; }
      drawn += 1;
      strip.set(x1 | 0, palette.instruction(instruction[e]));
      const next = tOf((x1 | 0) + 1); // where the next pixel begins
      if (n + 1 < list.length && end[list[n + 1]] < next) n = Math.max(n, firstAfter(row.ends, next) - 1);
    }
    strip.draw(c, y + inset(), rowHeight - 2 * inset());
    c.globalAlpha = 1;
    if (some) {
      let lastPixel = -1;
      for (const e of row.lit) {
        if (end[e] < from || start[e] > to) continue;
        const pixel = xOf(start[e]) | 0;
        if (pixel === lastPixel && (end[e] - start[e]) * scale < 1) continue;
        lastPixel = pixel;
        drawEvent(c, e, y, colours, true);
      }
    }
    if (hovered >= 0 && row.tile === hoveredTile && run.instructions[instruction[hovered]].engine === row.engine) drawEvent(c, hovered, y, colours, true, true);
  }

  const inset = () => (rowHeight > 12 ? 1.5 : 0.5); // between the boxes of rows

  /** The box of one execution. */
  function drawEvent(c, e, y, colours, lit, outlined = store.selection.kind === "event" && store.selection.id === e) {
    const [boxY, boxH] = [y + inset(), rowHeight - 2 * inset()];
    const x0 = Math.max(LABEL - 2, xOf(start[e]));
    const x1 = Math.min(view.width + 2, xOf(end[e]));
    const w = Math.max(lit ? 2 : 1, x1 - x0 - (x1 - x0 > 3 ? 0.75 : 0));
    drawn += 1;
    fill(c, palette.instruction(instruction[e]));
    if (w > 5 && boxH > 7) { c.beginPath(); c.roundRect(x0, boxY, w, boxH, 2); c.fill(); } else c.fillRect(x0, boxY, w, boxH);
    if (outlined && lit) {
      c.strokeStyle = colours.text;
      c.lineWidth = 1.5;
      c.strokeRect(x0, boxY, w, boxH);
    }
    if (w > 26 && boxH >= 9) {
      fill(c, "oklch(0.2 0.02 260)");
      c.fillText(fitText(c, name(instruction[e]), w - 8), x0 + 4, boxY + boxH / 2 + 0.5);
    }
  }

  /** The selected executions of each row. */
  function collectLit() {
    for (const row of rows) row.lit = [];
    if (!store.selection.instructions.size) return;
    const byPlace = new Map(rows.map((row) => [`${row.tile}/${row.engine}`, row]));
    for (const i of store.selection.instructions) for (const e of store.eventsOf[i]) for (const tile of run.tile_sets[tiles[e]]) byPlace.get(`${tile}/${run.instructions[i].engine}`)?.lit.push(e);
    for (const row of rows) row.lit.sort((a, b) => start[a] - start[b]);
  }

  const names = new Map();
  function name(i) {
    if (!names.has(i)) {
      const { name: own, source } = run.instructions[i];
      const loaded = store.loadedBy(i);
      names.set(i, loaded ? tail(loaded.name) : source.replace(/^group \d+ /, "") || own);
    }
    return names.get(i);
  }

  /** The idle time before an execution, in the colour of what it waited for. */
  function drawStalls(c, row, y, from, to, some) {
    const list = row.events;
    const bar = Math.max(1.5, rowHeight * 0.16);
    let lastPixel = -1;
    for (let n = firstAfter(row.ends, from); n < list.length; n++) {
      const e = list[n];
      const began = n ? end[list[n - 1]] : 0;
      if (began > to) break;
      const what = run.causes[cause[e]];
      if (!what || what === "engine busy" || start[e] <= began) continue;
      const x0 = Math.max(LABEL, xOf(began)), x1 = xOf(start[e]);
      if (x1 - x0 < 0.7) {
        if ((x0 | 0) === lastPixel) { n = Math.max(n, firstAfter(row.ends, tOf((x0 | 0) + 1)) - 1); continue; }
        lastPixel = x0 | 0;
      }
      c.globalAlpha = some ? 0.3 : 0.7;
      c.fillStyle = causeColour(what);
      c.fillRect(x0, y + (rowHeight - bar) / 2, Math.max(0.7, x1 - x0), bar);
    }
    c.globalAlpha = 1;
  }

  /** The critical path as a row of its own: its executions, and between them what the next one waited for. */
  function drawPath(c, from, to, colours, some) {
    const y = OVERVIEW + AXIS + 3, height = PATH - 7;
    c.fillStyle = colours.panel;
    c.fillRect(0, OVERVIEW + AXIS, view.width, PATH);
    let lastPixel = -1;
    c.font = `10.5px ${css("--sans")}`;
    for (let n = firstAfter(criticalEnds, from); n < run.critical.length; n++) {
      const e = run.critical[n];
      const began = n ? criticalEnds[n - 1] : 0;
      if (began > to) break;
      const lit = !some || store.selection.instructions.has(instruction[e]);
      c.globalAlpha = lit ? 1 : 0.25;
      if (start[e] > began) {
        c.fillStyle = causeColour(run.causes[cause[e]], 0.7);
        c.fillRect(xOf(began), y + height / 2 - 1, xOf(start[e]) - xOf(began), 2);
      }
      const x0 = xOf(start[e]), w = Math.max(1, xOf(end[e]) - x0 - 0.75);
      if (w <= 1 && (x0 | 0) === lastPixel) continue;
      lastPixel = x0 | 0;
      c.fillStyle = palette.instruction(instruction[e]);
      c.fillRect(x0, y, w, height);
      if (e === hovered) { c.strokeStyle = colours.text; c.lineWidth = 1.5; c.strokeRect(x0, y, w, height); }
      if (w > 30) { c.fillStyle = "oklch(0.2 0.02 260)"; c.fillText(fitText(c, name(instruction[e]), w - 8), x0 + 4, y + height / 2 + 0.5); }
    }
    c.globalAlpha = 1;
    c.fillStyle = colours.panel;
    c.fillRect(0, y - 3, LABEL - 2, PATH);
    c.fillStyle = colours.bad;
    c.font = `600 10.5px ${css("--sans")}`;
    c.textBaseline = "middle";
    c.fillText("critical", 10, y + height / 2 + 0.5);
    c.fillStyle = colours.line;
    c.fillRect(0, OVERVIEW + AXIS + PATH - 1, view.width, 1);
  }

  function drawLabels(c, height, colours) {
    c.fillStyle = colours.panel;
    c.fillRect(0, top, LABEL - 2, height);
    c.textBaseline = "middle";
    rows.forEach((row, i) => {
      const y = top + layout[i] - scroll + rowHeight / 2;
      if (y < top - 10 || y > height + 10) return;
      c.font = `${Math.min(10.5, rowHeight)}px ${css("--sans")}`;
      c.textAlign = "right";
      c.fillStyle = colours.soft;
      c.fillText(row.engine || "barrier", LABEL - 8, y);
      if (!i || rows[i - 1].tile !== row.tile) {
        c.textAlign = "left";
        c.fillStyle = colours.text;
        c.font = `600 10.5px ${css("--sans")}`;
        c.fillText(`${row.alike ? tileNames(row.alike).replace("tiles ", "").replace("tile ", "") : row.tile}`, 10, y);
        if (i) { c.fillStyle = colours.line; c.fillRect(0, top + layout[i] - scroll - GAP / 2, view.width, 1); }
      }
    });
    c.textAlign = "left";
  }

  function drawAxis(c, width, lines, colours) {
    c.fillStyle = colours.panel;
    c.fillRect(0, OVERVIEW, width, AXIS);
    c.fillStyle = colours.faint;
    c.font = `10.5px ${css("--sans")}`;
    c.textBaseline = "middle";
    for (const t of lines) if (t >= 0) c.fillText(time(t, run.cycles_per_second), xOf(t) + 4, OVERVIEW + AXIS / 2);
    c.fillText("tile", 10, OVERVIEW + AXIS / 2);
    c.fillStyle = colours.line;
    c.fillRect(0, OVERVIEW + AXIS - 1, width, 1);
  }

  /** How busy the engines are over the whole run, and which part of it is in sight. */
  let profile = null;
  function drawOverview(c, width, colours) {
    const w = width - LABEL - 8;
    if (!profile || profile.length !== Math.ceil(w / 2)) profile = busyProfile(store, Math.max(1, Math.ceil(w / 2)));
    const most = Math.max(1e-9, ...profile);
    c.fillStyle = colours.raised;
    c.fillRect(LABEL, 3, w, OVERVIEW - 5);
    c.fillStyle = colours.faint;
    profile.forEach((v, i) => { const bar = v / most * (OVERVIEW - 7); c.fillRect(LABEL + i * 2, OVERVIEW - 2 - bar, 1.5, bar); });
    const [a, b] = [Math.max(0, t0), Math.min(run.cycles, tOf(width))].map((t) => LABEL + t / run.cycles * w);
    c.globalAlpha = 0.16;
    c.fillStyle = colours.accent;
    c.fillRect(a, 3, Math.max(2, b - a), OVERVIEW - 5);
    c.globalAlpha = 1;
    c.strokeStyle = colours.accent;
    c.lineWidth = 1;
    c.strokeRect(a + 0.5, 3.5, Math.max(2, b - a - 1), OVERVIEW - 6);
    c.fillStyle = colours.faint;
    c.font = `10.5px ${css("--sans")}`;
    c.textBaseline = "middle";
    c.fillText("busy", 10, OVERVIEW / 2 + 1);
  }

  // -- mouse and keys -------------------------------------------------------------------------------------------------

  function at(x, y) {
    if (x < LABEL) return -1;
    if (showPath.on && y > top - PATH && y < top) return run.critical.find((e) => start[e] <= tOf(x) && tOf(x) <= end[e]) ?? -1;
    if (y < top) return -1;
    const i = layout.findIndex((at_) => y >= top + at_ - scroll && y < top + at_ - scroll + rowHeight);
    if (i < 0) return -1;
    const row = rows[i];
    hoveredTile = row.tile;
    const slack = 2 / scale;
    for (let n = firstAfter(row.ends, tOf(x) - slack); n < row.events.length && start[row.events[n]] <= tOf(x) + slack; n++) return row.events[n];
    return -1;
  }

  function zoom(factor, x) {
    untouched = false;
    const limit = [(view.width - LABEL) / (run.cycles * 1.5), 40];
    const next = Math.max(limit[0], Math.min(limit[1], scale * factor));
    t0 = tOf(x) - (x - LABEL) / next;
    scale = next;
    clamp();
    view.redraw();
  }

  function pan(dx, dy) { if (dx) untouched = false; t0 -= dx / scale; scroll -= dy; clamp(); view.redraw(); }

  view.gestures({
    zoom(factor, x, y) {
      if (y < OVERVIEW) return;
      zoom(factor, Math.max(LABEL, x));
    },
    pan,
    wheelPans: (event) => view.point(event)[0] < LABEL,
    hover(x, y, event) {
      const e = at(x, y);
      view.canvas.style.cursor = e >= 0 ? "pointer" : "default";
      if (e !== hovered) { hovered = e; view.redraw(); }
      if (e >= 0) showTooltip(event, ...describeEvent(store, palette, e)); else hideTooltip();
    },
    leave() { hovered = -1; hideTooltip(); view.redraw(); },
    click(x, y) {
      if (y < OVERVIEW) {
        t0 = (x - LABEL) / (view.width - LABEL - 8) * run.cycles - (view.width - LABEL) / scale / 2;
        clamp();
        return view.redraw();
      }
      const e = at(x, y);
      if (e >= 0) store.select("event", e, "timeline"); else store.select(null);
    },
    doubleClick(x, y) { if (at(x, y) >= 0) zoomToSelection(); },
  });
  view.canvas.addEventListener("keydown", (event) => {
    const middle = (view.width + LABEL) / 2;
    const step = (view.width - LABEL) * 0.15;
    const acts = { w: () => zoom(1.4, middle), s: () => zoom(1 / 1.4, middle), a: () => pan(step, 0), d: () => pan(-step, 0), ArrowLeft: () => pan(step, 0), ArrowRight: () => pan(-step, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60), f: zoomToSelection, 0: () => { fitAll(); view.redraw(); } };
    if (acts[event.key] && !event.ctrlKey && !event.metaKey) { event.preventDefault(); acts[event.key](); }
  });

  function bounds() {
    let [low, high] = [Infinity, -Infinity];
    if (store.selection.kind === "event") return [start[store.selection.id], end[store.selection.id]];
    for (const i of store.selection.instructions) for (const e of store.eventsOf[i]) { low = Math.min(low, start[e]); high = Math.max(high, end[e]); }
    return [low, high];
  }

  function zoomToSelection() {
    const [low, high] = bounds();
    if (low > high) return;
    untouched = false;
    const margin = Math.max(20, (high - low) * 0.25);
    scale = (view.width - LABEL) / (high - low + 2 * margin);
    t0 = low - margin;
    view.redraw();
  }

  function reveal() {
    const [low, high] = bounds();
    if (low > high) return;
    if (high < tOf(LABEL) || low > tOf(view.width)) { t0 = (low + high) / 2 - (view.width - LABEL) / scale / 2; clamp(); }
  }

  function drawLegend() {
    const parts = [];
    if (store.colourBy === "engine") for (const engine of new Set(all.map((row) => row.engine))) parts.push(h("span", {}, h("i.swatch", { style: { "--c": palette.engine(engine) } }), engine || "barrier"));
    if (showStalls.on) {
      const idle = Object.keys(run.stalls).filter((what) => what !== "engine busy" && what !== "DDR bandwidth");
      parts.push(...idle.map((what) => h("span", { title: stallTitle(what) }, h("i.swatch", { style: { "--c": causeColour(what), height: "4px" } }), `waits: ${what}`)));
    }
    legend.replaceChildren(...parts);
  }

  function stallTitle(what) { return Object.entries(run.stalls[what]).map(([engine, n]) => `${engine}: ${count(n)} cycles of all tiles`).join("\n"); }

  function toggle(title, hint, on) {
    const button = h("button", { title: hint, "aria-pressed": String(on), onclick: () => { button.on = !button.on; button.setAttribute("aria-pressed", String(button.on)); top = AXIS + OVERVIEW + (showPath.on ? PATH : 0); place(); clamp(); drawLegend(); view.redraw(); } }, title);
    button.on = on;
    return button;
  }

  store.on("select", ({ from }) => { collectLit(); if (from !== "timeline") reveal(); view.redraw(); });
  store.on("colour theme", () => { drawLegend(); view.redraw(); });
  collectLit();
  drawLegend();
  return { view, choose: (which) => { tileChoice.value = which; choose(which); }, zoomToSelection, positionOf, timeAt: tOf, drawn: () => drawn };

  function positionOf(e) {
    const i = rows.findIndex((row) => row.events.includes(e));
    return [(Math.max(xOf(start[e]), LABEL) + Math.min(xOf(end[e]), view.width)) / 2, top + layout[i] - scroll + rowHeight / 2];
  }
}

/** A row for each tile and engine that works, its executions in order. */
function buildRows({ run, data }) {
  const { instruction, tiles, end, start } = run.events;
  const lists = new Map();
  for (let e = 0; e < instruction.length; e++) {
    const { engine } = run.instructions[instruction[e]];
    for (const tile of run.tile_sets[tiles[e]]) {
      const key = `${tile}/${engine}`;
      if (!lists.has(key)) lists.set(key, []);
      lists.get(key).push(e);
    }
  }
  const rows = [];
  for (let tile = 0; tile < data.machine.tiles; tile++) {
    for (const engine of [...run.engines, ""]) {
      const events = lists.get(`${tile}/${engine}`);
      if (!events || (!engine && tile)) continue; // barriers of all tiles once
      events.sort((a, b) => start[a] - start[b]);
      rows.push({ tile, engine, events, ends: Float64Array.from(events, (e) => end[e]) });
    }
  }
  return rows;
}

/** Of tiles that do the same at the same times the first one. */
function distinct(rows, tiles) {
  const found = new Map();
  for (let tile = 0; tile < tiles; tile++) {
    const key = rows.filter((row) => row.tile === tile && row.engine).map((row) => `${row.engine}:${row.events.join(",")}`).join(";");
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(tile);
  }
  const alike = new Map([...found.values()].map((list) => [list[0], list]));
  return rows.filter((row) => alike.has(row.tile)).map((row) => ({ ...row, alike: alike.get(row.tile) }));
}

/** The first number of a sorted column that is greater than `value`. */
function firstAfter(column, value) {
  let low = 0, high = column.length;
  while (low < high) { const middle = (low + high) >> 1; if (column[middle] <= value) low = middle + 1; else high = middle; }
  return low;
}

function busyProfile({ run }, bins) {
  const busy = new Float64Array(bins);
  const { start, end, tiles, instruction } = run.events;
  const per = run.cycles / bins || 1;
  for (let e = 0; e < start.length; e++) {
    if (!run.instructions[instruction[e]].engine) continue;
    const weight = run.tile_sets[tiles[e]].length;
    for (let b = Math.floor(start[e] / per); b <= Math.min(bins - 1, Math.floor(end[e] / per)); b++) {
      busy[b] += weight * Math.max(0, Math.min(end[e], (b + 1) * per) - Math.max(start[e], b * per));
    }
  }
  return busy;
}

export function describeEvent(store, palette, e) {
  const { run, data } = store;
  const { start, end, issued, instruction, tiles, cause, trips } = run.events;
  const i = run.instructions[instruction[e]];
  const op = i.sources.length ? data.source[i.sources.at(-1)] : null;
  return [
    h("h3", {}, h("i.swatch", { style: { "--c": palette.instruction(instruction[e]) } }), i.name, h("span.mono", {}, `#${instruction[e]}`)),
    h("dl", {},
      h("dt", {}, "runs"), h("dd", {}, `${time(end[e] - start[e], run.cycles_per_second)}, from ${time(start[e], run.cycles_per_second)}`),
      ...(start[e] > issued[e] ? [h("dt", {}, "queued"), h("dd", {}, time(start[e] - issued[e], run.cycles_per_second))] : []),
      ...(run.causes[cause[e]] ? [h("dt", {}, "waited for"), h("dd", {}, run.causes[cause[e]])] : []),
      h("dt", {}, "on"), h("dd", {}, tileNames(run.tile_sets[tiles[e]])),
      ...(i.source ? [h("dt", {}, "computes"), h("dd", {}, i.source)] : []),
      ...(op ? [h("dt", {}, "source"), h("dd", {}, `${short(op.kind)} ${op.name}`)] : []),
      ...(i.moved ? [h("dt", {}, "moves"), h("dd", {}, `${bytes(i.moved)} of DDR, all tiles`)] : []),
      ...(run.trips[trips[e]].length ? [h("dt", {}, "trip"), h("dd", {}, run.trips[trips[e]].join(", "))] : []),
      ...(store.critical.has(e) ? [h("dt", {}, "critical"), h("dd", {}, "on the critical path")] : [])),
  ];
}
