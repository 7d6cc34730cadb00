// The reports of the compilation and of the run, as tables that sort.

import { h } from "explorer/dom";

export function tablesView(body, store) {
  const scroller = h("div.scroll");
  scroller.append(h("div.tables", {}, ...store.data.tables.map(card)));
  body.append(scroller);
  return {};
}

function card(table) {
  const body = h("div.body");
  let sort = null;
  const copy = h("button.link", { onclick: () => navigator.clipboard?.writeText([table.header, ...table.rows].map((row) => row.join("\t")).join("\n")) }, "copy");
  const show = () => {
    const rows = sort === null ? table.rows : [...table.rows].sort((a, b) => order(a[sort.column], b[sort.column], table.numeric[sort.column]) * (sort.down ? -1 : 1));
    body.replaceChildren(h("table", {},
      h("thead", {}, h("tr", {}, ...table.header.map((name, column) => h(`th${table.numeric[column] ? ".num" : ""}`, {
        "aria-sort": sort?.column === column ? (sort.down ? "descending" : "ascending") : "none",
        onclick: () => { sort = { column, down: sort?.column === column ? !sort.down : table.numeric[column] }; show(); },
      }, name)))),
      h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell, column) => h(`td${table.numeric[column] ? ".num" : ""}`, {}, cell)))))));
  };
  show();
  const card_ = h("div.card", {}, h("h3", {}, table.title, copy), body);
  card_.classList.toggle("wide", table.header.length > 5);
  return card_;
}

const UNITS = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3, "%": 1 };

function order(a, b, numeric) {
  if (!numeric) return a.localeCompare(b, "en", { numeric: true });
  const value = (text) => { const [number, unit] = text.replaceAll(",", "").split(" "); return (parseFloat(number) || 0) * (UNITS[unit] ?? 1); };
  return value(a) - value(b);
}
