"""Every way into a measurement, what is cut and chosen, and one clear line for all that cannot be used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tokenizers as tk
import transformers as tf

from headcount.data.annotations import Annotated, word_links
from headcount.data.read_annotated import read_annotated
from headcount.errors import BlankRows, DataProblem, HeadcountError, UnsuitableModel
from headcount.measures.inputs import Inputs, read_inputs
from headcount.zoo.bundled import bundled_sentences
from tests.contracts.zoo import BY_NAME, tiny
from tests.measures.planted import NOUNS, PAIRS, SENTENCES, VERBS
from tests.measures.tiny import bare_tokenizer, causal, masked, translator

LONG = " ".join(["the dog saw a cat"] * 30)
CONLLU = """\
# sent_id = one
# text = The dogs saw her.
1|The|the|DET|_|_|2|det|_|_
2|dogs|dog|NOUN|_|_|3|nsubj|_|_
3|saw|see|VERB|_|_|0|root|_|_
4|her|she|PRON|_|_|3|obj|_|SpaceAfter=No~Antecedent=2
5|.|.|PUNCT|_|_|3|punct|_|_

# sent_id = two
1|She|she|PRON|_|_|2|nsubj|_|_
2|slept|sleep|VERB|_|_|0|root|_|_
""".replace("|", "\t").replace("~", "|")
TABLE = pd.DataFrame(
    {
        "sent_id": ["one", "two"],
        "tokens": [["The", "dogs", "saw", "her", "."], ["She", "slept"]],
        "upos": [["DET", "NOUN", "VERB", "PRON", "PUNCT"], ["PRON", "VERB"]],
        "heads": [[2, 3, 0, 3, 3], [2, 0]],
        "deprels": [["det", "nsubj", "root", "obj", "punct"], ["nsubj", "root"]],
    }
)


@pytest.fixture(scope="module")
def bert() -> Any:
    return masked()


@pytest.fixture(scope="module")
def bart() -> Any:
    return translator()


def read(
    pair: Any,
    data: Any,
    columns: tuple[str, ...] | None = None,
    limit: int | None = None,
    seed: int = 0,
    max_length: int | None = None,
) -> Inputs:
    return read_inputs(data, pair[0], pair[1], columns, limit, seed, max_length)


def tokens(pair: Any, inputs: Inputs) -> list[list[str]]:
    return [pair[1].convert_ids_to_tokens(row["input_ids"]) for row in inputs.rows]


def refused(kind: type[HeadcountError], *words: str, **call: Any) -> None:
    with pytest.raises(kind) as found:
        read(**call)
    message = str(found.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_a_column_of_texts(bert: Any) -> None:
    inputs = read(bert, pd.DataFrame({"label": range(10), "text": SENTENCES}, index=range(50, 60)))
    assert tokens(bert, inputs)[0] == ["[CLS]", "the", "dog", "chased", "a", "cat", ".", "[SEP]"]
    assert inputs.ids.tolist() == list(range(50, 60)), "the rows keep their own numbers"
    assert inputs.lengths.tolist() == [len(row["input_ids"]) for row in inputs.rows]
    assert inputs.texts == SENTENCES
    assert (inputs.annotated, inputs.pairs, inputs.targets, inputs.cut, inputs.limit) == (False, False, None, 0, 64)
    assert {"cls", "sep", "punctuation", "other", "first"} <= set(inputs.classes)
    assert [facts.length for facts in inputs.facts] == inputs.lengths.tolist()


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "folder"])
def test_a_file_or_folder(bert: Any, tmp_path: Path, suffix: str) -> None:
    table = pd.DataFrame({"sentence": SENTENCES, "label": range(10)})
    path = tmp_path / ("validation.csv" if suffix == "folder" else f"texts.{suffix}")
    if suffix == "parquet":
        table.to_parquet(path)
    elif suffix == "jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_csv(path, index=False, sep="\t" if suffix == "tsv" else ",")
    inputs = read(bert, tmp_path if suffix == "folder" else str(path))
    assert inputs.texts == SENTENCES


@pytest.mark.parametrize(
    "names",
    [("sentence1", "sentence2"), ("question", "sentence"), ("premise", "hypothesis"), ("question1", "question2")],
)
def test_columns_of_pairs(bert: Any, names: tuple[str, str]) -> None:
    inputs = read(bert, pd.DataFrame(PAIRS, columns=list(names)).assign(label=1))
    assert inputs.pairs
    assert inputs.texts[0] == " | ".join(PAIRS[0])
    first = tokens(bert, inputs)[0]
    middle = first.index("[SEP]")
    assert inputs.facts[0].classes["text 1"] == list(range(1, middle))
    assert inputs.facts[0].classes["text 2"] == list(range(middle + 1, len(first) - 1))
    assert [first[place] for place in inputs.facts[0].classes["text 2"]] == ["a", "cat", "chased", "the", "dog", "."]


def test_columns_can_be_named(bert: Any) -> None:
    table = pd.DataFrame(PAIRS, columns=["text", "body"])
    assert read(bert, table).texts == [one for one, _ in PAIRS]
    assert read(bert, table, ("body",)).texts == [two for _, two in PAIRS]
    both = read(bert, table, ("body", "text"))
    assert both.pairs
    assert both.texts == [f"{two} | {one}" for one, two in PAIRS]


def test_the_sentences_of_a_treebank(bert: Any, tmp_path: Path) -> None:
    path = tmp_path / "two.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    inputs = read(bert, path)
    assert inputs.annotated
    assert not inputs.pairs
    assert inputs.texts == ["The dogs saw her .", "She slept"]
    assert tokens(bert, inputs)[0] == ["[CLS]", "the", "dog", "##s", "saw", "her", ".", "[SEP]"]
    assert inputs.facts[0].links["verb to subject"] == [([4], [2, 3])]
    assert inputs.facts[0].links["pronoun to noun"] == [([5], [2, 3])]
    assert inputs.facts[0].classes["noun"] == [2, 3]


@pytest.mark.parametrize("kind", ["frame", "jsonl", "csv", "parquet"])
def test_an_annotated_table(bert: Any, tmp_path: Path, kind: str) -> None:
    data: Any = TABLE
    if kind != "frame":
        data = tmp_path / f"table.{kind}"
        if kind == "jsonl":
            TABLE.to_json(data, orient="records", lines=True)
        elif kind == "csv":
            TABLE.map(lambda cell: json.dumps(cell) if isinstance(cell, list) else cell).to_csv(data, index=False)
        else:
            TABLE.to_parquet(data)
    inputs = read(bert, data)
    assert inputs.annotated
    assert inputs.facts[0].links["verb to subject"] == [([4], [2, 3])]
    assert inputs.facts[0].links["noun to pronoun"] == []
    assert inputs.facts[1].classes["pronoun"] == [1]
    # A text column that is named is taken as it is.
    named = read(bert, TABLE.assign(text=["The dogs saw her.", "She slept"]), ("text",))
    assert not named.annotated


def test_the_bundled_sentences(bert: Any) -> None:
    inputs = read(bert, bundled_sentences(), limit=20, seed=3)
    sentences = read_annotated(bundled_sentences())
    for number, text, facts in zip(inputs.ids, inputs.texts, inputs.facts, strict=True):
        assert text == " ".join(sentences[number].words)
        assert len(facts.links["verb to subject"]) <= len(word_links(sentences[number])["verb-subject"])


def test_translations(bart: Any) -> None:
    table = pd.DataFrame({"source": SENTENCES, "target": SENTENCES[::-1]})
    inputs = read(bart, table)
    assert not inputs.pairs
    assert inputs.targets is not None
    for row, source, target in zip(inputs.rows, inputs.facts, inputs.targets, strict=True):
        assert source.length == len(row["input_ids"])
        assert target.length == len(row["labels"])
    assert inputs.lengths.tolist() == [max(len(row["input_ids"]), len(row["labels"])) for row in inputs.rows]
    decoded = bart[1].convert_ids_to_tokens(inputs.rows[0]["labels"])
    assert decoded == ["he", "ran", "to", "her", ".", "[SEP]"]
    assert inputs.texts[0] == f"{SENTENCES[0]} | {SENTENCES[-1]}"


def test_a_decoder_has_no_special_classes() -> None:
    inputs = read(causal(), pd.DataFrame({"text": SENTENCES}))
    assert not {"cls", "sep"} & set(inputs.classes)
    assert inputs.facts[0].classes["special"] == []


def test_a_limit_is_a_random_part_in_the_order_of_the_rows(bert: Any) -> None:
    table = pd.DataFrame({"text": SENTENCES})
    some = read(bert, table, limit=4)
    assert len(some.rows) == len(some.facts) == len(some.texts) == 4
    assert some.ids.tolist() == sorted(set(some.ids.tolist()))
    assert some.texts == [SENTENCES[number] for number in some.ids]
    assert read(bert, table, limit=4).ids.tolist() == some.ids.tolist()
    assert len({tuple(read(bert, table, limit=4, seed=seed).ids) for seed in range(6)}) > 3
    for limit in (10, 11, None):
        assert read(bert, table, limit=limit, seed=5).ids.tolist() == list(range(10))
    sentences = read(bert, TABLE, limit=1, seed=1)
    assert sentences.texts == [" ".join(TABLE["tokens"][sentences.ids[0]])]


def test_texts_that_are_too_long_are_cut_and_counted(bert: Any, bart: Any) -> None:
    inputs = read(bert, pd.DataFrame({"text": [LONG, "She slept.", LONG]}))
    assert inputs.cut == 2
    assert inputs.lengths.tolist() == [64, 5, 64]
    assert tokens(bert, inputs)[0][-1] == "[SEP]"
    assert len(inputs.facts[0].form) == 64
    shorter = read(bert, pd.DataFrame({"text": [LONG, "She slept."]}), max_length=5)
    assert (shorter.cut, shorter.limit) == (1, 5)
    pairs = read(bert, pd.DataFrame({"sentence1": [LONG], "sentence2": [LONG]}))
    assert (pairs.cut, pairs.lengths.tolist()) == (1, [64])
    assert len(pairs.facts[0].classes["text 2"]) > 20
    source = read(bart, pd.DataFrame({"source": [LONG, "It is."], "target": ["It was red.", "It is."]}))
    assert (source.cut, source.lengths.tolist()) == (1, [64, 4])


def test_a_longer_length_than_the_model_takes_changes_nothing(bert: Any) -> None:
    assert read(bert, pd.DataFrame({"text": [LONG]}), max_length=1000).limit == 64


def test_a_target_that_is_too_long_is_cut_and_counted(bart: Any) -> None:
    inputs = read(bart, pd.DataFrame({"source": ["It is."], "target": [LONG]}))
    assert len(inputs.rows[0]["labels"]) == 64
    assert inputs.cut == 1


def test_a_length_with_no_room_for_words_is_refused(bert: Any) -> None:
    """[CLS] and [SEP] take two: a tokenizer that is asked for less cuts nothing at all."""
    for length in (1, 2):
        refused(HeadcountError, pair=bert, data=pd.DataFrame({"text": [LONG]}), max_length=length)


def test_an_annotated_sentence_that_is_too_long_keeps_the_links_that_fit(bert: Any) -> None:
    table = pd.DataFrame(
        {
            "tokens": [["She", "slept"] * 60],
            "upos": [["PRON", "VERB"] * 60],
            "heads": [[number + 2 if number % 2 == 0 else 0 for number in range(120)]],
            "deprels": [["nsubj", "root"] * 60],
        }
    )
    inputs = read(bert, table)
    assert inputs.cut == 1
    assert len(inputs.facts[0].links["verb to subject"]) == 31
    assert max(place for link in inputs.facts[0].links["verb to subject"] for part in link for place in part) == 62


def annotate(texts: list[str]) -> list[Annotated]:
    """Nouns and verbs by their spelling; the word before a verb is its subject, a noun stands for the first word."""
    found = []
    for text in texts:
        words = text.replace(".", " .").replace(",", " ,").split()
        upos = ["NOUN" if _stem(word) in NOUNS else "VERB" if word in VERBS else "X" for word in words]
        subject = [tag == "VERB" for tag in [*upos[1:], ""]]
        heads = tuple(place + 2 if is_one else 0 for place, is_one in enumerate(subject))
        relations = tuple("nsubj" if is_one else "dep" for is_one in subject)
        nouns = {place: 0 for place, tag in enumerate(upos) if tag == "NOUN" and place}
        found.append(Annotated("", tuple(words), tuple(upos), relations, heads, nouns))
    return found


def _stem(word: str) -> str:
    word = word.lower()
    return word.removesuffix("s") if word.removesuffix("s") in NOUNS else word


def assert_annotated(found: list[str], facts: Any) -> None:
    """The nouns, verbs and links of a pair's tokens, found in them by spelling, text by text."""
    ends = [place for place, token in enumerate(found) if token == "[SEP]"]
    nouns, verbs, subjects, stands_for = [], [], [], []
    for start, end in ((1, ends[0]), (ends[0] + 1, ends[1])):
        words: list[list[int]] = []
        for place in range(start, end):
            if found[place].startswith("##"):
                words[-1].append(place)
            else:
                words.append([place])
        for number, places in enumerate(words):
            if found[places[0]] in NOUNS:
                nouns += places
                stands_for += [(words[0], places)] if number else []
            if found[places[0]] in VERBS:
                verbs += places
                subjects += [(places, words[number - 1])] if number else []
    assert facts.classes["noun"] == nouns
    assert facts.classes["verb"] == verbs
    assert facts.classes["pronoun"] == []
    assert facts.links["verb to subject"] == subjects
    assert facts.links["noun to pronoun"] == stands_for
    assert facts.links["pronoun to noun"] == [(b, a) for a, b in stands_for]


LONGER = [*PAIRS, (LONG, "Dogs saw birds, cats ran"), ("Dogs ran, cats slept", LONG), (LONG, LONG)]


@pytest.mark.parametrize("length", [*range(4, 20), 63, 64, None])
def test_annotated_pairs_wherever_they_are_cut(bert: Any, length: int | None) -> None:
    data = pd.DataFrame(LONGER, columns=["sentence1", "sentence2"])
    inputs = read_inputs(data, *bert, None, None, 0, length, annotate)
    assert inputs.annotated
    assert inputs.pairs
    assert inputs.cut >= 3
    for found, facts in zip(tokens(bert, inputs), inputs.facts, strict=True):
        assert len(found) <= (length or 64)
        assert_annotated(found, facts)


def test_words_of_the_second_text_are_tokens_of_the_second_text(bert: Any) -> None:
    data = pd.DataFrame([("Dogs chased a cat.", "A cat chased dogs.")], columns=["sentence1", "sentence2"])
    inputs = read_inputs(data, *bert, None, None, 0, None, annotate)
    (found,), (facts,) = tokens(bert, inputs), inputs.facts
    assert " ".join(found) == "[CLS] dog ##s chased a cat . [SEP] a cat chased dog ##s . [SEP]"
    assert facts.classes["text 2"] == list(range(8, 14))
    assert facts.classes["noun"] == [1, 2, 5, 9, 11, 12]
    assert facts.links["verb to subject"] == [([3], [1, 2]), ([10], [9])]
    assert inputs.texts == ["Dogs chased a cat . | A cat chased dogs ."]


def test_a_part_of_annotated_pairs(bert: Any) -> None:
    """Only the rows that are taken are annotated, a column at a time."""
    seen: list[list[str]] = []

    def look(texts: list[str]) -> list[Annotated]:
        seen.append(texts)
        return annotate(texts)

    data = pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"])
    inputs = read_inputs(data, *bert, None, 3, 1, None, look)
    assert seen == [[PAIRS[row][text] for row in inputs.ids] for text in (0, 1)]
    for found, facts in zip(tokens(bert, inputs), inputs.facts, strict=True):
        assert_annotated(found, facts)


def test_annotated_pairs_are_other_data_than_plain_ones(bert: Any) -> None:
    data = pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"])
    plain, known = read(bert, data), read_inputs(data, *bert, None, None, 0, None, annotate)
    assert plain.rows == known.rows
    assert plain.fingerprint != known.fingerprint
    assert not plain.annotated


def test_a_translation_is_not_annotated(bart: Any) -> None:
    data = pd.DataFrame(PAIRS, columns=["source", "target"])
    with pytest.raises(DataProblem, match="an encoder-decoder"):
        read_inputs(data, *bart, None, None, 0, None, annotate)


def test_words_of_a_byte_level_tokenizer_keep_the_spaces_between_them() -> None:
    """GPT-2 and RoBERTa write the space into the token: words in a row are not one long word."""
    inner = tk.Tokenizer(tk.models.BPE())
    inner.pre_tokenizer, inner.decoder = tk.pre_tokenizers.ByteLevel(add_prefix_space=False), tk.decoders.ByteLevel()
    alphabet = tk.pre_tokenizers.ByteLevel.alphabet()
    inner.train_from_iterator(SENTENCES * 4, tk.trainers.BpeTrainer(vocab_size=330, initial_alphabet=alphabet))
    tokenizer = tf.PreTrainedTokenizerFast(tokenizer_object=inner, model_input_names=["input_ids", "attention_mask"])
    words = ["The", "dog", "saw", "a", "cat"]
    table = pd.DataFrame({"tokens": [words], "upos": [["X"] * 5], "heads": [[3, 3, 0, 5, 3]], "deprels": [["x"] * 5]})
    found = read_inputs(table, causal()[0], tokenizer, None, None, 0, None)
    assert tokenizer.decode(found.rows[0]["input_ids"]).strip() == "The dog saw a cat"


def test_the_fingerprint_is_that_of_what_is_measured(bert: Any) -> None:
    table = pd.DataFrame({"text": SENTENCES})
    known = read(bert, table).fingerprint
    assert read(bert, table.assign(more=1)).fingerprint == known
    assert read(bert, table, limit=4).fingerprint != known
    assert read(bert, table[::-1]).fingerprint != known
    assert read(bert, table, max_length=6).fingerprint != known


def test_other_annotations_are_other_data(bert: Any) -> None:
    """The same words with a mended tree: numbers of the old one are not those of the new one."""
    mended = TABLE.assign(deprels=[["det", "obj", "root", "nsubj", "punct"], ["nsubj", "root"]])
    assert read(bert, TABLE).facts[0].links != read(bert, mended).facts[0].links
    assert read(bert, TABLE).fingerprint != read(bert, mended).fingerprint


def test_an_unknown_word_is_some_text(bert: Any) -> None:
    inputs = read(bert, pd.DataFrame({"text": ["Zebra"]}))
    assert tokens(bert, inputs) == [["[CLS]", "[UNK]", "[SEP]"]]


@pytest.mark.parametrize("text", ["", "   ", "[SEP]", None])
def test_nothing_but_special_tokens(bert: Any, text: str | None) -> None:
    with pytest.warns(BlankRows, match="1 of 2 rows is blank and was left out \\(row 1\\)"):
        inputs = read(bert, pd.DataFrame({"text": ["It is.", text]}))
    assert (inputs.ids.tolist(), inputs.blank) == ([0], {"count": 1, "of": 2, "rows": [1]})


def test_no_tokens_at_all() -> None:
    refused(
        DataProblem, "all 1 rows are blank", "some text in 'text'", pair=causal(), data=pd.DataFrame({"text": [""]})
    )


def test_an_empty_target(bart: Any) -> None:
    data = pd.DataFrame({"source": ["It is."], "target": [""]})
    refused(DataProblem, "all 1 rows are blank", "'source' and 'target'", pair=bart, data=data)


@pytest.mark.parametrize("name", ["roberta", "distilbert", "modernbert", "mpnet", "deberta-v2"])
def test_pairs_where_the_model_has_no_segments(bert: Any, name: str) -> None:
    """The tokenizer's encoding says which text a token belongs to; the model gets no token types."""
    model = tiny(name, BY_NAME[name].kernels[0])
    model.config.type_vocab_size = 0 if name == "deberta-v2" else 1  # as the checkpoints have it
    data = pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"])
    found, expected = read((model, bert[1]), data), read(bert, data)
    assert found.pairs
    assert [facts.segment for facts in found.facts] == [facts.segment for facts in expected.facts]
    assert [facts.classes for facts in found.facts] == [facts.classes for facts in expected.facts]
    assert [facts.segment for facts in found.facts] == [row["token_type_ids"] for row in expected.rows]
    assert all("token_type_ids" not in row for row in found.rows)


def test_pairs_without_a_separator(bert: Any) -> None:
    """A decoder would read both texts as one."""
    data = pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"])
    for words in (bert[1], bare_tokenizer()):
        refused(DataProblem, "no segments", "one text column", pair=(tiny("gpt2"), words), data=data)
    refused(DataProblem, "separator", "one text column", pair=(tiny("distilbert"), bare_tokenizer()), data=data)


def test_pairs_where_the_tokenizer_tells_no_segments(bert: Any) -> None:
    """Whether it is refused or the segments are asked for: no token of the second text belongs to the first."""
    try:
        inputs = read((bert[0], bare_tokenizer()), pd.DataFrame(PAIRS, columns=["sentence1", "sentence2"]))
    except HeadcountError:
        return
    assert inputs.facts[0].classes["text 2"]


def test_one_column_for_an_encoder_decoder(bart: Any) -> None:
    refused(DataProblem, "source and target", "got one", pair=bart, data=pd.DataFrame({"text": SENTENCES}))


def test_columns_that_are_not_there(bert: Any) -> None:
    table = pd.DataFrame({"body": SENTENCES, "stars": 1})
    refused(DataProblem, "which column", "body, stars", pair=bert, data=table)
    refused(DataProblem, "txet", "body, stars", pair=bert, data=table, columns=("txet",))
    refused(DataProblem, "one or two", pair=bert, data=table.assign(c="c"), columns=("body", "stars", "c"))
    refused(DataProblem, "one or two", pair=bert, data=table, columns=())


@pytest.mark.parametrize("value", [7, True, ["The", "dog"]])
def test_what_is_not_a_string(bert: Any, value: Any) -> None:
    data = pd.DataFrame({"text": np.array(["It is.", value, "It was."], dtype=object)})
    refused(DataProblem, "row 1", "'text'", "expected a string", pair=bert, data=data)


def test_files_that_are_not_there(bert: Any, tmp_path: Path) -> None:
    for name in ("none.csv", "none.conllu", "none"):
        refused(DataProblem, "there is no file", name, pair=bert, data=tmp_path / name)
    refused(DataProblem, "no validation file", pair=bert, data=tmp_path)
    (tmp_path / "text.docx").write_text("It is.")
    refused(DataProblem, "text.docx", ".csv", pair=bert, data=tmp_path / "text.docx")
    refused(DataProblem, "no rows", pair=bert, data=pd.DataFrame({"text": []}))


def test_a_slow_tokenizer(bert: Any) -> None:
    slow = tf.ByT5Tokenizer()
    assert not slow.is_fast
    refused(
        UnsuitableModel, "ByT5Tokenizer", "fast tokenizer", pair=(bert[0], slow), data=pd.DataFrame({"text": SENTENCES})
    )
    refused(UnsuitableModel, "NoneType", "fast tokenizer", pair=(bert[0], None), data=pd.DataFrame({"text": SENTENCES}))


def test_annotations_that_do_not_fit(bert: Any, tmp_path: Path) -> None:
    texts = TABLE.assign(text=["The cats saw her.", "She slept"])
    refused(DataProblem, "'one'", "'dogs'", "cats", pair=bert, data=texts)
    short = TABLE.assign(heads=[[2, 3, 0], [2, 0]])
    refused(DataProblem, "'one'", "3 heads", pair=bert, data=short)
    refused(DataProblem, "no column tokens", pair=bert, data=TABLE.drop(columns="tokens"))
    path = tmp_path / "wrong.conllu"
    path.write_text(CONLLU.replace("text = The dogs", "text = The cats"), encoding="utf-8")
    refused(DataProblem, "wrong.conllu", "'dogs'", pair=bert, data=path)
    path.write_text(CONLLU.replace("\tdet\t_\t_", ""), encoding="utf-8")
    refused(DataProblem, "line 3", "columns", pair=bert, data=path)


def test_a_word_without_tokens(bert: Any) -> None:
    table = TABLE.assign(tokens=[["The", "\N{ZERO WIDTH SPACE}", "saw", "her", "."], ["She", "slept"]])
    refused(DataProblem, "sentence one", "no token of the word", pair=bert, data=table)
