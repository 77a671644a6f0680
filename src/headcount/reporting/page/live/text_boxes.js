// The boxes that a text is typed into, examples to start from, and what is unusual about the text.
import { h } from "../dom.js";

const TITLES = {
  text: "Text",
  "second text": "Second text",
  prompt: "Prompt",
  source: "Source text",
  "beginning of the target": "Beginning of the translation (optional)",
  context: "Context",
};

const titleOf = (model, place) => {
  const last = model.texts.length - 1;
  if (place > last) return `Choice ${place}`;
  const title = model.texts[place];
  const optional = model.kind === "classification" || model.kind === "regression";
  return (TITLES[title] ?? title[0].toUpperCase() + title.slice(1)) + (place && optional ? " (for pairs)" : "");
};

const excerpt = (texts) => {
  const said = texts.join(" | ");
  return said.length > 70 ? `${said.slice(0, 69)}…` : said;
};

// `typed(texts)` is called at each key. Gives the node, `fill(texts)`, and `warn(lines)`.
export function textBoxes(model, texts, typed) {
  const boxes = [];
  const fields = h("div", { class: "boxes" });
  const warning = h("div", { class: "unlike", role: "status", "aria-label": "About this text" });
  const values = () => boxes.map((box) => box.value);
  const add = (value = "") => {
    const place = boxes.length;
    const box = h("textarea", {
      rows: model.most_texts > 1 ? 1 : 2,
      maxlength: model.limits.characters,
      spellcheck: "false",
      autocomplete: "off",
      placeholder:
        place >= model.texts_needed ? "optional" : model.mask ? `The ${model.mask} is asked for.` : "Type here",
      oninput: () => {
        grow(box);
        examples.value = "";
        typed(values());
      },
    });
    box.value = value;
    boxes.push(box);
    fields.append(h("label", { class: "text-box" }, h("span", {}, titleOf(model, place)), box));
    grow(box);
    if (more) more.hidden = boxes.length >= model.most_texts;
  };
  const more =
    model.most_texts > model.texts.length
      ? h(
          "button",
          {
            type: "button",
            class: "small",
            onclick: () => {
              add();
              boxes.at(-1).focus();
              typed(values());
            },
          },
          "Add a choice",
        )
      : null;
  const examples = h(
    "select",
    {
      "aria-label": "Examples",
      onchange: () => {
        if (examples.value === "") return;
        fill(model.examples[Number(examples.value)]);
        typed(values());
      },
    },
    h("option", { value: "" }, "Choose an example …"),
    model.examples.map((one, at) => h("option", { value: String(at) }, excerpt(one))),
  );
  const fill = (wanted) => {
    const count = Math.max(model.texts.length, wanted.length);
    while (boxes.length < count) add();
    while (boxes.length > count) {
      boxes.pop();
      fields.lastChild.remove();
    }
    boxes.forEach((box, place) => {
      box.value = wanted[place] ?? "";
      grow(box);
    });
    if (more) more.hidden = boxes.length >= model.most_texts;
  };
  const node = h(
    "section",
    { class: "live-text", "aria-labelledby": "text-title" },
    h(
      "div",
      { class: "title" },
      h("h2", { id: "text-title" }, h("span", { class: "step" }, "1 · "), "Type a text"),
      model.examples.length ? h("label", { class: "examples" }, examples) : null,
    ),
    fields,
    more,
    warning,
  );
  fill(texts);
  const warn = (lines) => {
    const said = JSON.stringify(lines);
    if (warning.dataset.said === said) return; // else it would be read aloud at each key
    warning.dataset.said = said;
    warning.replaceChildren(...(lines.length ? [h("ul", {}, ...lines.map((line) => h("li", {}, line)))] : []));
  };
  return { node, fill, warn, focus: () => boxes[0].focus() };
}

// As high as its text, up to a limit of the style sheet.
function grow(box) {
  box.style.height = "auto";
  if (box.scrollHeight) box.style.height = `${box.scrollHeight + 2}px`;
}
