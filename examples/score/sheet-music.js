// The element <sheet-music>: a score becomes an SVG picture, in lines that fit its width. Staff lines are 10 units
// apart, and `place` counts half of that upwards from the lowest line. All signs are drawn: music fonts are rare.

const LENGTHS = { 0.25: "sixteenth", 0.5: "eighth", 1: "quarter", 2: "half", 4: "whole" };
const PREFIX = { clef: 40, sign: 9, metre: 26 };
const PADDING = 22; // of a bar
const BOTTOM = { treble: 2, bass: -10 };
// Where the signs of a key are, from the first to the seventh, on the staff of the treble clef.
const SHARPS = [8, 5, 9, 6, 3, 7, 4];
const FLATS = [4, 7, 3, 6, 2, 5, 1];

const make = (name, attributes, ...children) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};
const at = (x, y, ...children) => make("g", { transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, ...children);
const path = (d, className = "") => make("path", { d, class: className });
const disc = (cx, cy, r) => make("circle", { cx, cy, r });
const heightOf = (place) => 40 - 5 * place;

/** Return the outline of a stroke through points, each with its x, its y, and the width of the pen there. */
const brush = (...points) => {
  const sides = [[], []];
  const spline = (axis, index, t) => {
    const [a, b, c, d] = [-1, 0, 1, 2].map(
      (step) => points[Math.min(Math.max(index + step, 0), points.length - 1)][axis],
    );
    const value = b + (t * (c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a)))) / 2;
    const slope = (c - a + t * (2 * (2 * a - 5 * b + 4 * c - d) + 3 * t * (3 * (b - c) + d - a))) / 2;
    return [value, slope];
  };
  for (let step = 0; step <= 10 * (points.length - 1); step += 1) {
    const index = Math.min(Math.floor(step / 10), points.length - 2);
    const [[x, dx], [y, dy], [width]] = [0, 1, 2].map((axis) => spline(axis, index, step / 10 - index));
    const half = width / 2 / (Math.hypot(dx, dy) || 1);
    sides[0].push(`${(x - dy * half).toFixed(1)} ${(y + dx * half).toFixed(1)}`);
    sides[1].unshift(`${(x + dy * half).toFixed(1)} ${(y - dx * half).toFixed(1)}`);
  }
  return path(`M${[...sides[0], ...sides[1]].join("L")}Z`);
};

// The signs, around the line or the space that they belong to

const CLEFS = {
  treble: () => [
    brush(
      ...[
        [-2, 5, 1],
        [-5, 0, 1.6],
        [-1, -6.5, 2.4],
        [6, -5, 3.2],
        [9, 2, 3.4],
        [5, 9, 2.4],
        [-1, 10.6, 1.8],
      ],
      ...[
        [-9, 7, 3],
        [-12, -2, 4],
        [-8, -13, 3.8],
        [0, -21, 3],
        [5.5, -29, 3],
        [6.5, -37, 2.2],
        [4, -44, 1.2],
      ],
      ...[
        [0, -39, 2],
        [-1.6, -31, 3],
        [0, -20, 2],
        [3, -2, 1.5],
        [6, 16, 1.5],
        [4.5, 23, 1.6],
        [-1, 26, 1.4],
      ],
      ...[[-5.5, 23, 1.4]],
    ),
    disc(-3.6, 20.6, 3.4),
  ],
  bass: () => [
    disc(-7, 0.5, 3.4),
    brush([-10, -1, 1], [-7.5, -7, 1.6], [-1, -9.4, 2.2], [6, -6, 4], [7, 2, 4.4], [2, 13, 3], [-10, 22, 0.8]),
    disc(14, -5, 2),
    disc(14, 5, 2),
  ],
};
const SIGNS = {
  "^": () => [path("M-2 -13V14M2 -14V13", "line"), path("M-4.5 -2.5L4.5 -6.5V-3L-4.5 1ZM-4.5 6L4.5 2V5.5L-4.5 9.5Z")],
  _: () => [path("M-3 -15V6.5", "line"), brush([-3, -2, 1.4], [1, -4.5, 2.4], [3.2, -1.5, 2.6], [-3, 6.4, 0.8])],
  "=": () => [path("M-3 -14V6M3 -6V14", "line"), path("M-3 -3L3 -6V-2.5L-3 0.5ZM-3 5.5L3 2.5V6L-3 9Z")],
};
const hook = (y) => [disc(-3.2, y - 3, 2.5), brush([-4, y - 1.5, 1.2], [0.5, y - 0.8, 1.6], [4.6, y - 4.6, 1])];
const RESTS = {
  0.25: () => [...hook(17), ...hook(27), path("M4.8 12L-1.4 38", "line")],
  0.5: () => [...hook(17), path("M4.8 12L-0.4 31", "line")],
  1: () => [
    brush([-3, 5, 0.8], [0.5, 9.5, 2.6], [2.6, 13, 3.4], [-0.6, 17, 4.4], [-2, 19, 3.4], [1, 24, 2.4], [4, 28, 0.8]),
    brush([4, 28, 0.8], [-1.5, 26, 3], [-3.6, 29.5, 2.4], [0, 35, 0.6]),
  ],
  2: () => [path("M-6.5 15H6.5V20H-6.5Z")],
  4: () => [path("M-6.5 10H6.5V15H-6.5Z")],
};
const head = (beats) => {
  if (beats < 2) return make("ellipse", { rx: 6.2, ry: 4.4, transform: "rotate(-22)" });
  const [rx, ry, turn] = beats < 4 ? [5.6, 3.3, -28] : [6.6, 3.8, 0];
  return make("ellipse", { rx, ry, class: "head", transform: `rotate(${turn})` });
};
const flag = (x, y, up) => {
  const way = up ? 1 : -1;
  return brush([x, y, 1], [x + 1, y + 5 * way, 4], [x + 7, y + 13 * way, 2.4], [x + 6, y + 24 * way, 0.8]);
};

const plain = (beats) => (LENGTHS[beats] ? beats : beats / 1.5);
const flags = (beats) => (plain(beats) === 0.25 ? 2 : plain(beats) === 0.5 ? 1 : 0);
/** Return the width that a note needs. Long notes get more, but less than their length. */
const room = ({ beats, accidental }) => 16 + 7 * Math.log2(4 * beats) + (accidental ? 9 : 0);
const nameOf = ({ name, beats }) => {
  const length = `${plain(beats) === beats ? "" : "dotted "}${LENGTHS[plain(beats)]}`;
  return `${name.replace("#", " sharp ").replace("b", " flat ")}, ${length}`;
};

/** Return bars in as few lines as fit, and these of equal length. The first line has less room than the others. */
const breakLines = (bars, fits, less) => {
  const fill = (limit) => {
    const lines = [];
    let left = 0;
    for (const bar of bars) {
      if (!lines.length || bar.width > left) {
        left = lines.length ? limit : limit - less;
        lines.push([]);
      }
      lines.at(-1).push(bar);
      left -= bar.width;
    }
    return lines;
  };
  const count = fill(fits).length;
  let limit = fits;
  while (limit > 60 && fill(limit - 5).length === count) limit -= 5;
  return fill(limit);
};

/** Return the notes of a bar in groups: what one beam joins, and every other note alone. */
const groupsOf = (notes, offset, unit) => {
  const groups = [];
  let last = null;
  for (const note of notes) {
    const beat = flags(note.beats) && note.step !== null ? Math.floor((note.start - offset) / unit + 1e-6) : null;
    if (beat !== null && beat === last) groups.at(-1).push(note);
    else groups.push([note]);
    last = beat;
  }
  return groups;
};

/** Draw the stems of a group of notes, with its beams or flags. Return these and how far up and down they reach. */
const stems = (group) => {
  const drawn = group.filter(({ beats, step }) => step !== null && beats < 4);
  if (!drawn.length) return { shapes: [], reach: [] };
  const places = drawn.map(({ place }) => place);
  const up = Math.max(...places) - 4 < 4 - Math.min(...places);
  const way = up ? -1 : 1;
  const side = up ? 5.6 : -5.6;
  const [first, last] = [drawn[0], drawn.at(-1)];
  const run = last.x - first.x || 1;
  const slope = Math.min(Math.max((heightOf(last.place) - heightOf(first.place)) / run, -0.15), 0.15);
  const ends = drawn.map(({ place }) => {
    const end = heightOf(place) + way * 35;
    return up ? Math.min(end, 20) : Math.max(end, 20); // stems of far notes reach the middle line
  });
  const offsets = ends.map((end, index) => end - slope * (drawn[index].x - first.x));
  const base = up ? Math.min(...offsets) : Math.max(...offsets);
  const tip = (x) => base + slope * (x - first.x);
  const made = drawn.map(({ x, place }) => path(`M${x + side} ${heightOf(place) + 1.5 * way}V${tip(x)}`, "line"));
  if (drawn.length === 1) {
    const count = flags(first.beats);
    for (let at = 0; at < count; at += 1) made.push(flag(first.x + side, base - at * 8 * way, up));
    return { shapes: made, reach: [base] };
  }
  const beam = (from, to, level) => {
    const [near, far] = [0, 5].map((thick) => -way * (8 * level + thick));
    const [a, b] = [from + side, to + side];
    made.push(path(`M${a} ${tip(from) + near}L${b} ${tip(to) + near}V${tip(to) + far}L${a} ${tip(from) + far}Z`));
  };
  beam(first.x - 0.6, last.x + 0.6, 0);
  drawn.forEach(({ x, beats }, index) => {
    if (flags(beats) < 2) return;
    const [before, after] = [drawn[index - 1], drawn[index + 1]];
    if (after && flags(after.beats) === 2) beam(x, after.x, 1);
    else if (!before) beam(x, x + 9, 1);
    else if (flags(before.beats) < 2) beam(x - 9, x, 1);
  });
  return { shapes: made, reach: [tip(first.x), tip(last.x)] };
};

const drawNote = (note) => {
  const { x, place, beats, step, accidental } = note;
  const isDotted = plain(beats) !== beats;
  const parts = [make("rect", { class: "hit", x: x - 11, width: 22, rx: 6 })];
  if (step === null) {
    parts.push(at(x, 0, ...RESTS[plain(beats)]()));
    if (isDotted) parts.push(disc(x + 11, 15, 2));
  } else {
    for (let line = 10; line <= place; line += 2) parts.push(path(`M${x - 10} ${heightOf(line)}h20`, "line"));
    for (let line = -2; line >= place; line -= 2) parts.push(path(`M${x - 10} ${heightOf(line)}h20`, "line"));
    if (accidental) parts.push(at(x - 13, heightOf(place), ...SIGNS[accidental]()));
    parts.push(at(x, heightOf(place), head(beats)));
    if (isDotted) parts.push(disc(x + 12, heightOf(place + (place % 2 ? 0 : 1)), 2));
  }
  const label = `Bar ${note.bar}, note ${note.number}: ${nameOf(note)}`;
  return make("g", { class: "note", role: "button", tabindex: -1, "aria-label": label }, ...parts);
};

/** Draw what begins a line: the clef, the key and, in the first line, the metre. */
const drawPrefix = ({ clef, sharps, metre }, isFirst) => {
  const shift = clef === "bass" ? -2 : 0;
  const places = (sharps > 0 ? SHARPS : FLATS).slice(0, Math.abs(sharps));
  const signs = places.map((place, index) =>
    at(PREFIX.clef + 4 + index * PREFIX.sign, heightOf(place + shift), ...SIGNS[sharps > 0 ? "^" : "_"]()),
  );
  const made = [at(18, heightOf(clef === "bass" ? 6 : 2), ...CLEFS[clef]()), ...signs];
  let width = PREFIX.clef + places.length * PREFIX.sign + 4;
  if (isFirst) {
    metre.split("/").forEach((digits, index) => {
      made.push(make("text", { class: "metre", x: width + 10, y: 19 + 20 * index }, digits));
    });
    width += PREFIX.metre;
  }
  return [made, width];
};

/** Draw a line of bars, and return how far up and down its notes and stems reach. */
const drawLine = (line, prefix, from, stretch, unit) => {
  const group = make("g", {}, path("", "staff"), ...prefix);
  const reach = [];
  let x = from;
  for (const bar of line) {
    x += 14;
    for (const note of bar.notes) {
      note.x = x + 6 + (note.accidental ? 9 : 0);
      note.element = drawNote(note);
      group.append(note.element);
      if (note.step !== null) reach.push(heightOf(note.place) - 12, heightOf(note.place) + 12);
      x += room(note) * stretch;
    }
    for (const joined of groupsOf(bar.notes, bar.offset, unit)) {
      const drawn = stems(joined);
      // A stem takes the colour of its note; what a beam joins stays as it is.
      (joined.length === 1 ? joined[0].element : group).append(...drawn.shapes);
      reach.push(...drawn.reach);
    }
    x += PADDING - 14;
    bar.notes.at(-1).end = bar.end = x;
    group.append(path(`M${x} 0V40`, "line"));
  }
  group.firstChild.setAttribute("d", [0, 10, 20, 30, 40].map((level) => `M0 ${level}H${x + 0.5}`).join(""));
  return { group, reach };
};

/** Return the picture of a score, and its notes with their places in it. */
const engrave = (score, pixels) => {
  const width = pixels < 480 ? pixels / 0.82 : pixels; // a phone shows two bars in a line
  const [upper, lower] = score.metre.split("/").map(Number);
  const full = (4 * upper) / lower;
  const unit = lower === 8 && upper % 3 === 0 ? 1.5 : 1;
  let start = 0;
  const bars = score.bars.map((written, index) => {
    const began = start;
    const notes = written.map((note, number) => {
      const placed = { ...note, bar: index + 1, number: number + 1, start, place: note.step - BOTTOM[score.clef] };
      start += note.beats;
      return placed;
    });
    // A pickup is the end of a bar.
    const offset = index === 0 ? start - full : began;
    return { notes, offset, width: PADDING + notes.reduce((sum, note) => sum + room(note), 0) };
  });
  const picture = make("svg", { width: pixels });
  const lines = breakLines(bars, width - 2 - drawPrefix(score, false)[1], PREFIX.metre);
  const all = [];
  let y = 0;
  lines.forEach((line, index) => {
    const isLast = index === lines.length - 1;
    const [prefix, from] = drawPrefix(score, index === 0);
    const natural = line.reduce((sum, bar) => sum + bar.width - PADDING, 0);
    const stretch = (width - 2 - from - PADDING * line.length) / natural;
    const { group, reach } = drawLine(line, prefix, from, isLast && stretch > 1.6 ? 1.4 : stretch, unit);
    if (index > 0) group.append(make("text", { class: "number", x: 1, y: -20 }, line[0].notes[0].bar));
    if (isLast) {
      const { end } = line.at(-1);
      group.append(path(`M${end - 5} 0V40`, "line"), at(end, 0, path("M-2 0H2V40H-2Z")));
    }
    const [top, bottom] = [Math.min(-34, ...reach) - 4, Math.max(68, ...reach) + 4];
    for (const note of line.flatMap(({ notes }) => notes)) {
      Object.assign(note, { y, height: bottom - top });
      note.element.firstChild.setAttribute("y", top + 2);
      note.element.firstChild.setAttribute("height", bottom - top - 4);
      all.push(note);
    }
    group.setAttribute("transform", `translate(0 ${y - top})`);
    picture.append(group);
    y += bottom - top;
  });
  picture.setAttribute("height", (y * pixels) / width);
  picture.setAttribute("viewBox", `0 0 ${width} ${y}`);
  const cursor = make("rect", { id: "cursor", width: 16, rx: 5, visibility: "hidden" });
  picture.append(cursor);
  return { picture, notes: all, cursor };
};

customElements.define(
  "sheet-music",
  class extends HTMLElement {
    /** Show a score, and return its notes, each with its element and its place, and the cursor. */
    engrave(score) {
      const { picture, ...drawn } = engrave(score, this.clientWidth);
      this.replaceChildren(picture);
      return drawn;
    }
  },
);
