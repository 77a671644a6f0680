"""CoNLL-U files of any editor are read; every malformed one is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.data.multiword import Multiword
from headcount.data.read_annotated import read_annotated
from tests.data.sentences import SNIPPET, assert_refused, conllu, spoiled


def test_line_ends_marks_and_blank_lines_of_other_editors(tmp_path: Path) -> None:
    expected = read_annotated(conllu(tmp_path, SNIPPET))
    path = tmp_path / "windows.conllu"
    path.write_bytes(("\ufeff\n" + SNIPPET.replace("\n\n", "\n\n \n") + "\n\n").replace("\n", "\r\n").encode())
    assert read_annotated(str(path)) == expected


def test_a_line_separator_inside_a_word_is_no_line_end(tmp_path: Path) -> None:
    word = "th\N{LINE SEPARATOR}at"
    sentences = read_annotated(conllu(tmp_path, spoiled(2, "1|That|", f"1|{word}|")))
    assert sentences[2].words[0] == word


def test_words_that_are_written_as_one(tmp_path: Path) -> None:
    first = read_annotated(conllu(tmp_path, SNIPPET))[0]
    assert first.words[1:3] == ("did", "n't")
    assert first.multiword == (Multiword(2, 3, "didn't"),)


FILES = {
    "empty": ("", "some.conllu is empty; expected at least one sentence in CoNLL-U; check the file"),
    "blank": ("\n \n", "some.conllu is empty; expected at least one sentence"),
    "nine columns": (
        spoiled(1, "2|is|be|VERB|VBZ|", "2|is|be|VERB|"),
        "some.conllu, line 21: got 9 columns; expected 10 with tabs between; fix it",
    ),
    "spaces for tabs": (
        spoiled(0, "1|Anna|Anna|PROPN|NNP|_|4|nsubj|_|_", "1 Anna Anna PROPN NNP _ 4 nsubj _ _"),
        "some.conllu, line 5: got 1 columns; expected 10",
    ),
    "no blank line": (
        SNIPPET.replace("\n\n", "\n"),
        "some.conllu, line 19: got the word number '1'; expected 12; number the words from 1 and put a blank line",
    ),
    "a number that is none": (spoiled(2, "2|he|", "b|he|"), "line 31: got the word number 'b'; expected 2;"),
    "a head too far": (
        spoiled(2, "_|3|nsubj", "_|6|nsubj"),
        "some.conllu, sentence 3 (line 30): word 2 ('he') has the head '6'; expected 0 (root) or another word, 1 to 5",
    ),
    "a head that is none": (spoiled(2, "_|3|nsubj", "_|_|nsubj"), "word 2 ('he') has the head '_'; expected 0 (root)"),
    "an antecedent too far": (
        spoiled(1, "Antecedent=3", "Antecedent=10"),
        "some.conllu, sentence 2 (line 19): word 4 ('that') has the antecedent '10'; expected another word, 1 to 9",
    ),
    "antecedent zero": (spoiled(1, "Antecedent=3", "Antecedent=0"), "has the antecedent '0'; expected another word"),
    "its own antecedent": (spoiled(1, "Antecedent=3", "Antecedent=4"), "has the antecedent '4'; expected another"),
    "an antecedent in letters": (spoiled(1, "Antecedent=3", "Antecedent=x"), "has the antecedent 'x'; expected"),
    "an empty antecedent": (spoiled(1, "Antecedent=3", "Antecedent="), "has the antecedent ''; expected another word"),
    "a multiword token too far": (
        spoiled(0, "2-3|didn't", "2-30|didn't"),
        'the multiword token "didn\'t" has the words 2 to 30; expected words from 1 to 11; fix it',
    ),
    "another text": (
        spoiled(0, "# text = Anna didn't", "# text = Anna did not"),
        """some.conllu, sentence 'first' (line 1): word 2 is "didn't", but the text goes on with 'did not think it""",
    ),
}


@pytest.mark.parametrize("problem", FILES)
def test_files_that_are_refused(tmp_path: Path, problem: str) -> None:
    text, message = FILES[problem]
    assert_refused(conllu(tmp_path, text), message)
