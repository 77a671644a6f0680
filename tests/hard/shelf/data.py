"""Tables of examples and annotated sentences, and damaged ones."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.hard.shelf.base import Shelf, damaged, item
from tests.training import toy

COUNT = 40


def sentences(count: int = COUNT) -> pd.DataFrame:
    """Sentences of 4 to 9 words whose label is 0 or 1."""
    generator = np.random.default_rng(3)
    texts = [" ".join(generator.choice(toy.WORDS[5:], generator.integers(4, 10))) for _ in range(count)]
    return pd.DataFrame({"sentence": texts, "label": [number % 2 for number in range(count)]})


def changed(**columns: Any) -> pd.DataFrame:
    """The sentences with other columns; a function gets the column that is there."""
    table = sentences()
    for name, value in columns.items():
        table[name] = value(table[name]) if callable(value) else value
    return table


def at(row: int, value: Any) -> Any:
    """The column with another value in one row."""

    def change(column: pd.Series) -> pd.Series:
        column = column.astype(object)
        column.iloc[row] = value
        return column

    return change


def _csv(name: str, table: pd.DataFrame, **options: Any) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        table.to_csv(folder / f"{name}.csv", index=False, **options)
        return folder / f"{name}.csv"


def _parquet(name: str, table: pd.DataFrame) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        table.to_parquet(folder / f"{name}.parquet")
        return folder / f"{name}.parquet"


def _file(name: str, suffix: str, content: str | bytes) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        place = folder / f"{name}{suffix}"
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        return place


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


_csv("texts", sentences())
_csv(
    "reversed",
    sentences().assign(counterpart=[" ".join(reversed(text.split())) for text in sentences()["sentence"]]),
)
_csv("longer", sentences().assign(counterpart="w1 " + sentences()["sentence"]))
_csv(
    "spanned",
    sentences().assign(
        counterpart=[" ".join(reversed(text.split())) for text in sentences()["sentence"]], spans='{"far": [1, 999]}'
    ),
)
_csv("pairs", toy.pairs(COUNT))
_csv("scores", toy.numbers(COUNT))
_parquet(
    "tagged",
    toy.tagged(COUNT).assign(
        tags=lambda table: [["VERB" if tag == "A" else "NOUN" for tag in tags] for tags in table["tags"]]
    ),
)
_csv(
    "translations",
    pd.DataFrame({"source": sentences()["sentence"], "target": sentences()["sentence"].iloc[::-1].values}),
)
_csv(
    "choices-data", pd.DataFrame({"context": sentences()["sentence"], "first": "w1 w2", "second": "w3 w4", "label": 0})
)

_csv(
    "arguments",
    pd.DataFrame(
        {
            "claim": ["w1 w2", "w3 w4"] * 20,
            "first": sentences()["sentence"],
            "second": sentences()["sentence"].iloc[::-1].values,
            "label": [0, 1] * 20,
        }
    ),
)
_csv("same-choices", pd.DataFrame({"claim": "w1", "first": "w2 w3", "second": "w2 w3", "label": [0, 1] * 20}))
_csv("negations-short", pd.DataFrame({"original": ["w1 w2"], "negated": ["w9"]}))
_csv("negations-twice", pd.DataFrame({"original": ["w1 w2", "w1 w2"], "negated": ["w8", "w9"]}))
_csv("negations-three", pd.DataFrame({"a": ["w1 w2"], "b": ["w9"], "c": ["w8"]}))
_csv(
    "choices-of-two",
    pd.DataFrame({"context": sentences()["sentence"], "first": "w1 w2", "second": "w3 w4"}).assign(
        label=sentences()["label"]
    ),
)
_file("no-bytes", ".csv", "")
_file("no-rows", ".csv", "sentence,label\n")
_file("no-rows-jsonl", ".jsonl", "\n\n")
_csv("other-columns", sentences().rename(columns={"sentence": "phrase", "label": "stars"}))
_csv("no-label", sentences()[["sentence"]])
_csv("text-missing", changed(sentence=at(3, None)))
_csv("text-a-number", changed(sentence=7.5))
_csv("label-missing", changed(label=at(3, None)))
_csv("label-too-large", changed(label=at(3, 9)))
_csv("label-negative", changed(label=at(3, -1)))
_csv("label-half", changed(label=at(3, 0.5)))
_csv("label-unknown", changed(label=lambda column: column.map({0: "bad", 1: "good"})))
_csv("label-huge", changed(label=at(3, 10**30)))
_csv("label-infinite", changed(label=at(3, "inf")))
_csv("label-one", changed(label=1))
_csv("label-spelling", changed(label=lambda column: ["Yes" if number % 3 else "yes" for number in range(len(column))]))
_csv("score-a-word", toy.numbers(COUNT).assign(label="high"))
_csv("score-nan", toy.numbers(COUNT).assign(label=lambda table: at(3, None)(table["label"])))
_csv("score-infinite", toy.numbers(COUNT).assign(label=lambda table: at(3, "inf")(table["label"])))
_csv("blank-texts", changed(sentence="   "))
_csv("one-blank-text", changed(sentence=at(3, "   ")))
_csv("three-rows", sentences(3))
_csv("choice-too-large", pd.DataFrame({"context": sentences()["sentence"], "first": "w1", "second": "w3", "label": 2}))
_csv(
    "choice-of-three",
    pd.DataFrame({"context": sentences()["sentence"], "first": "w1", "second": "w3"}).assign(
        label=[number % 3 for number in range(COUNT)]
    ),
)
_csv("choice-missing", pd.DataFrame({"context": sentences()["sentence"], "first": "w1", "second": None, "label": 0}))
_file("ragged", ".csv", "sentence,label\nw1 w2,0\nw1,w2,w3,1\n")
_file("open-quote", ".csv", 'sentence,label\n"w1 w2,0\nw3 w4,1\n')
_file("twice-a-column", ".csv", "sentence,sentence,label\nw1,w2,0\nw3,w4,1\n")
_file("semicolons", ".csv", "sentence;label\nw1 w2;0\nw3 w4;1\n")
_file("latin", ".csv", "sentence,label\nw1 caf\xe9,0\nw2 w3,1\n".encode("latin-1"))
_file("utf16", ".csv", "sentence,label\nw1 w2,0\nw2 w3,1\n".encode("utf-16"))
_file("a-zip", ".csv", b"PK\x03\x04" + b"\x00\xff\xfe" * 200)
_file("a-gzip", ".csv", gzip.compress(b"sentence,label\nw1 w2,0\n" * 30))
_file("a-workbook", ".xlsx", b"PK\x03\x04")
_file("plain", ".txt", "w1 w2 w3\nw4 w5\n")
_file("no-suffix", "", "sentence,label\nw1 w2,0\n")
_file("bad-line", ".jsonl", lines({"sentence": "w1 w2", "label": 0}) + '{"sentence": "w3", "label":\n')
_file("one-object", ".jsonl", json.dumps({"data": [1, 2]}, indent=1))
_file("list-lines", ".jsonl", lines([1, 2], [3, 4]))
_file("nested", ".jsonl", lines(*[{"sentence": {"en": "w1 w2"}, "label": 0}] * 4))
_file("list-label", ".jsonl", lines(*[{"sentence": "w1 w2", "label": [0, 1]}] * 4))
_file("true-label", ".jsonl", lines(*[{"sentence": "w1 w2", "label": flag} for flag in (True, False, True, False)]))
_file("fake-parquet", ".parquet", "sentence,label\nw1,0\n")
damaged("cut-parquet", "tagged", lambda place: place.write_bytes(place.read_bytes()[:200]))
_file("tags-a-string", ".jsonl", lines(*[{"tokens": ["w1", "w2"], "tags": "NOUN VERB"}] * 4))
_file("tags-too-few", ".jsonl", lines(*[{"tokens": ["w1", "w2"], "tags": ["NOUN"]}] * 4))
_file("tags-unknown", ".jsonl", lines(*[{"tokens": ["w1", "w2"], "tags": ["NOUN", "ADJ"]}] * 4))
_file("tags-none", ".jsonl", lines(*[{"tokens": ["w1", "w2"], "tags": ["NOUN", None]}] * 4))
_file("tokens-a-string", ".jsonl", lines(*[{"tokens": "w1 w2", "tags": ["NOUN", "VERB"]}] * 4))
_file("tokens-numbers", ".jsonl", lines(*[{"tokens": [1, 2], "tags": ["NOUN", "VERB"]}] * 4))
_file("huge-cell", ".jsonl", lines(*[{"sentence": ["w1 w2 " * 20000], "label": 0}] * 4))
_csv("no-target", pd.DataFrame({"source": sentences()["sentence"]}))
_csv("target-missing", pd.DataFrame({"source": sentences()["sentence"], "target": None}))


@item("a-folder")
def _folder(shelf: Shelf, folder: Path) -> None:
    """A folder as data: validation.csv and train.csv."""
    for split in ("train", "validation"):
        sentences().to_csv(folder / f"{split}.csv", index=False)


@item("folder-without")
def _folder_without(shelf: Shelf, folder: Path) -> None:
    sentences().to_csv(folder / "test.csv", index=False)


@item("folder-train-only")
def _train_only(shelf: Shelf, folder: Path) -> None:
    sentences().to_csv(folder / "train.csv", index=False)


@item("folder-of-two")
def _of_two(shelf: Shelf, folder: Path) -> None:
    for name in ("train_a", "train_b", "validation"):
        sentences().to_csv(folder / f"{name}.csv", index=False)


@item("folder-new-label")
def _new_label(shelf: Shelf, folder: Path) -> None:
    sentences().to_csv(folder / "train.csv", index=False)
    changed(label=at(3, 2)).to_csv(folder / "validation.csv", index=False)


def conllu(*words: tuple[str, ...], text: str | None = None) -> str:
    """One sentence; a word is (number, form, upos, head, deprel)."""
    head = "# sent_id = s1\n" + (f"# text = {text}\n" if text else "")
    return (
        head + "".join(f"{n}\t{form}\t_\t{upos}\t_\t_\t{to}\t{rel}\t_\t_\n" for n, form, upos, to, rel in words) + "\n"
    )


GOOD = (("1", "w1", "NOUN", "2", "nsubj"), ("2", "w2", "VERB", "0", "root"), ("3", "w3", "NOUN", "2", "obj"))
_file("trees", ".conllu", "".join(conllu(*GOOD, text="w1 w2 w3").replace("s1", f"s{n}") for n in range(4)))
_file("tree-empty", ".conllu", "\n\n")
_file(
    "tree-circle",
    ".conllu",
    conllu(*GOOD) + conllu(("1", "w1", "NOUN", "2", "nsubj"), ("2", "w2", "VERB", "1", "obj")).replace("s1", "s2"),
)
_file("tree-roots", ".conllu", conllu(("1", "w1", "NOUN", "0", "root")) * 3)
_file("tree-one", ".conllu", conllu(*GOOD))
_file("tree-nine-columns", ".conllu", "1\tw1\t_\tNOUN\t_\t_\t0\troot\t_\n\n")
_file("tree-head-outside", ".conllu", conllu(("1", "w1", "NOUN", "7", "nsubj")))
_file("tree-head-itself", ".conllu", conllu(("1", "w1", "NOUN", "1", "nsubj")))
_file("tree-head-a-word", ".conllu", conllu(("1", "w1", "NOUN", "two", "nsubj")))
_file("tree-numbers", ".conllu", conllu(("1", "w1", "NOUN", "0", "root"), ("3", "w2", "VERB", "1", "obj")))
_file("tree-text", ".conllu", conllu(*GOOD, text="w1 w2 w9"))
_file("tree-latin", ".conllu", conllu(("1", "caf\xe9", "NOUN", "0", "root")).encode("latin-1"))
COREF_ROWS = "d 0 0 w1 NN * (1)\nd 0 1 w2 VB * -\nd 0 2 w3 NN * (1)\n"
COREF = f"#begin document (d); part 000\n{COREF_ROWS}\n#end document\n"
_file("coref", ".conll", COREF * 4)
_file("coref-one", ".conll", COREF)
_file("coref-empty", ".conll", "#begin document (d); part 000\n#end document\n")
_file("coref-open", ".v4_gold_conll", COREF + COREF.replace("w1 NN * (1)", "w1 NN * (1"))
_file("coref-closed", ".v4_gold_conll", COREF.replace("w3 NN * (1)", "w3 NN * 7)"))
_file("coref-columns", ".conll", COREF.replace("d 0 1 w2 VB * -", "d 0 1 w2 -"))
_file("coref-short", ".conll", COREF.replace("#end document\n", ""))
_file("coref-alone", ".conll", COREF.replace("w3 NN * (1)", "w3 NN * (2)") * 2)
LITBANK = pd.DataFrame({"doc": ["a", "b"], "tokens": [["w1", "w2", "w3"]] * 2, "sent_lens": [[3]] * 2})
_parquet("litbank-outside", LITBANK.assign(clusters=["[[[0, 1], [2, 3]]]", "[[[0, 1], [2, 9]]]"]))
_parquet("litbank-twice", LITBANK.assign(clusters=["[[[0, 1], [2, 3]], [[0, 1]]]"] * 2))
_parquet("litbank-lengths", LITBANK.assign(sent_lens=[[3], [2]], clusters=["[[[0, 1], [2, 3]]]"] * 2))
GAP_ROW = {"Text": "w1 w2 w3", "A": "w1", "A-offset": 0, "A-coref": True, "B": "w2", "B-offset": 3, "B-coref": False}
GAP = pd.DataFrame([GAP_ROW | {"Pronoun": "w3", "Pronoun-offset": 6}] * 2)
_csv("gap-offset", GAP.assign(**{"Pronoun-offset": [6, 5]}))
_csv("gap-flag", GAP.assign(**{"A-coref": ["True", "perhaps"]}))
_csv("gap-column", GAP.drop(columns="B-offset"))
_file("tree-antecedent", ".conllu", conllu(*GOOD).replace("obj\t_\t_", "obj\t_\tAntecedent=9"))


@item("order-short")
def _order_short(shelf: Shelf, folder: Path) -> Path:
    return _text(folder / "order.txt", "L0H0 L0H1")


@item("order-twice")
def _order_twice(shelf: Shelf, folder: Path) -> Path:
    return _text(folder / "order.txt", "L0H0 L0H0 L0H1 L1")


@item("order-outside")
def _order_outside(shelf: Shelf, folder: Path) -> Path:
    return _text(folder / "order.txt", "L0 L9H1")


@item("order-binary")
def _order_binary(shelf: Shelf, folder: Path) -> Path:
    (folder / "order.txt").write_bytes(b"\xff\xfe\x00L0")
    return folder / "order.txt"


@item("sets-empty")
def _sets_empty(shelf: Shelf, folder: Path) -> Path:
    return _text(folder / "sets.txt", "\n\n")


@item("sets-outside")
def _sets_outside(shelf: Shelf, folder: Path) -> Path:
    return _text(folder / "sets.txt", "L0H0\nL7H0\n")


@item("sets-misspelt")
def _sets_misspelt(shelf: Shelf, folder: Path) -> Path:
    return _text(folder / "sets.txt", "L0H0\nlayer one\n")


@item("sets-blank-set")
def _sets_blank(shelf: Shelf, folder: Path) -> Path:
    return _text(folder / "sets.txt", "L0H0\n,\n")


@item("sets-binary")
def _sets_binary(shelf: Shelf, folder: Path) -> Path:
    (folder / "sets.txt").write_bytes(b"\xff\xfe\x00L0")
    return folder / "sets.txt"


def _text(place: Path, content: str) -> Path:
    place.write_text(content)
    return place


@item("writable-copy")
def _copy(shelf: Shelf, folder: Path) -> Path:
    return Path(shutil.copy(shelf["texts"], folder / "texts.csv"))


def frames(text: str = "w1 w2 w3 w4 w5", target: str = "[[9, 11]]", core: str | None = "Core", end: int = 2) -> str:
    """Annotation sets of two sentences in lines of JSON: w1 is the element, w4 the target."""
    element = {"name": "Agent", "start": 0, "end": end, "itype": None, **({"core": core} if core else {})}
    rows = [{"text": f"{text}{end}", "target": target, "fes": json.dumps([element])} for end in ("", " w6")]
    return "".join(json.dumps(row) + "\n" for row in rows)


_file("frames", ".jsonl", frames())
_file("frames-span", ".jsonl", frames(end=99))
_file("frames-json", ".jsonl", frames(target="[[9, 11"))
_file("frames-peripheral", ".jsonl", frames(core="Peripheral"))
_file("frames-full-text", ".jsonl", frames(core=None))
_file("frames-blank", ".jsonl", frames(text=""))


@item("framenet-part")
def _part_of_framenet(shelf: Shelf, folder: Path) -> Path:
    (folder / "framenet").mkdir()
    (folder / "framenet" / "frameIndex.xml").write_text("<frameIndex/>")
    return folder / "framenet"
