"""Outputs in the way, inside of what is read, or where nothing can be written."""

from __future__ import annotations

from tests.hard.row import bad, over
from tests.hard.verbs import COMMANDS

PRUNE, EXPORT, CHOOSE = (
    "prune {classifier} --heads L0H0 --out ",
    "export {classifier} --to zeroed --out ",
    COMMANDS["choose"],
)
TUNE = "finetune {classifier} --tasks sst2 --data {texts} --num-train-epochs 1 --out "
LONG = "x" * 256


def models(place: str) -> dict[str, str]:
    """The verbs that write a model."""
    return {
        "prune": f"{PRUNE}{place}",
        "export": f"{EXPORT}{place}",
        "onnx": f"export {{classifier}} --to onnx --out {place}",
        "choose": CHOOSE.replace("--out small", f"--out {place}"),
    }


def files(place: str) -> dict[str, str]:
    """The verbs that write a file."""
    return {
        "report": f"report {{one-sweep}} -o {place}",
        "table": f"table {{one-sweep}} -o {place}",
        "table, parquet": f"table {{one-sweep}} --to parquet -o {place}",
        "figure": f"figure {{one-sweep}} -o {place}.svg",
    }


ROWS = [
    *over(models("{a-file}"), "a file in the way", "{a-file}", "folder"),
    *over(models("{notes}"), "a folder of somebody else", "{notes}", "--overwrite"),
    *over(models("{notes} --overwrite"), "a folder of somebody else, overwritten", "{notes}", "notes.txt"),
    *over(models("{pruned}"), "a model of ours in the way", "{pruned}", "--overwrite"),
    *over(models("{a-file}/small"), "below a file", "{a-file}"),
    *over(models("/proc/small"), "a place that cannot be written", "/proc/small"),
    *over(models("{classifier} --overwrite"), "the model itself", "{classifier}", "the model"),
    *over(models("{classifier}/small"), "inside the model", "{classifier}/small", "the model"),
    *over(models("{study}"), "a study", "{study}"),
    bad("above the model", PRUNE + "{classifier}/..", "the model"),
    bad(
        "the folder of the data",
        CHOOSE.replace("{texts}", "{a-folder}").replace("--out small", "--out {a-folder}"),
        "the data",
    ),
    bad(
        "inside the folder of the data",
        CHOOSE.replace("{texts}", "{a-folder}").replace("small", "{a-folder}/x"),
        "the data",
    ),
    bad(
        "around the data",
        CHOOSE.replace("{texts}", "{a-folder}/train.csv").replace("--out small", "--out {a-folder}"),
        "the data",
    ),
    bad("the study and the model in one", CHOOSE + " --study small", "small"),
    bad(
        "the model inside the study",
        CHOOSE.replace("--out small", "--out {study}/small") + " --study {study}",
        "the study",
    ),
    bad("a name that is too long", PRUNE + LONG, "xxx"),
    bad("a study whose name is too long", f"measure {{classifier}} --data {{texts}} --out {LONG}", "xxx"),
    bad("the working folder, not empty", "prune {classifier} --heads L0 --out {classifier}/.. --overwrite", "model"),
    # Fine-tuning
    bad("runs: a file in the way", TUNE + "{a-file}", "{a-file}"),
    bad("runs: below a file", TUNE + "{a-file}/runs", "{a-file}"),
    bad("runs: a place that cannot be written", TUNE + "/proc/runs", "/proc/runs"),
    # Files
    *over(
        {verb: one for verb, one in files("{notes}").items() if verb != "figure"},
        "a folder instead of a file",
        "{notes}",
    ),
    bad("figure: a folder instead of a file", "figure {study} -o {folder-svg}", "{folder-svg}"),
    *over(files("no/such/place"), "a folder that is not there", "no/such"),
    *over(files("/proc/place"), "a place that cannot be written", "/proc"),
    *over(files("{a-file}/place"), "below a file", "{a-file}"),
    *over(files(LONG), "a name that is too long", "xxx"),
    bad("a figure without a suffix", "figure {study} -o heads", "'heads'", ".svg"),
    bad("a figure as jpeg", "figure {study} -o heads.jpg", "'heads.jpg'", ".svg", ".png"),
    bad("a figure as a page", "figure {study} -o heads.html", "'heads.html'", ".pdf"),
    bad("a figure called .svg", "figure {study} -o .svg", ".svg"),
]
