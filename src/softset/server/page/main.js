// The page: three tabs, and an address that restores their state.

import { get, hasKey } from "./api.js";
import { $, $$, showError } from "./dom.js";
import { Items } from "./items.js";
import { Sentences } from "./sentences.js";
import { Sets } from "./sets.js";

const tabs = $$("[role=tab]");
const panelId = (tab) => tab.getAttribute("aria-controls");
let panels = {};
let current = "sets";
const opened = new Set();

// Changes within a tab replace the history entry; a new tab adds one, so that Back returns to the previous tab.
function updateAddress(newEntry = false) {
  const state = panels[current].state().toString();
  const hash = `#/${current}${state ? `?${state}` : ""}`;
  if (hash !== location.hash) history[newEntry ? "pushState" : "replaceState"](null, "", hash);
}

function show(name, state = null) {
  if (!panels[name]) return;
  const newEntry = current !== name && !state;
  current = name;
  for (const tab of tabs) {
    const selected = panelId(tab) === name;
    tab.setAttribute("aria-selected", selected);
    tab.tabIndex = selected ? 0 : -1;
    $(`#${panelId(tab)}`).hidden = !selected;
  }
  if (newEntry) updateAddress(true);
  if (state || !opened.has(name)) panels[name].open(state ?? new URLSearchParams());
  opened.add(name);
  updateAddress();
}

function openAddress() {
  const [, name, state] = /^#\/(\w+)(?:\?(.*))?$/s.exec(location.hash) ?? [];
  if (Object.hasOwn(panels, name)) show(name, new URLSearchParams(state ?? ""));
  else show("sets");
}

$(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("#main").focus();
});

for (const [index, tab] of tabs.entries()) {
  tab.addEventListener("click", () => show(panelId(tab)));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(index + step + tabs.length) % tabs.length];
    show(panelId(next));
    next.focus();
  });
}

try {
  const resources = await get("models");
  $("#version").textContent = `softset ${resources.softset}`;
  $("#api-link").hidden = hasKey(); // a link cannot send the key
  panels = { sets: new Sets(resources, () => updateAddress()), sentences: new Sentences(resources, () => updateAddress()), items: new Items(resources, () => updateAddress()) };
  window.addEventListener("popstate", openAddress);
  openAddress();
} catch (error) {
  showError($("#sets-error"), error);
}
