// A line drawn around points of a plot chooses them; Escape or a click beside the points gives up the choice.

import { s } from "./dom.js";
import { polygonContains } from "./polygon.js";

// `points`: [{index, x, y}] in the drawing's own units; `choose(indices)` is called with those inside, or with none.
export function lasso(node, points, choose) {
  const outline = s("path", { class: "lasso", "aria-hidden": "true" });
  node.append(outline);
  let drawn = null;
  const at = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(node.getScreenCTM().inverse());
    return [point.x, point.y];
  };
  node.addEventListener("pointerdown", (event) => {
    if (event.target.closest("[data-point]")) return;
    drawn = [at(event)];
  });
  node.addEventListener("pointermove", (event) => {
    if (!drawn) return;
    drawn.push(at(event));
    outline.setAttribute("d", `M${drawn.map((one) => one.join(",")).join("L")}Z`);
  });
  node.addEventListener("pointerup", () => {
    if (!drawn) return;
    const inside = drawn.length > 3 ? points.filter(({ x, y }) => polygonContains(drawn, [x, y])) : [];
    drawn = null;
    if (!inside.length) outline.removeAttribute("d");
    choose(inside.map(({ index }) => index));
  });
}
