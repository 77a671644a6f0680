"""Studies that are none, damaged, incomplete or of another time, and results that they do not have."""

from __future__ import annotations

from tests.hard.row import bad, over
from tests.hard.verbs import COMMANDS, into, reading

ROWS = [
    # Read by report, figure, table, agreement and explain.
    *over(reading("no/study"), "there is no such study", "no/study"),
    *over(reading("{a-file}"), "a file", "{a-file}"),
    *over(reading("{notes}"), "a folder of somebody else", "{notes}", "zarr.json"),
    *over(reading("{empty-folder}"), "an empty folder", "{empty-folder}"),
    *over(reading("{json-folder}"), "a zarr.json of somebody else", "{json-folder}"),
    *over(reading("{other-zarr}"), "a zarr folder of somebody else", "{other-zarr}", "not a study"),
    *over(reading("{newer-study}"), "a newer version", "{newer-study}", "99", "update"),
    *over(reading("{odd-version}"), "a version that is none", "{odd-version}"),
    *over(reading("{study-not-json}"), "a mark that is no JSON", "{study-not-json}"),
    *over(reading("{study-no-mark}"), "a mark that is gone", "{study-no-mark}"),
    *over(reading("{result-not-json}"), "a result that is no JSON", "{result-not-json}"),
    *over(reading("{array-not-json}"), "an array that is no JSON", "{array-not-json}"),
    *over(reading("{chunk-cut}", "agreement"), "a chunk cut short", "{chunk-cut}", "sweep/head-zero"),
    *over(reading("{chunk-gone}"), "a chunk that is gone", "{chunk-gone}", "sweep/head-zero"),
    *over(reading("{array-gone}"), "an array that is gone", "{array-gone}"),
    *over(reading("{classifier}"), "a model", "{classifier}", "zarr.json"),
    *over(reading("''"), "an empty name", "zarr.json"),
    # Written by all others.
    *over(into("{a-file}"), "a file in the way", "{a-file}", "file"),
    *over(into("{notes}"), "a folder of somebody else", "{notes}", "not a study"),
    *over(into("{newer-study}"), "a newer version", "{newer-study}", "99", "update"),
    *over(into("{other-zarr}"), "a zarr folder of somebody else", "{other-zarr}", "not a study"),
    *over(into("{a-file}/study"), "below a file", "{a-file}"),
    *over(into("/proc/study"), "a place that cannot be written", "/proc/study"),
    # Results that are not there.
    bad("an explanation of nothing", "explain L0H0 {no-results}", "{no-results}", "headcount measure"),
    bad("an explanation of maps", "explain L9H9 {maps-only}", "L9H9", "L0"),
    bad("a table of nothing", "table {no-results}", "{no-results}", "headcount sweep"),
    bad("a table of maps", "table {maps-only}", "{maps-only}", "headcount sweep"),
    bad("a table of half a sweep", "table {shard-of-two}", "{shard-of-two}", "complete"),
    bad("a group that is not there", "table {study} --group sweep/head-mean", "{study}", "sweep/head-mean"),
    bad("a group of costs", "table {study} --group costs", "{study}", "costs"),
    bad("a group misspelt", "table {study} --group ../sweep", "../sweep"),
    bad("an empty group", "table {study} --group ''", "{study}"),
    bad("agreement with itself", "agreement {one-sweep}", "headcount sweep", "--name"),
    bad("agreement of nothing", "agreement {no-results}", "headcount sweep"),
    bad("agreement with half a sweep", "agreement {shard-of-two} {one-sweep}", "headcount sweep"),
    bad("a figure of nothing", "figure {no-results} -o x.svg", "headcount sweep"),
    bad("a figure of half a sweep", "figure {shard-of-two} -o x.svg", "headcount sweep"),
    bad("a figure of a curve that is not there", "figure {study} --what curve -o x.svg", "'curve'", "ablation"),
    bad("a figure of a measure that is not there", "figure {study} --what special.sep -o x.svg", "'special.sep'"),
    bad("a figure of layers that are not there", "figure {one-sweep} --what layers -o x.svg", "'layers'", "ablation"),
    bad("one of two studies is none", "report {study} {notes} -o x.html", "{notes}", "zarr.json"),
    bad("one of two studies is not there", "agreement {study} no/study", "no/study"),
    # Other options than those of the result that is there.
    bad(
        "another seed",
        "sweep {classifier} --task sst2 --data {texts} --limit 9 --out {study}",
        "{study}",
        "head-zero",
        "limit",
        "--name",
    ),
    bad("another task", "sweep {classifier} --task classification --data {texts} --out {study}", "{study}", "task"),
    bad("other data", "sweep {classifier} --task sst2 --data {three-rows} --out {study}", "{study}", "head-zero"),
    bad(
        "another length",
        "measure {classifier} --data {texts} --only entropy --max-length 8 --out {study}",
        "{study}",
        "entropy",
        "--name",
    ),
    bad("other texts for patterns", "patterns {classifier} --data {three-rows} --out {study}", "{study}", "patterns"),
    bad(
        "another limit of importance",
        "importance {classifier} --task sst2 --data {texts} --limit 5 --out {study}",
        "{study}",
        "importance",
    ),
    bad("another text under the same name", "maps {classifier} --text w2 --out {study} --name one", "{study}", "one"),
    bad("another model", "sweep {classifier-2} --task sst2 --data {texts} --out {study}", "{study}", "model"),
    bad(
        "another model by another verb",
        "measure {masked} --data {texts} --only special --out {study}",
        "{study}",
        "model",
    ),
    bad(
        "another model's costs", "cost {masked} --batches 1 --lengths 8 --repeats 1 --study {study}", "{study}", "model"
    ),
    bad("another model's maps", "maps {masked} --text w3 --out {study}", "{study}", "model"),
    bad(
        "another model's patterns",
        "patterns {masked} --data {texts} --name more --out {study}",
        "{study}",
        "model",
    ),
    bad(
        "another model's importance",
        "importance {classifier-2} --task sst2 --data {texts} --name b --out {study}",
        "{study}",
        "model",
    ),
    bad(
        "models that the study does not know",
        COMMANDS["compare"].replace("{classifier} ", "{masked} ") + " --out {study}",
        "{study}",
        "model",
    ),
]
