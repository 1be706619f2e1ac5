// A 2-D projection (first two principal components) of the sets, their examples and the results.

import { h, percent } from "./dom.js";

const EDGE = 50, LETTER = 7, LINE = 15, DOT = 5;

export function renderMap(map, width) {
  const size = { wide: Math.max(width, 280), high: Math.max(Math.min(0.55 * width, 480), 300) };
  const points = [...map.items, ...map.sets.flatMap((set) => set.examples)];
  const scale = makeScale([...points, ...map.sets], size);
  const occupied = points.map(scale).map(([x, y]) => [x - DOT, y - DOT, x + DOT, y + DOT]); // labels must not cover dots
  const centres = map.sets.map((set, index) => drawPoint(`centre.own${index % 6}`, set, 26, scale, occupied, shorten(set.name)));
  const examples = map.sets.flatMap((set, index) => set.examples.map((example) => drawPoint(`example.own${index % 6}`, example, 4, scale, occupied, example.name)));
  const items = map.items.map((item) => drawPoint("item", item, 3, scale, occupied, item.name));
  const label = `2-D projection of ${map.sets.map((set) => set.name).join(" and ")} with ${map.items.length} items`;
  return h("svg", { viewBox: `0 0 ${size.wide} ${size.high}`, role: "img", "aria-label": label }, centres, items, examples);
}

export const mapCaption = (map) =>
  `Large circles are the centres of the sets, coloured dots their examples, grey dots the results. This 2-D projection (two principal components) explains ${percent(map.explained_variance).replace(/\.\d+/, "")} of the variance.`;

// Both axes have the same scale; the points are centred.
function makeScale(points, { wide, high }) {
  const [x, y] = ["x", "y"].map((axis) => {
    const values = points.map((point) => point[axis]);
    return { middle: (Math.min(...values) + Math.max(...values)) / 2, span: Math.max(...values) - Math.min(...values) || 1 };
  });
  const factor = Math.min((wide - 2 * EDGE - 40) / x.span, (high - 2 * EDGE) / y.span);
  return (point) => [wide / 2 - 20 + (point.x - x.middle) * factor, high / 2 - (point.y - y.middle) * factor];
}

// A label goes to the right of its dot, or below, above or left of it; without space only the tooltip has it.
function drawPoint(className, point, radius, scale, occupied, name) {
  const [x, y] = scale(point);
  const wide = name.length * LETTER;
  const positions = radius > DOT ? [[x - wide / 2, y - radius - 4], [x - wide / 2, y + radius + LINE]] : [[x + DOT + 1, y + 4], [x - wide / 2, y + LINE + 2], [x - wide / 2, y - 8], [x - DOT - 1 - wide, y + 4]];
  const clear = positions.find(([left, base]) => !occupied.some((box) => overlap(box, [left, base - LINE + 3, left + wide, base + 3])));
  const position = clear ?? (radius > DOT ? positions[0] : null); // a set always has a label
  if (position) occupied.push([position[0], position[1] - LINE + 3, position[0] + wide, position[1] + 3]);
  return h(`g.${className}`, {}, h("title", {}, point.name), h("circle", { cx: x, cy: y, r: radius }),
    position ? h("text", { x: position[0], y: position[1] }, name) : null);
}

const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
const shorten = (name) => (name.length > 40 ? `${name.slice(0, 37)}...` : name);
