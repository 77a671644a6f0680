"""`headcount recover`: a pruned model fine-tuned for a few steps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import as_stored, load_for_task


def recover(
    model: str,
    /,
    *,
    task: options.Task,
    data: options.Data,
    out: Annotated[Path, Parameter(help="The folder for the recovered model.")],
    max_steps: Annotated[int, Parameter(help="Training steps.")] = 100,
    learning_rate: Annotated[float, Parameter(help="The highest learning rate.")] = 2e-5,
    per_device_train_batch_size: Annotated[int, Parameter(help="Examples of a batch.")] = 32,
    text: options.Text = None,
    label: options.Label = None,
    labels: options.Labels = None,
    limit: options.Limit = None,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    overwrite: options.Overwrite = False,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    trust_remote_code: options.Trust = False,
) -> None:
    """Fine-tune a pruned model for a few steps, so that the heads that are left take over.

    Example: headcount recover small --task qnli --data bundled:pairs --max-steps 50 --out recovered

    All examples train: evaluate the model on others. headcount prune --recover does both, on two halves.

    Parameters
    ----------
    model
        A folder that headcount prune wrote, or any other model.
    """
    from rich.console import Console

    from headcount.cli.progress import show_progress
    from headcount.data.tasks import find_task
    from headcount.models.checkpoint import save
    from headcount.models.output_folder import check_apart, check_output_folder
    from headcount.pruning.recover import recover as run
    from headcount.zoo.bundled import find_data, find_model

    known = find_task(task, text=text, label=label, labels=labels)
    check_apart(out, {"the model": find_model(model), "the data": find_data(data)})
    check_output_folder(out, overwrite)
    loaded, words = load_for_task(model, known.kind.name, device, dtype, False, trust_remote_code, tokenizer)
    with show_progress("recover", "steps") as progress:
        run(
            loaded,
            words,
            data,
            task=known,
            max_steps=max_steps,
            learning_rate=learning_rate,
            per_device_train_batch_size=per_device_train_batch_size,
            limit=limit,
            seed=seed,
            max_length=max_length,
            progress=progress,
        )
    save(as_stored(loaded), words, out, overwrite=overwrite)
    console = Console(highlight=False)
    console.print(f"Fine-tuned for {max_steps} steps; saved in {out}.", markup=False, soft_wrap=True)
    console.print(f"Next: headcount cost {model} {out}", markup=False, soft_wrap=True)
