// The tip beside the pointer: a head's name and its numbers.
import { h } from "./dom.js";
import { shown, sure } from "./format.js";

export function fillTip(tip, name, colourings, index) {
  tip.replaceChildren(
    h("b", {}, name),
    ...colourings.map((each) => h("div", {}, `${each.title}: ${shown(each, index)}${sure(each, index) ? " ●" : ""}`)),
  );
}

// Below the square that it is about, or above it at the bottom of the window.
export function placeTip(tip, box) {
  const middle = box.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = `${Math.min(innerWidth - tip.offsetWidth - 8, Math.max(8, middle))}px`;
  const below = box.bottom + 8 + tip.offsetHeight <= innerHeight;
  tip.style.top = `${below ? box.bottom + 8 : box.top - tip.offsetHeight - 8}px`;
}
