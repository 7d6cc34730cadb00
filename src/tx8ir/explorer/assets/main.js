// Puts the page together: data, store, views, and what all of them share.

import { Palette } from "explorer/colour";
import { detailsView } from "explorer/details";
import { h, head, toggleMaximised } from "explorer/dom";
import { count, time } from "explorer/format";
import { graphView } from "explorer/graph";
import { groupsView } from "explorer/groups";
import { irView } from "explorer/ir";
import { memoryView } from "explorer/memory";
import { rooflineView } from "explorer/roofline";
import { searchBox } from "explorer/search";
import { readData, Store } from "explorer/store";
import { tablesView } from "explorer/tables";
import { timelineView } from "explorer/timeline";

const TABS = [
  ["ir", "IR by pass", irView],
  ["spm", "SPM", (body, store, palette) => memoryView(body, store, palette, "spm")],
  ["ddr", "DDR", (body, store, palette) => memoryView(body, store, palette, "ddr")],
  ["groups", "Groups", groupsView],
  ["roofline", "Roofline", rooflineView],
  ["tables", "Tables", tablesView],
];

export async function start() {
  setTheme(localTheme());
  const store = new Store(await readData());
  const palette = new Palette(store);
  const views = {};
  titles(store);
  const showTab = tabs(document.getElementById("panel-middle"), store, palette, views);
  views.details = detailsView(document.getElementById("panel-details"), store, palette, showTab);
  views.graph = graphView(document.getElementById("panel-graph"), store, palette);
  views.timeline = timelineView(document.getElementById("panel-timeline"), store, palette);
  searchBox(store, palette, showTab);
  controls(store, showTab);
  splitters();
  window.explorer = { store, views, showTab, setTheme: (name) => { setTheme(name); store.dispatchEvent(new CustomEvent("theme")); } };
  document.documentElement.dataset.ready = "true";
}

function titles({ data, run }) {
  document.getElementById("title").textContent = data.title;
  const shown = data.source.filter((op) => !op.is_constant && op.type).length;
  const parts = [
    ...(shown ? [[count(shown), " operations"]] : []),
    ...(data.groups.length ? [[count(data.groups.length), " groups"]] : []),
    [count(run.instructions.length), " instructions"], [time(run.cycles, run.cycles_per_second), ` on ${data.machine.name}`],
  ];
  document.getElementById("summary").append(...parts.flatMap(([number, what], i) => [i ? h("i", {}, "·") : "", h("b", {}, number), what]));
}

/** The tabs in the middle; a view is made when its tab is first shown. */
function tabs(panel, store, palette, views) {
  const bodies = {};
  const buttons = TABS.map(([name, title]) => h("button", { role: "tab", "data-tab": name, onclick: () => show(name) }, title));
  panel.append(head(panel, ""));
  panel.querySelector("h2").replaceWith(h("div.tabs", { role: "tablist" }, ...buttons));
  function show(name) {
    const [, , make] = TABS.find(([n]) => n === name);
    if (!bodies[name]) {
      panel.append((bodies[name] = h("div.tab-body", { "data-view": name })));
      views[name] = make(bodies[name], store, palette);
    }
    for (const [n, body] of Object.entries(bodies)) body.hidden = n !== name;
    for (const button of buttons) button.setAttribute("aria-selected", String(button.dataset.tab === name));
  }
  show("ir");
  return show;
}

function controls(store, showTab) {
  const by = document.getElementById("colour-by");
  by.value = store.colourBy;
  store.on("colour", () => { by.value = store.colourBy; });
  by.addEventListener("change", () => store.setColourBy(by.value));
  document.getElementById("theme").addEventListener("click", () => window.explorer.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.explorer.setTheme(localTheme()));
  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select, textarea")) return;
    if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); }
    else if (event.key === "Escape") {
      const full = document.querySelector(".panel.maximised");
      if (full) toggleMaximised(full, false); else store.select(null);
    } else if (event.key === "[" || event.key === "]") { showTab("ir"); store.setStage(store.stage + (event.key === "]" ? 1 : -1)); }
  });
}

const localTheme = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

function setTheme(name) { document.documentElement.dataset.theme = name; }

function splitters() {
  const workspace = document.getElementById("workspace");
  for (const splitter of document.querySelectorAll(".splitter")) {
    splitter.addEventListener("pointerdown", (down) => {
      splitter.setPointerCapture(down.pointerId);
      const box = workspace.getBoundingClientRect();
      const move = (event) => {
        const side = splitter.dataset.split;
        const size = side === "left" ? event.clientX - box.left : side === "right" ? box.right - event.clientX : box.bottom - event.clientY;
        const limit = side === "bottom" ? box.height : box.width;
        workspace.style.setProperty(`--${side}`, `${Math.max(120, Math.min(limit * 0.7, size))}px`);
      };
      splitter.addEventListener("pointermove", move);
      splitter.addEventListener("pointerup", () => splitter.removeEventListener("pointermove", move), { once: true });
    });
  }
}
