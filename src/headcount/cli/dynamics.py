"""`headcount dynamics`: when the order of heads settles in a training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headcount.cli.options import Device, Labels, Limit, Seed, Tokenizer

if TYPE_CHECKING:
    from rich.table import Table
    from xarray import Dataset


def dynamics(
    folder: Path,
    /,
    *,
    task: Annotated[str, Parameter(help="A GLUE task such as mrpc, or a kind such as classification.")],
    data: Annotated[str, Parameter(help="Labelled examples, as for sweep, or bundled:pairs.")],
    study: Annotated[Path | None, Parameter(help="The study folder that the results go to.")] = None,
    steps: Annotated[int, Parameter(help="Steps of each pruning curve.")] = 10,
    text: Annotated[tuple[str, ...] | None, Parameter(help="Text columns.", consume_multiple=True)] = None,
    label: Annotated[str | None, Parameter(help="Label column.")] = None,
    labels: Labels = None,
    limit: Limit = None,
    seed: Seed = 0,
    max_length: Annotated[int | None, Parameter(help="Cut texts to so many tokens.")] = None,
    tokenizer: Tokenizer = None,
    device: Device = "auto",
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

    place = find_device(device)
    console = Console(highlight=False)
    with show_progress("dynamics", "") as progress:
        found = run(
            folder,
            data,
            task=find_task(task, texts=text, label=label, names=labels),
            steps=steps,
            limit=limit,
            seed=seed,
            max_length=max_length,
            device=place,
            study=study,
            tokenizer=tokenizer,
            progress=progress,
        )
    console.print(as_rows(found))
    for line in tell(found):
        console.print(line)
    if study is not None:
        say_saved(console, study)


def as_rows(found: Dataset) -> Table:
    """A row for each checkpoint."""
    from rich.table import Table

    picked = [
        int(place) for place in (len(found["removed"]) * 0.2, len(found["removed"]) * 0.5, len(found["removed"]) * 0.8)
    ]
    shares = [f"{int(found['removed'][place]) / found.attrs['heads']:.0%} gone" for place in picked]
    table = Table("step", found.attrs["metric"], *shares, "agrees with the last order")
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


def tell(found: Dataset) -> list[str]:
    """When the order settles."""
    from headcount.choosing.dynamics import SETTLED, settled_at

    step = settled_at(found)
    last = int(found["checkpoint"][-1])
    if step is None:
        return [
            f"The order of heads is not settled before the end (rank correlation below {SETTLED} until step {last})."
        ]
    return [
        f"From step {step} of {last} on the order of heads agrees with the last (rank correlation {SETTLED} or more)."
    ]
