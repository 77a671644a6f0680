from __future__ import annotations

from typing import Any

import pytest
import torch

import headcount
from tests.measures.planted import HEADS, LAYERS, NOUNS, PAIRS, ROLES, SENTENCES, VERBS, WORDS, planted_attention

TEXTS = {"sentences": SENTENCES, "pairs": PAIRS}
ALL = {f"L{layer}H{head}" for layer in range(LAYERS) for head in range(HEADS)}
LONG = " ".join(SENTENCES)


@pytest.fixture(scope="module", params=["sdpa", "eager"])
def planted(request: pytest.FixtureRequest) -> Any:
    model, tokenizer = planted_attention()
    assert model.config._attn_implementation == "sdpa"
    model.set_attn_implementation(request.param)
    return model, tokenizer


def encoded(tokenizer: Any, texts: list[Any]) -> Any:
    return tokenizer(texts, padding=True, truncation=True, return_tensors="pt")


def targets(role: str, tokens: list[str], types: list[int], query: int) -> set[int]:
    """Where a token of the role's head should look, from the words alone; nowhere in particular if empty."""
    everywhere = range(len(tokens))
    found = {
        "previous": {query - 1},
        "next": {query + 1},
        "same": {query},
        "first": {0},
        "separator": {key for key in everywhere if tokens[key] == "[SEP]"},
        "own sentence": {key for key in everywhere if types[key] == types[query]},
        "noun": {key for key in everywhere if tokens[key] in NOUNS},
        "uniform": set(everywhere),
        "full stop": {key for key in everywhere if tokens[key] in {".", ","}},
        "repeated word": {key for key in everywhere if tokens[key] == tokens[query]},
    }[role]
    return found & set(everywhere)


def check(planted: Any, texts: list[Any]) -> dict[str, float]:
    """Asserts every role on a batch; the least attention on its target, by role."""
    model, tokenizer = planted
    inputs = encoded(tokenizer, texts)
    maps = headcount.observe(model, inputs).maps["encoder"]
    assert maps.shape[:3] == (LAYERS, HEADS, len(texts))
    least = dict.fromkeys(ROLES, 1.0)
    for example in range(len(texts)):
        length = int(inputs["attention_mask"][example].sum())
        tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][example])[:length]
        types = inputs["token_type_ids"][example, :length].tolist()
        assert "[UNK]" not in tokens
        assert not maps[:, :, example, :length, length:].any()
        for name in ALL:
            role = next((role for role, place in ROLES.items() if place == name), "uniform")
            layer, head = map(int, name[1:].split("H"))
            for query in range(length):
                row = maps[layer, head, example, query, :length]
                keys = sorted(targets(role, tokens, types, query)) or list(range(length))
                on_target = row[keys]
                assert on_target.sum() > 0.97
                assert torch.allclose(on_target, on_target.mean().expand(len(keys)), rtol=1e-4)
                least[role] = min(least[role], float(on_target.sum()))
    return least


@pytest.mark.parametrize("kind", TEXTS)
def test_roles_in_a_padded_batch(planted: Any, kind: str) -> None:
    assert min(check(planted, TEXTS[kind]).values()) > 0.999


@pytest.mark.parametrize("kind", TEXTS)
def test_roles_in_a_text_alone(planted: Any, kind: str) -> None:
    for text in TEXTS[kind]:
        check(planted, [text])


def test_roles_in_texts_of_full_length(planted: Any) -> None:
    assert encoded(planted[1], [LONG])["input_ids"].shape == (1, 64)
    check(planted, [LONG, "She slept."])
    check(planted, [(LONG, LONG), PAIRS[0]])


def test_hidden_states_are_the_embeddings(planted: Any) -> None:
    model, tokenizer = planted
    with torch.no_grad():
        states = model(**encoded(tokenizer, PAIRS), output_hidden_states=True).hidden_states
    assert len(states) == LAYERS + 1
    assert all(torch.allclose(state, states[0], atol=1e-5) for state in states)
    assert torch.allclose(states[0].sum(-1), torch.tensor(3.0), atol=1e-4)


def test_same_model_every_time() -> None:
    before = torch.get_rng_state()
    one, other = planted_attention()[0], planted_attention()[0]
    assert torch.equal(before, torch.get_rng_state())
    assert not one.training
    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values(), strict=True))


def test_roles_have_heads_of_their_own() -> None:
    places = list(ROLES.values())
    assert len(set(places)) == len(places)
    assert set(places) < ALL
    assert {place[:2] for place in places} == {"L0", "L1"}


def test_texts() -> None:
    tokenizer = planted_attention()[1]
    assert tokenizer.is_fast
    assert len(set(WORDS)) == len(WORDS) <= 64
    words = [set(tokenizer.tokenize(text)) for text in SENTENCES]
    assert any(found & NOUNS and found & VERBS for found in words)
    assert any(not found & NOUNS for found in words)
    assert any(not found & {".", ","} for found in words)
    assert len({len(tokenizer.tokenize(text)) for text in SENTENCES}) >= 8
    assert all(set(tokenizer.tokenize(a)) & set(tokenizer.tokenize(b)) - {"."} for a, b in PAIRS)
    assert tokenizer.convert_ids_to_tokens(tokenizer("The Dogs", "ran")["input_ids"]) == [
        "[CLS]",
        "the",
        "dog",
        "##s",
        "[SEP]",
        "ran",
        "[SEP]",
    ]
    assert tokenizer("The Dogs", "ran")["token_type_ids"] == [0, 0, 0, 0, 0, 1, 1]
