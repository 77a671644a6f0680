// Any figure as SVG or PNG, any table as CSV: made in the page, nothing is asked of anyone.
import { h } from "./dom.js";

function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const cell = (value) => {
  const text = value === null || value === undefined ? "" : String(value);
  // A cell that begins like a formula would be run by a spreadsheet.
  const safe = /^[=+\-@\t]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csv = (rows) =>
  rows.length ? [Object.keys(rows[0]), ...rows.map(Object.values)].map((row) => row.map(cell).join(",")).join("\n") + "\n" : "";

const COPIED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-size", "font-weight", "font-family", "text-anchor"];

// The style sheet stays behind: what it says is written into the copy.
export function standalone(svg) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((node, place) => {
    const style = getComputedStyle(originals[place]);
    for (const name of COPIED) if (style[name] !== "") node.setAttribute(name, style.getPropertyValue(name));
  });
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [name, value] of Object.entries({ width, height, fill: getComputedStyle(document.body).backgroundColor })) paper.setAttribute(name, value);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

async function asPng(svg) {
  const { width, height } = svg.viewBox.baseVal;
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([standalone(svg)], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = h("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

const slug = (title) => title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "figure";

// A figure with its heading, what it means, and its downloads. `find` gives the node that is drawn when asked.
export function figure(title, caption, content, { rows, id, level = "h2" } = {}) {
  const name = slug(title);
  const drawn = () => content.querySelector?.("svg.drawing") ?? (content.matches?.("svg") ? content : null);
  const canvas = () => content.querySelector?.("canvas");
  const button = (kind, label, work) =>
    h("button", { type: "button", class: "small", "aria-label": `${label} of ${title}`, onclick: work }, kind);
  const tools = h("div", { class: "tools" });
  if (drawn()) {
    tools.append(
      button("SVG", "Picture (SVG)", () => save(`${name}.svg`, new Blob([standalone(drawn())], { type: "image/svg+xml" }))),
      button("PNG", "Picture (PNG)", async () => save(`${name}.png`, await asPng(drawn()))),
    );
  } else if (canvas()) {
    tools.append(button("PNG", "Picture (PNG)", () => canvas().toBlob((blob) => save(`${name}.png`, blob))));
  }
  if (rows) tools.append(button("CSV", "Table (CSV)", () => save(`${name}.csv`, new Blob([csv(rows())], { type: "text/csv" }))));
  return h("section", { class: "figure", id }, h("div", { class: "title" }, h(level, {}, title), tools), caption ? h("p", { class: "caption" }, caption) : null, content);
}
