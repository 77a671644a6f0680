"""A BERT classifier cut to a share of its operations, without training: Headcount, Torch-Pruning, slimformers.

    python -m venv pruners-env
    pruners-env/bin/pip install torch-pruning==1.6.1 slimformers==1.13.1 -e .
    pruners-env/bin/python benchmarks/pruners.py MODEL --task sst2 --data SST-2 --operations 50 75

`MODEL` is a fine-tuned BERT classifier, `--data` a folder with train and validation files. The packages take ratios,
not budgets: every option of theirs is cut at the ratio that leaves the given share of the operations (matrix products
of a text of 128 tokens), first in equal shares of heads and units, then with as many units as still fit; `hc.choose`
takes the share itself. All see the same texts of the training data, and their labels where they need gradients. The
option that stands for each is the best on other texts of the training data; the scores of all options are printed.
Times are of 16 x 128 tokens, all models in turns. Whether the result can be saved: it is sent to disk and back, and
its outputs are compared. A package that is not installed is left out.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
import transformers
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode
from transformers import AutoModelForSequenceClassification, PreTrainedModel

import headcount as hc
from headcount.budgets.options import REFITS, SCORES
from headcount.core.score_tables import Sums
from headcount.core.statistics import bootstrap, interval
from headcount.costs.cost import make_inputs, time_in_turns
from headcount.data.encode import Encodings, encode
from headcount.data.examples import Examples, draw_rows, read_examples
from headcount.data.kinds.metrics import Metric
from headcount.data.tables import read_table
from headcount.data.tasks import Task, find_task
from headcount.models.longest import longest_input
from headcount.training.scores import predict

BATCH, LENGTH, TEXTS_OF_A_PASS = 32, 128, 16
SLIM_BATCHES = 10
"""slimformers reads so many by default; it passes over them once for every layer's heads and units."""
STEPS = 5
"""Of Torch-Pruning where it prunes little by little, with new gradients before each step."""
MOST = 0.9
"""Of the heads and of the units: slimformers fails where none is left, Torch-Pruning keeps them all."""
CLOSE = 1e-4
"""The largest difference between the logits of a model and of what came back from disk."""

Batch = dict[str, Tensor]
Cut = Callable[[float, float], PreTrainedModel]
"""From the shares of heads and of units that go to the model that is left."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with a fine-tuned BERT classifier and its tokenizer")
    parser.add_argument("--task", default="sst2")
    parser.add_argument("--data", required=True, help="a folder with train and validation files")
    parser.add_argument("--operations", type=float, nargs="+", default=[50, 75], help="percent that are left")
    parser.add_argument("--texts", type=int, default=512, help="to prune by, and as many to select an option")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--every-option", action="store_true", help="of hc.choose: scores, rearrangement, refits")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    bench = make_bench(given.model, given.task, given.data, given.texts)
    packages = {"torch-pruning": torch_pruning_ways, "slimformers": slim_ways}
    installed = {name: found for name in ("torch", "transformers", *packages) if (found := installed_version(name))}
    print(json.dumps(installed | {"machine": platform.machine(), "threads": given.threads}))
    ways = {"headcount": headcount_ways(bench, given.every_option)}
    ways |= {name: list_ways(bench) for name, list_ways in packages.items() if name in installed}
    for share in given.operations:
        rows = [best_of(bench, name, options, share / 100) for name, options in ways.items()]
        print_rows(bench, rows, share, given.repeats)


def installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# The examples


@dataclass(frozen=True)
class Scorer:
    """Examples, and the scores of models on them."""

    tokenizer: Any
    examples: Examples
    encodings: Encodings
    metric: Metric

    def features(self, model: PreTrainedModel) -> np.ndarray:
        """[example, k]: what the metric sums up."""
        outputs = predict(model, self.tokenizer, self.examples.task.kind, self.encodings)
        return np.asarray(self.metric.features(outputs, self.examples.labels))

    def score(self, features: np.ndarray) -> float:
        return float(self.metric.combine(features.sum(0)))

    def change(self, whole: np.ndarray, cut: np.ndarray) -> tuple[float, float, float]:
        """Of the score, with its 95 % interval."""
        scores = bootstrap(Sums(np.stack([whole, cut]), self.metric.combine))
        low, high = interval(scores[:, 1] - scores[:, 0])
        return self.score(cut) - self.score(whole), float(low), float(high)


@dataclass(frozen=True)
class Bench:
    """The whole model, the texts that the packages see, and the examples that select and report."""

    model: PreTrainedModel
    tokenizer: Any
    task: Task
    seen: pd.DataFrame
    other: pd.DataFrame
    batches: list[Batch]
    """Of one shape, with labels: slimformers adds up activations position by position."""
    selection: Scorer
    validation: Scorer

    @property
    def inputs(self) -> list[Batch]:
        return [{key: values for key, values in batch.items() if key != "labels"} for batch in self.batches]


def make_bench(path: str, task_name: str, data: str, texts: int) -> Bench:
    model, tokenizer = hc.load(path)
    model, task = model.float().eval(), find_task(task_name)
    drawn = draw_rows(read_table(data, "train"), 2 * texts, seed=0)
    mixed = np.random.default_rng(0).permutation(len(drawn))
    seen, other = (drawn.iloc[np.sort(part)] for part in (mixed[:texts], mixed[texts:]))

    def read(table: pd.DataFrame) -> Examples:
        return read_examples(table, task, model.config.id2label, tokenizer=tokenizer)

    def scorer(table: pd.DataFrame) -> Scorer:
        examples = read(table)
        encodings = encode(examples, tokenizer, longest_input(model, tokenizer))
        return Scorer(tokenizer, examples, encodings, task.kind.find_metric(task.metric))

    examples = read(seen)
    columns = [list(column) for column in zip(*examples.texts, strict=True)]
    batch = dict(tokenizer(*columns, padding=True, truncation=True, return_tensors="pt"))
    batch["labels"] = torch.tensor(np.asarray(examples.labels))
    starts = range(0, len(examples) - BATCH + 1, BATCH)
    batches = [{key: values[start : start + BATCH] for key, values in batch.items()} for start in starts]
    validation = scorer(read_table(data, "validation"))
    return Bench(model, tokenizer, task, seen, other, batches, scorer(other), validation)


# Budgets


@dataclass(frozen=True)
class Way:
    """An option of a package: from the share of the operations to a model with at most so many, or None."""

    name: str
    make: Callable[[float], PreTrainedModel | None]


@dataclass(frozen=True)
class Row:
    """What a package made of the model."""

    package: str
    option: str
    model: PreTrainedModel
    selection: float
    features: np.ndarray
    """On the validation examples."""


def best_of(bench: Bench, package: str, ways: list[Way], share: float) -> Row:
    """The option with the best score on the examples that select."""
    best: Row | None = None
    for way in ways:
        start = time.perf_counter()
        model = way.make(share)
        seconds = time.perf_counter() - start
        if model is None:
            print(f"{package}, {way.name}: cannot leave {share:.0%} of the operations", flush=True)
            continue
        selection = bench.selection.score(bench.selection.features(model))
        row = Row(package, way.name, model, selection, bench.validation.features(model))
        print(
            f"{package}, {way.name}: {operations(model) / operations(bench.model):.1%} of the operations, "
            f"{selection:.4f} where it is selected, {bench.validation.score(row.features):.4f} on the validation "
            f"examples, {seconds:.0f} s",
            flush=True,
        )
        if best is None or row.selection > best.selection:
            best = row
    assert best is not None, f"no option of {package} can leave {share:.0%} of the operations"
    return best


def fit(
    whole: PreTrainedModel, cut: Cut, share: float, *, heads: float = 1.0, sizes: Cut | None = None
) -> PreTrainedModel | None:
    """The cut that leaves this share of the operations: heads and units in equal shares, then units that still fit.

    `heads`: the share of heads that goes for each share of units. `sizes`: a faster cut with as many operations.
    """
    budget = share * operations(whole)

    def fits(of_heads: float, of_units: float) -> bool:
        return operations((sizes or cut)(of_heads, of_units)) <= budget

    def heads_of(of_units: float) -> float:
        return min(heads * of_units, MOST)

    widest = next((units for units in (0.65, 0.8, MOST) if fits(heads_of(units), units)), None)
    if widest is None:
        return None
    of_heads = heads_of(least(lambda units: fits(heads_of(units), units), widest))
    return cut(of_heads, least(lambda units: fits(of_heads, units), widest))


def least(fits: Callable[[float], bool], high: float, steps: int = 9) -> float:
    """The smallest share that fits, by bisection from one that does."""
    low = 0.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


@torch.no_grad()
def operations(model: PreTrainedModel) -> int:
    """Of the matrix products for one text, counted as `headcount.costs.cost.flops` does, in models of any package."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(**make_inputs(model, 1, LENGTH))
    return int(counter.get_total_flops())


# Headcount and the packages


def headcount_ways(bench: Bench, every_option: bool) -> list[Way]:
    """What `hc.choose` makes by default, and its choice without the refit of what is left; or all of its options."""

    @cache
    def choose(share: float, score: str, rearrange: bool, refit: str) -> hc.PartChoice:
        options: dict[str, Any] = {"task": bench.task, "what": "both", "operations": f"{share:.0%}", "steps": 1}
        options |= {"score": score, "rearrange": rearrange, "refit": refit, "randoms": 0}
        choice = hc.choose(bench.model, bench.tokenizer, bench.other, train=bench.seen, **options)
        assert isinstance(choice, hc.PartChoice)
        return choice

    def way(score: str, rearrange: bool, refit: str) -> Way:
        def make(share: float) -> PreTrainedModel:
            if refit == "none":  # the same parts go whatever the refit is
                return hc.prune(copy.deepcopy(bench.model), choose(share, score, rearrange, "weights").parts)
            return choose(share, score, rearrange, refit).model

        return Way(f"{score}{', rearranged' if rearrange else ''}, refit: {refit}", make)

    if not every_option:
        return [way("fisher", False, refit) for refit in ("weights", "none")]
    return [way(*option) for option in product(SCORES, (False, True), REFITS)]


def layers_of(model: PreTrainedModel) -> list[Any]:
    return list(model.base_model.encoder.layer)


def torch_pruning_ways(bench: Bench) -> list[Way]:
    """Its importances, ranked over all layers or in each; its BERT example, which cuts the hidden size too."""
    prepared = prepare_importances(bench)
    everywhere = {"global_pruning": True}

    def way(name: str, importance: str, scope: dict[str, bool], heads: float = 1.0, **options: Any) -> Way:
        cut = partial(cut_by_torch_pruning, bench, prepared[importance], scope)
        sizes = cut if "steps" in options else None
        make = partial(fit, bench.model, partial(cut, **options), heads=heads, sizes=sizes)
        return Way(f"{importance}, {name}", make)

    return [
        *[way("global", importance, everywhere) for importance in prepared],
        *[way("local", importance, {}) for importance in prepared],
        way("global, a quarter more heads than units", "Taylor", everywhere, 1.25),
        way(f"global, in {STEPS} steps", "Taylor", everywhere, steps=STEPS),
        way("global, dimensions of heads", "Taylor", everywhere | {"isomorphic": True}, whole_heads=False),
        way("global, hidden size too", "Taylor", everywhere, hidden=True),
        way("global, hidden size too (its BERT example)", "magnitude", everywhere, hidden=True),
    ]


Prepared = tuple[Any, list[Tensor] | None]
"""An importance, and the gradients that it expects in the parameters."""


def prepare_importances(bench: Bench) -> dict[str, Prepared]:
    from torch_pruning import importance

    gradients = add_gradients(bench.model, bench.batches)
    hessian, squares = importance.GroupHessianImportance(), [torch.zeros_like(g) for g in gradients]
    for example in single_examples(bench.batches):
        bench.model.zero_grad()
        bench.model(**example).loss.backward()
        hessian.accumulate_grad(bench.model)
        for square, parameter in zip(squares, bench.model.parameters(), strict=True):
            if parameter.grad is not None:
                square += parameter.grad**2
    bench.model.zero_grad()
    counted = max(hessian._counter.values())
    print(f"torch-pruning: its Hessian importance has seen {len(bench.batches) * BATCH} examples and kept {counted}")
    return {
        "magnitude": (importance.GroupMagnitudeImportance(p=2), None),
        "Taylor": (importance.GroupTaylorImportance(), gradients),
        "Taylor of groups": (importance.GroupTaylorImportance(multivariable=True), gradients),
        "Taylor of groups, not normalised": (
            importance.GroupTaylorImportance(multivariable=True, normalizer=None),
            gradients,
        ),
        "Hessian": (hessian, gradients),
        "Hessian of all examples": (importance.GroupHessianImportance(), squares),
    }


def add_gradients(model: PreTrainedModel, batches: list[Batch]) -> list[Tensor]:
    """Of the loss, summed over the batches, as its examples do it; they stay in the parameters."""
    model.zero_grad()
    for batch in batches:
        model(**batch).loss.backward()
    return [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in model.parameters()]


def single_examples(batches: list[Batch]) -> Iterator[Batch]:
    """Without their padding."""
    for batch in batches:
        for row, mask in enumerate(batch["attention_mask"]):
            tokens = slice(0, int(mask.sum()))
            one = {key: values[row : row + 1] for key, values in batch.items()}
            yield {key: values if key == "labels" else values[:, tokens] for key, values in one.items()}


def cut_by_torch_pruning(
    bench: Bench,
    prepared: Prepared,
    scope: dict[str, bool],
    heads: float,
    units: float,
    *,
    hidden: bool = False,
    whole_heads: bool = True,
    steps: int = 1,
) -> PreTrainedModel:
    """`hidden`: dimensions of the hidden state go too. Without `whole_heads`, dimensions of all heads go."""
    from torch_pruning.pruner import BasePruner

    importance, gradients = prepared
    model, importance = copy.deepcopy((bench.model, importance))  # together: the importance may know the parameters
    for parameter, gradient in zip(model.parameters(), gradients or [], strict=False):
        parameter.grad = gradient.clone()
    attentions = [layer.attention.self for layer in layers_of(model)]
    projections = [getattr(module, name) for module in attentions for name in ("query", "key", "value")]
    pruner = BasePruner(
        model,
        {key: values[:2] for key, values in bench.inputs[0].items()},
        importance=importance,
        pruning_ratio=units,
        head_pruning_ratio=heads,
        iterative_steps=steps,
        num_heads=dict.fromkeys(projections, model.config.num_attention_heads),
        prune_num_heads=whole_heads,
        prune_head_dims=not whole_heads,
        ignored_layers=[
            model.classifier,
            model.base_model.pooler,
            *([] if hidden else [layer.output.dense for layer in layers_of(model)]),
        ],
        in_channel_groups={},  # these two: its defaults are shared by all pruners of a process
        out_channel_groups={},
        output_transform=lambda output: output.logits.sum(),
        **scope,
    )
    for step in range(steps):
        if step:
            add_gradients(model, bench.batches)
        pruner.step()
        for module in attentions:
            # A layer that was to lose all its heads keeps them all, and is counted without any.
            module.num_attention_heads = pruner.num_heads[module.query] or module.num_attention_heads
            module.attention_head_size = module.query.out_features // module.num_attention_heads
            module.all_head_size = module.query.out_features
    model.zero_grad()
    return model


def slim_ways(bench: Bench) -> list[Way]:
    """Units alone and with heads, by its own order and by the variance that its documentation adds to it."""
    # slimformers 1.13.1 looks for this class where transformers 5 has it no more.
    transformers.modeling_utils.Conv1D = transformers.pytorch_utils.Conv1D
    from slimformers import discovery, pruner

    pruner.console.quiet = True
    untouched = cut_by_slimformers(bench.model, None, bench.inputs, 0.5, 0.5)
    gone = bench.model.num_parameters() - untouched.num_parameters()
    name = type(bench.model).__name__
    print(f"slimformers, asked for half of the heads and units of a {name}: {gone:,} parameters go")
    discovery.DISCOVERY_REGISTRY[name] = discovery.discover_bert_ffns
    discovery.ATTENTION_DISCOVERY_REGISTRY[name] = discovery.discover_bert_attention

    def way(name: str, strategy: Any, heads: float) -> Way:
        cut = partial(cut_by_slimformers, bench.model, strategy, bench.inputs)
        few = [{key: values[:2, :8] for key, values in bench.inputs[0].items()}]
        sizes = partial(cut_by_slimformers, bench.model, None, few)
        return Way(name, partial(fit, bench.model, cut, heads=heads, sizes=sizes))

    return [
        way("magnitude, heads and units", None, 1.0),
        way("magnitude, units", None, 0.0),
        way("variance, units", most_varied, 0.0),
    ]


def most_varied(activations: Tensor, sparsity: float) -> tuple[Tensor, int]:
    """The units that are kept: those whose activations vary most."""
    spread = activations.flatten(0, -2).var(dim=0)
    return torch.topk(spread, int((1 - sparsity) * len(spread))).indices, len(spread)


def cut_by_slimformers(
    model: PreTrainedModel, strategy: Any, batches: list[Batch], heads: float, units: float
) -> PreTrainedModel:
    from slimformers import Pruner

    model = copy.deepcopy(model)
    steps = [("ffn", {"sparsity": units}), ("attention", {"sparsity": heads})]
    Pruner(model, strategy).prune(batches, strategy=steps if heads else steps[:1], max_batches=SLIM_BATCHES)
    return model


# Saved and loaded


def survives(model: PreTrainedModel, back: Callable[[PreTrainedModel, Path], PreTrainedModel]) -> str:
    """Whether a model that comes back from disk has the same outputs, and if not, why."""
    inputs = make_inputs(model, 2, LENGTH)
    try:
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            apart = float((back(model, Path(folder)).eval()(**inputs).logits - model(**inputs).logits).abs().max())
    except Exception as error:  # noqa: BLE001 - whatever is raised on the way is the answer
        return f"no ({type(error).__name__}: {' '.join(str(error).split())[:160]})"
    return "yes" if apart < CLOSE else f"no (logits differ by {apart:.2g})"


def through_folder(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    model.save_pretrained(folder)
    return load_folder(folder)


def load_folder(folder: Path, **options: Any) -> PreTrainedModel:
    returned: PreTrainedModel = AutoModelForSequenceClassification.from_pretrained(folder, **options)
    return returned


def through_edited_folder(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """With the sizes of the first layer in the config, as one would try by hand."""
    model, first = copy.deepcopy(model), layers_of(model)[0]
    model.config.hidden_size = first.intermediate.dense.in_features
    model.config.intermediate_size = first.intermediate.dense.out_features
    model.config.num_attention_heads = first.attention.self.num_attention_heads
    return through_folder(model, folder)


def through_pickle(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    torch.save(model, folder / "model.pt")
    returned: PreTrainedModel = torch.load(folder / "model.pt", weights_only=False)
    return returned


def through_saved_folder(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """As one would load it where Headcount is not installed."""
    hc.save(model, None, folder / "small")
    return load_folder(folder / "small", trust_remote_code=True)


WAYS_TO_DISK = {
    "save_pretrained and from_pretrained": through_folder,
    "the same, sizes set in the config": through_edited_folder,
    "a pickle of the object": through_pickle,
    "hc.save and from_pretrained": through_saved_folder,
}


def print_rows(bench: Bench, rows: list[Row], share: float, repeats: int) -> None:
    models = {"whole": bench.model} | {row.package: row.model for row in rows}
    inputs = {name: make_inputs(model, TEXTS_OF_A_PASS, LENGTH) for name, model in models.items()}
    times = {name: float(np.median(seconds)) for name, seconds in time_in_turns(models, inputs, repeats).items()}
    scorer = bench.validation
    whole = scorer.features(bench.model)
    print(f"\n{share:g} % of the operations; {scorer.metric.name}, {len(whole)} validation examples")
    print("| | option | score | change | operations | ms | faster | parameters |")
    print("|---|---|---|---|---|---|---|---|")
    for row in [Row("whole", "", bench.model, 0.0, whole), *rows]:
        change, low, high = scorer.change(whole, row.features)
        print(
            f"| {row.package} | {row.option} | {scorer.score(row.features):.4f} "
            f"| {change:+.4f} [{low:+.4f}, {high:+.4f}] "
            f"| {operations(row.model) / operations(bench.model):.1%} | {1e3 * times[row.package]:.0f} "
            f"| {times['whole'] / times[row.package]:.2f} | {row.model.num_parameters() / 1e6:.2f} M |"
        )
    for row in rows:
        for name, back in WAYS_TO_DISK.items():
            print(f"{row.package}, through {name}: {survives(row.model, back)}")
    print(flush=True)


if __name__ == "__main__":
    main()
