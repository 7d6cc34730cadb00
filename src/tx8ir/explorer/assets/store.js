// The data, the state that views share, and the links between numbers of one kind and another.

/** What a page shows: the data as `ExplorerData` has it, and indexes over it. */
export class Store extends EventTarget {
  constructor(data) {
    super();
    this.data = data;
    this.run = data.run;
    this.selection = nothing();
    this.colourBy = data.groups.length > 1 ? "group" : "engine";
    this.stage = firstChange(data);
    this.#index();
  }

  #index() {
    const { source, ops, groups, run, texts } = this.data;
    this.instructionsOf = source.map(() => []);
    run.instructions.forEach((instruction, i) => {
      for (const s of instruction.sources) this.instructionsOf[s]?.push(i);
    });
    this.irOf = source.map(() => []);
    ops.forEach((op, i) => { for (const s of op.sources) this.irOf[s]?.push(i); });
    this.groupById = new Map(groups.map((group) => [group.id, group]));
    this.groupsOf = source.map(() => new Set());
    for (const group of groups) for (const s of group.sources) this.groupsOf[s]?.add(group.id);
    // The group that computes an operation, not one that only loads what it made.
    this.homeOf = source.map((_, s) => home(this, s));
    this.instructionOfOp = new Map(run.instructions.map((instruction, i) => [instruction.op, i]));
    this.lineOf = texts.map((text) => {
      const lines = new Map();
      text.ops.forEach((op, line) => { if (op >= 0) lines.set(op, line); });
      return lines;
    });
    this.eventsOf = run.instructions.map(() => []);
    run.events.instruction.forEach((instruction, e) => this.eventsOf[instruction].push(e));
    this.critical = new Set(run.critical);
  }

  /** The constant or input that an instruction brings from DDR. */
  loadedBy(i) {
    const span = this.run.instructions[i].spans.find((s) => s.ddr && !s.writes);
    if (!span) return null;
    const at = span.low[0];
    const segment = this.run.segments.find((s) => s.address <= at && at < s.address + s.size);
    return segment && (segment.kind === "const" || segment.kind === "input") ? segment : null;
  }

  /** Everything linked to a thing: operations, lines, instructions, groups. */
  linked(kind, id) {
    const { source, ops, run } = this.data;
    const found = { ...nothing(), kind, id };
    if (kind === "source") {
      found.sources.add(id);
    } else if (kind === "scope") {
      const inside = scopesInside(this.data.scopes, id);
      source.forEach((op, i) => { if (inside.has(op.scope) && !op.is_constant && op.type) found.sources.add(i); });
    } else if (kind === "ir") {
      found.ir.add(id);
      for (const s of ops[id].sources) found.sources.add(s);
      const instruction = this.instructionOfOp.get(id);
      if (instruction !== undefined) found.instructions.add(instruction);
    } else if (kind === "group") {
      const group = this.groupById.get(id);
      for (const s of group?.sources ?? []) found.sources.add(s);
      run.instructions.forEach((instruction, i) => { if (instruction.group === id) found.instructions.add(i); });
      if (group) found.ir.add(group.op);
      found.groups.add(id);
    } else if (kind === "event" || kind === "instruction") {
      const instruction = kind === "event" ? run.events.instruction[id] : id;
      found.instructions.add(instruction);
      found.ir.add(run.instructions[instruction].op);
      for (const s of run.instructions[instruction].sources) found.sources.add(s);
      found.groups.add(run.instructions[instruction].group);
    }
    if (kind === "source" || kind === "scope" || (kind === "ir" && !found.instructions.size)) {
      for (const s of found.sources) for (const i of this.instructionsOf[s]) found.instructions.add(i);
      for (const s of found.sources) if (this.homeOf[s] >= 0) found.groups.add(this.homeOf[s]);
    }
    if (kind !== "ir") for (const s of found.sources) for (const op of this.irOf[s]) found.ir.add(op);
    return found;
  }

  select(kind, id, from = "") {
    this.selection = kind === null ? nothing() : this.linked(kind, id);
    this.#announce("select", { from });
  }

  setStage(stage) {
    const last = this.data.passes.length - 1;
    this.stage = Math.max(0, Math.min(last, stage));
    this.#announce("stage");
  }

  setColourBy(what) { this.colourBy = what; this.#announce("colour"); }

  #announce(name, detail = {}) { this.dispatchEvent(new CustomEvent(name, { detail })); }

  on(names, listener) { for (const name of names.split(" ")) this.addEventListener(name, (e) => listener(e.detail)); }
}

function nothing() {
  return { kind: null, id: -1, sources: new Set(), ir: new Set(), instructions: new Set(), groups: new Set() };
}

function home(store, s) {
  for (const i of store.instructionsOf[s]) {
    const { group, name } = store.run.instructions[i];
    if (group >= 0 && name !== "rdma" && name !== "wdma") return group;
  }
  const groups = store.groupsOf[s];
  return groups.size ? Math.min(...groups) : -1;
}

export function scopesInside(scopes, root) {
  const inside = new Set([root]);
  scopes.forEach((scope, i) => { if (inside.has(scope.parent)) inside.add(i); });
  return inside;
}

function firstChange(data) {
  const first = data.passes.findIndex((pass) => pass.changed);
  return Math.max(0, first);
}

/** Unpacks the data of the page. */
export async function readData() {
  const text = document.getElementById("data").textContent;
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}
