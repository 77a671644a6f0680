"""`headcount demo`: the whole story on the bundled model, offline, in one command."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    import xarray as xr

PAIRS, QUICK_PAIRS = 140, 16
DISTANCES, QUICK_DISTANCES = 10, 4
"""Texts for the distances between heads."""
COMPARED = 100
"""Pairs that both models are compared on."""
STEPS, QUICK_STEPS, LEAST = 8, 3, 40
"""Steps of the pruning curves, and the pairs that they need at least."""
TOLERANCE = 1.0
"""Points of accuracy that the smaller model may lose."""


def demo(
    *,
    out: Annotated[Path, Parameter(help="The study folder.")] = Path("demo-out"),
    full: Annotated[bool, Parameter(help="All bundled pairs instead of the 140 shortest.", negative="")] = False,
    quick: Annotated[bool, Parameter(help="Only 16 pairs: half a minute at most.", negative="")] = False,
) -> None:
    """Look at every head of a real BERT with 12 layers and 12 heads, without a GPU and without a network.

    Example: headcount demo --out demo-out

    Killed at any moment, the same command goes on where it stopped.
    """
    from rich.console import Console

    from headcount.ablation.sweep import sweep
    from headcount.cli.heads import heads_table
    from headcount.cli.options import load_model_and_tokenizer, say_saved
    from headcount.measures.compare import compare
    from headcount.measures.find_patterns import find_patterns
    from headcount.measures.maps import take_maps
    from headcount.measures.measure import measure
    from headcount.models.anatomy import read_anatomy
    from headcount.reporting.document import write_report
    from headcount.zoo.bundled import bundled_sentences

    start = time.perf_counter()
    console = Console(highlight=False)
    model, tokenizer = load_model_and_tokenizer("bundled:qnli", "cpu", "auto")
    before, _ = load_model_and_tokenizer("bundled:pretrained", "cpu", "auto")
    console.print("A BERT that says whether a sentence answers a question, and its heads:")
    console.print(heads_table(read_anatomy(model)))
    pairs = short_pairs(None if full else QUICK_PAIRS if quick else PAIRS)
    limit, distances = (QUICK_PAIRS, QUICK_DISTANCES) if quick else (None, DISTANCES)

    def step(what: str, work: Callable[[Any], Any]) -> Any:
        from headcount.cli.sweep import progress_bar

        with progress_bar(what, shown=sys.stderr.isatty()) as progress:
            return work(progress)

    def without(by: str) -> Any:
        return step(
            f"without each {by}",
            lambda tick: sweep(model, tokenizer, pairs, task="qnli", by=by, out=out, progress=tick),
        )

    by_layer, by_head = without("layer"), without("head")
    text = ("question", "sentence")
    seen = step("what heads look at", lambda tick: measure(
        model, tokenizer, pairs, text=text, distance_examples=distances, out=out, progress=tick))  # fmt: skip
    step("what their maps look like", lambda tick: find_patterns(
        model, tokenizer, pairs, text=text, out=out, progress=tick))  # fmt: skip
    words = step("words and links", lambda tick: measure(
        before, tokenizer, bundled_sentences(), only=["features", "links"], limit=limit, out=out, name="pretrained",
        progress=tick))  # fmt: skip
    changed = step("before and after fine-tuning", lambda tick: compare(
        before, model, tokenizer, pairs, text=text, limit=COMPARED, out=out, progress=tick))  # fmt: skip
    for row in range(2):
        for which, name in ((model, f"pair-{row}"), (before, f"pair-{row}-before")):
            take_maps(which, tokenizer, pairs["question"][row], pairs["sentence"][row], out=out, name=name)
    for line in story(by_layer, by_head, seen, words, changed, len(pairs)):
        console.print(line)
    make_smaller(console, model, tokenizer, pairs if not quick else short_pairs(LEAST), out, quick, step)
    page = write_report([out], out.with_name(f"{out.name}.html"))
    console.print(f"That took {time.perf_counter() - start:.0f} s.")
    say_saved(console, out)
    console.print(f"Look at it all: open {page} in a browser.", markup=False, soft_wrap=True)


def make_smaller(
    console: Any, model: Any, tokenizer: Any, pairs: Any, out: Path, quick: bool, step: Callable[[str, Any], Any]
) -> None:
    """The heads that can go, the model without them, saved, loaded again, and what it costs."""
    import copy

    from headcount.cli.cost import tables
    from headcount.cli.prune import curve_table, tell
    from headcount.models.checkpoint import save
    from headcount.models.load import load
    from headcount.pruning.cost import cost, store_cost
    from headcount.pruning.prune import prune
    from headcount.pruning.smaller import Target, find_smaller

    found = step("which heads can go", lambda tick: find_smaller(
        model, tokenizer, pairs, task="qnli", target=Target(tolerance=TOLERANCE), randoms=1 if quick else 2,
        steps=QUICK_STEPS if quick else STEPS, study=out, progress=lambda _, *done: tick(*done)))  # fmt: skip
    console.print(f"How many heads can go for {TOLERANCE:g} point, ordered by importance and at random:")
    console.print(curve_table(found))
    for line in tell(found):
        console.print(line)
    if not found.removed:
        return
    place = out.with_name(f"{out.name}-small")
    save(prune(copy.deepcopy(model), found.removed), tokenizer, place, overwrite=True)
    again, _ = load(place)
    both = {"whole": model, "small": again.float()}
    measured = step("what it costs", lambda tick: cost(both, lengths=(64,), repeats=3, progress=tick))
    store_cost(measured, out)
    console.print(f"\nThe model without them is in {place}; loaded again, beside the whole one:")
    for table in tables(measured, ["whole", "small"]):
        console.print(table)


def short_pairs(count: int | None) -> Any:
    """The shortest bundled pairs, half of them with an answer: the time of a sweep goes by their tokens."""
    from headcount.data.tables import read_table
    from headcount.zoo.bundled import bundled_pairs

    table = read_table(bundled_pairs())
    if count is None:
        return table
    length = table["question"].str.len() + table["sentence"].str.len()
    by_length = table.loc[length.sort_values(kind="stable").index]
    return by_length.groupby("label", sort=False).head(count // 2).sort_index().reset_index(drop=True)


def story(
    by_layer: xr.Dataset, by_head: xr.Dataset, seen: xr.DataTree, words: xr.DataTree, changed: xr.DataTree, pairs: int
) -> list[str]:
    """What was found, in plain sentences with the figures."""
    from headcount.core.story import tell_sweep
    from headcount.measures.story import changes, left_out, strongest

    worst = int(by_layer["delta"].values[0].argmin())
    drop = by_layer.isel(stack=0, layer=worst)
    change = f"{float(drop['delta']):+.4f} [{float(drop['low']):+.4f}, {float(drop['high']):+.4f}]"

    def most(tree: xr.DataTree, measure: str, variable: str, **choice: str) -> str:
        return " ".join(strongest(tree[measure].to_dataset(), variable, choice))

    previous, following = most(seen, "position", "previous"), most(seen, "position", "next")
    subject = most(words, "links", "gain", link="verb to subject")
    return [
        "",
        f"Without a head (it then attends everywhere alike), on {pairs} pairs:",
        *[f"- {sentence}" for sentence in tell_sweep(by_head)],
        f"- The layer that is needed most is L{worst}: without its heads the accuracy changes by {change}.",
        "",
        "What heads look at (share of their attention, mean over the texts, 95 % interval):",
        f"- most at the previous token {previous}, at the next {following},",
        f"  at [SEP] {most(seen, 'special', 'sep')}, at [CLS] {most(seen, 'special', 'cls')};",
        f"- from a word to the same word in the other text {most(seen, 'repeated', 'attention')};",
        f"- more from verb to subject than that far away elsewhere (before fine-tuning) {subject}.",
        *[f"- {line}" for line in left_out(seen) if "left out" not in line],
        "",
        "What fine-tuning changed:",
        *[f"- {line}" for line in changes(changed)],
        "",
    ]
