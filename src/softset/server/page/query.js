// Convert boxes to the text of a query, and back if the query has that form.

export const OPERATORS = { "&": "AND", "|": "OR", "-": "BUT NOT" };

const PLAIN = /^[\p{L}\p{N}][\p{L}\p{N}'.]*( [\p{L}\p{N}][\p{L}\p{N}'.]*)*$/u;
const RESERVED = /(^| )(AND|OR|NOT|BUT)( |$)/;

export function quote(example) {
  if (PLAIN.test(example) && !RESERVED.test(example)) return example;
  return `"${example.replace(/(["\\])/g, "\\$1")}"`;
}

const formatSet = (examples) => `{${examples.map(quote).join(", ")}}`;

// Boxes are combined from left to right: ((a & b) | c) - d.
export function formatQuery(boxes) {
  const last = boxes.findLastIndex((box) => box.examples.length);
  return boxes.slice(0, last + 1).filter((box, index) => !index || box.examples.length).reduce((left, box, index) => {
    if (!index) return formatSet(box.examples);
    return `${index > 1 ? `(${left})` : left} ${box.operator} ${formatSet(box.examples)}`;
  }, "");
}

const SET = /\{((?:"(?:[^"\\]|\\.)*"|[^{}"^])*)\}/g;
const skeleton = (query) => query.replace(SET, "{}").replace(/\bBUT NOT\b/g, "-").replace(/\bAND\b/g, "&").replace(/\bOR\b/g, "|").replace(/\s+/g, "");

// Return the boxes of a query, or null if boxes cannot show it: it must be a chain with one operator, or nested from the left.
export function parseBoxes(query) {
  const sets = [...query.matchAll(SET)].map((match) => parseExamples(match[1]));
  if (!sets.length || sets.some((examples) => !examples.length)) return null;
  const form = skeleton(query);
  const operators = form.match(/[&|-]/g) ?? [];
  const boxes = sets.map((examples, index) => ({ operator: operators[index - 1] ?? "&", examples }));
  const chain = new Set(operators).size <= 1 && form === sets.map(() => "{}").join(operators[0]);
  return chain || form === skeleton(formatQuery(boxes)) ? boxes : null;
}

function parseExamples(inside) {
  const parts = inside.matchAll(/"((?:[^"\\]|\\.)*)"|([^,"]+)/g);
  return [...parts].map((match) => match[1]?.replace(/\\(.)/g, "$1") ?? match[2].trim()).filter(Boolean);
}
