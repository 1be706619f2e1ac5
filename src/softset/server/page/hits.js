// A list of what was found: a bar and a number each, and on hover or focus the share of every set.

import { fixed, h, percent, sized } from "./dom.js";

export function hitsOf(result, { title, elsewhere = null }) {
  const rows = result.results.map((hit) => row(hit, elsewhere !== null && !elsewhere.has(hit.id)));
  const nothing = rows.length ? null : h("p.hint", {}, "Nothing belongs that much.");
  const notes = [...(result.notes ?? []), ...standIns(result)].map((note) => h("p.hint", {}, note));
  return h("section", { "aria-label": title, "data-logic": result.logic }, h("h2", {}, title), h("ol.hits", {}, rows), nothing, notes);
}

// The column of a logic that has no answer.
export const failureOf = (title, error) => h("section", { "aria-label": title }, h("h2", {}, title), h("p.error", {}, error.message));

function standIns(result) {
  const means = Object.entries(result.resolved_as ?? {}).filter(([, how]) => how.startsWith("the "));
  return means.map(([text, how]) => `${text} is ${how}`);
}

function row(hit, only) {
  const told = `${hit.text ?? hit.id}: ${fixed(hit.membership)}. ${(hit.leaves ?? []).map(share).join(". ")}`;
  return h("li.hit", { tabindex: "0", "aria-label": told },
    sized(h("span.bar"), "width", percent(hit.membership)),
    h("span.line", {},
      hit.text === undefined ? null : h("span.id", {}, hit.id),
      h("span.name", {}, hit.text ?? hit.id),
      only ? h("span.only", {}, "only here") : null,
      h("span.number", {}, fixed(hit.membership))),
    h("div.shares", { "aria-hidden": "true" },
      (hit.leaves ?? []).map((leaf) => h(leaf.negated ? "p.against" : "p", {}, share(leaf))),
      h("p.hint", {}, `above ${(Math.floor(100 * hit.percentile) / 100).toFixed(2)} % of all`)));
}

function share(leaf) {
  const carried = Object.entries(leaf.examples).map(([text, cosine]) => `${text} ${fixed(cosine, 2)}`).join(", ");
  return `${leaf.negated ? "against: " : ""}${fixed(leaf.membership)} in ${leaf.leaf}, by ${carried}`;
}
