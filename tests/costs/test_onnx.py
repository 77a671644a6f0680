"""Does onnxruntime compute from the file what the pruned model does, at any size, and is the model left as it was?"""

from __future__ import annotations

import logging
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.costs import onnx as onnx_file
from headcount.costs.onnx import export_onnx
from headcount.errors import CannotWrite, MissingPackage, OutputTaken, PruneMismatch, UnsuitableModel
from tests.closeness import FLOAT32, assert_same
from tests.contracts.pruned import PRUNABLE, Before, uneven, whole
from tests.contracts.zoo import BY_NAME, VOCABULARY, Case, inputs, tiny

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


@dataclass(frozen=True)
class Export:
    """A family with few layers, for an export takes seconds for each, and an uneven cut."""

    name: str
    heads: list[str]
    options: dict[str, Any] = field(default_factory=dict)
    head: str = "AutoModel"

    @property
    def case(self) -> Case:
        return BY_NAME[self.name]

    def make(self) -> Any:
        config = getattr(tf, self.case.config)(**(self.case.options | self.options))
        torch.manual_seed(7)
        model = getattr(tf, self.head).from_config(config, attn_implementation=self.case.kernels[0]).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.ndim > 1:
                    parameter.normal_(0, self.case.spread)
        return hc.prune(model, self.heads)


_PAIR = ["encoder.L0H1", "decoder.L0", "cross.L0H0-1", "encoder.L0U0-9", "decoder.L0U"]
ONE, TWO = {"num_hidden_layers": 1}, {"num_hidden_layers": 2}
EXPORTS = (
    Export("bert", ["L0H1", "L1", "L0U", "L1U3-9"], TWO, "AutoModelForSequenceClassification"),
    Export("gpt2", ["L0", "L1H0", "L1H2", "L0U1-99", "L1U"], {"n_layer": 2}, "AutoModelForCausalLM"),
    Export("llama", ["L0H1", "L0U2-7"], ONE),
    Export("t5", _PAIR, {"num_layers": 1}),
    Export("marian", _PAIR, {"encoder_layers": 1, "decoder_layers": 1}, "AutoModelForSeq2SeqLM"),
    Export("vit", ["L0H1", "L0H3", "L0U5"], ONE),
    Export("modernbert", ["L0H1", "L1H0-1", "L0U", "L1U3-9"], TWO),
    Export("mpnet", ["L0H1", "L1H2-3", "L1U3-9"], TWO),
    Export("distilbert", ["L0H0-2"], {"n_layers": 1}),
)
SMALL = Export("bert", ["L0H1"], ONE)


def batches(case: Case) -> list[dict[str, torch.Tensor]]:
    """One text of one token, many short ones, a few long ones with padding on either side: none as it was traced."""
    generator = torch.Generator().manual_seed(3)
    if case.kind == "vision":
        return [{"pixel_values": torch.randn(count, 3, 12, 12, generator=generator)} for count in (1, 5)]
    found = []
    for count, length, target, side in ((1, 1, 1, "none"), (5, 7, 9, "right"), (3, 40, 20, "left")):
        ids = torch.randint(3, VOCABULARY, (count, length), generator=generator)
        mask = torch.ones_like(ids)
        for row in range(1, count):
            gone = slice(-row, None) if side == "right" else slice(0, 3 * row)
            mask[row, gone] = 0
        batch = {"input_ids": ids.masked_fill(mask == 0, case.options.get("pad_token_id", 0)), "attention_mask": mask}
        if case.kind == "pair":
            batch["decoder_input_ids"] = torch.randint(3, VOCABULARY, (count, target), generator=generator)
        if case.name == "bert":
            batch["token_type_ids"] = torch.randint(0, 2, (count, length), generator=generator)
        found.append(batch)
    return found


def check_file(model: Any, path: Path, case: Case) -> None:
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    names = {one.name for one in session.get_inputs()}
    output = session.get_outputs()[0].name
    assert output in ("logits", "last_hidden_state")
    for batch in batches(case):
        assert names == set(batch)
        with torch.no_grad():
            expected = model(**batch)[output].numpy()
        found = session.run([output], {name: tensor.numpy() for name, tensor in batch.items()})[0]
        assert found.shape == expected.shape
        if case.kind != "pair" and "attention_mask" in batch and found.shape[:2] == batch["input_ids"].shape:
            real = batch["attention_mask"].bool().numpy()
            found, expected = found[real], expected[real]
        assert_same(found, expected, FLOAT32)


@pytest.mark.parametrize("export", EXPORTS, ids=lambda export: export.name)
def test_the_file_computes_what_the_model_does(
    export: Export, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    model, case = export.make(), export.case
    before = Before(model, inputs(case))
    level = logging.getLogger("torch.onnx").level
    path = tmp_path / "model.onnx"
    path.write_text("an older one")
    found = export_onnx(model, path, overwrite=True)
    assert found.passed
    assert found.difference < 1e-4
    assert model.config._attn_implementation == case.kernels[0]
    before.check()
    assert logging.getLogger("torch.onnx").level == level
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]
    assert capfd.readouterr() == ("", "")
    check_file(model, path, case)
    content = path.read_bytes()
    for place in (Path(__file__).parents[2], Path(tf.__file__).parents[1], Path.home(), Path(tempfile.gettempdir())):
        assert str(place).encode() + b"/" not in content, place
    for trace in (b"site-packages", b"modeling_", b".py", b"Traceback"):
        assert trace not in content, trace


def units_of(case: Case, name: str) -> list[str]:
    """The name for each stack that has units: cross attention has none."""
    return [f"{stack}.{name}" for stack in case.stacks if stack != "cross"]


@pytest.mark.slow
@pytest.mark.parametrize("case", PRUNABLE, ids=lambda case: case.name)
def test_every_family(case: Case, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    units = [word for name in ("L0U1-7", "L1U", "L2U0") for word in units_of(case, name)]
    model = hc.prune(whole(case.name, case.kernels[0]), [*uneven(case), *units])
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    names = {one.name for one in session.get_inputs()}
    for batch in batches(case):
        if "token_type_ids" in names:
            batch["token_type_ids"] = torch.zeros_like(batch["input_ids"])
        with torch.no_grad():
            expected = model(**batch).last_hidden_state.numpy()
        found = session.run(None, {name: tensor.numpy() for name, tensor in batch.items() if name in names})[0]
        if case.kind in ("encoder", "decoder"):
            real = batch["attention_mask"].bool().numpy()
            found, expected = found[real], expected[real]
        assert_same(found, expected, FLOAT32)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("bert", "AutoModelForMultipleChoice"),
        ("bert", "AutoModelForTokenClassification"),
        ("bart", "AutoModelForSequenceClassification"),
        ("llama", "AutoModelForCausalLM"),
    ],
)
def test_with_the_head_of_a_task(name: str, head: str, tmp_path: Path) -> None:
    model = hc.prune(whole(name, head=head), uneven(BY_NAME[name]))
    assert export_onnx(model, tmp_path / "model.onnx").difference < 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_refused(dtype: torch.dtype, tmp_path: Path) -> None:
    with pytest.raises(UnsuitableModel, match="float32"):
        export_onnx(SMALL.make().to(dtype), tmp_path / "model.onnx")


def test_a_model_in_training_mode(tmp_path: Path) -> None:
    model = SMALL.make().train()
    model.embeddings.eval()
    export_onnx(model, tmp_path / "model.onnx")
    assert model.training
    assert model.encoder.training
    assert not model.embeddings.training, "each module has the mode that it had"


def test_a_mismatch_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The older file stays."""
    model = SMALL.make()
    before = Before(model, inputs(SMALL.case))
    monkeypatch.setattr(onnx_file, "TOLERANCE", 0.0)
    (tmp_path / "model.onnx").write_text("an older one")
    with pytest.raises(PruneMismatch, match="the ONNX file does not compute what the model does .*nothing was written"):
        export_onnx(model, tmp_path / "model.onnx", overwrite=True)
    assert [one.name for one in tmp_path.iterdir()] == ["model.onnx"]
    assert (tmp_path / "model.onnx").read_text() == "an older one"
    before.check()


def test_an_error_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("cannot trace")

    model = tiny("gpt2")
    before, level = Before(model, inputs(BY_NAME["gpt2"])), logging.getLogger("torch.onnx").level
    monkeypatch.setattr(torch.onnx, "export", fails)
    with pytest.raises(Exception, match="cannot trace"):
        export_onnx(model, tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
    assert model.config._attn_implementation == "sdpa"
    assert model.config.use_cache
    assert logging.getLogger("torch.onnx").level == level
    before.check()


def test_what_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_text("mine")
    with pytest.raises(OutputTaken, match=r"model.onnx is there already; give another file, or overwrite it"):
        export_onnx(tiny("bert"), path)
    for overwrite in (False, True):
        with pytest.raises(OutputTaken):
            export_onnx(tiny("bert"), tmp_path, overwrite=overwrite)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("name", ["notes.txt/model.onnx", "n" * 300])
def test_a_place_that_cannot_be(name: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CannotWrite, match="cannot write"):
        export_onnx(tiny("bert"), tmp_path / name)
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("missing", [("onnxruntime",), ("onnx", "onnxscript", "onnxruntime")])
def test_packages_that_are_not_installed(
    missing: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx_file, "find_spec", lambda name: None if name in missing else object())
    with pytest.raises(MissingPackage) as caught:
        export_onnx(tiny("bert"), tmp_path / "new" / "model.onnx")
    assert str(caught.value) == f"{', '.join(missing)} not installed; install headcount[onnx] to export to ONNX"
    assert list(tmp_path.iterdir()) == []
