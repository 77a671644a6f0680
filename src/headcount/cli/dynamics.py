"""`headcount dynamics`: when the order of heads settles in a training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headcount.cli import options

if TYPE_CHECKING:
    from rich.table import Table
    from xarray import Dataset


def dynamics(
    folder: Path,
    /,
    *,
    task: options.Task,
    data: options.Data,
    study: options.Study = None,
    steps: options.Steps = 10,
    estimator: Annotated[
        str, Parameter(help="The importance that orders the heads: michel, gate, taylor or norm, or ..._normed.")
    ] = "michel_normed",
    metric: options.Metric = None,
    num_beams: options.NumBeams = None,
    max_new_tokens: options.MaxNewTokens = None,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
) -> None:
    """Importance and pruning curve of every checkpoint of a training, and when the order of heads settles.

    Example: headcount dynamics runs/qnli/pretrained/seed-0 --task qnli --data bundled:pairs --study training

    The checkpoints are those of headcount finetune --checkpoints 10. Killed at any moment, the same command goes on.

    Parameters
    ----------
    folder
        The folder of a run (it has `checkpoints`), or the folder with the checkpoints.
    """
    from rich.console import Console

    from headcount.choosing.dynamics import dynamics as run
    from headcount.cli.options import say_saved
    from headcount.cli.progress import show_progress
    from headcount.data.tasks import find_task
    from headcount.models.device import find_device
    from headcount.story.dynamics import settling_sentence

    place = find_device(device)
    console = Console(highlight=False)
    with show_progress("dynamics", "") as progress:
        found = run(
            folder,
            data,
            task=find_task(task, text=text, label=label, labels=labels),
            steps=steps,
            estimator=estimator,
            metric=metric,
            generate={"num_beams": num_beams, "max_new_tokens": max_new_tokens},
            limit=limit,
            seed=seed,
            max_length=max_length,
            device=place,
            study=study,
            tokenizer=tokenizer,
            progress=progress,
        )
    console.print(as_rows(found))
    console.print(settling_sentence(found))
    if study is not None:
        say_saved(console, study)


def as_rows(found: Dataset) -> Table:
    """A row for each checkpoint."""
    from rich.table import Table

    from headcount.story.earlier import series_schemas

    picked = [
        int(place) for place in (len(found["removed"]) * 0.2, len(found["removed"]) * 0.5, len(found["removed"]) * 0.8)
    ]
    shares = [f"{int(found['removed'][place]) / found.attrs['heads']:.0%} gone" for place in picked]
    titles = {name: schema.title for name, schema in series_schemas(found).items()}
    table = Table(titles["checkpoint"], found.attrs["metric"], *shares, titles["agreement"])
    for column in table.columns:
        column.justify = "right"
    for number in range(found.sizes["checkpoint"]):
        row = found.isel(checkpoint=number)
        agreement = (
            f"{float(row['agreement']):.2f} [{float(row['agreement_low']):.2f}, {float(row['agreement_high']):.2f}]"
        )
        table.add_row(
            str(int(row["checkpoint"])),
            f"{float(row['baseline']):.3f}",
            *[f"{float(row['score'][place]):.3f}" for place in picked],
            agreement,
        )
    return table
