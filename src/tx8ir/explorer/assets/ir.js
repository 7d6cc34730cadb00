// The IR before and after any pass: a slider over passes, a diff by operations, and what patterns did and did not do.

import { diff, fold, tally } from "explorer/diff";
import { escape, h, VirtualRows } from "explorer/dom";
import { count, short } from "explorer/format";

const LINE = 18;

export function irView(body, store, palette) {
  const { data } = store;
  const passes = data.passes;
  let mode = passes.length ? "diff" : "text";
  let folded = true;
  let rows = [];
  const lists = [];

  const slider = h("input", { type: "range", min: 0, max: Math.max(0, passes.length - 1), "aria-label": "Pass", oninput: () => store.setStage(+slider.value) });
  const position = h("span.position");
  const modes = h("div.segmented", {}, ...[["diff", "Diff"], ["sides", "Side by side"], ["text", "After"]].map(([name, title]) =>
    h("button", { onclick: () => { mode = name; show(); }, "data-mode": name }, title)));
  const folds = h("button", { onclick: () => { folded = !folded; show(); }, title: "Hide what did not change" }, "Fold");
  const list = h("div.passes", { role: "listbox", tabIndex: 0, "aria-label": "Passes" });
  const code = h("div.ir-main");
  const why = h("div.why");
  body.append(h("div.ir", {}, h("div.ir-bar", {}, modes, folds, slider, position), list, code));

  const deltas = passes.map((pass, i) => (pass.changed ? tally(diff(data.texts[previous(i)], data.texts[pass.after])) : null));
  const buttons = passes.map((pass, i) => {
    const d = deltas[i];
    const delta = d ? h("span.delta", {}, d.added ? h("span.plus", {}, `+${d.added} `) : "", d.removed ? h("span.minus", {}, `−${d.removed} `) : "", d.changed ? h("span.tilde", {}, `~${d.changed}`) : "") : "";
    const button = h("button.pass", { onclick: () => store.setStage(i), title: `${pass.text}\n${pass.doc}` },
      h("i.dot"), h("span.name", {}, pass.name), delta);
    button.classList.toggle("same", !pass.changed);
    return button;
  });
  list.append(...buttons);
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step) { event.preventDefault(); store.setStage(store.stage + step); }
  });

  function previous(i) { return i ? passes[i - 1].after : 0; }

  function texts() {
    if (!passes.length) return [data.texts[0], data.texts[0]];
    return [data.texts[previous(store.stage)], data.texts[passes[store.stage].after]];
  }

  // -- code -----------------------------------------------------------------------------------------------------------

  function show() {
    modes.querySelectorAll("button").forEach((b) => b.classList.toggle("on", b.dataset.mode === mode));
    folds.classList.toggle("on", folded);
    folds.hidden = mode === "text";
    buttons.forEach((b, i) => b.classList.toggle("on", i === store.stage));
    buttons[store.stage]?.scrollIntoView({ block: "nearest" });
    slider.value = store.stage;
    position.textContent = passes.length ? `${store.stage + 1} of ${passes.length}` : "compiled program";
    lists.length = 0;
    const [before, after] = texts();
    if (mode === "text") {
      rows = after.ops.map((_, i) => ({ kind: "same", before: i, after: i }));
      code.replaceChildren(pane("after", after, before), why);
    } else if (mode === "diff") {
      rows = maybeFolded(diff(before, after));
      code.replaceChildren(pane("both", after, before), why);
    } else {
      rows = maybeFolded(diff(before, after, true));
      const [left, right] = [pane("before", after, before), pane("after", after, before)];
      left.addEventListener("scroll", () => { right.scrollTop = left.scrollTop; });
      right.addEventListener("scroll", () => { left.scrollTop = right.scrollTop; });
      code.replaceChildren(h("div.sides", {}, left, right), why);
    }
    for (const rowList of lists) rowList.setLength(rows.length, rowList.widest);
    showWhy();
    revealSelection();
  }

  function maybeFolded(all) { return folded && all.some((row) => row.kind !== "same") ? fold(all) : all; }

  function pane(side, after, before) {
    const element = h("div.code", { tabIndex: 0 });
    const virtual = new VirtualRows(element, LINE, (i) => drawLine(rows[i], i, side, before, after));
    virtual.widest = Math.min(400, Math.max(...after.lines.map((l) => data.lines[l].length), ...before.lines.map((l) => data.lines[l].length)));
    lists.push(virtual);
    element.addEventListener("click", (event) => {
      const line = event.target.closest(".l");
      if (!line) return;
      const row = rows[+line.dataset.row];
      if (row.kind === "fold") {
        rows.splice(+line.dataset.row, 1, ...row.rows);
        for (const l of lists) l.setLength(rows.length, l.widest);
        return;
      }
      const op = opOf(row, side);
      if (op >= 0) store.select("ir", op, "ir");
    });
    return element;
  }

  function opOf(row, side) {
    const [before, after] = texts();
    const useAfter = side === "before" ? false : side === "after" ? true : row.after >= 0;
    return useAfter ? (row.after >= 0 ? after.ops[row.after] : -1) : row.before >= 0 ? before.ops[row.before] : -1;
  }

  function drawLine(row, i, side, before, after) {
    if (row.kind === "fold") return `<div class="l fold" data-row="${i}"><span class="g"></span><span class="s">⋯</span>${count(row.count)} unchanged lines</div>`;
    const useAfter = side === "after" || (side === "both" && row.after >= 0);
    const number = useAfter ? row.after : row.before;
    if (number < 0) return `<div class="l blank" data-row="${i}"></div>`;
    const text = useAfter ? after : before;
    const op = text.ops[number];
    const kind = mode === "text" ? "same" : row.kind === "replaced" ? (useAfter ? "added" : "removed") : row.kind === "was" ? "removed" : row.kind;
    const sign = { added: "+", removed: "−", changed: "~", same: "" }[kind];
    const line = data.lines[text.lines[number]];
    const other = kind === "changed" || row.kind === "was" ? partner(row, i, useAfter, before, after) : null;
    const selection = store.selection;
    const linked = op >= 0 && selection.ir.has(op);
    const sources = op >= 0 ? data.ops[op].sources : [];
    const colour = op >= 0 ? lineColour(op, sources) : "transparent";
    const classes = `l ${kind}${linked ? (selection.kind === "ir" && selection.id === op ? " picked" : " linked") : ""}`;
    return `<div class="${classes}" data-row="${i}"><span class="g">${number + 1}</span><span class="s">${sign}</span><span class="b" style="background:${colour}"></span><code>${highlight(line, other)}</code></div>`;
  }

  function partner(row, i, useAfter, before, after) {
    if (row.kind === "was") return data.lines[after.lines[rows[i + 1].after]];
    return useAfter ? data.lines[before.lines[row.before]] : data.lines[after.lines[row.after]];
  }

  function lineColour(op, sources) {
    const instruction = store.instructionOfOp.get(op);
    if (instruction !== undefined) return palette.instruction(instruction);
    return sources.length ? palette.source(sources.at(-1)) : "transparent";
  }

  // -- patterns -------------------------------------------------------------------------------------------------------

  function showWhy() {
    const pass = passes[store.stage];
    if (!pass) { why.replaceChildren(); return; }
    const statistics = Object.entries(pass.statistics).map(([what, n]) => `${count(n)} ${what}`).join(", ");
    const parts = [h("details", { open: pass.rewrites.length > 0 },
      h("summary", {}, h("b", {}, `${pass.rewrites.length ? "Rewrites" : pass.changed ? "Changed" : "Nothing changed"}`),
        ` · ${(pass.seconds * 1e3).toFixed(1)} ms${statistics ? ` · ${statistics}` : ""}`),
      h("div.body", {}, h("div.soft", {}, prose(pass.doc)), ...pass.rewrites.map((rewrite) => h("div.rewrite", {},
        h("span.tag", {}, `${rewrite.pattern} × ${count(rewrite.count)}`),
        h("div", {}, rewrite.made.length ? "made " : "took operations away",
          ...rewrite.made.slice(0, 12).flatMap((op, i) => [i ? ", " : "", opLink(op)]),
          rewrite.made.length > 12 ? ` and ${count(rewrite.made.length - 12)} more` : "")))))];
    if (pass.misses.length) parts.push(h("details", {},
      h("summary", {}, h("b", {}, "Why others did not match"), ` · ${count(pass.misses.length)} reasons`),
      h("div.body", {}, ...pass.misses.map((miss) => h("div.miss", {},
        h("span.tag", {}, miss.pattern),
        h("div", {}, opLink(miss.op), miss.count > 1 ? ` and ${count(miss.count - 1)} more: ` : ": ",
          `${miss.place}, ${place(miss.constraint)}: expected ${miss.expected}, found ${miss.found}`))))));
    why.replaceChildren(...parts);
  }

  function opLink(op) {
    const sources = data.ops[op].sources;
    const name = sources.length ? data.source[sources.at(-1)].name : "";
    return h("button.link", { onclick: () => store.select("ir", op, "") }, name ? `${short(data.ops[op].kind)} ${name}` : data.ops[op].kind);
  }

  // -- selection ------------------------------------------------------------------------------------------------------

  function revealSelection() {
    if (!store.selection.ir.size) return;
    const hits = (row) => row.kind !== "fold" && [opOf(row, "after"), opOf(row, "before")].some((op) => op >= 0 && store.selection.ir.has(op));
    let exact = store.selection.kind === "ir" ? rows.findIndex((row) => [opOf(row, "after"), opOf(row, "before")].includes(store.selection.id)) : -1;
    if (exact < 0) exact = rows.findIndex(hits);
    if (exact < 0) {
      const inFold = rows.findIndex((row) => row.kind === "fold" && row.rows.some(hits));
      if (inFold < 0) return;
      rows.splice(inFold, 1, ...rows[inFold].rows);
      for (const l of lists) l.setLength(rows.length, l.widest);
      exact = rows.findIndex(hits);
    }
    for (const l of lists) l.reveal(exact);
  }

  store.on("stage", show);
  store.on("select", ({ from }) => { if (from !== "ir") revealSelection(); for (const l of lists) l.refresh(); });
  store.on("colour theme", () => { for (const l of lists) l.refresh(); });
  show();
  return { setMode(name) { mode = name; show(); } };
}

/** Text with `code` in it. */
const prose = (text) => text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));

/** A constraint as people say it: a place in a file loses its folders. */
const place = (text) => text.replace(/(?:\/[^/\s:]+)+\/([^/\s:]+:\d+)/, "$1");

const TOKEN = /("(?:[^"\\]|\\.)*")(?=\()|("(?:[^"\\]|\\.)*")|(%[\w$.#-]+)|(!?\b(?:pd\.)?v?tensor<[^<>]*>|!pd\.[\w.]+|\b(?:bf16|u?i\d+|f\d+)\b)|(#[\w$.]+|@[\w$.-]+|\^[\w$.-]+)|((?<![\w.])-?\d[\w.+-]*)|([A-Za-z_][\w.]*)(?= = )/g;
const CLASSES = ["o", "q", "v", "t", "y", "n", "k"];

/** A line with coloured tokens; those that differ from the ones of `other` are marked. */
export function highlight(line, other = null) {
  const changed = other === null ? new Set() : differing(line, other);
  let html = "", at = 0, n = 0;
  const put = (text, kind) => {
    if (!text) return;
    const inner = changed.has(n++) ? `<mark>${escape(text)}</mark>` : escape(text);
    html += kind ? `<span class="${kind}">${inner}</span>` : inner;
  };
  for (const match of line.matchAll(TOKEN)) {
    put(line.slice(at, match.index), "");
    put(match[0], CLASSES[match.slice(1).findIndex((g) => g !== undefined)]);
    at = match.index + match[0].length;
  }
  put(line.slice(at), "");
  return html;
}

/** Numbers of the tokens of `line` that stand between what it begins and ends with as `other` does. */
function differing(line, other) {
  const [a, b] = [tokens(line), tokens(other)];
  const same = (i, j) => a[i] === b[j] || (i <= 1 && j <= 1 && a[i]?.startsWith("%") && b[j]?.startsWith("%")); // a result may be renumbered
  let start = 0;
  while (start < Math.min(a.length, b.length) && same(start, start)) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && same(a.length - 1 - end, b.length - 1 - end)) end++;
  return new Set(a.length === b.length
    ? a.flatMap((_, i) => (i >= start && !same(i, i) ? [i] : []))
    : a.flatMap((_, i) => (i >= start && i < a.length - end ? [i] : [])));
}

function tokens(line) {
  const found = [];
  let at = 0;
  for (const match of line.matchAll(TOKEN)) {
    if (match.index > at) found.push(line.slice(at, match.index));
    found.push(match[0]);
    at = match.index + match[0].length;
  }
  if (at < line.length) found.push(line.slice(at));
  return found;
}
