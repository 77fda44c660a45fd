// Lets search work where the site is opened from disk (file://): browsers refuse a Worker there, so its script runs in
// a hidden frame instead. The generator's offline mode would load a script for this from a CDN; it leaves that out
// because of this file's name.
if (location.protocol === "file:") {
  window.Worker = class {
    onmessage = null;
    #frame = document.createElement("iframe");
    #loaded;

    constructor(url) {
      this.#frame.hidden = true;
      this.#frame.srcdoc = "<!doctype html>";
      this.#loaded = new Promise((resolve, reject) => {
        this.#frame.onload = () => {
          const inner = this.#frame.contentWindow;
          inner.postMessage = (data) => this.onmessage?.(new MessageEvent("message", { data }));
          const script = inner.document.createElement("script");
          script.src = new URL(url, document.baseURI);
          script.onload = () => resolve(inner);
          script.onerror = reject;
          inner.document.head.append(script);
        };
      });
      document.body.append(this.#frame);
    }

    async postMessage(data) {
      const inner = await this.#loaded;
      inner.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
