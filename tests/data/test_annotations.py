"""Classes and links of annotated words: known answers, the bundled sentences, both formats, every refusal."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headcount.data.annotations import (
    NEGATIONS,
    WORD_CLASSES,
    WORD_LINKS,
    Annotated,
    join,
    read_annotated,
    word_classes,
    word_links,
)
from headcount.errors import DataProblem
from headcount.zoo.bundled import bundled_sentences

CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"
SNIPPET = (
    """\
# newdoc
# sent_id = first
# text = Anna didn't think it was written by her rival.
# text_en = Not the text.
1|Anna|Anna|PROPN|NNP|_|4|nsubj|_|_
2-3|didn't|_|_|_|_|_|_|_|_
2|did|do|AUX|VBD|_|4|aux|_|SpaceAfter=No
3|n't|not|PART|RB|_|4|advmod|_|_
4|think|think|VERB|VB|_|0|root|_|_
5|it|it|PRON|PRP|_|7|nsubj:pass|_|_
6|was|be|AUX|VBD|_|7|aux:pass|_|_
7|written|write|VERB|VBN|_|4|ccomp|_|_
8|by|by|ADP|IN|_|10|case|_|_
9|her|her|PRON|PRP$|_|10|nmod:poss|_|SpaceAfter=Yes~Antecedent=1
10|rival|rival|NOUN|NN|_|7|obl:agent|_|SpaceAfter=No
10.1|gone|go|VERB|VBN|_|_|_|7:conj|_
11|.|.|PUNCT|.|_|4|punct|_|_

# text = There is NOTHING that gives him no knotty hope
1|There|there|PRON|EX|_|2|expl|_|_
2|is|be|VERB|VBZ|_|0|root|_|_
3|NOTHING|nothing|PRON|NN|_|2|nsubj|_|_
4|that|that|PRON|WDT|_|5|nsubj|_|Antecedent=3
5|gives|give|VERB|VBZ|_|3|acl:relcl|_|_
6|him|he|PRON|PRP|_|5|iobj|_|_
7|no|no|DET|DT|_|9|det|_|_
8|knotty|knotty|ADJ|JJ|_|9|amod|_|_
9|hope|hope|NOUN|NN|_|5|obj|_|_

1|That|that|SCONJ|IN|_|3|mark|_|_
2|he|he|PRON|PRP|_|3|nsubj|_|_
3|won@t|will|VERB|MD|_|5|csubj|_|_
4|is|be|AUX|VBZ|_|5|cop|_|_
5|clear|clear|ADJ|JJ|_|0|root|_|_
""".replace("|", "\t")
    .replace("~", "|")
    .replace("@", CURLY)
)

ROW: dict[str, Any] = {
    "sent_id": "one",
    "text": "We can't stop.",
    "tokens": ["We", "ca", "n't", "stop", "."],
    "upos": ["PRON", "AUX", "PART", "VERB", "PUNCT"],
    "heads": [4, 4, 4, 0, 4],
    "deprels": ["nsubj", "aux", "advmod", "root", "punct"],
}


def conllu(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "some.conllu"
    path.write_text(text, encoding="utf-8")
    return path


def frame(**changed: object) -> pd.DataFrame:
    """ROW with some columns changed, or left out where they are changed to `...`."""
    row = {**ROW, **changed}
    return pd.DataFrame([{column: value for column, value in row.items() if value is not ...}])


def spoiled(sentence: int, old: str, new: str) -> str:
    """SNIPPET with one place of one of its sentences changed."""
    blocks = SNIPPET.split("\n\n")
    old, new = old.replace("|", "\t"), new.replace("|", "\t")
    assert blocks[sentence].count(old) == 1
    blocks[sentence] = blocks[sentence].replace(old, new)
    return "\n\n".join(blocks)


def test_a_snippet_with_known_answers(tmp_path: Path) -> None:
    first, second, third = read_annotated(conllu(tmp_path, SNIPPET))
    assert [one.name for one in (first, second, third)] == ["first", "2", "3"]
    assert " ".join(first.words) == "Anna did n't think it was written by her rival ."
    assert first.heads == (4, 4, 4, 0, 7, 7, 4, 10, 10, 7, 4)
    assert first.antecedents == {8: 0}
    assert word_classes(first) == {
        "noun": (0, 9),
        "verb": (3, 6),
        "pronoun": (4, 8),
        "subject": (0, 4, 9),
        "object": (),
        "negation": (2,),
    }
    assert word_links(first) == {"verb-subject": ((3, 0), (6, 4)), "noun-pronoun": ((0, 8),)}
    assert word_classes(second) == {
        "noun": (8,),
        "verb": (1, 4),
        "pronoun": (0, 2, 3, 5),
        "subject": (0, 2, 3),
        "object": (5, 8),
        "negation": (2,),
    }
    assert word_links(second) == {"verb-subject": ((1, 2), (4, 3)), "noun-pronoun": ((2, 3),)}
    assert word_classes(third)["subject"] == (1, 2)
    assert word_classes(third)["negation"] == (2,)
    assert word_links(third)["verb-subject"] == ((2, 1),), "the head of the csubj is an adjective"


def test_line_ends_marks_and_blank_lines_of_other_editors(tmp_path: Path) -> None:
    expected = read_annotated(conllu(tmp_path, SNIPPET))
    path = tmp_path / "windows.conllu"
    path.write_bytes(("\ufeff\n" + SNIPPET.replace("\n\n", "\n\n \n") + "\n\n").replace("\n", "\r\n").encode())
    assert read_annotated(str(path)) == expected


def test_a_line_separator_inside_a_word_is_no_line_end(tmp_path: Path) -> None:
    word = "th\N{LINE SEPARATOR}at"
    sentences = read_annotated(conllu(tmp_path, spoiled(2, "1|That|", f"1|{word}|")))
    assert sentences[2].words[0] == word


def test_negations_are_whole_words_in_any_case() -> None:
    assert len(NEGATIONS - {"n't"}) == 17
    yes = ["Not", "NEVER", "n't", f"n{CURLY}t", "N'T", "Don't", f"can{CURLY}t", "nowhere"]
    no = ["no", "knot", "note", "nothings", "do", "t", "'t", "cannot", "without"]
    words = yes + no
    sentence = Annotated("", tuple(words), ("X",) * len(words), ("dep",) * len(words), (0,) * len(words), {})
    assert word_classes(sentence)["negation"] == tuple(range(len(yes)))


@pytest.mark.parametrize(
    ("deprel", "subject", "object_", "link"),
    [
        ("nsubj", True, False, True),
        ("nsubj:pass", True, False, True),
        ("csubj:outer", True, False, True),
        ("expl", True, False, False),
        ("obl:agent", True, False, False),
        ("obl", False, False, False),
        ("obj", False, True, False),
        ("iobj", False, True, False),
        ("obl:arg", False, False, False),
        ("xcomp", False, False, False),
    ],
)
def test_relations(deprel: str, subject: bool, object_: bool, link: bool) -> None:
    sentence = Annotated("", ("go", "x"), ("VERB", "NOUN"), ("root", deprel), (0, 1), {})
    classes = word_classes(sentence)
    assert (classes["subject"] == (1,), classes["object"] == (1,)) == (subject, object_)
    assert word_links(sentence)["verb-subject"] == (((0, 1),) if link else ())
    auxiliary = Annotated("", ("is", "x"), ("AUX", "NOUN"), ("root", deprel), (0, 1), {})
    assert word_links(auxiliary)["verb-subject"] == ()
    assert word_classes(auxiliary)["verb"] == ()


def test_a_subject_without_a_head_is_not_linked_to_the_last_word() -> None:
    sentence = Annotated("", ("x", "go"), ("NOUN", "VERB"), ("nsubj", "root"), (0, 0), {})
    assert word_links(sentence)["verb-subject"] == ()


def test_the_bundled_sentences() -> None:
    sentences = read_annotated(bundled_sentences())
    lines = [line.split("\t") for line in bundled_sentences().read_text(encoding="utf-8").splitlines() if "\t" in line]
    assert len(sentences) == len({one.name for one in sentences}) == 200
    assert sum(len(one.words) for one in sentences) == len(lines)
    for tags, name in (({"NOUN", "PROPN"}, "noun"), ({"VERB"}, "verb"), ({"PRON"}, "pronoun")):
        assert sum(len(word_classes(one)[name]) for one in sentences) == sum(line[3] in tags for line in lines) > 0
    for name in WORD_CLASSES:
        assert sum(len(word_classes(one)[name]) for one in sentences) > 0, name
    for name in WORD_LINKS:
        assert sum(len(word_links(one)[name]) for one in sentences) > 0, name
    links = [(one, pair) for one in sentences for pair in word_links(one)["noun-pronoun"]]
    assert len(links) == sum("Antecedent=" in line[9] for line in lines)
    assert all(one.upos[pronoun] == "PRON" for one, (_, pronoun) in links)
    clockmaker = sentences[0]
    assert [(clockmaker.words[a], clockmaker.words[b]) for a, b in word_links(clockmaker)["noun-pronoun"]] == [
        ("clockmaker", "he"),
        ("watch", "it"),
        ("watch", "its"),
    ]


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
    expected = [Annotated(name, tuple(ROW["tokens"]), tags, deprels, heads, {}) for name in ("one", "two")]
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
        "sentence 'one': got 3 as entry 1 of upos; expected a string; mend it",
    ),
    "an empty word": ({"tokens": ["We", "ca", "", "stop", "."]}, "got '' as entry 3 of tokens; expected a string"),
    "a head too far": (
        {"heads": [4, 4, 6, 0, 4]},
        """sentence 'one': word 3 ("n't") has the head 6; expected 0 (root) or another word, 1 to 5; mend it""",
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
    "a text that is none": ({"text": 7}, "sentence 'one': got 7 as its text; expected a string; mend it or leave"),
}


@pytest.mark.parametrize("problem", TABLES)
def test_tables_that_are_refused(problem: str) -> None:
    changed, message = TABLES[problem]
    assert_refused(frame(**changed), message)


FILES = {
    "empty": ("", "some.conllu is empty; expected at least one sentence in CoNLL-U; check the file"),
    "blank": ("\n \n", "some.conllu is empty; expected at least one sentence"),
    "nine columns": (
        spoiled(1, "2|is|be|VERB|VBZ|", "2|is|be|VERB|"),
        "some.conllu, line 21: got 9 columns; expected 10 with tabs between; mend it",
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
    "another text": (
        spoiled(0, "# text = Anna didn't", "# text = Anna did not"),
        """some.conllu, sentence 'first' (line 1): word 3 is "n't", but the text goes on with 'not think it was wri'""",
    ),
}


@pytest.mark.parametrize("problem", FILES)
def test_files_that_are_refused(tmp_path: Path, problem: str) -> None:
    text, message = FILES[problem]
    assert_refused(conllu(tmp_path, text), message)


def test_paths_that_are_refused(tmp_path: Path) -> None:
    assert_refused(tmp_path / "none.conllu", "none.conllu; expected sentences in CoNLL-U; check the path")
    assert_refused(tmp_path / "none.parquet", "there is no file")
    (tmp_path / "a.txt").write_text(SNIPPET, encoding="utf-8")
    assert_refused(tmp_path / "a.txt", "a.txt; expected a file that ends in .parquet, .csv, .tsv, .jsonl, .conllu")
    (tmp_path / "latin.conllu").write_bytes("# é".encode("latin-1"))
    assert_refused(tmp_path / "latin.conllu", "latin.conllu is not UTF-8 at byte 2; expected UTF-8; save it so")
    frame(heads=[9, 4, 4, 0, 4]).to_parquet(tmp_path / "bad.parquet")
    assert_refused(tmp_path / "bad.parquet", "bad.parquet, sentence 'one': word 1 ('We') has the head 9;")
    assert_refused(frame().head(0), "the data frame has no rows")


def assert_refused(source: Path | pd.DataFrame, message: str) -> None:
    with pytest.raises(DataProblem, match=re.escape(message)) as raised:
        read_annotated(source)
    assert "\n" not in str(raised.value)


LETTERS = st.characters(exclude_categories=["Z", "C"])


@st.composite
def sentences(draw: st.DrawFn) -> tuple[Annotated, str]:
    """A well-formed sentence, and its text with spaces or nothing between the words."""
    words = draw(st.lists(st.text(LETTERS, min_size=1, max_size=5), min_size=1, max_size=6))
    size = len(words)
    many = {"min_size": size, "max_size": size}
    upos = draw(st.lists(st.sampled_from(["NOUN", "PROPN", "VERB", "AUX", "PRON"]), **many))
    deprels = draw(st.lists(st.sampled_from(["nsubj", "csubj:pass", "obj", "expl", "root"]), **many))
    others = [[number for number in range(size + 1) if number != place + 1] for place in range(size)]
    heads = [draw(st.sampled_from(numbers)) for numbers in others]
    nouns = {place: draw(st.sampled_from([*numbers, None])) for place, numbers in enumerate(others)}
    antecedents = {place: noun - 1 for place, noun in nouns.items() if noun}
    spaces = draw(st.lists(st.sampled_from(["", " ", "  ", "\N{NO-BREAK SPACE}"]), **many))
    text = "".join(word + space for word, space in zip(words, spaces, strict=True))
    name = draw(st.text(LETTERS, min_size=1, max_size=5))
    return Annotated(name, tuple(words), tuple(upos), tuple(deprels), tuple(heads), antecedents), text


def columns(sentence: Annotated) -> dict[str, list[Any]]:
    return {name: list(getattr(sentence, name)) for name in ("words", "upos", "heads", "deprels")}


def as_conllu(sentence: Annotated, text: str) -> str:
    lines = [f"# sent_id = {sentence.name}", f"# text = {text}"]
    for place, word in enumerate(sentence.words):
        noun = sentence.antecedents.get(place)
        misc = "_" if noun is None else f"Antecedent={noun + 1}"
        row = [place + 1, word, "_", sentence.upos[place], "_", "_", sentence.heads[place], sentence.deprels[place]]
        lines.append("\t".join(map(str, [*row, "_", misc])))
    return "\n".join(lines) + "\n"


@given(st.lists(sentences(), min_size=1, max_size=3))
@settings(max_examples=50, deadline=None)
def test_well_formed_sentences_come_back(
    tmp_path_factory: pytest.TempPathFactory, given: list[tuple[Annotated, str]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "well-formed.conllu"
    path.write_text("\n".join(as_conllu(*one) for one in given), encoding="utf-8")
    assert read_annotated(path) == [sentence for sentence, _ in given]
    rows = [{**columns(sentence), "sent_id": sentence.name, "text": text} for sentence, text in given]
    assert read_annotated(pd.DataFrame(rows)) == [replace(sentence, antecedents={}) for sentence, _ in given]


@given(sentences())
@settings(max_examples=50, deadline=None)
def test_links_and_classes_agree(given: tuple[Annotated, str]) -> None:
    sentence, _ = given
    classes, links = word_classes(sentence), word_links(sentence)
    assert (tuple(classes), tuple(links)) == (WORD_CLASSES, WORD_LINKS)
    naive = [
        (verb, subject)
        for subject in range(len(sentence.words))
        for verb in range(len(sentence.words))
        if sentence.heads[subject] == verb + 1
        and verb in classes["verb"]
        and sentence.deprels[subject] in ("nsubj", "csubj:pass")
    ]
    assert list(links["verb-subject"]) == naive
    assert {pronoun: noun for noun, pronoun in links["noun-pronoun"]} == sentence.antecedents


@given(sentences(), st.data())
@settings(max_examples=50, deadline=None)
def test_a_text_that_is_not_the_words_is_refused(given: tuple[Annotated, str], data: st.DataObject) -> None:
    sentence, text = given
    place = data.draw(st.integers(0, len(text.rstrip())))
    longer = text[:place] + "\N{SNOWMAN}\N{COMET}" + text[place:]
    read_annotated(pd.DataFrame([{**columns(sentence), "text": text}]))
    with pytest.raises(DataProblem, match="the text goes on with"):
        read_annotated(pd.DataFrame([{**columns(sentence), "text": longer}]))


@given(st.lists(sentences(), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_joined_sentences_keep_their_classes_and_links(given: list[tuple[Annotated, str]]) -> None:
    parts = [sentence for sentence, _ in given]
    whole = join(*parts)
    before = np.cumsum([0, *(len(one.words) for one in parts)]).tolist()
    assert whole.name == parts[0].name
    for name in ("words", "upos", "deprels"):
        assert getattr(whole, name) == sum((getattr(one, name) for one in parts), ())
    classes, links = word_classes(whole), word_links(whole)
    for name in WORD_CLASSES:
        moved = [word + start for start, one in zip(before, parts, strict=False) for word in word_classes(one)[name]]
        assert classes[name] == tuple(moved)
    for name in WORD_LINKS:
        expected = [
            (a + start, b + start) for start, one in zip(before, parts, strict=False) for a, b in word_links(one)[name]
        ]
        assert links[name] == tuple(expected)
    assert all(0 <= head <= len(whole.words) and head != place for place, head in enumerate(whole.heads, start=1))


@given(sentences(), sentences(), sentences())
@settings(max_examples=20, deadline=None)
def test_joined_one_after_the_other_is_joined_at_once(
    one: tuple[Annotated, str], two: tuple[Annotated, str], three: tuple[Annotated, str]
) -> None:
    a, b, c = one[0], two[0], three[0]
    assert join(join(a, b), c) == join(a, join(b, c)) == join(a, b, c)
    assert join(a) == a


def test_joined_roots_stay_roots() -> None:
    sentence = Annotated("x", ("go", "he"), ("VERB", "PRON"), ("root", "nsubj"), (0, 1), {1: 0})
    whole = join(sentence, sentence)
    assert whole.heads == (0, 1, 0, 3)
    assert whole.antecedents == {1: 0, 3: 2}
    assert word_links(whole) == {"verb-subject": ((0, 1), (2, 3)), "noun-pronoun": ((0, 1), (2, 3))}
