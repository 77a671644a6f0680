"""Do the recipes about pre-trained heads find the right pairs of paragraphs and words, and run to tables?"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from recipes.pretrained_heads import segments, study
from recipes.pretrained_heads.pronouns import antecedents, as_conllu

from headcount.data.read_annotated import read_annotated
from tests.recipes import test_seven_tasks as seven

WHO = {
    "tokens": ["the", "man", "who", "you", "think", "sang", "left", "."],
    "upos": ["DET", "NOUN", "PRON", "PRON", "VERB", "VERB", "VERB", "PUNCT"],
    "xpos": ["DT", "NN", "WP", "PRP", "VBP", "VBD", "VBD", "."],
    "heads": [2, 7, 6, 5, 2, 5, 0, 7],
    "deprels": ["det", "nsubj", "nsubj", "nsubj", "acl:relcl", "ccomp", "root", "punct"],
}
ASKED = {
    "tokens": ["who", "sang", "?"],
    "upos": ["PRON", "VERB", "PUNCT"],
    "xpos": ["WP", "VBD", "."],
    "heads": [2, 0, 2],
    "deprels": ["nsubj", "root", "punct"],
}
TREES = pd.DataFrame([WHO, ASKED])


def test_a_relative_pronoun_stands_for_the_noun_that_its_clause_modifies() -> None:
    """Even from a clause inside the clause; a pronoun that asks stands for none."""
    assert antecedents(TREES.iloc[0]) == {2: 1}
    assert antecedents(TREES.iloc[1]) == {}


def test_trees_as_conllu(tmp_path: Path) -> None:
    (tmp_path / "trees.conllu").write_text(as_conllu(TREES), encoding="utf-8")
    first, second = read_annotated(tmp_path / "trees.conllu")
    assert first.words == tuple(WHO["tokens"])
    assert first.heads == tuple(WHO["heads"])
    assert dict(first.antecedents) == {2: 1}
    assert not second.antecedents


def test_segments_are_consecutive_paragraphs() -> None:
    long = [f"paragraph {number} " + "x" * 40 for number in range(6)]
    articles = pd.DataFrame(
        {"text": ["\n".join(long[:3]), "Title\n" + long[3], "\n".join(["short", long[4], long[5]])]}
    )
    found = segments.make_segments(articles, 5)
    assert len(found) == 2
    for one, other in found.itertuples(index=False):
        assert long.index(other) == long.index(one) + 1


def test_from_texts_to_findings(tmp_path: Path) -> None:
    told = seven.sentences()
    pd.DataFrame({"sentence1": told[:6], "sentence2": told[6:12]}).to_parquet(tmp_path / "segments.parquet")
    trees = seven.treebank(40, 8)
    trees["heads"] = [[*range(2, len(words) + 1), 0] for words in trees["tokens"]]
    trees.assign(xpos=trees["upos"]).to_parquet(tmp_path / "validation.parquet")
    options = [
        "bundled=bundled:pretrained",
        "--segments",
        tmp_path / "segments.parquet",
        "--treebank",
        tmp_path,
        "--out",
        tmp_path / "out",
        "--device",
        "cpu",
    ]
    printed = seven.run(study, *options)
    assert [line.split()[:2] for line in printed.splitlines()] == [["bundled", "segments"], ["bundled", "links"]]
    found = pd.read_csv(tmp_path / "out" / "findings.csv").set_index("finding")
    layers = pd.read_csv(tmp_path / "out" / "segments-special-layers.csv")
    late = layers.query("variable == 'sep' and 5 <= layer <= 9")["mean"].mean()
    row = found.loc["more than half of the attention of L5 to L9 falls on [SEP]"]
    assert row["value"] == pytest.approx(late, abs=1e-5)
    assert row["verdict"] == "does not hold"
    previous = pd.read_csv(tmp_path / "out" / "segments-position.csv").query("layer == 1")["next"].sort_values()
    twice = [
        found.loc[f"{which} head of L1 gives more than half to the next token", "value"] for which in ("a", "another")
    ]
    assert twice == pytest.approx(list(previous[-1:-3:-1]), abs=1e-5)
    assert "gradients of attention to [SEP] are smaller than to words in L5 to L9" in found.index
    assert seven.run(study, *options) == ""
