// Heads and feed-forward units together: the score against the measured speed, and what is left of each layer.
import { extent } from "d3-array";
import { area, line } from "d3-shape";
import { EDGE, plot } from "./axes.js";
import { AXES, axesOf, count, layersLeft, namedLines, randomLine, stepWords } from "./budget_lines.js";
import { OF_ORDER } from "./colour.js";
import { drawing, h, s, select } from "./dom.js";
import { figure } from "./download.js";
import { label } from "./format.js";
import { swatch } from "./legend.js";
import { linear, wide } from "./scales.js";
import { placeTip } from "./tip.js";

const [WIDTH, HEIGHT] = [540, 330];

const REMOVED = { heads: "heads", units: "feed-forward units", both: "heads and feed-forward units" };

// What steps are shares of.
const CURRENCIES = { operations: "operations", weights: "parameters", time: "time" };

export function budget(told, tip) {
  if (told.baseline[0] === null) return null;
  const state = { axis: axesOf(told)[0], order: 0, step: told.chosen ?? 0 };
  const [curve, bars] = [h("div", {}), h("div", {})];
  const words = h("p", { class: "told", "aria-live": "polite" });
  const slider = h("input", {
    type: "range",
    min: 0,
    max: told.steps.length - 1,
    step: 1,
    value: state.step,
    "aria-label": "Step",
    oninput: (event) => change({ step: Number(event.target.value) }),
  });
  const order = select(
    "What is removed",
    told.lines.map((each, at) => ({ value: String(at), title: each.order })),
    "0",
    (value) => change({ order: Number(value) }),
  );

  const isChosen = (at, step) => at === 0 && step === told.chosen;
  const target = (step) => `${Math.round(100 * told.steps[step])} % of the ${CURRENCIES[told.currency]}`;
  const named = (at, step) => `${told.lines[at].order}, ${target(step)}${isChosen(at, step) ? ", selected" : ""}`;

  const change = (what) => {
    Object.assign(state, what);
    tip.hidden = true;
    slider.value = state.step;
    order.querySelector("select").value = String(state.order);
    draw();
  };

  function draw() {
    const shown = told.lines[state.order];
    const said = `${named(state.order, state.step)}: ${stepWords(told, shown, state.step).join("; ")}.`;
    slider.setAttribute("aria-valuetext", named(state.order, state.step));
    words.textContent = said;
    curve.replaceChildren(score(), h("ul", { class: "kinds" }, legend()));
    bars.replaceChildren(
      ...(shown.score[state.step] === null
        ? []
        : layersLeft(told, shown, state.step).map(({ stack, layers }, _, all) =>
            h(
              "figure",
              { class: "small-multiple" },
              all.length > 1 ? h("figcaption", {}, stack) : null,
              left(stack, layers, all),
            ),
          )),
    );
  }

  const isSpeed = () => state.axis === "speed";

  function score() {
    const random = randomLine(told, state.axis);
    const lines = namedLines(told, state.axis);
    const points = [...lines, ...(random ? [random] : [])].flatMap((each) => each.points);
    const speeds = isSpeed() ? lines.flatMap((each) => each.points.flatMap((point) => point.between)) : [];
    const [low, high] = wide(extent([...points.map((point) => point.x), ...speeds]), 0.03);
    // Smaller models are to the right, whether they have less or are faster.
    const x = linear(isSpeed() ? [low, high] : [high, low]);
    const ends = points.flatMap((point) => [point.low, point.high]);
    const y = linear(wide(extent([...ends, ...told.baseline.filter((value) => value !== null)]))).nice();
    const name = isSpeed() ? label(told.said.speed) : `${told.said[state.axis].title} (%)`;
    const { node, inside } = plot(WIDTH, HEIGHT, `${told.metric} against ${name}`, x, y, [name, told.metric]);
    const path = line(
      (point) => x(point.x),
      (point) => y(point.score),
    );
    const band = area(
      (point) => x(point.x),
      (point) => y(point.low),
      (point) => y(point.high),
    );
    const [base, baseLow, baseHigh] = told.baseline;
    const [from, to] = [EDGE.left, WIDTH - EDGE.right];
    if (baseLow !== null && baseHigh !== null)
      inside.append(
        s("rect", {
          x: from,
          y: y(baseHigh),
          width: to - from,
          height: y(baseLow) - y(baseHigh),
          class: "baseline-band",
        }),
      );
    inside.append(s("line", { x1: from, x2: to, y1: y(base), y2: y(base), class: "baseline thin" }));
    if (random)
      inside.append(
        s("path", { d: band(random.points), class: "random-band" }),
        s("path", { d: path(random.points), class: "random-line" }),
      );
    lines.forEach((each, at) => {
      inside.append(s("path", { d: band(each.points), fill: OF_ORDER[at % OF_ORDER.length], opacity: 0.16 }));
    });
    lines.forEach((each, at) => {
      const colour = OF_ORDER[at % OF_ORDER.length];
      inside.append(s("path", { d: path(each.points), stroke: colour, class: "curve" }));
      const number = told.lines.findIndex((one) => one.order === each.order);
      inside.append(...each.points.filter((point) => point.step >= 0).map((point) => dot(point, number, colour, x, y)));
    });
    return node;
  }

  function dot(point, at, colour, x, y) {
    const [cx, cy] = [x(point.x), y(point.score)];
    const [name, lines] = [named(at, point.step), stepWords(told, told.lines[at], point.step)];
    const shown = state.order === at && state.step === point.step;
    const [slow, fast] = point.between;
    return s(
      "g",
      {
        class: "step",
        role: "img",
        "aria-label": `${name}: ${lines.join("; ")}`,
        onclick: () => change({ order: at, step: point.step }),
        onmouseenter: (event) => {
          tip.hidden = false;
          tip.replaceChildren(h("b", {}, name), ...lines.map((each) => h("div", {}, each)));
          placeTip(tip, event.target.getBoundingClientRect());
        },
        onmouseleave: () => {
          tip.hidden = true;
        },
      },
      isSpeed() && slow !== null ? s("line", { x1: x(slow), x2: x(fast), y1: cy, y2: cy, stroke: colour }) : null,
      s("circle", { cx, cy, r: 10, class: "wide-target" }),
      s("circle", { cx, cy, r: 3.4, fill: colour }),
      shown && !isChosen(at, point.step) ? s("circle", { cx, cy, r: 7, class: "shown-step" }) : null,
      isChosen(at, point.step) ? s("circle", { cx, cy, r: 7, class: "chosen-step" }) : null,
    );
  }

  const ring = (name) =>
    s(
      "svg",
      { viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true", class: "swatch" },
      s("circle", { cx: 6, cy: 6, r: 5, class: name }),
    );

  function legend() {
    const random = randomLine(told, state.axis);
    const lines = namedLines(told, state.axis);
    return [
      ...lines.map((each, at) => h("li", {}, swatch(OF_ORDER[at % OF_ORDER.length]), each.order)),
      random
        ? h(
            "li",
            {},
            swatch("#9a9a9a"),
            random.count === 1 ? "one random choice" : `random: mean and range of ${random.count}`,
          )
        : null,
      told.chosen === null ? null : h("li", {}, ring("chosen-step"), `selected (budget ${told.budget})`),
      isChosen(state.order, state.step) ? null : h("li", {}, ring("shown-step"), "step shown by layer"),
    ].filter(Boolean);
  }

  // A row for each layer: of its heads and of its units, a bar for what is left within a bar for all.
  function left(stack, layers, stacks) {
    const columns = [
      ["heads", "allHeads", 36, 110, told.said.heads_left.title],
      ["units", "allUnits", 226, 130, told.said.units_left.title],
    ].filter(([, all]) => layers.some((row) => row[all] !== null));
    const [top, height] = [20, layers.length > 24 ? 14 : 19];
    // All stacks are as wide, so that they shrink alike on a narrow page.
    const units = stacks.some((each) => each.layers.some((row) => row.allUnits !== null));
    const size = [units ? 464 : 220, top + layers.length * height + 4];
    return drawing(
      ...size,
      `What is left of each layer, ${stack}: ${named(state.order, state.step)}`,
      columns.map(([, , x, , title]) => s("text", { x, y: 12, class: "name" }, title)),
      layers.map((row, at) => {
        const y = top + at * height;
        return [
          s("text", { x: 30, y: y + height / 2 + 3, "text-anchor": "end", class: "tick" }, row.layer),
          columns.map(([kind, all, x, width]) => {
            if (row[all] === null) return null;
            const said = `${count(row[kind])} of ${count(row[all])}`;
            return s(
              "g",
              {},
              s("rect", { x, y: y + 2, width, height: height - 5, class: "bar-whole" }),
              s("rect", {
                x,
                y: y + 2,
                width: row[all] ? (width * row[kind]) / row[all] : 0,
                height: height - 5,
                class: "bar-fill",
              }),
              s("text", { x: x + width + 6, y: y + height / 2 + 3, class: "tick" }, said),
              s("title", {}, `${row.layer}: ${said} ${kind} left`),
            );
          }),
        ];
      }),
    );
  }

  draw();
  const removed = REMOVED[told.what] ?? told.what;
  const refit = told.refit ? " What is left was refitted by least squares, without training." : "";
  const selected =
    told.chosen === null
      ? `No step was selected on the other ${count(told.selectedOn)} examples (budget ${told.budget}).`
      : `The step with a ring was selected on the other ${count(told.selectedOn)} examples.`;
  const measured = axesOf(told).includes("speed")
    ? ` Speed was measured at batch ${told.batch}, length ${told.length}; lines across a point are its interval.`
    : " Speed was not measured.";
  const choices = axesOf(told).map((axis) => ({ value: axis, title: told.said[axis].title }));
  const name = told.name && told.name !== "prune" ? `: ${told.name}` : "";
  return h(
    "div",
    { class: "pair budget" },
    figure(
      `How small the model can be${name}`,
      `${told.metric} on ${count(told.examples)} held-out examples as ${removed} are removed, with the 95 % interval of ` +
        `its change from the whole model (dashed, with its own interval). ${selected}${measured}${refit}`,
      h(
        "div",
        {},
        h(
          "div",
          { class: "controls" },
          choices.length > 1 ? select("Against", choices, state.axis, (axis) => change({ axis })) : null,
        ),
        curve,
      ),
      { rows: () => stepRows(told) },
    ),
    figure(
      `What is left of each layer${name}`,
      "Heads and feed-forward units at one step of the curve: drag the slider, use the arrow keys, or click a point.",
      h(
        "div",
        {},
        h(
          "div",
          { class: "controls" },
          h("label", { class: "choice" }, h("span", {}, "Step"), slider),
          told.lines.length > 1 ? order : null,
        ),
        words,
        bars,
      ),
      { rows: () => layerRows(told) },
    ),
  );
}

const stepRows = (told) =>
  told.lines.flatMap((each) =>
    told.steps.map((step, at) => ({
      order: each.order,
      step,
      ...Object.fromEntries([...Object.keys(AXES), "score", "low", "high", "p"].map((key) => [key, each[key][at]])),
    })),
  );

const layerRows = (told) =>
  told.lines.flatMap((each) =>
    told.steps.flatMap((step, at) =>
      told.blocks.map((block, index) => ({
        order: each.order,
        step,
        stack: block.stack,
        layer: block.layer,
        heads: each.heads[at][index],
        "all heads": block.heads,
        units: each.units[at][index],
        "all units": block.units,
      })),
    ),
  );
