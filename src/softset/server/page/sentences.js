// The tab "Sentences": scores of two texts by several metrics, and links between their tokens.

import { post } from "./api.js";
import { $, $$, fixed, h, percent, withStyle } from "./dom.js";
import { Panel, options } from "./panel.js";
import { curl, python, shell } from "./snippets.js";

const METRICS = ["bertscore", "subspace", "softset"];
const PARTS = { precision: "Precision", recall: "Recall", score: "Score" };
const WEAK_LINK = 0.5; // links below this fraction of the strongest one are dotted

export class Sentences extends Panel {
  constructor(resources, updateAddress) {
    super("sentences", "#views", updateAddress);
    $("#model").replaceChildren(...options(resources.models));
    $("#metrics").append(...METRICS.map((name) => h("label", {},
      h("input", { type: "checkbox", value: name, checked: true }), ` ${name}`)));
    for (const field of $$("#sentences textarea, #layer")) field.addEventListener("input", this.changed);
    for (const field of [$("#model"), $("#metrics")]) field.addEventListener("change", this.changed);
  }

  get metrics() { return $$("#metrics input:checked").map((box) => box.value); }
  get texts() { return { candidate: $("#candidate").value, reference: $("#reference").value }; }
  get layer() { return $("#layer").value.trim() || "last"; } // a string: layer 1 is the first one, 1.0 the last one

  open(state) {
    for (const name of ["candidate", "reference", "layer"]) if (state.has(name)) $(`#${name}`).value = state.get(name);
    if (state.has("model")) $("#model").value = state.get("model");
    if (state.has("metrics")) for (const box of $$("#metrics input")) box.checked = state.get("metrics").split(",").includes(box.value);
    this.run();
  }

  state() {
    return new URLSearchParams({ ...this.texts, model: $("#model").value, layer: $("#layer").value, metrics: this.metrics.join(",") });
  }

  get body() {
    return { ...this.texts, metrics: this.metrics, model: $("#model").value, layer: this.layer };
  }

  async update(signal) {
    const explanation = this.metrics.length ? await post("explain", this.body, signal) : { metrics: [] };
    this.setError(null);
    this.results.replaceChildren(...explanation.metrics.map((view) => renderView(explanation, view)));
    this.setStatus(explanation.metrics.map((view) => `${view.metric} ${fixed(view.score)}`).join(", ") || "Select a metric.");
  }

  command() {
    const { candidate, reference } = this.texts;
    const metrics = this.metrics.map((name) => ` --metric ${name}`).join("");
    return `softset explain${metrics} --model ${shell($("#model").value)} --layer=${shell(this.layer)} -- ${shell(candidate)} ${shell(reference)}`;
  }

  curl() { return curl("explain", this.body); }

  python() {
    const { candidate, reference } = this.texts;
    const scorer = `scorer = softset.Scorer(${python($("#model").value)}, layer=${python(this.layer)})`;
    const metrics = `[${this.metrics.map(python).join(", ")}]`;
    return `import softset\n\n${scorer}\nexplanation = scorer.explain(${python(candidate)}, ${python(reference)}, metrics=${metrics})\nprint(explanation.to_text())\n`;
  }
}

function renderView(explanation, view) {
  const details = h("p.why", { "aria-live": "polite" }, "Point at a token, or select it with Tab, to see its membership and the tokens it matches.");
  const texts = Object.fromEntries(["candidate", "reference"].map((name) => [name, renderTokens(explanation[name])]));
  for (const [name, other] of [["candidate", "reference"], ["reference", "candidate"]]) {
    texts[name].tokens.forEach((token, index) => highlight(token, { view, explanation, name, other, index, texts, details }));
  }
  return h("section", { "aria-label": view.metric, "data-metric": view.metric },
    h("h2", {}, view.metric),
    Object.keys(PARTS).map((part) => renderScore(view, part)),
    h("p.hint", {}, view.chance ? `The mark on each bar shows the score of unrelated text (${view.chance.how}).` : "The score of unrelated text is not known for this model."),
    h("h3", {}, "Candidate"), texts.candidate.shown, h("h3", {}, "Reference"), texts.reference.shown, details);
}

function renderScore(view, part) {
  const chance = view.chance?.[part];
  const label = `${PARTS[part]} ${fixed(view[part])}${chance === undefined ? "" : `, unrelated text ${fixed(chance)}`}`;
  return h("div.measure", { role: "group", "aria-label": label }, h("span", {}, PARTS[part]),
    h("div.track", { title: label },
      withStyle(h("div.fill"), "width", percent(view[part])),
      chance === undefined ? null : withStyle(h("div.chance"), "left", percent(chance))),
    h("output", { "data-part": part }, fixed(view[part])));
}

// The text with its tokens highlighted; the list of tokens if their positions are not known.
function renderTokens(text) {
  const tokens = text.tokens.map((token) => h("span.token", { tabindex: "0", role: "button" }, token));
  if (!text.spans) return { tokens, shown: h("p.tokens", {}, tokens.flatMap((token) => [token, " "])) };
  const characters = [...text.text]; // positions count code points as in Python, not UTF-16 units
  const parts = [];
  let position = 0;
  text.spans.forEach(([start, end], index) => {
    if (start < position) return parts.push(" ", tokens[index]); // a second token for the same characters
    parts.push(characters.slice(position, start).join(""));
    tokens[index].textContent = characters.slice(start, end).join("") || text.tokens[index];
    parts.push(tokens[index]);
    position = end;
  });
  parts.push(characters.slice(position).join(""));
  return { tokens, shown: h("p.tokens", {}, parts) };
}

function highlight(token, { view, explanation, name, other, index, texts, details }) {
  const membership = view[`${name}_membership`][index];
  const links = view[`${name}_links`][index];
  const order = links.map((_, target) => target).sort((a, b) => links[b] - links[a]).slice(0, 3);
  const strongest = order.map((target) => `${explanation[other].tokens[target]} ${fixed(links[target], 2)}`).join(", ");
  const label = `${explanation[name].tokens[index]}: membership ${fixed(membership, 2)}, weight ${fixed(view[`${name}_weights`][index])}; strongest ${view.links}s: ${strongest}`;
  withStyle(token, "--share", percent(membership));
  token.setAttribute("aria-label", label);
  token.dataset.membership = fixed(membership);
  const setHighlight = (on) => {
    details.textContent = on ? label : details.textContent;
    token.classList.toggle("linked", on);
    for (const target of order) {
      if (links[target] <= 0) continue;
      const classes = texts[other].tokens[target].classList;
      classes.toggle("linked", on);
      classes.toggle("weak", on && links[target] < WEAK_LINK * links[order[0]]);
    }
  };
  for (const [event, on] of [["pointerenter", true], ["pointerleave", false], ["focus", true], ["blur", false]]) {
    token.addEventListener(event, () => setHighlight(on));
  }
}
