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
  if (answer.status === 401 && (await askedForKey())) return called(method, path, body, signal);
  if (answer.status === 204) return null;
  const content = await answer.json();
  if (!answer.ok) throw new Refused(content.detail);
  return content;
}

export const post = (path, body, signal) => called("POST", path, body, signal);
export const get = (path) => called("GET", path);
export const remove = (path) => called("DELETE", path);

let asking = null;

// Several calls may find at once that a key is wanted: the person is asked once.
function askedForKey() {
  asking ??= new Promise((resolve) => {
    const dialog = $("#key-dialog");
    $("#key").value = "";
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      asking = null;
      const given = $("#key").value.trim();
      if (given) sessionStorage.setItem(KEY, given);
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
