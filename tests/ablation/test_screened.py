"""Some heads of many: why each was run, and a bound on what was missed that holds and is exact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.ablation.choices import Screened, choose_head_sets
from headcount.ablation.screened import missed_effects, why_run
from headcount.core.heads import Head, Layout
from headcount.errors import InvalidOption
from tests import planted

LAYOUT = Layout.even({"encoder": (10, 10)})
HEADS = list(LAYOUT)


def screened(top: list[int], control: list[int]) -> Screened:
    return Screened("importance", tuple(HEADS[n] for n in top), tuple(HEADS[n] for n in control), len(HEADS))


def test_why_each_head_was_run() -> None:
    uneven = Layout({"encoder": ((0, 2), (1,)), "cross": ((0,),)})
    chosen = Screened("norm", (Head("encoder", 0, 2),), (Head("encoder", 1, 1),), 3, "encoder")
    _, reasons, attributes = why_run(choose_head_sets(uneven, chosen))["selected"]
    assert attributes["names"] == ["not run", "top", "control"]
    expected = np.full((2, 2, 3), np.nan)
    expected[0, 0, 0], expected[0, 0, 2], expected[0, 1, 1] = 0, 1, 2
    np.testing.assert_array_equal(reasons, expected, "no reason for heads that do not exist, or of another stack")
    assert why_run(choose_head_sets(uneven)) == {}


def test_the_bound_holds_for_nineteen_controls_of_twenty() -> None:
    """A hundred heads of known effect, ten of them top; ninety others, twelve of which have a large effect, too."""
    generator = np.random.default_rng(0)
    effect = np.full(100, 0.001)
    effect[:10], effect[40:52] = 0.5, 0.8
    held = []
    for _ in range(1000):
        control = sorted(generator.choice(np.arange(10, 100), 20, replace=False).tolist())
        choices = choose_head_sets(LAYOUT, screened(list(range(10)), control))
        ran = np.array([HEADS.index(head) for head in choices.keys])
        p = np.where(effect[ran] > 0.1, 1e-6, 0.9)
        assert choices.screened is not None
        found = missed_effects(choices, choices.screened, effect[ran], p)
        assert found["missed_effect"] == 0.5
        missed = 12 - found["missed_control"]
        held.append(missed <= found["missed_high"])
    assert 0.95 <= np.mean(held) < 1, "it holds as often as it says, and is no trivial bound"


def test_without_a_significant_effect_the_median_counts() -> None:
    choices = choose_head_sets(LAYOUT, screened([0, 1, 2], [3, 4]))
    assert choices.screened is not None
    found = missed_effects(choices, choices.screened, np.array([0.1, -0.2, 0.3, 0.2, -0.25]), np.full(5, 0.5))
    assert (found["missed_effect"], found["missed_control"]) == (0.2, 1), "more than it, not as much; of either sign"


def test_without_a_control_nothing_is_known() -> None:
    choices = choose_head_sets(LAYOUT, screened([0], []))
    assert choices.screened is not None
    assert missed_effects(choices, choices.screened, np.array([0.1]), np.array([0.5]))["missed_high"] == 99


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    tokenizer = planted.tokenizer(tmp_path_factory.mktemp("tokenizer"))
    model, texts = planted.classifier(), planted.texts()
    chosen = hc.screen(model, tokenizer, texts, task="sst2", top=2, control=1)
    return (
        hc.sweep(model, tokenizer, texts, task="sst2", by=chosen),
        hc.sweep(model, tokenizer, texts, task="sst2"),
    )


def test_what_ran_is_as_in_the_whole_sweep_and_the_rest_is_unknown(swept: tuple[Any, Any]) -> None:
    some, whole = swept
    ran = some["selected"].values > 0
    assert ran.sum() == 3
    for name in ("score", "delta", "low", "high", "loss_delta", "unchanged"):
        np.testing.assert_allclose(some[name].values[ran], whole[name].values[ran], err_msg=name)
        assert np.isnan(some[name].values[~ran]).all(), name
    assert np.isnan(some["logits"].values[~ran]).all()
    assert "mean_delta" not in some, "those that ran are no random sample of the heads"


def test_whatever_is_significant_would_be_so_in_the_whole_sweep(swept: tuple[Any, Any]) -> None:
    """Heads that were not run count as tests: no q is smaller than that of the whole sweep."""
    some, whole = swept
    ran = some["selected"].values > 0
    for name in ("q", "loss_q", "loss_rank_q"):
        assert (some[name].values[ran] >= whole[name].values[ran] - 1e-12).all(), name


def test_heads_of_another_model_are_refused(tmp_path: Path) -> None:
    model, tokenizer = planted.classifier(), planted.tokenizer(tmp_path)
    foreign = screened([99], [])
    with pytest.raises(InvalidOption, match="L9H9"):
        hc.sweep(model, tokenizer, planted.texts(20), task="sst2", by=replace(foreign, of=4))
