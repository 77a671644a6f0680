"""Is a saved model absent or whole, whatever happens, and is a folder that is not right refused in one line?"""

from __future__ import annotations

import errno
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as tf
from safetensors import SafetensorError
from transformers import modeling_utils

import headcount as hc
from headcount.errors import CannotWrite, HeadcountError, InvalidOption, ModelUnavailable, OutputTaken
from headcount.models import checkpoint
from headcount.models.checkpoint import CARD, MODELLING, auto_classes, plain_numbers, record_of
from headcount.models.load import load_model
from headcount.models.output_folder import FILE_LIST
from tests.contracts.pruned import Before, clean_environment, whole
from tests.contracts.zoo import BY_NAME, inputs, run, tiny
from tests.training import toy

BATCH = inputs(BY_NAME["bert"], "right")
HEADS = ["L0H1", "L1", "L2H0-1"]


def pruned(name: str = "bert", head: str = "AutoModel") -> Any:
    return hc.prune(tiny(name, head=head), HEADS)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refused(model: Any, folder: Path | str, **options: Any) -> str:
    before = Before(model, BATCH)
    with pytest.raises((CannotWrite, InvalidOption, OutputTaken)) as caught:
        hc.save(model, None, folder, **options)
    assert "\n" not in str(caught.value)
    before.check()
    return str(caught.value)


def test_what_a_folder_holds(tmp_path: Path) -> None:
    tokenizer = toy.save_tokenizer(tmp_path)
    folder = hc.save(pruned(), tokenizer, str(tmp_path / "a" / "b" / "model"))
    assert folder == tmp_path / "a" / "b" / "model"
    assert set(files(folder)) == {
        "config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        MODELLING,
        CARD,
        FILE_LIST,
    }
    assert [one.name for one in folder.parent.iterdir()] == ["model"]
    loaded, again = hc.load(folder)
    assert torch.equal(run(loaded, BATCH), run(pruned(), BATCH))
    assert again("w1 w2")["input_ids"] == tokenizer("w1 w2")["input_ids"]


def test_a_whole_model_is_saved_as_transformers_does(tmp_path: Path) -> None:
    model = tiny("bert")
    folder = hc.save(model, None, tmp_path / "whole")
    assert set(files(folder)) == {"config.json", "model.safetensors", FILE_LIST}
    assert "headcount" not in json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert torch.equal(run(tf.BertModel.from_pretrained(folder).eval(), BATCH), run(model, BATCH))


def test_saving_changes_nothing(tmp_path: Path) -> None:
    for model in (pruned(), pruned().train(), tiny("bert")):
        before, modes = Before(model, BATCH), [module.training for module in model.modules()]
        if model.training:
            before.state["output"] = torch.empty(0)
        hc.save(model, None, tmp_path / str(id(model)))
        assert [module.training for module in model.modules()] == modes
        if not model.training:
            before.check()


def test_a_folder_that_is_not_empty(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    assert "is not empty; give another one, or overwrite it" in refused(pruned(), place)
    assert files(place) == {"mine.txt": b"mine"}
    assert "headcount did not write what is in" in refused(pruned(), place, overwrite=True)
    assert files(place) == {"mine.txt": b"mine"}
    assert [one.name for one in tmp_path.iterdir()] == ["place"]


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    hc.save(pruned(), None, tmp_path / "place")
    load_model(tmp_path / "place")
    assert [one.name for one in tmp_path.iterdir()] == ["place"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_file_is_never_overwritten(tmp_path: Path, overwrite: bool) -> None:
    (tmp_path / "file").write_text("mine")
    assert "is a file; expected a folder" in refused(pruned(), tmp_path / "file", overwrite=overwrite)
    assert "cannot write" in refused(pruned(), tmp_path / "file" / "below", overwrite=overwrite)
    assert files(tmp_path) == {"file": b"mine"}


def test_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    try:
        hc.save(pruned(), None, ".")
    except (CannotWrite, InvalidOption, OutputTaken):
        assert not list(tmp_path.iterdir())
    else:
        load_model(tmp_path)


def test_over_the_folder_that_it_came_from(tmp_path: Path) -> None:
    place = hc.save(tiny("bert"), None, tmp_path / "place")
    model = load_model(place)
    hc.prune(model, HEADS)
    hc.save(model, None, place, overwrite=True)
    assert torch.equal(run(load_model(place), BATCH), run(model, BATCH))
    assert torch.equal(run(model, BATCH), run(pruned(), BATCH))


def test_rubbish_of_a_run_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / ".place-new").mkdir()
    (tmp_path / ".place-new" / "rubbish").write_text("half")
    place = hc.save(pruned(), None, tmp_path / "place")
    assert "rubbish" not in files(place)
    assert [one.name for one in tmp_path.iterdir()] == ["place"]


def test_no_room_is_said_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10_000))
    monkeypatch.setattr(modeling_utils, "safe_save_file", lambda *_, **__: pytest.fail("it was written"))
    found = refused(pruned(), tmp_path / "place")
    assert "no room on the disk" in found
    assert "MB" in found
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that nobody can write")
def test_a_folder_that_cannot_be_written_is_not_a_full_disk() -> None:
    """Its free space is nought as well."""
    found = refused(pruned(), "/proc/smaller")
    assert "cannot write /proc/smaller" in found
    assert "room" not in found


NO_ROOM = OSError(errno.ENOSPC, "No space left on device")
RUST = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
FAULTS: dict[str, tuple[Any, str, BaseException, int]] = {  # whose function, its name, the error, calls before it
    "weights": (modeling_utils, "safe_save_file", RUST, 0),
    "config": (tf.PreTrainedConfig, "to_json_file", NO_ROOM, 0),
    "tokenizer": (tf.PreTrainedTokenizerBase, "save_pretrained", NO_ROOM, 0),
    "code": (Path, "write_text", NO_ROOM, 0),
    "config again": (Path, "write_text", NO_ROOM, 1),
    "card": (Path, "write_text", NO_ROOM, 2),
    "Ctrl-C": (checkpoint, "_card", KeyboardInterrupt(), 0),
    "a defect": (checkpoint, "_card", RuntimeError("a defect"), 0),
    "the move": (Path, "replace", NO_ROOM, 0),
}


def broken(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    owner, name, error, before = FAULTS[fault]
    real: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def fail(*args: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > before:
            raise error
        return real(*args, **options)

    monkeypatch.setattr(owner, name, fail)


@pytest.mark.parametrize("there", [False, True], ids=["new", "over another"])
@pytest.mark.parametrize("fault", FAULTS)
def test_no_room_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, there: bool) -> None:
    """The folder is absent, or what it was; nothing half written is left beside it, and the model is as it was."""
    tokenizer, model = toy.save_tokenizer(tmp_path), pruned()
    place = tmp_path / "places" / "place"
    before, earlier = Before(model, BATCH), {}
    if there:
        hc.save(tiny("bert"), None, place)
        earlier = files(place)
    with monkeypatch.context() as patch:
        broken(patch, fault)
        kind = type(FAULTS[fault][2])
        kind = kind if kind in (KeyboardInterrupt, RuntimeError) else CannotWrite
        with pytest.raises(kind) as caught:
            hc.save(model, tokenizer, place, overwrite=there)
    if kind is CannotWrite:
        assert "\n" not in str(caught.value)
        assert "No space left on device" in str(caught.value)
        assert str(place) in str(caught.value)
    assert [one.name for one in place.parent.iterdir()] == (["place"] if there else [])
    assert not there or files(place) == earlier
    before.check()
    assert torch.equal(run(load_model(hc.save(model, tokenizer, place, overwrite=there)), BATCH), run(model, BATCH))


def test_the_old_folder_is_there_when_the_new_one_cannot_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = hc.save(tiny("bert"), None, tmp_path / "place")
    earlier, move = files(place), Path.replace

    def fail(self: Path, target: Path) -> Path:
        if self.name == ".place-new":
            raise OSError(errno.EIO, "Input/output error")
        return move(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(CannotWrite, match="Input/output error"):
        hc.save(pruned(), None, place, overwrite=True)
    assert place.is_dir()
    assert files(place) == earlier


KILLED = """
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import torch
import transformers as tf

import headcount as hc

tf.logging.set_verbosity_error()
root = Path(sys.argv[1])
config = tf.BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=8)
torch.manual_seed(0)
model = tf.BertModel(config).eval()
hc.save(model, None, root / "old")
hc.prune(model, "L0H1")
hc.save(model, None, root / "new")
WATCHED = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree", "os.listdir", "os.scandir",
           "os.link"}


def content(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "mine.txt"}


whole = {name: content(root / name) for name in ("old", "new")}
place, report = root / "work" / "place", {}
for there in (False, True):
    found, left, moment, status = [], set(), 0, 1
    while status:
        shutil.rmtree(root / "work", ignore_errors=True)
        if there:
            shutil.copytree(root / "old", place)
            (place / "mine.txt").write_text("mine")
        child = os.fork()
        if child == 0:
            seen = 0

            def watch(event, args):
                global seen
                if event in WATCHED:
                    if seen == moment:
                        os.kill(os.getpid(), signal.SIGKILL)
                    seen += 1

            sys.addaudithook(watch)
            hc.save(model, None, place, overwrite=there)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert not status or os.WTERMSIG(status) == signal.SIGKILL, status
        state = next((name for name, one in whole.items() if place.exists() and one == content(place)), "broken")
        found.append(state if place.exists() else "absent")
        kept = [one for one in (place, place.with_name(".place-old")) if (one / "mine.txt").is_file()]
        if there and not kept:
            found.append("lost what was not its own")
        hc.save(model, None, place, overwrite=True)  # the same call again, with no one to kill it
        if content(place) != whole["new"] or there != (place / "mine.txt").is_file():
            found.append("not mended")
        left |= {path.name for path in place.parent.iterdir()} - {"place"}
        moment += 1
    report["there" if there else "new"] = {"found": found, "left": sorted(left)}
print(json.dumps(report))
"""


@pytest.fixture(scope="module")
def kills(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What is found after a kill before each call that touches the disk, for a new place and over a folder."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path_factory.mktemp("killed"))],
        capture_output=True,
        text=True,
        check=False,
        env=clean_environment(),
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    report: dict[str, dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return report


def test_killed_at_any_moment(kills: dict[str, dict[str, Any]]) -> None:
    for there, report in kills.items():
        assert len(report["found"]) > 10, "hardly a moment was tried"
        assert report["found"][0] == ("old" if there == "there" else "absent")
        assert report["found"][-1] == "new"
        assert set(report["found"]) <= ({"old", "absent", "new"} if there == "there" else {"absent", "new"})
    assert kills["new"]["left"] == []


def test_what_a_kill_left_is_gone_after_the_next_call(kills: dict[str, dict[str, Any]]) -> None:
    assert kills["there"]["left"] == []


Change = Callable[[dict[str, Any]], Any]


def edited(tmp_path: Path, change: Change, name: str = "bert") -> str:
    """What is said of a folder whose record was changed."""
    folder = hc.save(hc.prune(whole(name), HEADS), None, tmp_path / "place")
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    change(config)
    path.write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelUnavailable) as caught:
        load_model(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def kept(value: Any) -> Change:
    return lambda config: config["headcount"]["stacks"][0].update(kept=value)


ODD_RECORDS: dict[str, Change] = {
    "more heads than weights": kept([[0, 1, 2, 3], [], [2, 3]]),
    "fewer heads than weights": kept([[0, 2], [], [2, 3]]),
    "heads in a layer that has none": kept([[0, 2, 3], [1], [2, 3]]),
    "fewer layers": kept([[0, 2, 3], []]),
    "more layers": kept([[0, 2, 3], [], [2, 3], [0]]),
    "a head that never was": kept([[0, 2, 9], [], [2, 3]]),
    "no heads at all": kept([]),
    "words": kept([[0, "2", 3], [], [2, 3]]),
    "no kept": lambda config: config["headcount"]["stacks"][0].pop("kept"),
    "no path of layers": lambda config: config["headcount"]["stacks"][0].update(layer="no.such.layers.*"),
    "gone": lambda config: config.pop("headcount"),
}


@pytest.mark.parametrize("odd", ODD_RECORDS)
def test_weights_and_record_that_disagree(tmp_path: Path, odd: str) -> None:
    assert "cannot load" in edited(tmp_path, ODD_RECORDS[odd])


@pytest.mark.parametrize("odd", ["more heads than weights", "fewer layers", "a head that never was", "no kept"])
def test_it_says_that_the_record_is_wrong(tmp_path: Path, odd: str) -> None:
    found = edited(tmp_path, ODD_RECORDS[odd])
    assert "record" in found
    assert "heads" in found


@pytest.mark.parametrize(
    "change",
    [
        kept(5),
        lambda config: config["headcount"].update(stacks=7),
        lambda config: config["headcount"].update(stacks=["encoder"]),
    ],
    ids=["a number of layers", "no stacks", "names of stacks"],
)
def test_a_damaged_record(tmp_path: Path, change: Change) -> None:
    edited(tmp_path, change)


@pytest.mark.parametrize(
    "value", [{"format": 3, "stacks": []}, {"format": "1", "stacks": []}, {"format": 1}, "yes", [1], 7], ids=str
)
def test_a_record_of_another_format(tmp_path: Path, value: Any) -> None:
    found = edited(tmp_path, lambda config: config.update(headcount=value))
    assert "newer version" in found
    assert "headcount" in found


def test_a_record_of_another_format_says_where(tmp_path: Path) -> None:
    assert str(tmp_path / "place") in edited(tmp_path, lambda config: config["headcount"].update(format=3))


def test_transformers_alone_does_not_load_it_in_silence(tmp_path: Path) -> None:
    """Without the folder's code the shapes do not fit: an error, never a model with new weights."""
    folder = hc.save(pruned(), None, tmp_path / "place")
    with pytest.raises(RuntimeError, match="mismatched"):
        tf.BertModel.from_pretrained(folder)


@pytest.mark.parametrize(
    ("name", "kind", "auto"),
    [
        ("bert", "BertForSequenceClassification", "AutoModelForSequenceClassification"),
        ("bert", "BertForMaskedLM", "AutoModelForMaskedLM"),
        ("bert", "BertModel", "AutoModel"),
        ("gpt2", "GPT2LMHeadModel", "AutoModelForCausalLM"),
        ("t5", "T5ForConditionalGeneration", "AutoModelForSeq2SeqLM"),
        ("vit", "ViTForImageClassification", "AutoModelForImageClassification"),
        ("electra", "ElectraForPreTraining", "AutoModelForPreTraining"),
    ],
)
def test_the_auto_class_of_a_model_comes_first(name: str, kind: str, auto: str) -> None:
    found = auto_classes(getattr(tf, kind), BY_NAME[name].make_config())
    assert next(iter(found.items())) == (auto, getattr(tf, kind))
    assert found["AutoModel"] is getattr(tf, type(tiny(name)).__name__)


def test_a_class_that_no_auto_class_gives(tmp_path: Path) -> None:
    """The card must not name one that makes another model of it."""
    model = tf.T5EncoderModel(BY_NAME["t5"].make_config()).eval()
    folder = hc.save(hc.prune(model, ["L0H1"]), None, tmp_path / "place")
    assert type(load_model(folder)) is tf.T5EncoderModel
    code, card = ((folder / file).read_text(encoding="utf-8") for file in (MODELLING, CARD))
    assert "class T5EncoderModel(" in code or "headcount.load" in card.splitlines()[2]


def test_the_card(tmp_path: Path) -> None:
    card = (hc.save(pruned("bert", "AutoModelForSequenceClassification"), None, tmp_path / "one") / CARD).read_text(
        encoding="utf-8"
    )
    assert card.startswith("# BertForSequenceClassification with 5 of 12 attention heads\n")
    assert "`transformers.AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True)`" in card
    assert "L0H1, L1H0, L1H1, L1H2, L1H3, L2H0, L2H1" in card
    model = hc.prune(tiny("bart"), ["cross.L2H1", "encoder.L0H0"])
    card = (hc.save(model, None, tmp_path / "other") / CARD).read_text(encoding="utf-8")
    assert "encoder.L0H0, cross.L2H1" in card
    assert "34 of 36 attention heads" in card


def test_the_code_compiles_and_is_the_same_every_time(tmp_path: Path) -> None:
    folders = [hc.save(pruned(), None, tmp_path / name) for name in ("one", "other")]
    assert files(folders[0]) == files(folders[1])
    code = (folders[0] / MODELLING).read_text(encoding="utf-8")
    compile(code, MODELLING, "exec")
    assert "headcount.models" not in code
    assert "from headcount" not in code


def numbers(name: str, kept: list[list[int]], **options: Any) -> dict[str, int] | None:
    case = BY_NAME[name]
    config = getattr(tf, case.config)(**(case.options | options))
    return plain_numbers({"format": 1, "stacks": [{"stack": "decoder", "heads": 4, "kept": kept}]}, config)


@pytest.mark.parametrize("name", ["llama", "mistral", "qwen2"])
def test_what_a_plain_config_can_say(name: str) -> None:
    """As many readers of as many groups in every layer."""
    assert numbers(name, [[0, 2], [1, 3], [1, 2]]) == {
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "head_dim": 8,
    }
    assert numbers(name, [[0, 1], [2, 3], [2, 3]]) == {
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 8,
    }
    for other in (
        [[0, 1], [0, 2], [1, 3]],
        [[0, 1, 2], [0, 1, 2], [0, 1, 2]],
        [[0], [0, 2], [0, 2]],
        [[], [0, 2], [0, 2]],
    ):
        assert numbers(name, other) is None


def test_what_a_plain_config_cannot_say() -> None:
    assert numbers("bert", [[0, 1]] * 3) is None
    assert numbers("gpt2", [[0, 1]] * 3) is None
    assert numbers("gpt_neox", [[0, 1]] * 3) is None


def test_the_record_of_a_config() -> None:
    config = BY_NAME["bert"].make_config()
    assert record_of(config, tf.BertModel) is None
    config.pruned_heads = {}
    assert record_of(config, tf.BertModel) is None
    config.pruned_heads = {"1": [0, 3]}
    record = record_of(config, tf.BertModel)
    assert record is not None
    assert [one["kept"] for one in record["stacks"]] == [[[0, 1, 2, 3], [1, 2], [0, 1, 2, 3]]]
    config.headcount = pruned().config.headcount
    assert record_of(config, tf.BertModel) == config.headcount, "what was written last"


@pytest.mark.parametrize("gone", [{"9": [0]}, {"0": [7]}], ids=["layer", "head"])
def test_pruned_heads_of_transformers_4_that_never_were(gone: dict[str, list[int]]) -> None:
    config = BY_NAME["bert"].make_config()
    config.pruned_heads = gone
    try:
        found: Any = record_of(config, tf.BertModel)
    except (HeadcountError, ValueError):
        found = None
    assert found is None, "no silence"
