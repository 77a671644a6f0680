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
      { class: column >= 0 ? "right" : "", scope: "col", "aria-sort": now },
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
      order.slice(0, 400).map((index, row) =>
        h(
          "tr",
          {},
          h(
            "th",
            { scope: "row" },
            // One stop of the tabulator for all rows: the arrow keys go from row to row.
            h(
              "button",
              { type: "button", class: "plain", tabindex: row ? -1 : 0, onclick: () => open(index) },
              study.heads[index][3],
            ),
          ),
          columns.map((colouring) =>
            h("td", { class: "right" }, shown(colouring, index), sure(colouring, index) ? " ●" : ""),
          ),
        ),
      ),
    ),
  );
  table.addEventListener("keydown", rove);
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
    h("div", { class: "scroll tall", tabindex: 0, role: "group", "aria-label": "Heads as a table" }, table),
    { rows, level: "h3", subject: study.model },
  );
}

function rove(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const here = event.target.closest?.("tbody button");
  if (!by || !here) return;
  const all = [...here.closest("tbody").querySelectorAll("th button")];
  const next = all[all.indexOf(here) + by];
  event.preventDefault();
  if (!next) return;
  here.setAttribute("tabindex", -1);
  next.setAttribute("tabindex", 0);
  next.focus();
}
