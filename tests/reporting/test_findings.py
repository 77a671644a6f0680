"""Do the sentences say the study's own numbers, each figure with its interval, and name the right head?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.core.heads import Head, Layout
from headcount.core.results import HEAD_DIMS, by_head, by_layer, head_coords
from headcount.reporting.view import View, find_layout, read_view
from headcount.story.gate_roles import role_sentences
from headcount.story.names import digits_for, spell_estimate
from tests import planted
from tests.choosing import planted_roles
from tests.core.curves import accuracy_curve, as_loss
from tests.reporting import studies
from tests.reporting.said import all_sentences

EVEN = Layout.even({"encoder": (2, 3)})
SIDES = Layout.even({"encoder": (3, 2), "cross": (2, 2)})


def view_of(results: dict[str, xr.Dataset]) -> View:
    return View("study", results, (), find_layout(results))


def by_name(layout: Layout, **variables: dict[str, float] | float) -> xr.Dataset:
    """A result with the named numbers, and one number for all other heads."""
    arrays = {}
    for name, values in variables.items():
        given = values if isinstance(values, dict) else {"": values}
        chosen = {head: given.get(layout.spell(head), given.get("", np.nan)) for head in layout}
        arrays[name] = (HEAD_DIMS, by_head(chosen, layout))
    return xr.Dataset(arrays, coords=head_coords(layout))


def bare_figures(sentence: str) -> list[str]:
    """The decimal figures outside brackets that no interval follows; tests, thresholds and what a figure is compared
    with need none.
    """
    needless = r"q < [\d.]+|[pq] = [\d.e-]+|against [\d.]+ for the median|random order[^;.]*\.\d+"
    spread = re.sub(r"\([^()]* in 95 % of the splits\)", "[]", re.sub(needless, "", sentence))
    left = re.sub(r"\[[^\]]*\]", "[]", spread)
    return re.findall(r"[+-]?\d+\.\d+(?!\d| \[\])", left)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """L0H0 carries the label, L0H1 misleads, the others do nothing."""
    tokenizer = planted.tokenizer(tmp_path_factory.mktemp("words"))
    return hc.sweep(planted.classifier(), tokenizer, planted.texts(), task="sst2", how="zero")


def test_the_sentences_of_a_sweep(found: xr.Dataset) -> None:
    said = all_sentences(view_of({"sweep/head-zero": found}))
    text = " ".join(said)
    assert "sst2" in said[0]
    assert "head-zero" in said[0]
    base = f"{float(found['baseline']):.2f} [{float(found['baseline_low']):.2f}, {float(found['baseline_high']):.2f}]"
    assert f"Baseline accuracy {base} on 120 examples (95 % interval)." in text
    assert "2 heads have a significant effect on accuracy (q < 0.05, 4 heads tested): worse without 1 of them" in text
    mean = [float(found[f"mean_delta{end}"]) for end in ("", "_low", "_high")]
    assert f"changes it by {spell_estimate((mean[0], mean[1], mean[2]), signed=True)}" in text
    assert "The best head to ablate is L0H1:" in text
    honest = [float(found[f"honest_gain{end}"]) for end in ("", "_low", "_high")]
    assert (
        "on the other, {:+.{d}f} ({:+.{d}f} to {:+.{d}f} in 95 % of the splits)".format(
            *honest, d=digits_for(*honest[1:])
        )
        in text
    )


def test_rows_that_were_left_out_are_said_once(found: xr.Dataset) -> None:
    blank = {"blank_rows": {"count": 2, "of": 122, "rows": [4, 7]}}
    results = {"sweep/head-zero": found.assign_attrs(blank), "sweep/head-mean": found.assign_attrs(blank)}
    said = [line for line in all_sentences(view_of(results)) if "blank" in line]
    assert said == ["2 of 122 rows of the data are blank and were left out."]
    assert not any("blank" in line for line in all_sentences(view_of({"sweep/head-zero": found})))


def test_heads_that_cannot_be_told_from_chance(found: xr.Dataset) -> None:
    said = [one for one in all_sentences(view_of({"sweep/head-zero": found})) if "not proof" in one]
    assert len(said) == 1
    assert said[0].startswith(
        "No significant effect is not proof of no effect: with 120 examples the intervals of 2 heads"
    )
    sure = found.assign(q=found["q"] * 0)
    assert not any("not proof" in one for one in all_sentences(view_of({"sweep/head-zero": sure})))


def test_their_intervals_are_those_of_the_unsure_heads(found: xr.Dataset) -> None:
    said = next(one for one in all_sentences(view_of({"sweep/head-zero": found})) if "not proof" in one)
    unsure = (found["high"] - found["low"]).values[found["q"].values >= 0.05].mean()
    assert f"are {unsure:.2g} wide" in said


def test_every_figure_of_a_sweep_has_its_interval(found: xr.Dataset) -> None:
    said = all_sentences(view_of({"sweep/head-zero": found}))
    bare = {figure for one in said for figure in bare_figures(one)}
    wide = re.search(r"are ([\d.]+) wide", " ".join(said))
    assert wide is not None
    # The gain of the best head on the examples that selected it is said to be no figure to trust.
    digits = digits_for(float(found["honest_gain_low"]), float(found["honest_gain_high"]))
    assert bare <= {f"{float(found['naive_gain']):+.{digits}f}", wide[1]}


def test_a_loss_is_better_when_it_is_lower(found: xr.Dataset) -> None:
    """The same numbers, of a metric where lower is better: what was needed hurts."""
    turned = found.assign_attrs(higher_is_better=False, metric="loss").drop_vars("loss_q")
    text = " ".join(all_sentences(view_of({"sweep/head-zero": turned})))
    assert "Baseline loss" in text
    tops = found["delta"].where(found["q"] < 0.05)
    assert f"worse without {int((tops > 0).sum())} of them, better without {int((tops < 0).sum())}." in text


def layers(layout: Layout, delta: dict[tuple[str, int], float], higher: bool = True) -> xr.Dataset:
    arrays = {
        "delta": delta,
        "q": dict.fromkeys(delta, 0.2),
        "low": {key: one - 0.01 for key, one in delta.items()},
        "high": {key: one + 0.02 for key, one in delta.items()},
    }
    return xr.Dataset(
        {name: (HEAD_DIMS[:2], by_layer(one, layout)) for name, one in arrays.items()},
        coords=head_coords(layout, heads=False),
        attrs={"by": "layer", "metric": "m", "higher_is_better": higher, "model": "x", "task": "t"},
    )


@pytest.mark.parametrize(
    ("higher", "expected"),
    [
        (True, "L1, without whose heads it changes by -0.300 [-0.310, -0.280]"),
        (False, "L0, without whose heads it changes by +0.500 [+0.490, +0.520]"),
    ],
)
def test_the_layer_needed_most(higher: bool, expected: str) -> None:
    one = layers(EVEN, {("encoder", 0): 0.5, ("encoder", 1): -0.3}, higher)
    said = all_sentences(view_of({"sweep/layer-uniform": one}))
    assert said == [f"No layer has a significant effect on m; the largest is that of {expected} (q = 0.2)."]
    sure = one.assign(q=one["q"] * 0.1)
    (line,) = all_sentences(view_of({"sweep/layer-uniform": sure}))
    assert line.startswith(f"Without the heads of {expected[:2]} m suffers most: it changes by ")


def test_the_layer_needed_most_of_several_stacks() -> None:
    one = layers(
        SIDES, {("encoder", 0): 0.1, ("encoder", 1): 0.0, ("encoder", 2): 0.0, ("cross", 0): 0.0, ("cross", 1): -0.2}
    )
    heads = by_name(SIDES, sep=0.1, sep_low=0.0, sep_high=0.2)
    said = all_sentences(view_of({"sweep/layer-uniform": one, "measures/other": heads}))
    assert "the largest is that of cross.L1, without" in said[0]


def test_the_layer_needed_most_of_several_stacks_alone() -> None:
    one = layers(SIDES, {("encoder", 1): 0.0, ("cross", 1): -0.2})
    assert "the largest is that of cross.L1, without" in all_sentences(view_of({"sweep/layer-uniform": one}))[0]


def test_a_curve_is_evaluated_on_the_half_that_did_not_select() -> None:
    """20 heads on the selection half: there 30 cost too much, although not on the other half."""
    selection = accuracy_curve([30, 40, 900], [30, 30, 30], 10_000)
    held_out = accuracy_curve([30, 400, 30], [30, 30, 30], 10_000)
    said = all_sentences(
        view_of({"pruning/curve@prune-choosing": selection, "pruning/curve@prune-confirming": held_out})
    )
    assert said[0].startswith("Selected: 20 heads, the largest cut shown to stay within 1 point of accuracy")
    assert said[1].startswith("Without 20 of 60 heads (ordered by importance) accuracy changes by -0.0370 [")
    assert said[1].endswith("on 10000 held-out examples; a random order: -0.0770.")
    assert said[2].startswith("That it stays within 1 point is refuted by the held-out examples")
    assert not [one for sentence in said for one in bare_figures(sentence)]


def test_a_curve_of_few_examples_claims_nothing() -> None:
    few = accuracy_curve([1, 2], [1, 2], 70)
    said = all_sentences(view_of({"pruning/curve@prune-choosing": few, "pruning/curve@prune-confirming": few}))
    assert said[0].startswith("No cut can be shown to stay within 1 point of accuracy")
    assert said[2].startswith("Too few held-out examples to tell whether it stays within 1 point")


def test_a_curve_without_held_out_examples_makes_no_claim() -> None:
    """Selecting and reporting on the same examples would flatter."""
    assert all_sentences(view_of({"pruning/curve": accuracy_curve([0], [0], 10_000)})) == []


def test_a_point_of_a_loss_is_the_same_as_for_prune() -> None:
    """108 heads went "within a point" for 0.56 nats: a point of a loss above 1 was 1 nat here and 0.01 elsewhere."""
    curve = as_loss(accuracy_curve([600, 900], [30, 30], 10_000)).assign(baseline=((), 3.2))
    said = all_sentences(view_of({"pruning/curve@prune-choosing": curve, "pruning/curve@prune-confirming": curve}))
    assert said == ["No cut stays within 1 point of loss, not even by its point estimate, on 10000 examples."]


def cosine(layout: Layout, **maps: float) -> xr.Dataset:
    values = {name.replace("_", "."): value for name, value in maps.items()} | {"": 0.9}
    return by_name(
        layout,
        maps=values,
        maps_low={key: one - 0.1 for key, one in values.items()},
        maps_high={key: one + 0.05 for key, one in values.items()},
    ).assign_attrs(model="runs/before", other_model="runs/after")


def test_where_two_models_differ() -> None:
    said = all_sentences(view_of({"compare/cosine": cosine(EVEN, L1H2=0.4, L0H0=0.5)}))
    assert said[0] == (
        "Between runs/before and runs/after the maps of L1H2 differ most (cosine 0.40 [0.30, 0.45]; 1 is identical)"
        ", against 0.900 for the median head."
    ), "whether one was fine-tuned from the other, the study does not know"
    assert not all_sentences(view_of({"compare/cosine@other": cosine(EVEN)}))


def test_every_figure_of_a_change_has_its_interval() -> None:
    assert not [
        one for said in all_sentences(view_of({"compare/cosine": cosine(EVEN, L1H2=0.4)})) for one in bare_figures(said)
    ]


def test_where_two_models_differ_in_several_stacks() -> None:
    said = all_sentences(view_of({"compare/cosine": cosine(SIDES, cross_L1H0=0.4)}))
    assert "the maps of cross.L1H0 differ most" in said[0]


def test_where_two_models_differ_in_a_pruned_model() -> None:
    layout = Layout({"encoder": ((0, 1), (), (1,))})
    said = all_sentences(view_of({"compare/cosine": cosine(layout, L2H1=0.4)}))
    assert "the maps of L2H1 differ most" in said[0]


def test_the_head_that_looks_most_at_each() -> None:
    one = by_name(
        EVEN,
        previous={"L1H0": 0.8, "": 0.1},
        previous_low=0.05,
        previous_high={"L1H0": 0.9, "": 0.2},
        next={"L0H2": 0.3, "": 0.2},
        next_low=0.0,
        next_high=0.5,
    )
    absent = by_name(EVEN, sep=np.nan, sep_low=np.nan, sep_high=np.nan)
    said = all_sentences(view_of({"measures/position": one, "measures/special": absent}))
    assert said == [
        (
            "L1H0 looks most at the previous token: 0.80 [0.05, 0.90]; "
            "L0H2 looks most at the next token: 0.30 [0.00, 0.50]."
        )
    ]
    assert not bare_figures(said[0])


def test_nobody_is_the_most_at_what_no_head_does() -> None:
    """In a causal model no head looks at the next token: L0H0 with 0.000 would be no finding."""
    one = by_name(
        EVEN,
        previous={"L1H0": 0.8, "": 0.1},
        previous_low=0.05,
        previous_high=0.9,
        next=0.0,
        next_low=0.0,
        next_high=0.0,
    )
    said = all_sentences(view_of({"measures/position": one}))
    assert said == ["L1H0 looks most at the previous token: 0.80 [0.05, 0.90]."]


def test_measures_of_another_model_do_not_speak() -> None:
    one = by_name(EVEN, previous=0.3, previous_low=0.1, previous_high=0.5)
    assert all_sentences(view_of({"measures/position@before": one})) == []


def test_the_head_that_looks_most_in_several_stacks() -> None:
    one = by_name(SIDES, first={"cross.L1H1": 0.8, "": 0.1}, first_low=0.0, first_high=0.9)
    said = all_sentences(view_of({"measures/special": one}))
    assert said == ["cross.L1H1 looks most at the first token: 0.80 [0.00, 0.90]."]


def test_what_the_maps_look_like(tmp_path: Path) -> None:
    """Every share with its interval, the largest first."""
    studies.patterns_study(tmp_path / "study")
    found = hc.open_study(tmp_path / "study")["measures/patterns"].to_dataset().load()
    said, clearest = all_sentences(view_of({"measures/patterns": found}))
    ends = [100 * found[f"whole_share{end}"].values[0] for end in ("", "_low", "_high")]
    order = np.argsort(-ends[0], kind="stable")
    parts = [
        f"{found['pattern'].values[one]} {ends[0][one]:.0f} % [{ends[1][one]:.0f}, {ends[2][one]:.0f}]" for one in order
    ]
    f1 = "{f1:.2f} [{f1_low:.2f}, {f1_high:.2f}]".format(**found.attrs["rule"])
    assert said == (
        f"What the maps look like: {', '.join(parts)}; named by a rule whose macro F1 is {f1} on model "
        "families that it has not seen."
    )
    assert parts[0].startswith("heterogeneous 45 % [")
    assert "vertical+diagonal 0 % [0, " in said
    assert not bare_figures(said)
    assert clearest.startswith("L")
    assert "is most often vertical (share of maps): 1.000 [1.000, 1.000]" in clearest
    assert not bare_figures(clearest)


def test_what_the_maps_of_several_stacks_look_like() -> None:
    """A sentence for the encoder and one for the decoder; cross attention has no patterns."""
    model, tokenizer = studies.measured.translator()
    data = pd.DataFrame({"source": studies.sentences(4), "target": studies.sentences(4, seed=1)})
    tree = hc.measure(model, tokenizer, data, text=("source", "target"), only="patterns")
    *said, clearest = all_sentences(view_of({"measures/patterns": tree["patterns"].to_dataset()}))
    assert clearest.startswith(("encoder.L", "decoder.L"))
    assert [one.split(" look like:")[0] for one in said] == [
        "What the maps of the encoder",
        "What the maps of the decoder",
    ]
    assert all(one.count("[") == 6 for one in said)


def test_an_empty_study_says_nothing() -> None:
    assert all_sentences(view_of({})) == []


def test_sentences_of_a_pruned_study(tmp_path: Path) -> None:
    """Only heads that are there are named, and counted."""
    path = studies.pruned_study(tmp_path / "study")
    tree = hc.open_study(path)
    results = {
        f"{kind}/{name}": node.to_dataset().load()
        for kind in ("sweep", "measures")
        for name, node in tree[kind].children.items()
    }
    view = view_of(results)
    text = " ".join(all_sentences(view))
    named = {Head("encoder", int(layer), int(head)) for layer, head in re.findall(r"\bL(\d+)H(\d+)\b", text)}
    assert named
    assert named <= set(view.layout)
    assert "of 5 heads" in text


def test_a_real_loss_names_the_heads_that_are_needed() -> None:
    model, tokenizer = studies.measured.masked()
    found = hc.sweep(model, tokenizer, pd.DataFrame({"text": studies.sentences(120)}), task="masked-lm", how="zero")
    text = " ".join(all_sentences(view_of({"sweep/head-zero": found})))
    sure = found["delta"].where(found["q"] < 0.05)
    worse, better = int((sure > 0).sum()), int((sure < 0).sum())
    assert worse + better == 1, "one head: the sentence is in the singular"
    assert f"1 head has a significant effect on loss (q < 0.05, {int(found['q'].notnull().sum())} heads tested)" in text
    assert f"tested): {'worse' if worse else 'better'} without it." in text


def test_names_that_are_no_names(found: xr.Dataset) -> None:
    """A sentence never hides what a model is called, whatever it is."""
    odd: dict[str, Any] = {"model": "<img src=x>"}
    assert all_sentences(view_of({"sweep/head-zero": found.assign_attrs(odd)}))[0].startswith("<img src=x>")


def test_roles_by_gates(tmp_path: Path) -> None:
    """As the terminal says them; the gates behind them are no finding."""
    roles = planted_roles.roles(planted.tokenizer(tmp_path / "words"), out=tmp_path / "study")
    view = read_view(tmp_path / "study")
    assert set(view.of("pruning")) == {"roles", "roles-fitted"}
    assert all_sentences(view) == role_sentences(roles)
