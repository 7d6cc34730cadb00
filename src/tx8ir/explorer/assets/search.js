// Search over operations, values, parameters, groups, instructions and passes.

import { h } from "explorer/dom";
import { short } from "explorer/format";

const MOST = 60;

export function searchBox(store, palette, showTab) {
  const input = document.getElementById("search");
  const results = document.getElementById("results");
  const entries = index(store);
  let found = [], current = 0;

  function search() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = words.length ? entries.filter((entry) => words.every((word) => entry.key.includes(word))).slice(0, MOST) : [];
    current = 0;
    show();
  }

  function show() {
    results.hidden = !input.value.trim();
    if (results.hidden) return;
    results.replaceChildren(...found.map((entry, i) => {
      const row = h("div.result", { role: "option", onpointerdown: (event) => { event.preventDefault(); choose(i); } },
        h("i.swatch", { style: { "--c": entry.colour(palette) } }), h("strong", {}, entry.title), h("span.more", {}, entry.more), h("span.what", {}, entry.what));
      row.classList.toggle("current", i === current);
      return row;
    }));
    if (!found.length) results.append(h("div.none", {}, "Nothing has that in its name."));
    results.children[current]?.scrollIntoView({ block: "nearest" });
  }

  function choose(i) {
    const entry = found[i];
    if (!entry) return;
    if (entry.kind === "pass") { store.setStage(entry.id); showTab("ir"); } else store.select(entry.kind, entry.id, "search");
    results.hidden = true;
    input.blur();
  }

  input.addEventListener("input", search);
  input.addEventListener("focus", () => { if (input.value) search(); });
  input.addEventListener("blur", () => { results.hidden = true; });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      current = Math.max(0, Math.min(found.length - 1, current + (event.key === "ArrowDown" ? 1 : -1)));
      show();
    } else if (event.key === "Enter") choose(current);
    else if (event.key === "Escape") { input.value = ""; results.hidden = true; input.blur(); event.stopPropagation(); }
  });
}

function index({ data, run }) {
  const entries = [];
  const add = (kind, id, title, more, what, colour, text = "") => entries.push({ kind, id, title, more, what, colour, key: `${title} ${more} ${text}`.toLowerCase() });
  data.source.forEach((op, s) => {
    if (!op.is_constant && op.type) add("source", s, short(op.kind), [op.name, op.type].filter(Boolean).join("  "), "source", (p) => p.source(s), `${op.kind} ${op.constants.join(" ")} ${op.location}`);
  });
  data.scopes.forEach((scope, i) => { if (i) add("scope", i, scope.name, scope.path, "layer", (p) => p.scope(i)); });
  data.groups.forEach((group) => add("group", group.id, `group ${group.id}`, group.ops.join(" → "), "group", (p) => p.group(group.id)));
  data.passes.forEach((pass, i) => add("pass", i, pass.name, pass.doc, "pass", () => "var(--faint)"));
  run.instructions.forEach((item, i) => add("instruction", i, item.name, item.source, `#${i}`, (p) => p.instruction(i), item.engine));
  return entries;
}
