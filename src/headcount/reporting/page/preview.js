// A picture of a study to show beside a link: 1200 x 630, with the model, its key numbers and the grid as it is.
import { asOnPaper, asPng, inlined, SVG, save, shape, slug } from "./download.js";
import { shorten } from "./format.js";
import { spelled } from "./identity.js";

const [WIDTH, HEIGHT, EDGE, SIDE] = [1200, 630, 48, 534];

export function previewSheet(study, grid, family) {
  const outer = shape("svg", { xmlns: SVG, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT });
  const write = (y, size, text, extra = {}) => {
    const ink = { "font-family": family, fill: "#1b1f24", "xml:space": "preserve" };
    const node = shape("text", { x: EDGE, y, "font-size": size, ...ink, ...extra }, text);
    outer.append(node);
    return node;
  };
  outer.append(shape("rect", { width: WIDTH, height: HEIGHT, fill: "#ffffff" }));
  write(74, 24, "Headcount", { fill: "#0b5cad", "font-weight": 700 });
  write(128, 40, shorten(study.model || study.name, 24), { "font-weight": 600 });
  const { shape: size, asks } = study.identity;
  write(164, 22, shorten([spelled(size), study.task].filter(Boolean).join(" · "), 44), { fill: "#59626d" });
  if (asks) write(194, 22, shorten(asks, 46), { fill: "#59626d" });
  study.keyNumbers
    .filter((one) => !one.missing)
    .forEach((one, at) => {
      const y = 254 + 94 * at;
      const value = write(y, 38, `${spelled(one.value)} `);
      value.append(shape("tspan", { "font-size": 20, fill: "#59626d" }, spelled(one.spread ?? "")));
      write(y + 26, 20, shorten(one.title, 48));
      write(y + 47, 14, shorten(spelled(one.beside), 84), { fill: "#59626d" });
    });
  const { width, height } = grid.viewBox.baseVal;
  const scale = Math.min(SIDE / width, SIDE / height);
  const copy = inlined(grid);
  const placed = {
    x: WIDTH - EDGE - scale * width,
    y: (HEIGHT - scale * height) / 2,
    width: scale * width,
    height: scale * height,
  };
  for (const [name, value] of Object.entries(placed)) copy.setAttribute(name, value);
  outer.append(copy);
  return { markup: new XMLSerializer().serializeToString(outer), width: WIDTH, height: HEIGHT, sharp: 1 };
}

export async function savePreview(study) {
  const grid = document.querySelector("#centre svg[role=grid]");
  if (!grid) return;
  const family = getComputedStyle(document.body).fontFamily;
  const picture = await asPng(asOnPaper(() => previewSheet(study, grid, family)));
  save(`${slug([study.model || study.name, study.task, "preview"].filter(Boolean).join(" "))}.png`, picture);
}
