"""CoNLL-2012 files: documents, sentences, brackets; what is malformed is named with its file, document and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.data.coreference.conll2012 import read_conll2012
from headcount.errors import DataProblem

BEGIN, END = "#begin document (bc/one); part 000\n", "#end document\n"


def row(word: str, tag: str, brackets: str) -> str:
    return f"bc/one   0   0   {word}   {tag}   (TOP*   -   -   -   -   *   {brackets}\n"


GOOD = (
    BEGIN
    + row("John", "NNP", "(12|(3)")
    + row("'s", "POS", "12)")
    + row("mother", "NN", "-")
    + "\n"
    + row("-LRB-", "-LRB-", "-")
    + row("He", "PRP", "(12)")
    + "\n"
    + END
)


def read(folder: Path, text: str, name: str = "a.v4_gold_conll") -> list:
    (folder / name).write_text(text, encoding="utf-8")
    return list(read_conll2012(folder / name))


def test_words_sentences_and_mentions(tmp_path: Path) -> None:
    [document] = read(tmp_path, GOOD)
    assert document.name == "(bc/one); part 000"
    assert document.words == ("John", "'s", "mother", "(", "He")
    assert document.tags == ("NNP", "POS", "NN", "-LRB-", "PRP")
    assert document.starts == (0, 3)
    spans = {(mention.start, mention.end): (mention.entity, mention.kind) for mention in document.mentions}
    assert spans[0, 2][0] == spans[4, 5][0] != spans[0, 1][0]
    assert spans[0, 2][1] == "proper"
    assert spans[4, 5][1] == "pronoun"


def test_nested_brackets_of_one_entity(tmp_path: Path) -> None:
    text = BEGIN + row("the", "DT", "(1") + row("man", "NN", "(1") + row("he", "PRP", "1)|1)") + END
    # The mention that was opened last is closed first.
    spans = [(mention.start, mention.end) for mention in read(tmp_path, text)[0].mentions]
    assert sorted(spans) == [(0, 3), (1, 3)]


def test_entities_with_a_mention_in_common_are_one(tmp_path: Path) -> None:
    words = [("a", "(1)"), ("b", "(1)|(2)"), ("c", "(2)"), ("d", "(3)"), ("e", "(3)|(1)")]
    [document] = read(tmp_path, BEGIN + "".join(row(word, "NN", brackets) for word, brackets in words) + END)
    assert len(document.mentions) == 5
    assert len({mention.entity for mention in document.mentions}) == 1


def test_a_folder_and_parts(tmp_path: Path) -> None:
    (tmp_path / "bc").mkdir()
    read(tmp_path / "bc", GOOD + GOOD.replace("part 000", "part 001"))
    read(tmp_path, GOOD, "b.conll")
    (tmp_path / "readme.txt").write_text("not read")
    assert len(list(read_conll2012(tmp_path))) == 3


def test_without_parts_of_speech(tmp_path: Path) -> None:
    [document] = read(tmp_path, BEGIN + row("Ann", "-", "(1)") + row("slept", "-", "-") + END)
    assert document.tags is None


BAD = {
    "not closed": (
        BEGIN + row("a", "NN", "(7") + row("b", "NN", "-") + END,
        r"line 2: the bracket '\(7' does not close",
    ),
    "not opened": (BEGIN + row("a", "NN", "-") + row("b", "NN", "7)") + END, r"line 3: the bracket '7\)' closes"),
    "no brackets": (BEGIN + row("a", "NN", "(7)|x") + END, r"line 2: got the brackets '\(7\)\|x'; expected"),
    "no words": (BEGIN + END, "line 1: the document has no words"),
    "few columns": (BEGIN + "bc/one 0 0 a NN\n" + END, "line 2: got 5 columns; expected at least 6"),
    "other columns": (BEGIN + row("a", "NN", "-") + "x 0 1 b NN * -\n" + END, "line 3: got 7 columns; expected 12"),
    "no end": (BEGIN + row("a", "NN", "-"), r"\(bc/one\); part 000 has no end; .* cut short"),
    "begins twice": (BEGIN + row("a", "NN", "-") + BEGIN, "line 3: .* has no end"),
    "ends first": (END, "line 1: got #end document"),
    "outside": (row("a", "NN", "-"), "line 1: got .* outside of a document"),
    "no document": ("# a comment\n", "no line #begin document"),
    "no bytes": ("\n", "is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_malformed(case: str, tmp_path: Path) -> None:
    text, expected = BAD[case]
    with pytest.raises(DataProblem, match=expected) as caught:
        read(tmp_path, text)
    assert str(tmp_path / "a.v4_gold_conll") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.conll").write_bytes(BEGIN.encode() + "caf\xe9".encode("latin-1"))
    with pytest.raises(DataProblem, match="not UTF-8"):
        list(read_conll2012(tmp_path / "a.conll"))
