// The tab of one's own items: lines go to the server in parts, and are then searched by sets.

import { latest, post, remove } from "./api.js";
import { $, h, settled, showError } from "./dom.js";
import { hitsOf } from "./hits.js";

const AT_ONCE = 200;
const LARGEST = 20_000_000; // bytes of a file that a browser should read into a field
const START = "A storm at sea\nThe captain left the harbour\nBread and butter\nWar on the ocean\nA quiet garden\nThe recipe wants two eggs\nSailing around the world\nThe battle was lost";

export class Items {
  constructor(offers) {
    this.collection = null;
    $("#lines").value = START;
    $("#items-model").replaceChildren(...offers.models.map((name) => h("option", { value: name }, name)));
    $("#index").addEventListener("click", () => this.index());
    $("#file").addEventListener("change", (event) => this.read(event.target.files[0]));
    $("#lines").addEventListener("dragover", (event) => event.preventDefault());
    $("#lines").addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      this.read(event.dataTransfer.files[0]);
    });
    this.search = latest((signal) => this.searched(signal));
    this.changed = settled(300, () => this.run());
    $("#items-query").addEventListener("input", this.changed);
    $("#search-items").addEventListener("submit", (event) => { event.preventDefault(); this.run(); });
  }

  async read(file) {
    if (!file) return;
    if (file.size > LARGEST) return showError($("#items-error"), new Error(`${file.name} is too large for a page: index it with softset index, and serve it with softset serve --in.`));
    $("#lines").value = await file.text();
    showError($("#items-error"), null);
    $("#items-status").textContent = `${file.name} is read: index its lines.`;
  }

  async index() {
    const lines = $("#lines").value.split("\n").map((line) => line.replace(/\r$/, "")).filter((line) => line.trim());
    const [button, bar] = [$("#index"), $("#indexed")];
    if (!lines.length) return showError($("#items-error"), new Error("There are no lines: type some, or drop a file."));
    button.disabled = true;
    bar.hidden = false;
    try {
      if (this.collection) await remove(`collections/${this.collection}`).catch(() => null);
      this.collection = null;
      for (let at = 0; at < lines.length; at += AT_ONCE) {
        bar.value = at / lines.length;
        const texts = lines.slice(at, at + AT_ONCE);
        this.facts = this.collection
          ? await post(`collections/${this.collection}/items`, { texts })
          : await post("collections", { texts, model: $("#items-model").value });
        this.collection = this.facts.collection;
      }
      showError($("#items-error"), null);
      $("#search-items").hidden = false;
      $("#items-query").focus();
      await this.run();
    } catch (error) {
      showError($("#items-error"), error);
    } finally {
      button.disabled = false;
      bar.hidden = true;
    }
  }

  open() {}

  state() { return new URLSearchParams(); }

  async run() {
    if (!this.collection) return;
    try {
      await this.search();
    } catch (error) {
      $("#found").replaceChildren();
      showError($("#items-error"), error);
    }
  }

  async searched(signal) {
    const query = $("#items-query").value.trim();
    if (!query) return $("#found").replaceChildren();
    const result = await post("find", { query, collection: this.collection, top: 20, explain: true }, signal);
    showError($("#items-error"), null);
    $("#found").replaceChildren(hitsOf(result, { title: "Lines that belong" }));
    const blank = this.facts.blank ? `, of which ${this.facts.blank} cannot be read` : "";
    $("#items-status").textContent = `${this.facts.items} lines${blank}`;
  }
}
