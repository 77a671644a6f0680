"""Sentences from files and tables of all kinds come out the same; every malformed one is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.annotations import (
    Annotated,
    word_links,
)
from headcount.data.read_annotated import read_annotated
from headcount.errors import DataProblem
from tests.data.sentences import ROW, SNIPPET, as_conllu, assert_refused, columns, conllu, frame, sentences


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv", "json in csv", "arrays", "frame"])
@pytest.mark.parametrize("column", ["tokens", "words"])
def test_every_table_says_the_same(tmp_path: Path, suffix: str, column: str) -> None:
    table = pd.concat([frame(), frame(sent_id="two", text=None)]).rename(columns={"tokens": column})
    source: Path | pd.DataFrame = tmp_path / f"validation.{suffix.split()[-1]}"
    lists = [column, "upos", "heads", "deprels"]
    if suffix == "parquet":
        table.to_parquet(source)
    elif suffix == "jsonl":
        table.to_json(source, orient="records", lines=True)
    elif suffix == "csv":
        table.to_csv(source, index=False)
    elif suffix == "json in csv":
        table.assign(**{one: table[one].map(json.dumps) for one in lists}).to_csv(source, index=False)
    elif suffix == "arrays":
        source = table.assign(**{one: table[one].map(np.array) for one in lists})
    else:
        source = table
    tags, deprels, heads = (tuple(ROW[one]) for one in ("upos", "deprels", "heads"))
    expected = [
        Annotated(name, tuple(ROW["tokens"]), tags, deprels, heads, {}, text)
        for name, text in (("one", ROW["text"]), ("two", None))
    ]
    assert read_annotated(source) == expected
    if isinstance(source, Path):
        assert read_annotated(str(tmp_path)) == expected, "a folder with a validation file"
    assert word_links(expected[0]) == {"verb-subject": ((3, 0),), "noun-pronoun": ()}


def test_a_sentence_without_words_has_none(tmp_path: Path) -> None:
    for nothing in ([], None):
        empty = frame(**dict.fromkeys(("tokens", "upos", "heads", "deprels"), nothing), text=None)
        assert [len(one.words) for one in read_annotated(pd.concat([frame(), empty]))] == [5, 0]
    assert [one.words for one in read_annotated(conllu(tmp_path, "# sent_id = x\n"))] == [()]


def test_a_sentence_without_a_name_is_called_by_its_row() -> None:
    table = pd.concat([frame(), frame(sent_id=None), frame(sent_id=17), frame(sent_id=float("nan"))])
    assert [one.name for one in read_annotated(table)] == ["one", "2", "17", "4"]
    assert [one.name for one in read_annotated(table.drop(columns="sent_id"))] == ["1", "2", "3", "4"]


def test_heads_may_be_written_as_numbers_of_any_kind() -> None:
    for heads in (["4", "4", "4", "0", "4"], [4.0, 4.0, 4.0, 0.0, 4.0], np.array(ROW["heads"], dtype=np.int32)):
        [sentence] = read_annotated(frame(heads=heads))
        assert sentence.heads == (4, 4, 4, 0, 4)
        assert all(type(head) is int for head in sentence.heads)


TABLES = {
    "a column is missing": (
        {"heads": ..., "tokens": ...},
        "the data frame has no column tokens (or words), heads; it has sent_id, text, upos, deprels; add or rename",
    ),
    "a list is shorter": (
        {"heads": [4, 4, 4, 0]},
        "the data frame, sentence 'one': got 5 tokens, 5 upos, 4 heads, 5 deprels; expected lists of the same length",
    ),
    "not a list": (
        {"upos": "PRON AUX"},
        "the data frame, sentence 'one', column 'upos': got 'PRON AUX'; expected a list, one entry for each word",
    ),
    "no list at all": ({"heads": None}, "column 'heads': got None; expected a list"),
    "a dictionary": ({"heads": '{"a": 1}'}, """column 'heads': got '{"a": 1}'; expected a list"""),
    "tags as numbers": (
        {"upos": [3, 4, 5, 6, 7]},
        "sentence 'one': got 3 as entry 1 of upos; expected a string; fix it",
    ),
    "an empty word": ({"tokens": ["We", "ca", "", "stop", "."]}, "got '' as entry 3 of tokens; expected a string"),
    "a head too far": (
        {"heads": [4, 4, 6, 0, 4]},
        """sentence 'one': word 3 ("n't") has the head 6; expected 0 (root) or another word, 1 to 5; fix it""",
    ),
    "a head below zero": ({"heads": [-1, 4, 4, 0, 4]}, "word 1 ('We') has the head -1; expected 0 (root)"),
    "a head that is the word": ({"heads": [4, 4, 4, 4, 4]}, "word 4 ('stop') has the head 4; expected 0 (root)"),
    "a head between words": ({"heads": [1.5, 4, 4, 0, 4]}, "word 1 ('We') has the head 1.5; expected 0 (root)"),
    "a head that is missing": ({"heads": [None, 4, 4, 0, 4]}, "word 1 ('We') has the head None; expected 0 (root)"),
    "another word in the text": (
        {"text": "We cannot stop."},
        """sentence 'one': word 3 is "n't", but the text goes on with 'nnot stop.'; expected the words one after""",
    ),
    "a word missing in the words": (
        {"text": "We really can't stop."},
        "word 2 is 'ca', but the text goes on with \"really can't stop.\"; expected the words one after the other",
    ),
    "a text that ends early": ({"text": "We can't stop"}, "word 5 is '.', but the text goes on with ''; expected"),
    "a text that goes on": (
        {"text": "We can't stop. Now!"},
        "sentence 'one': after the last word, '.', the text goes on with 'Now!'; expected no more; add the words",
    ),
    "a text that is none": ({"text": 7}, "sentence 'one': got 7 as its text; expected a string; fix it or leave"),
}


@pytest.mark.parametrize("problem", TABLES)
def test_tables_that_are_refused(problem: str) -> None:
    changed, message = TABLES[problem]
    assert_refused(frame(**changed), message)


def test_paths_that_are_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path / "none.conllu", "none.conllu; expected at least one sentence in CoNLL-U; check the path")
    assert_refused(tmp_path / "none.parquet", "there is no file")
    (tmp_path / "a.txt").write_text(SNIPPET, encoding="utf-8")
    assert_refused(tmp_path / "a.txt", "a.txt; expected a file that ends in .parquet, .csv, .tsv, .jsonl, .conllu")
    (tmp_path / "latin.conllu").write_bytes("# é".encode("latin-1"))
    assert_refused(tmp_path / "latin.conllu", "latin.conllu is not UTF-8 at byte 2; save it as UTF-8")
    frame(heads=[9, 4, 4, 0, 4]).to_parquet(tmp_path / "bad.parquet")
    assert_refused(tmp_path / "bad.parquet", "bad.parquet, sentence 'one': word 1 ('We') has the head 9;")
    assert_refused(frame().head(0), "the data frame has no rows")


@given(st.lists(sentences(), min_size=1, max_size=3))
@settings(max_examples=50, deadline=None)
def test_well_formed_sentences_come_back(
    tmp_path_factory: pytest.TempPathFactory, given: list[tuple[Annotated, str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "well-formed.conllu"
    path.write_text("\n".join(as_conllu(*one) for one in given), encoding="utf-8")
    read = read_annotated(path)
    assert [replace(sentence, text=None, multiword=()) for sentence in read] == [sentence for sentence, _ in given]
    assert [sentence.text for sentence in read] == [text.strip() for _, text in given]
    assert read_annotated(path, texts=False) == [replace(sentence, text=None) for sentence in read]
    rows = [{**columns(sentence), "sent_id": sentence.name, "text": text} for sentence, text in given]
    expected = [replace(sentence, antecedents={}, text=text) for sentence, text in given]
    assert read_annotated(pd.DataFrame(rows)) == expected


@given(sentences(), st.data())
@settings(max_examples=50, deadline=None)
def test_a_text_that_is_not_the_words_is_refused(given: tuple[Annotated, str], data: st.DataObject) -> None:
    sentence, text = given
    place = data.draw(st.integers(0, len(text.rstrip())))
    longer = text[:place] + "\N{SNOWMAN}\N{COMET}" + text[place:]
    read_annotated(pd.DataFrame([{**columns(sentence), "text": text}]))
    with pytest.raises(DataProblem, match="the text goes on with"):
        read_annotated(pd.DataFrame([{**columns(sentence), "text": longer}]))
