"""What a page is told of the model: heads by name, text boxes, replacements with the reason where one is missing."""

from __future__ import annotations

import json
from pathlib import Path

from headcount.live_server.described import describe_model, shown_name
from headcount.live_server.live_model import LiveModel
from tests import planted
from tests.live_server import small


def test_a_classifier(tmp_path: Path) -> None:
    found = describe_model(small.planted_live(tmp_path))
    assert found["heads"] == [
        ["encoder", 0, 0, "L0H0"],
        ["encoder", 0, 1, "L0H1"],
        ["encoder", 1, 0, "L1H0"],
        ["encoder", 1, 1, "L1H1"],
    ]
    assert found["stacks"] == [{"stack": "encoder", "layers": [[0, 1], [0, 1]], "width": 2}]
    assert (found["texts"], found["texts_needed"], found["most_texts"]) == (["text", "second text"], 1, 2)
    assert found["classes"] == ["negative", "positive"]
    assert found["examples"] == [list(texts) for texts in small.EXAMPLES]
    assert found["replacements"] == [{"how": how, "missing": None} for how in ("zero", "uniform", "mean")]
    assert found["limits"]["tokens"] == 64


def test_what_is_missing_has_a_reason(tmp_path: Path) -> None:
    live = LiveModel(planted.classifier(), planted.tokenizer(tmp_path))
    missing = {row["how"]: row["missing"] for row in describe_model(live)["replacements"]}
    assert missing["zero"] is missing["uniform"] is None
    assert "--study" in missing["mean"]


def test_models_that_write_and_guess() -> None:
    assert describe_model(small.decoder())["writes"] is True
    assert describe_model(small.decoder())["texts"] == ["prompt"]
    assert describe_model(small.masked())["mask"] == "[MASK]"
    examples = describe_model(small.translator())["examples"]
    assert examples == [["the dog"], ["the mouse ran"]], "the model is to write the target"


def test_no_folder_is_named(tmp_path: Path) -> None:
    live = small.planted_live(tmp_path)
    live.model.config._name_or_path = str(tmp_path / "private" / "small")
    assert shown_name(live.model) == "small"
    assert str(tmp_path) not in json.dumps(describe_model(live))
