// The source program as a picture: operations are boxes, layers are frames that fold, uses are arrows.

import { css } from "explorer/colour";
import { h, head } from "explorer/dom";
import { count, short } from "explorer/format";
import { FRAME, SourceGraph } from "explorer/layout";
import { hideTooltip, showTooltip } from "explorer/tooltip";
import { fitText, Viewport } from "explorer/viewport";

const OPEN_AT_FIRST = 70;
const FLAT = 0.18; // below this one they are plain
const READABLE = 0.42; // below this scale boxes carry no text

export function graphView(panel, store, palette) {
  const stage = h("div.stage");
  const graph = new SourceGraph(store.data);
  const depth = h("div.segmented", { title: "Layers" },
    h("button", { onclick: () => collapse(0), title: "Close all layers" }, "−"),
    h("button", { onclick: () => collapse(1e9), title: "Open all layers" }, "+"));
  const fit = h("button", { onclick: () => { fitAll(); view.redraw(); }, title: "Show everything" }, "Fit");
  panel.append(head(panel, "Source graph", depth, fit), stage);
  if (!store.data.source.length) {
    stage.append(h("div.empty", {}, "This executable was loaded from a folder: its source program is not known."));
    return {};
  }
  let laid = null;
  let scale = 1, dx = 0, dy = 0;
  let hovered = null;
  const view = new Viewport(stage, draw);
  view.onresize = (first) => { if (first) start(); else if (untouched) home(); };
  let untouched = true; // nobody has zoomed or moved: the picture follows the size of the panel

  function start() {
    graph.openUpTo(OPEN_AT_FIRST);
    relayout();
    home();
  }

  /** All of it where that can be read, else its beginning. */
  function home() {
    fitAll();
    if (scale < 0.6) fitWidth();
    view.redraw();
  }

  function relayout() { laid = graph.layout(); view.redraw(); }

  function collapse(limit) { graph.openUpTo(limit); relayout(); home(); }

  function fitAll() {
    scale = Math.min(1.1, (view.width - 32) / laid.width, (view.height - 32) / laid.height);
    dx = (view.width - laid.width * scale) / 2;
    dy = (view.height - laid.height * scale) / 2;
  }

  function fitWidth() {
    scale = Math.max(scale, Math.min(0.95, (view.width - 24) / laid.width));
    dx = (view.width - laid.width * scale) / 2;
    dy = 16;
  }

  function centre(box) {
    dx = view.width / 2 - (box.x + box.width / 2) * scale;
    dy = view.height / 2 - (box.y + box.height / 2) * scale;
  }

  function reveal(op) {
    untouched = false;
    if (graph.reveal(op)) relayout();
    const box = laid.nodes.find((node) => node.op === op);
    if (!box) return;
    const x = box.x * scale + dx, y = box.y * scale + dy;
    if (x < 0 || y < 0 || x + box.width * scale > view.width || y + box.height * scale > view.height) {
      scale = Math.max(scale, 0.7);
      centre(box);
    }
  }

  // -- drawing --------------------------------------------------------------------------------------------------------

  function draw(c, width, height) {
    if (!laid) return;
    const selection = store.selection;
    const some = selection.kind !== null && selection.sources.size > 0;
    const inSight = (x, y, w, h_) => x < (width - dx) / scale && x + w > -dx / scale && y < (height - dy) / scale && y + h_ > -dy / scale;
    const colours = { node: css("--canvas-node"), frame: css("--canvas-frame"), edge: css("--canvas-edge"), text: css("--text"), soft: css("--soft"), line: css("--line"), accent: css("--accent") };
    c.save();
    c.translate(dx, dy);
    c.scale(scale, scale);
    c.lineWidth = 1 / Math.min(1, scale);
    for (const frame of laid.frames) if (inSight(frame.x, frame.y, frame.width, frame.height)) drawFrame(c, frame, colours);
    const lit = [];
    c.strokeStyle = colours.edge;
    c.beginPath();
    for (const edge of laid.edges) {
      if (!edgeInSight(edge, inSight)) continue;
      if (some && edge.ends.some(([a, b]) => selection.sources.has(a) || selection.sources.has(b))) lit.push(edge);
      else trace(c, edge, scale);
    }
    c.globalAlpha = some ? 0.45 : 1;
    c.stroke();
    c.globalAlpha = 1;
    c.strokeStyle = colours.accent;
    c.lineWidth = 1.8 / Math.min(1, scale);
    c.beginPath();
    for (const edge of lit) trace(c, edge, scale);
    c.stroke();
    c.lineWidth = 1 / Math.min(1, scale);
    for (const node of laid.nodes) if (inSight(node.x, node.y, node.width, node.height)) drawNode(c, node, colours, some);
    c.restore();
  }

  function drawFrame(c, frame, colours) {
    const scope = graph.scopes[frame.scope];
    c.fillStyle = colours.frame;
    c.strokeStyle = colours.line;
    c.beginPath();
    c.roundRect(frame.x, frame.y, frame.width, frame.height, 10);
    c.fill();
    c.stroke();
    if (scale < READABLE * 0.6) return;
    c.fillStyle = colours.soft;
    c.font = `600 ${11 / Math.max(0.75, Math.min(1, scale))}px ${css("--sans")}`;
    c.textBaseline = "middle";
    c.fillText(fitText(c, `▾ ${scope.name}`, frame.width - 20), frame.x + 12, frame.y + FRAME.title / 2 + 4);
  }

  function drawNode(c, node, colours, some) {
    const selection = store.selection;
    const isScope = node.op === undefined;
    const inside = isScope ? graphOps(graph, node.scope) : null;
    const linked = isScope ? inside.some((op) => selection.sources.has(op)) : selection.sources.has(node.op);
    const tint = isScope ? mixed(inside) : palette.source(node.op);
    const { x, y, width, height } = node;
    c.globalAlpha = some && !linked ? 0.38 : 1;
    if (isScope) {
      c.fillStyle = colours.node;
      c.strokeStyle = colours.line;
      for (const offset of [6, 3]) { c.beginPath(); c.roundRect(x + offset, y + offset, width, height, 7); c.fill(); c.stroke(); }
    }
    if (scale < FLAT && !linked) {
      c.fillStyle = tint;
      c.fillRect(x, y, width, height);
      c.globalAlpha = 1;
      return;
    }
    c.fillStyle = scale < READABLE ? tint : colours.node;
    c.strokeStyle = linked ? colours.accent : hovered === node ? colours.soft : colours.line;
    c.lineWidth = (linked ? 2.2 : 1) / Math.min(1, scale);
    c.beginPath();
    c.roundRect(x, y, width, height, 7);
    c.fill();
    if (scale >= READABLE) {
      c.save();
      c.clip();
      c.fillStyle = tint;
      c.fillRect(x, y, 5, height);
      c.restore();
    }
    c.stroke();
    c.lineWidth = 1 / Math.min(1, scale);
    if (scale >= READABLE) label(c, node, inside, colours);
    c.globalAlpha = 1;
  }

  function label(c, { op, scope, x, y, width, height }, inside, colours) {
    const isScope = op === undefined;
    const source = isScope ? null : store.data.source[op];
    c.textBaseline = "middle";
    c.fillStyle = colours.text;
    c.font = `600 12.5px ${css("--sans")}`;
    const title = isScope ? `▸ ${graph.scopes[scope].name}` : short(source.kind);
    c.fillText(fitText(c, title, width - 20), x + 13, y + height / 2 - 8);
    c.fillStyle = colours.soft;
    c.font = `10.5px ${css("--mono")}`;
    const second = isScope ? `${count(inside.length)} operations` : source.type || source.arguments.join(", ");
    c.fillText(fitText(c, second, width - 20), x + 13, y + height / 2 + 9);
  }

  const mixes = new Map();
  function mixed(ops) {
    const key = ops[0];
    if (!mixes.has(key)) {
      const tally = new Map();
      for (const op of ops) { const colour = palette.source(op); tally.set(colour, (tally.get(colour) ?? 0) + 1); }
      mixes.set(key, [...tally].sort((a, b) => b[1] - a[1])[0][0]);
    }
    return mixes.get(key);
  }

  // -- mouse ----------------------------------------------------------------------------------------------------------

  const toWorld = (x, y) => [(x - dx) / scale, (y - dy) / scale];
  const within = (box, x, y) => x >= box.x && x <= box.x + box.width && y >= box.y && y <= box.y + box.height;

  function at(x, y) {
    const [wx, wy] = toWorld(x, y);
    const node = laid?.nodes.find((box) => within(box, wx, wy));
    if (node) return node;
    const frames = laid?.frames.filter((box) => within(box, wx, wy) && wy < box.y + FRAME.title + 8) ?? [];
    return frames.at(-1) ?? null;
  }

  view.gestures({
    zoom(factor, x, y) {
      untouched = false;
      const next = Math.max(0.02, Math.min(3, scale * factor));
      dx = x - (x - dx) * next / scale;
      dy = y - (y - dy) * next / scale;
      scale = next;
      view.redraw();
    },
    pan(x, y) { untouched = false; dx += x; dy += y; view.redraw(); },
    hover(x, y, event) {
      const box = at(x, y);
      view.canvas.style.cursor = box ? "pointer" : "grab";
      if (box !== hovered) { hovered = box; view.redraw(); }
      if (box?.op !== undefined) showTooltip(event, ...describe(store, palette, box.op)); else hideTooltip();
    },
    leave() { hovered = null; hideTooltip(); view.redraw(); },
    click(x, y) {
      const box = at(x, y);
      if (!box) return store.select(null);
      if (box.op !== undefined) return store.select("source", box.op, "graph");
      if (laid.frames.includes(box)) { toggle(box.scope); return; }
      store.select("scope", box.scope, "graph");
    },
    doubleClick(x, y) {
      const box = at(x, y);
      if (box && box.op === undefined && !laid.frames.includes(box)) toggle(box.scope);
    },
  });

  function toggle(scope) {
    const before = boxOf(scope);
    graph.toggle(scope);
    relayout();
    const after = boxOf(scope); // stays under the mouse
    if (before && after) { dx += (before.x - after.x) * scale; dy += (before.y - after.y) * scale; }
    view.redraw();
  }

  function boxOf(scope) { return laid.frames.find((b) => b.scope === scope) ?? laid.nodes.find((b) => b.op === undefined && b.scope === scope); }

  store.on("select", ({ from }) => {
    if (from !== "graph" && store.selection.sources.size) reveal(Math.min(...[...store.selection.sources].filter((s) => graph.shown[s])));
    view.redraw();
  });
  store.on("colour theme", () => { mixes.clear(); view.redraw(); });
  return { view, graph, positionOf: (op) => laid.nodes.filter((n) => n.op === op).map((n) => [(n.x + n.width / 2) * scale + dx, (n.y + n.height / 2) * scale + dy])[0], boxes: () => ({ nodes: laid.nodes.length, frames: laid.frames.length }), fitAll() { fitAll(); view.redraw(); } };
}

const members = new WeakMap();

function graphOps(graph, scope) {
  const cached = members.get(graph) ?? members.set(graph, new Map()).get(graph);
  if (!cached.has(scope)) cached.set(scope, [...graph.scopes[scope].ops, ...graph.scopes[scope].scopes.flatMap((s) => graphOps(graph, s))]);
  return cached.get(scope);
}

function trace(c, { points, back }, scale) {
  const [first, ...rest] = points;
  c.moveTo(...first);
  if (back || scale < 0.12) { for (const point of rest) c.lineTo(...point); return; }
  let [x0, y0] = first;
  for (const [x, y] of rest) {
    const middle = (y0 + y) / 2;
    c.bezierCurveTo(x0, middle, x, middle, x, y);
    [x0, y0] = [x, y];
  }
}

function edgeInSight({ points }, inSight) {
  let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) { x0 = Math.min(x0, x); y0 = Math.min(y0, y); x1 = Math.max(x1, x); y1 = Math.max(y1, y); }
  return inSight(x0, y0, x1 - x0, y1 - y0);
}

/** A source operation in a few lines. */
export function describe(store, palette, s) {
  const op = store.data.source[s];
  const group = store.homeOf[s];
  const cycles = store.instructionsOf[s].length;
  return [
    h("h3", {}, h("i.swatch", { style: { "--c": palette.source(s) } }), short(op.kind), op.name ? h("span.mono", {}, op.name) : ""),
    h("dl", {},
      ...(op.type ? [h("dt", {}, "result"), h("dd.mono", {}, op.type)] : []),
      ...(op.constants.length ? [h("dt", {}, "reads"), h("dd.mono", {}, op.constants.join(", "))] : []),
      ...(group >= 0 ? [h("dt", {}, "group"), h("dd", {}, String(group))] : []),
      h("dt", {}, "instructions"), h("dd", {}, count(cycles))),
  ];
}
