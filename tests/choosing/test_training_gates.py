"""Do gates along a training find the heads that are needed at each step, and leave the training as it is?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as tf
from transformers.trainer_callback import TrainerCallback

import headcount as hc
from headcount.choosing.gates import SCHEMAS
from headcount.choosing.hard_concrete import open_probability, steady_gate
from headcount.choosing.head_callback import HeadCallback
from headcount.choosing.training_gates import PRICE, RATE, draw_seed, halves, kept, spread
from headcount.core.heads import Layout
from headcount.core.schema import read_schema
from headcount.errors import HeadcountWarning, StudyProblem
from tests import planted
from tests.choosing.gates import NEEDED, needy
from tests.choosing.trainings import DATA, make_trainer, save_model, trained, with_callback
from tests.pruning import planted as parts
from tests.training import toy

STEPS_MEASURED = [0, 5, 10, 12]
SHORT: dict[str, Any] = {"what": "gates", "max_steps": 2, "every": 5, "limit": 12}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_model(tmp_path_factory.mktemp("gates"))


@pytest.fixture(scope="module")
def measured(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[HeadCallback, Path]:
    place = tmp_path_factory.mktemp("measured")
    trainer = make_trainer(folder, place / "out", save_strategy="steps", save_steps=5)
    callback = with_callback(trainer, study=place / "study", **SHORT)
    trainer.train()
    return callback, place


def watch(model: Any, place: Path, *others: TrainerCallback, **options: Any) -> HeadCallback:
    """Gates during four steps that change nothing, of a model whose heads have known parts."""
    tokenizer = planted.tokenizer(place / "words")
    rows = [{**tokenizer(row.sentence), "labels": int(row.label)} for row in parts.texts().itertuples()]
    arguments = tf.TrainingArguments(
        str(place / "out"), max_steps=4, learning_rate=0.0, per_device_train_batch_size=16, report_to=[], use_cpu=True,
        disable_tqdm=True, save_strategy="no",
    )  # fmt: skip
    trainer = tf.Trainer(model, arguments, train_dataset=rows, processing_class=tokenizer, callbacks=[*others])
    trainer.remove_callback(tf.PrinterCallback)
    callback = hc.HeadCallback(trainer, parts.texts(), task="sst2", what="gates", every=2, **options)
    trainer.add_callback(callback)
    trainer.train()
    return callback


def test_gates_tell_a_needed_head_from_those_that_do_nothing(tmp_path: Path) -> None:
    found = watch(needy(), tmp_path).result.sel(stack="encoder")
    for step in (0, 2, 4):
        gate = found["gate"].sel(checkpoint=step).values
        idle = np.delete(gate.ravel(), np.ravel_multi_index(NEEDED, gate.shape))
        assert gate[NEEDED] > 0.6
        assert idle.max() < 0.1
        assert int(found["kept"].sel(checkpoint=step)) == 1 + (idle > 0).sum()


class Moves(TrainerCallback):  # type: ignore[misc]
    """After the first step, another head does what the needed one did."""

    def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
        if state.global_step == 1:
            model.load_state_dict(parts.classifier({"L0H3": parts.NEEDED["L0H1"]}, parts.STEEP, loud=3).state_dict())


def test_gates_follow_the_model_at_once(tmp_path: Path) -> None:
    """A head that was given up is found when it becomes needed: every measurement starts anew."""
    gate = watch(needy(), tmp_path, Moves()).result["gate"].sel(stack="encoder", layer=0)
    for step, needed in ((0, 1), (2, 3), (4, 3)):
        values = gate.sel(checkpoint=step).values
        assert values[needed] > 0.6
        assert np.delete(values, needed).max() < 0.1


def test_they_are_the_mean_of_what_learn_gates_gives_for_each_half(
    folder: Path, measured: tuple[HeadCallback, Path]
) -> None:
    callback, _ = measured
    model, tokenizer = (kind.from_pretrained(folder) for kind in (tf.BertForSequenceClassification, tf.AutoTokenizer))
    ids = callback._scene.job.examples.ids
    learned = []
    for number, among in enumerate(halves(12)):
        half = DATA.iloc[ids[among]]
        options: dict[str, Any] = {"max_steps": 2, "learning_rate": RATE, "per_device_train_batch_size": 6}
        found = hc.learn_gates(
            model, tokenizer, half, task="mrpc", price=PRICE, seed=draw_seed(0, 0, number), **options
        )
        learned.append(found["log_a"].values[0])
    first = callback.result.sel(checkpoint=0)
    np.testing.assert_allclose(first["log_a"], (learned[0] + learned[1]) / 2, rtol=1e-5)
    assert not np.array_equal(learned[0], learned[1])


@pytest.mark.parametrize(
    "options",
    [{}, {"gradient_accumulation_steps": 2, "num_train_epochs": 6}, {"gradient_checkpointing": True}, {"bf16": True}],
    ids=["plain", "accumulation", "checkpointing", "bfloat16"],
)
def test_the_training_is_not_disturbed(folder: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    plain, before = trained(make_trainer(folder, tmp_path / "plain", **options))
    trainer = make_trainer(folder, tmp_path / "measured", **options)
    callback = with_callback(trainer, **SHORT)
    watched, after = trained(trainer)
    assert toy.same(plain, watched), "bit for bit"
    assert before == after, "random generators, modes and gradients before each step"
    assert callback.result["checkpoint"].values.tolist() == STEPS_MEASURED
    changed = callback.result["log_a"][-1] - callback.result["log_a"][0]
    assert float(np.abs(changed).max()) > 1e-3, "the model that is being trained was measured"


def test_the_study(measured: tuple[HeadCallback, Path]) -> None:
    callback, place = measured
    stored = hc.open_study(place / "study")["pruning/dynamics"].to_dataset()
    assert stored["checkpoint"].values.tolist() == STEPS_MEASURED
    log_a = torch.tensor(stored["log_a"].values)
    np.testing.assert_allclose(stored["gate"], steady_gate(log_a), atol=1e-6)
    np.testing.assert_allclose(stored["open"], open_probability(log_a), atol=1e-6)
    for name in ("log_a", "gate", "open", "kept", "agreement", "stability"):
        np.testing.assert_array_equal(stored[name], callback.result[name])
    for name in ("log_a", "gate", "open"):
        assert stored[name].dims == ("checkpoint", "stack", "layer", "head")
        said, schema = read_schema(stored[name]), SCHEMAS[name]
        assert said is not None
        assert (said.title, said.unit, said.range, said.direction) == (
            schema.title,
            schema.unit,
            schema.range,
            schema.direction,
        )
    expected = {"task": "mrpc", "what": "gates", "price": PRICE, "max_steps": 2, "learning_rate": RATE}
    assert stored.attrs["identity"] | expected == stored.attrs["identity"]
    assert stored.attrs["complete"]


def test_table_page_and_figures_of_the_study(measured: tuple[HeadCallback, Path]) -> None:
    callback, place = measured
    study, trainer = place / "study", callback.trainer
    hc.importance(trainer.model, trainer.processing_class, DATA, task="mrpc", limit=20, out=study)
    table = hc.table(study, group="pruning/dynamics").dropna(subset="head")
    assert len(table) == len(STEPS_MEASURED) * 4
    page = Path(hc.report(study, place / "report.html")).read_text(encoding="utf-8")
    assert "the order of heads by learned gates" in page.lower()
    assert "two halves of the 12 examples" in page
    assert hc.figure(study, "importance").axes


class Killed(TrainerCallback):  # type: ignore[misc]
    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.global_step == 8:
            raise KeyboardInterrupt


def test_a_resumed_training_has_what_an_uninterrupted_one_has(
    folder: Path, tmp_path: Path, measured: tuple[HeadCallback, Path]
) -> None:
    saving = {"save_strategy": "steps", "save_steps": 5}
    trainer = make_trainer(folder, tmp_path / "out", **saving)
    with_callback(trainer, **SHORT)
    trainer.add_callback(Killed())
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    lines = (tmp_path / "out" / "heads.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines[1:]] == [0, 5]

    trainer = make_trainer(folder, tmp_path / "out", **saving)
    callback = with_callback(trainer, **SHORT)
    trainer.train(resume_from_checkpoint=True)
    whole = measured[0].result
    for name in ("checkpoint", "log_a", "gate", "kept", "agreement", "stability"):
        np.testing.assert_array_equal(callback.result[name], whole[name], err_msg=name)
    assert callback.result.attrs["identity"] == whole.attrs["identity"]

    for options, expected in (({"price": 0.5}, "price: 0.003 -> 0.5"), ({"what": "importance"}, "what")):
        other = make_trainer(folder, tmp_path / "out", **saving)
        given = {key: value for key, value in SHORT.items() if options.get("what") is None or key != "max_steps"}
        with_callback(other, **given | options)
        with pytest.raises(StudyProblem, match=f"of a training with other options.*{expected}"):
            other.train(resume_from_checkpoint=True)


def test_what_the_trackers_get(folder: Path, tmp_path: Path) -> None:
    trainer = make_trainer(folder, tmp_path)
    callback = with_callback(trainer, log="heads", name="gates", **SHORT)
    beside = with_callback(trainer, limit=8, every=6)
    trainer.train()
    entries = [entry for entry in trainer.state.log_history if "heads@gates/kept" in entry]
    assert [entry["step"] for entry in entries] == STEPS_MEASURED
    last = {key.removeprefix("heads@gates/"): value for key, value in entries[-1].items()}
    result = callback.result.sel(checkpoint=12, stack="encoder")
    layers, heads = ["L0", "L1"], ["L0H0", "L0H1", "L1H0", "L1H1"]
    named = {f"gate/{place}" for place in (*layers, *heads)}
    assert set(last) == {"epoch", "step", "stability", "kept", "agreement", "time_share", *named}
    assert last["kept"] == int(result["kept"])
    assert last["gate/L1H0"] == pytest.approx(float(result["gate"].sel(layer=1, head=0)))
    assert last["gate/L1"] == pytest.approx(float(result["gate"].sel(layer=1).mean()))
    assert beside.result["checkpoint"].values.tolist() == [0, 6, 12], "several callbacks keep apart"


def test_a_loss_that_is_not_finite_does_not_end_the_training(folder: Path, tmp_path: Path) -> None:
    class Broken(TrainerCallback):  # type: ignore[misc]
        def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if state.global_step == 9:
                with torch.no_grad():
                    model.classifier.bias.fill_(torch.nan)

    trainer = make_trainer(folder, tmp_path)
    callback = with_callback(trainer, **SHORT)
    trainer.add_callback(Broken())
    with pytest.warns(HeadcountWarning, match="no gates at step 1[02]: the loss is not finite at step 1 of learning"):
        trainer.train()
    assert trainer.state.global_step == 12
    assert callback.result["checkpoint"].values.tolist() == [0, 5]


def test_pruned_models_and_a_single_text(tmp_path: Path) -> None:
    callback = watch(hc.prune(needy(), ["L0H0", "L1"]), tmp_path, max_steps=2, limit=1, log="heads")
    found = callback.result.sel(stack="encoder", checkpoint=4)
    assert np.isnan(found["gate"].values).tolist() == [[True, False, False, False], [True] * 4]
    assert int(found["kept"]) == 3
    assert np.isnan(found["stability"])
    entry = next(entry for entry in callback.trainer.state.log_history if "heads/gate/L0" in entry)
    assert entry["heads/gate/L0"] > 0.5


def test_nothing_but_the_model_makes_two_measurements_agree(folder: Path, tmp_path: Path) -> None:
    """In so few steps the order of heads is noise, and must not look settled because the noise is the same."""
    trainer = make_trainer(folder, tmp_path, learning_rate=0.0)
    callback = with_callback(trainer, **SHORT | {"every": 1})
    trainer.train()
    assert callback.result["agreement"][:-1].values.mean() < 0.8


def test_halves_and_stacks() -> None:
    one, other = halves(7)
    assert sorted([*one, *other]) == list(range(7))
    assert halves(1)[0].tolist() == halves(1)[1].tolist() == [0]
    layout = Layout({"encoder": ((0, 1), (0, 1)), "decoder": ((0, 1, 2),)})
    log_a = spread({"encoder": np.full((2, 2), 3.0), "decoder": np.full((1, 3), -3.0)}, layout)
    assert log_a.shape == (2, 2, 3)
    assert np.isnan(log_a).sum() == 5
    assert kept(log_a) == 4
