"""How a run is trained: settings that are refused, the steps of checkpoints, and a loss that is not a number."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import headcount as hc
from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.tasks import find_task
from headcount.errors import InvalidOption, TrainingDiverged
from headcount.training.models import build_model
from headcount.training.splits import read_splits
from headcount.training.trainer import Settings, checkpoint_steps, make_trainer, save_whole
from tests.closeness import FLOAT32
from tests.measures.planted import SENTENCES
from tests.measures.tiny import translator
from tests.training import toy


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("toy")
    toy.save_checkpoint(path / "model")
    toy.save_splits(path / "data", toy.pairs(32))
    return path


@pytest.mark.parametrize(
    ("count", "total", "spacing", "expected"),
    [
        (0, 100, "even", []),
        (1, 100, "even", [100]),
        (1, 100, "log", [100]),
        (2, 9, "even", [4, 9]),
        (3, 64, "log", [1, 8, 64]),
        (10, 3, "even", [1, 2, 3]),
        (10, 3, "log", [1, 2, 3]),
        (5, 5, "even", [1, 2, 3, 4, 5]),
        (3, 1, "log", [1]),
    ],
)
def test_checkpoint_steps(count: int, total: int, spacing: str, expected: list[int]) -> None:
    assert checkpoint_steps(count, total, spacing) == expected


@pytest.mark.parametrize("spacing", ["even", "log"])
@pytest.mark.parametrize(("count", "total"), [(7, 1000), (20, 345), (4, 50)])
def test_the_last_step_is_among_them_and_none_is_beyond(count: int, total: int, spacing: str) -> None:
    steps = checkpoint_steps(count, total, spacing)
    assert steps[-1] == total
    assert steps == sorted(set(steps))
    assert min(steps) >= 1
    assert len(steps) <= count
    if spacing == "even":
        assert len(steps) == count
        assert max(b - a for a, b in pairwise(steps)) <= total / count + 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"per_device_train_batch_size": 0}, "got per_device_train_batch_size=0; expected at least 1"),
        ({"gradient_accumulation_steps": 0}, "got gradient_accumulation_steps=0; expected at least 1"),
        ({"save_steps": 0}, "got save_steps=0; expected at least 1"),
        ({"checkpoints": -1}, "got checkpoints=-1; expected at least 0"),
        ({"num_train_epochs": 0}, "got num_train_epochs=0; expected above 0"),
        ({"num_train_epochs": -1.5}, "got num_train_epochs=-1.5; expected above 0"),
        ({"learning_rate": 0}, "got learning_rate=0; expected above 0"),
        ({"learning_rate": float("nan")}, "got learning_rate=nan; expected a finite number, above 0"),
        ({"spacing": "wide"}, "got spacing='wide'; expected even or log"),
        ({"dtype": "int8"}, "got dtype='int8'; expected float32, bfloat16 or float16"),
    ],
)
def test_settings_that_are_refused(options: dict[str, Any], expected: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption) as caught:
        Settings(**options).check()
    assert str(caught.value) == expected
    with pytest.raises(InvalidOption):  # before anything is read or written
        hc.finetune("nowhere", "mrpc", tmp_path / "nothing", tmp_path / "out", settings=Settings(**options))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "options", [{"max_length": -1}, {"max_length": 0}, {"warmup_steps": -0.1}, {"weight_decay": -1}]
)
def test_settings_that_should_be_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        Settings(**options).check()


def test_the_defaults_are_good() -> None:
    Settings().check()
    assert (
        Settings().per_device_train_batch_size,
        Settings().num_train_epochs,
        Settings().learning_rate,
        Settings().max_length,
    ) == (32, 3, 2e-5, 128)


def prepared(place: Path, settings: Settings, folder: Path) -> Any:
    splits = read_splits(find_task("mrpc"), place / "data")
    model, tokenizer = build_model(place / "model", splits, "pretrained", 0)
    rows = encode(read_examples(splits.train, splits.task, model.config.id2label), tokenizer, 64).rows
    return make_trainer(model, tokenizer, rows, folder, settings, 0)


def test_steps_batches_and_rates(place: Path, tmp_path: Path) -> None:
    """4 batches an epoch; two a step; the rate climbs for half of the 4 steps and falls to nothing."""
    trainer = prepared(
        place,
        replace(toy.SHORT, num_train_epochs=2, gradient_accumulation_steps=2, warmup_steps=0.5, learning_rate=1e-2),
        tmp_path,
    )
    seen = []
    whole = trainer.training_step

    def step(model: Any, inputs: dict[str, torch.Tensor], *rest: Any) -> torch.Tensor:
        seen.append((len(inputs["labels"]), trainer.optimizer.param_groups[0]["lr"]))
        loss: torch.Tensor = whole(model, inputs, *rest)
        assert model.training, "dropout is on"
        return loss

    trainer.training_step = step
    trainer.train()
    assert trainer.state.global_step == 4
    assert [size for size, _ in seen] == [8] * 8
    assert [rate for _, rate in seen][::2] == pytest.approx([0, 5e-3, 1e-2, 5e-3])


def test_every_example_is_seen_once_an_epoch(place: Path, tmp_path: Path) -> None:
    trainer = prepared(place, toy.SHORT, tmp_path)
    seen: list[tuple[int, ...]] = []
    whole = trainer.training_step

    def step(model: Any, inputs: dict[str, torch.Tensor], *rest: Any) -> torch.Tensor:
        seen.extend(tuple(token for token in row if token) for row in inputs["input_ids"].tolist())
        return whole(model, inputs, *rest)

    trainer.training_step = step
    trainer.train()
    assert sorted(seen) == sorted(tuple(row["input_ids"]) for row in trainer.train_dataset)


SMOOTH = replace(toy.SHORT, num_train_epochs=4, learning_rate=1e-2, more={"label_smoothing_factor": 0.1})


@pytest.fixture(scope="module")
def translation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BART and sentences that are to be copied."""
    path = tmp_path_factory.mktemp("translation")
    for part in translator():
        part.save_pretrained(path / "model")
    toy.save_splits(path / "data", pd.DataFrame({"source": SENTENCES, "target": SENTENCES}))
    return path


def test_smoothed_labels_train_an_encoder_decoder(translation: Path, tmp_path: Path) -> None:
    losses = hc.finetune(
        translation / "model",
        "translation",
        translation / "data",
        tmp_path,
        init=["none", "pretrained"],
        settings=SMOOTH,
    )["score_loss"]
    assert losses[1] < losses[0] - 0.5
    other = hc.finetune(
        translation / "model",
        "translation",
        translation / "data",
        tmp_path / "plain",
        settings=replace(SMOOTH, more={}),
    )["score_loss"]
    assert losses[1] != other[0]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.7])
def test_the_smoothed_loss_is_the_formula(translation: Path, tmp_path: Path, share: float) -> None:
    """A share of it is the mean over all words in the place of the right one."""
    splits = read_splits(find_task("translation"), translation / "data")
    model, tokenizer = build_model(translation / "model", splits, "pretrained", 0)
    rows = encode(read_examples(splits.train, splits.task, None), tokenizer, 64).rows
    settings = replace(SMOOTH, more={"label_smoothing_factor": share})
    trainer = make_trainer(model, tokenizer, rows, tmp_path, settings, 0)
    batch = trainer.data_collator(rows[:5])
    assert ("decoder_input_ids" in batch) == (share > 0)
    right = batch["labels"]
    known = right >= 0
    assert not known.all(), "some places are padding"
    with torch.no_grad():
        given = float(trainer.compute_loss(model.eval(), dict(batch)))
        fed = torch.cat([torch.full_like(right[:, :1], 2), right[:, :-1].clamp(min=0)], 1)  # 2 starts a text
        inputs = {key: batch[key] for key in ("input_ids", "attention_mask")}
        scores = model(**inputs, decoder_input_ids=fed).logits.log_softmax(-1)
    one = -scores.gather(-1, right.clamp(min=0)[..., None])[..., 0][known].mean()
    assert given == pytest.approx(float((1 - share) * one - share * scores.mean(-1)[known].mean()), rel=FLOAT32)


def test_smoothed_labels_train_a_classifier(place: Path, tmp_path: Path) -> None:
    settings = replace(toy.QUICK, more={"label_smoothing_factor": 0.1})
    table = hc.finetune(place / "model", "mrpc", place / "data", tmp_path, settings=settings)
    assert table["score"].item() >= 0.9


def test_a_loss_that_is_not_a_number_stops_at_once(place: Path, tmp_path: Path) -> None:
    trainer = prepared(place, replace(toy.SHORT, num_train_epochs=5, learning_rate=1e-3), tmp_path)
    whole, steps = trainer.training_step, []

    def step(model: Any, *rest: Any) -> torch.Tensor:
        steps.append(trainer.state.global_step)
        if trainer.state.global_step == 6:
            with torch.no_grad():
                model.classifier.weight[0, 0] = float("nan")
        return whole(model, *rest)

    trainer.training_step = step
    with pytest.raises(TrainingDiverged, match=r"the loss is nan at step 7: .*now 0\.001") as caught:
        trainer.train()
    assert "\n" not in str(caught.value)
    assert steps == list(range(7)), "not a step further"


def test_a_huge_rate_stops_and_what_was_saved_stays(place: Path, tmp_path: Path) -> None:
    settings = replace(toy.SHORT, num_train_epochs=3, learning_rate=1e30, save_steps=1, checkpoints=12)
    with pytest.raises(TrainingDiverged, match="lower the learning rate, now 1e\\+30"):
        hc.finetune(str(place / "model"), "mrpc", place / "data", tmp_path, settings=settings)
    run = tmp_path / "mrpc" / "pretrained" / "seed-0"
    (state,) = (run / "diverged").glob("checkpoint-*")
    assert not (run / "options.json").exists(), "other options may be tried in its place"
    assert (state / "trainer_state.json").is_file()
    assert (state / "model.safetensors").is_file()
    assert not (run / "result.json").exists()
    assert not (run / "model").exists()
    start = toy.weights(run / "checkpoints" / "step-000000")
    assert all(torch.isfinite(tensor).all() for tensor in start.values())


def test_a_model_is_saved_whole_or_not_at_all(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = hc.load(place / "model")
    (tmp_path / ".step-000001-new").mkdir()
    (tmp_path / ".step-000001-new" / "rubbish").write_text("of a run that was killed")
    save_whole(model, tokenizer, tmp_path / "step-000001")
    assert [one.name for one in tmp_path.iterdir()] == ["step-000001"]
    assert not (tmp_path / "step-000001" / "rubbish").exists()
    hc.load(tmp_path / "step-000001")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tokenizer, "save_pretrained", full, raising=False)
    with pytest.raises(OSError, match="No space"):
        save_whole(model, tokenizer, tmp_path / "step-000002")
    assert not (tmp_path / "step-000002").exists()
