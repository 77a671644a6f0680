"""`headcount dynamics`: when the order of heads settles during training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.core.options import belongs_to

if TYPE_CHECKING:
    from rich.table import Table
    from xarray import Dataset


@with_engine
def dynamics(
    folder: Path,
    /,
    *,
    task: Annotated[
        str | None, Parameter(help="A GLUE task or a kind of task, as for headcount sweep; by default the run's.")
    ] = None,
    data: Annotated[
        str | None,
        Parameter(
            help="Labelled examples, as for headcount sweep; by default the run's own validation examples, or the "
            "hub's GLUE for a --task that the run was not trained for."
        ),
    ] = None,
    study: options.Study = None,
    steps: options.Steps = 10,
    estimator: Annotated[
        str,
        Parameter(
            help="Estimate that orders the heads: michel, gate, taylor, fisher or norm; michel, gate and norm also "
            "with _normed."
        ),
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
    """Compute importance and pruning curve of every checkpoint of a training run: when does the order of heads settle?

    Example: headcount dynamics runs/qnli/pretrained/seed-0 --study training

    headcount finetune --checkpoints 10 writes the checkpoints; task and data are by default those of its run. An
    interrupted run resumes when the same command is run again with --study.

    Parameters
    ----------
    folder
        The folder of a fine-tuning run, or of its checkpoints.
    """
    from rich.console import Console

    from headcount.choosing.dynamics import dynamics as run
    from headcount.cli.options import find_named_task, say_saved
    from headcount.cli.progress import show_progress
    from headcount.models.device import find_device
    from headcount.story.dynamics import settling_sentence

    for option, given in (("text", text), ("label", label), ("labels", labels)):
        belongs_to(option, given, "task", task)
    console = Console(highlight=False)
    with show_progress("dynamics", "") as progress:
        result = run(
            folder,
            data,
            task=None if task is None else find_named_task(task, data, text, label, labels),
            steps=steps,
            estimator=estimator,
            metric=metric,
            generate={"num_beams": num_beams, "max_new_tokens": max_new_tokens},
            limit=limit,
            seed=seed,
            max_length=max_length,
            device=find_device(device),
            study=study,
            tokenizer=tokenizer,
            progress=progress,
        )
    console.print(checkpoint_table(result))
    console.print(settling_sentence(result))
    if study is not None:
        say_saved(console, study)


def checkpoint_table(result: Dataset) -> Table:
    """A row for each checkpoint: its scores with all and with fewer heads, and how its order agrees with the last."""
    from rich.table import Table

    from headcount.story.earlier import series_schemas

    steps = [int(len(result["removed"]) * share) for share in (0.2, 0.5, 0.8)]
    shares = [f"{int(result['removed'][step]) / result.attrs['heads']:.0%} gone" for step in steps]
    titles = {name: schema.title for name, schema in series_schemas(result).items()}
    table = Table(titles["checkpoint"], result.attrs["metric"], *shares, titles["agreement"])
    for column in table.columns:
        column.justify = "right"
    for number in range(result.sizes["checkpoint"]):
        row = result.isel(checkpoint=number)
        agreement = (
            f"{float(row['agreement']):.2f} [{float(row['agreement_low']):.2f}, {float(row['agreement_high']):.2f}]"
        )
        table.add_row(
            str(int(row["checkpoint"])),
            f"{float(row['baseline']):.3f}",
            *[f"{float(row['score'][step]):.3f}" for step in steps],
            agreement,
        )
    return table
