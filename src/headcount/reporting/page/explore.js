// The numbers of all heads: one against another as points, and all of them as a table.
import { chooser } from "./choices.js";
import { h } from "./dom.js";
import { scatter } from "./scatter.js";
import { headTable } from "./table.js";

// `state`: against, sort, lasso. `redraw(change)` changes it and draws the section again.
export function explore(study, colouring, against, state, { shared, redraw }) {
  const matches = (index) => shared.matches(index) && (!state.lasso || state.lasso.includes(index));
  const sort = (column) =>
    redraw({ order: { column, up: state.order?.column === column ? !state.order.up : column < 0 } });
  const choose = (heads) => redraw({ lasso: heads.length ? heads : null });
  return [
    h("h2", {}, "Numbers against each other"),
    h(
      "div",
      { class: "controls" },
      chooser("Against", study, against?.id ?? "", (id) => redraw({ against: id, order: null }), {
        extra: [{ value: "", title: "nothing" }],
      }),
      state.lasso
        ? h(
            "button",
            { type: "button", class: "small", onclick: () => redraw({ lasso: null }) },
            `Show all heads again (${state.lasso.length} chosen)`,
          )
        : null,
    ),
    h(
      "div",
      { class: "pair" },
      against ? scatter(study, colouring, against, { ...shared, matches, choose }) : null,
      h(
        "div",
        { id: "list" },
        headTable(
          study,
          [colouring, against],
          { sort: state.order, only: state.sure },
          { open: shared.open, matches, sort },
        ),
      ),
    ),
  ];
}
