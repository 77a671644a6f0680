"""Input that is odd but good: it must be taken without a word on stderr."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from tests.hard.row import Row
from tests.hard.shelf.base import Shelf, damaged, item
from tests.hard.shelf.data import at, changed, lines, sentences
from tests.hard.verbs import COMMANDS

SWEEP = "sweep {classifier} --task sst2 --data "


def _write(name: str, file: str, content: str | bytes) -> None:
    @item(name)
    def make(shelf: Shelf, folder: Path) -> Path:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder / file


CSV = sentences(12).to_csv(index=False)
_write("tab", "texts.tsv", sentences(12).to_csv(index=False, sep="\t"))
_write("tab-quotes", "texts.tsv", 'sentence\tlabel\n"w1 w2\t0\nw3 "w4\t1\n')
_write("windows", "texts.csv", CSV.replace("\n", "\r\n"))
_write("byte-order-mark", "texts.csv", "\ufeff" + CSV)
_write("no-last-newline", "texts.csv", CSV.rstrip("\n"))
_write("two-lines-in-a-cell", "texts.csv", 'sentence,label\n"w1\nw2, w3",0\nw4 w5,1\n')
_write("spaces", "my texts (2).csv", CSV)
_write("unicode", "Texte - größer 文.csv", CSV)
_write("deep", "a/b/c/d/texts.csv", CSV)
_write("capital-json", "texts.jsonl", lines(*sentences(12).to_dict("records")))
_write("blank-lines", "texts.jsonl", lines(*sentences(12).to_dict("records")).replace("\n", "\n\n"))
_write("one-row", "one.csv", sentences(1).to_csv(index=False))
_write("float-labels", "texts.csv", changed(label=lambda column: column.astype(float)).to_csv(index=False))
_write(
    "named-labels",
    "texts.csv",
    changed(label=lambda column: column.map({0: "Negative", 1: "positive"})).to_csv(index=False),
)
_write("more-columns", "texts.csv", sentences(12).assign(source="mine", idx=range(12)).to_csv(index=False))
_write("columns-turned", "texts.csv", sentences(12)[["label", "sentence"]].to_csv(index=False))
_write("no-known-word", "texts.csv", changed(sentence="Ünïcödé 文字 🙂 zzz").head(12).to_csv(index=False))
_write("long-text", "texts.csv", changed(sentence=at(3, "w1 " * 500)).head(12).to_csv(index=False))
_write("twice-the-same", "texts.csv", pd.concat([sentences(6)] * 2).to_csv(index=False))
_write("label-with-spaces", "texts.csv", 'sentence,"the label"\nw1 w2,0\nw3 w4,1\n')
_write("sets-with-comments", "sets.txt", "L0H0\n\nL0H0,L1\nL1H0-1\n")
_write("scalar-config", "options.toml", 'task = "sst2"\nlimit = 4\nhow = "zero"\n')


@item("shuffled-parquet")
def _shuffled(shelf: Shelf, folder: Path) -> Path:
    """A table whose rows have odd numbers of their own."""
    table = sentences(12)
    table.index = pd.Index(np.arange(12)[::-1] * 7 + 3)
    table.to_parquet(folder / "texts.parquet")
    return folder / "texts.parquet"


@item("categories")
def _categories(shelf: Shelf, folder: Path) -> Path:
    """Labels as pandas' categories, texts as its own strings."""
    table = sentences(12).astype({"sentence": "string"})
    table["label"] = table["label"].map({0: "negative", 1: "positive"}).astype("category")
    table.to_parquet(folder / "texts.parquet")
    return folder / "texts.parquet"


@item("odd model")
def _odd_model(shelf: Shelf, folder: Path) -> Path:
    """A model at a place with spaces and letters of other scripts, through a link."""
    place = folder / "mon modèle - 模型"
    place.symlink_to(shelf["classifier"])
    return place


damaged("half-precision", "classifier", lambda folder: _as_half(folder))


def _as_half(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = {name: tensor.half() for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def good(id: str, command: str, *words: str) -> Row:
    """A command that must be taken; the words must be in what it prints."""
    return Row(id, command, words)


ROWS = [
    *[good(f"{verb}, as it is", command) for verb, command in COMMANDS.items()],
    *[
        good(f"data: {name}", SWEEP + f"{{{name}}}", "Baseline|accuracy")
        for name in (
            "tab",
            "tab-quotes",
            "windows",
            "byte-order-mark",
            "no-last-newline",
            "two-lines-in-a-cell",
            "spaces",
            "unicode",
            "deep",
            "capital-json",
            "blank-lines",
            "float-labels",
            "named-labels",
            "more-columns",
            "columns-turned",
            "no-known-word",
            "twice-the-same",
            "shuffled-parquet",
            "categories",
            "a-folder",
        )
    ],
    good("synthetic data", "sweep {causal} --data synthetic:repeat,length=5 --limit 3 --by layer", "loss"),
    good("synthetic data for an encoder", "sweep {masked} --task masked-lm --data synthetic:repeat,length=5 --limit 3"),
    good("synthetic data, measure", "measure {classifier} --data synthetic:repeat,length=5 --only entropy --limit 3"),
    good("one example", "measure {classifier} --data {one-row} --only entropy"),
    good("one example, sweep", SWEEP + "{one-row}"),
    good("one example, raced", SWEEP + "{one-row} --stop-when 0.1", "saved 0 %"),
    good("one example, screened", SWEEP + "{one-row} --screen norm --top 1", "no head is left|at most"),
    good("one example, pairs", SWEEP + "{one-row} --by pair --among all", "No pair interacts"),
    good("one example, screened pairs", SWEEP + "{one-row} --by pair --screen hessian --top 2", "second derivative"),
    good("one example, pairs of ranked heads", SWEEP + "{one-row} --by pair --among 2", "rank highest"),
    good("one example, patterns", "patterns {classifier} --data {one-row}"),
    good("more than there are", SWEEP + "{texts} --limit 1000000"),
    good("a text longer than the model takes", SWEEP + "{long-text}", "cut"),
    good("a long text, measure", "measure {classifier} --data {long-text} --only entropy", "cut|longer"),
    good("a label column with a space", SWEEP + "{label-with-spaces} --label 'the label'"),
    good("a large seed", SWEEP + "{texts} --seed 4294967295 --limit 4"),
    good("a set in a file with blank lines", SWEEP + "{texts} --limit 4 --sets {sets-with-comments}"),
    good("a model with an odd name", "heads '{odd model}'", "4 heads"),
    good(
        "a model with an odd name, pruned", "prune '{odd model}' --heads L0H0 --out 'ein Ort/ohne Köpfe 少'", "3 of 4"
    ),
    good("a trailing slash", "heads {classifier}/", "4 heads"),
    good("half precision on a CPU", "sweep {half-precision} --task sst2 --data {one-row}"),
    good("a pruned model", "sweep {pruned} --task sst2 --data {texts} --limit 4"),
    good("a pruned model is measured", "measure {pruned} --data {texts} --limit 4 --only entropy"),
    good(
        "a study with an odd name", "measure {classifier} --data {one-row} --only entropy --out 'étude no. 1'", "étude"
    ),
    good("all in one study folder, still empty", "measure {classifier} --data {one-row} --only entropy --out ."),
    good("spaces around names of heads", "heads {classifier} --pick ' L0H0 , L1 '"),
    good("a head twice", "prune {classifier} --heads L0H0,L0H0 --out small", "3 of 4"),
    good("options from a file", SWEEP + "{one-row} --config {scalar-config}"),
    good("a page of two studies", "report {study} {one-sweep} -o page.html", "page.html"),
    good("the same study twice", "agreement {one-sweep} {study}"),
    good("a table to a file", "table {study} --to json -o table.json"),
    good("costs of odd sizes", "cost {classifier} --batches 1,3 --lengths 5,64 --repeats 1"),
    good("images cost too", "cost {vision} --batches 2 --repeats 1"),
    good("classes without names, named", "sweep {unnamed} --task sst2 --data {one-row} --labels negative positive"),
    good("codes of classes without names", "sweep {unnamed} --task classification --data {one-row}", "class numbers"),
    good("a translator", "sweep {translator} --task translation --data {translations} --limit 3 --max-new-tokens 4"),
    good("a translator's loss", "sweep {translator} --task translation --data {translations} --limit 3 --metric loss"),
    good("tags", "sweep {tagger} --task token-classification --data {tagged} --limit 6"),
    good(
        "choices", "sweep {choices} --task multiple-choice --text context first second --data {choices-data} --limit 6"
    ),
    good("scores", "sweep {regressor} --task stsb --data {scores} --limit 8"),
    good("sentences with trees", "measure {classifier} --data {trees} --only features,links"),
    good("words by a tagger", "measure {classifier} --data {texts} --limit 4 --only features --tagger {tagger}"),
    good("a decoder", "sweep {causal} --task causal-lm --data {texts} --limit 4"),
    good("all measures explained", "measure --list", "entropy"),
    good("the version", "--version", "0."),
    good("help", "sweep --help", "Example: headcount sweep"),
]
