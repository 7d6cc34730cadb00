// What a pass changed, by the identity of operations: a line is the same line when it is the same operation.
//
// Every operation stands in a text once, so the longest common subsequence of two texts is the longest increasing
// subsequence of places: O(n log n). An operation that stayed with another form is "changed", one that moved is taken
// from one place and put at the other.

/**
 * Rows `{kind, before, after}`: kind is same, changed, removed or added; before and after are line numbers or -1.
 * With `sides`, lines that were removed and added at one place share rows.
 */
export function diff(before, after, sides = false) {
  if (before === after) return after.ops.map((_, i) => ({ kind: "same", before: i, after: i }));
  const [a, b] = [keys(before), keys(after)];
  const where = new Map(a.map((key, i) => [key, i]));
  const common = [];
  b.forEach((key, j) => { const i = where.get(key); if (i !== undefined) common.push([i, j]); });
  const rows = [];
  let [i, j] = [0, 0];
  const gap = (toI, toJ) => {
    if (!sides) {
      while (i < toI) rows.push({ kind: "removed", before: i++, after: -1 });
      while (j < toJ) rows.push({ kind: "added", before: -1, after: j++ });
    }
    while (i < toI || j < toJ) rows.push({ kind: i < toI && j < toJ ? "replaced" : i < toI ? "removed" : "added", before: i < toI ? i++ : -1, after: j < toJ ? j++ : -1 });
  };
  for (const [x, y] of increasing(common)) {
    gap(x, y);
    const same = before.forms[x] === after.forms[y];
    if (same || sides) rows.push({ kind: same ? "same" : "changed", before: x, after: y });
    else rows.push({ kind: "was", before: x, after: -1 }, { kind: "changed", before: x, after: y });
    [i, j] = [x + 1, y + 1];
  }
  gap(a.length, b.length);
  return rows;
}

/** Added, removed and changed operations. */
export function tally(rows) {
  const counts = { added: 0, removed: 0, changed: 0 };
  for (const { kind } of rows) {
    if (kind === "replaced") { counts.added++; counts.removed++; }
    else if (kind in counts) counts[kind]++;
  }
  return counts;
}

/** Runs of equal rows longer than twice `context` become one row `{kind: "fold", count, rows}`. */
export function fold(rows, context = 3) {
  const near = new Uint8Array(rows.length);
  rows.forEach((row, i) => {
    if (row.kind === "same") return;
    near.fill(1, Math.max(0, i - context), Math.min(rows.length, i + context + 1));
  });
  const found = [];
  for (let i = 0; i < rows.length; i++) {
    if (near[i]) { found.push(rows[i]); continue; }
    let end = i;
    while (end < rows.length && !near[end]) end++;
    found.push({ kind: "fold", count: end - i, first: i, rows: rows.slice(i, end) });
    i = end - 1;
  }
  return found;
}

/** Lines that begin no operation are known by the operation before them. */
function keys(text) {
  let owner = -1, since = 0;
  return text.ops.map((op) => {
    if (op >= 0) { owner = op; since = 0; return op * 64; }
    since += 1;
    return owner * 64 + Math.min(since, 63);
  });
}

/** A longest subsequence of pairs, which come with increasing second numbers, whose first numbers increase too. */
function increasing(pairs) {
  const tails = [], previous = new Int32Array(pairs.length).fill(-1);
  pairs.forEach(([x], n) => {
    let low = 0, high = tails.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (pairs[tails[middle]][0] < x) low = middle + 1; else high = middle;
    }
    if (low) previous[n] = tails[low - 1];
    tails[low] = n;
  });
  const found = [];
  for (let n = tails.at(-1) ?? -1; n >= 0; n = previous[n]) found.push(pairs[n]);
  return found.reverse();
}
