"""`headcount importance`: how much the loss depends on each head and feed-forward unit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.options import find_named_task, find_source_of, load_for_task, say_part, say_saved

if TYPE_CHECKING:
    import xarray as xr


@with_engine
def importance(
    model: str,
    /,
    *,
    task: options.Task = None,
    data: options.DataOrGlue = None,
    out: options.Out = None,
    name: options.Name = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    what: options.What = "heads",
    own_labels: options.OwnLabels = False,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    batch_tokens: options.BatchTokens = None,
    shard: options.Shard = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    device_map: options.DeviceMap = None,
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Estimate how much a task's loss depends on each head, from one forward and one backward pass over the data.

    Example: headcount importance bundled:qnli --task qnli --data bundled:pairs --limit 64 --out study

    Five estimates: michel, the mean absolute gradient of an example's loss with respect to the head's gate; taylor,
    the rise of the loss that the gradient predicts if the head is removed; gate, the absolute value of the mean
    gradient; fisher, the mean squared gradient; norm, the mean norm of the head's output. If the study has a sweep
    with --how zero, the output says how well each estimate predicts its effects. With --what units or both, the
    feed-forward units get unit_fisher, unit_michel and unit_taylor.

    Parameters
    ----------
    model
        A folder, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.choosing.importance import importance as run
    from headcount.cli.progress import show_progress
    from headcount.cli.table import json_rows
    from headcount.engines.compute import Compute

    known = find_named_task(task, data, text, label, labels)
    data = find_source_of(known, data)
    loaded, loaded_tokenizer = load_for_task(
        model, known.kind.name, device, dtype, trust_remote_code, tokenizer, device_map=device_map
    )
    with show_progress("importance", "examples", limited=limit is None) as progress:
        estimates = run(
            loaded,
            loaded_tokenizer,
            data,
            task=known,
            what=what,
            own_labels=own_labels,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            compute=Compute(batch_tokens, shard=shard),
            progress=progress,
        )
    if json_:
        print(json.dumps(json_rows(estimates)))
        return
    console = Console(highlight=False)
    for note in estimates.attrs.get("notes", []):
        console.print(f"Note: {note}.")
    if not estimates.attrs["complete"]:
        say_part(console)
        return
    for line in importance_lines(estimates, _sweep_of(out, estimates.attrs.get("identity", {}).get("model"))):
        console.print(line)
    if out is not None:
        say_saved(console, out)


def _sweep_of(out: Path | None, model: str | None) -> xr.Dataset | None:
    """The sweep over the heads of the same model with `--how zero`, if the study has one."""
    from headcount.core.read_study import open_study

    if out is None:
        return None
    tree = open_study(out, damaged="skip")
    if "/sweep/head-zero" not in tree.groups:
        return None
    sweep = tree["sweep/head-zero"].to_dataset()
    return sweep if sweep.attrs["identity"]["model"] == model else None


def importance_lines(estimates: xr.Dataset, sweep: xr.Dataset | None) -> list[Any]:
    """A table of the estimators side by side, and what its last two columns mean."""
    from rich.table import Table

    from headcount.choosing.estimators import ESTIMATORS, UNIT_ESTIMATORS, prediction, stability
    from headcount.story.importance import NEEDS_SWEEP, PREDICTS, SPLITS, importance_rows

    heads, units = ([name for name in names if name in estimates] for names in (ESTIMATORS, UNIT_ESTIMATORS))
    most = " or ".join([*(["head"] if heads else []), *(["unit"] if units else [])])
    table = Table("estimate", f"most needed {most}", "least needed", "halves agree", "predicts ablation")
    halves = {name: stability(estimates, name) for name in (*heads, *units)}
    predicted = None
    if sweep is not None and "delta" in sweep:
        predicted = {name: prediction(estimates, sweep, name) for name in heads}
    for row in importance_rows(estimates, halves, predicted):
        table.add_row(*row)
    lines = [f"Importance on {estimates.sizes['example']} examples:", table, SPLITS, PREDICTS]
    if not heads:
        return lines[:-1]
    return lines if sweep is not None else [*lines, NEEDS_SWEEP]
