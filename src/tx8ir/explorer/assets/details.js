// What is selected, and everything linked to it: from an operation of the source to its instructions, and back.

import { h, head } from "explorer/dom";
import { bytes, count, short, tiles as tileNames, time } from "explorer/format";

const SHOWN = 40;

export function detailsView(panel, store, palette, showTab) {
  const body = h("div.scroll");
  panel.append(head(panel, "Selection", h("button", { onclick: () => store.select(null), title: "Select nothing (Esc)" }, "Clear")), body);
  const { data, run } = store;

  function show() {
    const { kind, id } = store.selection;
    const parts = kind === null ? overview() : kind === "source" ? source(id) : kind === "scope" ? scope(id) : kind === "group" ? group(id) : kind === "ir" ? ir(id) : instruction(kind, id);
    body.replaceChildren(h("div.details", {}, ...parts.filter(Boolean)));
    body.scrollTop = 0;
  }

  // -- kinds of things ------------------------------------------------------------------------------------------------

  function overview() {
    const shown = data.source.filter((op) => !op.is_constant && op.type).length;
    const slow = Object.entries(run.stalls).map(([cause, engines]) => [cause, Object.values(engines).reduce((a, b) => a + b, 0)]).filter(([cause]) => cause !== "engine busy").sort((a, b) => b[1] - a[1]);
    return [
      title(data.title, null),
      h("div.sub", {}, "Select an operation, a line, an instruction or a group: every view shows what belongs to it."),
      section("Program", facts([["source", `${count(shown)} operations`], ["passes", `${count(data.passes.filter((p) => p.changed).length)} of ${count(data.passes.length)} changed something`], ["groups", count(data.groups.length)], ["instructions", count(run.instructions.length)]])),
      section("Run", facts([["time", `${time(run.cycles, run.cycles_per_second)} (${count(run.cycles)} cycles)`], ["executions", count(run.events.start.length)], ["critical path", `${count(run.critical.length)} executions`], ["DDR", `${bytes(run.roof.bytes)} moved`]])),
      slow.length ? section("Engines waited for, in cycles of all tiles", facts(slow.slice(0, 6).map(([cause, n]) => [cause, count(n)]))) : null,
      h("div.sub", {}, h("kbd", {}, "/"), " search · ", h("kbd", {}, "Esc"), " clear · ", h("kbd", {}, "["), " ", h("kbd", {}, "]"), " pass before, after"),
    ];
  }

  function source(s) {
    const op = data.source[s];
    const inputs = op.inputs.map((from, i) => (from >= 0 && !data.source[from].is_constant ? sourceRow(from) : h("div.row", { style: { cursor: "default" } }, h("i"), h("span.mono", {}, from >= 0 ? constantName(from) : op.arguments[i]), h("span.right", {}, from >= 0 ? data.source[from].type : ""))));
    const readers = data.source.flatMap((other, i) => (other.inputs.includes(s) ? [sourceRow(i)] : []));
    return [
      title(short(op.kind), palette.source(s), op.kind.split(".")[0]),
      op.name ? h("div.sub.mono", {}, op.name) : null,
      section(null, facts([["result", op.type], ["layer", data.scopes[op.scope]?.path], ["built at", op.location !== "unknown" ? op.location.replace(/^"([^"]*)"$/, "$1") : ""]])),
      op.attributes ? section("Attributes", h("code", {}, op.attributes)) : null,
      inputs.length ? section("Operands", h("div.rows", {}, ...inputs)) : null,
      readers.length ? section("Used by", h("div.rows", {}, ...readers.slice(0, SHOWN))) : null,
      history(s),
      ...cost([...store.selection.instructions]),
      instructions([...store.selection.instructions]),
    ];
  }

  function scope(id) {
    const all = [...store.selection.sources];
    return [title(data.scopes[id].name, palette.scope(id), "layer"), h("div.sub.mono", {}, data.scopes[id].path || "the whole model"),
      ...cost([...store.selection.instructions]),
      section(`${count(all.length)} operations`, h("div.rows", {}, ...all.slice(0, SHOWN * 2).map(sourceRow)))];
  }

  function group(id) {
    const it = store.groupById.get(id);
    if (!it) return [title(`group ${id}`, palette.group(id))];
    const rows = Object.entries(it.facts);
    return [title(`group ${id}`, palette.group(id)), h("div.sub", {}, it.ops.join(" → ")),
      section("Strategy", facts([...rows, ["SPM", bytes(it.spm_bytes)], ...(it.template >= 0 ? [["same as", `group ${it.template}`]] : [])])),
      section("Stands for", h("div.rows", {}, ...it.sources.filter((s) => data.source[s] && !data.source[s].is_constant).map(sourceRow))),
      ...cost([...store.selection.instructions]), instructions([...store.selection.instructions])];
  }

  function ir(id) {
    const op = data.ops[id];
    const line = textLine(id);
    return [title(short(op.kind), op.sources.length ? palette.source(op.sources.at(-1)) : null, op.kind.split(".")[0]),
      line ? section("Text", h("code", {}, line.trim())) : null,
      op.steps.length ? section("Made by", h("div.trail", {}, ...op.steps.map((step) => h("div", {}, h("button.link", { onclick: () => toPass(data.names[step]) }, data.names[step]))))) : null,
      op.sources.length ? section("Stands for", h("div.rows", {}, ...op.sources.filter((s) => !data.source[s]?.is_constant).map(sourceRow))) : null,
      ...cost([...store.selection.instructions]), instructions([...store.selection.instructions])];
  }

  function instruction(kind, id) {
    const i = kind === "event" ? run.events.instruction[id] : id;
    const item = run.instructions[i];
    const event = kind === "event" ? facts([
      ["starts", time(run.events.start[id], run.cycles_per_second)], ["runs", `${time(run.events.end[id] - run.events.start[id], run.cycles_per_second)}`],
      ["waited for", run.causes[run.events.cause[id]]], ["on", tileNames(run.tile_sets[run.events.tiles[id]])],
      ["critical", store.critical.has(id) ? "on the critical path" : ""]]) : null;
    const blocker = kind === "event" ? run.events.blocker[id] : -1;
    return [title(item.name, palette.instruction(i), item.engine), h("div.sub", {}, item.source),
      event ? section("Execution", event) : null,
      blocker >= 0 ? section("Let start by", h("div.rows", {}, eventRow(blocker))) : null,
      section("Instruction", facts([["number", String(i)], ["tiles", tileNames(run.tile_sets[item.tiles])], ["runs", item.times > 1 ? `${count(item.times)} times` : ""], ["operations", item.operations ? `${count(item.operations)} a tile` : ""], ["moves", item.moved ? bytes(item.moved) : ""]])),
      section("Text", h("code", {}, (textLine(item.op) ?? "").trim().slice(0, 600))),
      section("Stands for", h("div.rows", {}, ...item.sources.filter((s) => !data.source[s]?.is_constant).map(sourceRow))),
      item.sources.length ? history(item.sources.at(-1)) : null];
  }

  // -- parts ----------------------------------------------------------------------------------------------------------

  function title(text, colour, of = "") {
    return h("div.title", {}, colour ? h("i.swatch", { style: { "--c": colour } }) : "", text, of ? h("span.sub", { style: { "font-size": "12px", "font-weight": 400 } }, of) : "");
  }

  function section(name, ...content) { return h("div", {}, name ? h("h3", {}, name) : "", ...content); }

  function facts(rows) { return h("dl", {}, ...rows.filter(([, text]) => text).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])); }

  const constantName = (s) => data.source[s].attributes.match(/name = "([^"]*)"/)?.[1] ?? (data.source[s].name || "constant");

  function sourceRow(s) {
    const op = data.source[s];
    return h("div.row", { onclick: () => store.select("source", s) }, h("i.swatch", { style: { "--c": palette.source(s) } }), h("span", {}, short(op.kind), op.name ? h("span.sub", {}, ` ${op.name}`) : ""), h("span.right", {}, op.type));
  }

  function eventRow(e) {
    const i = run.events.instruction[e];
    return h("div.row", { onclick: () => store.select("event", e) }, h("i.swatch", { style: { "--c": palette.instruction(i) } }), h("span", {}, `${run.instructions[i].name} #${i}`), h("span.right", {}, time(run.events.start[e], run.cycles_per_second)));
  }

  /** The stages at which the operations that stand for a source operation came to be. */
  function history(s) {
    const seen = new Set();
    const steps = [];
    const note = (pass, text) => {
      const lines = store.lineOf[text];
      const now = store.irOf[s].filter((op) => lines.has(op) && !seen.has(op));
      now.forEach((op) => seen.add(op));
      if (!now.length) return;
      const names = [...new Set(now.map((op) => data.ops[op].kind))];
      const last = data.ops[now[0]].steps.at(-1);
      const by = pass < 0 ? "source" : last !== undefined && data.names[last].startsWith(`${data.passes[pass].name}/`) ? data.names[last] : data.passes[pass].name;
      steps.push(h("div", {}, h("button.link", { onclick: () => { store.setStage(Math.max(0, pass)); showTab("ir"); store.select("ir", now[0]); } }, names.slice(0, 4).join(", ") + (names.length > 4 ? "…" : "")), now.length > names.length ? ` × ${count(now.length)}` : "", h("div.by", {}, by)));
    };
    note(-1, 0);
    data.passes.forEach((pass, i) => { if (pass.changed) note(i, pass.after); });
    return section("What became of it", h("div.trail", {}, ...steps));
  }

  function cost(list) {
    if (!list.length) return [];
    const engines = {};
    let [first, last, path] = [Infinity, 0, 0];
    for (const i of list) for (const e of store.eventsOf[i]) {
      const cycles = run.events.end[e] - run.events.start[e];
      const { engine } = run.instructions[i];
      first = Math.min(first, run.events.start[e]);
      last = Math.max(last, run.events.end[e]);
      if (engine) engines[engine] = Math.max(engines[engine] ?? 0, 0) + cycles * run.tile_sets[run.events.tiles[e]].length;
      if (store.critical.has(e)) path += cycles;
    }
    const total = Object.values(engines).reduce((a, b) => a + b, 0);
    if (!total) return [];
    return [section("Cost", h("div.stack", {}, ...Object.entries(engines).map(([engine, n]) => h("i", { title: `${engine}: ${count(n)}`, style: { width: `${n / total * 100}%`, background: palette.engine(engine) } }))),
      h("div.legend", { style: { margin: "4px 0 6px" } }, ...Object.entries(engines).map(([engine, n]) => h("span", {}, h("i.swatch", { style: { "--c": palette.engine(engine) } }), `${engine} ${Math.round(n / total * 100)} %`))),
      facts([["from, to", `${time(first, run.cycles_per_second)} – ${time(last, run.cycles_per_second)}`], ["critical path", path ? `${time(path, run.cycles_per_second)}, ${(path / run.cycles * 100).toFixed(1)} % of the run` : "not on it"]]))];
  }

  function instructions(list) {
    if (!list.length) return section("Instructions", h("div.sub", {}, "None of its own: it was folded, or stays in memory as it is."));
    return section(`${count(list.length)} instruction${list.length > 1 ? "s" : ""}`, h("div.rows", {}, ...list.slice(0, SHOWN).map((i) => {
      const item = run.instructions[i];
      const cycles = store.eventsOf[i].reduce((most, e) => Math.max(most, run.events.end[e] - run.events.start[e]), 0);
      return h("div.row", { onclick: () => store.select("instruction", i) }, h("i.swatch", { style: { "--c": palette.instruction(i) } }), h("span", {}, `${item.name} `, h("span.sub", {}, `#${i}`)), h("span.right", {}, `${item.engine} · ${time(cycles, run.cycles_per_second)}`));
    })), list.length > SHOWN ? h("div.sub", {}, `and ${count(list.length - SHOWN)} more`) : "");
  }

  function textLine(op) {
    for (let t = data.texts.length - 1; t >= 0; t--) {
      const line = store.lineOf[t].get(op);
      if (line !== undefined) return data.lines[data.texts[t].lines[line]];
    }
    return null;
  }

  function toPass(step) {
    const i = data.passes.findIndex((pass) => pass.name === step.split("/")[0]);
    if (i >= 0) { store.setStage(i); showTab("ir"); }
  }

  store.on("select colour theme", show);
  show();
  return {};
}
