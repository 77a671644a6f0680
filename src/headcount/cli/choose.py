"""`headcount choose`: which heads can be removed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import find_named_task, load_for_task, say_saved

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console

    from headcount.choosing.choose import Choice

Tolerance = Annotated[
    float | None,
    Parameter(
        help="Remove as many heads as can be shown to cost at most this many points of the score (95 % confidence); a "
        "point is 0.01 of an accuracy."
    ),
]
Drop = Annotated[str | None, Parameter(help="Number or share of heads to remove, such as 58 or 40%.")]
Keep = Annotated[str | None, Parameter(help="Number or share of heads to keep, such as 80 or 60%.")]
ByEstimate = Annotated[bool, Parameter(help="Compare --tolerance with the point estimate, however uncertain it is.")]
AtLeast = Annotated[int, Parameter(help="Heads that every layer keeps at least.")]
PASSED_ON = (
    *("tolerance", "drop", "keep", "by_estimate", "by", "order", "steps", "randoms", "anew", "normed", "at_least"),
    *("stack", "metric", "limit", "seed", "max_length", "study", "name"),
)
"""Options of choose and prune that `hc.choose` takes as they are."""


def choose(
    model: str,
    /,
    *,
    task: options.Task = None,
    data: options.Data,
    tolerance: Tolerance = None,
    drop: Drop = None,
    keep: Keep = None,
    by_estimate: ByEstimate = False,
    by: options.Unit = "head",
    order: options.Order = "importance,random",
    steps: options.Steps = 10,
    randoms: options.Randoms = None,
    anew: options.Anew = False,
    normed: options.Normed = True,
    at_least: AtLeast = 0,
    stack: options.Stack = None,
    metric: options.Metric = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    study: options.Study = None,
    name: options.Name = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Choose the heads that a model can do without. headcount prune takes the same options and removes them.

    Example: headcount choose bundled:qnli --task qnli --data bundled:pairs --tolerance 1 --study study

    One half of the examples orders the heads and determines how many are removed; the held-out half evaluates the
    result. The first --order decides, the others are computed for comparison. An interrupted run resumes when the same
    command is run again with --study. To keep one head in each of 12 layers: --at-least 1 --keep 12.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    given = dict(locals())
    from rich.console import Console

    known = find_named_task(task, data, text, label, labels)
    loaded, loaded_tokenizer = load_for_task(model, known.kind.name, device, dtype, trust_remote_code, tokenizer)
    choice = run_choice(
        "choose", loaded, loaded_tokenizer, data, known, {option: given[option] for option in PASSED_ON}
    )
    if json_:
        print(json.dumps(choice_json(choice)))
        return
    console = Console(highlight=False)
    show_choice(console, choice, tolerance, by_estimate)
    console.print(f"Heads that can go: {spell_heads(choice)}" if choice.heads else next_try(choice), soft_wrap=True)
    if study is not None:
        say_saved(console, study)


def run_choice(verb: str, model: Any, tokenizer: Any, data: Any, task: Any, asked: dict[str, Any]) -> Choice:
    """Run `choose` and show its progress."""
    from headcount.choosing.choose import choose
    from headcount.cli.progress import show_progress

    with show_progress(verb, "") as progress:
        return choose(model, tokenizer, data, task=task, progress=progress, **asked)


def choice_json(choice: Choice) -> dict[str, Any]:
    """The chosen heads and what removing them costs, as `--json` prints them."""
    step = {} if not choice.heads else choice.step(choice.held_out)
    return {
        "heads": spell_heads(choice).split(",") if choice.heads else [],
        "order": choice.order,
        "verdict": choice.verdict,
        "baseline": float(choice.held_out["baseline"]),
        **{key: float(step[key]) for key in ("score", "delta", "low", "high") if key in step},
    }


def spell_heads(choice: Choice) -> str:
    """The chosen heads in the syntax of --heads."""
    spelled = choice.held_out["sequence"].sel(order=choice.order).values[: len(choice.heads)]
    return ",".join(map(str, spelled))


def show_choice(console: Console, choice: Choice, tolerance: float | None, by_estimate: bool) -> None:
    """Print the curves on the held-out half, the choice and what the held-out half says about it."""
    from headcount.story.cuts import choice_sentences

    count = len(choice.heads)
    console.print(curve_heading(choice.held_out))
    console.print(curve_table(choice.held_out, choice.order, count))
    for line in choice_sentences(choice.selection, choice.held_out, choice.order, count, tolerance, by_estimate):
        console.print(line)


def next_try(choice: Choice) -> str:
    """What to try if a tolerance allows no cut."""
    if choice.cut is None:
        return "No head is removed."
    if choice.cut.by_estimate:
        return "Give more examples, a larger --tolerance, --drop 25%, or --by-estimate."
    return "Give a larger --tolerance, or more --steps for a smaller first cut."


def curve_heading(curves: xr.Dataset) -> str:
    """The line above the table of curves."""
    direction = "" if curves.attrs.get("higher_is_better", True) else " (lower is better)"
    metric = f"{curves.attrs['metric']}{direction}"
    return f"{metric} on the held-out half, and its change from the whole model [95 % interval]:"


def curve_table(curves: xr.Dataset, decides: str, chosen: int | None = None) -> Any:
    """A row for each step and a column for each order (random orders share one); a star marks the chosen step."""
    from rich.table import Table

    from headcount.story.earlier import series_schemas
    from headcount.story.names import spell_score

    names = [str(name) for name in curves["order"].values]
    randoms = [name for name in names if name.startswith("random ")]
    shown = [name for name in names if name not in randoms] + (["random"] if randoms else [])
    whole_change = [name for name in shown if name == decides or (len(shown) < 3 and name != "random")]
    table = Table(series_schemas(curves)["kept"].title, *shown)
    for column in table.columns:
        column.justify = "right"
    whole = spell_score(float(curves["baseline"]))
    table.add_row(str(curves.attrs["heads"]), *[whole] * len(shown))
    for count in curves["removed"].values:
        cells = []
        for name in shown:
            if name == "random":
                scores = curves["score"].sel(order=randoms, removed=count).values
                spread = f" ({spell_score(scores.min())}-{spell_score(scores.max())})" if len(randoms) > 1 else ""
                cells.append(f"{spell_score(scores.mean())}{spread}")
                continue
            row = curves.sel(order=name, removed=count)
            change, low, high = (spell_score(float(row[key]), signed=True) for key in ("delta", "low", "high"))
            # Three intervals side by side would not fit into 80 columns: the order that decides has its own.
            ends = f" {change} [{low}, {high}]" if name in whole_change else ""
            cells.append(f"{spell_score(float(row['score']))}{ends}")
        mark = " *" if int(count) == chosen else ""
        table.add_row(f"{curves.attrs['heads'] - int(count)}{mark}", *cells)
    return table
