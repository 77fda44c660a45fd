// Runs in a View before its own scripts, and reports when each error in a timer was due. That is the sum of the
// requested delays since a script or a message set the first timer, so it is the same on a slow machine.
(() => {
  const KEY = Symbol.for("fanlight.check.timers");
  if (window === window.top || window[KEY]) return;
  const FRAME = 16;
  const SHORTEST = 4;
  const report = console.debug.bind(console, "fanlight.check");
  const later = setTimeout.bind(window);
  let received = 0;
  let running = null;
  const promises = new WeakMap();
  const pending = new Map();

  // Code after an `await` belongs to the timer that resumed it. It has ended two messages later, and its errors were
  // reported; until then other timers wait.
  const waiting = [];
  let busy = null;
  const { port1, port2 } = new window.MessageChannel();
  port1.onmessage = ({ data: [number, isLast] }) => {
    if (busy !== number) return;
    if (!isLast) {
      port2.postMessage([number, true]);
      return;
    }
    busy = running = null;
    waiting.shift()?.();
  };
  let runs = 0;

  // An error in a timer that was set before the host's last message is not caused by that message.
  const reportError = ({ due, since }, error) => {
    report(`timer ${Math.round(due)} ${since === received ? "now" : "late"} ${error?.name}: ${error?.message}`);
  };
  const run = (timer, callback, given) => {
    runs += 1;
    busy = runs;
    running = timer;
    port2.postMessage([runs, false]);
    try {
      const result = callback.apply(window, given);
      if (result instanceof Promise) promises.set(result, timer);
    } catch (error) {
      reportError(timer, error);
      throw error;
    }
  };
  const timed =
    (set, repeats) =>
    (callback, delay, ...rest) => {
      if (typeof callback !== "function") return set(callback, delay, ...rest);
      const step = Math.max(Number(delay) || 0, SHORTEST);
      const since = running?.since ?? received;
      let due = (running?.due ?? 0) + step;
      const fire = (...given) => {
        if (busy !== null) {
          waiting.push(() => fire(...given));
          return;
        }
        if (!pending.has(id)) {
          waiting.shift()?.();
          return;
        }
        const timer = { due, since };
        if (repeats) pending.set(id, (due += step));
        else pending.delete(id);
        run(timer, callback, given);
      };
      const id = set(fire, delay, ...rest);
      pending.set(id, due);
      return id;
    };
  window.setTimeout = timed(later, false);
  window.setInterval = timed(window.setInterval.bind(window), true);
  const onFrame = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (callback) => {
    if (typeof callback !== "function") return onFrame(callback);
    const timer = { due: (running?.due ?? 0) + FRAME, since: running?.since ?? received };
    return onFrame((...given) => run(timer, callback, given));
  };
  for (const name of ["clearTimeout", "clearInterval"]) {
    const clear = window[name].bind(window);
    window[name] = (id) => {
      pending.delete(id);
      clear(id);
    };
  }
  addEventListener("message", () => {
    received += 1;
    running = null;
  });
  addEventListener("unhandledrejection", ({ promise, reason }) => {
    const timer = promises.get(promise) ?? running;
    if (timer) reportError(timer, reason);
  });

  /** Wait until all timers that are due by then have run, at most for a given time. */
  const over = async (due, most) => {
    const until = performance.now() + most;
    while (performance.now() < until && [...pending.values()].some((each) => each <= due)) {
      await new Promise((done) => later(done, 15));
    }
  };
  Object.defineProperty(window, KEY, { value: { over } });
})();
