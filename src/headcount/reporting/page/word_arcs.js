// A sentence in one line with arcs from each word to the word it looks at most: takes tokens and weights alone.
import { placeWords } from "./arc_layout.js";
import { h, s } from "./dom.js";
import { plain } from "./format.js";
import { strongest } from "./shades.js";

const LEAST = 0.1,
  LINE = 20,
  HIGHEST = 64;

const NONE = `No word looks at another one with a weight of ${LEAST} or more: it looks at many words a little.`;

// The strongest weight of each token, above the line; between two texts from the line above to the line below.
export function wordArcs(bytes, queries, keys, { twice = false } = {}) {
  const arcs = strongest(bytes, queries.length, keys.length).filter(([, , value]) => value >= LEAST);
  const [above, below] = [placeWords(queries), placeWords(keys)];
  const reach = Math.max(
    20,
    ...arcs.map(([from, to]) => Math.abs(above.placed[from].middle - below.placed[to].middle)),
  );
  const rise = (from, to) => 8 + (HIGHEST - 12) * Math.sqrt(Math.abs(from - to) / reach);
  const top = twice ? 18 : HIGHEST + 6;
  const bottom = twice ? top + 70 : top;
  const width = Math.ceil(Math.max(above.width, below.width));
  const path = (from, to) => {
    const [a, b] = [above.placed[from].middle, below.placed[to].middle];
    if (twice) return `M${a},${top + 2} C${a},${top + 36} ${b},${bottom - 50} ${b},${bottom - 16}`;
    if (a === b) return `M${a - 5},${top - 2} C${a - 9},${top - 18} ${a + 9},${top - 18} ${a + 5},${top - 2}`;
    const y = top - rise(a, b) * 1.3;
    return `M${a},${top - 2} C${a},${y} ${b},${y} ${b},${top - 2}`;
  };
  const words = (placed, y, aside) =>
    placed.map(({ text, word, middle }) =>
      s(
        "text",
        { x: middle, y, "text-anchor": "middle", class: aside ? "word aside" : "word" },
        text,
        s("title", {}, word),
      ),
    );
  const node = s(
    "svg",
    {
      viewBox: `0 0 ${width} ${bottom + LINE + 4}`,
      width,
      height: bottom + LINE + 4,
      role: "img",
      "aria-label": `Words and the word that each looks at most: ${arcs
        .slice(0, 12)
        .map(([from, to, value]) => `${queries[from]} to ${keys[to]} ${plain(value, 2)}`)
        .join(", ")}`,
    },
    [...arcs]
      .sort((a, b) => a[2] - b[2])
      .map(([from, to, value]) =>
        s(
          "path",
          {
            d: path(from, to),
            class: "word-arc",
            "stroke-width": (0.8 + 3 * value).toFixed(2),
            opacity: (0.25 + 0.75 * value).toFixed(2),
          },
          s("title", {}, `${queries[from]} → ${keys[to]}: ${plain(value)}`),
        ),
      ),
    words(above.placed, (twice ? top - 16 : top) + 14),
    twice ? words(below.placed, bottom + 2) : null,
  );
  node.classList.add("word-arcs");
  const holder = h(
    "div",
    { class: "scroll arcs", tabindex: 0, role: "group", "aria-label": "The sentence with arcs" },
    node,
  );
  holder.dataset.arcs = arcs.length;
  holder.addEventListener("scroll", () => fade(holder));
  requestAnimationFrame(() => fade(holder));
  // What is strongest comes into sight.
  const best = arcs.reduce(
    (found, arc) => (Math.abs(arc[0] - arc[1]) && arc[2] > (found?.[2] ?? 0) ? arc : found),
    null,
  );
  if (best)
    requestAnimationFrame(() => {
      const apart = Math.abs(above.placed[best[0]].middle - below.placed[best[1]].middle);
      if (apart > holder.clientWidth) return;
      const middle = (above.placed[best[0]].middle + below.placed[best[1]].middle) / 2;
      holder.scrollLeft = middle - holder.clientWidth / 2;
    });
  return holder;
}

// A sentence that is longer than its room fades out where it goes on.
function fade(holder) {
  const rest = holder.scrollWidth - holder.clientWidth - holder.scrollLeft;
  holder.classList.toggle("more-before", holder.scrollLeft > 2);
  holder.classList.toggle("more-after", rest > 2);
}

export const arcsSay = (twice) =>
  `Each word${twice ? " above" : ""} with an arc to the word it looks at most, where that is at least ${LEAST}.`;

// The same of a sentence that is drawn, once it stands in the page: also where it has no arc, or goes on sideways.
export function arcsNote(holder, words, twice) {
  const note = h("p", { class: "quiet" }, Number(holder.dataset.arcs) ? arcsSay(twice) : NONE);
  requestAnimationFrame(() => {
    if (holder.scrollWidth > holder.clientWidth + 2)
      note.append(h("span", { class: "on-screen" }, ` Scroll sideways to see all ${words} tokens.`));
  });
  return note;
}
