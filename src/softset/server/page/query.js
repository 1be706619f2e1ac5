// Queries as text: from boxes, and back into boxes where they are of that form.

export const OPERATORS = { "&": "AND", "|": "OR", "-": "BUT NOT" };

const PLAIN = /^[\p{L}\p{N}][\p{L}\p{N}'.]*( [\p{L}\p{N}][\p{L}\p{N}'.]*)*$/u;
const RESERVED = /(^| )(AND|OR|NOT|BUT)( |$)/;

export function quoted(example) {
  if (PLAIN.test(example) && !RESERVED.test(example)) return example;
  return `"${example.replace(/(["\\])/g, "\\$1")}"`;
}

const setOf = (examples) => `{${examples.map(quoted).join(", ")}}`;

// Boxes are joined from the first on: ((a & b) | c) - d.
export function queryOf(boxes) {
  const last = boxes.findLastIndex((box) => box.examples.length);
  return boxes.slice(0, last + 1).filter((box, at) => !at || box.examples.length).reduce((before, box, at) => {
    if (!at) return setOf(box.examples);
    return `${at > 1 ? `(${before})` : before} ${box.operator} ${setOf(box.examples)}`;
  }, "");
}

const SET = /\{((?:"(?:[^"\\]|\\.)*"|[^{}"^])*)\}/g;
const marksOf = (query) => query.replace(SET, "{}").replace(/\bBUT NOT\b/g, "-").replace(/\bAND\b/g, "&").replace(/\bOR\b/g, "|").replace(/\s+/g, "");

// A query that boxes can show, or null: without its examples it must look as boxes would write it, or be one chain.
export function boxesOf(query) {
  const sets = [...query.matchAll(SET)].map((one) => examplesOf(one[1]));
  if (!sets.length || sets.some((examples) => !examples.length)) return null;
  const marks = marksOf(query);
  const operators = marks.match(/[&|-]/g) ?? [];
  const boxes = sets.map((examples, at) => ({ operator: operators[at - 1] ?? "&", examples }));
  const chain = new Set(operators).size <= 1 && marks === sets.map(() => "{}").join(operators[0]);
  return chain || marks === marksOf(queryOf(boxes)) ? boxes : null;
}

function examplesOf(inside) {
  const parts = inside.matchAll(/"((?:[^"\\]|\\.)*)"|([^,"]+)/g);
  return [...parts].map((one) => one[1]?.replace(/\\(.)/g, "$1") ?? one[2].trim()).filter(Boolean);
}
