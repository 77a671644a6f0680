"""A model as one ONNX file, for any number of texts of any length, checked against the model's own outputs."""

from __future__ import annotations

import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from headcount.errors import CannotWrite, MissingPackage, OutputTaken, PruneMismatch, UnsuitableModel, cannot_write
from headcount.models.compiled import takes_compiled
from headcount.models.example_inputs import example_inputs
from headcount.pruning.verify import OUTPUTS, Check
from headcount.trace.modes import evaluating

OPSET = 20
TOLERANCE = 1e-4
NEEDED = ("onnx", "onnxscript", "onnxruntime")


class _Outputs(nn.Module):
    """The model as a function of tensors in a fixed order to its first output."""

    def __init__(self, model: nn.Module, inputs: tuple[str, ...], output: str) -> None:
        super().__init__()
        self.model, self.inputs, self.output = model, inputs, output

    def forward(self, *tensors: Tensor) -> Tensor:
        output: Tensor = self.model(**dict(zip(self.inputs, tensors, strict=True)), return_dict=True)[self.output]
        return output


@takes_compiled
def export_onnx(model: PreTrainedModel, path: str | Path, *, overwrite: bool = False) -> Check:
    """Write the model as an ONNX file and run it with onnxruntime on other sizes than it was traced with.

    Batch and length are free. The inputs are those of `input_ids`, `attention_mask`, `token_type_ids`,
    `decoder_input_ids` and `pixel_values` that the model takes; the output is `logits`, or `last_hidden_state`. A cache
    of earlier tokens is not part of it.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise MissingPackage(f"{', '.join(missing)} not installed; install headcount[onnx] to export to ONNX")
    if model.dtype != torch.float32:
        raise UnsuitableModel(f"got a model in {model.dtype}; expected float32: model.float()")
    file = Path(path)
    new = file.with_name(f".{file.name}-new")
    made: list[Path] = []
    try:
        if file.is_dir() or (file.exists() and not overwrite):
            raise OutputTaken(f"{file} is there already; give another file, or overwrite it (overwrite=True)")
        made = [one for one in (file.parent, *file.parent.parents) if not one.exists()]
        file.parent.mkdir(parents=True, exist_ok=True)
        with evaluating(model):
            return _export(model, new, file)
    except BaseException as error:
        for folder in made:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
        if isinstance(error, OSError):
            raise CannotWrite(cannot_write(file, error)) from error
        if isinstance(error, torch.onnx.errors.OnnxExporterError):
            reason = str(error).strip().splitlines()[0]
            raise UnsuitableModel(f"torch cannot export {type(model).__name__} to ONNX ({reason})") from error
        raise


def _export(model: PreTrainedModel, new: Path, file: Path) -> Check:
    """Write beside the place, check, move."""
    batch = _inputs(model)
    output = _first_output(model, batch)
    try:
        with _exportable(model):
            program = torch.onnx.export(
                _Outputs(model, tuple(batch), output).eval(),
                tuple(batch.values()),
                input_names=list(batch),
                output_names=[output],
                dynamic_shapes=(tuple(_free(name, batch[name]) for name in batch),),
                dynamo=True,
                opset_version=OPSET,
                verbose=False,
            )
        assert program is not None
        _forget_places(program.model)
        program.save(str(new), external_data=False)
        check = _check(model, new, output)
        os.replace(new, file)
    finally:
        new.unlink(missing_ok=True)
    return check


def _inputs(model: PreTrainedModel, seed: int = 0) -> dict[str, Tensor]:
    batch = example_inputs(model, seed)
    if getattr(model.config, "type_vocab_size", 0) > 1 and "input_ids" in batch:
        batch["token_type_ids"] = torch.zeros_like(batch["input_ids"])
    return batch


def _first_output(model: PreTrainedModel, batch: Mapping[str, Tensor]) -> str:
    with torch.no_grad():
        outputs = model(**batch)
    return next(name for name in OUTPUTS if name in outputs)


def _free(name: str, tensor: Tensor) -> dict[int, str]:
    """The axes whose sizes are free: an image's are its own."""
    if tensor.is_floating_point():
        return {0: "batch"}
    axes = {0: "batch", tensor.ndim - 1: "target_length" if name.startswith("decoder_") else "length"}
    return axes if tensor.ndim == 2 else axes | {1: "choices"}


@contextmanager
def _exportable(model: PreTrainedModel) -> Iterator[None]:
    """The model as the exporter can read it, and as it was afterwards."""
    kernel = model.config._attn_implementation
    cache = getattr(model.config, "use_cache", None)
    log = logging.getLogger("torch.onnx")
    level = log.level
    try:
        # With fused kernels T5 cannot be exported, and ModernBERT's padded rows differ.
        model.set_attn_implementation("eager")
        if cache is not None:
            model.config.use_cache = False
        log.setLevel(logging.ERROR)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
        model.set_attn_implementation(kernel)
        if cache is not None:
            model.config.use_cache = cache


def _forget_places(program: Any) -> None:
    """Take out the source lines and paths of this machine."""
    for graph in (program.graph, *program.functions.values()):
        for node in graph.all_nodes():
            node.metadata_props.clear()
        for value in (*graph.inputs, *graph.outputs):
            value.metadata_props.clear()


def _check(model: PreTrainedModel, path: Path, output: str) -> Check:
    """The file's outputs against the model's, on one text more and a length more than it was traced with."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    batch = {
        name: tensor if tensor.is_floating_point() else torch.cat([tensor, tensor[..., :5]], -1)
        for name, tensor in _inputs(model, seed=1).items()
    }
    batch = {name: torch.cat([tensor, tensor[:1]]) for name, tensor in batch.items()}
    if "attention_mask" in batch:
        batch["attention_mask"][0] = 1
    with torch.no_grad():
        ours = model(**batch)[output].float().cpu()
    known = {one.name for one in session.get_inputs()}
    theirs = session.run([output], {name: tensor.cpu().numpy() for name, tensor in batch.items() if name in known})[0]
    gap = (ours - torch.from_numpy(theirs).float()).abs()
    mask = batch.get("attention_mask")
    if mask is not None and "decoder_input_ids" not in batch and gap.shape[: mask.ndim] == mask.shape:
        gap = gap[mask.cpu().bool()]
    check = Check(float(gap.max()), float(ours.abs().median()), TOLERANCE)
    if not check.passed:
        raise PruneMismatch(f"the ONNX file does not compute what the model does ({check}); nothing was written")
    return check
