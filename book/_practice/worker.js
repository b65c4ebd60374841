// The Python of a page, in a thread of its own.
//
// It takes messages {program}, text of Python that runs after shell.py, one at a time. It answers with
// {started}, with {out} for what is printed, {map} for weights to draw, {case} and {steps} for rows of tables, {point} for one
// of a curve, and {done} or {broken} at the end.
// While it loads, it says {bytes} of {total}.
// Whoever made it ends it when a program runs too long.
"use strict";

const PYTHON = "../python/";
// the book's version, so that no browser mixes files of two
const VERSION = self.location.search;
let begun = null;

async function* chunks(response) {
  const reader = response.body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}

// A file's content; say is told the bytes of it that are there, and of how many.
async function loaded(address, say = () => {}) {
  const response = await fetch(address + VERSION);
  if (!response.ok) throw new Error(`${response.status} for ${address}`);
  const total = Number(response.headers.get("Content-Length"));
  const parts = [];
  let bytes = 0;
  for await (const chunk of chunks(response)) {
    parts.push(chunk);
    say((bytes += chunk.length), total);
  }
  return new Blob(parts);
}

// A script that lies there compressed. Some servers say so, and then the browser has unpacked it.
async function unpacked(address) {
  const file = await loaded(address);
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  const isPacked = first === 0x1f && second === 0x8b;
  const text = isPacked ? file.stream().pipeThrough(new DecompressionStream("gzip")) : file.stream();
  return new Response(text).text();
}

// Python writes lines of JSON. A line may come in several parts, and what is no JSON isn't ours.
function reader(take) {
  const decoder = new TextDecoder();
  let rest = "";
  return (bytes) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      try {
        take(JSON.parse(line));
      } catch {
        take({ other: line });
      }
    }
  };
}

async function start() {
  const say = (bytes, total) => postMessage({ bytes, total });
  const [script, shell, archive] = await Promise.all([
    unpacked(`${PYTHON}python.js.gz`),
    loaded("shell.py").then((file) => file.text()),
    loaded(`${PYTHON}python.zip`, say).then((file) => file.arrayBuffer()),
  ]);
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  importScripts(address);
  URL.revokeObjectURL(address);
  let take = () => {};
  const run = await self.startPython(new Uint8Array(archive), reader((found) => take(found)));
  const asked = (program) => {
    let done = null;
    const other = [];
    take = (found) => {
      if (found.out !== undefined || found.map || found.case || found.steps || found.point) postMessage(found);
      else if (found.done) done = found.done;
      else other.push(found.other);
    };
    const failed = run(program);
    if (failed || !done) throw new Error(other.join("\n") || "Python ended.");
    postMessage({ done });
  };
  run(shell);
  return asked;
}

self.onmessage = async ({ data: { program } }) => {
  try {
    begun ??= start();
    const asked = await begun;
    postMessage({ started: true });
    asked(program);
  } catch (error) {
    postMessage({ broken: String(error?.message ?? error) });
  }
};
