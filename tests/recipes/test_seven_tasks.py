"""Do the recipes of the seven tasks run from sentences to tables about the heads of fine-tuned models?"""

from __future__ import annotations

import contextlib
import io
import json
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
import torch
import transformers as tf
from recipes.seven_tasks import study, train

from headcount.measures.tagging import UPOS, tag_texts

WHO = ["baker", "sailor", "aunt", "nurse"]
DOES = ["sees", "paints", "sells", "mends"]
WHAT = ["boat", "lamp", "basket", "mill"]
MORE = ["the", "a", "not", "she", "it", "who", "good", "bad", "good", "old", ".", "?", ","]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TASKS = {
    "qqp": ("question1", "question2"), "qnli": ("question", "sentence"), "mnli": ("premise", "hypothesis"),
    "stsb": ("sentence1", "sentence2"), "mrpc": ("sentence1", "sentence2"), "rte": ("sentence1", "sentence2"),
    "sst2": ("sentence",),
}  # fmt: skip
HEADS, LAYERS = 2, 2


def sentences() -> list[str]:
    return [f"the {a} {b} a {c}." for a, b, c in product(WHO, DOES, WHAT)]


def table(task: str, start: int, count: int) -> pd.DataFrame:
    """Sentences and labels that have nothing to do with them: what is learnt does not matter here."""
    told = sentences()
    rows = range(start, start + count)
    texts = {
        name: [told[(row * (1 + 4 * place)) % len(told)] for row in rows] for place, name in enumerate(TASKS[task])
    }
    values = [row % 5 / 1.0 for row in rows] if task == "stsb" else [row % (3 if task == "mnli" else 2) for row in rows]
    return pd.DataFrame({**texts, "label": values})


def treebank(start: int, count: int) -> pd.DataFrame:
    """`the baker sees a boat .` as a tree; the pronoun is a subject in every other sentence."""
    told = [text.removesuffix(".").split() for text in sentences()[start : start + count]]
    return pd.DataFrame({
        "tokens": [["she", *words[2:], "."] if row % 2 else [*words, "."] for row, words in enumerate(told)],
        "upos": [(["PRON"] if row % 2 else ["DET", "NOUN"]) + ["VERB", "DET", "NOUN", "PUNCT"] for row in range(count)],
        "deprels": [(["nsubj"] if row % 2 else ["det", "nsubj:pass"]) + ["root", "det", "obj", "punct"]
                    for row in range(count)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a folder for each task, and a treebank."""
    path = tmp_path_factory.mktemp("seven")
    for task in TASKS:
        (path / "data" / task).mkdir(parents=True)
        table(task, 0, 20).to_parquet(path / "data" / task / "train.parquet")
        other = "validation_matched" if task == "mnli" else "validation"
        table(task, 20, 10).to_parquet(path / "data" / task / f"{other}.parquet")
    (path / "treebank").mkdir()
    treebank(0, 40).to_parquet(path / "treebank" / "train.parquet")
    treebank(40, 8).to_parquet(path / "treebank" / "validation.parquet")
    words = list(dict.fromkeys([*SPECIAL, *WHO, *DOES, *WHAT, *MORE]))
    torch.manual_seed(0)
    config = tf.BertConfig(vocab_size=len(words), hidden_size=16, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                           intermediate_size=16, max_position_embeddings=64)  # fmt: skip
    tf.BertForMaskedLM(config).save_pretrained(path / "model")
    (path / "model" / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tf.BertTokenizer(vocab=str(path / "model" / "vocab.txt"), model_max_length=64).save_pretrained(path / "model")
    return path


@pytest.fixture(scope="module")
def trained(place: Path) -> Path:
    """What `python -m recipes.seven_tasks.train` writes; its processes are real."""
    options = [place / "model", "--data", place / "data", "--treebank", place / "treebank", "--out", place / "trained",
               "--seeds", 1, "--epochs", 1, "--precision", "float32", "--jobs", 1, 1, "--device", "cpu",
               "--rate", "2e-2"]  # fmt: skip
    train.main([str(one) for one in options])
    return place / "trained"


@pytest.fixture(scope="module")
def studied(place: Path, trained: Path) -> Path:
    """What `python -m recipes.seven_tasks.study` writes of two tasks, one of pairs and one of single sentences."""
    options = [place / "model", "--data", place / "data", "--trained", trained, "--out", place / "study", "--tasks",
               "stsb", "sst2", "mnli", "--limit", 6, "--texts", 5, "--device", "cpu"]  # fmt: skip
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        study.main([str(one) for one in options])
    (place / "study" / "printed.log").write_text(printed.getvalue(), encoding="utf-8")
    return place / "study"


def test_every_task_is_trained_from_every_start(trained: Path) -> None:
    tables = [pd.read_csv(trained / "qqp-qnli-mnli-stsb-mrpc-rte.csv"), pd.read_csv(trained / "sst2.csv")]
    runs = pd.concat(tables)
    assert sorted(zip(runs["task"], runs["init"], strict=True)) == sorted(product(TASKS, train.INITS))
    for row in runs.itertuples():
        assert (trained / "runs" / row.task / row.init / "seed-0" / "result.json").is_file()
    assert set(runs.query("init == 'none'")["steps"]) == {0}
    assert set(runs.query("init == 'pretrained'")["steps"]) == {1}


def test_the_tagger_tags(trained: Path) -> None:
    folder = trained / "tagger" / "token-classification" / "pretrained" / "seed-0" / "model"
    names = json.loads((folder / "config.json").read_text(encoding="utf-8"))["id2label"].values()
    assert set(names) == {"DET", "NOUN:nsubj", "NOUN:obj", "PRON:nsubj", "PUNCT", "VERB"}
    (found,) = tag_texts(["she sees a boat."], folder)
    assert found.words == ("she", "sees", "a", "boat", ".")
    assert set(found.upos) <= set(UPOS)


def test_silver_tags(tmp_path: Path) -> None:
    """Roles of subjects and objects without their subtypes; a tag that training has not is a part of speech alone."""
    folder = tmp_path / "treebank"
    folder.mkdir()
    for split, relation in (("train", "nsubj:pass"), ("validation", "csubj")):
        pd.DataFrame({"tokens": [["boats", "sink"]], "upos": [["NOUN", "VERB"]], "deprels": [[relation, "root"]],
                      "heads": [[2, 0]]}).to_parquet(folder / f"{split}.parquet")  # fmt: skip
    pd.concat([pd.read_parquet(folder / "train.parquet").assign(deprels=[["nmod", "root"]]),
               pd.read_parquet(folder / "train.parquet")]).to_parquet(folder / "train.parquet")  # fmt: skip
    out = train.silver_tags(folder, tmp_path / "silver")
    tags = {split: pd.read_parquet(out / f"{split}.parquet")["tags"].map(list).tolist() for split in
            ("train", "validation")}  # fmt: skip
    assert tags == {"train": [["NOUN", "VERB"], ["NOUN:nsubj", "VERB"]], "validation": [["NOUN", "VERB"]]}


def test_the_median_of_the_seeds(tmp_path: Path) -> None:
    for seed, score in enumerate([0.5, 0.9, 0.7, 0.8]):
        folder = tmp_path / "rte" / "pretrained" / f"seed-{seed}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps({"scores": {"accuracy": score, "other": -score}}))
    assert study.median_run(tmp_path, "rte") == tmp_path / "rte" / "pretrained" / "seed-2" / "model"
    (tmp_path / "rte" / "pretrained" / "seed-0" / "result.json").unlink()
    assert study.median_run(tmp_path, "rte").parent.name == "seed-3"


def test_a_table_for_each_question(studied: Path) -> None:
    found = {path.stem for path in studied.glob("*.csv")}
    assert found == {"sweep-head", "sweep-layer", "change-cosine", "change-features", "change-special",
                     "change-repeated", "measure-features", "measure-special", "measure-repeated"}  # fmt: skip
    for name in found:
        rows = pd.read_csv(studied / f"{name}.csv")
        tasks = {"stsb", "mnli"} if name.endswith("repeated") else {"stsb", "sst2", "mnli"}
        assert set(rows["task"]) == tasks, name
        if name.startswith("measure"):
            assert set(rows["model"]) == {"before", "after"}


def test_every_head_and_every_layer_is_left_out_once(studied: Path) -> None:
    heads, layers = (pd.read_csv(studied / f"sweep-{by}.csv") for by in ("head", "layer"))
    assert len(heads) == 3 * HEADS * LAYERS
    assert len(layers) == 3 * LAYERS
    stories = json.loads((studied / "stories.json").read_text(encoding="utf-8"))
    assert list(stories) == [f"{task} {by}" for task in ("stsb", "sst2", "mnli") for by in ("head", "layer")]


def test_words_are_classed_by_the_tagger(studied: Path) -> None:
    rows = pd.read_csv(studied / "measure-features.csv")
    assert {"noun", "subject", "object", "cls", "sep"} <= set(rows["feature"])
    assert len(rows) == 3 * 2 * HEADS * LAYERS * rows["feature"].nunique()
    assert rows.query("feature == 'sep'")["attention"].between(0, 1).all()
    cosines = pd.read_csv(studied / "change-cosine.csv")
    assert len(cosines) == 3 * HEADS * LAYERS
    assert cosines["maps"].between(-1, 1.0001).all()


def test_it_says_which_models_it_took(studied: Path, trained: Path) -> None:
    lines = (studied / "printed.log").read_text(encoding="utf-8").splitlines()
    for task, line in zip(("stsb", "sst2", "mnli"), lines, strict=True):
        assert line.startswith(f"{task} {trained / 'runs' / task / 'pretrained' / 'seed-0' / 'model'} ")


def test_a_run_that_fails_is_told_at_the_end(place: Path, tmp_path: Path) -> None:
    """The other tasks are trained all the same."""
    data = tmp_path / "data"
    for task in TASKS:
        (data / task).mkdir(parents=True)
    options = [place / "model", "--data", data, "--out", tmp_path / "out", "--jobs", 1, 1, "--device", "cpu"]
    with pytest.raises(SystemExit, match="some runs failed"):
        train.main([str(one) for one in options])
