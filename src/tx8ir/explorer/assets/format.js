// Numbers and names as people read them.

export const count = (n) => n.toLocaleString("en");

export function bytes(n) {
  if (n < 1024) return `${n} B`;
  for (const unit of ["KiB", "MiB", "GiB"]) {
    n /= 1024;
    if (n < 1024 || unit === "GiB") return `${n >= 100 ? n.toFixed(0) : n.toFixed(1)} ${unit}`;
  }
}

export function rate(n, unit) {
  for (const [scale, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (n >= scale) return `${(n / scale).toFixed(n / scale >= 100 ? 0 : 2)} ${prefix}${unit}`;
  }
  return `${n.toFixed(2)} ${unit}`;
}

/** Cycles as time, at 1 GHz in nanoseconds and up. */
export function time(cycles, perSecond = 1e9) {
  const ns = cycles / perSecond * 1e9;
  if (ns < 1000) return `${trim(ns)} ns`;
  if (ns < 1e6) return `${trim(ns / 1000)} µs`;
  return `${trim(ns / 1e6)} ms`;
}

const trim = (x) => (x >= 100 ? x.toFixed(0) : x.toFixed(x >= 10 ? 1 : 2)).replace(/\.0+$|(\.\d*?)0+$/, "$1");

export const hex = (n) => `0x${n.toString(16)}`;

/** The end of a dotted name, of segments without their number: `const.5.model.h.0.fc.weight` as `0.fc.weight`. */
export const tail = (name) => name.replace(/^const\.\d+\./, "").split(".").slice(-3).join(".");

export const short = (kind) => kind.replace(/^(pd|builtin|tx8be|tx8)\./, "");

/** `tiles 0–15`, `tiles 0, 4, 8`. */
export function tiles(list) {
  if (list.length === 1) return `tile ${list[0]}`;
  const runs = [];
  for (const tile of list) {
    const last = runs.at(-1);
    if (last && tile === last[1] + 1) last[1] = tile; else runs.push([tile, tile]);
  }
  return `tiles ${runs.map(([a, b]) => (a === b ? a : `${a}–${b}`)).join(", ")}`;
}

/** Evenly spaced round values that cover [low, high], about `n` of them. */
export function ticks(low, high, n) {
  const raw = (high - low) / Math.max(1, n) || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push(v);
  return found;
}
