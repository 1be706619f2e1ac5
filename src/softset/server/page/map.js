// The map: sets with their examples and the items found, in the plane that tells them apart best.

import { h, percent } from "./dom.js";

const EDGE = 50, LETTER = 7, LINE = 15, DOT = 5;

export function mapOf(map, width) {
  const size = { wide: Math.max(width, 280), high: Math.max(Math.min(0.55 * width, 480), 300) };
  const spots = [...map.items, ...map.sets.flatMap((set) => set.examples)];
  const scale = scaled([...spots, ...map.sets], size);
  const taken = spots.map(scale).map(([x, y]) => [x - DOT, y - DOT, x + DOT, y + DOT]); // no name covers a dot
  const middles = map.sets.map((set, at) => drawn(`middle.own${at % 6}`, set, 26, scale, taken, short(set.name)));
  const examples = map.sets.flatMap((set, at) => set.examples.map((one) => drawn(`example.own${at % 6}`, one, 4, scale, taken, one.name)));
  const items = map.items.map((one) => drawn("item", one, 3, scale, taken, one.name));
  const told = `A map of ${map.sets.map((set) => set.name).join(" and ")} with ${map.items.length} items`;
  return h("svg", { viewBox: `0 0 ${size.wide} ${size.high}`, role: "img", "aria-label": told }, middles, items, examples);
}

export const captionOf = (map) =>
  `Circles are the middles of sets, coloured dots their examples, grey dots what was found. The plane shows ${percent(map.explained_variance).replace(/\.\d+/, "")} of what tells them apart.`;

// Both axes have one scale, so that near is near; what is drawn is in the middle.
function scaled(spots, { wide, high }) {
  const [x, y] = ["x", "y"].map((axis) => {
    const values = spots.map((one) => one[axis]);
    return { middle: (Math.min(...values) + Math.max(...values)) / 2, span: Math.max(...values) - Math.min(...values) || 1 };
  });
  const factor = Math.min((wide - 2 * EDGE - 40) / x.span, (high - 2 * EDGE) / y.span);
  return (one) => [wide / 2 - 20 + (one.x - x.middle) * factor, high / 2 - (one.y - y.middle) * factor];
}

// A name goes right of its dot, or below or above it; where there is no room it is left to the title.
function drawn(kind, spot, radius, scale, taken, name) {
  const [x, y] = scale(spot);
  const wide = name.length * LETTER;
  const beside = radius > DOT ? [[x - wide / 2, y - radius - 4], [x - wide / 2, y + radius + LINE]] : [[x + DOT + 1, y + 4], [x - wide / 2, y + LINE + 2], [x - wide / 2, y - 8], [x - DOT - 1 - wide, y + 4]];
  const free = beside.find(([left, base]) => !taken.some((box) => meet(box, [left, base - LINE + 3, left + wide, base + 3])));
  const chosen = free ?? (radius > DOT ? beside[0] : null); // a set has its name in any case
  if (chosen) taken.push([chosen[0], chosen[1] - LINE + 3, chosen[0] + wide, chosen[1] + 3]);
  return h(`g.${kind}`, {}, h("title", {}, spot.name), h("circle", { cx: x, cy: y, r: radius }),
    chosen ? h("text", { x: chosen[0], y: chosen[1] }, name) : null);
}

const meet = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
const short = (name) => (name.length > 40 ? `${name.slice(0, 37)}...` : name);
