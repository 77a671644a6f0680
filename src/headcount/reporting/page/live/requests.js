// Requests to the server that the page came from; what goes wrong is an error with a code and one line to show.

const TOKEN = "headcount-token";

export class Problem extends Error {
  constructor(message, code, status = 0) {
    super(message);
    Object.assign(this, { code, status });
  }
}

const stored = (work) => {
  try {
    return work(globalThis.sessionStorage);
  } catch {
    return null;
  }
};

export const rememberToken = (token) => stored((memory) => memory.setItem(TOKEN, token));

async function send(path, fields, signal) {
  const token = stored((memory) => memory.getItem(TOKEN));
  const headers = {
    ...(fields ? { "Content-Type": "application/json" } : {}),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
  const options = { method: fields ? "POST" : "GET", headers, signal, cache: "no-store" };
  let answer;
  try {
    answer = await fetch(path, fields ? { ...options, body: JSON.stringify(fields) } : options);
  } catch (error) {
    if (error.name === "AbortError") throw new Problem("a newer request came first", "overtaken");
    throw new Problem("the server does not answer", "gone");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  throw new Problem(said.error ?? `the server answers ${answer.status}`, said.code ?? "failed", answer.status);
}

const readJson = (answer) =>
  answer.json().catch((error) => {
    throw error.name === "AbortError"
      ? new Problem("a newer request came first", "overtaken")
      : new Problem("the server does not answer", "gone");
  });

export const read = async (path) => readJson(await send(path));

export const ask = async (path, fields, signal) => readJson(await send(path, fields, signal));

// Whether the server is there; a page that is not asked for costs it nothing.
export const isThere = () =>
  fetch("./", { method: "HEAD", cache: "no-store" }).then(
    (answer) => answer.ok,
    () => false,
  );

// The events of an answer that comes piece by piece; `take` gets each one's data.
export async function listen(path, fields, signal, take) {
  const answer = await send(path, fields, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let [left, isDone] = ["", false];
  for (;;) {
    const part = await reader.read().catch((error) => {
      throw error.name === "AbortError"
        ? new Problem("a newer request came first", "overtaken")
        : new Problem("the server does not answer", "gone");
    });
    if (part.done) break;
    left += part.value;
    for (let end = left.indexOf("\n\n"); end >= 0; end = left.indexOf("\n\n")) {
      const { name, data } = readEvent(left.slice(0, end));
      left = left.slice(end + 2);
      if (name === "error") throw new Problem(data.error, data.code);
      if (name === "done") isDone = true;
      else take(data);
    }
  }
  if (!isDone) throw new Problem("the server does not answer", "gone");
}

export function readEvent(block) {
  const lines = Object.fromEntries(
    block.split("\n").map((line) => [line.split(": ", 1)[0], line.slice(line.indexOf(": ") + 2)]),
  );
  return { name: lines.event, data: JSON.parse(lines.data) };
}
