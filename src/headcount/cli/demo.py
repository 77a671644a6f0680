"""`headcount demo`: everything on the bundled model, offline, in one command."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from headcount.core.options import without_effect
from headcount.core.writers import writes_study

if TYPE_CHECKING:
    import pandas as pd

    from headcount.story.demo import SmallModel

PAIRS, QUICK_PAIRS = 160, 16
"""Randomly drawn pairs on which every head is ablated: what 2 cores do in a minute."""
DISTANCES, QUICK_DISTANCES = 10, 4
"""Texts for the distances between heads."""
COMPARED = 80
"""Pairs on which the two models are compared."""
DROP = 0.5
"""The share of heads that is pruned. It was set after looking at cuts of a quarter to a half on the same held-out
pairs, so the change printed for it may be slightly optimistic."""
STEPS, QUICK_STEPS, LEAST = 6, 2, 40
"""Steps of the pruning curves, and the number of pairs that they need at least in a quick demo."""
TIMED = (16, 64)
"""Batch size and length of the timed passes."""


@writes_study("out")
def demo(
    *,
    out: Annotated[Path, Parameter(help="Study folder for the results.")] = Path("demo-out"),
    full: Annotated[bool, Parameter(help="Sweep all 438 bundled pairs instead of 160 of them.")] = False,
    quick: Annotated[bool, Parameter(help="Use only 16 pairs: a minute or two.")] = False,
) -> None:
    """Analyse every head of a real BERT with 12 layers of 12 heads, without a GPU or a network.

    Example: headcount demo --out demo-out

    An interrupted demo resumes when the same command is run again.
    """
    from rich.console import Console

    from headcount.ablation.sweep import sweep
    from headcount.attention_maps.find_patterns import find_patterns
    from headcount.attention_maps.maps import maps
    from headcount.cli.heads import heads_table
    from headcount.cli.options import load_model_and_tokenizer
    from headcount.cli.progress import show_progress
    from headcount.measures.compare import compare
    from headcount.measures.measure import measure
    from headcount.reporting.document import report
    from headcount.story.demo import demo_sentences, last_screen
    from headcount.trace.anatomy import read_anatomy

    if quick:
        without_effect("full", full, "--quick takes 16 pairs", "give one of the two")
    start = time.perf_counter()
    console = Console(highlight=False)
    model, tokenizer = load_model_and_tokenizer("bundled:qnli", "cpu", "auto")
    before, _ = load_model_and_tokenizer("bundled:pretrained", "cpu", "auto")
    console.print("A BERT that says whether a sentence answers a question, and its heads:")
    console.print(heads_table(read_anatomy(model)))
    pairs = some_pairs(None if full else QUICK_PAIRS if quick else PAIRS)
    limit, distances = (QUICK_PAIRS, QUICK_DISTANCES) if quick else (None, DISTANCES)

    def step(title: str, work: Callable[[Any], Any]) -> Any:
        with show_progress(title, "examples") as progress:
            return work(progress)

    def without(by: str) -> Any:
        return step(
            f"without each {by}",
            lambda tick: sweep(model, tokenizer, pairs, task="qnli", by=by, how="uniform", out=out, progress=tick),
        )

    by_layer, by_head = without("layer"), without("head")
    text = ("question", "sentence")
    seen = step(
        "what heads look at",
        lambda tick: measure(model, tokenizer, pairs, text=text, distance_examples=distances, out=out, progress=tick),
    )
    step(
        "what their maps look like",
        lambda tick: find_patterns(model, tokenizer, pairs, text=text, out=out, progress=tick),
    )
    # A study accepts results of a second model only after a comparison that includes it.
    changed = step(
        "before and after fine-tuning",
        lambda tick: compare(before, model, tokenizer, pairs, text=text, limit=COMPARED, out=out, progress=tick),
    )
    words = step(
        "words and links",
        lambda tick: measure(
            before,
            tokenizer,
            "bundled:sentences",
            only=["features", "links"],
            limit=limit,
            out=out,
            name="pretrained",
            progress=tick,
        ),
    )
    for number, row in enumerate(pairs.index[:2]):
        question, sentence = pairs.at[row, "question"], pairs.at[row, "sentence"]
        for which, name in ((model, f"pair-{number}"), (before, f"pair-{number}-before")):
            maps(which, tokenizer, str(question), str(sentence), out=out, name=name)
    for line in demo_sentences(by_layer, by_head, seen, words, changed, len(pairs)):
        console.print(line)
    small = make_smaller(console, model, tokenizer, some_pairs(LEAST if quick else None), out, quick, step)
    page = report(out, out.with_name(f"{out.name}.html"))
    console.rule()
    for line in last_screen(by_head, seen, changed, small, page, out, time.perf_counter() - start):
        console.print(line, markup=False, soft_wrap=True)


def make_smaller(
    console: Any,
    model: Any,
    tokenizer: Any,
    pairs: pd.DataFrame,
    out: Path,
    quick: bool,
    step: Callable[[str, Any], Any],
) -> SmallModel:
    """Choose heads, prune and save the model, load it again and measure what it costs."""
    import copy

    from headcount.budgets.choose import choose
    from headcount.cli.choose import curve_heading, curve_table
    from headcount.cli.cost import tables
    from headcount.cli.options import as_stored
    from headcount.costs.cost import cost
    from headcount.models.checkpoint import save
    from headcount.models.load import load
    from headcount.pruning.prune import prune
    from headcount.story.cuts import cut_sentence
    from headcount.story.demo import SmallModel
    from headcount.zoo.bundled import bundled

    heads = model.config.num_hidden_layers * model.config.num_attention_heads
    choice = step(
        "which heads can go",
        lambda tick: choose(
            model,
            tokenizer,
            pairs,
            task="qnli",
            drop=round(DROP * heads),
            randoms=1,
            steps=QUICK_STEPS if quick else STEPS,
            study=out,
            progress=tick,
        ),
    )
    console.print("How many heads can go? Ordered by their importance on one half of the pairs, and at random:")
    console.print(curve_heading(choice.held_out))
    console.print(curve_table(choice.held_out, choice.order, len(choice.heads)))
    console.print(cut_sentence(choice.held_out, choice.order, len(choice.heads)))
    folder = out.with_name(f"{out.name}-small")
    save(as_stored(prune(copy.deepcopy(model), choice.heads)), tokenizer, folder, overwrite=True)
    again, _ = load(folder)
    both = {"whole": model, "small": again.float()}
    batch, length = TIMED
    measured = step(
        "what it costs",
        lambda tick: cost(
            both, batches=(batch,), lengths=(length,), repeats=3 if quick else 9, study=out, progress=tick
        ),
    )
    console.print(f"\nThe model without them is in {folder}; loaded again, beside the whole one:")
    for table in tables(measured, ["whole", "small"]):
        console.print(table)
    sizes = [
        sum(file.stat().st_size for file in Path(path).glob("*.safetensors")) / 1e6
        for path in (bundled("qnli"), folder)
    ]
    return SmallModel(choice.held_out, choice.order, len(choice.heads), folder, measured, (sizes[0], sizes[1]))


def some_pairs(count: int | None, seed: int = 0) -> pd.DataFrame:
    """Randomly drawn bundled pairs, half of them of each label, or all of them."""
    from headcount.data.tables import read_table
    from headcount.zoo.bundled import bundled_pairs

    table = read_table(bundled_pairs())
    if count is None:
        return table
    drawn = table.groupby("label", sort=False).sample(count // 2, random_state=seed)
    return drawn.sort_index()
