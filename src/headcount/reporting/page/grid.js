// The heads of a model as a grid, a row for each layer: coloured by one of their numbers or framed in the colour of
// their kind around a picture of each, and walked by the arrow keys. It takes data and callbacks and keeps no state.

import { colours, inkOn, setLight } from "./colour.js";
import { h, s } from "./dom.js";
import { shown, sure } from "./format.js";
import { columnsOf, layoutGrid } from "./grid_layout.js";
import { nextHead } from "./next_head.js";

// `room`: the width and height to fill. `framed`: kinds are frames, and `paint(cells, layout)` gives the addresses of
// the picture inside them, {href, light}. `order`: a number by head, by which the heads of a layer are sorted.
// `gone`: heads that are taken away, which are told as `goneSays`. `means`: a last column with the mean of each layer.
// `openLayer(stack, layer)`: the names of layers can be clicked. `marks`: the number whose significant heads have a dot;
// the one that is shown, unless it is said.
export function grid(
  study,
  colouring,
  {
    room = { width: 520, height: 520 },
    most,
    label,
    matches = () => true,
    chosen = null,
    found = null,
    framed = false,
    order = null,
    gone = new Set(),
    goneSays = "removed",
    openLayer = null,
    means = false,
    marks = colouring,
    paint,
    open,
    hover,
    tabs = true,
  },
) {
  const scale = colours(colouring);
  const onWhite = colours(colouring, { dark: false });
  const named = study.heads.some((head) => head[3].includes("."));
  const layout = layoutGrid(
    study.stacks.map((stack) => ({ ...stack, width: stack.width + (means ? 1.4 : 0) })),
    room,
    { most, named },
  );
  const { size } = layout;
  const indices = new Map(study.heads.map((head, index) => [head.slice(0, 3).join("/"), index]));
  const gap = size >= 14 ? 2 : 1;
  const parts = [];
  const cells = new Map();
  const places = [];
  let first = true;
  for (const stack of layout.stacks) {
    const width = stack.width - (means ? 1.4 : 0);
    if (named) parts.push(s("text", { x: stack.x - 30, y: stack.y - 22, class: "stack" }, stack.stack));
    const every = size >= 22 ? 1 : size >= 9 ? 4 : 8;
    for (let head = 0; head < width && !order; head += every)
      parts.push(tick(stack.x + (head + 0.5) * size, stack.y - 6, `H${head}`, "middle"));
    const shared = study.sharedKeys?.[stack.stack];
    if (shared && !order) parts.push(brackets(stack, width, shared, size));
    if (means) parts.push(tick(stack.x + (width + 0.9) * size, stack.y - 6, "mean", "middle"));
    stack.layers.forEach((heads, layer) => {
      const top = stack.y + layer * size;
      const row = s("g", { role: "row" });
      if (size >= 11 || layer % 4 === 0)
        row.append(
          s(
            "text",
            {
              x: stack.x - 6,
              y: top + size / 2 + 4,
              "text-anchor": "end",
              class: openLayer ? "tick layer-name" : "tick",
              role: "rowheader",
              onclick: openLayer ? () => openLayer(stack.stack, layer) : undefined,
            },
            `L${layer}`,
          ),
        );
      const at = (head) => indices.get([stack.stack, layer, head].join("/"));
      const columns = columnsOf(heads, order && ((head) => order(at(head))));
      const taken = new Set(columns.values());
      for (let column = 0; column < width; column++)
        if (!taken.has(column) && !order) row.append(absent(stack, layer, column, top, size, gap));
      for (const [head, column] of [...columns].sort((a, b) => a[1] - b[1])) {
        const index = at(head);
        const box = { x: stack.x + column * size + gap / 2, y: top + gap / 2, side: size - gap };
        const node = cell({
          ...{ study, colouring, scale, onWhite, index, box, framed, marks, goneSays },
          isGone: gone.has(index),
        });
        node.classList.toggle("dimmed", !matches(index));
        node.classList.toggle("chosen", index === chosen);
        node.classList.toggle("found", index === found);
        if (tabs) node.setAttribute("tabindex", first || index === chosen ? 0 : -1);
        first = false;
        node.addEventListener("click", (event) => open?.(index, event));
        if (hover) {
          node.addEventListener("mouseenter", (event) => hover(index, event));
          node.addEventListener("mouseleave", () => hover(null));
          // A listener for the focus alone would make a cell a stop of the tabulator.
          if (tabs) {
            node.addEventListener("focus", (event) => hover(index, event));
            node.addEventListener("blur", () => hover(null));
          }
        }
        cells.set(index, { cell: node, stack: stack.stack, layer, head, column });
        places.push({ stack: stack.stack, layer, head, ...box });
        row.append(node);
      }
      if (means)
        row.append(...layerMean(colouring, scale, heads.map(at), stack.x + (width + 0.4) * size, top, size, layer));
      parts.push(row);
    });
  }
  if (chosen !== null && tabs)
    for (const [index, { cell: node }] of cells) node.setAttribute("tabindex", index === chosen ? 0 : -1);
  const image = s("image", {
    x: 0,
    y: 0,
    width: layout.width,
    height: layout.height,
    "aria-hidden": "true",
    class: "thumbs",
  });
  const node = s(
    "svg",
    {
      viewBox: `0 0 ${layout.width} ${layout.height}`,
      width: layout.width,
      height: layout.height,
      role: "grid",
      "aria-label": label ?? `Heads coloured by: ${colouring.title}`,
    },
    framed && paint ? image : null,
    parts,
  );
  node.classList.add("drawing", "heads");
  if (tabs) node.addEventListener("keydown", (event) => walk(event, cells, open));
  if (framed && paint)
    paint(places, layout).then(({ href, light }) => {
      image.setAttribute("href", href);
      setLight(image, () => ({ href: light() }));
      node.dataset.painted = "yes";
    });
  return node;
}

const tick = (x, y, text, anchor) =>
  s("text", { x, y, "text-anchor": anchor, class: "tick", "aria-hidden": "true" }, text);

// Heads that read the same key and value are joined below their names.
const brackets = (stack, width, shared, size) =>
  s(
    "path",
    {
      class: "shared-keys",
      d: Array.from({ length: Math.floor(width / shared) }, (_, group) => {
        const from = stack.x + group * shared * size + 2;
        return `M${from},${stack.y - 1} v-3 h${shared * size - 4} v3`;
      }).join(" "),
    },
    s("title", {}, `${shared} heads each read the same key and value`),
  );

const absent = (stack, layer, head, top, size, gap) =>
  s("rect", {
    x: stack.x + head * size + gap,
    y: top + gap,
    width: size - 2 * gap,
    height: size - 2 * gap,
    class: "absent",
    role: "gridcell",
    "aria-label": `${stack.stack} L${layer}H${head}: no such head`,
  });

function cell({ study, colouring, scale, onWhite, index, box, framed, marks, isGone, goneSays }) {
  const value = colouring.values[index];
  const known = value !== null && value !== undefined;
  const colour = known ? scale.of(value) : null;
  const name = study.heads[index][3];
  const certain = Boolean(marks) && sure(marks, index);
  const { x, y, side } = box;
  const said = [
    `${name}: ${colouring.title} ${shown(colouring, index)}`,
    certain && (marks === colouring ? "significant" : `${marks.title} significant`),
    isGone && goneSays,
  ];
  // The stronger a role, the fuller its colour.
  const strength = colouring.also?.[index]?.[0]?.[1] ?? null;
  const strong = strength === null ? undefined : Math.min(1, 0.3 + strength).toFixed(2);
  const frame = framed ? Math.max(1.5, Math.min(3, side / 12)) : 0;
  const face = s("rect", {
    x: x + frame / 2,
    y: y + frame / 2,
    width: side - frame,
    height: side - frame,
    ...(framed
      ? { fill: "transparent", stroke: colour ?? "var(--line)", "stroke-width": frame, "stroke-opacity": strong }
      : { fill: colour ?? "none" }),
    class: known ? "face" : "face unknown",
  });
  if (known && !framed) setLight(face, () => ({ fill: onWhite.of(value) }));
  const radius = Math.max(1.5, side / (framed ? 9 : 7));
  const mark = framed
    ? { cx: x + side - radius - frame, cy: y + radius + frame, class: "sure-mark" }
    : { cx: x + side / 2, cy: y + side / 2, fill: inkOn(colour ?? "#ffffff") };
  return s(
    "g",
    {
      role: "gridcell",
      class: `cell${isGone ? " gone" : ""}`,
      "data-head": index,
      "aria-label": said.filter(Boolean).join(", "),
    },
    face,
    certain ? s("circle", { ...mark, r: radius }) : null,
    isGone
      ? s("path", {
          class: "crossed",
          d: `M${x + 3},${y + 3} l${side - 6},${side - 6} m0,${6 - side} l${6 - side},${side - 6}`,
        })
      : null,
    s("rect", { x: x - 0.5, y: y - 0.5, width: side + 1, height: side + 1, class: "ring" }),
  );
}

function layerMean(colouring, scale, members, x, y, size, layer) {
  const values = members
    .map((index) => colouring.values[index])
    .filter((value) => value !== null && value !== undefined);
  if (!values.length || colouring.kind === "category") return [];
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const said = `L${layer}: mean ${mean.toPrecision(3)}`;
  return [
    s(
      "rect",
      {
        x,
        y: y + 1,
        width: size,
        height: size - 2,
        fill: scale.of(mean),
        class: "layer-mean",
        role: "gridcell",
        "aria-label": said,
      },
      s("title", {}, said),
    ),
  ];
}

// Arrows go to the next head that is there; Enter and the space bar open it.
function walk(event, cells, open) {
  const here = event.target.closest?.("[data-head]");
  if (!here) return;
  const index = Number(here.dataset.head);
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    open?.(index, event);
    return;
  }
  const best = nextHead(cells, index, event.key);
  if (best === null) return;
  event.preventDefault();
  if (best === undefined) return;
  for (const { cell: node } of cells.values()) node.setAttribute("tabindex", -1);
  cells.get(best).cell.setAttribute("tabindex", 0);
  cells.get(best).cell.focus();
}

// A note where a filter leaves nothing.
export const emptyNote = (text) => h("p", { class: "empty-note", role: "status" }, text);
