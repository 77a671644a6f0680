// The heads of a model as a grid, a row for each layer: coloured by one of its numbers, walked by the arrow keys.

import { colours, inkOn } from "./colour.js";
import { s } from "./dom.js";
import { shown, sure } from "./format.js";
import { nextHead } from "./next_head.js";

const LEFT = 34,
  TOP = 18;

export function grid(
  study,
  colouring,
  { size = 27, label, matches = () => true, chosen = null, open, hover, tabs = true },
) {
  const scale = colours(colouring);
  const indices = new Map(study.heads.map((head, index) => [head.slice(0, 3).join("/"), index]));
  const widest = Math.max(1, ...study.stacks.map((stack) => stack.width));
  const several = study.heads.some((head) => head[3].includes("."));
  const parts = [];
  const cells = new Map();
  let y = 0;
  for (const stack of study.stacks) {
    if (several) {
      parts.push(s("text", { x: 0, y: y + 14, class: "stack" }, stack.stack));
      y += 20;
    }
    const heads = [];
    for (let head = 0; head < stack.width; head++)
      if (size >= 22 || head % (size >= 9 ? 4 : 8) === 0)
        heads.push(
          s(
            "text",
            {
              x: LEFT + (head + 0.5) * size,
              y: y + TOP - 6,
              "text-anchor": "middle",
              class: "tick",
              "aria-hidden": "true",
            },
            `H${head}`,
          ),
        );
    parts.push(...heads);
    stack.layers.forEach((_, layer) => {
      const row = s("g", { role: "row" });
      const top = y + TOP + layer * size;
      if (size >= 9 || layer % 4 === 0)
        row.append(
          s(
            "text",
            { x: LEFT - 6, y: top + size / 2 + 4, "text-anchor": "end", class: "tick", role: "rowheader" },
            `L${layer}`,
          ),
        );
      for (let head = 0; head < stack.width; head++) {
        const index = indices.get([stack.stack, layer, head].join("/"));
        const left = LEFT + head * size;
        if (index === undefined) {
          row.append(
            s("rect", {
              x: left + 1.5,
              y: top + 1.5,
              width: size - 3,
              height: size - 3,
              class: "absent",
              role: "gridcell",
              "aria-label": `${stack.stack} L${layer}H${head}: no such head`,
            }),
          );
          continue;
        }
        const value = colouring.values[index];
        const known = value !== null;
        const colour = known ? scale.of(value) : null;
        const name = study.heads[index][3];
        const cell = s(
          "g",
          {
            role: "gridcell",
            class: `cell${matches(index) ? "" : " dimmed"}${index === chosen ? " chosen" : ""}`,
            tabindex: tabs ? (index === (chosen ?? 0) ? 0 : -1) : undefined,
            "data-head": index,
            "aria-label": [
              `${name}: ${colouring.title} ${shown(colouring, index)}`,
              sure(colouring, index) && "significant",
            ]
              .filter(Boolean)
              .join(", "),
            onclick: () => open?.(index),
            ...(hover ? { onmouseenter: (event) => hover(index, event), onmouseleave: () => hover(null) } : {}),
            // A listener for the focus alone would make a cell a stop of the tabulator.
            ...(hover && tabs ? { onfocus: (event) => hover(index, event), onblur: () => hover(null) } : {}),
          },
          s("rect", {
            x: left + 0.5,
            y: top + 0.5,
            width: size - 1,
            height: size - 1,
            fill: colour ?? "none",
            class: known ? "" : "unknown",
          }),
          sure(colouring, index)
            ? s("circle", { cx: left + size / 2, cy: top + size / 2, r: Math.max(1.5, size / 8), fill: inkOn(colour) })
            : null,
          s("rect", { x: left + 1, y: top + 1, width: size - 2, height: size - 2, class: "ring" }),
        );
        cells.set(index, { cell, stack: stack.stack, layer, head });
        row.append(cell);
      }
      parts.push(row);
    });
    y += TOP + stack.layers.length * size + 10;
  }
  const width = LEFT + widest * size + 6;
  const node = s(
    "svg",
    {
      viewBox: `0 0 ${width} ${y}`,
      width,
      height: y,
      role: "grid",
      "aria-label": label ?? `Heads coloured by: ${colouring.title}`,
    },
    parts,
  );
  node.classList.add("drawing", "heads");
  if (tabs) node.addEventListener("keydown", (event) => walk(event, cells, open));
  return node;
}

// Arrows go to the next head that is there; Enter and the space bar open it.
function walk(event, cells, open) {
  const here = event.target.closest?.("[data-head]");
  if (!here) return;
  const index = Number(here.dataset.head);
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    open?.(index);
    return;
  }
  const best = nextHead(cells, index, event.key);
  if (best === null) return;
  event.preventDefault();
  if (best === undefined) return;
  here.setAttribute("tabindex", -1);
  cells.get(best).cell.setAttribute("tabindex", 0);
  cells.get(best).cell.focus();
}
