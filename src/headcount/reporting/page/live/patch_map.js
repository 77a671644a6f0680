// Where one token of an image looks: the image as the model sees it, lit where the attention is.
import { drawing, h, s } from "../dom.js";
import { plain, signed } from "../format.js";
import { mapImage } from "../maps.js";
import { CHANGES } from "../shades.js";

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
const DARK = 0.8; // of a patch that is not looked at

// `bytes`: the map [token, token] as shades hold it. `token`: the one that looks; `choose(token)` takes another one.
export function patchMap(bytes, names, { patches, seen, shades, token, room, choose }) {
  const { rows, columns, first } = patches;
  const count = names.length;
  const from = Math.min(token, count - 1);
  const side = Math.min(40, Math.floor(Math.min(room, 336) / Math.max(rows, columns)));
  const [width, height] = [columns * side, rows * side];
  const values = Array.from({ length: count }, (_, at) => shades.read(bytes[from * count + at]));
  const strongest = values.reduce((best, value, at) => (Math.abs(value) > Math.abs(values[best]) ? at : best), 0);
  const write = shades === CHANGES ? signed : plain;
  const says = `${names[from]} → ${names[strongest]}: ${write(values[strongest])}, the ${
    shades === CHANGES ? "largest change" : "strongest weight"
  } of its row.`;
  const most = Math.max(1e-9, ...values.slice(first));
  const squares = (draw) =>
    Array.from({ length: rows * columns }, (_, at) =>
      draw(first + at, { x: (at % columns) * side, y: Math.floor(at / columns) * side, width: side, height: side }),
    );
  const node = drawing(
    width,
    height,
    `Where ${names[from]} looks in the image: ${says} Arrow keys take another patch.`,
    s("image", { href: seen, width, height, preserveAspectRatio: "none" }),
    shades === CHANGES
      ? mapImage({ width, height, opacity: 0.75 }, bytes, from * count + first, rows, columns, shades)
      : null,
    squares((at, place) =>
      s(
        "rect",
        {
          ...place,
          class: at === from ? "patch looks" : "patch",
          "fill-opacity": shades === CHANGES ? 0 : (DARK * (1 - Math.sqrt(values[at] / most))).toFixed(3),
          onclick: () => choose(at),
        },
        s("title", {}, `${names[from]} → ${names[at]}: ${write(values[at])}`),
      ),
    ),
  );
  node.classList.add("patch-map");
  node.setAttribute("tabindex", 0);
  node.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (!step) return;
    event.preventDefault();
    const at = from - first;
    const [row, column] = at < 0 ? [0, 0] : [Math.floor(at / columns) + step[0], (at % columns) + step[1]];
    if (row >= 0 && row < rows && column >= 0 && column < columns) choose(first + row * columns + column);
  });
  return h(
    "div",
    { class: "patches" },
    h(
      "div",
      { class: "tools" },
      names
        .slice(0, first)
        .map((name, at) =>
          h(
            "button",
            { type: "button", class: "small", "aria-pressed": String(at === from), onclick: () => choose(at) },
            `From ${name}`,
          ),
        ),
      h("span", { class: "quiet" }, "Or click a patch to see where it looks. A name is row, column."),
    ),
    node,
    h("p", { class: "quiet" }, says),
  );
}
