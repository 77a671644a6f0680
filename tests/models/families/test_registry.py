"""Every family is found by its model type; an unknown one is an error that lists the known ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.errors import UnknownFamily
from headcount.models.families.plan import Family, StackPlan
from headcount.models.families.registry import FAMILIES, family_of, recorded_family
from headcount.models.load import load_model
from tests.contracts import naive
from tests.contracts.zoo import CASES


def test_every_registered_model_type_is_tested() -> None:
    """Each by itself: types that share a record do not share all of their code."""
    assert {case.make_config().model_type for case in CASES} == set(FAMILIES)


def test_an_unknown_type_lists_the_known_ones() -> None:
    with pytest.raises(UnknownFamily, match="albert.*roberta"):
        family_of("no-such-type")


def test_a_type_without_a_record_has_nothing_of_its_own() -> None:
    assert recorded_family(tf.FunnelConfig()) == Family(("funnel",), ())
    assert recorded_family(tf.MBartConfig()).starts_with_last


def test_a_family_is_added_by_one_record(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The recipe of docs/architecture.md, followed for StarCoder2: heads are ablated, cut, saved and loaded."""
    plan = StackPlan(
        stack="decoder",
        layer="layers.*",
        attention="self_attn",
        output="self_attn.o_proj",
        query="q_proj",
        key="k_proj",
        value="v_proj",
        size="head_dim",
        groups="num_key_value_groups",
    )
    monkeypatch.setitem(FAMILIES, "starcoder2", Family(("starcoder2",), (plan,)))
    config = tf.Starcoder2Config(
        vocab_size=40,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=40,
    )
    torch.manual_seed(0)
    model = tf.Starcoder2Model(config).eval()
    batch = {"input_ids": torch.randint(3, 40, (2, 7))}
    heads = ["L0H1", "L1H2-3"]
    expected = naive.with_zero_columns(model, heads)(**batch).last_hidden_state
    with torch.no_grad(), hc.ablated(model, heads, how="zero"):
        torch.testing.assert_close(model(**batch).last_hidden_state, expected)
    hc.prune(model, heads)
    hc.save(model, None, tmp_path / "small")
    loaded = load_model(tmp_path / "small")
    torch.testing.assert_close(loaded(**batch).last_hidden_state, expected)
