"""What kind of token stands where: classes, forms, links and controls with the bundled tokenizer, and their batches."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers import AutoTokenizer

import headcount as hc
from headcount.data.annotations import Annotated
from headcount.data.marks import Facts, Links, VocabularyIds, find_facts, mark
from headcount.data.read_annotated import read_annotated
from headcount.zoo.bundled import bundled_sentences
from tests.measures.tiny import bare_tokenizer

QUESTION, ANSWER = "Who repaired the watches, Anna?", "Anna repaired watches. The old clock stopped, and Anna slept"


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return AutoTokenizer.from_pretrained(hc.bundled("qnli"))


def facts_of(tokenizer: Any, *texts: str) -> tuple[Facts, list[str], list[int | None]]:
    made = tokenizer(*texts)
    return (
        find_facts({key: made[key] for key in made}, VocabularyIds.of(tokenizer), made.word_ids()),
        made.tokens(),
        made.word_ids(),
    )


def annotated(tokenizer: Any, sentence: Annotated) -> tuple[Facts, list[str], list[int | None]]:
    made = tokenizer(list(sentence.words), is_split_into_words=True)
    row = {key: made[key] for key in made}
    return find_facts(row, VocabularyIds.of(tokenizer), made.word_ids(), sentence), made.tokens(), made.word_ids()


def test_classes_of_a_pair(tokenizer: Any) -> None:
    facts, tokens, _ = facts_of(tokenizer, QUESTION, ANSWER)
    assert facts.length == len(tokens)
    everywhere = range(len(tokens))
    middle = tokens.index("[SEP]")
    expected = {
        "cls": [0],
        "first": [0],
        "sep": [middle, len(tokens) - 1],
        "special": [0, middle, len(tokens) - 1],
        "punctuation": [place for place in everywhere if tokens[place] in {".", ","}],
        "text 1": list(range(1, middle)),
        "text 2": list(range(middle + 1, len(tokens) - 1)),
    }
    assert len(expected["punctuation"]) == 3
    taken = {*expected["special"], *expected["punctuation"]}
    expected["other"] = [place for place in everywhere if place not in taken]
    assert tokens.index("?") in expected["other"]  # full stops and commas are marks, as in Clark's figure
    assert facts.classes == expected
    assert facts.segment == [0] * (middle + 1) + [1] * (len(tokens) - middle - 1)
    assert facts.links == {}


def test_every_token_is_of_one_of_four_classes(tokenizer: Any) -> None:
    facts, tokens, _ = facts_of(tokenizer, QUESTION, ANSWER)
    places = [place for name in ("cls", "sep", "punctuation", "other") for place in facts.classes[name]]
    assert sorted(places) == list(range(len(tokens)))


def test_an_unknown_word_is_a_word(tokenizer: Any) -> None:
    facts, tokens, _ = facts_of(tokenizer, "Who saw \N{SLIGHTLY SMILING FACE} there?")
    assert "[UNK]" in tokens
    assert facts.classes["special"] == [0, len(tokens) - 1]
    assert tokens.index("[UNK]") in facts.classes["other"]
    assert tokens.index("[UNK]") in facts.classes["text 1"]


def test_classes_of_a_text_alone(tokenizer: Any) -> None:
    facts, tokens, _ = facts_of(tokenizer, "Anna slept.")
    assert facts.classes["text 1"] == list(range(1, len(tokens) - 1))
    assert facts.classes["text 2"] == []
    assert facts.segment == [0] * len(tokens)


def test_a_model_without_these_tokens_has_no_such_classes() -> None:
    facts, tokens, _ = facts_of(bare_tokenizer(), "The dog chased a cat.")
    assert tokens == ["the", "dog", "chased", "a", "cat", "."]
    assert facts.classes == {
        "punctuation": [5],
        "first": [0],
        "special": [],
        "other": [0, 1, 2, 3, 4],
        "text 1": [0, 1, 2, 3, 4, 5],
        "text 2": [],
    }


@pytest.mark.parametrize("piece", ["Ġ.", "▁,", "##.", "。", "▁、"])
def test_marks_are_known_in_every_spelling(piece: str) -> None:
    class Spelling:
        all_special_ids: tuple[int, ...] = ()
        cls_token_id = sep_token_id = None

        unk_token_id = mask_token_id = None

        def get_vocab(self) -> dict[str, int]:
            return {spelled: number for number, spelled in enumerate(["Ġdog", piece, "##s", "...", "?", "Ġ", "##"])}

    facts = find_facts({"input_ids": [0, 1, 2, 3, 4, 5, 6]}, VocabularyIds.of(Spelling()), [0, 1, 1, 2, 3, 4, 5])
    assert facts.classes["punctuation"] == [1]


def test_forms_are_the_same_for_the_same_word(tokenizer: Any) -> None:
    facts, tokens, words = facts_of(tokenizer, QUESTION, ANSWER)
    spelled: dict[tuple[int, int | None], str] = {}
    for place, word in enumerate(words):
        key = (facts.segment[place], word)
        spelled[key] = spelled.get(key, "") + tokens[place]
    several = [name for name in spelled.values() if "##" in name]
    assert len(several) >= 3
    names = [spelled[facts.segment[place], word] for place, word in enumerate(words)]
    assert names.count("".join(tokenizer.tokenize("Anna"))) == 3 * len(tokenizer.tokenize("Anna"))
    outside = {*facts.classes["special"], *facts.classes["punctuation"]}
    for one, name in enumerate(names):
        assert (facts.form[one] == -1) == (one in outside)
        for other, second in enumerate(names):
            if one not in outside and other not in outside:
                assert (facts.form[one] == facts.form[other]) == (name == second)


def test_a_form_is_that_of_the_whole_word(tokenizer: Any) -> None:
    """A piece that two words share does not make them one."""
    facts, tokens, _ = facts_of(tokenizer, "Anna", "Annabel")
    assert tokens[1] == tokens[tokens.index("[SEP]") + 1]
    assert facts.form[1] != facts.form[tokens.index("[SEP]") + 1]
    assert 0 <= facts.form[1] < 2**62


@pytest.fixture(scope="module")
def sentences() -> list[Annotated]:
    return read_annotated(bundled_sentences())


def test_links_and_word_classes_hold_the_pieces_of_their_words(tokenizer: Any, sentences: list[Annotated]) -> None:
    facts, tokens, words = annotated(tokenizer, sentences[0])  # The old clockmaker repaired the watch before he ...
    at = {number: [place for place, word in enumerate(words) if word == number] for number in range(14)}
    assert len(at[2]) > 1  # clockmaker is of several pieces
    clockmaker, repaired, watch, he, returned, it, its = (at[number] for number in (2, 3, 5, 7, 8, 9, 11))
    assert facts.links == {
        "verb to subject": [(repaired, clockmaker), (returned, he)],
        "subject to verb": [(clockmaker, repaired), (he, returned)],
        "noun to pronoun": [(clockmaker, he), (watch, it), (watch, its)],
        "pronoun to noun": [(he, clockmaker), (it, watch), (its, watch)],
    }
    assert facts.classes["pronoun"] == [*he, *it, *its]
    assert facts.classes["subject"] == [*clockmaker, *he]
    assert facts.classes["verb"] == [*repaired, *returned]
    assert facts.classes["negation"] == []
    assert tokens[at[13][0]] == "."


def test_words_that_were_cut_off_have_no_links(tokenizer: Any, sentences: list[Annotated]) -> None:
    made = tokenizer(list(sentences[0].words), is_split_into_words=True, truncation=True, max_length=9)
    kept = max(word for word in made.word_ids() if word is not None)
    assert 3 <= kept < 7
    facts = find_facts({key: made[key] for key in made}, VocabularyIds.of(tokenizer), made.word_ids(), sentences[0])
    assert len(facts.links["verb to subject"]) == 1
    assert facts.links["noun to pronoun"] == []
    assert facts.classes["pronoun"] == []


def entries(links: Links, example: int = 0) -> dict[tuple[int, int], float]:
    found: dict[tuple[int, int], float] = {}
    for number, source, target, weight in zip(
        links.example.tolist(), links.source.tolist(), links.target.tolist(), links.weight.tolist(), strict=True
    ):
        if number == example:
            found[source, target] = found.get((source, target), 0) + weight
    return found


def test_a_link_is_the_mean_from_and_the_sum_to_the_pieces(tokenizer: Any, sentences: list[Annotated]) -> None:
    facts, _, _ = annotated(tokenizer, sentences[0])
    marks = mark([facts])
    maps = torch.rand(facts.length, facts.length)
    for name in ("verb to subject", "subject to verb", "noun to pronoun"):
        expected = [
            torch.stack([maps[source, targets].sum() for source in sources]).mean()
            for sources, targets in facts.links[name]
        ]
        found = sum(weight * maps[place] for place, weight in entries(marks.links[name]).items())
        assert float(found) == pytest.approx(float(torch.stack(expected).mean()), rel=1e-5)


def test_controls_look_as_far_from_other_words(tokenizer: Any, sentences: list[Annotated]) -> None:
    some = 0
    for sentence in sentences[:60]:
        facts, _, _ = annotated(tokenizer, sentence)
        words = set(range(facts.length)) - set(facts.classes["special"])
        marks = mark([facts])
        for name, pairs in facts.links.items():
            linked = {place for sources, _ in pairs for place in sources}
            steps = [[target - sources[0] for target in targets] for sources, targets in pairs]
            control = entries(marks.links[f"{name} control"])
            expected: dict[tuple[int, int], float] = {}
            lists = [
                [
                    [(place, place + step) for step in offsets]
                    for place in words - linked
                    if all(place + step in words for step in offsets)
                ]
                for offsets in steps
            ]
            usable = [one for one in lists if one]
            for one in usable:
                for entry in (entry for row in one for entry in row):
                    expected[entry] = expected.get(entry, 0) + 1 / len(one) / len(usable)
            assert control == pytest.approx(expected)
            assert all(source not in linked for source, _ in control)
            assert all(source in words and target in words for source, target in control)
            some += bool(control)
            if control:  # each link counts once for each piece of its end
                pieces = sum(len(one[0]) for one in usable) / len(usable)
                assert sum(control.values()) == pytest.approx(pieces)
    assert some > 60


def test_a_link_that_fits_nowhere_else_has_no_control() -> None:
    facts = Facts(4, [0] * 4, [-1] * 4, {"special": [0, 3]}, {"verb to subject": [([1], [2])]})
    marks = mark([facts])
    assert entries(marks.links["verb to subject"]) == {(1, 2): 1.0}
    assert entries(marks.links["verb to subject control"]) == {}
    assert marks.links["verb to subject control"].example.dtype == torch.long


def test_a_batch_is_its_texts_padded_on_the_right(tokenizer: Any, sentences: list[Annotated]) -> None:
    chosen = random.Random(0).sample(sentences, 6)
    several = [annotated(tokenizer, sentence)[0] for sentence in chosen]
    # A text without links, and one that knows no word classes.
    plain, _, _ = facts_of(tokenizer, "Anna slept.")
    several += [replace(plain, links={}), plain]
    marks = mark(several)
    width = max(facts.length for facts in several)
    assert marks.real.shape == marks.form.shape == marks.segment.shape == (8, width)
    assert len({facts.length for facts in several}) > 3
    for number, facts in enumerate(several):
        alone = mark([facts])
        length = facts.length
        assert marks.real[number].tolist() == [1.0] * length + [0.0] * (width - length)
        assert marks.form[number].tolist() == facts.form + [-1] * (width - length)
        assert marks.segment[number].tolist() == facts.segment + [-1] * (width - length)
        for name, tensor in marks.classes.items():
            places = tensor[number].nonzero()[:, 0].tolist()
            assert places == facts.classes.get(name, [])
            assert set(tensor.unique().tolist()) <= {0.0, 1.0}
        for name, links in marks.links.items():
            expected = entries(alone.links[name]) if name in alone.links else {}
            assert entries(links, number) == pytest.approx(expected)
    assert set(marks.links) == {
        f"{name}{control}"
        for control in ("", " control")
        for name in ("verb to subject", "subject to verb", "noun to pronoun", "pronoun to noun")
    }


def test_links_can_be_left_out(tokenizer: Any, sentences: list[Annotated]) -> None:
    several = [annotated(tokenizer, sentence)[0] for sentence in sentences[:3]]
    with_links, without = mark(several), mark(several, links=False)
    assert with_links.links
    assert not without.links
    assert torch.equal(with_links.form, without.form)
    assert all(torch.equal(with_links.classes[name], without.classes[name]) for name in with_links.classes)
