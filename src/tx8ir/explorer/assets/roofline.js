// The roofline: operations per byte of DDR across, operations per second up; the program and each of its groups.

import { css } from "explorer/colour";
import { h } from "explorer/dom";
import { bytes, count, rate, time } from "explorer/format";
import { groupCosts } from "explorer/groups";
import { hideTooltip, showTooltip } from "explorer/tooltip";
import { Viewport } from "explorer/viewport";

const PAD = { left: 74, right: 24, top: 22, bottom: 40 };

export function rooflineView(body, store, palette) {
  const { run } = store;
  const { roof } = run;
  const stage = h("div.stage");
  body.append(stage);
  const seconds = (cycles) => cycles / run.cycles_per_second;
  const points = [...groupCosts(store)].filter(([, cost]) => cost.operations && cost.moved && cost.cycles)
    .map(([id, cost]) => ({ id, x: cost.operations / cost.moved, y: cost.operations / seconds(cost.cycles), cost }));
  if (!roof.operations || !roof.bytes) {
    stage.append(h("div.empty", {}, "The program gives the matrix engine nothing to do: there is no roofline."));
    return {};
  }
  const whole = { x: roof.operations / roof.bytes, y: roof.attained };
  const ridge = roof.peak / roof.bandwidth;
  const decades = (low, high) => [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const [x0, x1] = decades(Math.min(whole.x, ridge, ...points.map((p) => p.x)) / 1.5, Math.max(whole.x, ridge, ...points.map((p) => p.x)) * 1.5);
  const [y0, y1] = decades(Math.min(whole.y, ...points.map((p) => p.y)) / 1.5, roof.peak * 1.2);
  let hovered = null;
  const view = new Viewport(stage, draw);
  const xOf = (v) => PAD.left + (Math.log10(v) - x0) / (x1 - x0) * (view.width - PAD.left - PAD.right);
  const yOf = (v) => view.height - PAD.bottom - (Math.log10(v) - y0) / (y1 - y0) * (view.height - PAD.top - PAD.bottom);
  const radius = ({ cost }) => 4 + 10 * Math.sqrt(cost.cycles / run.cycles);

  function draw(c, width, height) {
    const [text, soft, grid, panel, accent, bad] = ["--text", "--soft", "--grid", "--panel", "--accent", "--bad"].map(css);
    c.font = `10.5px ${css("--sans")}`;
    c.textBaseline = "middle";
    for (let d = x0; d <= x1; d++) for (let m = 1; m < (d < x1 ? 10 : 2); m++) {
      const x = xOf(m * 10 ** d);
      c.globalAlpha = m === 1 ? 1 : 0.45;
      c.fillStyle = grid;
      c.fillRect(x, PAD.top, 1, height - PAD.top - PAD.bottom);
      c.globalAlpha = 1;
      c.fillStyle = soft;
      c.textAlign = "center";
      if (m === 1) c.fillText(String(10 ** d), x, height - PAD.bottom + 12);
    }
    c.textAlign = "right";
    for (let d = y0; d <= y1; d++) {
      c.fillStyle = grid;
      c.fillRect(PAD.left, yOf(10 ** d), width - PAD.left - PAD.right, 1);
      c.fillStyle = soft;
      c.fillText(rate(10 ** d, "op/s").replace(".00", ""), PAD.left - 8, yOf(10 ** d));
    }
    c.textAlign = "center";
    c.fillText("operations of the matrix engine per byte of DDR", (PAD.left + width) / 2, height - 11);
    c.beginPath();
    c.moveTo(xOf(10 ** x0), yOf(Math.max(10 ** y0, 10 ** x0 * roof.bandwidth)));
    if (10 ** x0 * roof.bandwidth < 10 ** y0) c.lineTo(xOf(10 ** y0 / roof.bandwidth), yOf(10 ** y0));
    c.lineTo(xOf(ridge), yOf(roof.peak));
    c.lineTo(xOf(10 ** x1), yOf(roof.peak));
    c.strokeStyle = text;
    c.lineWidth = 1.75;
    c.stroke();
    c.fillStyle = soft;
    c.textAlign = "right";
    c.fillText(`peak ${rate(roof.peak, "op/s")}`, width - PAD.right - 4, yOf(roof.peak) - 9);
    c.textAlign = "left";
    const at = [Math.max(10 ** x0, 10 ** y0 / roof.bandwidth) * 1.6];
    c.save();
    c.translate(xOf(at[0]), yOf(at[0] * roof.bandwidth) - 10);
    c.rotate(Math.atan2(yOf(10 * at[0] * roof.bandwidth) - yOf(at[0] * roof.bandwidth), xOf(10 * at[0]) - xOf(at[0])));
    c.fillText(`DDR ${rate(roof.bandwidth, "B/s")}`, 0, 0);
    c.restore();
    const some = store.selection.groups.size > 0;
    for (const p of points) {
      const lit = !some || store.selection.groups.has(p.id);
      c.globalAlpha = lit ? 0.9 : 0.25;
      c.beginPath();
      c.arc(xOf(p.x), yOf(p.y), radius(p), 0, 7);
      c.fillStyle = palette.group(p.id);
      c.fill();
      c.lineWidth = p === hovered || (some && lit) ? 2 : 1;
      c.strokeStyle = p === hovered ? text : some && lit ? accent : panel;
      c.stroke();
    }
    c.globalAlpha = 1;
    const [wx, wy] = [xOf(whole.x), yOf(whole.y)];
    c.strokeStyle = bad;
    c.lineWidth = 2;
    c.beginPath();
    c.moveTo(wx - 7, wy); c.lineTo(wx + 7, wy); c.moveTo(wx, wy - 7); c.lineTo(wx, wy + 7);
    c.stroke();
    c.fillStyle = bad;
    c.font = `600 11px ${css("--sans")}`;
    const caption = `whole program: ${rate(whole.y, "op/s")}, ${(whole.y / Math.min(roof.peak, whole.x * roof.bandwidth) * 100).toFixed(1)} % of its roof`;
    c.textAlign = wx + 12 + c.measureText(caption).width > width ? "right" : "left";
    c.strokeStyle = panel; // so that points behind it do not disturb
    c.lineWidth = 4;
    c.strokeText(caption, wx + (c.textAlign === "left" ? 12 : -12), wy + 14);
    c.fillText(caption, wx + (c.textAlign === "left" ? 12 : -12), wy + 14);
    c.textAlign = "left";
  }

  const near = (x, y) => points.find((p) => Math.hypot(x - xOf(p.x), y - yOf(p.y)) <= radius(p) + 2) ?? null;
  view.gestures({
    zoom() {}, pan() {},
    hover(x, y, event) {
      const p = near(x, y);
      view.canvas.style.cursor = p ? "pointer" : "default";
      if (p !== hovered) { hovered = p; view.redraw(); }
      if (!p) return hideTooltip();
      showTooltip(event, h("h3", {}, h("i.swatch", { style: { "--c": palette.group(p.id) } }), `group ${p.id}`, h("span.mono", {}, store.groupById.get(p.id)?.ops.join(" → ") ?? "")),
        h("dl", {}, h("dt", {}, "operations"), h("dd", {}, count(p.cost.operations)), h("dt", {}, "DDR"), h("dd", {}, bytes(p.cost.moved)),
          h("dt", {}, "time"), h("dd", {}, time(p.cost.cycles, run.cycles_per_second)), h("dt", {}, "attained"), h("dd", {}, `${rate(p.y, "op/s")}, ${(p.y / Math.min(roof.peak, p.x * roof.bandwidth) * 100).toFixed(1)} % of its roof`)));
    },
    leave() { hovered = null; hideTooltip(); view.redraw(); },
    click(x, y) { const p = near(x, y); if (p) store.select("group", p.id, "roofline"); else store.select(null); },
  });
  store.on("select colour theme", () => view.redraw());
  return { view };
}
