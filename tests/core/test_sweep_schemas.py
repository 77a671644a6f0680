"""The words for a sweep's numbers say the right direction, whatever the metric and whatever is left out."""

from __future__ import annotations

import pytest

import headcount as hc
from headcount.core.schema import read_schema
from headcount.core.sweep_schemas import patch_schemas, sweep_schemas
from tests import planted


@pytest.mark.parametrize(
    ("higher", "by", "title", "direction"),
    [
        (True, "head", "Change of f1 without the head", "below 0: the model needs the head"),
        (False, "head", "Change of f1 without the head", "above 0: the model needs the head"),
        (True, "layer", "Change of f1 without the layer's heads", "below 0: the model needs the layer"),
        (True, "sets", "Change of f1 without the set of heads", "below 0: the model needs the set"),
        (
            True,
            "all-but-one",
            "Change of f1 with this head alone in its layer",
            "near 0: this head suffices for its layer",
        ),
        (False, "all-but-one", "Change of f1 with this head alone in its layer", "near 0: this head suffices"),
    ],
)
def test_the_change(higher: bool, by: str, title: str, direction: str) -> None:
    schema = sweep_schemas("f1", higher, by)["delta"]
    assert schema.title == title
    assert schema.direction.startswith(direction)
    assert (schema.unit, schema.signed, schema.shown) == ("f1", True, True)


def test_a_loss_is_better_when_it_is_lower_whatever_the_metric_is() -> None:
    for higher in (True, False):
        assert sweep_schemas("f1", higher, "head")["loss_delta"].direction.startswith(
            "above 0: the model needs the head"
        )


def test_a_sweep_stores_them(tmp_path_factory: pytest.TempPathFactory) -> None:
    tokenizer = planted.tokenizer(tmp_path_factory.mktemp("words"))
    path = tmp_path_factory.mktemp("out") / "study"
    found = hc.sweep(planted.classifier(), tokenizer, planted.texts(), task="sst2", how="zero", out=path)
    again = hc.open_study(path)["sweep/head-zero"]
    schemas = sweep_schemas("accuracy", True, "head")
    screened = {name for name in schemas if name not in found}
    assert screened == {"missed_effect", "missed_control", "missed_high"}, "of a sweep over some of the heads"
    for name in schemas.keys() - screened:
        schema = schemas[name]
        assert read_schema(found[name]) == schema
        assert read_schema(again[name]) == schema


def test_a_patch_says_what_was_put_where() -> None:
    titles = {
        patch_schemas("f1", direction, part, positions)["share"].title
        for direction in ("denoise", "noise")
        for part in ("output", "weights", "key")
        for positions in ("all", "last", "answer", "verb")
    }
    assert len(titles) == 24
    assert "Share of the difference in f1, corrupted input with a head from the clean one" in titles
    assert (
        "Share of the difference in f1, clean input with the attention map of a head from the corrupted one at the "
        "last token of the prompt" in titles
    )
    several = patch_schemas("f1", "noise", by="all-but-one")["share"]
    assert several.title.endswith("clean input with all heads of its layer but this one from the corrupted one")
    assert (several.direction, patch_schemas("f1", "noise")["share"].direction) == (
        "0: they are needed",
        "0: it is needed",
    )
    assert [patch_schemas("f1", direction)["share"].centre for direction in ("denoise", "noise")] == [0, 1]
    assert not any("without" in schema.title for schema in patch_schemas("f1", "noise").values())
