// A list of results with bars; on hover or focus, the membership in each set of the query.

import { errorText, fixed, h, percent, withStyle } from "./dom.js";

export function renderResult(result, { title, otherIds = null }) {
  const rows = result.results.map((hit) => row(hit, otherIds !== null && !otherIds.has(hit.id)));
  const empty = rows.length ? null : h("p.hint", {}, "No item belongs to this query.");
  const notes = [...(result.notes ?? []), ...resolvedNotes(result)].map((note) => h("p.hint", {}, note));
  return h("section", { "aria-label": title, "data-logic": result.logic }, h("h2", {}, title), h("ol.hits", {}, rows), empty, notes);
}

// The column of a logic whose search failed.
export const renderFailure = (title, error) => h("section", { "aria-label": title }, h("h2", {}, title), h("p.error", {}, errorText(error)));

function resolvedNotes(result) {
  const resolved = Object.entries(result.resolved_as ?? {}).filter(([, source]) => source.startsWith("the "));
  return resolved.map(([text, source]) => `${text}: ${source}`);
}

function row(hit, unique) {
  const label = `${hit.text ?? hit.id}: ${fixed(hit.membership)}. ${(hit.leaves ?? []).map(leafText).join(". ")}`;
  return h("li.hit", { tabindex: "0", "aria-label": label },
    withStyle(h("span.bar"), "width", percent(hit.membership)),
    h("span.line", {},
      hit.text === undefined ? null : h("span.id", {}, hit.id),
      h("span.name", {}, hit.text ?? hit.id),
      unique ? h("span.only", {}, "only with this logic") : null,
      h("span.number", {}, fixed(hit.membership))),
    h("div.shares", { "aria-hidden": "true" },
      (hit.leaves ?? []).map((leaf) => h(leaf.negated ? "p.negated" : "p", {}, leafText(leaf)))));
}

function leafText(leaf) {
  const examples = Object.entries(leaf.examples).map(([text, cosine]) => `${text} ${fixed(cosine, 2)}`).join(", ");
  return `membership ${fixed(leaf.membership)} in ${leaf.leaf}${leaf.negated ? " (negated)" : ""}; cosine with the nearest examples: ${examples}`;
}
