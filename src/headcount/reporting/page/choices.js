// Which numbers the grid can show: a few named choices, and all others behind a search.
import { h, select } from "./dom.js";

// The choices that have a name in the menu.
export const namedChoices = (study) => {
  const named = study.colourings.filter((colouring) => colouring.main || colouring.effect);
  return named.length ? named : study.colourings;
};

const MORE = "all numbers";

// A menu of the named choices with a way to all numbers. `extra`: choices in front, as {value, title}.
export function chooser(label, study, value, change, { extra = [] } = {}) {
  const named = namedChoices(study);
  const of = (colouring) => ({ value: colouring.id, title: colouring.title, group: colouring.group });
  const current = study.colourings.find((colouring) => colouring.id === value);
  const further = study.colourings.length > named.length;
  const options = [
    ...extra,
    ...named.map(of),
    ...(current && !named.includes(current) ? [{ ...of(current), group: "Chosen from all numbers" }] : []),
    ...(further ? [{ value: MORE, title: `All ${study.colourings.length} numbers …` }] : []),
  ];
  const holder = h("div", { class: "chooser" });
  const search = () => holder.append(searchBox(study, label, choose, shut));
  const menu = select(label, options, value, (wanted) => {
    if (wanted !== MORE) return change(wanted);
    menu.querySelector("select").value = value;
    shut();
    search();
    return holder.querySelector("input").focus();
  });
  const shut = () => holder.querySelector(".search-box")?.remove();
  const choose = (wanted) => {
    shut();
    change(wanted);
  };
  holder.append(menu);
  return holder;
}

function searchBox(study, label, choose, shut) {
  const list = h("ul", { class: "found-list" });
  const fill = (wanted) => {
    const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
    const found = study.colourings.filter((colouring) => {
      const said = `${colouring.title} ${colouring.group} ${colouring.unit}`.toLowerCase();
      return words.every((word) => said.includes(word));
    });
    let group = null;
    list.replaceChildren(
      ...found.flatMap((colouring) => {
        const heading = colouring.group !== group ? [h("li", { class: "group" }, colouring.group)] : [];
        group = colouring.group;
        const button = h(
          "button",
          { type: "button", class: "plain", onclick: () => choose(colouring.id) },
          colouring.title,
        );
        return [...heading, h("li", {}, button)];
      }),
      ...(found.length ? [] : [h("li", {}, `No number is called “${wanted}”.`)]),
    );
  };
  fill("");
  const box = h(
    "div",
    { class: "search-box", role: "dialog", "aria-label": `${label}: all numbers` },
    h("input", {
      type: "search",
      placeholder: "Search all numbers",
      "aria-label": "Search all numbers",
      oninput: (event) => fill(event.target.value),
    }),
    list,
    h("button", { type: "button", class: "small", onclick: shut }, "Close"),
  );
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    shut();
  });
  return box;
}
