// A rectangle that is drawn over the grid with the Shift key held: the heads inside it are chosen at once.
import { s } from "../dom.js";

const LEAST = 5;

// `choose(indices)` gets the heads in the rectangle; the click at its end opens nothing.
export function area(svg, choose) {
  const box = s("rect", { class: "lasso", "aria-hidden": "true" });
  let isDrawn = false;
  const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  svg.addEventListener("pointerdown", (event) => {
    isDrawn = false;
    if (!event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    follow(at(event));
  });
  svg.addEventListener(
    "click",
    (event) => {
      if (isDrawn) event.stopPropagation();
    },
    { capture: true },
  );

  function follow(from) {
    const stop = new AbortController();
    const { signal } = stop;
    addEventListener(
      "pointermove",
      (event) => {
        const to = at(event);
        for (const [side, size] of [
          ["x", "width"],
          ["y", "height"],
        ]) {
          box.setAttribute(side, Math.min(from[side], to[side]));
          box.setAttribute(size, Math.abs(from[side] - to[side]));
        }
        if (!box.isConnected) svg.append(box);
      },
      { signal },
    );
    addEventListener("pointercancel", () => end(stop), { signal });
    addEventListener(
      "pointerup",
      (event) => {
        end(stop);
        const to = at(event);
        if (Math.hypot(to.x - from.x, to.y - from.y) < LEAST) return;
        isDrawn = true;
        const inside = headsInside(svg, from, to);
        if (inside.length) choose(inside);
      },
      { signal },
    );
  }

  function end(stop) {
    stop.abort();
    box.remove();
  }
}

function headsInside(svg, from, to) {
  const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
  const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
  return [...svg.querySelectorAll(".cell")]
    .filter((cell) => {
      const { x, y, width, height } = cell.querySelector(".face").getBBox();
      return x < right && x + width > left && y < bottom && y + height > top;
    })
    .map((cell) => Number(cell.dataset.head));
}
