"""A model for other tools: as one ONNX file, or in the shapes of the whole model with zeros where heads are gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from headcount.costs.onnx import export_onnx
from headcount.errors import InvalidOption
from headcount.models.checkpoint import save
from headcount.models.compiled import takes_compiled
from headcount.models.dispatched import check_whole
from headcount.models.matching_weights import WRITTEN, check_head
from headcount.models.output_folder import check_output_folder, whole_folder
from headcount.models.plain_weights import check_plain
from headcount.models.zeroed import zeroed
from headcount.pruning.verify import Check

FORMATS = ("onnx", "zeroed")


@takes_compiled
def export(
    model: PreTrainedModel, tokenizer: Any, out: str | Path, *, to: str, overwrite: bool = False
) -> Check | None:
    """Write a model, pruned or whole, with its tokenizer, into a folder.

    `to="onnx"`: `out/model.onnx`, with free batch size and length, run once with onnxruntime; what comes back is how
    much its outputs differ from the model's. `to="zeroed"`: a checkpoint in the shapes of the whole model, with zeros
    where heads are gone, for tools that need these shapes. `overwrite`: replace a folder that headcount wrote.
    """
    if to not in FORMATS:
        raise InvalidOption(f"got to={to!r}; expected one of {', '.join(FORMATS)}")
    check_whole(model, "export it")
    check_plain(model, "export it")
    folder = Path(out)
    check_output_folder(folder, overwrite)
    check_head(model, *WRITTEN)
    if to == "zeroed":
        save(zeroed(model), tokenizer, folder, overwrite=overwrite)
        return None
    with whole_folder(folder, overwrite) as new:
        check = export_onnx(model, new / "model.onnx")
        tokenizer.save_pretrained(new)
    return check
