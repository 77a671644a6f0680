// A look into the map of a long text: the exact map of a stored block, or the cells around a click, enlarged.
import { blockAt, blockName, enlarge } from "./blocks.js";
import { h, select } from "./dom.js";
import { figure } from "./download.js";
import { headBytes, tokenMap } from "./maps.js";
import { layer } from "./unpack.js";

// `outlines` and `choose` for the map between stretches, and the node that shows what was chosen.
export function lookInto(stack, pooled, layerNumber, head) {
  const blocks = stack.blocks ?? { starts: [], shape: [0, 0, 0, 0] };
  const count = blocks.starts.length;
  const shown = h("div", {});
  const told = h("p", { class: "caption told", "aria-live": "polite" });
  const put = (title, caption, map) => {
    told.textContent = "";
    shown.replaceChildren(figure(title, caption, map, { level: "h4" }), told);
  };
  const exact = async (number) => {
    const block = { ...blocks, queries: blocks.queries[number], keys: blocks.keys[number] };
    const bytes = await headBytes(block, layerNumber, head * count + number);
    const [query, key] = blocks.starts[number];
    const causal = Boolean(stack.causal) && query === key;
    const map = tokenMap(bytes, block.queries, block.keys, told, { causal });
    put("A block of the map", `From ${blockName(blocks, number)}: a cell is a pair of tokens.`, map);
  };
  const around = async (row, column) => {
    const bytes = await layer(stack, layerNumber);
    const [, , rows, columns] = stack.shape;
    const part = enlarge(bytes, head * rows * columns, [rows, columns], row, column);
    const queries = stack.queries.slice(part.top, part.top + part.height);
    const keys = stack.keys.slice(part.left, part.left + part.width);
    const causal = Boolean(stack.causal) && part.top === part.left;
    const caption = `The study has no exact map here: a cell is ${pooled} x ${pooled} tokens, named by its first and last.`;
    put("A part of the map, enlarged", caption, tokenMap(part.bytes, queries, keys, told, { causal }));
  };
  const choose = (row, column) => {
    const number = blockAt(blocks, pooled, row, column);
    box.value = number < 0 ? "" : String(number);
    return number < 0 ? around(row, column) : exact(number);
  };
  const options = blocks.starts.map((_, number) => ({ value: String(number), title: blockName(blocks, number) }));
  const chooser = select("Block", [{ value: "", title: "none" }, ...options], "", (value) =>
    value === "" ? shown.replaceChildren() : exact(Number(value)),
  );
  const box = chooser.querySelector("select");
  const outlines = blocks.starts.map(([query, key]) => [
    query / pooled,
    key / pooled,
    blocks.shape[2] / pooled,
    blocks.shape[3] / pooled,
  ]);
  return { outlines, choose, node: h("div", {}, count ? chooser : null, shown) };
}
