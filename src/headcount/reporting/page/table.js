// All heads in a table: sorted by any column; the filter that dims the grid picks its rows.
import { h } from "./dom.js";
import { figure } from "./download.js";
import { shown, sure } from "./format.js";
import { sorted } from "./order.js";

export function headTable(study, colourings, state, { open, matches, sort }) {
  const columns = colourings.filter(Boolean);
  const by = state.sort;
  const order = sorted(study.heads.map((_, index) => index).filter(matches), columns[by?.column], by);
  const heading = (title, column) => {
    const now = by?.column === column ? (by.up ? "ascending" : "descending") : "none";
    return h(
      "th",
      { class: column >= 0 ? "right" : "", "aria-sort": now },
      h(
        "button",
        { type: "button", class: "plain", onclick: () => sort(column) },
        title,
        now === "none" ? "" : now === "ascending" ? " ▲" : " ▼",
      ),
    );
  };
  const table = h(
    "table",
    { class: "heads-table" },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heading("head", -1),
        columns.map((colouring, column) => heading(colouring.title, column)),
      ),
    ),
    h(
      "tbody",
      {},
      order.slice(0, 400).map((index) =>
        h(
          "tr",
          {},
          h(
            "th",
            {},
            h("button", { type: "button", class: "plain", onclick: () => open(index) }, study.heads[index][3]),
          ),
          columns.map((colouring) =>
            h("td", { class: "right" }, shown(colouring, index), sure(colouring, index) ? " ●" : ""),
          ),
        ),
      ),
    ),
  );
  const rows = () =>
    order.map((index) =>
      Object.fromEntries([
        ["head", study.heads[index][3]],
        ...study.colourings.flatMap((colouring) => {
          const value = colouring.values[index];
          const cells = [
            [colouring.title, colouring.kind === "category" && value !== null ? colouring.names[value] : value],
          ];
          for (const side of ["low", "high", "p", "q"])
            if (colouring[side]) cells.push([`${colouring.title}: ${side}`, colouring[side][index]]);
          return cells;
        }),
      ]),
    );
  const count =
    order.length === study.heads.length
      ? `All ${order.length} heads`
      : order.length
        ? `${order.length} of ${study.heads.length} heads`
        : `None of ${study.heads.length} heads ${state.only ? "has a significant effect and " : ""}is left by these filters`;
  return figure(
    "Heads as a table",
    `${count}. Click a column to sort; the CSV has every number of every head shown.`,
    h("div", { class: "scroll tall" }, table),
    { rows },
  );
}
