// The tab of sets: boxes or text in, results by one logic or several side by side, and a map.

import { latest, post } from "./api.js";
import { Boxes } from "./chips.js";
import { $, $$, copied, h, settled, showError } from "./dom.js";
import { hitsOf } from "./hits.js";
import { captionOf, mapOf } from "./map.js";
import { boxesOf, python, queryOf, shell } from "./query.js";

const LOGICS = { logistic: "memberships are chances (default)", lattice: "the paper's", graded: "graded sets", product: "products of memberships", minmax: "the least and the largest membership" };
const START = "{red, blue, green} & {apple, peach, banana}";

export class Sets {
  constructor(offers, remember) {
    this.remember = remember;
    this.boxes = new Boxes($("#boxes"), () => this.changed());
    $("#where").replaceChildren(
      ...offers.vectors.map((name) => h("option", { value: `vectors ${name}` }, name)),
      ...offers.collections.map((name) => h("option", { value: `collection ${name}` }, `${name} (collection)`)));
    $("#logics").append(...Object.entries(LOGICS).map(([name, about]) => h("label", { title: about },
      h("input", { type: "checkbox", name: "logic", value: name, checked: name === "logistic" }), ` ${name}`)));
    this.search = latest((signal) => this.searched(signal));
    this.changed = settled(250, () => this.run());
    for (const field of [$("#query"), $("#top")]) field.addEventListener("input", this.changed);
    for (const field of [$("#where"), $("#logics")]) field.addEventListener("change", this.changed);
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
    $("#typed").hidden = !text;
    $("#boxes").hidden = text;
    $("#as-text").setAttribute("aria-pressed", text);
    $("#as-boxes").setAttribute("aria-pressed", !text);
    showError($("#sets-error"), null);
    this.changed();
  }

  // From a link, or the start.
  open(state) {
    const query = state.get("q") ?? START;
    const boxes = boxesOf(query);
    $("#query").value = query;
    this.boxes.set(boxes ?? []);
    $("#typed").hidden = Boolean(boxes);
    $("#boxes").hidden = !boxes;
    $("#as-text").setAttribute("aria-pressed", !boxes);
    $("#as-boxes").setAttribute("aria-pressed", Boolean(boxes));
    const chosen = (state.get("logics") ?? "logistic").split(",");
    for (const one of $$("#logics input")) one.checked = chosen.includes(one.value);
    if (state.get("top")) $("#top").value = state.get("top");
    if (state.get("where")) $("#where").value = state.get("where");
    this.run();
  }

  state() {
    return new URLSearchParams({ q: this.query, logics: this.logics.join(","), top: this.top, where: $("#where").value });
  }

  async run() {
    this.remember();
    try {
      await this.search();
    } catch (error) {
      this.draw([], null);
      $("#sets-status").textContent = "";
      showError($("#sets-error"), error);
    }
  }

  async searched(signal) {
    const { query, logics } = this;
    if (!query || !logics.length) {
      this.draw([], null);
      showError($("#sets-error"), null);
      $("#sets-status").textContent = query ? "Choose a logic." : "Add an example to begin.";
      return;
    }
    const asked = { query, top: this.top, ...this.where };
    const begun = performance.now();
    const found = await Promise.all(logics.map((logic) => post("find", { ...asked, logic, explain: true }, signal)));
    const map = await post("map", { ...asked, logic: logics[0], top: Math.min(asked.top, 30) }, signal);
    showError($("#sets-error"), null);
    this.draw(found, map);
    $("#sets-status").textContent = `${found[0].results.length} results in ${Math.round(performance.now() - begun)} ms`;
  }

  draw(found, map) {
    const names = found.map((result) => new Set(result.results.map((hit) => hit.item)));
    $("#results").replaceChildren(...found.map((result, at) => {
      const others = names.filter((_, other) => other !== at);
      const elsewhere = others.length ? new Set(others.flatMap((one) => [...one])) : null;
      return hitsOf(result, { title: result.logic, elsewhere });
    }));
    $("#map").hidden = !map;
    if (map) { // its width is known once it is shown
      $("#map div").replaceChildren(mapOf(map, $("#map div").clientWidth));
      $("#map figcaption").textContent = captionOf(map);
    }
  }

  link() { return location.href; }

  command() {
    const { vectors, collection } = this.where;
    const source = collection ? ` --in ${shell(collection)}` : ` --vectors ${shell(vectors)}`;
    return this.logics.map((logic) => `softset find ${shell(this.query)} --top ${this.top} --logic ${logic}${source}`).join("\n");
  }

  python() {
    const { vectors, collection } = this.where;
    const opened = collection
      ? `from softset.retrieval.encoders import open_collection\n\nitems = open_collection(${python(collection)})`
      : `import softset\n\nitems = softset.load_words(${python(vectors)})`;
    const searches = this.logics.map((logic) => `print(items.find(${python(this.query)}, top=${this.top}, logic=${python(logic)}))`);
    return `${opened}\n${searches.join("\n")}\n`;
  }
}
