// The tab of sentences: two texts, what several metrics make of them, and which token answers which.

import { latest, post } from "./api.js";
import { curl, python, shell } from "./copying.js";
import { $, $$, busy, copied, fixed, h, percent, settled, showError, sized } from "./dom.js";

const METRICS = ["bertscore", "subspace", "softset"];
const PARTS = { precision: "Precision", recall: "Recall", score: "F" };
const WEAK = 0.5; // of the strongest: a counterpart below that is marked lightly

export class Sentences {
  constructor(offers, remember) {
    this.remember = remember;
    $("#model").replaceChildren(...offers.models.map((name) => h("option", { value: name }, name)));
    $("#metrics").append(...METRICS.map((name) => h("label", {},
      h("input", { type: "checkbox", value: name, checked: true }), ` ${name}`)));
    this.explain = latest((signal) => this.explained(signal));
    this.changed = settled(350, () => this.run());
    for (const field of $$("#sentences textarea, #layer")) field.addEventListener("input", this.changed);
    for (const field of [$("#model"), $("#metrics")]) field.addEventListener("change", this.changed);
    $("#sentences form").addEventListener("submit", (event) => { event.preventDefault(); this.run(); });
    for (const button of $$("#sentences [data-copy]")) {
      button.addEventListener("click", () => copied(this[button.dataset.copy](), button));
    }
  }

  get metrics() { return $$("#metrics input:checked").map((one) => one.value); }
  get texts() { return { candidate: $("#candidate").value, reference: $("#reference").value }; }
  get layer() { return $("#layer").value.trim() || "last"; } // as it is written: 1 is the first layer, 1.0 the last

  open(state) {
    for (const name of ["candidate", "reference", "layer"]) if (state.has(name)) $(`#${name}`).value = state.get(name);
    if (state.has("model")) $("#model").value = state.get("model");
    if (state.has("metrics")) for (const one of $$("#metrics input")) one.checked = state.get("metrics").split(",").includes(one.value);
    this.run();
  }

  state() {
    return new URLSearchParams({ ...this.texts, model: $("#model").value, layer: $("#layer").value, metrics: this.metrics.join(",") });
  }

  async run() {
    this.remember();
    const done = busy($("#views"));
    try {
      await this.explain();
    } catch (error) {
      $("#views").replaceChildren();
      $("#sentences-status").textContent = "";
      showError($("#sentences-error"), error);
    }
    done();
  }

  get asked() {
    return { ...this.texts, metrics: this.metrics, model: $("#model").value, layer: this.layer };
  }

  async explained(signal) {
    if (!this.metrics.length) {
      $("#sentences-status").textContent = "Choose a metric.";
      $("#views").replaceChildren();
      showError($("#sentences-error"), null);
      return;
    }
    const why = await post("explain", this.asked, signal);
    showError($("#sentences-error"), null);
    $("#views").replaceChildren(...why.metrics.map((view) => viewOf(why, view)));
    $("#sentences-status").textContent = why.metrics.map((view) => `${view.metric} F ${fixed(view.score)}`).join(", ");
  }

  link() { return location.href; }

  command() {
    const { candidate, reference } = this.texts;
    const metrics = this.metrics.map((name) => ` --metric ${name}`).join("");
    return `softset explain${metrics} --model ${shell($("#model").value)} --layer=${shell(this.layer)} -- ${shell(candidate)} ${shell(reference)}`;
  }

  curl() { return curl("explain", this.asked); }

  python() {
    const { candidate, reference } = this.texts;
    const scorer = `scorer = softset.Scorer(${python($("#model").value)}, layer=${python(this.layer)})`;
    const metrics = `[${this.metrics.map(python).join(", ")}]`;
    return `import softset\n\n${scorer}\nwhy = scorer.explain(${python(candidate)}, ${python(reference)}, metrics=${metrics})\nprint(why.to_text())\n`;
  }
}

function viewOf(why, view) {
  const words = h("p.why", { "aria-live": "polite" }, "Point at a token, or move to it with Tab, to see what answers it.");
  const sides = Object.fromEntries(["candidate", "reference"].map((name) => [name, tokensOf(why[name])]));
  for (const [name, other] of [["candidate", "reference"], ["reference", "candidate"]]) {
    sides[name].tokens.forEach((token, at) => coloured(token, { view, why, name, other, at, sides, words }));
  }
  return h("section", { "aria-label": view.metric, "data-metric": view.metric },
    h("h2", {}, view.metric),
    Object.keys(PARTS).map((part) => measure(view, part)),
    h("p.hint", {}, view.chance ? `The mark is chance: ${view.chance.how}.` : "Its chance level is not known for this model."),
    h("h3", {}, "Candidate"), sides.candidate.shown, h("h3", {}, "Reference"), sides.reference.shown, words);
}

function measure(view, part) {
  const chance = view.chance?.[part];
  const told = `${PARTS[part]} ${fixed(view[part])}${chance === undefined ? "" : `, chance ${fixed(chance)}`}`;
  return h("div.measure", { role: "group", "aria-label": told }, h("span", {}, PARTS[part]),
    h("div.track", { title: told },
      sized(h("div.fill"), "width", percent(view[part])),
      chance === undefined ? null : sized(h("div.chance"), "left", percent(chance))),
    h("output", { "data-part": part }, fixed(view[part])));
}

// The text with its tokens marked where they are; without places, the tokens one after the other.
function tokensOf(side) {
  const tokens = side.tokens.map((token) => h("span.token", { tabindex: "0", role: "button" }, token));
  if (!side.spans) return { tokens, shown: h("p.tokens", {}, tokens.flatMap((one) => [one, " "])) };
  const letters = [...side.text]; // places count characters as Python does, not UTF-16 units
  const parts = [];
  let done = 0;
  side.spans.forEach(([start, end], at) => {
    if (start < done) return parts.push(" ", tokens[at]); // a second token of the same characters
    parts.push(letters.slice(done, start).join(""));
    tokens[at].textContent = letters.slice(start, end).join("") || side.tokens[at];
    parts.push(tokens[at]);
    done = end;
  });
  parts.push(letters.slice(done).join(""));
  return { tokens, shown: h("p.tokens", {}, parts) };
}

function coloured(token, { view, why, name, other, at, sides, words }) {
  const membership = view[`${name}_membership`][at];
  const links = view[`${name}_links`][at];
  const order = links.map((_, place) => place).sort((a, b) => links[b] - links[a]).slice(0, 3);
  const strongest = order.map((place) => `${why[other].tokens[place]} ${fixed(links[place], 2)}`).join(", ");
  const told = `${why[name].tokens[at]}: membership ${fixed(membership, 2)}, weight ${fixed(view[`${name}_weights`][at])}; strongest ${view.links}s: ${strongest}`;
  sized(token, "--share", percent(membership));
  token.setAttribute("aria-label", told);
  token.dataset.membership = fixed(membership);
  const mark = (on) => {
    words.textContent = on ? told : words.textContent;
    token.classList.toggle("linked", on);
    for (const place of order) {
      if (links[place] <= 0) continue;
      const there = sides[other].tokens[place].classList;
      there.toggle("linked", on);
      there.toggle("weak", on && links[place] < WEAK * links[order[0]]);
    }
  };
  for (const [event, on] of [["pointerenter", true], ["pointerleave", false], ["focus", true], ["blur", false]]) {
    token.addEventListener(event, () => mark(on));
  }
}
