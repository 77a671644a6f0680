"""`headcount export`: a model for other tools, as ONNX or in the original shapes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import as_stored, find_tokenizer, load_ready


def export(
    model: str,
    /,
    *,
    to: Annotated[Literal["onnx", "zeroed"], Parameter(help="onnx, or zeroed: original shapes, with zeros.")],
    out: Annotated[Path, Parameter(help="Folder for the exported model.")],
    overwrite: options.Overwrite = False,
    tokenizer: options.Tokenizer = None,
    trust_remote_code: options.Trust = False,
) -> None:
    """Export a model, pruned or not, for other tools.

    Example: headcount export small --to onnx --out small-onnx

    onnx writes OUT/model.onnx with dynamic batch size and length, runs it with onnxruntime and compares the outputs
    (needs onnx, onnxscript and onnxruntime). zeroed writes weights in the original shapes, with zeros for pruned heads,
    for tools that expect these shapes.

    Parameters
    ----------
    model
        A folder, such as one that headcount prune wrote, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.costs.export import export as run
    from headcount.models.output_folder import check_apart, check_output_folder
    from headcount.zoo.bundled import find_model

    check_apart(out, {"the model": find_model(model)})
    check_output_folder(out, overwrite)
    loaded = load_ready(model, "cpu", "auto", trust_remote_code, uses_head=True)
    loaded_tokenizer = find_tokenizer(model, tokenizer, trust_remote_code)
    check = run(as_stored(loaded) if to == "zeroed" else loaded, loaded_tokenizer, out, to=to, overwrite=overwrite)
    console = Console(highlight=False)
    if check is None:
        console.print(f"Saved in {out}; from_pretrained loads it without Headcount.", markup=False, soft_wrap=True)
        return
    console.print(f"Checked: onnxruntime and the model differ by at most {check.difference:.1e}.")
    console.print(f"Saved in {out / 'model.onnx'}, the tokenizer beside it.", markup=False, soft_wrap=True)
