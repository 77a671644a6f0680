// What switches heads off beside the grid: groups of them, replacements and strengths, undo and reset.
import { h } from "../dom.js";
import { spellHeads } from "./heads.js";

const REPLACEMENTS = {
  zero: ["zeros", "the head adds nothing"],
  uniform: ["uniform attention", "the head looks at all tokens alike"],
  mean: ["its mean output", "the head adds what it adds on average"],
};

const button = (text, work, more = {}) => h("button", { type: "button", class: "small", onclick: work, ...more }, text);

// `groups`: of groups.js. `take(heads)` switches a group off.
export function groupPicker(groups, take, draw) {
  const box = h("select", { "aria-label": "Group of heads" });
  const kinds = [...new Set(groups.map(({ group }) => group))];
  for (const kind of kinds)
    box.append(
      h(
        "optgroup",
        { label: kind },
        groups.flatMap(({ group, title }, at) => (group === kind ? [h("option", { value: String(at) }, title)] : [])),
      ),
    );
  return h(
    "div",
    { class: "group-picker" },
    box,
    button("Switch off", () => take(groups[Number(box.value)].heads), { "aria-label": "Switch off this group" }),
    button("10 at random", draw, { "aria-label": "10 at random: switch them off" }),
  );
}

// One line for each selection: which heads, what replaces them, how much of it. `actions`: change(at, what, merge),
// pick(at), add(), remove(at).
export function selectionList(model, selections, current, actions) {
  const isOne = selections.length === 1;
  return h(
    "ul",
    { class: "selections" },
    selections.map((one, at) => selectionRow(model, one, at, { isOne, isCurrent: at === current, ...actions })),
  );
}

function selectionRow(model, one, at, { isOne, isCurrent, change, pick, remove }) {
  const names = spellHeads(model, one.heads);
  const count = `${one.heads.length} ${one.heads.length === 1 ? "head" : "heads"} off`;
  const number = isOne ? "" : ` of selection ${at + 1}`;
  const shown = h("span", { class: "degree" }, one.strength.toFixed(2));
  const slider = h("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.05,
    value: one.strength,
    "aria-label": `Strength${number}`,
    oninput: () => {
      shown.textContent = Number(slider.value).toFixed(2);
      change(at, { strength: Number(slider.value) }, true);
    },
    onchange: () => change(at, { strength: Number(slider.value) }, false),
  });
  const hows = h(
    "select",
    { "aria-label": `Replaced by${number}`, onchange: () => change(at, { how: hows.value }) },
    model.replacements.map(({ how, missing }) =>
      h(
        "option",
        { value: how, selected: how === one.how, disabled: Boolean(missing), title: missing },
        REPLACEMENTS[how]?.[0] ?? how,
        missing ? " (not available)" : "",
      ),
    ),
  );
  return h(
    "li",
    { class: isCurrent && !isOne ? "current" : "" },
    h(
      "div",
      { class: "selection-heads" },
      isOne
        ? null
        : h(
            "button",
            {
              type: "button",
              class: "small",
              "aria-pressed": String(isCurrent),
              "aria-label": `Selection ${at + 1}: clicks in the grid go here`,
              onclick: () => pick(at),
            },
            String(at + 1),
          ),
      one.heads.length
        ? h("span", {}, h("b", {}, count), h("span", { class: "quiet names", title: names }, ` ${names}`))
        : h("span", { class: "quiet" }, "No head is off: click squares of the grid, or choose a group."),
      isOne
        ? null
        : h(
            "button",
            { type: "button", class: "small", "aria-label": `Remove selection ${at + 1}`, onclick: () => remove(at) },
            "✕",
          ),
    ),
    h("label", { class: "choice" }, h("span", {}, "Replaced by"), hows),
    h("label", { class: "choice strength" }, h("span", {}, "Strength ", shown), slider),
    h("p", { class: "quiet says-how" }, `${REPLACEMENTS[one.how]?.[1] ?? ""}${degree(one.strength)}.`),
  );
}

const degree = (strength) =>
  strength === 1 ? "" : `, at ${Math.round(100 * strength)} %: the rest of its output stays`;

// Undo, redo, all on again, another selection.
export function historyTools({ canUndo, canRedo, isOff, undo, redo, reset, add }) {
  return h(
    "div",
    { class: "tools history" },
    button("Undo", undo, { disabled: !canUndo, title: "Ctrl+Z" }),
    button("Redo", redo, { disabled: !canRedo, title: "Ctrl+Shift+Z" }),
    button("All on again", reset, { disabled: !isOff }),
    button("Another selection", add, {
      disabled: !isOff,
      title: "Heads with another replacement or strength",
    }),
  );
}
