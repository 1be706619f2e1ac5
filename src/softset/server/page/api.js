// Calls of this page's own server; an error is the server's one sentence.

import { $ } from "./dom.js";

const KEY = "softset key";

export class Refused extends Error {}

async function called(method, path, body, signal) {
  const headers = { "content-type": "application/json" };
  const key = sessionStorage.getItem(KEY);
  if (key) headers.authorization = `Bearer ${key}`;
  let answer;
  try {
    answer = await fetch(`/v1/${path}`, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("the server cannot be reached: is it still running?");
  }
  if (answer.status === 401) sessionStorage.removeItem(KEY);
  if (answer.status === 401 && (await askedForKey(Boolean(key)))) return called(method, path, body, signal);
  if (answer.status === 204) return null;
  if (answer.status === 401) throw new Refused("This server wants its API key: load the page again to give it.");
  const content = await answer.json().catch(() => null); // a proxy may answer in its own words
  if (!answer.ok) throw new Refused(content?.detail ?? `the server answered ${answer.status}: try again in a moment`);
  return content;
}

export const keyed = () => Boolean(sessionStorage.getItem(KEY));
export const post = (path, body, signal) => called("POST", path, body, signal);
export const get = (path) => called("GET", path);
export const remove = (path) => called("DELETE", path);

let asking = null;

// Several calls may find at once that a key is wanted: the person is asked once.
function askedForKey(wrong) {
  asking ??= new Promise((resolve) => {
    const dialog = $("#key-dialog");
    $("#key").value = "";
    $("#key-wrong").hidden = !wrong;
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      asking = null;
      const given = dialog.returnValue === "given" ? $("#key").value.trim() : "";
      if (given) sessionStorage.setItem(KEY, /^[!-~]+$/.test(given) ? given : "none"); // a key has no other letters
      resolve(Boolean(given));
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

// The last of several calls counts: those before it are hung up on.
export function latest(call) {
  let running = null;
  return async (...given) => {
    running?.abort();
    const mine = new AbortController();
    running = mine;
    try {
      return await call(mine.signal, ...given);
    } catch (error) {
      if (error.name === "AbortError" || mine.signal.aborted) return null;
      throw error;
    }
  };
}
