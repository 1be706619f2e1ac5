// Commands and code that give the results of the page.

export const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
export const python = (text) => JSON.stringify(text);

export function curl(path, body) {
  return `curl -s ${shell(`${location.origin}/v1/${path}`)} -H 'content-type: application/json' -d ${shell(JSON.stringify(body))}`;
}
