// Runs in each View on the stage, before its own scripts: counts changes, and reports uncaught errors and what the
// browser blocks. Reports go through the console, so that one symbol is all that the View finds in its window.
(() => {
  if (!/^[a-z0-9]{32}\.sandbox\.localhost$/.test(location.hostname) || parent === window) return;
  const KEY = Symbol.for("fanlight.stage");
  if (window[KEY]) return;
  const report = console.debug.bind(console, "fanlight.stage");
  const later = window.setTimeout.bind(window);
  const nextFrame = window.requestAnimationFrame.bind(window);
  const clear = window.clearTimeout.bind(window);
  const cancel = window.cancelAnimationFrame.bind(window);

  const stage = { changes: 0, frames: 0, timers: new Set(), longTimers: new Set(), drawn: new Set() };
  Object.defineProperty(window, KEY, { value: stage });

  // Changes of the document, also inside shadow trees.
  const observer = new MutationObserver((records) => (stage.changes += records.length));
  const everything = { subtree: true, childList: true, attributes: true, characterData: true };
  observer.observe(document, everything);
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function attachShadow(options) {
    const root = attach.call(this, options);
    observer.observe(root, everything);
    return root;
  };

  // Pending work: requested frames, and timers. Only short timers keep a View from being idle.
  window.requestAnimationFrame = (work) => {
    const id = nextFrame((now) => {
      stage.drawn.delete(id);
      stage.frames += 1;
      return work(now);
    });
    stage.drawn.add(id);
    return id;
  };
  window.cancelAnimationFrame = (id) => {
    stage.drawn.delete(id);
    cancel(id);
  };
  window.setTimeout = (work, delay = 0, ...rest) => {
    if (typeof work !== "function") return later(work, delay, ...rest);
    const id = later(() => {
      stage.timers.delete(id);
      stage.longTimers.delete(id);
      return work.apply(window, rest);
    }, delay);
    (delay > 500 ? stage.longTimers : stage.timers).add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    stage.timers.delete(id);
    stage.longTimers.delete(id);
    clear(id);
  };

  const isFinite = (animation) =>
    animation.playState === "running" && animation.effect?.getComputedTiming().endTime < 60_000;

  /** Describe the View's state after the next frame, or soon if the browser draws none. */
  stage.look = () =>
    new Promise((done) => {
      const look = () => {
        const root = document.documentElement;
        const { width, height } = document.body?.getBoundingClientRect() ?? {};
        stage.changes += observer.takeRecords().length;
        done({
          changes: stage.changes,
          layout: [innerWidth, innerHeight, root?.scrollWidth, root?.scrollHeight, width, height].join(" "),
          loading:
            document.readyState !== "complete" ||
            document.fonts?.status === "loading" ||
            [...document.images].some((image) => !image.complete && image.loading !== "lazy"),
          timers: stage.timers.size + stage.longTimers.size,
          busy: stage.timers.size > 0 || stage.drawn.size > 0 || document.getAnimations().some(isFinite),
        });
      };
      let looked = false;
      const once = () => looked || ((looked = true), look());
      nextFrame(once);
      later(once, 50);
    });

  addEventListener("securitypolicyviolation", (event) => {
    const { effectiveDirective, blockedURI, sourceFile, lineNumber, columnNumber, sample } = event;
    const place = { sourceFile, lineNumber, columnNumber };
    report(JSON.stringify({ kind: "violation", effectiveDirective, blockedURI, ...place, sample }));
  });
  // Playwright reports no place for errors without a stack, such as syntax errors.
  addEventListener("error", ({ message, filename, lineno, colno }) => {
    if (message) report(JSON.stringify({ kind: "error", message, file: filename, line: lineno, column: colno }));
  });
})();
