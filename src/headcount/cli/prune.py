"""`headcount prune`: the model without some heads, their weights gone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headcount.cli.options import Device, Dtype, Trust, load_model_and_tokenizer


def prune(
    model: str,
    /,
    *,
    heads: Annotated[str, Parameter(help="The heads to take out, such as 'L3H7,L5,L6H0-3'.")],
    out: Annotated[Path, Parameter(help="The folder for the smaller model.")],
    overwrite: Annotated[bool, Parameter(help="Replace a folder that is there.", negative="")] = False,
    device: Device = "auto",
    dtype: Dtype = "auto",
    trust_remote_code: Trust = False,
) -> None:
    """Take heads out of a model and save what is left: smaller, faster, and it loads again anywhere.

    Example: headcount prune bundled:qnli --heads "L3H7,L5" --out small

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.models.anatomy import read_anatomy
    from headcount.models.checkpoint import check_place, save
    from headcount.pruning.prune import LAST_CHECK
    from headcount.pruning.prune import prune as cut

    check_place(out, overwrite)
    console = Console(highlight=False)
    loaded, tokenizer = load_model_and_tokenizer(model, device, dtype, trust_remote_code)
    before, count = loaded.num_parameters(), read_anatomy(loaded).layout.count
    cut(loaded, heads)
    save(loaded, tokenizer, out, overwrite=overwrite)
    after, left = loaded.num_parameters(), read_anatomy(loaded).layout.count
    console.print(
        f"{left} of {count} heads are left, {after:,} of {before:,} parameters ({1 - after / before:.1%} less)."
    )
    console.print(f"Checked: {getattr(loaded, LAST_CHECK)}.")
    console.print(f"Saved in {out} (how to load it: {out / 'README.md'}).", markup=False, soft_wrap=True)
    console.print(f"Next: headcount cost {model} {out}", markup=False, soft_wrap=True)
