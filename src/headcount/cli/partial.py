"""`headcount partial`: fine-tune and score a model on parts of its input, beside small baselines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.warning_lines import say

if TYPE_CHECKING:
    import pandas as pd


@with_engine
def partial(
    model: str,
    /,
    *,
    inputs: Annotated[
        tuple[str, ...],
        Parameter(
            help="Inputs to compare, each a list of columns separated by commas, or all: --inputs warrant "
            "reason,warrant all. With --choices warrant0 warrant1, warrant stands for both; so does choices.",
            consume_multiple=True,
        ),
    ],
    out: Annotated[Path, Parameter(help="Folder for all runs: OUT/INPUT/MODEL/seed-N.")],
    data: Annotated[
        str | None,
        Parameter(
            help="A folder with train.* and validation.*, a file, of which a fifth is held out, or hub:NAME (--config "
            "and --split name its configuration and split); without it, GLUE from the hub."
        ),
    ] = None,
    task: Annotated[
        str | None,
        Parameter(help="A GLUE task, classification, regression or multiple-choice; not needed with --choices."),
    ] = None,
    choices: Annotated[
        tuple[str, ...] | None, Parameter(help="Columns of the choices, for multiple choice.", consume_multiple=True)
    ] = None,
    text: Annotated[
        tuple[str, ...] | None,
        Parameter(
            help="Text columns; with --choices those of the context, by default all that --inputs names.",
            consume_multiple=True,
        ),
    ] = None,
    label: options.Label = None,
    tests: Annotated[
        tuple[str, ...] | None,
        Parameter(
            name="--test",
            help="Further labelled files with the same columns on which every run is scored, each with a name: "
            "--test adversarial=FILE.",
            consume_multiple=True,
        ),
    ] = None,
    seeds: Annotated[int, Parameter(help="Number of seeds for each input and model.")] = 5,
    baselines: Annotated[
        str,
        Parameter(
            help="Baselines on the model's input embeddings: some of bag-of-vectors, bilstm, separated by commas, or "
            "none."
        ),
    ] = "bag-of-vectors,bilstm",
    num_train_epochs: Annotated[float, Parameter(help="Number of training epochs.")] = 3,
    per_device_train_batch_size: Annotated[int, Parameter(help="Training batch size.")] = 32,
    learning_rate: Annotated[float, Parameter(help="Peak learning rate.")] = 2e-5,
    warmup_steps: Annotated[float, Parameter(help="Warm-up steps, or, below 1, their share of all steps.")] = 0.1,
    weight_decay: Annotated[float, Parameter(help="Weight decay.")] = 0.0,
    max_length: Annotated[int, Parameter(help="Truncate texts to this many tokens.")] = 128,
    gradient_accumulation_steps: Annotated[int, Parameter(help="Gradient accumulation steps.")] = 1,
    dtype: Annotated[Literal["float32", "bfloat16", "float16"], Parameter(help="dtype of training.")] = "float32",
    keep_models: Annotated[bool, Parameter(help="Save the fine-tuned models, not their scores alone.")] = False,
    limit: Annotated[int | None, Parameter(help="Use only this many randomly drawn training examples.")] = None,
    jobs: Annotated[int, Parameter(help="Number of runs in parallel.")] = 1,
    json_: options.Json = False,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    trust_remote_code: options.Trust = False,
) -> None:
    """Fine-tune and score a model on parts of its input: how much of the score is there without the rest?

    Example: headcount partial bundled:pretrained --task qnli --data bundled:pairs --inputs sentence all --out parts

    Bag-of-vectors and BiLSTM baselines and the majority are shown beside it. An interrupted command resumes when it is
    run again.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    from rich.console import Console

    from headcount.cli.progress import show_progress
    from headcount.models.device import find_device
    from headcount.models.find_folder import folder_notes
    from headcount.story.partial import partial_sentences
    from headcount.training.part_scores import summarise_parts
    from headcount.training.partial import partial as run
    from headcount.training.trainer import Settings

    settings = Settings(
        per_device_train_batch_size=per_device_train_batch_size,
        num_train_epochs=num_train_epochs,
        learning_rate=learning_rate,
        warmup_steps=warmup_steps,
        weight_decay=weight_decay,
        max_length=max_length,
        gradient_accumulation_steps=gradient_accumulation_steps,
        dtype=dtype,
    )
    for note in folder_notes(model):
        say(f"note: {note}")
    with show_progress("partial", "runs") as progress:
        table = run(
            model,
            data,
            out,
            inputs=inputs,
            task=task,
            text=text,
            choices=choices,
            label=label,
            tests=named_files(tests),
            seeds=seeds,
            baselines=baselines,
            settings=settings,
            keep_models=keep_models,
            limit=limit,
            jobs=jobs,
            device=find_device(device),
            tokenizer=tokenizer,
            trust_remote_code=trust_remote_code,
            progress=progress,
        )
    summary = summarise_parts(table)
    if json_:
        rows = {
            name: json.loads(each.to_json(orient="records")) for name, each in (("summary", summary), ("runs", table))
        }
        print(json.dumps(rows))
        return
    console = Console(highlight=False)
    for _, part in summary.groupby("split", sort=False):
        console.print(parts_table(part))
    for line in partial_sentences(summary, table):
        console.print(line, markup=False)
    for note in table.attrs["notes"]:
        console.print(f"Note: {note}.", markup=False)
    console.print(f"Saved in {out} (runs.csv, summary.csv).", markup=False, soft_wrap=True)


def named_files(words: tuple[str, ...] | None) -> dict[str, str] | None:
    """Files by name, as they are typed.

    >>> named_files(("adversarial=twins.csv",))
    {'adversarial': 'twins.csv'}
    """
    from headcount.core.options import no_repeats
    from headcount.errors import InvalidOption, short

    if words is None:
        return None
    pairs = [(name.strip(), file) for name, _, file in (word.partition("=") for word in words)]
    for word, (name, file) in zip(words, pairs, strict=True):
        if not name or not file:
            raise InvalidOption(f"got {short(word)} in tests=; expected NAME=FILE, a name and a file")
    no_repeats("tests", [name for name, _ in pairs])
    return dict(pairs)


def parts_table(summary: pd.DataFrame) -> Any:
    """The table of the paper: a row for each input and model, and one for the majority."""
    from rich.markup import escape
    from rich.table import Table

    first = summary.iloc[0]
    title = escape(f"{first['metric']} over {first['seeds']} seeds, {first['examples']:,} {first['split']} examples")
    shown = Table("input", "model", "mean", "median", "max", "sd", "failed", title=title, title_justify="left")
    for column in shown.columns[2:]:
        column.justify = "right"
        column.no_wrap = True
    before = None
    for row in summary.to_dict("records"):
        if before not in (None, row["input"]):
            shown.add_section()
        numbers = [f"{row[name]:.3f}" if row[name] == row[name] else "-" for name in ("mean", "median", "max", "std")]
        shown.add_row(
            "" if before == row["input"] else escape(row["input"]), row["model"], *numbers, str(row["failed"] or "")
        )
        before = row["input"]
    shown.add_section()
    shown.add_row("none", "majority", f"{first['majority']:.3f}")
    return shown
