// The tab "Your items": upload texts in batches, then search them with set queries.

import { post, remove } from "./api.js";
import { $ } from "./dom.js";
import { Panel, options } from "./panel.js";
import { renderResult } from "./results.js";

const BATCH_LINES = 200; // small batches, so that the progress bar moves
const BATCH_CHARACTERS = 20_000;
const MAX_FILE_BYTES = 20_000_000;
const EXAMPLE = "A storm at sea\nThe captain left the harbour\nBread and butter\nWar on the ocean\nA quiet garden\nThe recipe needs two eggs\nSailing around the world\nThe battle was lost";
const ALTERNATIVE = "use softset index for tables and large files, then softset serve --collection.";

function nextBatch(lines, start) {
  let stop = start + 1;
  for (let characters = lines[start].length; stop < lines.length && stop < start + BATCH_LINES; stop += 1) {
    characters += lines[stop].length;
    if (characters > BATCH_CHARACTERS) break;
  }
  return lines.slice(start, stop);
}

export class Items extends Panel {
  constructor(resources, updateAddress) {
    super("items", "#items-results", updateAddress);
    this.collection = null;
    this.maxItems = resources.limits.items;
    $("#lines").value = EXAMPLE;
    $("#items-model").replaceChildren(...options(resources.models));
    $("#index").addEventListener("click", () => this.index());
    $("#file").addEventListener("change", (event) => this.read(event.target.files[0]));
    window.addEventListener("dragover", (event) => event.preventDefault()); // otherwise the browser opens the file
    window.addEventListener("drop", (event) => {
      if (!event.dataTransfer.files.length) return;
      event.preventDefault();
      if (!$("#items").hidden) this.read(event.dataTransfer.files[0]);
    });
    $("#items-query").addEventListener("input", this.changed);
  }

  fail(message) { this.setError(new Error(message)); }

  async read(file) {
    if (!file) return;
    if (file.size > MAX_FILE_BYTES) return this.fail(`${file.name} is too large for this page: ${ALTERNATIVE}`);
    if (/\.(tsv|csv|jsonl?|parquet)$/i.test(file.name)) return this.fail(`${file.name} is a table, but this page reads lines of text: ${ALTERNATIVE}`);
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      return this.fail(`${file.name} is not a UTF-8 text file: convert it first.`);
    }
    if (text.includes("\0")) return this.fail(`${file.name} is not a text file.`);
    $("#lines").value = text;
    this.setError(null);
    this.setStatus(`${file.name} is loaded: select Index.`);
  }

  async index() {
    const lines = $("#lines").value.split("\n").map((line) => line.replace(/\r$/, "")).filter((line) => line.trim());
    const [button, bar] = [$("#index"), $("#indexed")];
    if (!lines.length) return this.fail("There are no texts: type or paste some, or choose a file.");
    if (lines.length > this.maxItems) return this.fail(`There are ${lines.length} texts, but this server accepts at most ${this.maxItems}: ${ALTERNATIVE}`);
    button.disabled = true;
    bar.hidden = false;
    this.setStatus("Indexing...");
    try {
      const previous = this.collection;
      let info = null;
      for (let start = 0; start < lines.length;) {
        bar.value = start / lines.length;
        const texts = nextBatch(lines, start);
        start += texts.length;
        info = info
          ? await post(`collections/${info.collection}/items`, { texts })
          : await post("collections", { texts, model: $("#items-model").value });
      }
      this.info = info;
      this.collection = info.collection;
      if (previous) remove(`collections/${previous}`).catch(() => null);
      $("#search-items").hidden = false;
      $("#items-query").focus();
      await this.run();
    } catch (error) {
      this.setStatus("");
      this.setError(error);
    } finally {
      button.disabled = false;
      bar.hidden = true;
    }
  }

  // Open the collection of a link, if the server still has it.
  open(state) {
    if (state.has("q")) $("#items-query").value = state.get("q");
    if (!state.has("collection")) return;
    this.collection = state.get("collection");
    this.info = null;
    $("#search-items").hidden = false;
    this.run();
  }

  state() {
    return new URLSearchParams(this.collection ? { collection: this.collection, q: $("#items-query").value } : {});
  }

  async run() {
    if (this.collection) await super.run();
  }

  async update(signal) {
    const query = $("#items-query").value.trim();
    this.setError(null);
    if (!query) return this.clear();
    const result = await post("find", { query, collection: this.collection, top: 20, explain: true }, signal);
    this.results.replaceChildren(renderResult(result, { title: "Matching texts" }));
    const skipped = this.info?.without_vector ? `, ${this.info.without_vector} without a vector, which searches cannot find` : "";
    this.setStatus(this.info ? `${this.info.items} texts${skipped}` : `${result.results.length} results`);
  }
}
