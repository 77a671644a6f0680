"""`headcount refit`: output projections of a pruned model by least squares, without labels and without training."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import as_stored, bare_head, find_named_task, find_tokenizer, load_ready


def refit(
    model: str,
    /,
    *,
    whole: Annotated[str, Parameter(help="Folder or hub name of the model before the cut.")],
    task: options.Task = None,
    data: Annotated[str, Parameter(help="Texts, as for headcount sweep, or bundled:pairs; labels are not read.")],
    out: Annotated[Path, Parameter(help="Folder for the refitted model.")],
    how: Annotated[
        Literal["weights", "scales"],
        Parameter(help="What is fitted: all weights of the output projections, or one factor per head and unit."),
    ] = "weights",
    ridge: Annotated[
        float, Parameter(help="Penalty on changes of the weights, relative to the mean square of what they read.")
    ] = 1e-3,
    text: options.Text = None,
    limit: Annotated[int | None, Parameter(help="Number of texts, drawn at random.")] = 1024,
    seed: options.Seed = 0,
    max_length: options.MaxLength = None,
    overwrite: options.Overwrite = False,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    trust_remote_code: options.Trust = False,
) -> None:
    """Fit the output projections of a pruned model to the whole model by least squares, without labels or training.

    Example: headcount refit small --whole bundled:qnli --task qnli --data bundled:pairs --limit 100 --out refitted

    Takes a pass over the texts with the whole model. If the model is recovered too, refit it before.

    Parameters
    ----------
    model
        A folder that headcount prune wrote.
    """
    from rich.console import Console

    from headcount.cli.progress import show_progress
    from headcount.models.checkpoint import save
    from headcount.models.output_folder import check_apart, check_output_folder
    from headcount.pruning.refit import refit as run
    from headcount.zoo.bundled import find_data, find_model

    known = find_named_task(task, data, text)
    check_apart(
        out, {"the model": find_model(model), "the whole model": find_model(whole), "the data": find_data(data)}
    )
    check_output_folder(out, overwrite)
    loaded, before = (
        load_ready(name, device, dtype, trust_remote_code, head=bare_head(known.kind.name), uses_head=True)
        for name in (model, whole)
    )
    loaded_tokenizer = find_tokenizer(model, tokenizer, trust_remote_code)
    with show_progress("refit", "batches") as progress:
        run(
            loaded,
            before,
            loaded_tokenizer,
            data,
            task=known,
            how=how,
            ridge=ridge,
            limit=limit,
            seed=seed,
            max_length=max_length,
            progress=progress,
        )
    save(as_stored(loaded), loaded_tokenizer, out, overwrite=overwrite)
    console = Console(highlight=False)
    console.print(f"Fitted to {whole} ({how}); saved in {out}.", markup=False, soft_wrap=True)
    console.print(f"Next: headcount cost {whole} {out}", markup=False, soft_wrap=True)
