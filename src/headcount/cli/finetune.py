"""`headcount finetune`: fine-tune a model on tasks, from several initialisations and with several seeds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.warning_lines import say
from headcount.core.options import belongs_to


@with_engine
def finetune(
    model: str,
    /,
    *,
    tasks: Annotated[str, Parameter(help="GLUE tasks or kinds of tasks, separated by commas, such as mrpc,rte.")],
    out: Annotated[Path, Parameter(help="Folder for all runs: OUT/TASK/INIT/seed-N.")],
    data: Annotated[
        str | None,
        Parameter(
            help="A folder with train.* and validation.*, or with such a folder for each task, a file, or hub:NAME "
            "(--config and --split name its configuration and split); without it, GLUE from the hub."
        ),
    ] = None,
    init: Annotated[
        str, Parameter(help="Initial weights: some of none, random, pretrained, separated by commas.")
    ] = "pretrained",
    seeds: Annotated[int, Parameter(help="Number of seeds for each task and initialisation.")] = 1,
    num_train_epochs: Annotated[float, Parameter(help="Number of training epochs.")] = 3,
    per_device_train_batch_size: Annotated[int, Parameter(help="Training batch size.")] = 32,
    learning_rate: Annotated[float, Parameter(help="Peak learning rate.")] = 2e-5,
    warmup_steps: Annotated[float, Parameter(help="Warm-up steps, or, below 1, their share of all steps.")] = 0.1,
    weight_decay: Annotated[float, Parameter(help="Weight decay.")] = 0.0,
    max_length: Annotated[int, Parameter(help="Truncate texts to this many tokens.")] = 128,
    gradient_accumulation_steps: Annotated[int, Parameter(help="Gradient accumulation steps.")] = 1,
    dtype: Annotated[Literal["float32", "bfloat16", "float16"], Parameter(help="dtype of training.")] = "float32",
    checkpoints: Annotated[int, Parameter(help="Number of checkpoints to keep along the way.")] = 0,
    spacing: Annotated[
        Literal["even", "log"] | None, Parameter(help="How the checkpoints are spaced; even by default.")
    ] = None,
    keep_embeddings: Annotated[bool, Parameter(help="With random weights, keep the pre-trained embeddings.")] = False,
    text: options.Text = None,
    label: options.Label = None,
    limit: Annotated[int | None, Parameter(help="Use only this many randomly drawn training examples.")] = None,
    jobs: Annotated[int, Parameter(help="Number of runs in parallel.")] = 1,
    report_to: Annotated[str | None, Parameter(help="Trackers of transformers' Trainer, such as wandb.")] = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    trust_remote_code: options.Trust = False,
) -> None:
    """Fine-tune a model on tasks, from pre-trained or random weights, and show the scores.

    Example: headcount finetune bundled:pretrained --tasks qnli --data bundled:pairs --learning-rate 3e-4 --out runs

    An interrupted command resumes when it is run again, and ends with the same weights.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    from rich.console import Console
    from rich.table import Table

    from headcount.cli.progress import show_progress
    from headcount.data.tasks import find_task
    from headcount.models.device import find_device
    from headcount.models.find_folder import folder_notes
    from headcount.training.finetune import finetune as run
    from headcount.training.finetune import summarise_runs
    from headcount.training.trainer import Settings

    belongs_to("spacing", spacing, "checkpoints", checkpoints or None)
    settings = Settings(
        per_device_train_batch_size=per_device_train_batch_size,
        num_train_epochs=num_train_epochs,
        learning_rate=learning_rate,
        warmup_steps=warmup_steps,
        weight_decay=weight_decay,
        max_length=max_length,
        gradient_accumulation_steps=gradient_accumulation_steps,
        dtype=dtype,
        checkpoints=checkpoints,
        spacing=spacing or "even",
        report_to=tuple(report_to.split(",")) if report_to else (),
    )
    for note in folder_notes(model):
        say(f"note: {note}")
    chosen = [find_task(name.strip(), text=text, label=label) for name in tasks.split(",")]
    with show_progress("finetune", "runs") as progress:
        table = run(
            model,
            chosen,
            data,
            out,
            init=[name.strip() for name in init.split(",")],
            seeds=seeds,
            settings=settings,
            keep_embeddings=keep_embeddings,
            limit=limit,
            jobs=jobs,
            device=find_device(device),
            tokenizer=tokenizer,
            trust_remote_code=trust_remote_code,
            progress=progress,
        )
    shown = Table("task", "init", "metric", "median", "mean", "spread", "runs", "failed")
    for column in shown.columns[3:]:
        column.justify = "right"
    for row in summarise_runs(table).to_dict("records"):
        spread = f"{row['min']:.3f}-{row['max']:.3f}"
        shown.add_row(
            row["task"],
            row["init"],
            row["metric"],
            f"{row['median']:.3f}",
            f"{row['mean']:.3f}",
            spread,
            str(row["count"]),
            str(int(row["failed"])),
        )
    console = Console(highlight=False)
    console.print(shown)
    for note in table.attrs["notes"]:
        console.print(f"Note: {note}.")
    console.print(
        f"Runs and models are in {out} (runs.csv). Next: headcount sweep {table['model'].iloc[-1]} --task ..."
    )
