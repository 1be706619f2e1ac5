// Elements without a library: a tag with classes, its attributes, its children. Text is always text, never markup.

const SVG = "http://www.w3.org/2000/svg";
const DRAWN = new Set(["svg", "g", "circle", "text", "title", "desc", "line"]);

export const $ = (selector, inside = document) => inside.querySelector(selector);
export const $$ = (selector, inside = document) => [...inside.querySelectorAll(selector)];

export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const made = DRAWN.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  if (classes.length) made.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((one) => one !== null && one !== undefined));
  return made;
}

// Widths and shares are set by script: the page's policy lets in no style that is written into markup.
export function sized(element, property, value) {
  element.style.setProperty(property, value);
  return element;
}

export const fixed = (value, digits = 3) => value.toFixed(digits);
export const percent = (value) => `${(100 * Math.min(Math.max(value, 0), 1)).toFixed(2)}%`;

// Calls a function when nothing has happened for a moment.
export function settled(milliseconds, call) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), milliseconds);
  };
}

export function showError(place, error) {
  place.hidden = !error;
  place.textContent = error ? error.message : "";
}

// Dims what is outdated if an answer takes a moment; the function that is returned ends that.
const waiting = new Map();
export function busy(place) {
  const mine = {};
  waiting.set(place, mine);
  const timer = setTimeout(() => place.setAttribute("aria-busy", "true"), 300);
  return () => {
    clearTimeout(timer);
    if (waiting.get(place) === mine) place.removeAttribute("aria-busy");
  };
}

export async function copied(text, button) {
  const before = button.dataset.label ?? button.textContent;
  button.dataset.label = before;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no clipboard where the page is not secure: the old way
    const field = h("textarea", { "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = before; }, 1500);
}
