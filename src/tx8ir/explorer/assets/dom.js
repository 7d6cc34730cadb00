// Elements, tersely.

/** `h("div.row", {title: "…"}, "text", child)`; properties that start with `on` are listeners. */
export function h(selector, properties = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag || "div");
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style" && typeof value === "object") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (key in element && key !== "list") element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

/** The head of a panel: title, tools, and a button that lets the panel fill the page. */
export function head(panel, title, ...tools) {
  const button = h("button.icon", {
    title: "Fill the page (Esc returns)", "aria-label": `Maximise ${title}`,
    onclick: () => toggleMaximised(panel),
  }, "⤢");
  return h("div.head", { ondblclick: (e) => { if (e.target.matches(".head, h2")) toggleMaximised(panel); } },
    h("h2", {}, title), h("div.tools", {}, ...tools), button);
}

export function toggleMaximised(panel, on = !panel.classList.contains("maximised")) {
  document.querySelectorAll(".panel.maximised").forEach((p) => p.classList.remove("maximised"));
  panel.classList.toggle("maximised", on);
  document.body.classList.toggle("has-maximised", on);
}

/** Rows of a long list, of which only those in sight exist. */
export class VirtualRows {
  constructor(element, rowHeight, draw) {
    this.element = element;
    this.rowHeight = rowHeight;
    this.draw = draw;
    this.length = 0;
    this.sheet = h("div.virtual-sheet");
    this.rows = h("div.virtual-rows");
    this.sheet.append(this.rows);
    element.append(this.sheet);
    element.addEventListener("scroll", () => this.refresh(), { passive: true });
    new ResizeObserver(() => this.refresh()).observe(element);
  }

  setLength(length, widest = 0) {
    this.length = length;
    this.sheet.style.height = `${length * this.rowHeight}px`;
    this.sheet.style.minWidth = widest ? `calc(${widest}ch + 90px)` : "";
    this.refresh();
  }

  refresh() {
    const first = Math.max(0, Math.floor(this.element.scrollTop / this.rowHeight) - 8);
    const last = Math.min(this.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / this.rowHeight) + 8);
    this.rows.style.transform = `translateY(${first * this.rowHeight}px)`;
    const parts = [];
    for (let i = first; i < last; i++) parts.push(this.draw(i));
    this.rows.innerHTML = parts.join("");
  }

  reveal(row) {
    const top = row * this.rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop + 20 || top > scrollTop + clientHeight - 40) this.element.scrollTop = top - clientHeight / 3;
  }
}

export const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
