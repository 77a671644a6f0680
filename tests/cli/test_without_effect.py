"""No verb accepts an option that has no effect: one table for all options of all verbs."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import transformers as tf

from headcount.cli.main import app, main
from tests import planted
from tests.choosing import planted_vectors
from tests.contracts.zoo import BY_NAME

SWEEP = "sweep model --task sst2 --data texts.csv"
MASKED = "sweep masked --task masked-lm --data plain.csv"
MEASURE = "measure model --data texts.csv"
PRUNE = "prune model --task sst2 --data texts.csv --out small"
HEADS = "prune model --heads L0H0 --out small"
FINETUNE = "finetune model --data texts.csv --out runs --num-train-epochs 1"
PARTIAL = "partial model --data texts.csv --out runs --inputs all"
CHOOSE = "choose model --task sst2 --data texts.csv"
BUDGET = "--what both --operations 90%"
STAGES = f"{PRUNE} {BUDGET} --stages 2 --recover 2"
OF_BUDGETS = (
    *("--train texts.csv", "--score fisher", "--own-labels", "--rearrange", "--refit none"),
    *("--multiple 8", "--batch 8", "--length 8"),
)
OF_ORDERS = (
    *("--drop 1", "--keep 1", "--order ablation", "--by group", "--anew", "--no-normed", "--stack encoder"),
    *("--order random", "--order importance"),
)
CURVE = "curve model --task sst2 --data texts.csv"
GATES = "gates model --task sst2 --data texts.csv"
ATTRIBUTION = "attribution model --task sst2 --data switched.csv"
VECTORS = "function-vectors vectors --data prompts.csv --task completion"
TASKS = (
    "sweep",
    "importance",
    "prune --drop 50% --out small",
    "dynamics",
    "choose",
    "curve",
    "gates",
    "recover --out new",
)
"""Verbs that read labelled examples."""
ON_CLUSTERS = (
    *(SWEEP, MEASURE, PRUNE, f"{FINETUNE} --tasks sst2", PARTIAL, CHOOSE, CURVE, ATTRIBUTION),
    "find-patterns model --data texts.csv",
    "compare model model --data texts.csv",
    "importance model --task sst2 --data texts.csv",
    "probe model --data trees.conllu",
    "dynamics run --task sst2 --data texts.csv",
)
"""One command for each verb that takes --engine."""
ROWS = [
    *[
        (f"{command} {option}", option.split()[0], "without --engine ray everything runs in this process")
        for command in ON_CLUSTERS
        for option in ("--address auto", "--workers 2", "--gpus-per-worker 1")
    ],
    (f"{HEADS} --engine ray", "--engine", "--heads says which heads go"),
    (f"{FINETUNE} --tasks sst2 --engine ray --jobs 2", "--jobs", "the workers of the engine share the runs"),
    ("figure study --head L0H0 -o x.svg", "--head", "no effect on the figure 'ablation'"),
    ("figure study --x special.sep -o x.svg", "--x", "no effect on the figure 'ablation'"),
    ("figure study --y special.sep -o x.svg", "--y", "no effect on the figure 'ablation'"),
    ("figure study --text 0 -o x.svg", "--text", "no effect on the figure 'ablation'"),
    (f"{SWEEP} --name x", "--name", "without --out"),
    (f"{SWEEP} --shard 1/2", "--shard", "without --out"),
    (f"{SWEEP} --no-texts", "--no-texts", "without --out"),
    (f"{SWEEP} --texts", "--texts", "without --out"),
    (f"{SWEEP} --size 2", "--size", "without --draws"),
    (f"{SWEEP} --sets sets.txt --draws 2 --size 1", "--draws", "--sets says which heads"),
    (f"{SWEEP} --sets sets.txt --by head", "--by", "--sets says what is left out"),
    (f"{SWEEP} --draws 2 --size 1 --by head", "--by", "--draws says what is left out"),
    (f"{SWEEP} --draws 2 --size 1 --by layer", "--by", "--draws says what is left out"),
    (f"{SWEEP} --sets sets.txt --stack encoder", "--stack", "--sets name their stacks"),
    (f"{SWEEP} --stop-when 0.1 --out study2 --shard 1/2", "--shard", "decides after each round"),
    (f"{SWEEP} --top 2", "--top", "without --screen"),
    (f"{SWEEP} --control 2", "--control", "without --screen"),
    (f"{SWEEP} --screen importance --top 2 --by layer", "--screen", "ranks single heads"),
    (f"{SWEEP} --screen importance --top 2 --sets sets.txt", "--screen", "ranks single heads"),
    (f"{SWEEP} --among L0", "--among", "give --by pair"),
    (f"{SWEEP} --by layer --among L0", "--among", "give --by pair"),
    (f"{SWEEP} --screen hessian", "--screen", "ranks pairs"),
    (f"{SWEEP} --by pair --among L0 --screen norm", "--screen", "ranks heads for a number"),
    (f"{SWEEP} --by pair --among L0 --stack encoder", "--stack", "--among name their stacks"),
    (f"{SWEEP} --by pair --among L0 --screen hessian --top 1 --stack encoder", "--stack", "--among name their stacks"),
    (f"{SWEEP} --by pair --among 3 --top 2", "--top", "belongs to --screen hessian"),
    (f"{SWEEP} --by pair --among 3 --control 2", "--control", "belongs to --screen hessian"),
    (f"{SWEEP} --by pair --among 3 --screen hessian", "--among", "ranks pairs, not heads"),
    (f"{SWEEP} --by pair --among L0 --sets sets.txt", "--by", "--sets says what is left out"),
    (f"{SWEEP} --how zero --reference texts.csv", "--reference", "zero needs no mean outputs"),
    (f"{SWEEP} --counterpart sentence", "--counterpart", "takes nothing from another input"),
    (f"{SWEEP} --wrong sentence", "--wrong", "accuracy has no use for wrong answers"),
    (f"{SWEEP} --part query", "--part", "takes nothing from another input"),
    (f"{SWEEP} --direction noise", "--direction", "takes nothing from another input"),
    (f"{SWEEP} --how mean --positions last", "--positions", "takes nothing from another input"),
    (f"{SWEEP} --how resample --align span", "--align", "takes nothing from another input"),
    (f"{SWEEP} --mean-by position", "--mean-by", "needs no mean outputs"),
    (f"{SWEEP} --how resample --stop-when 0.1", "--stop-when", "a race is not run with"),
    (f"{SWEEP} --num-beams 1", "--num-beams", "no texts are generated for accuracy"),
    (f"{SWEEP} --max-new-tokens 9", "--max-new-tokens", "no texts are generated for accuracy"),
    (f"{MASKED} --num-beams 4", "--num-beams", "no texts are generated for loss"),
    ("sweep translator --task translation --data pairs.csv --compile", "--compile", "texts that are generated"),
    (f"{MASKED} --label label", "--label", "masked-lm has no label column"),
    ("sweep translator --task translation --data pairs.csv --label a", "--label", "translation has no label column"),
    *[
        (
            f"{verb} model --task {task} --data texts.csv --labels a b".replace(
                "prune --drop 50% --out small model", "prune model --drop 50% --out small"
            ).replace("recover --out new model", "recover model --out new"),
            "--labels",
            "no classes to name",
        )
        for verb in TASKS
        for task in ("regression", "causal-lm")
    ],
    (
        f"{SWEEP.replace('texts', 'named')} --labels positive negative",
        "--labels",
        "the data's labels are the model's classes",
    ),
    (f"{MEASURE} --name x", "--name", "without --out"),
    *[
        (f"{command} --shard 1/2", "--shard", "without --out")
        for command in (
            MEASURE,
            "find-patterns model --data texts.csv",
            "compare model model --data texts.csv",
            "importance model --task sst2 --data texts.csv",
        )
    ],
    (f"{MEASURE} --only entropy --distance-examples 3", "--distance-examples", "distances are not among"),
    (f"{MEASURE} --only entropy --tagger t", "--tagger", "none of entropy reads annotations"),
    (f"{MEASURE} --only entropy,position --spacy en", "--spacy", "none of entropy, position reads annotations"),
    (f"{MEASURE} --only entropy,entropy", "entropy twice", "--only"),
    ("measure model --data trees.conllu --text sentence", "--text", "CoNLL-U"),
    ("measure model --data trees.conllu --tagger t", "--tagger", "are annotated"),
    ("measure model --data trees.conllu --spacy en", "--spacy", "are annotated"),
    ("measure model --data trees.parquet --tagger t", "--tagger", "are annotated"),
    ("measure model --list", "got the model model", "--list"),
    *[
        (f"measure --list {more}", more.split()[0], "only explains the measures")
        for more in (
            "--data texts.csv",
            "--out study",
            "--only entropy",
            "--name x",
            "--text sentence",
            "--spacy en",
            "--tagger t",
            "--limit 3",
            "--max-length 9",
            "--distance-examples 3",
            "--batch-tokens 99",
            "--shard 1/2",
            "--json",
            "--seed 1",
            "--device cpu",
            "--device-map auto",
            "--dtype float32",
            "--tokenizer t",
            "--trust-remote-code",
        )
    ],
    *[
        (f"{command} --device cpu --device-map auto", "--device", "--device-map says where each part runs")
        for command in (
            SWEEP,
            MEASURE,
            "importance model --task sst2 --data texts.csv",
            "probe model --data trees.conllu",
        )
    ],
    ("find-patterns model --data texts.csv --name x", "--name", "without --out"),
    ("find-patterns model --data trees.conllu --text sentence", "--text", "CoNLL-U"),
    ("compare model model --data texts.csv --name x", "--name", "without --out"),
    ("probe model --data trees.conllu --name x", "--name", "without --out"),
    ("probe model --data trees.conllu --shard 1/2", "--shard", "without --out"),
    ("probe model --data trees.conllu --candidates words", "--candidates", "--kind coreference"),
    ("probe model --data d.conll --kind coreference --relations nsubj", "--relations", "--kind dependencies"),
    ("probe model --data d.conll --kind coreference --words written", "--words", "--kind dependencies"),
    ("probe model --data trees.conllu --vectors v.txt", "--vectors", "belongs to"),
    ("probe model --data trees.conllu --seeds 2", "--seeds", "belongs to"),
    ("probe model --data trees.conllu --kind classifiers --relations det", "--relations", "belongs to"),
    ("probe model --data trees.conllu --kind frames --words written", "--words", "it belongs to --kind dependencies"),
    ("probe model --data trees.conllu --elements any", "--elements", "it belongs to --kind frames"),
    (
        "probe model --data trees.conllu --kind frames --relations obj",
        "--relations",
        "it belongs to --kind dependencies",
    ),
    ("cues --data texts.csv --task sst2 --name x", "--name", "without --out"),
    ("cues --data texts.csv --task sst2 --side first", "--side", "single texts"),
    ("cues --data texts.csv --task sst2 --applicable any", "--applicable", "multiple choice"),
    ("cues --data texts.csv --task sst2 --tokenizer model", "--tokenizer", "words need none"),
    ("cues --data texts.csv --task sst2 --tokens pieces --tokenizer model --cased", "--cased", "upper case"),
    ("cues --data texts.csv --task sst2 --max-length 9", "--max-length", "without --model"),
    ("cues --data texts.csv --task sst2 --untrained", "--untrained", "without --model"),
    ("cues --data texts.csv --task sst2 --device cpu", "--device", "without --model"),
    ("cues --data texts.csv --task sst2 --dtype float32", "--dtype", "without --model"),
    ("cues --data texts.csv --task sst2 --trust-remote-code", "--trust-remote-code", "neither a model nor"),
    ("cues --data texts.csv --task sst2 --choices source target", "--choices", "the task sst2 says"),
    ("cues --data texts.csv --task sst2 --model model --no-classifier", "--no-classifier", "is compared"),
    ("cues --data pairs.csv --choices source target --side first", "--side", "each choice"),
    ("cues --data pairs.csv --choices source target --text source", "--text", "a context is for a model"),
    ("cues --data pairs.csv --choices source target --labels a b", "--labels", "the number of a choice"),
    ("cues --data pairs.csv --choices source source", "source twice", "--choices"),
    ("cue-heads model --data texts.csv --task sst2 --choices a b --text sentence", "--choices", "says what is read"),
    (
        "cue-heads model --data pairs.csv --choices source target --text source --labels a b",
        "--labels",
        "number of a choice",
    ),
    ("cue-heads model --data texts.csv --task sst2 --side first", "--side", "single texts"),
    ("cue-heads model --data texts.csv --task sst2 --tokens pieces --cased", "--cased", "its own rule"),
    ("cue-heads model --data texts.csv --task sst2 --name mine", "--name", "without --out"),
    ("carriers masked --data plain.csv --task masked-lm --name mine", "--name", "without --out"),
    ("circuit masked --data plain.csv --task masked-lm --label a", "--label", "no label column"),
    ("paths masked --data plain.csv --task masked-lm --among L0,L1 --label a", "--label", "no label column"),
    ("circuit model --data texts.csv --task sst2 --name mine", "--name", "without --out"),
    ("circuit model --data texts.csv --task sst2 --keep 2 --by-estimate", "--by-estimate", "--keep fixes the size"),
    ("circuit model --data texts.csv --task sst2 --reference texts.csv", "--reference", "needs no mean outputs"),
    ("paths model --data texts.csv --task sst2 --among L0,L1 --how zero --name mine", "--name", "without --out"),
    ("paths model --data texts.csv --task sst2 --among L0,L1 --how zero --direction noise", "--direction", "second"),
    (
        "paths model --data texts.csv --task sst2 --among L0,L1 --how zero --reference texts.csv",
        "--reference",
        "needs no mean outputs",
    ),
    ("adversarial --data pairs.csv --choices source target", "--negations", "--swap"),
    ("adversarial --data pairs.csv --choices source target --swap --claim c", "--claim", "without --negations"),
    ("adversarial --data pairs.csv --choices source target --swap -o t.xlsx", "--output t.xlsx", ".csv"),
    *[
        (f"adversarial --data pairs.csv --choices source target --swap {option}", option.split()[0], "without --model")
        for option in (
            *("--text c", "--twin-column t", "--tokenizer t", "--untrained", "--max-length 9"),
            *("--device cpu", "--dtype float32", "--trust-remote-code"),
        )
    ],
    ("adversarial --data p.csv --choices a b --model m --text c --swap --twin-column t", "--twin-column", "made here"),
    ("adversarial --data p.csv --choices a b --model m --text c --claim t", "--claim", "without --negations"),
    ("adversarial --data p.csv --choices a b --model m --text c -o t.csv", "--output", "no twins are made"),
    ("compare model model --data trees.conllu --text sentence", "--text", "CoNLL-U"),
    ("compare model model --data trees.conllu --tagger t", "--tagger", "are annotated"),
    ("importance model --task sst2 --data texts.csv --name x", "--name", "without --out"),
    (f"{ATTRIBUTION} --name x", "--name", "without --out"),
    (f"{ATTRIBUTION} --shard 1/2", "--shard", "without --out"),
    (f"{ATTRIBUTION} --by position --positions last", "--positions", "takes each"),
    (f"{ATTRIBUTION} --metric log_probability --wrong label", "--wrong", "no use for wrong answers"),
    (f"{ATTRIBUTION} --labels a b", "--labels", "the data's labels are the model's classes"),
    (f"{VECTORS} --name x", "--name", "without --out"),
    ("importance masked --task masked-lm --data plain.csv --label a", "--label", "no label column"),
    (f"{PRUNE} --drop 50% --by-estimate", "--by-estimate", "without --tolerance"),
    (f"{PRUNE} --drop 50% --learning-rate 1e-3", "--learning-rate", "without --recover"),
    (f"{PRUNE} --drop 50% --recover 0 --learning-rate 1e-3", "--learning-rate", "without --recover"),
    (f"{PRUNE} --drop 50% --lora", "--lora", "without --recover"),
    (f"{PRUNE} --drop 50% --recover 0 --lora", "--lora", "without --recover"),
    (f"{PRUNE} --drop 50% --recover 2 --lora-rank 4", "--lora-rank", "without --lora"),
    (f"{PRUNE} --drop 50% --teacher", "--teacher", "without --recover"),
    (f"{PRUNE} --drop 50% --no-teacher", "--no-teacher", "without --recover"),
    (f"{PRUNE} --drop 50% --recover 0 --no-teacher", "--no-teacher", "without --recover"),
    (f"{PRUNE} --drop 50% --temperature 3", "--temperature", "without --recover"),
    (f"{PRUNE} --drop 50% --hidden", "--hidden", "without --recover"),
    (f"{PRUNE} --drop 50% --recover 2 --no-teacher --temperature 3", "--temperature", "there is no teacher"),
    (f"{PRUNE} --drop 50% --recover 2 --no-teacher --hidden", "--hidden", "there is no teacher"),
    (
        f"{PRUNE.replace('sst2', 'regression')} --drop 50% --recover 2 --temperature 3",
        "--temperature",
        "are no probabilities",
    ),
    (f"{PRUNE} --drop 50% --name x", "--name", "without --study"),
    (f"{PRUNE} --drop 50% --order importance --randoms 2", "--randoms", "random is not among the orders"),
    (f"{PRUNE} --drop 50% --order ablation,random --anew", "--anew", "an estimate of importance"),
    (f"{PRUNE} --drop 50% --order importance,importance", "importance twice", "--order"),
    (f"{PRUNE} --drop 50% --keep 2", "--drop", "exactly one of"),
    *[
        (f"{HEADS} {more}", more.split()[0], "--heads says which heads go")
        for more in (
            "--drop 50%",
            "--keep 2",
            "--tolerance 1",
            "--by-estimate",
            "--task sst2",
            "--data texts.csv",
            "--order importance",
            "--steps 3",
            "--randoms 1",
            "--anew",
            "--normed",
            "--no-normed",
            "--at-least 1",
            "--stack encoder",
            "--by group",
            "--metric accuracy",
            "--recover 3",
            "--learning-rate 1e-3",
            "--lora",
            "--lora-rank 4",
            "--study study",
            "--name x",
            "--text sentence",
            "--label label",
            "--labels a b",
            "--limit 40",
            "--seed 1",
            "--max-length 9",
            "--what both",
            "--what heads",
            "--operations 50%",
            "--weights 50%",
            "--faster 2",
            "--stages 2",
            "--teacher",
            "--no-teacher",
            "--temperature 2",
            "--hidden",
            *OF_BUDGETS,
        )
    ],
    *[
        (f"{command} --drop 50% {more}", more.split()[0], "heads are removed in an order")
        for command in (CHOOSE, PRUNE)
        for more in OF_BUDGETS
    ],
    *[
        (f"{command} {BUDGET} {more}", more.split()[0], "is chosen to a budget")
        for command in (CHOOSE, PRUNE)
        for more in OF_ORDERS
    ],
    *[
        (f"{command} --what heads --operations 90% {more}", more.split()[0], why)
        for command in (CHOOSE, PRUNE)
        for more, why in (("--multiple 2", "removes none"), ("--drop 1", "is chosen to a budget"))
    ],
    *[
        (f"{command} {BUDGET} {more}", more.split()[0], why)
        for command in (CHOOSE, PRUNE)
        for more, why in (
            ("--weights 60%", "exactly one"),
            ("--faster 2", "exactly one"),
            ("--tolerance 1", "exactly one"),
            ("--by-estimate", "without --tolerance"),
            ("--name x", "without --study"),
        )
    ],
    *[
        (f"{command} --what both --faster 2 --operations 90%", "--operations 90%", "exactly one")
        for command in (CHOOSE, PRUNE)
    ],
    (f"{PRUNE} {BUDGET} --stages 2", "--stages", "without --recover"),
    (f"{PRUNE} {BUDGET} --stages 2 --recover 0", "--stages", "without --recover"),
    *[(f"{STAGES} {more}", more.split()[0], "is chosen to a budget") for more in OF_ORDERS],
    *[(f"{STAGES} {more}", more.split()[0], "not to a curve") for more in ("--steps 3", "--randoms 2")],
    (f"{STAGES} --name x", "--name", "without --study"),
    (f"{PRUNE} --drop 50% --stages 2 --recover 2", "--drop", "is chosen to a budget"),
    (f"{PRUNE} --tolerance 1 --stages 2 --recover 2", "--stages", "a budget that can be reached"),
    (f"{CHOOSE} --drop 50% --by-estimate", "--by-estimate", "without --tolerance"),
    (f"{CHOOSE} --drop 50% --name x", "--name", "without --study"),
    (f"{CHOOSE} --drop 50% --order importance --randoms 2", "--randoms", "random is not among the orders"),
    (f"{CHOOSE} --drop 50% --order ablation,random --anew", "--anew", "an estimate of importance"),
    (f"{CURVE} --order importance --randoms 2", "--randoms", "random is not among the orders"),
    (f"{CURVE} --order ablation,random --anew", "--anew", "an estimate of importance"),
    (f"{CURVE} --name x", "--name", "without --out"),
    ("recover model --task sst2 --data texts.csv --out new --lora-rank 4", "--lora-rank", "without --lora"),
    ("recover model --task sst2 --data texts.csv --out new --temperature 2", "--temperature", "without --teacher"),
    ("recover model --task sst2 --data texts.csv --out new --hidden", "--hidden", "without --teacher"),
    (f"{GATES} --name x", "--name", "without --out"),
    (f"{GATES} --seeds 2", "--seeds", "without --roles"),
    (f"{GATES} --randoms 2", "--randoms", "without --roles"),
    (f"{GATES} --roles --train-weights 1e-4", "--train-weights", "its weights are frozen"),
    (f"{GATES} --roles --name x", "--name", "without --out"),
    *[
        (f"{command} {option} 2", option, "no texts are generated for accuracy")
        for command in (CURVE, "dynamics runs --task sst2 --data texts.csv")
        for option in ("--num-beams", "--max-new-tokens")
    ],
    *[
        (f"{verb} masked --task masked-lm --data plain.csv {more} --label a", "--label", "no label column")
        for verb, more in (("choose", "--drop 1"), ("curve", ""), ("gates", ""), ("recover", "--out new"))
    ],
    ("dynamics runs --task masked-lm --data plain.csv --label a", "--label", "no label column"),
    (f"{FINETUNE} --tasks sst2,sst2", "sst2 twice", "--tasks"),
    (f"{FINETUNE} --tasks sst2 --init pretrained,pretrained", "pretrained twice", "--init"),
    (f"{FINETUNE} --tasks sst2 --keep-embeddings", "--keep-embeddings", "no run starts from random weights"),
    (f"{FINETUNE} --tasks sst2 --init none,pretrained --keep-embeddings", "--keep-embeddings", "(none, pretrained)"),
    (f"{FINETUNE} --tasks sst2 --spacing log", "--spacing", "without --checkpoints"),
    (f"{FINETUNE} --tasks sst2 --spacing even", "--spacing", "without --checkpoints"),
    (f"{FINETUNE} --tasks masked-lm --label a", "--label", "no label column"),
    (f"{PARTIAL} --task sst2 --choices sentence label", "--choices", "sst2 is no multiple choice"),
    (f"{PARTIAL} --task sst2 --inputs sentence", "'all' and 'sentence' in --inputs", "the same"),
    (f"{PARTIAL} --task sst2 --baselines bilstm,bilstm", "bilstm twice", "--baselines"),
    ("cost model --repeats 1 --name x", "--name", "without --study"),
    ("cost model --repeats 1 --batches 1,1", "1 twice", "--batches"),
    ("cost model --repeats 1 --lengths 8,8", "8 twice", "--lengths"),
    ("cost image --repeats 1 --lengths 8", "--lengths", "images have no length"),
    ("cost model --repeats 1 --new-tokens 4", "--new-tokens", "no decoder that generates texts"),
    ("demo --quick --full", "--full", "--quick"),
    ("table study --to csv -o rows.parquet", "--to csv", "rows.parquet"),
    ("table study --to parquet -o rows.csv", "--to parquet", "rows.csv"),
    ("doctor --device cpu", "--device", "no model was named"),
    ("doctor --dtype float32", "--dtype", "no model was named"),
    ("doctor --trust-remote-code", "--trust-remote-code", "no model was named"),
    ("report study study", "study twice", "the studies"),
    ("agreement study study", "study twice", "the studies"),
]

BOUNDS = {"limit", "max_length", "memory", "batch_tokens", "jobs", "at_least", "least", "top"}
"""What is at most or at least this: a bound that is not reached is not ignored."""
PERMISSIONS = {"overwrite", "trust_remote_code", "untrained"}
"""What may be done where it has to be."""
ALWAYS = {
    "live host",
    "live port",
    "live token",
    "live browser",
    "figure dpi",
    "engine",
    "importance own_labels",
    "model",
    "task",
    "data",
    "out",
    "device",
    "device_map",
    "dtype",
    "seed",
    "json_",
    "text",
    "metric",
    "how",
    "study",
    "steps",
    "order",
    "only",
    "list_",
    "heads",
    "drop",
    "keep",
    "tolerance",
    "recover",
    "tasks",
    "init",
    "seeds",
    "checkpoints",
    "report_to",
    "batches",
    "repeats",
    "pick",
    "pair",
    "what",
    "output",
    "group",
    "draws",
    "sets",
    "quick",
    "to",
    "stack",
    "maps name",
    "tokenizer",
    "max_steps",
    "learning_rate",
    "per_device_train_batch_size",
    "price",
    "gates roles",
    "estimator",
    "weight_decay",
    "num_train_epochs",
    "warmup_steps",
    "gradient_accumulation_steps",
    "normed",
    "kind",
    "relations",
    "from_word",
    "control",
    "tokens",
    "bigrams",
    "swap",
    "negations",
    "adversarial label",
    "cues label",
    "cue-heads label",
    "cue-heads cue",
    "cue-heads removed",
    "cue-heads randoms",
    "choose by",
    "curve by",
    "recover lora",
    "recover teacher",
    "ridge",
    "whole",
    "carriers measure",
    "carriers randoms",
    "attribution by",
    "attribution direction",
    "attribution align",
    "attribution counterpart",
    "attribution metric",
    "attribution label",
    "function-vectors repeated",
    "function-vectors texts",
    "function-vectors counterpart",
    "circuit labels",
    "paths labels",
    "circuit passes",
    "circuit randoms",
    "subsets",
    "among",
    "into",
    "cues classifier",
    "partial label",
    "tests",
    "keep_models",
}
"""What is read in every situation that no row refuses, or refused with the value that it has."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted")
    planted.save(path / "model")
    table = planted.texts(60)
    table.to_csv(path / "texts.csv", index=False)
    table.assign(label=table["label"].map(planted.NAMES)).to_csv(path / "named.csv", index=False)
    table.rename(columns={"sentence": "text"}).to_csv(path / "plain.csv", index=False)
    pd.DataFrame({"source": table["sentence"], "target": table["sentence"]}).to_csv(path / "pairs.csv", index=False)
    switched = [text.replace("good", "so").replace("bad", "so") for text in table["sentence"]]
    table.assign(counterpart=switched, label=table["label"].map(planted.NAMES)).to_csv(
        path / "switched.csv", index=False
    )
    planted_vectors.save(path / "vectors")
    planted_vectors.prompts(12).to_csv(path / "prompts.csv", index=False)
    (path / "sets.txt").write_text("L0H0\nL1H1\n")
    (path / "trees.conllu").write_text("1\tgood\t_\tADJ\t_\t_\t0\troot\t_\t_\n\n")
    tree = {"tokens": [["good"]], "upos": [["ADJ"]], "heads": [[0]], "deprels": [["root"]]}
    pd.DataFrame(tree).to_parquet(path / "trees.parquet")
    sizes = {
        "vocab_size": len(planted.WORDS),
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 8,
        "max_position_embeddings": 64,
    }
    tf.BertForMaskedLM(tf.BertConfig(**sizes)).save_pretrained(path / "masked")
    tf.MarianMTModel(tf.MarianConfig(**BY_NAME["marian"].options | {"vocab_size": len(planted.WORDS)})).save_pretrained(
        path / "translator"
    )
    for name in ("masked", "translator"):
        planted.tokenizer(path / name).save_pretrained(path / name)
    vit = {"image_size": 8, "patch_size": 4, **{key: sizes[key] for key in list(sizes)[1:5]}}
    tf.ViTModel(tf.ViTConfig(**vit)).save_pretrained(path / "image")
    planted.tokenizer(path / "image").save_pretrained(path / "image")
    assert (
        main(
            [
                "sweep",
                str(path / "model"),
                "--task",
                "sst2",
                "--data",
                str(path / "texts.csv"),
                "--out",
                str(path / "study"),
            ]
        )
        == 0
    )
    return path


@pytest.mark.parametrize(("command", "named", "why"), ROWS, ids=[row[0] for row in ROWS])
def test_refused_in_one_line(
    place: Path, command: str, named: str, why: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    before = sorted(path for path in place.rglob("*"))
    assert main(shlex.split(command)) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert named in captured.err
    assert why in captured.err
    assert sorted(path for path in place.rglob("*")) == before, "nothing was written"


def options() -> Iterator[tuple[str, str]]:
    for verb in app:
        if verb.startswith("-"):
            continue
        signature = inspect.signature(app[verb].default_command)  # type: ignore[arg-type]
        for name, parameter in signature.parameters.items():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                yield verb, name


@pytest.mark.parametrize(("verb", "option"), list(options()))
def test_every_option_of_every_verb_is_known_here(verb: str, option: str) -> None:
    """An option that is added says here what happens where it has no effect."""
    typed = f"--{ {'compiled': 'compile'}.get(option, option).rstrip('_').replace('_', '-') }"
    refused = any(command.split()[0] == verb and typed in command.split() for command, _, _ in ROWS)
    assert refused or {option, f"{verb} {option}"} & (BOUNDS | PERMISSIONS | ALWAYS)


def test_a_config_file_follows_the_same_rule(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(place)
    (place / "sweep.toml").write_text('task = "sst2"\ndata = "texts.csv"\nnum_beams = 4\n')
    assert main(["sweep", "model", "--config", "sweep.toml"]) == 2
    assert "got --num-beams, which has no effect here" in capsys.readouterr().err
