// What lies in memory when, from the bytes that instructions read and write at their simulated times.
//
// A value begins where an instruction writes bytes that hold another value, and ends with the last instruction that
// reads it. So this is the use of memory as the program has it, whatever the compiler planned.

/**
 * Values in memory: `{low, high, start, end, instruction, readers, segment}`, times in cycles.
 * @param tile a tile's SPM; null for DDR, of all tiles.
 */
export function lifetimes(store, tile) {
  const { run } = store;
  const { start, end, instruction, tiles, trips } = run.events;
  const ddr = tile === null;
  const done = [];
  let live = ddr ? run.segments.filter((s) => s.kind === "const" || s.kind === "input").map((segment) => value(segment.address, segment.address + segment.size, 0, -1, segment.kind, segment)) : [];
  for (let e = 0; e < start.length; e++) {
    const item = run.instructions[instruction[e]];
    const set = run.tile_sets[tiles[e]];
    if (!ddr && !set.includes(tile)) continue;
    const ranges = item.spans.filter((span) => span.ddr === ddr).map((span) => ({ writes: span.writes, ...range(span, run.tile_sets[item.tiles], ddr ? set : [tile], run.trips[trips[e]]) }));
    for (const { writes, low, high } of ranges) {
      if (writes) continue;
      for (const b of live) if (b.low < high && b.high > low) { b.end = Math.max(b.end, end[e]); if (b.instruction !== instruction[e]) { b.readers.add(instruction[e]); b.fresh = false; } }
    }
    const key = `${item.group}/${item.source}`;
    for (const { writes, low, high } of ranges) {
      if (!writes) continue;
      const segment = ddr ? run.segments.find((s) => s.address <= low && low < s.address + s.size) : undefined;
      let target = live.find((b) => b.key === key && b.low <= high && b.high >= low && (b.fresh || b.low !== low || b.high !== high));
      const kept = [];
      for (const b of live) {
        if (b === target || b.high <= low || b.low >= high) kept.push(b); else done.push(b);
      }
      live = kept;
      if (target) {
        target.low = Math.min(target.low, low);
        target.high = Math.max(target.high, high);
        target.end = Math.max(target.end, end[e]);
        target.start = Math.min(target.start, start[e]);
      } else {
        target = value(low, high, start[e], instruction[e], key, segment);
        target.end = end[e];
        live.push(target);
      }
    }
  }
  return [...done, ...live].filter((b) => b.end > b.start).sort((a, b) => a.start - b.start);
}

function value(low, high, start, instruction, key, segment) {
  return { low, high, start, end: start, instruction, key, segment, readers: new Set(), fresh: true };
}

/** The bytes of a span on some tiles: their hull. */
function range(span, order, tiles, trips) {
  let moved = 0;
  for (const { level, stride, modulo, phase } of span.terms) {
    const t = trips[trips.length - 1 - level] + phase;
    moved += stride * (modulo ? t % modulo : t);
  }
  let low = Infinity, high = -Infinity;
  for (const tile of tiles) {
    const at = (span.low.length > 1 ? span.low[order.indexOf(tile)] : span.low[0]) + moved;
    low = Math.min(low, at);
    high = Math.max(high, at + span.extent);
  }
  return { low, high };
}

/** An axis of addresses without the ranges that nothing uses: `{spans: [{low, high, y, height}], height, yOf}`. */
export function addressAxis(values, height, least = 14, gap = 14) {
  const spans = [];
  for (const { low, high } of [...values].sort((a, b) => a.low - b.low)) {
    const last = spans.at(-1);
    if (last && low <= last.high + Math.max(4096, (last.high - last.low) * 0.02)) last.high = Math.max(last.high, high);
    else spans.push({ low, high });
  }
  const used = spans.reduce((sum, s) => sum + s.high - s.low, 0);
  const room = Math.max(10, height - gap * (spans.length - 1) - least * spans.length);
  let y = 0;
  for (const span of spans) {
    span.y = y;
    span.height = least + room * (span.high - span.low) / Math.max(1, used);
    y += span.height + gap;
  }
  const yOf = (address) => {
    const span = spans.find((s) => address <= s.high) ?? spans.at(-1);
    return span.y + (address - span.low) / (span.high - span.low) * span.height;
  };
  return { spans, yOf };
}

/** Bytes in use over time, as steps `[time, bytes]`. */
export function occupancy(values) {
  const changes = values.flatMap((v) => [[v.start, v.high - v.low], [v.end, v.low - v.high]]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const steps = [];
  let sum = 0;
  for (const [t, delta] of changes) {
    sum += delta;
    if (steps.at(-1)?.[0] === t) steps.at(-1)[1] = sum; else steps.push([t, sum]);
  }
  return steps;
}
