"""Small studies of every kind, each made by real runs of tiny models: what the pages of the tests are built from."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tokenizers as tk
import torch
import transformers as tf

import headcount as hc
from headcount.choosing.dynamics import dynamics
from headcount.core.store import Study
from headcount.costs.cost import cost
from headcount.data.tasks import find_task
from tests import planted
from tests.ablation.test_shares import PAIRS as INPUTS
from tests.contracts.zoo import BY_NAME
from tests.measures import cases
from tests.measures import tiny as measured
from tests.measures.planted import NOUNS, OTHERS, PAIRS, VERBS, WORDS, planted_attention
from tests.planted_budgets import CONFIRMED, SEQ2SEQ, budget_dataset, write_budget
from tests.probing import treebank
from tests.training import toy

NAMES = {0: "negative", 1: "positive"}
TEXT, PAIR = "The dog chased a cat.", "A cat slept near the dog."
GONE = ["L0H1", "L1", "L2H0", "L2H3"]
"""What `pruned_study`'s model has lost: a head in the middle, a whole layer, the first and the last of a layer."""
HOSTILE = (
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>alert(2)</script>",
    "]]>",
    "${alert(3)}",
    "w" * 300,
    "\u05e9\u05dc\u05d5\u05dd\u202eabc",
    "👩‍👩‍👧‍👦🎉",
    "=1+1",
    "javascript:alert(4)",
    "&lt;b&gt;'\"`",
    "</style><svg/onload=alert(5)>",
    "toString",
    "__proto__",
)
"""Words that a careless page would run, break on or lay out badly; each is a token of `hostile_study`'s tokenizer."""


def classifier(layers: int = 3, heads: int = 4, seed: int = 5, spread: float = 0.35) -> tuple[Any, Any]:
    """A BERT for two classes whose heads differ, and a tokenizer that knows the planted words."""
    config = tf.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=8 * heads,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=40,
        max_position_embeddings=64,
        id2label=NAMES,
        label2id={name: number for number, name in NAMES.items()},
    )
    torch.manual_seed(seed)
    model = tf.BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, spread)
    return model, planted_attention()[1]


def sentences(count: int, seed: int = 0) -> list[str]:
    """Sentences of the planted words, of unlike length."""
    generator = np.random.default_rng(seed)
    nouns, verbs, others = sorted(NOUNS), sorted(VERBS), sorted(OTHERS)
    found = []
    for _ in range(count):
        more = " ".join(generator.choice(others, generator.integers(1, 7)))
        found.append(f"the {generator.choice(nouns)} {generator.choice(verbs)} {more} {generator.choice(nouns)}.")
    return found


@torch.no_grad()
def labelled(model: Any, tokenizer: Any, texts: list[str], wrong: int = 9) -> pd.DataFrame:
    """The texts as SST-2 has them, with the model's own answers; one of `wrong` labels is turned round."""
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    answers = model(**batch).logits.argmax(-1).numpy()
    turned = np.arange(len(texts)) % wrong == 0
    return pd.DataFrame({"sentence": texts, "label": np.where(turned, 1 - answers, answers)})


def classifier_study(path: Path) -> Path:
    """Nearly everything that a study can hold, of a BERT of 3 layers of 4 heads: two sweeps, measures of pairs and of
    trees, patterns, maps of two texts and two models, a comparison, curves, importance, costs.
    """
    model, tokenizer = classifier()
    before = copy.deepcopy(model)
    with torch.no_grad():
        before.bert.encoder.layer[1].attention.self.query.weight.mul_(0.2)
        before.bert.encoder.layer[2].attention.self.key.weight.mul_(0.5)
    before.config._name_or_path, model.config._name_or_path = "models/before", "models/tuned"
    data = labelled(model, tokenizer, sentences(60))
    hc.sweep(model, tokenizer, data, task="sst2", by="head", out=path, how="uniform")
    hc.sweep(model, tokenizer, data, task="sst2", by="layer", out=path, how="uniform")
    pairs = pd.DataFrame(PAIRS, columns=["first", "second"])
    hc.measure(model, tokenizer, pairs, text=("first", "second"), out=path)
    hc.find_patterns(model, tokenizer, pairs, text=("first", "second"), out=path)
    trees = cases.table([cases.sentence(one) for one in cases.TREES])
    hc.measure(model, tokenizer, trees, only=("features", "links"), out=path, name="words")
    hc.maps(model, tokenizer, TEXT, PAIR, out=path)
    hc.maps(model, tokenizer, "We slept.", out=path)
    hc.compare(before, model, tokenizer, pairs, text=("first", "second"), out=path)
    hc.maps(before, tokenizer, TEXT, PAIR, out=path)  # the comparison has put it beside the study's own
    found = hc.choose(model, tokenizer, data, task="sst2", keep=8, randoms=2, steps=4, study=path)
    hc.importance(model, tokenizer, data, task="sst2", out=path)
    small = hc.prune(copy.deepcopy(model), found.heads)
    cost({"whole": model, "small": small}, batches=(1,), lengths=(16,), repeats=1, study=path)
    return path


def other_study(path: Path) -> Path:
    """A sweep, measures and patterns of another model with the same heads as `classifier_study`'s."""
    model, tokenizer = classifier(seed=8)
    data = labelled(model, tokenizer, sentences(40, seed=1))
    hc.sweep(model, tokenizer, data, task="sst2", by="head", how="zero", out=path)
    hc.measure(model, tokenizer, data, text="sentence", only=("special", "position"), limit=8, out=path)
    hc.find_patterns(model, tokenizer, data, text="sentence", limit=8, out=path)
    return path


def translation_study(path: Path) -> Path:
    """An encoder-decoder (encoder: 3 layers of 4 heads, decoder and cross: 2 of 2): sweeps, all measures, maps."""
    model, tokenizer = measured.translator()
    texts = sentences(24)
    data = pd.DataFrame({"source": texts, "target": sentences(24, seed=1)})
    hc.sweep(model, tokenizer, data, task="translation", metric="loss", by="head", out=path, how="uniform")
    hc.sweep(model, tokenizer, data, task="translation", metric="loss", by="layer", out=path, how="uniform")
    hc.measure(model, tokenizer, data, text=("source", "target"), limit=8, out=path)
    hc.find_patterns(model, tokenizer, data, text=("source", "target"), limit=8, out=path)
    hc.maps(model, tokenizer, "the dog saw a cat.", "he ran", out=path)
    return path


def generation_study(path: Path) -> Path:
    """A sweep of generated texts (BLEU): what changes without a head are texts, not classes."""
    model, tokenizer = measured.translator()
    data = pd.DataFrame({"source": sentences(5), "target": sentences(5, seed=1)})
    hc.sweep(
        model,
        tokenizer,
        data,
        task="translation",
        by=hc.Every("head", stack="cross"),
        out=path,
        generate={"max_new_tokens": 6},
        how="uniform",
    )
    return path


def pruned_study(path: Path) -> Path:
    """A model without the heads `GONE`: a sweep, measures, patterns, maps; heads keep their numbers."""
    model, tokenizer = classifier()
    model = hc.prune(model, GONE)
    data = labelled(model, tokenizer, sentences(30))
    hc.sweep(model, tokenizer, data, task="sst2", by="head", how="zero", out=path)
    hc.measure(model, tokenizer, data, text="sentence", only=("special", "position", "entropy"), limit=8, out=path)
    hc.find_patterns(model, tokenizer, data, text="sentence", limit=8, out=path)
    hc.maps(model, tokenizer, TEXT, out=path)
    return path


def grouped_study(path: Path) -> Path:
    """A Llama with 4 heads a layer that share 2 key/value heads: a sweep of its loss, measures, patterns, maps."""
    config = tf.LlamaConfig(**BY_NAME["llama"].options | {"vocab_size": len(WORDS)})
    torch.manual_seed(2)
    model = tf.LlamaForCausalLM(config).eval()
    tokenizer = measured.bare_tokenizer()
    data = pd.DataFrame({"text": sentences(16)})
    hc.sweep(model, tokenizer, data, task="causal-lm", by="head", out=path, how="uniform")
    hc.measure(model, tokenizer, data, text="text", only=("special", "position"), limit=6, out=path)
    hc.find_patterns(model, tokenizer, data, text="text", limit=6, out=path)
    hc.maps(model, tokenizer, "the dog saw a cat.", out=path)
    return path


def dynamics_study(path: Path, work: Path) -> Path:
    """Checkpoints along a training, in `work`, and how the order of heads settles."""
    toy.save_checkpoint(work / "model")
    toy.save_splits(work / "data", toy.pairs(32))
    hc.finetune(
        work / "model",
        "mrpc",
        work / "data",
        work / "runs",
        settings=replace(toy.QUICK, num_train_epochs=3, checkpoints=2),
    )
    run = work / "runs" / "mrpc" / "pretrained" / "seed-0"
    dynamics(run, toy.pairs(48, seed=5), task="mrpc", steps=2, study=path)
    return path


def empty_study(path: Path) -> Path:
    """A study without a result."""
    Study(path)
    return path


def partial_study(path: Path, what: str = "maps") -> Path:
    """`what`: only `maps`, only a sweep by `layer`, or only `measures`."""
    model, tokenizer = classifier(layers=2, heads=2)
    if what == "maps":
        hc.maps(model, tokenizer, TEXT, out=path)
    elif what == "layer":
        data = labelled(model, tokenizer, sentences(24))
        hc.sweep(model, tokenizer, data, task="sst2", by="layer", out=path, how="uniform")
    else:
        data = pd.DataFrame({"sentence": sentences(8)})
        hc.measure(model, tokenizer, data, text="sentence", only=("special", "position"), out=path)
    return path


def patterns_study(path: Path) -> Path:
    """Patterns alone, of planted heads (2 layers of 8): columns, diagonals, a block, and none of these."""
    model, tokenizer = planted_attention()
    pairs = pd.DataFrame(PAIRS, columns=["first", "second"])
    hc.find_patterns(model, tokenizer, pairs, text=("first", "second"), out=path)
    return path


def roles_study(path: Path) -> Path:
    """What planted heads look at, and their maps: L0H0 the previous token, and so on."""
    model, tokenizer = planted_attention()
    pairs = pd.DataFrame(PAIRS, columns=["first", "second"])
    hc.measure(model, tokenizer, pairs, text=("first", "second"), only=("position", "special"), out=path)
    hc.maps(model, tokenizer, TEXT, PAIR, out=path)
    return path


def probed_study(path: Path) -> Path:
    """Planted heads beside dependencies and nothing else: L0H3 follows det at any distance."""
    model, tokenizer = planted_attention()
    hc.probe(model, tokenizer, treebank.sentences(120), relations="det,obj", out=path)
    return path


def hostile_tokenizer() -> Any:
    """One token for each of `HOSTILE`, as it is written."""
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *HOSTILE, *(f"w{number}" for number in range(20))]
    inner = tk.Tokenizer(tk.models.WordLevel({word: number for number, word in enumerate(known)}, unk_token="[UNK]"))
    inner.pre_tokenizer = tk.pre_tokenizers.Split("|", "removed")
    inner.post_processor = tk.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, known.index(name)) for name in ("[CLS]", "[SEP]")]
    )
    return tf.PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=64,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


def hostile_study(path: Path) -> Path:
    """A classifier whose texts, tokens, classes and name are all `HOSTILE`: a sweep with flips, patterns, and maps."""
    tokenizer = hostile_tokenizer()
    names = {0: "<b>no</b>", 1: "</script><script>alert(6)</script>"}
    config = tf.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        id2label=names,
        label2id={name: number for number, name in names.items()},
    )
    torch.manual_seed(1)
    model = tf.BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.5)
    model.config._name_or_path = "<img src=x onerror=alert(7)>"
    generator = np.random.default_rng(0)
    texts = ["|".join(generator.permutation(HOSTILE)[:4]) for _ in range(24)]
    data = labelled(model, tokenizer, texts)
    hc.sweep(
        model, tokenizer, data, task=find_task("classification", text=["sentence"]), by="head", out=path, how="uniform"
    )
    long = pd.DataFrame({"sentence": ["|".join(generator.permutation(HOSTILE)[:9]) for _ in range(6)]})
    hc.find_patterns(model, tokenizer, long, text="sentence", out=path)
    hc.maps(model, tokenizer, "|".join(HOSTILE), out=path)
    return path


def patched_study(path: Path) -> Path:
    """A planted head that carries the difference between two inputs, patched in both directions, as a part, with its
    layer and at single positions."""
    tokenizer, model = planted.tokenizer(path.parent / f"{path.name}-tokenizer"), planted.classifier()
    spans = json.dumps({"start": [0, 1], "first": [1, 2], "rest": [2, 4]})
    pairs = INPUTS.assign(spans=[spans] * len(INPUTS))
    for how in (hc.Patch(), hc.Patch(direction="noise"), hc.Patch(part="value"), hc.Patch(positions="first")):
        hc.sweep(model, tokenizer, pairs, task="sst2", how=how, out=path)
    for by in ("layer", "position"):
        hc.sweep(model, tokenizer, pairs, task="sst2", how="patch", by=by, out=path)
    return path


def budget_study(path: Path) -> Path:
    """A budget with planted numbers: 12 layers of heads and units, a step that the held-out half confirms."""
    whole = {"encoder": ((12,) * 12, (1536,) * 12)}
    choosing, confirming = (
        budget_dataset(CONFIRMED, 10_000, whole=whole, tilt=0.8, won=won, tolerance=1.0, budget="tolerance=1")
        for won in (10, 8)
    )
    return write_budget(path, choosing, confirming)


def unchosen_study(path: Path) -> Path:
    """A budget that nothing keeps, of a model with three stacks, whose speed was not measured."""
    one = budget_dataset(CONFIRMED, 10_000, whole=SEQ2SEQ, speeds=False, chosen=None, refit=False, budget="weights=9%")
    return write_budget(path, one, one, "small")
