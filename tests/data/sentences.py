"""Annotated sentences for tests: a file and a row with known answers, and well-formed ones at random."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import strategies as st

from headcount.data.annotations import (
    Annotated,
)
from headcount.data.read_annotated import read_annotated
from headcount.errors import DataProblem

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
