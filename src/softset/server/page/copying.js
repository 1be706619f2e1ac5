// What one sees, to take along: commands that give the same numbers.

export const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;
export const python = (text) => JSON.stringify(text);

export function curl(path, asked) {
  return `curl -s ${shell(`${location.origin}/v1/${path}`)} -H 'content-type: application/json' -d ${shell(JSON.stringify(asked))}`;
}
