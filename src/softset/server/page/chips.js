// A box of example words: each a chip that can be taken away, and a field for more.

import { $, $$, h } from "./dom.js";
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
      onkeydown: (event) => this.pressed(event, at), onblur: () => setTimeout(() => this.taken(at), 200), // a new chip would move what is being clicked
      oninput: () => { if (/[,\n]/.test(field.value)) this.taken(at); },
    });
    const list = h("ul", { "aria-label": `Examples of set ${at + 1}` }, box.examples.map((example) => this.chip(box, at, example)));
    return h("div.box", { role: "group", "aria-label": `Set ${at + 1}` },
      at ? this.operator(box, at) : null,
      h(`div.chips.own${at % 6}`, {}, list, field),
      this.boxes.length > 1 ? h("button", { type: "button", "aria-label": `Remove set ${at + 1}`, onclick: () => this.remove(at) }, "×") : null);
  }

  chip(box, at, example) {
    const chip = h("li", { "data-example": example }, example, h("button", {
      type: "button", "aria-label": `Remove ${example}`, onclick: () => this.without(at, example),
    }, "×"));
    return chip;
  }

  // Marks the examples that have no vector: they are left out.
  mark(unknown) {
    for (const chip of $$("li", this.place)) {
      const missing = unknown.includes(chip.dataset.example);
      chip.classList.toggle("unknown", missing);
      chip.title = missing ? "has no vector here, and is left out" : "";
    }
  }

  operator(box, at) {
    const choices = Object.entries(OPERATORS).map(([mark, word]) => h("option", { value: mark, selected: mark === box.operator }, word));
    return h("select", {
      "aria-label": `How set ${at + 1} is joined`, onchange: (event) => { box.operator = event.target.value; this.changed(); },
    }, choices);
  }

  pressed(event, at) {
    const { examples } = this.boxes[at];
    if (event.key === "Enter") {
      event.preventDefault();
      this.taken(at);
    } else if (event.key === "Backspace" && !event.target.value && examples.length) {
      event.preventDefault();
      this.without(at, examples.at(-1));
    }
  }

  // What was typed becomes chips in place: to draw all boxes anew would take away what somebody is about to click.
  taken(at) {
    const field = $(`#example-${at}`);
    const box = this.boxes[at];
    if (!field || !box) return;
    const typed = field.value.split(/[,\n]/).map((word) => word.trim()).filter(Boolean);
    field.value = "";
    const fresh = [...new Set(typed)].filter((word) => !box.examples.includes(word));
    if (!fresh.length) return;
    box.examples.push(...fresh);
    $("ul", field.parentElement).append(...fresh.map((example) => this.chip(box, at, example)));
    this.changed();
  }

  // What is still being typed is taken before boxes are drawn anew.
  settle() {
    for (const at of this.boxes.keys()) this.taken(at);
  }

  without(at, example) {
    this.settle();
    const box = this.boxes[at];
    box.examples = box.examples.filter((one) => one !== example);
    this.draw(at);
    this.changed();
  }

  more() {
    this.settle();
    this.boxes.push({ operator: "&", examples: [] });
    this.draw(this.boxes.length - 1);
  }

  remove(at) {
    this.settle();
    this.boxes.splice(at, 1);
    this.draw(Math.max(at - 1, 0));
    this.changed();
  }
}
