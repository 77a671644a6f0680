"""Does a token classifier give plain texts and pairs the classes of words that an annotation would?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

import headcount as hc
from headcount.data.annotations import word_classes, word_links
from headcount.errors import HeadcountError, InvalidOption, ModelUnavailable, UnsuitableModel
from headcount.measures import tagging
from headcount.measures.tagging import split_words, tag_texts
from tests.measures.cases import Texts, at
from tests.measures.planted import NOUNS, PAIRS, ROLES, SENTENCES, VERBS, WORDS, planted_attention
from tests.measures.test_compare import shaken

SUBJECTS, OBJECTS = ("he", "she", "it", "they", "we", "you"), ("him", "her")
CLASSES = ("NOUN", "NOUN:nsubj:pass", "VERB", "PRON:nsubj", "PRON:obj", "PUNCT", "SYM", "ADP")
LONG = "dog " * 100
COUPLES = pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"])
CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"


def tag_of(word: str) -> str:
    """What the planted tagger says of a word, by its first piece."""
    word = word.lower()
    word = word.removesuffix("s") if word.removesuffix("s") in NOUNS else word
    if word in NOUNS:
        return "NOUN:nsubj:pass" if word == "letter" else "NOUN"
    known = {"VERB": VERBS, "PRON:nsubj": SUBJECTS, "PRON:obj": OBJECTS, "PUNCT": (".", ","), "SYM": ("##s",)}
    return next((tag for tag, words in known.items() if word in words), "ADP")


def labels(names: tuple[str, ...] = CLASSES) -> dict[str, Any]:
    return {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}


def config(**options: Any) -> tf.BertConfig:
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    return tf.BertConfig(**{"vocab_size": len(WORDS), "max_position_embeddings": 64, **sizes, **labels(), **options})


def save(folder: Path, model: Any, longest: int = 10**30, tokenizer: Any = None) -> Path:
    tokenizer = tokenizer or planted_attention()[1]
    tokenizer.model_max_length = longest
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@torch.no_grad()
def planted_tagger() -> tf.BertForTokenClassification:
    """The state of a token says its piece and nothing else, and the classifier reads the tag of the piece from it."""
    model = tf.BertForTokenClassification(config())
    embeddings, layer = model.bert.embeddings, model.bert.encoder.layer[0]
    for module in (
        embeddings.position_embeddings,
        embeddings.token_type_embeddings,
        layer.attention.output.dense,
        layer.output.dense,
        model.classifier,
    ):
        for parameter in module.parameters():
            parameter.zero_()
    embeddings.word_embeddings.weight.copy_(torch.eye(len(WORDS), 64))
    for number, word in enumerate(WORDS):
        model.classifier.weight[CLASSES.index(tag_of(word)), number] = 1
    return model


@pytest.fixture(scope="module")
def tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(tmp_path_factory.mktemp("tagger"), planted_tagger())


@pytest.fixture(scope="module")
def random_tagger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tag of a word depends on all words of its text and on their places."""
    torch.manual_seed(7)
    return save(tmp_path_factory.mktemp("random"), tf.BertForTokenClassification(config(initializer_range=0.5)))


def annotated(texts: list[str]) -> pd.DataFrame:
    """The texts as a table that is annotated by hand, with the tags of the planted tagger."""
    tags = [[tag_of(word).partition(":") for word in split_words(text)] for text in texts]
    return pd.DataFrame(
        {
            "tokens": map(split_words, texts),
            "upos": [[tag for tag, _, _ in row] for row in tags],
            "heads": [[0] * len(row) for row in tags],
            "deprels": [[role or "dep" for _, _, role in row] for row in tags],
        }
    )


def refused(kind: type[HeadcountError], texts: list[str], tagger: str | Path) -> str:
    with pytest.raises(kind) as found:
        tag_texts(texts, tagger)
    assert "\n" not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("She slept.", "She slept ."),
        ("  A dog,\n\ta  cat ", "A dog , a cat"),
        ("I can't, won't, DON'T", "I ca n't , wo n't , DO N'T"),
        (f"don{CURLY}t it{CURLY}s", f"do n{CURLY}t it {CURLY}s"),
        ("they'd've we'll I'm you're", "they 'd 've we 'll I 'm you 're"),
        ("the dogs' o'clock 'do'", "the dogs ' o ' clock ' do '"),
        ("couldn't've", "could n't 've"),
        ("well-known (3.5%)...", "well - known ( 3 . 5 % ) . . ."),
        ("Čapek naïve 東京", "Čapek naïve 東京"),
        ("", ""),
        (" \n", ""),
    ],
)
def test_words_of_a_text(text: str, words: str) -> None:
    assert split_words(text) == words.split()


def test_no_letter_is_lost() -> None:
    for text in [*SENTENCES, "It's \"her\" dog; isn't it?"]:
        assert "".join(split_words(text)) == text.replace(" ", "")


def test_tags_are_those_that_were_planted(tagger: Path) -> None:
    for text, found in zip(SENTENCES, tag_texts(SENTENCES, tagger), strict=True):
        tags = [tag_of(word).partition(":") for word in split_words(text)]
        assert found.words == tuple(split_words(text))
        assert found.upos == tuple(tag for tag, _, _ in tags)
        assert found.deprels == tuple(role or "dep" for _, _, role in tags)
        assert set(found.heads) == {0}
        assert not found.antecedents
        assert not any(word_links(found).values())


def test_the_first_piece_has_the_tag_and_the_role_stands_behind_the_colon(tagger: Path) -> None:
    (found,) = tag_texts(["Dogs saw letters, she chased him not"], tagger)
    assert found.upos == ("NOUN", "VERB", "NOUN", "PUNCT", "PRON", "VERB", "PRON", "ADP")
    assert found.deprels == ("dep", "dep", "nsubj:pass", "dep", "nsubj", "dep", "obj", "dep")
    assert word_classes(found) == {
        "noun": (0, 2),
        "verb": (1, 5),
        "pronoun": (4, 6),
        "subject": (2, 4),
        "object": (6,),
        "negation": (7,),
    }


def test_a_word_of_many_pieces_does_not_move_the_tags_behind_it(tagger: Path) -> None:
    (found,) = tag_texts(["n't n't dogs n't saw"], tagger)
    assert found.words == ("n't", "n't", "dogs", "n't", "saw")
    assert found.upos == ("ADP", "ADP", "NOUN", "ADP", "VERB")


@pytest.mark.parametrize(("longest", "tagged"), [(10**30, 62), (64, 62), (10, 8)])
def test_words_that_are_cut_off_have_no_tag(tmp_path: Path, longest: int, tagged: int) -> None:
    short, long = tag_texts(["The dog", LONG], save(tmp_path, planted_tagger(), longest))
    assert long.words == ("dog",) * 100
    assert long.upos == ("NOUN",) * tagged + ("X",) * (100 - tagged)
    assert set(long.deprels) == {"dep"}
    assert short.upos == ("ADP", "NOUN")


@pytest.mark.parametrize("tokens", [1, 30, 100_000])
def test_batches_change_nothing(random_tagger: Path, monkeypatch: pytest.MonkeyPatch, tokens: int) -> None:
    alone = [tag_texts([text], random_tagger)[0] for text in SENTENCES]
    assert len({tag for one in alone for tag in one.upos}) > 3, "tags that a mask could change"
    monkeypatch.setattr(tagging, "BATCH", tokens)
    for order in (range(10), np.random.default_rng(0).permutation(10)):
        found = tag_texts([SENTENCES[number] for number in order], random_tagger)
        for place, number in enumerate(order):
            assert found[place].name == str(place)
            assert found[place].words == alone[number].words
            assert (found[place].upos, found[place].deprels) == (alone[number].upos, alone[number].deprels)


def test_a_tagger_that_was_saved_in_half_precision(tagger: Path, tmp_path: Path) -> None:
    half = save(tmp_path, planted_tagger().half())
    assert tag_texts(SENTENCES, half) == tag_texts(SENTENCES, tagger)


def test_what_is_no_tagger(tagger: Path, tmp_path: Path) -> None:
    other = save(tmp_path / "names", tf.BertForTokenClassification(config(**labels(("NOUN", "B-PER")))))
    assert "knows the class 'B-PER'; expected parts of speech" in refused(UnsuitableModel, ["A dog"], other)
    bare = save(tmp_path / "bare", tf.BertModel(config(**labels(("LABEL_0", "LABEL_1")))))
    assert "'LABEL_0'" in refused(UnsuitableModel, ["A dog"], bare)
    refused(ModelUnavailable, ["A dog"], tmp_path / "nowhere")
    planted_tagger().save_pretrained(tmp_path / "alone")
    assert "no tokenizer" in refused(ModelUnavailable, ["A dog"], tmp_path / "alone")


def test_a_text_without_words_has_none(tagger: Path) -> None:
    assert [one.words for one in tag_texts(["A dog", " \n ", ""], tagger)] == [("A", "dog"), (), ()]
    assert [one.words for one in tag_texts([""], tagger)] == [()]


def test_a_long_text_for_a_tagger_with_fewer_positions_than_its_config_says(tmp_path: Path) -> None:
    options = {**config(max_position_embeddings=66).to_dict(), "model_type": "roberta", "pad_token_id": 1}
    model = tf.RobertaForTokenClassification(tf.RobertaConfig(**options))
    (found,) = tag_texts([LONG], save(tmp_path, model))
    assert found.upos[62:] == ("X",) * 38


def test_a_slow_tokenizer(tmp_path: Path) -> None:
    model = tf.BertForTokenClassification(config(vocab_size=400))
    refused(UnsuitableModel, ["A dog"], save(tmp_path, model, tokenizer=tf.ByT5Tokenizer()))


@pytest.fixture(scope="module")
def found(planted_model: Any, tagger: Path) -> Any:
    data = pd.DataFrame({"text": SENTENCES})
    return hc.measure(*planted_model, data, only="features", tagger=tagger)["features"].to_dataset()


def test_plain_texts_are_measured_as_annotated_ones(planted_model: Any, found: Any) -> None:
    expected = hc.measure(*planted_model, annotated(SENTENCES), only="features")["features"].to_dataset()
    assert list(found.feature.values) == list(expected.feature.values)
    for name in ("values_attention", "values_from_first", "attention", "from_first"):
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_finds_the_head_for_nouns(planted_texts: Texts, found: Any) -> None:
    for row in range(len(SENTENCES)):
        count = sum(token in NOUNS for token in planted_texts.seen(row).tokens)
        given = at(found.values_attention.sel(example=row, feature="noun"), ROLES["noun"])
        assert given == pytest.approx(1 / count, abs=1e-3) if count else np.isnan(given)


def test_finds_the_head_for_nouns_in_both_texts_of_a_pair(
    planted_pairs: Texts, planted_model: Any, tagger: Path
) -> None:
    found = hc.measure(*planted_model, COUPLES, only="features", tagger=tagger)["features"]
    for row, pair in enumerate(PAIRS):
        values = found.values_attention.sel(example=row)
        seen = planted_pairs.seen(row)
        count = sum(token in NOUNS for token in seen.tokens)
        given = at(values.sel(feature="noun"), ROLES["noun"])
        assert given == pytest.approx(1 / count, abs=1e-3) if count else np.isnan(given)
        tags = {tag_of(word) for text in pair for word in split_words(text)}
        for feature, wanted in {"subject": {"PRON:nsubj", "NOUN:nsubj:pass"}, "object": {"PRON:obj"}}.items():
            given = at(values.sel(feature=feature), ROLES["uniform"])
            assert given == pytest.approx(1 / len(seen), abs=1e-6) if tags & wanted else np.isnan(given)


def test_a_change_is_the_difference_of_two_measurements(planted_model: Any, tagger: Path) -> None:
    model, tokenizer = planted_model
    other = shaken(model)
    for data in (pd.DataFrame({"text": SENTENCES}), COUPLES):
        changed = hc.compare(model, other, tokenizer, data, tagger=tagger)["features"]
        before, after = (
            hc.measure(one, tokenizer, data, only="features", tagger=tagger)["features"] for one in (model, other)
        )
        assert {"noun", "subject", "object"} <= set(changed.feature.values)
        for name in ("values_attention", "values_from_first"):
            np.testing.assert_allclose(changed[name], after[name] - before[name], rtol=0, atol=1e-6)


def test_another_tagger_is_other_data(planted_model: Any, tagger: Path, random_tagger: Path, tmp_path: Path) -> None:
    data = pd.DataFrame({"text": SENTENCES})
    hc.measure(*planted_model, data, only="features", tagger=tagger, out=tmp_path / "study")
    with pytest.raises(HeadcountError, match="data: "):
        hc.measure(*planted_model, data, only="features", tagger=random_tagger, out=tmp_path / "study")


def test_two_that_annotate(planted_model: Any, tagger: Path) -> None:
    with pytest.raises(InvalidOption, match="spacy= and tagger="):
        hc.measure(*planted_model, COUPLES, tagger=tagger, spacy="en_core_web_sm")


def test_links_cannot_be_measured(planted_model: Any, tagger: Path) -> None:
    with pytest.raises(InvalidOption, match="links cannot be measured here"):
        hc.measure(*planted_model, COUPLES, only="links", tagger=tagger)


@pytest.mark.parametrize(
    "text",
    [
        "A dog\N{ZERO WIDTH SPACE} slept",
        "A cafe\N{COMBINING ACUTE ACCENT} slept",
        "\N{SOFT HYPHEN}A dog",
        "\ufeffA dog",
        "A dog \N{BLACK HEART SUIT}\N{VARIATION SELECTOR-16}",
        "A dog \N{REPLACEMENT CHARACTER} slept",
    ],
)
def test_marks_that_nobody_sees_do_not_stop_a_measurement(planted_model: Any, tagger: Path, text: str) -> None:
    """The dog beside them is still a noun, and the head for nouns still looks at it; a word with an accent is none."""
    data = pd.DataFrame({"text": [text]})
    plain = hc.measure(*planted_model, data, only="features")["features"]
    tagged = hc.measure(*planted_model, data, only="features", tagger=tagger)["features"]
    for feature in plain["feature"].values:
        np.testing.assert_array_equal(plain["attention"].sel(feature=feature), tagged["attention"].sel(feature=feature))
    found = at(tagged["attention"].sel(feature="noun"), ROLES["noun"])
    assert found > 0.999 if "dog" in text else np.isnan(found)
