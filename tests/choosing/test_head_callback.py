"""Does it leave the training as it is, is each measurement what `importance` gives, and does a stop lose anything?"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import peft
import pytest
import torch
import transformers as tf
import xarray as xr
from transformers.trainer_callback import TrainerCallback

import headcount as hc
from headcount.choosing.head_callback import HeadCallback
from headcount.choosing.pace import Pace
from headcount.choosing.training_importance import TrainingImportance
from headcount.core.claims import settled_at
from headcount.errors import HeadcountWarning, InvalidOption, NotFinite, StudyProblem
from tests.choosing.trainings import DATA, make_trainer, save_model, trained, with_callback
from tests.training import toy

STEPS = [0, 3, 6, 9, 12]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("callback"))


def lora(folder: Path) -> Any:
    model = tf.BertForSequenceClassification.from_pretrained(folder)
    config = peft.LoraConfig(task_type="SEQ_CLS", target_modules=["query", "value"], r=2)
    torch.manual_seed(8)
    return peft.get_peft_model(model, config)


@pytest.mark.parametrize(
    ("options", "make"),
    [
        ({}, None),
        ({"gradient_accumulation_steps": 2, "num_train_epochs": 6}, None),
        ({"gradient_checkpointing": True}, None),
        ({"bf16": True}, None),
        ({"neftune_noise_alpha": 5.0, "label_smoothing_factor": 0.1}, None),
        ({}, lora),
    ],
    ids=["plain", "accumulation", "checkpointing", "bfloat16", "noise", "adapters"],
)
def test_the_training_is_not_disturbed(
    folder: Path, tmp_path: Path, options: dict[str, Any], make: Callable[[Path], Any] | None
) -> None:
    plain, before = trained(make_trainer(folder, tmp_path / "plain", make and make(folder), **options))
    trainer = make_trainer(folder, tmp_path / "measured", make and make(folder), **options)
    callback = with_callback(trainer, every=2, limit=8)
    measured, after = trained(trainer)
    assert toy.same(plain, measured), "bit for bit"
    assert before == after, "random generators, modes and gradients before each step"
    assert callback.result.sizes["checkpoint"] == 7
    changed = callback.result["importance"][-1] - callback.result["importance"][0]
    assert float(np.abs(changed).max()) > 1e-4, "the model that is being trained was measured"


@pytest.fixture(scope="module")
def measured(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[tf.Trainer, HeadCallback, Path]:
    place = tmp_path_factory.mktemp("measured")
    trainer = make_trainer(folder, place / "out", save_strategy="steps", save_steps=5)
    callback = with_callback(trainer, study=place / "study", limit=20)
    trainer.train()
    return trainer, callback, place


@pytest.mark.parametrize("estimator", ["michel_normed", "taylor", "fisher"])
def test_a_measurement_is_what_importance_gives(
    folder: Path, tmp_path: Path, measured: tuple[tf.Trainer, HeadCallback, Path], estimator: str
) -> None:
    trainer, callback, place = measured
    if estimator != "michel_normed":
        trainer = make_trainer(folder, tmp_path)
        callback = with_callback(trainer, estimator=estimator, limit=20, every=12)
        trainer.train()
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    last = hc.importance(trainer.model, tokenizer, DATA, task="mrpc", limit=20)
    first = hc.importance(
        tf.BertForSequenceClassification.from_pretrained(folder), tokenizer, DATA, task="mrpc", limit=20
    )
    for alone, step in ((first, 0), (last, 12)):
        found = callback.result.sel(checkpoint=step)
        np.testing.assert_allclose(found["importance"], alone[estimator], rtol=2e-4, atol=1e-6)
        np.testing.assert_allclose(found["michel"], alone["michel"], rtol=2e-4, atol=1e-6)
    if estimator == "michel_normed":
        middle = tf.BertForSequenceClassification.from_pretrained(place / "out" / "checkpoint-10")
        between = hc.importance(middle, tokenizer, DATA, task="mrpc", limit=20)["taylor"]
        assert float(np.abs(callback.result["taylor"].sel(checkpoint=9) - between).max()) > 1e-6, "another step"


def test_the_study_has_one_result_with_all_steps(measured: tuple[tf.Trainer, HeadCallback, Path]) -> None:
    trainer, callback, place = measured
    study = hc.open_study(place / "study")
    stored = study["pruning/dynamics"].to_dataset()
    assert stored["checkpoint"].values.tolist() == STEPS
    assert stored["importance"].dims == ("checkpoint", "stack", "layer", "head")
    for name in ("importance", "michel", "taylor", "norm", "agreement", "stability"):
        np.testing.assert_array_equal(stored[name], callback.result[name])
    assert float(stored["agreement"][-1]) == pytest.approx(1)
    settled_at(stored)
    assert stored.attrs["complete"]
    assert stored.attrs["command"] == "headcount.HeadCallback(...)"
    identity = stored.attrs["identity"]
    assert len(identity["models"]) == len(set(identity["models"])) == 2
    assert identity | {"task": "mrpc", "limit": 20, "seed": 0, "estimator": "michel_normed"} == identity
    assert stored.attrs["versions"]["torch"] == torch.__version__
    # The study takes results of the trained model, and tables and pages show it.
    tokenizer = trainer.processing_class
    hc.importance(trainer.model, tokenizer, DATA, task="mrpc", limit=20, out=place / "study")
    table = hc.table(place / "study", group="pruning/dynamics")
    heads = table.dropna(subset="head")
    assert len(heads) == len(STEPS) * 4
    assert heads["checkpoint"].unique().tolist() == STEPS
    assert table["agreement"].notna().sum() == len(STEPS)
    page = Path(hc.report(place / "study", place / "report.html")).read_text(encoding="utf-8")
    assert "two halves of the 20 examples" in page


def test_what_the_trackers_get(folder: Path, tmp_path: Path, measured: tuple[tf.Trainer, HeadCallback, Path]) -> None:
    class Tracker(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.logged: dict[int, dict[str, float]] = {}

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if any(key.startswith("heads") for key in logs):
                self.logged[state.global_step] = dict(logs)

    sizes = {}
    for log in ("summary", "heads", "nothing"):
        trainer, tracker = make_trainer(folder, tmp_path / log), Tracker()
        trainer.callback_handler.callbacks.insert(0, tracker)  # where the Trainer puts its own trackers
        callback = with_callback(trainer, log=log, name=None if log == "summary" else log, every=6, limit=8)
        trainer.train()
        sizes[log] = len(tracker.logged.get(12, {}))
        if log == "summary":
            assert list(tracker.logged) == [0, 6, 12]
            last = tracker.logged[12]
            assert set(last) == {"epoch", *(f"heads/{key}" for key in ("stability", "half", "agreement", "time_share"))}
            assert 1 <= last["heads/half"] <= 4
            assert set(tracker.logged[0]) == {"epoch", "heads/stability", "heads/half"}
            assert any("heads/half" in entry for entry in trainer.state.log_history)
        if log == "heads":
            last = tracker.logged[12]
            assert last["heads@heads/importance/L1H0"] == pytest.approx(
                float(callback.result["importance"].sel(checkpoint=12, layer=1, head=0)[0])
            )
            assert sum(value for key, value in last.items() if "/share/" in key) == pytest.approx(1)
            callback.log = "layers"
            shares = set(callback._scalars(callback._scene, callback.rows[-1], callback.rows[-2]))
            assert shares == {key for key in last if "/importance/" not in key} - {"epoch"}
    assert sizes == {"summary": 5, "heads": 11, "nothing": 0}


def test_tensorboard_gets_the_scalars(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "board"))
    trainer = make_trainer(folder, tmp_path / "out", report_to=["tensorboard"])
    with_callback(trainer)
    trainer.train()
    board = EventAccumulator(str(tmp_path / "board"))
    board.Reload()
    assert {"train/heads/half", "train/heads/stability", "train/heads/agreement"} <= set(board.Tags()["scalars"])
    assert [event.step for event in board.Scalars("train/heads/half")] == STEPS


class Killed(TrainerCallback):  # type: ignore[misc]
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 8:
            raise KeyboardInterrupt


def test_a_resumed_training_has_what_an_uninterrupted_one_has(
    folder: Path, tmp_path: Path, measured: tuple[tf.Trainer, HeadCallback, Path]
) -> None:
    saving = {"save_strategy": "steps", "save_steps": 5}
    trainer = make_trainer(folder, tmp_path / "out", **saving)
    with_callback(trainer, study=tmp_path / "study", limit=20)
    trainer.add_callback(Killed())
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    journal = tmp_path / "out" / "heads.jsonl"
    assert [json.loads(line)["step"] for line in journal.read_text().splitlines()[1:]] == [0, 3, 6]
    with journal.open("a") as file:
        file.write('{"step": 7, "stab')  # a kill in the middle of a line

    trainer = make_trainer(folder, tmp_path / "out", **saving)
    callback = with_callback(trainer, study=tmp_path / "study", limit=20)
    trainer.train(resume_from_checkpoint=True)
    whole = measured[1].result
    assert callback.result["checkpoint"].values.tolist() == STEPS
    for name in ("importance", "taylor", "agreement", "stability"):
        np.testing.assert_array_equal(callback.result[name], whole[name], err_msg=name)
    stored = hc.open_study(tmp_path / "study")["pruning/dynamics"].to_dataset()
    assert stored.attrs["identity"] == whole.attrs["identity"], "the same models, by their fingerprints"

    # Once more from the last checkpoint: nothing new; with other options it is refused before any step.
    again = make_trainer(folder, tmp_path / "out", **saving)
    with_callback(again, study=tmp_path / "study", limit=20)
    again.train(resume_from_checkpoint=True)
    other = make_trainer(folder, tmp_path / "out", **saving)
    with_callback(other, limit=16)
    with pytest.raises(StudyProblem, match="of a training with other options.*limit: 20 -> 16"):
        other.train(resume_from_checkpoint=True)
    shutil.rmtree(tmp_path / "study")
    journal.unlink()
    late = make_trainer(folder, tmp_path / "out", **saving)
    late_callback = with_callback(late, limit=20)
    with pytest.warns(HeadcountWarning, match="no measurements of the steps before 12"):
        late.train(resume_from_checkpoint=True)
    assert late_callback.result["checkpoint"].values.tolist() == [12]


class Stops(TrainerCallback):  # type: ignore[misc]
    """Ends the training at a step, after it or after the evaluation that follows it."""

    def __init__(self, step: int, evaluated: bool) -> None:
        self.step, self.evaluated = step, evaluated

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop |= not self.evaluated and state.global_step >= self.step

    def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop |= self.evaluated and state.global_step >= self.step


class Weights(TrainerCallback):  # type: ignore[misc]
    """Keeps the weights of the last step."""

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        self.last = {key: tensor.clone() for key, tensor in model.state_dict().items()}


# The loss falls, so the first evaluation is the best one and the last weights are not kept.
BEST = {"load_best_model_at_end": True, "metric_for_best_model": "eval_loss", "greater_is_better": True}


@pytest.mark.parametrize(
    ("step", "options"),
    [
        (5, {}),
        (4, {"eval_strategy": "steps", "eval_steps": 2}),
        (8, {"eval_strategy": "epoch"}),
        (4, {"eval_strategy": "steps", "eval_steps": 2, "save_strategy": "steps", "save_steps": 2} | BEST),
        (8, {"eval_strategy": "epoch", "save_strategy": "epoch"} | BEST),
    ],
    ids=["step", "evaluation", "epoch", "best at a step", "best at an epoch"],
)
@pytest.mark.parametrize("before", [True, False])
def test_the_last_step_of_a_training_that_stops_early(
    folder: Path, tmp_path: Path, step: int, options: dict[str, Any], before: bool
) -> None:
    """It is measured, whoever stops it, and with the weights of that step, even if others are loaded afterwards."""
    trainer = make_trainer(folder, tmp_path, **options)
    stops, seen = Stops(step, bool(options)), Weights()
    if before:
        trainer.add_callback(stops)
    callback = with_callback(trainer, limit=8)
    if not before:
        trainer.add_callback(stops)
    trainer.add_callback(seen)
    trainer.train()
    assert trainer.state.global_step == step
    assert callback.result["checkpoint"].values.tolist() == [*range(0, step, 3), step]
    assert toy.same(seen.last, trainer.model.state_dict()) == ("load_best_model_at_end" not in options)
    trainer.model.load_state_dict(seen.last)
    alone = hc.importance(trainer.model, trainer.processing_class, DATA, task="mrpc", limit=8)
    np.testing.assert_allclose(callback.result["importance"][-1], alone["michel_normed"], rtol=2e-4, atol=1e-6)


def test_a_last_step_whose_weights_are_gone(folder: Path, tmp_path: Path) -> None:
    """Nobody knew that the training stops before the best checkpoint was loaded."""
    options = {"eval_strategy": "epoch", "save_strategy": "best"} | BEST
    trainer = make_trainer(folder, tmp_path, **options)
    callback = with_callback(trainer, limit=8)
    trainer.add_callback(Stops(8, evaluated=True))
    with pytest.warns(HeadcountWarning, match="no importance at step 8, where the training stopped: .* best"):
        trainer.train()
    trainer.evaluate()
    assert callback.result["checkpoint"].values.tolist() == [0, 3, 6]


def test_a_measurement_that_fails_does_not_end_the_training(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, errors = TrainingImportance.row, {3: NotFinite("the loss is NaN"), 9: torch.OutOfMemoryError("full")}

    def failing(measurement: Any, scene: Any, step: int) -> Any:
        if step in errors:
            raise errors[step]
        return real(measurement, scene, step)

    monkeypatch.setattr(TrainingImportance, "row", failing)
    trainer = make_trainer(folder, tmp_path)
    callback = with_callback(trainer)
    with pytest.warns(HeadcountWarning) as warned:
        trainer.train()
    messages = [str(warning.message) for warning in warned]
    assert any("no importance at step 3: the loss is NaN" in message for message in messages)
    assert any("out of memory at step 9: no importance from here on" in message for message in messages)
    assert trainer.state.global_step == 12
    assert callback.result["checkpoint"].values.tolist() == [0, 6]


def test_a_study_that_cannot_be_written_does_not_end_the_training(folder: Path, tmp_path: Path) -> None:
    trainer = make_trainer(folder, tmp_path / "out")
    callback = with_callback(trainer, study=tmp_path / "study")

    class Blocked(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 12:
                (tmp_path / "study").write_text("a file")

    trainer.add_callback(Blocked())
    with pytest.warns(HeadcountWarning, match="is not in .*study.*is a file.*see callback.result"):
        trainer.train()
    assert callback.result.sizes["checkpoint"] == 5


def test_the_default_pace(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pace, "is_due", lambda pace, step: step in (0, 2, 12))
    trainer = make_trainer(folder, tmp_path)
    callback = with_callback(trainer, every=None)
    trainer.train()
    assert callback.result["checkpoint"].values.tolist() == [0, 2, 12]


def test_a_language_model(folder: Path, tmp_path: Path) -> None:
    tokenizer = tf.AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(1)
    model = tf.LlamaForCausalLM(
        tf.LlamaConfig(
            vocab_size=60, hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, pad_token_id=0,
        )
    )  # fmt: skip
    texts = toy.pairs(24)[["sentence1"]].rename(columns={"sentence1": "text"})
    rows = [{"input_ids": (ids := tokenizer(text)["input_ids"]), "labels": ids} for text in texts["text"]]
    arguments = tf.TrainingArguments(
        str(tmp_path), per_device_train_batch_size=1, max_steps=4, report_to=[], use_cpu=True, disable_tqdm=True
    )
    trainer = tf.Trainer(model, arguments, train_dataset=rows)
    trainer.remove_callback(tf.PrinterCallback)
    callback = hc.HeadCallback(trainer, texts, task="causal-lm", tokenizer=tokenizer, limit=8)
    trainer.add_callback(callback)
    trainer.train()
    alone = hc.importance(model, tokenizer, texts, task="causal-lm", limit=8)
    np.testing.assert_allclose(callback.result["importance"][-1], alone["michel_normed"], rtol=2e-4)
    assert callback.result.sizes["head"] == 4


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"every": 0}, "got every=0; expected at least 1"),
        ({"limit": 0}, "got limit=0"),
        ({"estimator": "best"}, "got estimator='best'; expected one of michel"),
        ({"log": "all"}, "got log='all'; expected one of summary, layers, heads, nothing"),
        ({"what": "units"}, "got what='units'; expected one of importance, gates"),
        ({"price": 0.01}, 'got price=, which has no effect here: importance .*; give what="gates" too'),
        ({"max_steps": 5}, "got max_steps=, which has no effect here"),
        ({"what": "gates", "estimator": "fisher"}, "got estimator=, which has no effect here: gates are learned"),
        ({"what": "gates", "price": -1.0}, "got price=-1.0; expected a price of 0 or more"),
        ({"what": "gates", "price": float("nan")}, "got price=nan; expected a price of 0 or more"),
        ({"what": "gates", "max_steps": 0}, "got max_steps=0; expected at least 1"),
    ],
)
def test_options_that_are_refused(folder: Path, tmp_path: Path, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption, match=expected):
        hc.HeadCallback(make_trainer(folder, tmp_path), DATA, task="mrpc", **options)


def test_what_else_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="got a DataFrame for the trainer; expected transformers' Trainer"):
        hc.HeadCallback(DATA, "mrpc")  # type: ignore[arg-type]
    trainer = make_trainer(folder, tmp_path)
    trainer.processing_class = None
    with pytest.raises(InvalidOption, match="no processing_class; give it one, or give tokenizer="):
        hc.HeadCallback(trainer, DATA, task="mrpc")
    trainer = make_trainer(folder, tmp_path)
    callback = hc.HeadCallback(trainer, DATA, task="mrpc")
    with pytest.raises(InvalidOption, match="nothing was measured yet; train first"):
        _ = callback.result
    trainer.is_fsdp_enabled = True
    with pytest.raises(InvalidOption, match="FSDP or DeepSpeed"):
        hc.HeadCallback(trainer, DATA, task="mrpc")


def test_the_result_is_a_dataset_in_memory_too(measured: tuple[tf.Trainer, HeadCallback, Path]) -> None:
    result = measured[1].result
    assert isinstance(result, xr.Dataset)
    assert result is measured[1].result, "computed once"
    frame = result["importance"].to_dataframe().reset_index()
    assert set(frame["checkpoint"]) == set(STEPS)
