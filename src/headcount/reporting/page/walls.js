// The figure with the maps of all heads: one text, or two beside each other.
import { h, select } from "./dom.js";
import { figure, save } from "./download.js";
import { mapTitle } from "./head.js";
import { wall } from "./wall.js";

export function walls(one, open) {
  const container = h("div", { class: "pair waiting" });
  const twin = one.maps.findIndex(
    (maps, number) =>
      number && maps.text === one.maps[0].text && maps.pair === one.maps[0].pair && maps.model !== one.maps[0].model,
  );
  const chosen = { first: "0", second: twin > 0 ? String(twin) : "" };
  const options = one.maps.map((maps, number) => ({ value: String(number), title: mapTitle(one, maps) }));
  const paint = async () => {
    const parts = [];
    for (const number of [chosen.first, chosen.second].filter((value) => value !== ""))
      parts.push(
        h(
          "div",
          {},
          chosen.second === "" ? null : h("p", { class: "caption" }, mapTitle(one, one.maps[number])),
          await wall(one, one.maps[number], open, chosen.second === "" ? 900 : 540),
        ),
      );
    container.replaceChildren(...parts);
  };
  // Drawn when it comes into sight: it unpacks every layer.
  const seen = new IntersectionObserver(
    (entries) => {
      if (entries.some((entry) => entry.isIntersecting)) {
        seen.disconnect();
        paint();
      }
    },
    { rootMargin: "300px" },
  );
  seen.observe(container);
  const rest =
    one.maps.length > 1
      ? [
          select("Text", options, chosen.first, (value) => {
            chosen.first = value;
            paint();
          }),
          select("Beside it", [{ value: "", title: "nothing" }, ...options], chosen.second, (value) => {
            chosen.second = value;
            paint();
          }),
        ]
      : h("p", { class: "caption" }, mapTitle(one, one.maps[0]));
  const node = figure(
    "All maps of one text",
    "Where every head looks: a row of a map shows where a token attends. Click a head to open it.",
    h("div", {}, h("div", { class: "controls" }, rest), container),
  );
  node.querySelector(".tools").append(
    h(
      "button",
      {
        type: "button",
        class: "small",
        "aria-label": "Picture (PNG) of all maps",
        onclick: () => node.querySelector("canvas")?.toBlob((blob) => save("all-maps.png", blob)),
      },
      "PNG",
    ),
  );
  return node;
}
