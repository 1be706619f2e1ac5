// Boxes of examples: one chip for each example, and a field to add more.

import { $, $$, h } from "./dom.js";
import { OPERATORS } from "./query.js";

export class Boxes {
  constructor(container, onChange) {
    this.container = container;
    this.onChange = onChange;
    this.boxes = [];
  }

  set(boxes) {
    this.boxes = boxes.length ? boxes : [{ operator: "&", examples: [] }];
    this.draw();
  }

  draw(focus = null) {
    const rows = this.boxes.map((box, index) => this.row(box, index));
    const addButton = h("button", { type: "button", id: "add-box", onclick: () => this.addBox() }, "Add a set");
    this.container.replaceChildren(...rows, h("div", {}, addButton));
    if (focus !== null) $(`#example-${focus}`)?.focus();
  }

  row(box, index) {
    const field = h("input", {
      type: "text", id: `example-${index}`, spellcheck: "false", enterkeyhint: "enter", placeholder: "add an example",
      "aria-label": `Add an example to set ${index + 1}; press Enter or comma to finish`,
      onkeydown: (event) => this.handleKey(event, index), onblur: () => setTimeout(() => this.addTyped(index), 200), // at once, a new chip would move the button that is being clicked
      oninput: () => { if (/[,\n]/.test(field.value)) this.addTyped(index); },
    });
    const list = h("ul", { "aria-label": `Examples of set ${index + 1}` }, box.examples.map((example) => this.chip(box, index, example)));
    return h("div.box", { role: "group", "aria-label": `Set ${index + 1}` },
      index ? this.operator(box, index) : null,
      h(`div.chips.own${index % 6}`, {}, list, field),
      this.boxes.length > 1 ? h("button", { type: "button", "aria-label": `Remove set ${index + 1}`, onclick: () => this.removeBox(index) }, "×") : null);
  }

  chip(box, index, example) {
    return h("li", { "data-example": example }, example, h("button", {
      type: "button", "aria-label": `Remove ${example}`, onclick: () => this.removeExample(index, example),
    }, "×"));
  }

  // Mark the examples without a vector, which the search skips.
  mark(unknown) {
    for (const chip of $$("li", this.container)) {
      const missing = unknown.includes(chip.dataset.example);
      chip.classList.toggle("unknown", missing);
      chip.title = missing ? "This example has no vector and is skipped" : "";
    }
  }

  operator(box, index) {
    const choices = Object.entries(OPERATORS).map(([symbol, name]) => h("option", { value: symbol, selected: symbol === box.operator }, name));
    return h("select", {
      "aria-label": `Operator before set ${index + 1}`, onchange: (event) => { box.operator = event.target.value; this.onChange(); },
    }, choices);
  }

  handleKey(event, index) {
    const { examples } = this.boxes[index];
    if (event.key === "Enter") {
      event.preventDefault();
      this.addTyped(index);
    } else if (event.key === "Backspace" && !event.target.value && examples.length) {
      event.preventDefault();
      this.removeExample(index, examples.at(-1));
    }
  }

  // Add typed text as chips without drawing all boxes again, which would remove buttons that are being clicked.
  addTyped(index) {
    const field = $(`#example-${index}`);
    const box = this.boxes[index];
    if (!field || !box) return;
    const typed = field.value.split(/[,\n]/).map((word) => word.trim()).filter(Boolean);
    field.value = "";
    const added = [...new Set(typed)].filter((word) => !box.examples.includes(word));
    if (!added.length) return;
    box.examples.push(...added);
    $("ul", field.parentElement).append(...added.map((example) => this.chip(box, index, example)));
    this.onChange();
  }

  // Add text that is still in the fields, before boxes are drawn again.
  addAllTyped() {
    for (const index of this.boxes.keys()) this.addTyped(index);
  }

  removeExample(index, example) {
    this.addAllTyped();
    const box = this.boxes[index];
    box.examples = box.examples.filter((other) => other !== example);
    this.draw(index);
    this.onChange();
  }

  addBox() {
    this.addAllTyped();
    this.boxes.push({ operator: "&", examples: [] });
    this.draw(this.boxes.length - 1);
  }

  removeBox(index) {
    this.addAllTyped();
    this.boxes.splice(index, 1);
    this.draw(Math.max(index - 1, 0));
    this.onChange();
  }
}
