// Memory over time: addresses down, time across, a box for each value. For the SPM of a tile, and for DDR.

import { css } from "explorer/colour";
import { h } from "explorer/dom";
import { addressAxis, lifetimes, occupancy } from "explorer/buffers";
import { bytes, count, hex, short, tail, ticks, time } from "explorer/format";
import { hideTooltip, showTooltip } from "explorer/tooltip";
import { fitText, Viewport } from "explorer/viewport";

const LEFT = 92, AXIS = 22, CHART = 44;

export function memoryView(body, store, palette, kind) {
  const { run, data } = store;
  const isSpm = kind === "spm";
  const stage = h("div.stage");
  const summary = h("span");
  const tileChoice = h("select", { title: "Tile", onchange: () => load() }, ...Array.from({ length: data.machine.tiles }, (_, t) => h("option", { value: t }, `tile ${t}`)));
  const axisChoice = h("div.segmented", {}, ...[["steps", "Steps"], ["time", "Time"]].map(([name, title]) => h("button", { "data-axis": name, onclick: () => { axis = name; load(); } }, title)));
  const fit = h("button", { onclick: () => { fitAll(); view.redraw(); } }, "Fit");
  body.append(h("div.ir-bar", {}, ...(isSpm ? [tileChoice] : []), axisChoice, fit, summary), stage);
  if (!run.complete) { stage.append(h("div.empty", {}, "Single executions were not kept.")); return {}; }

  let axis = "steps", values = [], moments = [], addresses = null, used = [], x0 = 0, scale = 1, extent = 1, hovered = null;
  const view = new Viewport(stage, draw);
  view.onresize = (first) => { if (first) load(); else { place(); if (untouched) fitAll(); } };
  let untouched = true;

  function load() {
    axisChoice.querySelectorAll("button").forEach((b) => b.classList.toggle("on", b.dataset.axis === axis));
    values = lifetimes(store, isSpm ? +tileChoice.value : null);
    moments = axis === "time" ? [] : [...new Set(values.flatMap((v) => [v.start, v.end]))].sort((a, b) => a - b);
    used = occupancy(values);
    const peak = used.reduce((most, [, n]) => Math.max(most, n), 0);
    summary.replaceChildren(h("b", {}, bytes(peak)), ` at most in use${isSpm ? ` of ${bytes(data.machine.spm_high - data.machine.spm_low)}` : ""} · ${count(values.length)} values`);
    extent = axis === "time" ? run.cycles : Math.max(1, moments.length - 1);
    place();
    fitAll();
    view.redraw();
  }

  function place() { addresses = values.length ? addressAxis(values, view.height - AXIS - CHART - 10, isSpm ? 18 : 12) : null; }
  function fitAll() { untouched = true; x0 = 0; scale = (view.width - LEFT - 10) / extent; }

  function position(t) {
    if (axis === "time") return t;
    let low = 0, high = moments.length - 1;
    while (low < high) { const middle = (low + high) >> 1; if (moments[middle] < t) low = middle + 1; else high = middle; }
    return low;
  }
  const xOf = (p) => LEFT + (p - x0) * scale;
  const top = AXIS + CHART;

  function box(v) {
    const [a, b] = [xOf(position(v.start)), xOf(position(v.end))];
    const [y, bottom] = [top + addresses.yOf(v.low), top + addresses.yOf(v.high)];
    return [a, y, Math.max(1.2, b - a), Math.max(1.5, bottom - y)];
  }

  const linked = (v) => store.selection.instructions.has(v.instruction) || (store.selection.kind !== "event" && [...v.readers].some((i) => v.instruction < 0 && store.selection.instructions.has(i)));
  const colour = (v) => (v.instruction >= 0 ? palette.instruction(v.instruction) : v.readers.size ? palette.instruction([...v.readers][0]) : css("--faint"));

  function draw(c, width, height) {
    const colours = { soft: css("--soft"), faint: css("--faint"), line: css("--line"), grid: css("--grid"), text: css("--text"), accent: css("--accent"), panel: css("--panel"), raised: css("--raised") };
    if (!addresses) { c.fillStyle = colours.faint; c.font = `12px ${css("--sans")}`; c.fillText("Nothing is kept here.", LEFT, 60); return; }
    const some = store.selection.instructions.size > 0;
    c.font = `10.5px ${css("--sans")}`;
    c.textBaseline = "middle";
    const marks = ticks(Math.max(0, x0), x0 + (width - LEFT) / scale, width / 120);
    c.fillStyle = colours.raised;
    for (const span of addresses.spans) c.fillRect(LEFT, top + span.y, width - LEFT, span.height);
    c.fillStyle = colours.grid;
    for (const m of marks) c.fillRect(Math.round(xOf(m)), CHART, 1, height);
    c.save();
    c.beginPath();
    c.rect(LEFT, 0, width - LEFT, height);
    c.clip();
    drawOccupancy(c, colours);
    const taken = new Set(); // small boxes at one pixel are drawn once
    for (const v of values) {
      const [x, y, w, h_] = box(v);
      if (x > width || x + w < LEFT) continue;
      const lit = !some || linked(v);
      if (w < 2) {
        const cell = (x | 0) * 65536 + (y | 0) * 2 + (lit ? 1 : 0);
        if (taken.has(cell)) continue;
        taken.add(cell);
      }
      c.globalAlpha = lit ? 0.92 : 0.2;
      c.fillStyle = colour(v);
      if (v.segment && v.segment.kind !== "scratch") c.globalAlpha *= 0.55;
      const [gapX, gapY] = [w > 4 ? 1 : 0, h_ > 4 ? 0.75 : 0];
      c.beginPath();
      if (w > 4) c.roundRect(x, y, w - gapX, h_ - gapY, Math.min(2.5, h_ / 3)); else c.rect(x, y, w, h_ - gapY);
      c.fill();
      if (v === hovered || (some && lit)) {
        c.globalAlpha = 1;
        c.strokeStyle = v === hovered ? colours.text : colours.accent;
        c.lineWidth = 1.5;
        c.stroke();
      }
      if (w > 40 && h_ > 11) { c.globalAlpha = lit ? 1 : 0.4; c.fillStyle = "oklch(0.2 0.02 260)"; c.fillText(fitText(c, label(v), Math.min(w, width - Math.max(x, LEFT)) - 9), Math.max(x, LEFT) + 5, y + h_ / 2); }
    }
    c.globalAlpha = 1;
    c.restore();
    c.fillStyle = colours.faint;
    for (const m of marks) c.fillText(axis === "time" ? time(m, run.cycles_per_second) : count(Math.round(m)), xOf(m) + 4, CHART + AXIS / 2);
    c.fillText(axis === "time" ? "time" : "step", 10, CHART + AXIS / 2);
    c.fillText("in use", 10, CHART / 2 + 4);
    c.font = `10px ${css("--mono")}`;
    let lastY = -99;
    for (const span of addresses.spans) for (const [address, y] of [[span.low, span.y + 6], [span.high, span.y + span.height - 5]]) {
      if (y - lastY < 11) continue;
      lastY = y;
      c.fillText(hex(address), 10, top + y);
    }
  }

  function drawOccupancy(c, colours) {
    const peak = used.reduce((most, [, n]) => Math.max(most, n), 1);
    const y = (n) => CHART - 4 - n / peak * (CHART - 14);
    c.beginPath();
    c.moveTo(LEFT, y(0));
    let last = 0;
    let lastX = -1;
    for (const [t, n] of used) {
      const x = xOf(position(t));
      if (x - lastX > 0.5) { c.lineTo(x, y(last)); lastX = x; }
      if (n > last || x - lastX === 0) c.lineTo(x, y(n));
      last = n;
    }
    c.lineTo(xOf(extent), y(0));
    c.fillStyle = colours.accent;
    c.globalAlpha = 0.25;
    c.fill();
    c.globalAlpha = 1;
  }

  function label(v) {
    if (v.segment && v.instruction < 0) return v.segment.name.replace(/^const\.\d+\./, "");
    const i = run.instructions[v.instruction];
    const loaded = isSpm ? store.loadedBy(v.instruction) : null;
    if (loaded) return tail(loaded.name);
    return i.source.replace(/^group \d+ /, "") || i.name;
  }

  function at(x, y) {
    for (let n = values.length - 1; n >= 0; n--) {
      const [bx, by, w, h_] = box(values[n]);
      if (x >= bx - 1 && x <= bx + w + 1 && y >= by && y <= by + h_) return values[n];
    }
    return null;
  }

  view.gestures({
    zoom(factor, x) {
      untouched = false;
      const p = x0 + (x - LEFT) / scale;
      scale = Math.max((view.width - LEFT) / extent / 1.5, Math.min(axis === "time" ? 20 : 400, scale * factor));
      x0 = p - (x - LEFT) / scale;
      clamp();
    },
    pan(dx) { untouched = false; x0 -= dx / scale; clamp(); },
    hover(x, y, event) {
      const v = x > LEFT && addresses ? at(x, y) : null;
      view.canvas.style.cursor = v ? "pointer" : "default";
      if (v !== hovered) { hovered = v; view.redraw(); }
      if (v) showTooltip(event, ...describe(v)); else hideTooltip();
    },
    leave() { hovered = null; hideTooltip(); view.redraw(); },
    click(x, y) {
      const v = addresses && at(x, y);
      if (!v) store.select(null);
      else store.select("instruction", v.instruction >= 0 ? v.instruction : [...v.readers][0] ?? 0, kind);
    },
  });

  function clamp() { x0 = Math.max(-0.1 * extent, Math.min(x0, extent - (view.width - LEFT) / scale * 0.3)); view.redraw(); }

  function describe(v) {
    const writer = v.instruction >= 0 ? run.instructions[v.instruction] : null;
    const source = writer?.sources.length ? data.source[writer.sources.at(-1)] : null;
    return [
      h("h3", {}, h("i.swatch", { style: { "--c": colour(v) } }), label(v)),
      h("dl", {},
        h("dt", {}, "bytes"), h("dd.mono", {}, `${hex(v.low)} – ${hex(v.high)} · ${bytes(v.high - v.low)}`),
        ...(writer ? [h("dt", {}, "written by"), h("dd", {}, `${writer.name}, group ${writer.group}`)] : [h("dt", {}, "kind"), h("dd", {}, v.segment.kind)]),
        ...(source ? [h("dt", {}, "value of"), h("dd", {}, `${short(source.kind)} ${source.name} ${source.type}`)] : []),
        h("dt", {}, "lives"), h("dd", {}, `${time(v.start, run.cycles_per_second)} – ${time(v.end, run.cycles_per_second)} (${time(v.end - v.start, run.cycles_per_second)})`),
        h("dt", {}, "read by"), h("dd", {}, [...v.readers].slice(0, 5).map((i) => `${run.instructions[i].name} #${i}`).join(", ") || "nothing"))];
  }

  store.on("select", ({ from }) => { if (from !== kind) reveal(); view.redraw(); });
  store.on("colour theme", () => view.redraw());

  function reveal() {
    const hits = values.filter(linked);
    if (!hits.length) return;
    const [a, b] = [Math.min(...hits.map((v) => position(v.start))), Math.max(...hits.map((v) => position(v.end)))];
    if (xOf(b) < LEFT || xOf(a) > view.width) { x0 = (a + b) / 2 - (view.width - LEFT) / scale / 2; clamp(); }
  }
  return { view, values: () => values, positionOf: (v) => { const [x, y, w, h_] = box(v); return [x + w / 2, y + h_ / 2]; } };
}
