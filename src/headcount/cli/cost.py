"""`headcount cost`: the size, speed and memory of a model, alone or beside another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import load_ready
from headcount.core.options import belongs_to

if TYPE_CHECKING:
    import pandas as pd


def cost(
    model: str,
    other: str | None = None,
    /,
    *,
    batches: Annotated[str, Parameter(help="Batch sizes.")] = "1,16",
    lengths: Annotated[str | None, Parameter(help="Text lengths in tokens; 32,128 by default.")] = None,
    repeats: Annotated[int, Parameter(help="Number of timed passes.")] = 10,
    new_tokens: Annotated[
        int | None,
        Parameter(
            help="Also generate this many tokens after prompts of the text lengths, with a key/value cache: prefill, "
            "decode and the size of the cache."
        ),
    ] = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    study: options.Study = None,
    name: Annotated[str | None, Parameter(help="Name of the result in the study; models by default.")] = None,
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Measure parameters, size, operations, memory, latency and throughput of a model, or of two side by side.

    Example: headcount cost bundled:qnli small --batches 1,16 --lengths 64

    After a warm-up, the models run in turns; times are medians and quartiles.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    other
        A second model to compare with, such as the pruned one.
    """
    from rich.console import Console
    from rich.markup import escape

    from headcount.cli.progress import show_progress
    from headcount.costs.cost import LENGTHS, make_inputs, time_shares
    from headcount.costs.cost import cost as measure
    from headcount.errors import InvalidOption
    from headcount.story.costs import cost_sentences

    belongs_to("name", name, "study", study)
    try:
        batch_sizes = [int(part) for part in batches.split(",")]
        token_counts = None if lengths is None else [int(part) for part in lengths.split(",")]
    except ValueError as error:
        given = f"--batches {batches}{'' if lengths is None else f' --lengths {lengths}'}"
        raise InvalidOption(f"got {given}; expected numbers, such as 1,16") from error
    names = [model, *([other] if other is not None else [])]
    if model == other:
        raise InvalidOption(f"got {model} twice; expected another model to compare with, or one alone")
    models = {path: load_ready(path, device, dtype, trust_remote_code) for path in names}
    with show_progress("cost", "batch shapes") as progress:
        costs = measure(
            models,
            batches=batch_sizes,
            lengths=token_counts,
            repeats=repeats,
            new_tokens=new_tokens,
            study=study,
            name=name,
            progress=progress,
        )
        first = models[model]
        shares = time_shares(first, make_inputs(first, max(batch_sizes), max(token_counts or LENGTHS)))
    if json_:
        spelled = {"attention_share": shares.attention, "feed_forward_share": shares.feed_forward}
        print(json.dumps({**spelled, "rows": json.loads(costs.to_json(orient="records"))}))
        return
    console = Console(highlight=False)
    for table in tables(costs, [escape(Path(path).name) for path in names]):
        console.print(table)
    for line in cost_sentences(costs, shares.attention, shares.feed_forward, len(names) > 1):
        console.print(line)


SIZES = {
    "parameters": "million",
    "attention_parameters": "million",
    "feed_forward_parameters": "million",
    "bytes": "MB",
}
"""What a model has as a whole, and the unit in which it is shown."""
COUNTS = ("heads", "units")


def tables(costs: pd.DataFrame, names: list[str]) -> list[Any]:
    """Tables of sizes, times (median ± half the interquartile range), operations and memory, and generation if any."""
    from rich.table import Table

    from headcount.costs.cost import SCHEMAS

    size = Table("", *names)
    sides = ["before", "after"] if len(names) > 1 else ["model"]
    times = [f"{side} ({SCHEMAS['ms'].unit})" for side in sides]
    run = Table("batch x length", *times, *["faster"][: len(names) - 1], SCHEMAS["per_second"].unit)
    work = Table("batch x length", f"G{SCHEMAS['flops'].unit}", f"{SCHEMAS['peak_bytes'].title} (MB)")
    for column in (*size.columns[1:], *run.columns[1:], *work.columns[1:]):
        column.justify = "right"
    parts = [part for _, part in costs.groupby("model", sort=False)]
    # Costs that an earlier version stored in a study lack some of them.
    for name, unit in SIZES.items():
        if name in costs:
            size.add_row(f"{SCHEMAS[name].title} ({unit})", *[f"{part[name].iloc[0] / 1e6:,.2f}" for part in parts])
    for name in COUNTS:
        if name in costs:
            size.add_row(SCHEMAS[name].title, *[f"{part[name].iloc[0]:,}" for part in parts])
    for _, row in costs.groupby(["batch", "length"], sort=False):
        times = [
            f"{middle:.1f} ±{(high - low) / 2:.1f}" for low, middle, high in row[["ms_low", "ms", "ms_high"]].to_numpy()
        ]
        faster = [f"{row.ms.iloc[0] / row.ms.iloc[1]:.2f} x"] if len(row) > 1 else []
        shape = f"{row.batch.iloc[0]} x {row.length.iloc[0]}" if row.length.iloc[0] else str(row.batch.iloc[0])
        run.add_row(shape, *times, *faster, _each(row.per_second, "{:.0f}"))
        work.add_row(shape, _each(row.flops / 1e9, "{:.2f}"), _each(row.peak_bytes / 1e6, "{:.0f}"))
    return [size, run, work, *([generation_table(costs)] if "decode" in costs else [])]


def generation_table(costs: pd.DataFrame) -> Any:
    """Tokens a second of prompts and of new tokens, and the cache at the end."""
    from rich.table import Table

    from headcount.costs.generation import SCHEMAS

    table = Table(
        "batch x (prompt + new)",
        *(f"{title} ({SCHEMAS['decode'].unit})" for title in ("prefill", "decode")),
        f"{SCHEMAS['cache_bytes'].title} (MB)",
    )
    for column in table.columns[1:]:
        column.justify = "right"
    for _, row in costs.groupby(["batch", "length"], sort=False):
        table.add_row(
            f"{row.batch.iloc[0]} x ({row.length.iloc[0]} + {row.new_tokens.iloc[0]})",
            *(_each(row[key], "{:,.0f}") for key in ("prefill", "decode")),
            _each(row.cache_bytes / 1e6, "{:.2f}"),
        )
    return table


def _each(values: pd.Series, form: str) -> str:
    return " -> ".join(form.format(value) for value in values)
