// Runs in each View whose picture has to be the same each time, after watch.js and before its own scripts.
//
// Time stands still but for what the View itself waits for: a frame takes a sixtieth of a second, a short timer as long
// as it was set to. So transitions reach their end and debounced work is done, and no clock of the wall shows. Dates
// stay within the second. An animation without end stops after so many frames; a message or an input lets it go on.
(() => {
  if (!/^[a-z0-9]{32}\.sandbox\.localhost$/.test(location.hostname) || parent === window) return;
  const BEGINNING = Date.UTC(2026, 0, 1, 12);
  const MOST_FRAMES = 150;
  let passed = 0;
  let left = MOST_FRAMES;

  // Time.
  const RealDate = Date;
  const now = () => BEGINNING + Math.min(Math.floor(passed), 999);
  const FrozenDate = new Proxy(RealDate, {
    apply: () => new RealDate(now()).toString(),
    construct: (target, given, made) => Reflect.construct(target, given.length ? given : [now()], made),
    get: (target, name) => (name === "now" ? now : Reflect.get(target, name)),
  });
  RealDate.prototype.constructor = FrozenDate;
  window.Date = FrozenDate;
  Performance.prototype.now = () => passed;

  const later = window.setTimeout;
  window.setTimeout = (work, delay = 0, ...rest) => {
    if (typeof work !== "function") return later(work, delay, ...rest);
    const due = passed + (delay > 0 && delay <= 1_000 ? Number(delay) : 0);
    return later(
      () => {
        passed = Math.max(passed, due);
        return work.apply(window, rest);
      },
      delay,
    );
  };

  // Frames. Those of one turn have one time.
  const nextFrame = window.requestAnimationFrame;
  const cancel = window.cancelAnimationFrame;
  let turn = new Map();
  let waiting = 0;
  let ids = 0;
  const run = () => {
    waiting = 0;
    left -= 1;
    passed += 1000 / 60;
    const works = [...turn.values()];
    turn = new Map();
    for (const work of works) {
      try {
        work(passed);
      } catch (error) {
        window.reportError(error);
      }
    }
    wake();
  };
  const wake = () => {
    if (!waiting && turn.size && left > 0) waiting = nextFrame(run);
  };
  window.requestAnimationFrame = (work) => {
    ids += 1;
    turn.set(ids, work);
    wake();
    return ids;
  };
  window.cancelAnimationFrame = (id) => {
    turn.delete(id);
    if (!turn.size && waiting) {
      cancel(waiting);
      waiting = 0;
    }
  };
  for (const type of ["message", "pointerdown", "keydown", "input", "wheel", "resize"]) {
    addEventListener(
      type,
      () => {
        left = MOST_FRAMES;
        wake();
      },
      true,
    );
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
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 15) | 64;
    bytes[8] = (bytes[8] & 63) | 128;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
})();
