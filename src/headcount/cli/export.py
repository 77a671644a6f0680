"""`headcount export`: a model for other tools, as ONNX or in the shapes of the whole model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from headcount.cli.options import Tokenizer, Trust, as_stored, find_tokenizer, load_ready


def export(
    model: str,
    /,
    *,
    to: Annotated[Literal["onnx", "zeroed"], Parameter(help="onnx: one file for onnxruntime; zeroed: whole shapes.")],
    out: Annotated[Path, Parameter(help="The folder.")],
    overwrite: Annotated[
        bool, Parameter(help="Replace a folder that headcount wrote; files of others in it stay.", negative="")
    ] = False,
    tokenizer: Tokenizer = None,
    trust_remote_code: Trust = False,
) -> None:
    """Write a model, pruned or whole, for other tools.

    Example: headcount export small --to onnx --out small-onnx

    onnx: OUT/model.onnx with free batch size and length (onnx, onnxscript and onnxruntime are needed), run once and
    compared with the model. zeroed: the shapes of the whole model, with zeros where heads are gone, for tools that need
    these shapes.

    Parameters
    ----------
    model
        A folder, pruned by headcount or not, a name on the Hugging Face hub, or bundled:qnli.
    """
    from rich.console import Console

    from headcount.costs.export import export as run
    from headcount.models.output_folder import check_apart, check_output_folder
    from headcount.zoo.bundled import find_model

    check_apart(out, {"the model": find_model(model)})
    check_output_folder(out, overwrite)
    loaded = load_ready(model, "cpu", "auto", trust_remote_code, uses_head=True)
    words = find_tokenizer(model, tokenizer, trust_remote_code)
    check = run(as_stored(loaded) if to == "zeroed" else loaded, words, out, to=to, overwrite=overwrite)
    console = Console(highlight=False)
    if check is None:
        console.print(f"Saved in {out}: plain from_pretrained loads it.", markup=False, soft_wrap=True)
        return
    console.print(f"Checked: onnxruntime and the model differ by at most {check.difference:.1e}.")
    console.print(f"Saved in {out / 'model.onnx'}, the tokenizer beside it.", markup=False, soft_wrap=True)
