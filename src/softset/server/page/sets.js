// The tab "Sets": a query as a form or as text, results of one or more logics, and a 2-D projection.

import { post } from "./api.js";
import { Boxes } from "./chips.js";
import { $, $$, h } from "./dom.js";
import { mapCaption, renderMap } from "./map.js";
import { Panel } from "./panel.js";
import { formatQuery, parseBoxes } from "./query.js";
import { renderFailure, renderResult } from "./results.js";
import { curl, python, shell } from "./snippets.js";

// Each logic with a description and the name of its parameter.
const LOGICS = {
  logistic: ["log-odds are combined (default)", null],
  lattice: ["the paper's logic of subspaces", "alpha"],
  graded: ["graded sets (conceptors)", "aperture"],
};
const DEFAULTS = { alpha: 0.5, aperture: 2 };
const EXAMPLE = "{red, blue, green} & {apple, peach, banana}";

export class Sets extends Panel {
  constructor(resources, updateAddress) {
    super("sets", "#results", updateAddress);
    this.unknown = [];
    this.boxes = new Boxes($("#boxes"), () => this.changed());
    $("#source").replaceChildren(
      ...resources.vectors.map((name) => h("option", { value: `vectors ${name}` }, name)),
      ...resources.collections.map((name) => h("option", { value: `collection ${name}` }, `${name} (collection)`)));
    $("#logics").append(...Object.entries(LOGICS).map(([name, [description]]) => h("label", { title: description },
      h("input", { type: "checkbox", name: "logic", value: name, checked: name === "logistic" }), ` ${name}`)));
    for (const field of $$("#query, #top, #alpha, #aperture")) field.addEventListener("input", this.changed);
    for (const field of $$("#source, #logics")) field.addEventListener("change", this.changed);
    $("#as-boxes").addEventListener("click", () => this.show("boxes"));
    $("#as-text").addEventListener("click", () => this.show("text"));
  }

  get asText() { return !$("#typed").hidden; }
  get query() { return this.asText ? $("#query").value.trim() : formatQuery(this.boxes.boxes); }
  get logics() { return $$("#logics input:checked").map((box) => box.value); }
  get top() { return Math.min(Math.max(Number.parseInt($("#top").value, 10) || 10, 1), 100); }
  get source() { return Object.fromEntries([$("#source").value.split(/ (.*)/s).slice(0, 2)]); }

  // The parameter of a logic, if it is not the default.
  parameter(logic) {
    const name = LOGICS[logic][1];
    const value = name && Number($(`#${name}`).value);
    return name && Number.isFinite(value) && value !== DEFAULTS[name] ? { [name]: value } : {};
  }

  body(logic) {
    return { query: this.query, top: this.top, logic, ...this.parameter(logic), ...this.source };
  }

  show(mode) {
    const text = mode === "text";
    if (text && !this.asText) $("#query").value = this.query;
    if (!text && this.asText) {
      const boxes = $("#query").value.trim() ? parseBoxes($("#query").value) : [];
      if (!boxes) {
        this.setError(new Error("The form can only show sets that are combined from left to right: edit the query as text."));
        return;
      }
      this.boxes.set(boxes);
    }
    this.setMode(text);
    this.setError(null);
    this.changed();
  }

  setMode(text) {
    $("#typed").hidden = !text;
    $("#boxes").hidden = text;
    $("#as-text").setAttribute("aria-pressed", text);
    $("#as-boxes").setAttribute("aria-pressed", !text);
  }

  // Restore the state of a link, or show the example.
  open(state) {
    const query = state.get("q") ?? EXAMPLE;
    const boxes = query ? parseBoxes(query) : [];
    $("#query").value = query;
    this.boxes.set(boxes ?? []);
    this.setMode(!boxes);
    const selected = (state.get("logics") ?? "logistic").split(",");
    for (const box of $$("#logics input")) box.checked = selected.includes(box.value);
    for (const name of ["top", "alpha", "aperture"]) if (state.get(name)) $(`#${name}`).value = state.get(name);
    $("#top").value = this.top;
    const known = [...$("#source").options].map((option) => option.value);
    this.missing = state.get("source") && !known.includes(state.get("source")) ? state.get("source") : null;
    $("#source").value = this.missing ? "" : state.get("source") ?? known[0];
    this.run();
  }

  state() {
    const parameters = Object.fromEntries(Object.keys(DEFAULTS).map((name) => [name, $(`#${name}`).value]).filter(([name, value]) => Number(value) !== DEFAULTS[name]));
    return new URLSearchParams({ q: this.query, logics: this.logics.join(","), top: this.top, source: $("#source").value, ...parameters });
  }

  clear() { this.draw([], null); }

  // The reason why nothing can be searched, or "".
  missingInput() {
    if (this.missing && !$("#source").value) return `The link names the ${this.missing.replace(/^vectors/, "word vectors")}, which this server does not have: select what to search.`;
    if (!$("#source").value) return "This server has no word vectors and no collections.";
    if (!this.query) return "Add an example to begin.";
    if (!this.logics.length) return "Select a logic.";
    return this.asText || this.boxes.boxes[0].examples.length ? "" : "Set 1 is empty: add an example or remove the set.";
  }

  async update(signal) {
    const { logics } = this;
    const missing = this.missingInput();
    for (const button of $$("#sets [data-copy]")) {
      const disabled = Boolean(this.source.collection) && ["command", "python"].includes(button.dataset.copy);
      button.disabled = Boolean(missing) || disabled;
      button.title = disabled ? "This collection is on the server: use Copy curl" : "";
    }
    if (missing) {
      this.clear();
      this.setError(null);
      this.setStatus(missing);
      return;
    }
    const start = performance.now();
    const outcomes = await Promise.allSettled(logics.map((logic) => post("find", { ...this.body(logic), explain: true, skip_unknown: true }, signal)));
    signal.throwIfAborted();
    const first = outcomes.findIndex((outcome) => outcome.status === "fulfilled");
    if (first < 0 && (outcomes.length === 1 || new Set(outcomes.map((outcome) => outcome.reason.message)).size === 1)) throw outcomes[0].reason;
    const map = first < 0 ? null : await post("map", { ...this.body(logics[first]), top: Math.min(this.top, 30), skip_unknown: true }, signal);
    this.setError(null);
    this.draw(outcomes, map);
    this.unknown = first < 0 ? [] : outcomes[first].value.unknown ?? [];
    this.boxes.mark(this.unknown);
    const skipped = this.unknown.length ? `; skipped because they have no vector: ${this.unknown.join(", ")}` : "";
    const count = first < 0 ? 0 : outcomes[first].value.results.length;
    this.setStatus(`${count} results in ${Math.round(performance.now() - start)} ms${skipped}`);
  }

  draw(outcomes, map) {
    const ids = outcomes.map((outcome) => new Set((outcome.value?.results ?? []).map((hit) => hit.id)));
    this.results.replaceChildren(...outcomes.map((outcome, index) => {
      if (!outcome.value) return renderFailure(this.logics[index], outcome.reason);
      const others = ids.filter((_, other) => other !== index && outcomes[other].value);
      const otherIds = others.length ? new Set(others.flatMap((group) => [...group])) : null;
      return renderResult(outcome.value, { title: outcome.value.logic, otherIds });
    }));
    $("#map").hidden = !map;
    if (map) { // a hidden element has no width
      $("#map div").replaceChildren(renderMap(map, $("#map div").clientWidth));
      $("#map figcaption").textContent = mapCaption(map);
    }
  }

  command() {
    return this.logics.map((logic) => {
      const parameters = Object.entries(this.parameter(logic)).map(([name, value]) => ` --${name} ${value}`).join("");
      const skip = this.unknown.length ? " --skip-unknown" : "";
      return `softset find --top ${this.top} --logic ${logic}${parameters} --vectors ${shell(this.source.vectors)}${skip} -- ${shell(this.query)}`;
    }).join("\n");
  }

  python() {
    const searches = this.logics.map((logic) => {
      const parameters = Object.entries(this.parameter(logic)).map(([name, value]) => `, ${name}=${value}`).join("");
      const skip = this.unknown.length ? ", skip_unknown=True" : "";
      return `print(words.find(${python(this.query)}, top=${this.top}, logic=${python(logic)}${parameters}${skip}))`;
    });
    return `import softset\n\nwords = softset.load_words(${python(this.source.vectors)})\n${searches.join("\n")}\n`;
  }

  curl() {
    return this.logics.map((logic) => curl("find", { ...this.body(logic), ...(this.unknown.length ? { skip_unknown: true } : {}) })).join("\n");
  }
}
