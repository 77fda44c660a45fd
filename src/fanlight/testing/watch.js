// Runs in each View on the stage, before its own scripts: counts what changes, and tells what the browser blocks.
// What it tells goes through the console, so that the View finds nothing new in its window but one symbol.
(() => {
  if (!/^[a-z0-9]{32}\.sandbox\.localhost$/.test(location.hostname) || parent === window) return;
  const KEY = Symbol.for("fanlight.stage");
  if (window[KEY]) return;
  const say = console.debug.bind(console, "fanlight.stage");
  const later = window.setTimeout.bind(window);
  const nextFrame = window.requestAnimationFrame.bind(window);
  const clear = window.clearTimeout.bind(window);
  const cancel = window.cancelAnimationFrame.bind(window);

  const stage = { changes: 0, frames: 0, timers: new Set(), drawn: new Set() };
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

  // What the View is about to do: frames that it asked for, and short timers.
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
      return work.apply(window, rest);
    }, delay);
    if (!(delay > 500)) stage.timers.add(id);
    return id;
  };
  window.clearTimeout = (id) => {
    stage.timers.delete(id);
    clear(id);
  };

  const isFinite = (animation) =>
    animation.playState === "running" && animation.effect?.getComputedTiming().endTime < 60_000;

  /** What the View is now. Answers after the next frame, or soon where the browser draws none. */
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
          busy: stage.timers.size > 0 || stage.drawn.size > 0 || document.getAnimations().some(isFinite),
        });
      };
      let looked = false;
      const once = () => looked || ((looked = true), look());
      nextFrame(once);
      later(once, 50);
    });

  addEventListener("securitypolicyviolation", (event) => {
    const { effectiveDirective, blockedURI, sourceFile, lineNumber, columnNumber, sample, disposition } = event;
    say(JSON.stringify({ effectiveDirective, blockedURI, sourceFile, lineNumber, columnNumber, sample, disposition }));
  });
})();
