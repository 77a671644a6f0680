"""Do the recipes of the seven tasks run from sentences to tables about the heads of fine-tuned models?"""

from __future__ import annotations

import contextlib
import io
import json
import pickle
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import transformers as tf
from recipes.seven_tasks import study, train

from headcount.errors import HeadcountError
from headcount.measures.tagging import UPOS, tag_texts

WHO = ["baker", "sailor", "aunt", "nurse"]
DOES = ["sees", "paints", "sells", "mends"]
WHAT = ["boat", "lamp", "basket", "mill"]
MORE = ["the", "a", "she", "."]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
TASKS = {
    "qqp": ("question1", "question2"),
    "qnli": ("question", "sentence"),
    "mnli": ("premise", "hypothesis"),
    "stsb": ("sentence1", "sentence2"),
    "mrpc": ("sentence1", "sentence2"),
    "rte": ("sentence1", "sentence2"),
    "sst2": ("sentence",),
}
HEADS, LAYERS = 2, 3
STUDIED = ["mnli", "sst2"]
"""Pairs and single sentences."""


def sentences() -> list[str]:
    return [f"the {a} {b} a {c}." for a, b, c in product(WHO, DOES, WHAT)]


def table(task: str, start: int, count: int) -> pd.DataFrame:
    """Sentences and labels that have nothing to do with them: what is learnt does not matter here."""
    told = sentences()
    rows = range(start, start + count)
    texts = {
        name: [told[(row * (1 + 4 * place)) % len(told)] for row in rows] for place, name in enumerate(TASKS[task])
    }
    values = (
        [float(row % 5) for row in rows] if task == "stsb" else [row % (3 if task == "mnli" else 2) for row in rows]
    )
    return pd.DataFrame({**texts, "label": values})


def treebank(start: int, count: int) -> pd.DataFrame:
    """`the baker sees a boat .` as a tree; the pronoun is a subject in every other sentence."""
    told = [text.removesuffix(".").split() for text in sentences()[start : start + count]]
    return pd.DataFrame(
        {
            "tokens": [["she", *words[2:], "."] if row % 2 else [*words, "."] for row, words in enumerate(told)],
            "upos": [
                (["PRON"] if row % 2 else ["DET", "NOUN"]) + ["VERB", "DET", "NOUN", "PUNCT"] for row in range(count)
            ],
            "deprels": [
                (["nsubj"] if row % 2 else ["det", "nsubj:pass"]) + ["root", "det", "obj", "punct"]
                for row in range(count)
            ],
        }
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a folder for each task, and a treebank."""
    path = tmp_path_factory.mktemp("seven")
    for task in TASKS:
        (path / "data" / task).mkdir(parents=True)
        table(task, 0, 20).to_parquet(path / "data" / task / "train.parquet")
        other = "validation_matched" if task == "mnli" else "validation"
        table(task, 20, 10).to_parquet(path / "data" / task / f"{other}.parquet")
    (path / "data" / "mnli").rename(path / "data" / "MNLI")
    table("mnli", 40, 9).to_parquet(path / "data" / "MNLI" / "validation_mismatched.parquet")
    (path / "treebank").mkdir()
    treebank(0, 40).to_parquet(path / "treebank" / "train.parquet")
    treebank(40, 8).to_parquet(path / "treebank" / "validation.parquet")
    words = list(dict.fromkeys([*SPECIAL, *WHO, *DOES, *WHAT, *MORE]))
    torch.manual_seed(0)
    config = tf.BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    tf.BertForMaskedLM(config).save_pretrained(path / "model")
    (path / "model" / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    tf.BertTokenizer(vocab=str(path / "model" / "vocab.txt"), model_max_length=64).save_pretrained(path / "model")
    return path


class Here:
    """A process in this process: what it is given is sent as it would be, its end is told by a code."""

    Process = property(lambda self: type(self))

    def __init__(self, target: Any = None, args: Any = ()) -> None:
        self.sent, self.exitcode = pickle.dumps((target, args)), 0

    def start(self) -> None:
        target, args = pickle.loads(self.sent)
        try:
            target(*args)
        except HeadcountError:
            self.exitcode = 1

    def join(self) -> None:
        pass


def run(recipe: Any, *options: object) -> str:
    """What a recipe prints, run as `python -m recipes.seven_tasks.<name>` would run it, but in one process."""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(printed):
        patch.setattr(train, "get_context", lambda how: Here())
        recipe.main([str(one) for one in options])
    return printed.getvalue()


def test_from_sentences_to_tables(place: Path, tmp_path: Path) -> None:
    shared = [place / "model", "--data", place / "data", "--device", "cpu"]
    printed = run(
        train,
        *shared,
        "--treebank",
        place / "treebank",
        "--out",
        tmp_path / "trained",
        "--seeds",
        1,
        "--epochs",
        1,
        "--precision",
        "float32",
        "--jobs",
        1,
        1,
        "--rate",
        "2e-2",
    )
    assert "token-classification" in printed
    check_runs(tmp_path / "trained")
    check_tagger(tmp_path / "trained")
    printed = run(
        study,
        *shared,
        "--trained",
        tmp_path / "trained",
        "--out",
        tmp_path / "study",
        "--tasks",
        *STUDIED,
        "--limit",
        6,
        "--texts",
        5,
    )
    asked = [f"{task} {question}" for task in STUDIED for question in study.QUESTIONS]
    for what, line in zip(asked, printed.splitlines(), strict=True):
        task = what.split()[0]
        assert line.startswith(f"{what} {tmp_path / 'trained' / 'runs' / task / 'pretrained' / 'seed-0' / 'model'} ")
    again = run(study, *shared, "--trained", tmp_path / "trained", "--out", tmp_path / "study", "--tasks", *STUDIED)
    assert again == ""
    check_study(tmp_path / "study")


def check_runs(trained: Path) -> None:
    """Every task is trained from every start."""
    runs = pd.read_csv(trained / "runs.csv")
    assert runs.query("task == 'mrpc'")[["f1", "accuracy"]].notna().all(axis=None)
    assert sorted(zip(runs["task"], runs["init"], strict=True)) == sorted(product(TASKS, train.INITS))
    for row in runs.itertuples():
        assert (trained / "runs" / row.task / row.init / "seed-0" / "result.json").is_file()
    assert set(runs.query("init == 'none'")["steps"]) == {0}
    assert set(runs.query("init == 'pretrained'")["steps"]) == {1}


def check_tagger(trained: Path) -> None:
    folder = trained / "tagger" / "token-classification" / "pretrained" / "seed-0" / "model"
    names = json.loads((folder / "config.json").read_text(encoding="utf-8"))["id2label"].values()
    assert set(names) == {"DET", "NOUN:nsubj", "NOUN:obj", "PRON:nsubj", "PUNCT", "VERB"}
    (found,) = tag_texts(["she sees a boat."], folder)
    assert found.words == ("she", "sees", "a", "boat", ".")
    assert set(found.upos) <= set(UPOS)


def check_study(studied: Path) -> None:
    """A table for each question; in each, every task has every head."""
    tables = {path.stem: pd.read_csv(path) for path in studied.glob("*.csv")}
    measured = [f"{kind}-{name}" for kind in ("change", "measure") for name in study.KEPT]
    by_layer = [f"{name}-layers" for name in (*measured, "change-cosine")]
    once = {"patterns-shares", "findings", "sweep-head-whole", "sweep-layer-whole", "mismatched-whole"}
    assert set(tables) == {
        "sweep-head",
        "sweep-layer",
        "mismatched",
        "change-cosine",
        "patterns",
        *measured,
        *by_layer,
        *once,
    }
    shares = tables["patterns-shares"]
    assert shares.groupby(["task", "model"])["whole_share"].sum().round(5).eq(1).all()
    assert len(shares) == 2 * 5 * len(STUDIED)
    for name, rows in tables.items():
        if name in (*once, *by_layer):
            continue
        tasks = ["mnli"] if name.startswith("mismatched") or name.endswith("repeated") else STUDIED
        twice = name.startswith(("measure", "patterns", "mismatched"))
        assert list(dict.fromkeys(rows["task"])) == tasks, name
        assert len(rows) == len(tasks) * (1 + twice) * LAYERS * (1 if name == "sweep-layer" else HEADS), name
        if name.startswith(("measure", "patterns")):
            assert set(rows["model"]) == {"before", "after"}
    features = tables["measure-features"]
    kinds = ("noun", "verb", "subject", "object", "cls", "sep", "punctuation")
    assert {f"attention[{name}]" for name in kinds} <= set(features)
    assert features["attention[sep]"].between(0, 1).all()
    assert tables["change-cosine"]["maps"].between(-1, 1.0001).all()
    layers = tables["change-cosine-layers"].query("variable == 'maps' and task == 'sst2'").set_index("layer")["mean"]
    heads = tables["change-cosine"].query("task == 'sst2'").groupby("layer")["maps"].mean()
    assert layers.drop(-1).to_numpy() == pytest.approx(heads.to_numpy(), abs=1e-5)
    check_findings(tables)


def check_findings(tables: dict[str, pd.DataFrame]) -> None:
    found = tables["findings"].set_index(["finding", "task"])
    assert set(found["verdict"]) <= {"holds", "does not hold", "not decidable"}
    for task in STUDIED:
        first = tables["sweep-layer"].query(f"task == '{task}' and layer == 0").iloc[0]
        row = found.loc[("the first layer helps when disabled", task)]
        assert tuple(row[["value", "low", "high"]]) == pytest.approx(tuple(first[["delta", "low", "high"]]))
        whole = tables["sweep-head-whole"].set_index("task").loc[task]
        assert found.loc[("a random head helps when disabled", task), "value"] == pytest.approx(whole["mean_delta"])
    assert ("the last two layers change most", "sst2") in found.index
    effects = tables["mismatched"].pivot(index=["layer", "head"], columns="set", values="delta")
    same = found.loc[("effects of heads agree on matched and mismatched MNLI (Pearson)", "mnli"), "value"]
    assert same == pytest.approx(effects.corr().iloc[0, 1], nan_ok=True)


def test_a_run_that_fails_is_told_at_the_end(place: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(SystemExit, match="some runs failed"):
        run(train, place / "model", "--data", tmp_path / "data", "--out", tmp_path / "out", "--device", "cpu")


def test_silver_tags(tmp_path: Path) -> None:
    """Roles of subjects and objects without their subtypes; a tag that training has not is a part of speech alone."""
    folder = tmp_path / "treebank"
    folder.mkdir()
    for split, relation in (("train", "nsubj:pass"), ("validation", "csubj")):
        pd.DataFrame(
            {
                "tokens": [["boats", "sink"]],
                "upos": [["NOUN", "VERB"]],
                "deprels": [[relation, "root"]],
                "heads": [[2, 0]],
            }
        ).to_parquet(folder / f"{split}.parquet")
    pd.concat(
        [
            pd.read_parquet(folder / "train.parquet").assign(deprels=[["nmod", "root"]]),
            pd.read_parquet(folder / "train.parquet"),
        ]
    ).to_parquet(folder / "train.parquet")
    out = train.silver_tags(folder, tmp_path / "silver")
    tags = {
        split: pd.read_parquet(out / f"{split}.parquet")["tags"].map(list).tolist() for split in ("train", "validation")
    }
    assert tags == {"train": [["NOUN", "VERB"], ["NOUN:nsubj", "VERB"]], "validation": [["NOUN", "VERB"]]}


def test_the_median_of_the_seeds(tmp_path: Path) -> None:
    for seed, score in enumerate([0.5, 0.9, 0.7, 0.8]):
        folder = tmp_path / "rte" / "pretrained" / f"seed-{seed}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps({"scores": {"accuracy": score, "other": -score}}))
    assert study.median_run(tmp_path, "rte") == tmp_path / "rte" / "pretrained" / "seed-2" / "model"
    (tmp_path / "rte" / "pretrained" / "seed-0" / "result.json").unlink()
    assert study.median_run(tmp_path, "rte").parent.name == "seed-3"
