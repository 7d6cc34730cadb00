// Colours: of themes, of groups, kinds, layers and engines, and of what instructions waited for.
// Hues are spread by the golden angle, at one lightness for each theme, so that no group shouts.

const GOLDEN = 137.508;
const ENGINE_HUE = { NE: 150, CT: 62, RDMA: 250, WDMA: 300, TDMA: 205, DTE: 20, SCALAR: 100, "": 0 };

/** Causes of stalls; "engine busy" is a queue, not idle time. */
const CAUSE_HUE = {
  RAW: [25, 0.16], WAR: [55, 0.14], WAW: [85, 0.13], issue: [280, 0.12], barrier: [260, 0.03],
  message: [340, 0.14], link: [310, 0.14], "DDR bandwidth": [235, 0.14], "engine busy": [150, 0.05],
};

export const isDark = () => document.documentElement.dataset.theme === "dark";

const styles = new Map(); // asking the browser costs more than drawing a box

/** A variable of the style sheet in the current theme. */
export function css(name) {
  const key = `${document.documentElement.dataset.theme} ${name}`;
  let value = styles.get(key);
  if (value === undefined) styles.set(key, (value = getComputedStyle(document.documentElement).getPropertyValue(name).trim()));
  return value;
}

const oklch = (l, c, hue, alpha = 1) => `oklch(${l} ${c} ${hue.toFixed(1)}${alpha === 1 ? "" : ` / ${alpha}`})`;

export function hueColour(hue, strength = 1, alpha = 1) {
  return isDark() ? oklch(0.68, 0.12 * strength, hue, alpha) : oklch(0.66, 0.13 * strength, hue, alpha);
}

export const causeColour = (cause, alpha = 1) => {
  const [hue, chroma] = CAUSE_HUE[cause] ?? [0, 0];
  return isDark() ? oklch(0.6, chroma, hue, alpha) : oklch(0.72, chroma, hue, alpha);
};

export const neutral = () => (isDark() ? "oklch(0.5 0.01 260)" : "oklch(0.78 0.01 260)");

/** The colours of one page under the current choice. */
export class Palette {
  constructor(store) {
    this.store = store;
    const { groups, source } = store.data;
    this.groupRank = new Map(groups.map((group, i) => [group.id, i]));
    this.kinds = new Map();
    for (const op of source) if (!op.is_constant && !this.kinds.has(op.kind)) this.kinds.set(op.kind, this.kinds.size);
    this.engineOf = source.map((_, s) => busiest(store, s));
    this.cache = new Map();
    this.ofInstructions = []; // asked for every box of every frame
    for (const name of ["colour", "theme"]) store.addEventListener(name, () => { this.cache.clear(); this.ofInstructions = []; });
  }

  #cached(key, make) {
    let colour = this.cache.get(key);
    if (colour === undefined) this.cache.set(key, (colour = make()));
    return colour;
  }

  group(id) {
    const rank = this.groupRank.get(id);
    return rank === undefined ? neutral() : this.#cached(`g${id}`, () => hueColour(250 + rank * GOLDEN % 360));
  }

  engine(name) { return name ? this.#cached(`e${name}`, () => hueColour(ENGINE_HUE[name] ?? 0)) : neutral(); }

  kind(name) { return this.#cached(`k${name}`, () => hueColour(230 + (this.kinds.get(name) ?? 0) * GOLDEN)); }

  scope(id) { return id > 0 ? this.#cached(`s${id}`, () => hueColour(250 + id * GOLDEN)) : neutral(); }

  source(s) {
    const op = this.store.data.source[s];
    switch (this.store.colourBy) {
      case "group": return this.group(this.store.homeOf[s]);
      case "kind": return this.kind(op.kind);
      case "scope": return this.scope(op.scope);
      default: return this.engine(this.engineOf[s]);
    }
  }

  instruction(i) { return (this.ofInstructions[i] ??= this.#ofInstruction(i)); }

  #ofInstruction(i) {
    const { engine, group, sources } = this.store.run.instructions[i];
    switch (this.store.colourBy) {
      case "group": return group >= 0 ? this.group(group) : neutral();
      case "engine": return this.engine(engine);
      default: return sources.length ? this.source(sources[0]) : neutral();
    }
  }
}

function busiest(store, s) {
  const cycles = {};
  const { start, end } = store.run.events;
  for (const i of store.instructionsOf[s]) {
    const { engine } = store.run.instructions[i];
    for (const e of store.eventsOf[i]) cycles[engine] = (cycles[engine] ?? 0) + end[e] - start[e];
  }
  return Object.keys(cycles).sort((a, b) => cycles[b] - cycles[a])[0] ?? "";
}
