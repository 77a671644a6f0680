"""`headcount recover`: fine-tune a pruned model for a few steps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import (
    as_stored,
    bare_head,
    find_named_task,
    load_for_task,
    load_ready,
    spell_lora,
    spell_teacher,
)
from headcount.cli.stopping import state_beside
from headcount.core.options import belongs_to


def recover(
    model: str,
    /,
    *,
    task: options.Task = None,
    data: options.Data,
    out: Annotated[Path, Parameter(help="Folder for the recovered model.")],
    teacher: Annotated[
        str | None,
        Parameter(help="Folder or hub name of the whole model: its outputs are learned, and labels are not read."),
    ] = None,
    temperature: options.Temperature = None,
    hidden: options.Hidden = False,
    max_steps: Annotated[int, Parameter(help="Number of training steps.")] = 100,
    learning_rate: Annotated[
        float | None, Parameter(help="Peak learning rate; 2e-5 by default, 2e-4 with --lora.")
    ] = None,
    lora: options.Lora = False,
    lora_rank: options.LoraRank = None,
    per_device_train_batch_size: Annotated[int, Parameter(help="Training batch size.")] = 32,
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
    """Fine-tune a pruned model for a few steps, so that the remaining heads compensate for the removed ones.

    Example: headcount recover small --task qnli --data bundled:pairs --max-steps 50 --out recovered

    The model is trained on all examples: evaluate it on others. headcount prune --recover trains on one half and
    evaluates on the other. An interrupted run resumes when the same command is run again.

    Parameters
    ----------
    model
        A folder that headcount prune wrote, or any other model.
    """
    from rich.console import Console

    from headcount.cli.progress import show_progress
    from headcount.models.checkpoint import save
    from headcount.models.output_folder import check_apart, check_output_folder
    from headcount.pruning.lora import check_lora
    from headcount.pruning.recover import recover as run
    from headcount.pruning.recovery_folder import remove_folder
    from headcount.zoo.bundled import find_data, find_model

    belongs_to("lora_rank", lora_rank, "lora", lora)
    belongs_to("temperature", temperature, "teacher", teacher)
    belongs_to("hidden", hidden, "teacher", teacher)
    if lora:
        check_lora()
    known = find_named_task(task, data, text, label, labels)
    apart = {"the model": find_model(model), "the data": find_data(data)}
    check_apart(out, apart if teacher is None else apart | {"the teacher": find_model(teacher)})
    check_output_folder(out, overwrite)
    loaded, loaded_tokenizer = load_for_task(model, known.kind.name, device, dtype, trust_remote_code, tokenizer)
    whole = (
        None
        if teacher is None
        else load_ready(teacher, device, dtype, trust_remote_code, head=bare_head(known.kind.name), uses_head=True)
    )
    state = state_beside(out)
    with show_progress("recover", "steps") as progress:
        run(
            loaded,
            loaded_tokenizer,
            data,
            task=known,
            teacher=whole,
            temperature=temperature,
            hidden=hidden,
            max_steps=max_steps,
            learning_rate=learning_rate,
            lora=lora,
            lora_rank=lora_rank,
            per_device_train_batch_size=per_device_train_batch_size,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=state,
            progress=progress,
        )
    save(as_stored(loaded), loaded_tokenizer, out, overwrite=overwrite)
    remove_folder(state)
    console = Console(highlight=False)
    what = f"Fine-tuned for {max_steps} steps{spell_lora(lora, lora_rank)}{spell_teacher(teacher is not None, lora)}"
    console.print(f"{what}; saved in {out}.", markup=False, soft_wrap=True)
    console.print(f"Next: headcount cost {model} {out}", markup=False, soft_wrap=True)
