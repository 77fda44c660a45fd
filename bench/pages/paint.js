// Put into each View: say when what was just put into the document has been painted. The second of two
// animation frames begins after the first has been. The top page is notified.
const marks = { script: performance.now() };
const painted = () => {
  marks.shown = performance.now();
  requestAnimationFrame(() => {
    marks.frame = performance.now();
    requestAnimationFrame(() => {
      marks.painted = performance.now();
      const text = document.getElementById("text").textContent;
      const params = { text, origin: performance.timeOrigin, marks };
      top.postMessage({ jsonrpc: "2.0", method: "bench/painted", params }, "*");
    });
  });
};
