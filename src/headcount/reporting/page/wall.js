// The maps of all heads for one text, small, in the grid's order.
import { h } from "./dom.js";
import { picture } from "./maps.js";
import { layer } from "./unpack.js";

// All heads' maps of one text, small, in the grid's order.
export async function wall(study, maps, open, room) {
  const parts = [];
  for (const stack of maps.stacks) {
    const [layers, heads, rows, columns] = stack.shape;
    const found = study.stacks.find((one) => one.stack === stack.stack);
    const tile = Math.max(18, Math.min(72, Math.floor(room / heads) - 4));
    const left = 34,
      top = maps.stacks.length > 1 ? 40 : 20;
    const width = left + heads * (tile + 4),
      height = top + layers * (tile + 4);
    const canvas = h("canvas", {
      width: width * 2,
      height: height * 2,
      class: "wall",
      role: "img",
      "aria-label": `The attention maps of all heads, ${stack.stack}`,
    });
    canvas.style.maxWidth = `${width}px`;
    const context = canvas.getContext("2d");
    context.scale(2, 2);
    context.imageSmoothingEnabled = rows > tile; // few tokens are squares, many are shrunk
    const ink = getComputedStyle(document.body).color;
    context.fillStyle = ink;
    context.font = "11px sans-serif";
    if (maps.stacks.length > 1) context.fillText(stack.stack, 0, 14);
    for (let head = 0; head < heads; head++)
      context.fillText(`H${head}`, left + head * (tile + 4) + tile / 2 - 8, top - 6);
    for (let number = 0; number < layers; number++) {
      context.fillStyle = ink;
      context.fillText(`L${number}`, 2, top + number * (tile + 4) + tile / 2 + 4);
      const bytes = await layer(stack, number);
      for (let head = 0; head < heads; head++) {
        const there = !found || found.layers[number]?.includes(head);
        const x = left + head * (tile + 4),
          y = top + number * (tile + 4);
        if (there) context.drawImage(picture(bytes, head * rows * columns, rows, columns), x, y, tile, tile);
        context.strokeStyle = "rgba(128,128,128,0.5)";
        context.setLineDash(there ? [] : [2, 2]);
        context.strokeRect(x + 0.5, y + 0.5, tile - 1, tile - 1);
      }
    }
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * width,
        y = ((event.clientY - box.top) / box.height) * height;
      const head = Math.floor((x - left) / (tile + 4)),
        number = Math.floor((y - top) / (tile + 4));
      const index = study.heads.findIndex((one) => one[0] === stack.stack && one[1] === number && one[2] === head);
      if (index >= 0) open(index);
    });
    parts.push(canvas);
  }
  return h("div", { class: "walls" }, parts);
}
