// What all tabs share: searches that abort the previous one, status and error messages, and buttons that copy.

import { abortPrevious } from "./api.js";
import { $, $$, busy, copyText, debounce, h, showError } from "./dom.js";

const COPIES = { link: "Copy link", command: "Copy command line", python: "Copy Python", curl: "Copy curl" };

export class Panel {
  constructor(id, results, updateAddress) {
    Object.assign(this, { id, results: $(results), updateAddress });
    this.search = abortPrevious((signal) => this.update(signal));
    this.changed = debounce(300, () => this.run());
    for (const form of $$(`#${id} form`)) form.addEventListener("submit", (event) => { event.preventDefault(); this.run(); });
    $(`#${id} .copies`)?.append(...Object.entries(COPIES).map(([name, label]) => h("button", {
      type: "button", "data-copy": name, onclick: (event) => copyText(this[name](), event.currentTarget),
    }, label)));
  }

  setStatus(text) { $(`#${this.id}-status`).textContent = text; }
  setError(error) { showError($(`#${this.id}-error`), error); }
  clear() { this.results.replaceChildren(); }
  link() { return location.href; }

  async run() {
    this.updateAddress();
    const done = busy(this.results);
    try {
      await this.search();
    } catch (error) {
      this.clear();
      this.setStatus("");
      this.setError(error);
    }
    done();
  }
}

export const options = (names) => names.map((name) => h("option", { value: name }, name));
