"""`headcount choose`: which heads can be removed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.groups import BUDGET, FIRST, ORDER, SIZE
from headcount.cli.options import find_named_task, find_source_of, load_for_task, say_saved

if TYPE_CHECKING:
    import xarray as xr
    from rich.console import Console

    from headcount.budgets.choose_parts import PartChoice
    from headcount.choosing.choose_heads import Choice

WHAT = "What may be removed: attention heads, feed-forward units, or both"
Tolerance = Annotated[
    float | None,
    Parameter(
        group=SIZE,
        help="Make the smallest model that can be shown to cost at most this many points of the score (95 % "
        "confidence); a point is 0.01 of an accuracy.",
    ),
]
Drop = Annotated[str | None, Parameter(group=SIZE, help="Number or share of heads to remove, such as 58 or 40%.")]
Keep = Annotated[str | None, Parameter(group=SIZE, help="Number or share of heads to keep, such as 80 or 60%.")]
What = Annotated[
    Literal["heads", "units", "both"],
    Parameter(group=FIRST, help=f"{WHAT}. Units and both need --operations, --weights, --faster or --tolerance."),
]
Operations = Annotated[
    str | None,
    Parameter(group=SIZE, help="Budget: share of the operations of a forward pass that the model keeps, such as 50%."),
]
Weights = Annotated[
    str | None, Parameter(group=SIZE, help="Budget: share of the parameters that the model keeps, such as 60%.")
]
Faster = Annotated[
    float | None,
    Parameter(
        group=SIZE,
        help="Budget: speed of the smaller model, measured on this machine (--batch, --length); 2 is twice as fast.",
    ),
]
ByEstimate = Annotated[
    bool, Parameter(group=SIZE, help="Compare --tolerance with the point estimate, however uncertain it is.")
]
Randoms = Annotated[
    int | None,
    Parameter(
        help="Number of random orders to compare with; 3 by default. For a budget, of random sets; 1 by default."
    ),
]
Anew = Annotated[options.Anew, Parameter(group=ORDER)]
Stack = Annotated[options.Stack, Parameter(group=ORDER)]
Train = Annotated[
    str | None,
    Parameter(
        group=BUDGET,
        help="Training examples for the scores, the refit and the recovery; by default the training split of a --data "
        "folder, or else the half of --data that selects.",
    ),
]
Score = Annotated[
    Literal["fisher", "taylor", "michel"] | None,
    Parameter(
        group=BUDGET,
        help="Score of a head or unit, from the gradient of its gate: mean square (fisher, the default), mean with its "
        "sign (taylor), or mean absolute value (michel).",
    ),
]
OwnLabels = Annotated[
    options.OwnLabels,
    Parameter(
        group=BUDGET,
        help="Score heads and units without labels: with those that the model itself predicts.",
    ),
]
Rearrange = Annotated[
    bool,
    Parameter(
        group=BUDGET,
        help="Swap heads or units within a layer to account for those that do the same (Kwon et al. 2022); meant "
        "for --refit none.",
    ),
]
Refit = Annotated[
    Literal["weights", "scales", "none"] | None,
    Parameter(
        group=BUDGET,
        help="Fit what is left to the whole model's outputs by least squares, without labels or training: all weights "
        "of the output projections (the default), one factor for each head and unit (scales), or none.",
    ),
]
Multiple = Annotated[
    int | None,
    Parameter(
        group=BUDGET,
        help="Keep a multiple of this many units in every layer, which matrix kernels prefer; by default 32 if layers "
        "have 512 units or more, otherwise 1.",
    ),
]
Batch = Annotated[int | None, Parameter(group=BUDGET, help="Batch size at which speed is measured; 16 by default.")]
Length = Annotated[
    int | None,
    Parameter(
        group=BUDGET,
        help="Length in tokens at which operations are counted and speed is measured; 128 by default, or the model's "
        "maximum.",
    ),
]
AtLeast = Annotated[
    int, Parameter(help="Heads that every layer keeps at least; --at-least 1 --keep 12 keeps one in each of 12 layers.")
]
PASSED_ON = (
    *(
        "what",
        "tolerance",
        "drop",
        "keep",
        "operations",
        "weights",
        "faster",
        "by_estimate",
        "by",
        "order",
        "steps",
        "randoms",
        "anew",
        "normed",
        "at_least",
    ),
    *("stack", "train", "score", "own_labels", "rearrange", "refit", "multiple", "batch", "length"),
    *("metric", "limit", "seed", "max_length", "study", "name"),
)
"""Options of choose and prune that `hc.choose` takes as they are."""


@with_engine
def choose(
    model: str,
    /,
    *,
    task: Annotated[options.Task, Parameter(group=FIRST)] = None,
    data: Annotated[options.DataOrGlue, Parameter(group=FIRST)] = None,
    what: What = "heads",
    tolerance: Tolerance = None,
    drop: Drop = None,
    keep: Keep = None,
    operations: Operations = None,
    weights: Weights = None,
    faster: Faster = None,
    by_estimate: ByEstimate = False,
    by: Annotated[options.Unit, Parameter(group=ORDER)] = "head",
    order: Annotated[options.Order, Parameter(group=ORDER)] = "importance,random",
    steps: options.Steps = 10,
    randoms: Randoms = None,
    anew: Anew = False,
    normed: Annotated[options.Normed, Parameter(group=ORDER)] = True,
    at_least: AtLeast = 0,
    stack: Stack = None,
    train: Train = None,
    score: Score = None,
    own_labels: OwnLabels = False,
    rearrange: Rearrange = False,
    refit: Refit = None,
    multiple: Multiple = None,
    batch: Batch = None,
    length: Length = None,
    metric: options.Metric = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    study: Annotated[options.Study, Parameter(group=FIRST)] = None,
    name: options.Name = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Choose the heads and feed-forward units that a model can do without. headcount prune removes them.

    Example: headcount choose bundled:qnli --task qnli --data bundled:pairs --tolerance 1 --study study

    Heads are removed in an order: --tolerance, --drop or --keep says how many. Heads and units together are chosen to a
    budget: --what both and one of --operations 50%, --weights 60%, --faster 2 and --tolerance 1. Either way one half of
    the examples selects and the held-out half evaluates the result. An interrupted run resumes when the same command is
    run again with --study.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    given = dict(locals())
    from rich.console import Console

    from headcount.budgets.choose_parts import PartChoice

    known = find_named_task(task, data, text, label, labels)
    data = find_source_of(known, data)
    loaded, loaded_tokenizer = load_for_task(model, known.kind.name, device, dtype, trust_remote_code, tokenizer)
    choice = run_choice(
        "choose", loaded, loaded_tokenizer, data, known, {option: given[option] for option in PASSED_ON}
    )
    console = Console(highlight=False)
    if isinstance(choice, PartChoice):
        show_parts(console, choice, json_)
        if study is not None and not json_:
            say_saved(console, study)
        return
    if json_:
        print(json.dumps(choice_json(choice)))
        return
    show_choice(console, choice, tolerance, by_estimate)
    console.print(f"Heads that can go: {spell_heads(choice)}" if choice.heads else next_try(choice), soft_wrap=True)
    if study is not None:
        say_saved(console, study)


def run_choice(
    verb: str, model: Any, tokenizer: Any, data: Any, task: Any, asked: dict[str, Any]
) -> Choice | PartChoice:
    """Run `choose` and show its progress."""
    from headcount.budgets.choose import choose
    from headcount.cli.progress import show_progress

    with show_progress(verb, "") as progress:
        return choose(model, tokenizer, data, task=task, progress=progress, **asked)


def show_parts(console: Console, choice: PartChoice, as_json: bool = False) -> None:
    """Print the curve of smaller models, what was chosen and what the held-out half says about it."""
    from headcount.cli.budget_table import budget_json, budget_table
    from headcount.story.budgets import budget_sentences

    if as_json:
        print(json.dumps(budget_json(choice)))
        return
    console.print(curve_heading(choice.held_out))
    console.print(budget_table(choice.held_out, choice.step))
    for line in budget_sentences(choice.selection, choice.held_out):
        console.print(line, soft_wrap=False)


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


def next_budget(choice: PartChoice) -> str:
    """What to try if no step of the curve is shown to be within the tolerance."""
    from headcount.story.budgets import within_by_estimate

    if not within_by_estimate(choice.selection).any():
        return "Give a larger --tolerance, or more --steps for a smaller first cut."
    return "Give more examples, a larger --tolerance, or --by-estimate."


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
