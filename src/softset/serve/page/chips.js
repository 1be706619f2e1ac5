// A box of example words: each a chip that can be taken away, and a field for more.

import { $, h } from "./dom.js";
import { OPERATORS } from "./query.js";

export class Boxes {
  constructor(place, changed) {
    this.place = place;
    this.changed = changed;
    this.boxes = [];
  }

  set(boxes) {
    this.boxes = boxes.length ? boxes : [{ operator: "&", examples: [] }];
    this.draw();
  }

  draw(focus = null) {
    const rows = this.boxes.map((box, at) => this.row(box, at));
    const more = h("button", { type: "button", id: "add-box", onclick: () => this.more() }, "Add a set");
    this.place.replaceChildren(...rows, h("div", {}, more));
    if (focus !== null) $(`#example-${focus}`)?.focus();
  }

  row(box, at) {
    const field = h("input", {
      type: "text", id: `example-${at}`, spellcheck: "false", enterkeyhint: "enter", placeholder: "add an example",
      "aria-label": `Add an example to set ${at + 1}; Enter or a comma ends it`,
      onkeydown: (event) => this.pressed(event, at), onblur: () => this.taken(at),
      oninput: () => { if (/[,\n]/.test(field.value)) this.taken(at, true); },
    });
    const chips = box.examples.map((example, place) => h("li", {}, example, h("button", {
      type: "button", "aria-label": `Remove ${example}`, onclick: () => this.without(at, place),
    }, "×")));
    const list = h("ul", { "aria-label": `Examples of set ${at + 1}` }, chips);
    return h("div.box", { role: "group", "aria-label": `Set ${at + 1}` },
      at ? this.operator(box, at) : null,
      h(`div.chips.own${at % 6}`, {}, list, field),
      at ? h("button", { type: "button", "aria-label": `Remove set ${at + 1}`, onclick: () => this.remove(at) }, "×") : null);
  }

  operator(box, at) {
    const choices = Object.entries(OPERATORS).map(([mark, word]) => h("option", { value: mark, selected: mark === box.operator }, word));
    return h("select", {
      "aria-label": `How set ${at + 1} is joined`, onchange: (event) => { box.operator = event.target.value; this.changed(); },
    }, choices);
  }

  pressed(event, at) {
    if (event.key === "Enter") {
      event.preventDefault();
      this.taken(at, true);
    } else if (event.key === "Backspace" && !event.target.value && this.boxes[at].examples.length) {
      event.preventDefault();
      this.without(at, this.boxes[at].examples.length - 1);
    }
  }

  taken(at, focus = false) {
    const words = $(`#example-${at}`).value.split(/[,\n]/).map((word) => word.trim()).filter(Boolean);
    if (!words.length) return;
    const box = this.boxes[at];
    box.examples.push(...words.filter((word) => !box.examples.includes(word)));
    this.draw(focus ? at : null);
    this.changed();
  }

  without(at, place) {
    this.boxes[at].examples.splice(place, 1);
    this.draw(at);
    this.changed();
  }

  more() {
    this.boxes.push({ operator: "&", examples: [] });
    this.draw(this.boxes.length - 1);
  }

  remove(at) {
    this.boxes.splice(at, 1);
    this.draw(at - 1);
    this.changed();
  }
}
