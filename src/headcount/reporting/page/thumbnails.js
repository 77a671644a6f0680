// One picture with the maps of all heads, small, each where its cell of the grid stands.
import { h } from "./dom.js";
import { picture } from "./maps.js";
import { layer } from "./unpack.js";

const SHARP = 2;

// `cells`: [{stack, layer, head, x, y, side}]. Gives the address of a picture of the layout's size.
export async function thumbnails(maps, { width, height }, cells, { dark } = {}) {
  const canvas = h("canvas", { width: SHARP * width, height: SHARP * height });
  const context = canvas.getContext("2d");
  context.scale(SHARP, SHARP);
  context.imageSmoothingQuality = "high";
  for (const { stack, layer: number, head, x, y, side } of cells) {
    const found = maps.stacks.find((one) => one.stack === stack);
    if (!found || number >= found.shape[0] || head >= found.shape[1]) continue;
    const [, , rows, columns] = found.shape;
    const bytes = await layer(found, number);
    // Few tokens are squares, many are shrunk.
    context.imageSmoothingEnabled = Math.max(rows, columns) > SHARP * side;
    context.drawImage(picture(bytes, head * rows * columns, rows, columns, { dark }), x, y, side, side);
  }
  return canvas.toDataURL();
}
