// Where the operations of the source stand: layers of a directed graph, frame by frame.
//
// Each open scope is laid out by itself, its closed scopes and open frames being nodes of one size; the layout of a
// frame is kept until it changes. So opening one layer of a large model lays out that layer and the row of layers.

import { coordGreedy, coordSimplex, decrossTwoLayer, graph, layeringLongestPath, layeringSimplex, sugiyama } from "d3-dag";

export const NODE = { width: 148, height: 42, gapX: 22, gapY: 34 };
export const FRAME = { pad: 16, title: 26 };
const EXACT = 90; // nodes up to which the costlier, nicer layouts are used

/** The tree of scopes with their operations, and edges between operations. */
export class SourceGraph {
  constructor(data) {
    const { source, scopes } = data;
    this.data = data;
    this.scopes = scopes.map((scope, id) => ({ id, name: scope.name, path: scope.path, parent: scope.parent, scopes: [], ops: [], size: 0, depth: 0 }));
    for (const scope of this.scopes) if (scope.parent >= 0) {
      this.scopes[scope.parent].scopes.push(scope.id);
      scope.depth = this.scopes[scope.parent].depth + 1;
    }
    this.shown = source.map((op) => !op.is_constant && !(op.kind === "builtin.module" || op.kind === "func.func"));
    source.forEach((op, i) => {
      if (!this.shown[i]) return;
      this.scopes[op.scope].ops.push(i);
      for (let s = op.scope; s >= 0; s = this.scopes[s].parent) this.scopes[s].size += 1;
    });
    this.edges = [];
    source.forEach((op, i) => {
      if (this.shown[i]) new Set(op.inputs).forEach((from) => { if (from >= 0 && this.shown[from]) this.edges.push([from, i]); });
    });
    this.open = new Set([0]);
    this.cache = new Map();
  }

  /** Opens scopes from the outside in, as long as no more than `limit` nodes are in sight. */
  openUpTo(limit) {
    this.open = new Set([0]);
    let inSight = this.scopes[0].ops.length + this.scopes[0].scopes.length;
    let level = [...this.scopes[0].scopes];
    while (level.length) {
      const next = [];
      for (const id of level) {
        const more = this.scopes[id].ops.length + this.scopes[id].scopes.length - 1;
        if (inSight + more > limit) continue;
        inSight += more;
        this.open.add(id);
        next.push(...this.scopes[id].scopes);
      }
      level = next;
    }
    this.cache.clear();
  }

  toggle(id) {
    if (!this.open.delete(id)) this.open.add(id);
    for (let s = id; s >= 0; s = this.scopes[s].parent) this.cache.delete(s);
  }

  /** Opens what is around an operation. Whether that changed something. */
  reveal(op) {
    let changed = false;
    for (let s = this.data.source[op].scope; s > 0; s = this.scopes[s].parent) {
      if (!this.open.has(s)) { this.toggle(s); changed = true; }
    }
    return changed;
  }

  /** All nodes, frames and edges in sight, in one coordinate system. */
  layout() {
    const root = this.#frame(0);
    const nodes = [], frames = [], edges = [];
    const place = (id, x, y) => {
      const frame = this.#frame(id);
      if (id) frames.push({ scope: id, x, y, width: frame.width, height: frame.height });
      for (const child of frame.children) {
        const [cx, cy] = [x + child.x, y + child.y];
        if (child.scope !== undefined && this.open.has(child.scope)) place(child.scope, cx, cy);
        else nodes.push({ op: child.op, scope: child.scope, x: cx, y: cy, width: child.width, height: child.height });
      }
      for (const edge of frame.edges) edges.push({ ...edge, points: edge.points.map(([a, b]) => [x + a, y + b]) });
    };
    place(0, 0, 0);
    return { nodes, frames, edges: join(edges, nodes, frames), width: root.width, height: root.height };
  }

  #frame(id) {
    let frame = this.cache.get(id);
    if (!frame) this.cache.set(id, (frame = this.#layoutFrame(id)));
    return frame;
  }

  #layoutFrame(id) {
    const scope = this.scopes[id];
    const children = [
      ...scope.ops.map((op) => ({ key: `o${op}`, op, width: NODE.width, height: NODE.height, order: op })),
      ...scope.scopes.filter((s) => this.scopes[s].size).map((s) => {
        const inner = this.open.has(s) ? this.#frame(s) : { width: NODE.width, height: NODE.height };
        return { key: `s${s}`, scope: s, width: inner.width, height: inner.height, order: firstOp(this, s) };
      }),
    ].sort((a, b) => a.order - b.order);
    const byKey = new Map(children.map((child, i) => [child.key, i]));
    const lifted = this.#lifted(id, byKey);
    const { sizes, edges } = arrange(children, lifted);
    const [left, top] = id ? [FRAME.pad, FRAME.pad + FRAME.title] : [0, 0];
    children.forEach((child, i) => { [child.x, child.y] = [sizes[i][0] + left, sizes[i][1] + top]; });
    return {
      children,
      edges: edges.map((edge) => ({ ...edge, points: edge.points.map(([x, y]) => [x + left, y + top]) })),
      width: Math.max(NODE.width, ...children.map((c) => c.x + c.width)) + (id ? FRAME.pad : 0),
      height: Math.max(NODE.height, ...children.map((c) => c.y + c.height)) + (id ? FRAME.pad : 0),
    };
  }

  /** Edges between children of a scope, each once, with the operations at their ends. */
  #lifted(id, byKey) {
    const childOf = (op) => {
      let s = this.data.source[op].scope;
      if (s === id) return byKey.get(`o${op}`);
      while (s >= 0 && this.scopes[s].parent !== id) s = this.scopes[s].parent;
      return s < 0 ? undefined : byKey.get(`s${s}`);
    };
    const found = new Map();
    for (const [from, to] of this.edges) {
      const [a, b] = [childOf(from), childOf(to)];
      if (a === undefined || b === undefined || a === b) continue;
      const key = a * 1e6 + b;
      if (!found.has(key)) found.set(key, { a, b, ends: [] });
      found.get(key).ends.push([from, to]);
    }
    return [...found.values()];
  }
}

const firstOp = (graph, s) => Math.min(...graph.scopes[s].ops, ...graph.scopes[s].scopes.map((c) => firstOp(graph, c)), Infinity);

/** Positions of children and points of edges. Edges against the order of the program are left to be drawn straight. */
function arrange(children, lifted) {
  const dag = graph();
  const nodes = children.map((child, i) => dag.node(i));
  const laid = [];
  for (const edge of lifted) if (edge.a < edge.b) laid.push([edge, dag.link(nodes[edge.a], nodes[edge.b])]);
  const small = children.length <= EXACT;
  const run = sugiyama()
    .layering(small ? layeringSimplex() : layeringLongestPath())
    .decross(decrossTwoLayer())
    .coord(small ? coordSimplex() : coordGreedy())
    .nodeSize((node) => [children[node.data].width, children[node.data].height])
    .gap([NODE.gapX, NODE.gapY]);
  if (children.length) run(dag);
  const sizes = nodes.map((node, i) => [node.x - children[i].width / 2, node.y - children[i].height / 2]);
  const edges = laid.map(([edge, link]) => ({ ...edge, points: link.points, from: children[edge.a], to: children[edge.b] }));
  for (const edge of lifted) if (edge.a > edge.b) {
    const [a, b] = [nodes[edge.a], nodes[edge.b]];
    edges.push({ ...edge, points: [[a.x, a.y], [b.x, b.y]], from: children[edge.a], to: children[edge.b], back: true });
  }
  return { sizes, edges };
}

/** Ends edges at the borders of what they join: the lower side of a producer, the upper side of a reader. */
function join(edges, nodes, frames) {
  const boxes = new Map();
  for (const node of nodes) boxes.set(node.op === undefined ? `s${node.scope}` : `o${node.op}`, node);
  for (const frame of frames) boxes.set(`s${frame.scope}`, frame);
  return edges.map((edge) => {
    const [from, to] = [boxes.get(edge.from.key), boxes.get(edge.to.key)];
    const points = edge.points.slice();
    points[0] = [from.x + from.width / 2, from.y + from.height];
    points[points.length - 1] = [to.x + to.width / 2, to.y];
    return { points, ends: edge.ends, back: edge.back ?? false };
  });
}
