// Groups: what each computes, the strategy that was chosen, and what it cost.

import { h } from "explorer/dom";
import { bytes, count, time } from "explorer/format";

const SHOWN = 300;

/** What the instructions of each group cost: elapsed cycles, busy cycles by engine, operations and DDR bytes. */
export function groupCosts({ run }) {
  const costs = new Map();
  const { start, end, instruction, tiles } = run.events;
  const of = (id) => costs.get(id) ?? costs.set(id, { first: Infinity, last: 0, engines: {}, operations: 0, moved: 0, instructions: 0 }).get(id);
  for (const item of run.instructions) {
    const cost = of(item.group);
    cost.operations += item.operations * run.tile_sets[item.tiles].length * item.times;
    cost.moved += item.moved;
    cost.instructions += 1;
  }
  for (let e = 0; e < start.length; e++) {
    const { group, engine } = run.instructions[instruction[e]];
    if (!engine) continue;
    const cost = of(group);
    cost.first = Math.min(cost.first, start[e]);
    cost.last = Math.max(cost.last, end[e]);
    cost.engines[engine] = (cost.engines[engine] ?? 0) + (end[e] - start[e]) * run.tile_sets[tiles[e]].length;
  }
  for (const cost of costs.values()) cost.cycles = cost.last > cost.first ? cost.last - cost.first : 0;
  return costs;
}

export function groupsView(body, store, palette) {
  const { data, run } = store;
  const costs = groupCosts(store);
  const rows = data.groups.map((group) => ({ group, cost: costs.get(group.id) ?? { cycles: 0, engines: {}, instructions: 0, moved: 0 } }));
  const most = Math.max(1, ...rows.map(({ cost }) => cost.cycles));
  const open = new Set();
  let limit = SHOWN;
  let sort = { by: "order", down: false };
  const fact = (name) => ({ group }) => group.facts[name] ?? "";
  const columns = [
    ["group", ({ group }) => group.id, ({ group }) => [h("i.swatch", { style: { "--c": palette.group(group.id) } }), ` ${group.id}`]],
    ["computes", ({ group }) => group.ops.join(), ({ group }) => group.ops.join(" → ") || "—", "clip"],
    ["time", ({ cost }) => cost.cycles, ({ cost }) => h("div.bar-cell", {}, h("span", {}, cost.cycles ? time(cost.cycles, run.cycles_per_second) : "—"), engines(cost))],
    ["sharding", ({ group }) => group.facts.sharding ?? group.facts.strategy ?? "", null, "clip"], ["slice of a step", fact("slice of a step")],
    ["buffers", fact("buffers"), null, true],
    ["SPM", ({ group }) => group.spm_bytes, ({ group }) => (group.spm_bytes ? bytes(group.spm_bytes) : "—"), true],
    ["tiles", ({ group }) => group.tiles, null, true],
    ["tried", ({ group }) => group.priced, ({ group }) => (group.priced ? count(group.priced) : ""), true],
    ["code", ({ cost }) => cost.instructions, ({ cost }) => count(cost.instructions), true],
    ["as group", ({ group }) => group.template, ({ group }) => (group.template >= 0 ? String(group.template) : ""), true],
  ];

  function engines(cost) {
    if (!cost.cycles) return h("i");
    const total = Object.values(cost.engines).reduce((a, b) => a + b, 0) || 1;
    return h("div.stack", { title: Object.entries(cost.engines).map(([e, n]) => `${e}: ${count(n)} busy cycles of all tiles`).join("\n"), style: { width: `${Math.max(3, cost.cycles / most * 100)}%` } },
      ...Object.entries(cost.engines).map(([engine, n]) => h("i", { style: { width: `${n / total * 100}%`, background: palette.engine(engine) } })));
  }

  const legend = h("div.legend");
  const scroller = h("div.scroll");
  body.append(scroller, h("div.foot", {}, legend, h("span.hint", {}, "time of a group: from the start of its first instruction to the end of its last")));

  function show() {
    if (!rows.length) { scroller.replaceChildren(h("div.empty", {}, "No groups were recorded.")); return; }
    const key = columns.find(([name]) => name === sort.by)?.[1];
    const sorted = key ? [...rows].sort((a, b) => compare(key(a), key(b)) * (sort.down ? -1 : 1)) : rows;
    const shown = sorted.slice(0, limit);
    const headings = columns.map(([name, , , kind]) => h(`th${kind === true ? ".num" : ""}`, { "aria-sort": sort.by === name ? (sort.down ? "descending" : "ascending") : "none", onclick: () => { sort = { by: name, down: sort.by === name ? !sort.down : name !== "group" && name !== "computes" }; show(); } }, name));
    scroller.replaceChildren(h("table.groups", {}, h("thead", {}, h("tr", {}, ...headings)),
      h("tbody", {}, ...shown.flatMap((row) => [line(row), open.has(row.group.id) ? more(row) : null]))),
      sorted.length > limit ? h("button", { style: { margin: "10px" }, onclick: () => { limit = Infinity; show(); } }, `Show all ${count(sorted.length)}`) : "");
    used();
  }

  function line(row) {
    const { id } = row.group;
    const element = h("tr.pick", { "data-group": id, onclick: () => { if (!open.delete(id)) { open.clear(); open.add(id); } store.select("group", id, "groups"); show(); } },
      ...columns.map(([, value, cell, kind]) => h(`td${kind === true ? ".num" : kind ? `.${kind}` : ""}`, kind === "clip" ? { title: value(row).replaceAll(",", " → ") } : {}, (cell ?? value)(row))));
    element.classList.toggle("linked", store.selection.groups.has(id));
    return element;
  }

  function more({ group, cost }) {
    const facts = Object.entries(group.facts).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]);
    const sources = group.sources.filter((s) => data.source[s] && !data.source[s].is_constant);
    return h("tr", {}, h("td", { colSpan: columns.length }, h("div.facts", {}, h("dl", {}, ...facts,
      h("dt", {}, "moves"), h("dd", {}, `${bytes(cost.moved)} between DDR and SPM`),
      h("dt", {}, "stands for"), h("dd", {}, sources.map((s) => `${data.source[s].kind} ${data.source[s].name}`).join(", ") || "—")), tried(group, cost))));
  }

  /** What the searches priced: a bar for each price, the one that was chosen marked, and what the clock said of it. */
  function tried(group, cost) {
    const { candidates, priced } = group;
    if (!candidates.length) return "";
    const dearest = Math.max(...candidates.map((c) => c.cycles));
    const best = Math.min(...candidates.map((c) => c.cycles));
    const chosen = candidates.find((c) => c.chosen);
    const ran = chosen && cost.cycles ? `; it took ${time(cost.cycles, run.cycles_per_second)} of the clock for a price of ${time(chosen.cycles, run.cycles_per_second)}` : "";
    return h("div.tried", {},
      h("div", {}, `${count(priced)} strateg${priced === 1 ? "y was" : "ies were"} priced${candidates.length < priced ? `, the cheapest ${candidates.length} are shown` : ""}${ran}`),
      h("table", {}, h("thead", {}, h("tr", {}, h("th", {}, ""), h("th", {}, "price"), h("th.num", {}, "× best"), h("th", {}, "strategy"))),
        h("tbody", {}, ...candidates.map((c) => h(`tr${c.chosen ? ".chosen" : ""}`, {},
          h("td", {}, c.chosen ? "chosen" : ""),
          h("td", {}, h("div.bar-cell", {}, h("span", {}, time(c.cycles, run.cycles_per_second)), h("div.stack", { style: { width: `${Math.max(3, c.cycles / dearest * 100)}%` } }, h("i", { style: { width: "100%" } })))),
          h("td.num", {}, best ? (c.cycles / best).toFixed(2) : ""),
          h("td.strategy", {}, c.description))))));
  }

  function used() { legend.replaceChildren(...[...new Set(rows.flatMap(({ cost }) => Object.keys(cost.engines)))].map((e) => h("span", {}, h("i.swatch", { style: { "--c": palette.engine(e) } }), e))); }

  store.on("select", ({ from }) => {
    scroller.querySelectorAll("tr[data-group]").forEach((row) => row.classList.toggle("linked", store.selection.groups.has(+row.dataset.group)));
    if (from !== "groups") scroller.querySelector("tr.linked")?.scrollIntoView({ block: "nearest" });
  });
  store.on("colour theme", show);
  show();
  return { open(id) { open.clear(); open.add(id); show(); scroller.querySelector(`tr[data-group="${id}"]`)?.scrollIntoView({ block: "center" }); } };
}

const compare = (a, b) => (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
