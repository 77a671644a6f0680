"""What is unusual about a typed text, compared with the bundled texts in the tokens of the bundled model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from headcount.data.kinds.catalogue import find_kind
from headcount.live_server.example_texts import bundled_rows
from headcount.live_server.likeness import Likeness
from headcount.zoo.bundled import bundled

PAIRS = [(row["question"], row["sentence"]) for row in bundled_rows(64)]
SENTENCES = [(sentence,) for _, sentence in PAIRS]


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(bundled("qnli"))


def lines(tokenizer: Any, known: Sequence[tuple[str, ...]], *texts: str, kind: str = "classification") -> list[str]:
    """What is said of typed texts beside those that are known."""
    task = find_kind(kind)
    likeness = Likeness(task, tokenizer, 512, known, "the bundled texts")
    return likeness.lines(texts, task.read_typed(tokenizer, texts, 512).row)


def test_nothing_is_said_of_the_texts_themselves(tokenizer: Any) -> None:
    likeness = Likeness(find_kind("classification"), tokenizer, 512, PAIRS)
    for texts in PAIRS:
        assert likeness.lines(texts, likeness.kind.read_typed(tokenizer, texts, 512).row) == []


def test_length_is_counted_in_the_model_s_tokens(tokenizer: Any) -> None:
    lengths = [len(tokenizer(*texts)["input_ids"]) for texts in PAIRS]
    question, sentence = PAIRS[0]
    own = len(tokenizer(question, sentence * 4)["input_ids"])
    [line] = lines(tokenizer, PAIRS, question, sentence * 4)
    assert line == f"It has {own} tokens; the bundled texts have {min(lengths)} to {max(lengths)}."
    assert lines(tokenizer, PAIRS, "Who?", "Me.")[0].startswith("It has 7 tokens;")


def test_a_prompt_may_be_short(tokenizer: Any) -> None:
    assert lines(tokenizer, SENTENCES, "The", kind="causal-lm") == []
    [line] = lines(tokenizer, SENTENCES, SENTENCES[0][0] * 9, kind="causal-lm")
    assert "tokens; the bundled texts have" in line


def test_single_texts_and_pairs(tokenizer: Any) -> None:
    longest = max((sentence for [sentence] in SENTENCES), key=len)
    assert lines(tokenizer, PAIRS, longest) == ["It is a single text; the bundled texts are pairs."]
    assert lines(tokenizer, SENTENCES, *PAIRS[0]) == ["It is a pair; the bundled texts are single texts."]
    assert lines(tokenizer, [*PAIRS, *SENTENCES], longest) == [], "both kinds are known"


def test_unknown_tokens(tokenizer: Any) -> None:
    question, sentence = PAIRS[0]
    own = len(tokenizer.tokenize(f"{question} {sentence}"))
    assert lines(tokenizer, PAIRS, question, f"{sentence} \u2603") == [
        f"1 of its {own + 1} tokens is unknown to the tokenizer; the bundled texts have none."
    ]
    snow = [(question, f"\u2603 \u2603 {sentence}"), *PAIRS]
    assert lines(tokenizer, snow, question, f"{sentence} \u2603") == [], "one of the texts has more of them"
    [line] = lines(tokenizer, snow, question, sentence + " \u2603" * 9)
    assert "of the bundled texts, at most" in line


def test_words_of_another_subject(tokenizer: Any) -> None:
    foreign = (
        "What does the quarterly amortisation schedule presuppose?",
        "Mitochondrial phosphorylation inhibits oligomycin nonetheless.",
    )
    texts = [set(tokenizer(*pair, add_special_tokens=False)["input_ids"]) for pair in PAIRS]
    own = tokenizer(*foreign, add_special_tokens=False)["input_ids"]
    new = sum(not any(token in text for text in texts) for token in own) / len(own)
    [line] = lines(tokenizer, PAIRS, *foreign)
    assert line.startswith(f"{100 * new:.0f} % of its tokens occur in none of the bundled texts;")
    assert lines(tokenizer, [*PAIRS, foreign], *foreign) == []
    assert lines(tokenizer, PAIRS[:19], *foreign) == [], "too few texts to know their words"


def test_without_enough_texts_only_unknown_tokens_are_told(tokenizer: Any) -> None:
    for known in ([], PAIRS[:4]):
        assert lines(tokenizer, known, "Who?") == []
        assert lines(tokenizer, known, "Who \u2603 \u2603") == ["2 of its 3 tokens are unknown to the tokenizer."]


def test_a_mask_is_no_unknown_word(tokenizer: Any) -> None:
    kind = find_kind("masked-lm")
    for texts in SENTENCES[:5]:
        assert lines(tokenizer, SENTENCES, *kind.as_typed(texts), kind="masked-lm") == []


def test_an_end_that_is_the_unknown_token_too_is_no_unknown_word() -> None:
    """As in GPT-2, whose bytes are never unknown."""
    characters = sorted(pre_tokenizers.ByteLevel.alphabet())
    letters = models.BPE({character: number for number, character in enumerate(characters)}, [])
    backend = Tokenizer(letters)
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<end>", unk_token="<end>")
    assert lines(bytewise, SENTENCES[:9], "\u2603 and <end>", kind="causal-lm") == []
