// The tab of one's own items: lines go to the server in parts, and are then searched by sets.

import { latest, post, remove } from "./api.js";
import { $, busy, h, settled, showError } from "./dom.js";
import { hitsOf } from "./hits.js";

const AT_ONCE = 200; // lines that are sent together, and their letters: so that every part is quickly done
const LETTERS = 20_000;
const LARGEST = 20_000_000; // bytes of a file that a browser should read into a field
const START = "A storm at sea\nThe captain left the harbour\nBread and butter\nWar on the ocean\nA quiet garden\nThe recipe wants two eggs\nSailing around the world\nThe battle was lost";
const INSTEAD = "softset index reads tables and large files, and softset serve --in offers them.";

function partOf(lines, start) {
  let stop = start + 1;
  for (let letters = lines[start].length; stop < lines.length && stop < start + AT_ONCE; stop += 1) {
    letters += lines[stop].length;
    if (letters > LETTERS) break;
  }
  return lines.slice(start, stop);
}

export class Items {
  constructor(offers, remember) {
    this.remember = remember;
    this.collection = null;
    this.most = offers.limits.items;
    $("#lines").value = START;
    $("#items-model").replaceChildren(...offers.models.map((name) => h("option", { value: name }, name)));
    $("#index").addEventListener("click", () => this.index());
    $("#file").addEventListener("change", (event) => this.read(event.target.files[0]));
    window.addEventListener("dragover", (event) => event.preventDefault()); // else the browser leaves for the file
    window.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      if (!$("#items").hidden) this.read(event.dataTransfer.files[0]);
    });
    this.search = latest((signal) => this.searched(signal));
    this.changed = settled(300, () => this.run());
    $("#items-query").addEventListener("input", this.changed);
    $("#search-items").addEventListener("submit", (event) => { event.preventDefault(); this.run(); });
  }

  fail(sentence) { showError($("#items-error"), new Error(sentence)); }

  async read(file) {
    if (!file) return;
    if (file.size > LARGEST) return this.fail(`${file.name} is too large for a page: ${INSTEAD}`);
    if (/\.(tsv|csv|jsonl?|parquet)$/i.test(file.name)) return this.fail(`${file.name} is a table, and this takes lines: ${INSTEAD}`);
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      return this.fail(`${file.name} is no text in UTF-8: convert it first.`);
    }
    if (text.includes("\0")) return this.fail(`${file.name} is no text.`);
    $("#lines").value = text;
    showError($("#items-error"), null);
    $("#items-status").textContent = `${file.name} is read: index its lines.`;
  }

  async index() {
    const lines = $("#lines").value.split("\n").map((line) => line.replace(/\r$/, "")).filter((line) => line.trim());
    const [button, bar] = [$("#index"), $("#indexed")];
    if (!lines.length) return this.fail("There are no lines: type some, or drop a file.");
    if (lines.length > this.most) return this.fail(`There are ${lines.length} lines, and this server takes ${this.most}: ${INSTEAD}`);
    button.disabled = true;
    bar.hidden = false;
    $("#items-status").textContent = "Indexing";
    try {
      const before = this.collection;
      let facts = null;
      for (let at = 0; at < lines.length;) {
        bar.value = at / lines.length;
        const texts = partOf(lines, at);
        at += texts.length;
        facts = facts
          ? await post(`collections/${facts.collection}/items`, { texts })
          : await post("collections", { texts, model: $("#items-model").value });
      }
      this.facts = facts;
      this.collection = facts.collection;
      if (before) remove(`collections/${before}`).catch(() => null);
      $("#search-items").hidden = false;
      $("#items-query").focus();
      await this.run();
    } catch (error) {
      $("#items-status").textContent = "";
      showError($("#items-error"), error);
    } finally {
      button.disabled = false;
      bar.hidden = true;
    }
  }

  // A link brings back what was dropped, as long as the server has it.
  open(state) {
    if (state.has("q")) $("#items-query").value = state.get("q");
    if (!state.has("collection")) return;
    this.collection = state.get("collection");
    this.facts = null;
    $("#search-items").hidden = false;
    this.run();
  }

  state() {
    return new URLSearchParams(this.collection ? { collection: this.collection, q: $("#items-query").value } : {});
  }

  async run() {
    if (!this.collection) return;
    this.remember();
    const done = busy($("#found"));
    try {
      await this.search();
    } catch (error) {
      $("#found").replaceChildren();
      $("#items-status").textContent = "";
      showError($("#items-error"), error);
    }
    done();
  }

  async searched(signal) {
    const query = $("#items-query").value.trim();
    showError($("#items-error"), null);
    if (!query) return $("#found").replaceChildren();
    const result = await post("find", { query, collection: this.collection, top: 20, explain: true }, signal);
    $("#found").replaceChildren(hitsOf(result, { title: "Lines that belong" }));
    const blank = this.facts?.blank ? `, of which ${this.facts.blank} cannot be read` : "";
    $("#items-status").textContent = this.facts ? `${this.facts.items} lines${blank}` : `${result.results.length} results`;
  }
}
