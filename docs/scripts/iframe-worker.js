// Search of pages that are opened from the file system, where browsers start no workers: the worker's script runs in a
// hidden frame instead. Zensical would load a script for that from a network.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      const start = () => {
        document.body.append(this.frame);
        const inside = this.frame.contentWindow;
        inside.postMessage = (data) => setTimeout(() => this.receive(structuredClone(data)));
        const script = inside.document.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = () => {
          const { waiting } = this;
          this.waiting = null;
          waiting.forEach((data) => this.postMessage(data));
        };
        inside.document.head.append(script);
      };
      if (document.body) start();
      else addEventListener("DOMContentLoaded", start);
    }

    // Both sides get copies, as from a worker: each changes what it has.
    receive(data) {
      const event = new MessageEvent("message", { data });
      this.onmessage?.(event);
      this.dispatchEvent(event);
    }

    postMessage(data) {
      const copy = structuredClone(data);
      if (this.waiting) this.waiting.push(copy);
      else setTimeout(() => this.frame.contentWindow?.onmessage?.({ data: copy }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
