// Rows of boxes thinner than a pixel, written pixel by pixel: a box of a canvas costs a thousand times as much.

const probe = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const words = new Map(); // of colours as CSS says them, the four bytes of a pixel

function word(colour) {
  let found = words.get(colour);
  if (found === undefined) {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    found = new Uint32Array(probe.getImageData(0, 0, 1, 1).data.buffer)[0];
    words.set(colour, found);
  }
  return found;
}

/** One row of pixels, of as many as a view is wide, which is drawn as high as the row of the view. */
export class Strip {
  #canvas = new OffscreenCanvas(1, 1);
  #context = this.#canvas.getContext("2d");
  #image = this.#context.createImageData(1, 1);
  #pixels = new Uint32Array(this.#image.data.buffer);
  #used = false;

  /** Begins an empty row. */
  begin(width) {
    if (this.#canvas.width !== width) {
      this.#canvas.width = width;
      this.#image = this.#context.createImageData(width, 1);
      this.#pixels = new Uint32Array(this.#image.data.buffer);
    } else if (this.#used) this.#pixels.fill(0);
    this.#used = false;
  }

  /** Colours one pixel. */
  set(x, colour) { this.#pixels[x] = word(colour); this.#used = true; }

  /** Draws the row from `y` on, `height` high. */
  draw(c, y, height) {
    if (!this.#used) return;
    this.#context.putImageData(this.#image, 0, 0);
    c.imageSmoothingEnabled = false;
    c.drawImage(this.#canvas, 0, y, this.#canvas.width, height);
  }
}
