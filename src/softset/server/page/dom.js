// Create elements: a tag with classes, attributes and children. Strings become text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "g", "circle", "text", "title", "desc", "line"]);

export const $ = (selector, root = document) => root.querySelector(selector);
export const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// Sets a style property. The content security policy forbids style attributes in markup.
export function withStyle(element, property, value) {
  element.style.setProperty(property, value);
  return element;
}

export const fixed = (value, digits = 3) => value.toFixed(digits);
export const percent = (value) => `${(100 * Math.min(Math.max(value, 0), 1)).toFixed(2)}%`;

// Calls a function when there was no further call for some time.
export function debounce(milliseconds, call) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

// The messages of the server begin with a lower-case letter, as on the command line.
export const errorText = (error) => error.message.charAt(0).toUpperCase() + error.message.slice(1);

export function showError(element, error) {
  element.hidden = !error;
  element.textContent = error ? errorText(error) : "";
}

// Dims outdated results if a response takes longer than 0.3 s. The returned function ends that.
const pending = new Map();
export function busy(element) {
  const token = {};
  pending.set(element, token);
  const timer = setTimeout(() => element.setAttribute("aria-busy", "true"), 300);
  return () => {
    clearTimeout(timer);
    if (pending.get(element) === token) element.removeAttribute("aria-busy");
  };
}

export async function copyText(text, button) {
  const label = button.dataset.label ?? button.textContent;
  button.dataset.label = label;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // there is no clipboard API on insecure pages
    const field = h("textarea", { "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = label; }, 1500);
}
