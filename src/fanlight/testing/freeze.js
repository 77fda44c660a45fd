// Runs in each View whose picture has to be the same each time, after watch.js and before its own scripts.
//
// Time stands still until the View has the outcome of its call; between the input and the outcome, whatever waits for
// time does, too. From then on it runs by itself, as fast as it can: a frame takes a sixtieth of a second, a timer what
// it was set to. So transitions reach their end, and debounced work is done. Then it stands still again, and with it
// every animation and every clock; an answer or an input moves it on.
(() => {
  if (!/^[a-z0-9]{32}\.sandbox\.localhost$/.test(location.hostname) || parent === window) return;
  const BEGINNING = Date.UTC(2026, 0, 1, 12);
  const RUN = 2_500;
  const FRAME = 1000 / 60;

  const real = performance.now.bind(performance);
  const wait = window.setTimeout;
  const waitClear = window.clearTimeout;
  let passed = 0;
  let end = 0; // 0 before the outcome: then work is done in real time, and the clocks stand
  let held = false;

  // Clocks.
  const RealDate = Date;
  const now = () => BEGINNING + Math.floor(passed);
  const FrozenDate = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, given, made) => Reflect.construct(target, given.length ? given : [now()], made),
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
  });
  RealDate.prototype.constructor = FrozenDate;
  window.Date = FrozenDate;
  Performance.prototype.now = () => passed;

  // Timers and frames: what is due when, by both clocks.
  const timers = new Map();
  let frames = new Map();
  let ids = 1_000_000;
  let stepping = 0;
  let drawn = 0;

  const guarded = (work, ...given) => {
    try {
      work.apply(window, given);
    } catch (error) {
      window.reportError(error);
    }
  };
  const runTimers = (isDue) => {
    const due = [...timers].filter(([, timer]) => isDue(timer)).sort(([a, x], [b, y]) => x.at - y.at || a - b);
    for (const [id, timer] of due) {
      if (timers.get(id) !== timer) continue;
      passed = end ? Math.max(passed, timer.at) : passed;
      if (timer.every === undefined) timers.delete(id);
      else timers.set(id, { ...timer, at: timer.at + timer.every, real: timer.real + timer.every });
      guarded(timer.work, ...timer.given);
    }
  };
  const runFrames = () => {
    const works = [...frames.values()];
    frames = new Map();
    for (const work of works) guarded(work, passed);
  };
  // Frames come at fixed times, whatever timers there are: so there is always the same number of them.
  const nextFrame = () => (frames.size ? (Math.floor(passed / FRAME + 1e-6) + 1) * FRAME : Infinity);
  const next = () => Math.min(...[...timers.values()].map(({ at }) => at), nextFrame());
  const step = () => {
    stepping = 0;
    if (held) return;
    if (!end) {
      runTimers((timer) => timer.real <= real());
      if (real() - drawn >= FRAME) {
        drawn = real();
        runFrames();
      }
    } else {
      const to = next();
      const draws = nextFrame() === to;
      if (to > end) return;
      runTimers((timer) => timer.at <= to);
      passed = Math.max(passed, to);
      if (draws) runFrames();
    }
    wake();
  };
  const wake = () => {
    if (!stepping && !held && (timers.size || frames.size) && (!end || next() <= end)) stepping = wait(step, 4);
  };
  const add = (work, delay, given, repeats) => {
    const after = Math.max(Number(delay) || 0, repeats ? 4 : 0);
    ids += 1;
    timers.set(ids, { work, given, at: passed + after, real: real() + after, every: repeats ? after : undefined });
    wake();
    return ids;
  };
  const forget = (id) => void (timers.delete(id) || waitClear(id));
  window.setTimeout = (work, delay, ...given) =>
    typeof work === "function" ? add(work, delay, given, false) : wait(work, delay);
  window.setInterval = (work, delay, ...given) => add(work, delay, given, true);
  window.clearTimeout = forget;
  window.clearInterval = forget;
  window.requestAnimationFrame = (work) => {
    ids += 1;
    frames.set(ids, work);
    wake();
    return ids;
  };
  window.cancelAnimationFrame = (id) => void frames.delete(id);

  const moveOn = () => {
    held = false;
    end = passed + RUN;
    wake();
  };
  const OUTCOMES = ["ui/notifications/tool-result", "ui/notifications/tool-cancelled"];
  window.addEventListener(
    "message",
    ({ source, data }) => {
      if (source === parent && data?.method === "ui/notifications/tool-input") held = !end;
      if (source === parent && (OUTCOMES.includes(data?.method) || (end && data?.id != null && !data.method))) moveOn();
    },
    true,
  );
  for (const type of ["pointerdown", "click", "keydown", "input", "wheel"]) {
    window.addEventListener(type, () => end && moveOn(), true);
  }

  // Chance.
  let seed = 0x5eed;
  const chance = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let word = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    word = (word + Math.imul(word ^ (word >>> 7), 61 | word)) ^ word;
    return (word ^ (word >>> 14)) >>> 0;
  };
  Math.random = () => chance() / 2 ** 32;
  Crypto.prototype.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let i = 0; i < bytes.length; i += 1) bytes[i] = chance() & 255;
    return array;
  };
  Crypto.prototype.randomUUID = () => {
    const bytes = window.crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
})();
