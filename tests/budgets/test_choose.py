"""Does one function choose both ways, refuse options of the other way, and say in one line what cannot be done?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.budgets.choose_parts import PartChoice
from headcount.choosing.choose_heads import Choice
from headcount.errors import DataProblem, HeadcountError, InvalidOption, UnknownHead
from tests import planted
from tests.budgets import small
from tests.contracts import configs
from tests.contracts.zoo import build
from tests.pruning import planted_groups as groups

TEXTS = planted.texts(48)
NAMED = {"id2label": planted.NAMES, "label2id": {"negative": 0, "positive": 1}}


def find(model: Any, tokenizer: Any, data: Any = TEXTS, **options: Any) -> Any:
    return hc.choose(model, tokenizer, data, **{"task": "sst2"} | options)


def test_both_ways(tokenizer: Any) -> None:
    model = small.classifier()
    heads = find(model, tokenizer, keep=6, steps=2, randoms=1)
    assert isinstance(heads, Choice)
    assert len(heads.heads) == 6
    for what in ("heads", "units", "both"):
        parts = find(model, tokenizer, what=what, weights="70%", **small.QUICK)
        assert isinstance(parts, PartChoice)
        assert parts.parts is not None
        assert bool(parts.parts.heads) == (what != "units")
        assert bool(parts.parts.units) == (what != "heads")
        assert small.weights_left(parts.model, model) <= 0.7
        assert parts.order == what


def test_units_within_a_tolerance(tokenizer: Any) -> None:
    found = find(small.classifier(), tokenizer, what="units", tolerance=100, **small.QUICK | {"steps": 4})
    assert found.step == found.held_out.sizes["step"] - 1, "all is within a hundred points"
    assert found.verdict == "confirmed"


def test_a_speed_on_this_machine(tokenizer: Any) -> None:
    """Only that the search ends, with a choice from the table or with one line that says what can be reached."""
    torch.manual_seed(0)
    config = configs.text(2) | {"hidden_size": 64, "intermediate_size": 512} | NAMED
    model = tf.BertForSequenceClassification(tf.BertConfig(**config)).eval()
    options: dict[str, Any] = small.QUICK | {"batch": 4, "length": 32, "randoms": 0}
    try:
        found = find(model, tokenizer, what="both", faster=1.1, **options)
    except InvalidOption as error:
        assert "got faster=1.1; " in str(error)  # noqa: PT017
        return
    assert found.held_out.attrs["currency"] == "time"
    assert found.step is not None
    assert small.operations_left(found.model, model, 32) < 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"what": "both"}, "got no budget; expected exactly one"),
        ({"what": "both", "operations": "50%", "weights": "50%"}, "got operations=50% and weights=50%; expected exac"),
        ({"operations": "50%", "faster": 2}, "got operations=50% and faster=2"),
        ({"operations": "50%", "tolerance": 1}, "got operations=50% and tolerance=1"),
        ({"what": "both", "operations": "2%", "length": 8}, "as few heads and units as can stay"),
        ({"what": "heads", "operations": "10%", "length": 8}, "or what='both'"),
        ({"what": "both", "faster": 1}, "got faster=1; expected more than 1"),
        ({"what": "both", "operations": "0%"}, "got operations=0%; expected a share between"),
        ({"what": "both", "operations": "120%"}, "got operations=120%"),
        ({"what": "both", "operations": "abc"}, "got operations=abc; expected the share that is left, such as 50%"),
        ({"what": "layers", "operations": "50%"}, "what='layers'; expected one of heads, units, both"),
        ({"operations": "50%", "order": "random"}, "got order=, which has no effect here: what stays is chosen to a"),
        ({"operations": "50%", "drop": 3}, "got drop=, which has no effect"),
        ({"what": "both", "keep": 3}, "got keep=, which has no effect"),
        ({"operations": "50%", "anew": True}, "got anew=, which has no effect"),
        ({"operations": "50%", "stack": "encoder"}, "got stack=, which has no effect"),
        ({"operations": "50%", "by": "group"}, "got by=, which has no effect"),
        ({"operations": "50%", "normed": False}, "normed=, which has no effect"),
        ({"what": "units", "operations": "70%", "at_least": 1}, "got at_least=, which has no effect here: no heads go"),
        ({"tolerance": 1, "refit": "weights"}, "got refit=, which has no effect here: heads are removed in an order"),
        ({"tolerance": 1, "score": "fisher"}, "got score=, which has no effect"),
        ({"keep": 3, "rearrange": True}, "got rearrange=, which has no effect"),
        ({"keep": 3, "own_labels": True}, "got own_labels=, which has no effect"),
        ({"keep": 3, "train": TEXTS}, "got train=, which has no effect"),
        ({"keep": 3, "multiple": 8}, "got multiple=, which has no effect"),
        ({"keep": 3, "batch": 8}, "got batch=, which has no effect"),
        ({"keep": 3, "length": 8}, "got length=, which has no effect"),
        ({"operations": "50%", "by_estimate": True}, "got by_estimate=, which has no effect without tolerance="),
        ({"operations": "50%", "name": "a"}, "got name=, which has no effect without study="),
        ({"operations": "50%", "length": 999}, "got the length 999; the model takes at most 64"),
        ({"operations": "50%", "refit": "all"}, "refit='all'; expected one of weights, scales, none"),
        ({"operations": "50%", "randoms": -1}, "randoms=-1"),
    ],
)
def test_what_is_refused(tokenizer: Any, options: dict[str, Any], expected: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        find(small.classifier(), tokenizer, **options)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_too_few_examples(tokenizer: Any, tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="got 30 examples; expected at least 40"):
        find(small.classifier(), tokenizer, operations="50%", limit=30, study=tmp_path / "study")


def mixture() -> Any:
    config = tf.MixtralConfig(
        **configs.text(2) | {"num_key_value_heads": 2, "num_local_experts": 2, "num_experts_per_tok": 1}
    )
    return tf.MixtralForCausalLM(config).eval()


def without_record() -> Any:
    return build(tf.AutoModelForCausalLM, tf.GemmaConfig(**configs.text(2) | {"num_key_value_heads": 2}), None, 0.3)


@pytest.mark.parametrize(
    ("make", "expected"),
    [(mixture, "mixtures of experts, whose units cannot be removed yet"), (without_record, "no record of its feed-fo")],
    ids=["mixture of experts", "no record"],
)
@pytest.mark.parametrize("what", ["units", "both"])
def test_models_whose_units_are_not_known(tokenizer: Any, make: Any, expected: str, what: str, tmp_path: Path) -> None:
    study = tmp_path / "study"
    with pytest.raises((UnknownHead, InvalidOption), match=expected) as caught:
        find(make(), tokenizer, groups.texts(48), task="causal-lm", what=what, operations="60%", study=study)
    assert "what='heads'" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not study.exists()


def test_layers_that_share_their_weights(tokenizer: Any) -> None:
    config = tf.AlbertConfig(**configs.text(2) | NAMED | {"embedding_size": 16})
    model = build(tf.AutoModelForSequenceClassification, config, None, 0.3)
    with pytest.raises(HeadcountError, match="uses the weights of one layer for all") as caught:
        find(model, tokenizer, planted.texts(48), what="both", operations="60%", **small.QUICK)
    assert "\n" not in str(caught.value)


def test_a_training_split_is_found(tokenizer: Any, tmp_path: Path) -> None:
    """The folder's own, as if it were given; the same parts go."""
    train = planted.texts(60, seed=8)
    TEXTS.to_csv(tmp_path / "validation.csv", index=False)
    train.to_csv(tmp_path / "train.csv", index=False)
    model = small.classifier()
    options: dict[str, Any] = {"what": "both", "operations": "50%", **small.QUICK}
    found = find(model, tokenizer, str(tmp_path), **options)
    given = find(model, tokenizer, pd.read_csv(tmp_path / "validation.csv"), train=train, **options)
    alone = find(model, tokenizer, pd.read_csv(tmp_path / "validation.csv"), **options)
    assert str(found.parts) == str(given.parts) != str(alone.parts)
