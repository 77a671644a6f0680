// Any figure as SVG or PNG, any table as CSV: made in the page, without a network.
import { lightOf } from "./colour.js";
import { csv } from "./csv.js";
import { h } from "./dom.js";

export function save(name, blob) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

const COPIED = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-size",
  "font-weight",
  "font-family",
  "text-anchor",
  "image-rendering",
];

export const SVG = "http://www.w3.org/2000/svg";

export function shape(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

// The style sheet stays behind: what it says is written into the copy.
export function inlined(svg) {
  const copy = svg.cloneNode(true);
  const originals = [svg, ...svg.querySelectorAll("*")];
  const unseen = [];
  [copy, ...copy.querySelectorAll("*")].forEach((node, index) => {
    const style = getComputedStyle(originals[index]);
    const white = lightOf(originals[index]);
    for (const [name, value] of Object.entries(white)) node.setAttribute(name, value);
    for (const name of COPIED)
      if (style[name] !== "" && !(name in white)) node.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role"]) node.removeAttribute(name);
    if (style.display === "none") unseen.push(node);
  });
  for (const node of unseen) node.remove();
  return copy;
}

// On white paper, whatever the page is on: what the style sheet says for it is read before anything is painted.
export function asOnPaper(work) {
  const { dataset } = document.documentElement;
  const was = dataset.dark;
  dataset.dark = "no";
  try {
    return work();
  } finally {
    dataset.dark = was;
  }
}

// All drawings of a figure side by side, each with its name above and its scale and notes below; `subject` says of
// which model, head and text it is.
function sheet(title, content, subject) {
  const { color, backgroundColor, fontFamily } = getComputedStyle(document.body);
  const words = { fill: color, "font-family": fontFamily, "font-size": 12 };
  const drawn = content.matches?.("svg.drawing") ? [content] : [...content.querySelectorAll("svg.drawing")];
  const outer = shape("svg", { xmlns: SVG });
  let [left, deepest, before] = [10, 0, 10];
  for (const svg of drawn) {
    const { width, height } = svg.viewBox.baseVal;
    // The scale of maps stands below them.
    if (svg.matches(".map-scale") && deepest) {
      const copy = inlined(svg);
      for (const [key, value] of Object.entries({ x: before, y: deepest - 8, width, height }))
        copy.setAttribute(key, value);
      outer.append(copy);
      deepest += height;
      left = Math.max(left, before + width + 14);
      continue;
    }
    const around = svg.parentElement;
    const beside = drawn.length > 1 || around?.classList.contains("with-legend") ? around : content;
    let top = 34;
    const name = around?.querySelector("figcaption")?.textContent;
    if (name) {
      top += 14;
      outer.append(shape("text", { ...words, x: left, y: top - 6 }, name));
    }
    const copy = inlined(svg);
    for (const [key, value] of Object.entries({ x: left, y: top, width, height })) copy.setAttribute(key, value);
    outer.append(copy);
    top += height + 8;
    const bar = beside.querySelector?.("svg.bar");
    if (bar) {
      const [low, high, unit] = [...bar.parentElement.querySelectorAll("span")].map((span) => span.textContent);
      outer.append(shape("text", { ...words, x: left, y: top + 11 }, low));
      const scale = inlined(bar);
      for (const [key, value] of Object.entries({ x: left + 60, y: top, width: 160, height: 12 }))
        scale.setAttribute(key, value);
      scale.setAttribute("preserveAspectRatio", "none");
      outer.append(scale, shape("text", { ...words, x: left + 228, y: top + 11 }, `${high} ${unit}`));
      top += 26;
    }
    top += steps(beside.querySelector?.(".scale:has(.steps)"), outer, left, top, words);
    for (const item of beside.querySelectorAll?.(".kinds li") ?? []) {
      const swatch = item.querySelector("svg");
      if (swatch) {
        const box = inlined(swatch);
        for (const [key, value] of Object.entries({ x: left, y: top, width: 11, height: 11 }))
          box.setAttribute(key, value);
        outer.append(box);
      }
      outer.append(shape("text", { ...words, x: left + 17, y: top + 10 }, item.textContent));
      top += 17;
    }
    const note = beside.querySelector?.(".says")?.textContent;
    const notes = note ? note.split(" · ") : [];
    for (const line of notes) {
      top += 15;
      outer.append(shape("text", { ...words, x: left, y: top - 3 }, line));
    }
    before = left;
    left += Math.max(width, bar ? 330 : 0, ...notes.map((line) => 6.4 * line.length)) + 24;
    deepest = Math.max(deepest, top + 10);
  }
  const below = subject ? 20 : 0;
  const [width, height] = [
    Math.ceil(Math.max(left - 14, 9 * title.length, 6.6 * (subject?.length ?? 0) + 20)),
    Math.ceil(deepest) + below,
  ];
  for (const [key, value] of Object.entries({ viewBox: `0 0 ${width} ${height}`, width, height }))
    outer.setAttribute(key, value);
  outer.prepend(
    shape("rect", { width, height, fill: backgroundColor }),
    shape("text", { ...words, x: 10, y: 22, "font-size": 15, "font-weight": 600 }, title),
  );
  if (subject) outer.append(shape("text", { ...words, x: 10, y: height - 8, fill: "#5c6570" }, subject));
  return { markup: new XMLSerializer().serializeToString(outer), width, height };
}

// The steps of a scale, which are buttons on the page: their colours in a row. Gives the height that they take.
function steps(scale, outer, left, top, words) {
  if (!scale) return 0;
  const [low, high, unit] = [...scale.querySelectorAll(":scope > span")].map((span) => span.textContent);
  const colours = [...scale.querySelectorAll(".steps svg")].map((svg) => {
    const face = svg.lastElementChild;
    return lightOf(face).fill ?? face.getAttribute("fill");
  });
  const side = 28;
  outer.append(
    shape("text", { ...words, x: left + 56, y: top + 11, "text-anchor": "end" }, low),
    ...colours.map((fill, at) => shape("rect", { x: left + 62 + side * at, y: top, width: side, height: 12, fill })),
    shape("text", { ...words, x: left + 68 + side * colours.length, y: top + 11 }, `${high} ${unit}`),
  );
  return 26;
}

export async function asPng({ markup, width, height, sharp = 2 }) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([markup], { type: "image/svg+xml" }));
  await image.decode();
  const canvas = h("canvas", { width: sharp * width, height: sharp * height });
  canvas.getContext("2d").drawImage(image, 0, 0, sharp * width, sharp * height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export const slug = (title) =>
  title
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "")
    .slice(0, 100) || "figure";

// What all figures of a study are of, where they say nothing else: its model and task.
export const about = { subject: "", model: "", task: "" };

// A table says in every row what it is of: the model, the task and, on the page of a head, the head.
const labelled = (rows, head) =>
  rows.map((row) => ({
    ...("model" in row || "study" in row ? {} : { model: about.model }),
    ...("task" in row || "study" in row ? {} : { task: about.task }),
    ...(head && !("head" in row) ? { head } : {}),
    ...row,
  }));

// A picture into the clipboard, or into a file where the browser gives none.
async function copyPicture(name, picture) {
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
    return "Copied";
  } catch {
    save(`${name}.png`, await picture);
    return "Saved";
  }
}

const subjectOf = (head) => [about.subject, head].filter(Boolean).join(", ");

// A figure with its heading, what it means, and its downloads; what is drawn is looked up when it is asked for.
// `subject`: the model, head and text, which are in the name and the picture of what is saved; `head`: the one that the
// figure is about, where it is about one.
export function figure(title, caption, content, { rows, id, level = "h2", head, subject = subjectOf(head) } = {}) {
  const name = slug([title, subject].filter(Boolean).join(" "));
  const drawnSheet = () => asOnPaper(() => sheet(title, content, subject));
  const drawn = content.matches?.("svg.drawing") || content.querySelector?.("svg.drawing");
  const button = (kind, label, work) =>
    h("button", { type: "button", class: "small", "aria-label": `${label} of ${title}`, onclick: work }, kind);
  const tools = h("div", { class: "tools" });
  if (drawn) {
    tools.append(
      button("SVG", "SVG", () => save(`${name}.svg`, new Blob([drawnSheet().markup], { type: "image/svg+xml" }))),
      button("PNG", "PNG", async () => save(`${name}.png`, await asPng(drawnSheet()))),
      button("Copy", "Copy the picture", async (event) => {
        const pressed = event.currentTarget;
        pressed.textContent = await copyPicture(name, asPng(drawnSheet()));
        setTimeout(() => {
          pressed.textContent = "Copy";
        }, 1500);
      }),
    );
  }
  if (rows)
    tools.append(
      button("CSV", "CSV", () => save(`${name}.csv`, new Blob([csv(labelled(rows(), head))], { type: "text/csv" }))),
    );
  return h(
    "section",
    { class: "figure", id },
    h("div", { class: "title" }, h(level, {}, title), tools),
    caption ? h("p", { class: "caption" }, caption) : null,
    content,
  );
}
