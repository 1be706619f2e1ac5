// The page: three tabs, of which one is shown, and a link that brings back what one sees.

import { get, keyed } from "./api.js";
import { $, $$, showError } from "./dom.js";
import { Items } from "./items.js";
import { Sentences } from "./sentences.js";
import { Sets } from "./sets.js";

const tabs = $$("[role=tab]");
const named = (tab) => tab.getAttribute("aria-controls");
let rooms = {};
let shown = "sets";
const opened = new Set();

// What one does in a tab is one step of the history, and another tab the next: back goes to the tab before.
function remember(next = false) {
  const state = rooms[shown].state().toString();
  const hash = `#/${shown}${state ? `?${state}` : ""}`;
  if (hash !== location.hash) history[next ? "pushState" : "replaceState"](null, "", hash);
}

function show(name, state = null) {
  if (!rooms[name]) return;
  const next = shown !== name && !state;
  shown = name;
  for (const tab of tabs) {
    const chosen = named(tab) === name;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
    $(`#${named(tab)}`).hidden = !chosen;
  }
  if (next) remember(true);
  if (state || !opened.has(name)) rooms[name].open(state ?? new URLSearchParams());
  opened.add(name);
  remember();
}

function follow() {
  const [, name, state] = /^#\/(\w+)(?:\?(.*))?$/s.exec(location.hash) ?? [];
  if (Object.hasOwn(rooms, name)) show(name, new URLSearchParams(state ?? ""));
  else show("sets");
}

$(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("#main").focus();
});

for (const [at, tab] of tabs.entries()) {
  tab.addEventListener("click", () => show(named(tab)));
  tab.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    show(named(next));
    next.focus();
  });
}

try {
  const offers = await get("models");
  $("#version").textContent = `softset ${offers.softset}`;
  $("#described").hidden = keyed(); // a link cannot bring the key along
  rooms = { sets: new Sets(offers, () => remember()), sentences: new Sentences(offers, () => remember()), items: new Items(offers, () => remember()) };
  window.addEventListener("popstate", follow);
  follow();
} catch (error) {
  showError($("#sets-error"), error);
}
