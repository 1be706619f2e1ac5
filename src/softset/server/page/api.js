// Requests to the server of this page. Errors carry the message of the server.

import { $ } from "./dom.js";

const KEY = "softset key";

export class RequestError extends Error {}

async function request(method, path, body, signal) {
  const headers = { "content-type": "application/json" };
  const key = sessionStorage.getItem(KEY);
  if (key) headers.authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(`/v1/${path}`, { method, headers, signal, body: body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError("Cannot reach the server. Is it still running?");
  }
  if (response.status === 401) sessionStorage.removeItem(KEY);
  if (response.status === 401 && (await askForKey(Boolean(key)))) return request(method, path, body, signal);
  if (response.status === 204) return null;
  if (response.status === 401) throw new RequestError("This server needs an API key: reload the page to enter it.");
  const content = await response.json().catch(() => null); // the response of a proxy may not be JSON
  if (!response.ok) throw new RequestError(content?.detail ?? `The server responded with status ${response.status}: try again later.`);
  return content;
}

export const hasKey = () => Boolean(sessionStorage.getItem(KEY));
export const post = (path, body, signal) => request("POST", path, body, signal);
export const get = (path) => request("GET", path);
export const remove = (path) => request("DELETE", path);

let keyDialog = null;

// Several requests may fail at the same time: the dialog is shown once.
function askForKey(wrong) {
  keyDialog ??= new Promise((resolve) => {
    const dialog = $("#key-dialog");
    $("#key").value = "";
    $("#key-wrong").hidden = !wrong;
    dialog.returnValue = "";
    dialog.addEventListener("close", () => {
      keyDialog = null;
      const key = dialog.returnValue === "submitted" ? $("#key").value.trim() : "";
      if (key) sessionStorage.setItem(KEY, /^[!-~]+$/.test(key) ? key : "none"); // a header cannot contain other characters
      resolve(Boolean(key));
    }, { once: true });
    dialog.showModal();
  });
  return keyDialog;
}

// Abort the previous call when the next one starts.
export function abortPrevious(call) {
  let current = null;
  return async (...values) => {
    current?.abort();
    const controller = new AbortController();
    current = controller;
    try {
      return await call(controller.signal, ...values);
    } catch (error) {
      if (error.name === "AbortError" || controller.signal.aborted) return null;
      throw error;
    }
  };
}
