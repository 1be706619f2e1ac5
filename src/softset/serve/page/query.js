// Queries as text: from boxes, back into boxes where they are of that form, and as commands to take along.

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
  const filled = boxes.filter((box) => box.examples.length);
  return filled.reduce((before, box, at) => {
    if (!at) return setOf(box.examples);
    return `${at > 1 ? `(${before})` : before} ${box.operator} ${setOf(box.examples)}`;
  }, "");
}

// A query that boxes can show, or null: what is read is written again, and must be the same query.
export function boxesOf(query) {
  const boxes = [];
  let rest = query.trim().replace(/\bBUT NOT\b/g, "-").replace(/\bAND\b/g, "&").replace(/\bOR\b/g, "|");
  const whole = rest;
  let operator = "&";
  while (rest) {
    rest = rest.replace(/^[\s()]+/, "");
    const set = /^\{((?:"(?:[^"\\]|\\.)*"|[^{}"^])*)\}/.exec(rest);
    if (!set) return null;
    const examples = [...set[1].matchAll(/"((?:[^"\\]|\\.)*)"|([^,"]+)/g)]
      .map((one) => (one[1] !== undefined ? one[1].replace(/\\(.)/g, "$1") : one[2].trim())).filter(Boolean);
    if (!examples.length) return null;
    boxes.push({ operator, examples });
    rest = rest.slice(set[0].length).replace(/^[\s()]+/, "");
    if (rest) {
      operator = rest[0];
      if (!(operator in OPERATORS)) return null;
      rest = rest.slice(1);
      if (!rest.trim()) return null;
    }
  }
  const bare = (text) => text.replace(/\s+/g, "");
  return boxes.length && bare(queryOf(boxes)) === bare(whole) ? boxes : null;
}

export const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
export const python = (text) => JSON.stringify(text);
