// The sentence twice, with lines from each word to the words it looks at: a click on a word pins its lines.
import { drawing, h, s } from "./dom.js";
import { shorten } from "./format.js";
import { weight } from "./shades.js";

const LEAST = 0.02,
  MOST = 900;

export function beams(bytes, queries, keys) {
  const [rows, columns] = [queries.length, keys.length];
  const step = Math.max(rows, columns) > 80 ? 12 : 17,
    gap = 190,
    left = 126,
    top = 10;
  const height = top + Math.max(rows, columns) * step + 8;
  const lines = s("g", {});
  const said = h("p", { class: "quiet" });
  let pinned = null;
  const draw = (only) => {
    const found = [];
    for (let row = 0; row < rows; row++) {
      if (only !== null && row !== only) continue;
      for (let column = 0; column < columns; column++) {
        const value = weight(bytes[row * columns + column]);
        if (value >= LEAST) found.push([value, row, column]);
      }
    }
    found.sort((a, b) => b[0] - a[0]);
    lines.replaceChildren(
      ...found
        .slice(0, MOST)
        .reverse()
        .map(([value, row, column]) =>
          s("line", {
            x1: left,
            y1: top + (row + 0.5) * step,
            x2: left + gap,
            y2: top + (column + 0.5) * step,
            class: "beam",
            opacity: Math.min(1, 0.08 + value).toFixed(2),
            "stroke-width": (0.5 + 2.5 * value).toFixed(1),
          }),
        ),
    );
    for (const [row, node] of words.entries()) node.classList.toggle("pinned", row === pinned);
    const none = only === null ? "No weight" : `No weight of ${queries[only]}`;
    const cut = found.length > MOST ? `the ${MOST} strongest of ${found.length} weights` : "weights";
    const drawn = found.length ? `Lines are ${cut} from ${LEAST}.` : `${none} reaches ${LEAST}: there is no line.`;
    said.textContent = `${drawn}${pinned === null ? "" : ` Pinned: ${queries[pinned]}.`}`;
  };
  const pin = (row) => {
    pinned = pinned === row ? null : row;
    draw(pinned);
  };
  const words = queries.map((token, row) =>
    s(
      "text",
      {
        x: left - 6,
        y: top + (row + 0.72) * step,
        "text-anchor": "end",
        class: "token pinnable",
        "font-size": step - 4,
        onmouseenter: () => draw(row),
        onmouseleave: () => draw(pinned),
        onclick: () => pin(row),
      },
      shorten(token, 13),
    ),
  );
  const node = drawing(
    left + gap + 126,
    height,
    "Attention as lines from the tokens on the left to those on the right",
    lines,
    words,
    keys.map((token, column) =>
      s(
        "text",
        { x: left + gap + 6, y: top + (column + 0.72) * step, class: "token", "font-size": step - 4 },
        shorten(token, 13),
      ),
    ),
  );
  // One stop of the tabulator for all words: the arrow keys go from word to word.
  let here = -1;
  node.setAttribute("tabindex", 0);
  node.addEventListener("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by) {
      event.preventDefault();
      here = Math.max(0, Math.min(rows - 1, here + by));
      draw(here);
    } else if (event.key === "Enter" && here >= 0) pin(here);
  });
  node.addEventListener("blur", () => draw(pinned));
  draw(null);
  return h("div", {}, node, said);
}
