"""Answers: a planted head's change, the same numbers as `hc.ablated` and `hc.observe`, for every kind of model."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import headcount as hc
from headcount.live_server.answer import answer
from headcount.live_server.live_model import LiveModel
from tests.live_server import small
from tests.measures.tiny import hooks_of


def run(live: LiveModel, *texts: str, **fields: Any) -> dict[str, Any]:
    (found,) = answer(live, small.ask(live, *texts, **fields))
    assert hooks_of(live.model) == 0
    return found


def test_the_planted_head_carries_the_answer(tmp_path: Path) -> None:
    live = small.planted_live(tmp_path)
    (row,) = run(live, "so good", off=[{"heads": "L0H0"}])["questions"]
    positive = row["options"][1]
    assert positive["name"] == "positive"
    assert positive["whole"] > 0.8
    assert positive["without"] < 0.2
    assert positive["difference"] == pytest.approx(positive["without"] - positive["whole"])


def test_a_strength_is_a_gate() -> None:
    live = small.decoder()
    found = run(live, "the dog chased", off=[{"heads": "L1", "strength": 0.4}])
    gates = torch.ones(2, 4, dtype=torch.float64)
    gates[1] = 0.6
    with torch.no_grad(), hc.gated(live.model, gates):
        expected = live.model(**live.tokenizer("the dog chased", return_tensors="pt")).logits[0, -1].softmax(-1)
    for option in found["questions"][0]["options"]:
        assert option["without"] == pytest.approx(float(expected[option["option"]]), rel=1e-9)


def test_the_misleading_head_turns_the_answer(tmp_path: Path) -> None:
    (row,) = run(small.planted_live(tmp_path), "good down", off=[{"heads": "L0H1"}])["questions"]
    assert row["changed"] is True
    assert row["options"][1]["without"] > 0.5 > row["options"][1]["whole"]


@pytest.mark.parametrize("how", ["zero", "uniform", "mean"])
@torch.no_grad()
def test_the_numbers_are_those_of_ablated(how: str) -> None:
    live = small.decoder()
    found = run(live, "the dog chased", off=[{"heads": "L0H1, L1H2-3", "how": how}], map="L1H2", top=50)
    inputs = live.tokenizer("the dog chased", return_tensors="pt")
    reference = live.means() if how == "mean" else None
    with hc.ablated(live.model, "L0H1, L1H2-3", how=how, reference=reference):
        seen = hc.observe(live.model, dict(inputs))
    expected = seen.result.logits[0, -1].softmax(-1)
    for option in found["questions"][0]["options"]:
        assert option["without"] == pytest.approx(float(expected[option["option"]]), rel=1e-9)
    drawn = found["map"]["without"]
    cells = np.frombuffer(base64.b64decode(drawn["bytes"]), dtype=np.uint8).reshape(drawn["queries"], drawn["keys"])
    assert np.abs((cells / 255.0) ** 2 - seen.maps["decoder"][1, 2, 0].numpy()).max() < 0.005


def test_a_masked_word() -> None:
    live = small.masked()
    found = run(live, "the [MASK] chased", off=[{"heads": "L0"}], top=4)
    assert found["tokens"][""][2] == "[MASK]"
    assert found["questions"][0]["position"] == 2
    assert 4 <= len(found["questions"][0]["options"]) <= 8
    none = run(live, "the dog", map="L0H0")
    assert none["questions"] == []
    assert "[MASK]" in none["note"]
    assert none["map"]["whole"]["queries"] == 4


def test_the_stacks_of_a_translator() -> None:
    live = small.translator()
    found = run(live, "the dog chased", "a cat", off=[{"heads": "cross.L1H0"}], map="cross.L0H1")
    assert found["tokens"]["decoder"] == ["[CLS]", "a", "cat"]
    assert (found["map"]["query_side"], found["map"]["key_side"]) == ("decoder", "encoder")
    assert (found["map"]["whole"]["queries"], found["map"]["whole"]["keys"]) == (3, 4)
    assert found["questions"][0]["title"] == "next token"


def test_the_similarity_of_two_texts(tmp_path: Path) -> None:
    """Its map is of the first text, without the padding that the longer second one brings."""
    live = small.sentences(tmp_path)
    texts = ("good", "so bad up down")
    found = run(live, *texts, off=[{"heads": "L1H0"}], map="L0H1")
    (option,) = found["questions"][0]["options"]

    def cosine() -> float:
        with torch.no_grad():
            vectors = [
                live.model(**live.tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(0) for text in texts
            ]
        return float(torch.cosine_similarity(*vectors, dim=0))

    assert option["whole"] == pytest.approx(cosine(), abs=1e-9)
    with hc.ablated(live.model, "L1H0"):
        assert option["without"] == pytest.approx(cosine(), abs=1e-9)
    tokens = found["tokens"][""]
    assert tokens == ["[CLS]", "good", "[SEP]"]
    alone = hc.observe(live.model, live.tokenizer("good", return_tensors="pt")).maps["encoder"][0, 1, 0]
    assert found["map"]["whole"]["keys"] == 3
    seen = np.frombuffer(base64.b64decode(found["map"]["whole"]["bytes"]), np.uint8)
    assert np.abs(seen - 255 * alone.sqrt().numpy().ravel()).max() <= 0.51
