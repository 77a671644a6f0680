// Attention maps as they are stored in the page: base64 and deflate, unpacked layer by layer when they are looked at.

const unpacked = new Map();

// Bytes [head, query, key] of one layer: base64, inflated.
export async function layer(stack, number) {
  const mark = stack.layers[number];
  if (unpacked.has(mark)) return unpacked.get(mark);
  // The maps stand at the end of the file: a link to a head may ask for them before they have arrived.
  if (document.readyState === "loading")
    await new Promise((done) => addEventListener("DOMContentLoaded", done, { once: true }));
  const text = document.getElementById(mark).textContent;
  const packed = bytesOf(text);
  const [, heads, queries, keys] = stack.shape;
  const bytes = await inflate(packed, heads * queries * keys);
  if (unpacked.size > 64) unpacked.delete(unpacked.keys().next().value);
  unpacked.set(mark, bytes);
  return bytes;
}

// Straight into the stream and out of it: by way of a Blob and a Response it takes several times as long.
export async function inflate(packed, size) {
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  writer.write(packed);
  writer.close();
  const bytes = new Uint8Array(size);
  const reader = stream.readable.getReader();
  for (let at = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return bytes;
    bytes.set(value, at);
    at += value.length;
  }
}

// Current browsers know base64 themselves; the loop is for those of last year.
export function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

// The same where nobody knows how much comes out.
export async function inflateAll(packed) {
  const stream = new DecompressionStream("deflate");
  const writer = stream.writable.getWriter();
  writer.write(packed);
  writer.close();
  const parts = [];
  const reader = stream.readable.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
  }
  const bytes = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
