// A canvas that follows the size of its element, draws when asked, and is zoomed and moved by wheel and mouse.

export class Viewport {
  /**
   * @param {HTMLElement} element holds the canvas.
   * @param {(context: CanvasRenderingContext2D, width: number, height: number) => void} draw
   */
  constructor(element, draw) {
    this.element = element;
    this.draw = draw;
    this.canvas = document.createElement("canvas");
    this.canvas.tabIndex = 0;
    element.append(this.canvas);
    this.context = this.canvas.getContext("2d");
    this.width = this.height = 0;
    this.pending = false;
    this.frames = 0;
    new ResizeObserver(() => this.#resize()).observe(element);
  }

  #resize() {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || !clientHeight) return;
    const ratio = devicePixelRatio || 1;
    const first = !this.width;
    [this.width, this.height] = [clientWidth, clientHeight];
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.onresize?.(first);
    this.#paint();
  }

  redraw() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => this.#paint());
  }

  #paint() {
    this.pending = false;
    if (!this.width) return;
    const ratio = devicePixelRatio || 1;
    const started = performance.now();
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, this.width, this.height);
    this.draw(this.context, this.width, this.height);
    this.frames += 1;
    this.lastFrame = performance.now() - started;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /**
   * Mouse and wheel as gestures. `zoom(factor, x, y)`, `pan(dx, dy)`, `hover(x, y, event)`, `leave()`, `click(x, y, event)`,
   * `doubleClick(x, y)`. A wheel without Ctrl pans vertically when `wheelPans` says so.
   */
  gestures({ zoom, pan, hover, leave, click, doubleClick, wheelPans = () => false }) {
    const canvas = this.canvas;
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const [x, y] = this.point(event);
      const unit = event.deltaMode === 1 ? 18 : 1;
      if (event.shiftKey || (wheelPans(event) && !event.ctrlKey)) pan(-(event.deltaX || (event.shiftKey ? event.deltaY : 0)) * unit, event.shiftKey ? 0 : -event.deltaY * unit);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan(-event.deltaX * unit, 0);
      else zoom(Math.exp(-event.deltaY * unit * 0.0018), x, y);
    }, { passive: false });
    let down = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button > 1) return;
      down = { at: this.point(event), moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = this.point(event);
      if (!down) return hover?.(x, y, event);
      const [dx, dy] = [x - down.at[0], y - down.at[1]];
      if (!down.moved && Math.hypot(dx, dy) < 4) return;
      down.moved = true;
      canvas.style.cursor = "grabbing";
      leave?.();
      pan(dx, dy);
      down.at = [x, y];
    });
    canvas.addEventListener("pointerup", (event) => {
      if (down && !down.moved) click?.(...this.point(event), event);
      down = null;
      canvas.style.cursor = "";
    });
    canvas.addEventListener("pointerleave", () => { if (!down) leave?.(); });
    canvas.addEventListener("dblclick", (event) => doubleClick?.(...this.point(event)));
  }
}

/** Text cut with an ellipsis so that it fits `width`. */
export function fitText(context, text, width) {
  if (width < 6) return "";
  if (context.measureText(text).width <= width) return text;
  let low = 0, high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle; else high = middle - 1;
  }
  return low > 3 ? `${text.slice(0, low)}…` : "";
}
