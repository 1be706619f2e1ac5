// The tab of sets: boxes or text in, results by one logic or several side by side, and a map.

import { latest, post } from "./api.js";
import { Boxes } from "./chips.js";
import { curl, python, shell } from "./copying.js";
import { $, $$, busy, copied, h, settled, showError } from "./dom.js";
import { failureOf, hitsOf } from "./hits.js";
import { captionOf, mapOf } from "./map.js";
import { boxesOf, queryOf } from "./query.js";

// Each logic, what it is, and which of the two numbers it has.
const LOGICS = {
  logistic: ["memberships are chances (default)", null],
  lattice: ["the paper's", "alpha"],
  graded: ["graded sets", "aperture"],
  product: ["products of memberships", "aperture"],
  minmax: ["the least and the largest membership", "aperture"],
};
const USUAL = { alpha: 0.5, aperture: 2 };
const START = "{red, blue, green} & {apple, peach, banana}";

export class Sets {
  constructor(offers, remember) {
    this.remember = remember;
    this.unknown = [];
    this.boxes = new Boxes($("#boxes"), () => this.changed());
    $("#where").replaceChildren(
      ...offers.vectors.map((name) => h("option", { value: `vectors ${name}` }, name)),
      ...offers.collections.map((name) => h("option", { value: `collection ${name}` }, `${name} (collection)`)));
    $("#logics").append(...Object.entries(LOGICS).map(([name, [about]]) => h("label", { title: about },
      h("input", { type: "checkbox", name: "logic", value: name, checked: name === "logistic" }), ` ${name}`)));
    this.search = latest((signal) => this.searched(signal));
    this.changed = settled(250, () => this.run());
    for (const field of $$("#query, #top, #alpha, #aperture")) field.addEventListener("input", this.changed);
    for (const field of $$("#where, #logics")) field.addEventListener("change", this.changed);
    $("#sets form").addEventListener("submit", (event) => { event.preventDefault(); this.run(); });
    $("#as-boxes").addEventListener("click", () => this.show("boxes"));
    $("#as-text").addEventListener("click", () => this.show("text"));
    for (const button of $$("#sets [data-copy]")) {
      button.addEventListener("click", () => copied(this[button.dataset.copy](), button));
    }
  }

  get asText() { return !$("#typed").hidden; }
  get query() { return this.asText ? $("#query").value.trim() : queryOf(this.boxes.boxes); }
  get logics() { return $$("#logics input:checked").map((one) => one.value); }
  get top() { return Math.min(Math.max(Number.parseInt($("#top").value, 10) || 10, 1), 100); }
  get where() { return Object.fromEntries([$("#where").value.split(/ (.*)/s).slice(0, 2)]); }

  // The number that a logic has, where it is not the usual one.
  parameter(logic) {
    const name = LOGICS[logic][1];
    const value = name && Number($(`#${name}`).value);
    return name && Number.isFinite(value) && value !== USUAL[name] ? { [name]: value } : {};
  }

  asked(logic) {
    return { query: this.query, top: this.top, logic, ...this.parameter(logic), ...this.where };
  }

  show(how) {
    const text = how === "text";
    if (text && !this.asText) $("#query").value = this.query;
    if (!text && this.asText) {
      const boxes = $("#query").value.trim() ? boxesOf($("#query").value) : [];
      if (!boxes) {
        showError($("#sets-error"), new Error("Boxes cannot show this query: they are sets joined one after the other."));
        return;
      }
      this.boxes.set(boxes);
    }
    this.swap(text);
    showError($("#sets-error"), null);
    this.changed();
  }

  swap(text) {
    $("#typed").hidden = !text;
    $("#boxes").hidden = text;
    $("#as-text").setAttribute("aria-pressed", text);
    $("#as-boxes").setAttribute("aria-pressed", !text);
  }

  // From a link, or the start.
  open(state) {
    const query = state.get("q") ?? START;
    const boxes = query ? boxesOf(query) : [];
    $("#query").value = query;
    this.boxes.set(boxes ?? []);
    this.swap(!boxes);
    const chosen = (state.get("logics") ?? "logistic").split(",");
    for (const one of $$("#logics input")) one.checked = chosen.includes(one.value);
    for (const name of ["top", "alpha", "aperture"]) if (state.get(name)) $(`#${name}`).value = state.get(name);
    $("#top").value = this.top;
    const known = [...$("#where").options].map((one) => one.value);
    this.missing = state.get("where") && !known.includes(state.get("where")) ? state.get("where") : null;
    $("#where").value = this.missing ? "" : state.get("where") ?? known[0];
    this.run();
  }

  state() {
    const numbers = Object.fromEntries(Object.keys(USUAL).map((name) => [name, $(`#${name}`).value]).filter(([name, value]) => Number(value) !== USUAL[name]));
    return new URLSearchParams({ q: this.query, logics: this.logics.join(","), top: this.top, where: $("#where").value, ...numbers });
  }

  async run() {
    this.remember();
    const done = busy($("#results"));
    try {
      await this.search();
    } catch (error) {
      this.draw([], null);
      $("#sets-status").textContent = "";
      showError($("#sets-error"), error);
    }
    done();
  }

  // What is to be done before anything can be searched, or "".
  wanting() {
    if (!$("#where").value) return `This server does not offer ${this.missing ?? "anything to search"}: choose what to search.`;
    if (!this.query) return "Add an example to begin.";
    if (!this.logics.length) return "Choose a logic.";
    return this.asText || this.boxes.boxes[0].examples.length ? "" : "Set 1 is empty: add an example, or remove the set.";
  }

  async searched(signal) {
    const { logics } = this;
    const wanting = this.wanting();
    for (const button of $$("#sets [data-copy]")) {
      const folder = Boolean(this.where.collection) && ["command", "python"].includes(button.dataset.copy);
      button.disabled = Boolean(wanting) || folder;
      button.title = folder ? "The folder of this collection is the server's: copy curl" : "";
    }
    if (wanting) {
      this.draw([], null);
      showError($("#sets-error"), null);
      $("#sets-status").textContent = wanting;
      return;
    }
    const begun = performance.now();
    const found = await Promise.allSettled(logics.map((logic) => post("find", { ...this.asked(logic), explain: true, skip_unknown: true }, signal)));
    signal.throwIfAborted();
    const first = found.findIndex((one) => one.status === "fulfilled");
    if (first < 0 && (found.length === 1 || new Set(found.map((one) => one.reason.message)).size === 1)) throw found[0].reason;
    const map = first < 0 ? null : await post("map", { ...this.asked(logics[first]), top: Math.min(this.top, 30), skip_unknown: true }, signal);
    showError($("#sets-error"), null);
    this.draw(found, map);
    this.unknown = first < 0 ? [] : found[first].value.unknown ?? [];
    this.boxes.mark(this.unknown);
    const left = this.unknown.length ? `; no vector, left out: ${this.unknown.join(", ")}` : "";
    const count = first < 0 ? 0 : found[first].value.results.length;
    $("#sets-status").textContent = `${count} results in ${Math.round(performance.now() - begun)} ms${left}`;
  }

  draw(found, map) {
    const names = found.map((one) => new Set((one.value?.results ?? []).map((hit) => hit.id)));
    $("#results").replaceChildren(...found.map((one, at) => {
      if (!one.value) return failureOf(this.logics[at], one.reason);
      const others = names.filter((_, other) => other !== at && found[other].value);
      const elsewhere = others.length ? new Set(others.flatMap((some) => [...some])) : null;
      return hitsOf(one.value, { title: one.value.logic, elsewhere });
    }));
    $("#map").hidden = !map;
    if (map) { // its width is known once it is shown
      $("#map div").replaceChildren(mapOf(map, $("#map div").clientWidth));
      $("#map figcaption").textContent = captionOf(map);
    }
  }

  link() { return location.href; }

  command() {
    return this.logics.map((logic) => {
      const number = Object.entries(this.parameter(logic)).map(([name, value]) => ` --${name} ${value}`).join("");
      const skip = this.unknown.length ? " --skip-unknown" : "";
      return `softset find --top ${this.top} --logic ${logic}${number} --vectors ${shell(this.where.vectors)}${skip} -- ${shell(this.query)}`;
    }).join("\n");
  }

  python() {
    const searches = this.logics.map((logic) => {
      const number = Object.entries(this.parameter(logic)).map(([name, value]) => `, ${name}=${value}`).join("");
      const skip = this.unknown.length ? ", skip_unknown=True" : "";
      return `print(words.find(${python(this.query)}, top=${this.top}, logic=${python(logic)}${number}${skip}))`;
    });
    return `import softset\n\nwords = softset.load_words(${python(this.where.vectors)})\n${searches.join("\n")}\n`;
  }

  curl() {
    return this.logics.map((logic) => curl("find", { ...this.asked(logic), ...(this.unknown.length ? { skip_unknown: true } : {}) })).join("\n");
  }
}
