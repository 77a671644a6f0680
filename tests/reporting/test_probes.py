"""Heads beside annotations as data of the page: of every kind, in the right order, with no more than the study has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.reporting.colourings import find_colourings
from headcount.reporting.document import describe
from headcount.reporting.probes import find_baselines, find_probes
from headcount.reporting.view import read_view
from headcount.story.probes import NONE
from tests.measures.tiny import translator
from tests.probing.treebank import sentences
from tests.reporting import studies
from tests.reporting.probed import ACCURACY, BASELINES, SENTENCES, WIDE, arcs, both, coreference, view_of


def test_rows_with_the_largest_gain_first() -> None:
    (found,) = find_probes(both())
    assert [row["relation"] for row in found["rows"]] == ["pronoun", "all", "proper", "nominal"]
    first = found["rows"][0]
    assert (first["spelled"], first["head"], first["direction"], first["cases"]) == ("L1H0", 1, 0, 40)
    assert first["accuracy"] == pytest.approx([ACCURACY[1], ACCURACY[1] - WIDE, ACCURACY[1] + WIDE])
    assert first["gain"] == pytest.approx([0.4, 0.4 - WIDE, 0.4 + WIDE])
    assert found["rows"][2]["direction"] == 1
    assert found["directions"] == ["to", "from"]


def test_the_words_are_those_of_the_schemas() -> None:
    (found,) = find_probes(both())
    assert found["accuracy"] == {"title": "Best head", "unit": "share of the mentions"}
    assert found["gain"]["title"] == "Best head above the nearest mention"
    assert found["summary"] == "how often a mention attends to an antecedent"
    assert "selected on one half" in found["selected"]


def test_the_baseline_of_the_gain_comes_first() -> None:
    """It is found by its numbers; a baseline without a schema is called by its own name."""
    assert find_baselines(coreference()) == ["baseline_nearest", "baseline_alphabet", "baseline_rules"]
    (found,) = find_probes(both())
    assert [baseline["title"] for baseline in found["baselines"]] == ["Nearest mention", "Alphabet", "Rules"]
    values = [value for value, _, _ in found["rows"][0]["baselines"]]
    assert values == [BASELINES[name][1] for name in ("nearest", "alphabet", "rules")]


def test_examples_belong_to_their_relation_and_head() -> None:
    (found,) = find_probes(both())
    by_name = {row["relation"]: row["examples"] for row in found["rows"]}
    assert by_name["pronoun"] == [{"words": words, "arcs": links} for words, links in SENTENCES["pronoun"]]
    assert by_name["all"] == []
    other = arcs().assign(head=("relation", np.array(["L0H0"] * 4, dtype=object)))
    (stale,) = find_probes(view_of({"probe/coreference": coreference(), "arcs/coreference": other}))
    assert all(not row["examples"] or row["spelled"] == "L0H0" for row in stale["rows"])


def test_a_study_without_sentences_still_opens() -> None:
    (found,) = find_probes(view_of({"probe/coreference": coreference()}))
    assert all(row["examples"] == [] for row in found["rows"])


def test_relations_without_a_number_have_no_row() -> None:
    probed = coreference()
    for name in ("best_accuracy", "gain"):
        probed[name] = probed[name].where(probed["relation"] != "proper")
    (found,) = find_probes(view_of({"probe/coreference": probed}))
    assert [row["relation"] for row in found["rows"]] == ["pronoun", "all", "nominal"]
    assert find_baselines(probed)[0] == "baseline_nearest"


def test_results_without_relations_are_something_else() -> None:
    alone = coreference()[["relation_gain", "relation_gain_low", "relation_gain_high"]]
    assert find_probes(view_of({"probe/other": alone})) == []
    assert [colouring["id"] for colouring in find_colourings(view_of({"probe/other": alone}))] == [
        "probe/other:relation_gain"
    ]


def test_only_heads_whose_gain_is_shown_have_a_relation() -> None:
    relation, gain = find_colourings(both())
    assert relation["kind"] == "category"
    named = [None if value is None else relation["names"][value] for value in relation["values"]]
    assert named == ["pronoun", "proper", NONE], "L0H0 has no number at all, and L1H1 an interval around 0"
    assert relation["names"][relation["none"]] == NONE
    assert relation["beside"] == gain["id"]
    assert (gain["kind"], gain["group"]) == ("diverging", "Links")


def test_the_commonest_relation_has_the_first_colour() -> None:
    probed = coreference()
    probed["relation_of_head"][:] = [[[3, 2], [3, 3]]]
    probed["relation_gain_low"][:] = 0.1
    probed["relation_gain"][:] = 0.2
    relation, _ = find_colourings(view_of({"probe/coreference": probed}))
    assert relation["names"] == ["nominal", "proper", NONE]


def test_two_results_are_told_apart() -> None:
    view = view_of({"probe/coreference": coreference(), "probe/coreference@gap": coreference()})
    assert len({probe["title"] for probe in find_probes(view)}) == 2
    colourings = find_colourings(view)
    assert len({colouring["id"] for colouring in colourings}) == len({one["title"] for one in colourings}) == 4


def test_a_study_of_nothing_else_is_a_whole_page(tmp_path: Path) -> None:
    path = studies.probed_study(tmp_path / "study")
    told, _ = describe(read_view(path), str(path))
    assert any("finds the syntactic head" in sentence for part in told["findings"] for sentence in part["sentences"])
    (found,) = told["probes"]
    stored = hc.open_study(path)["probe/dependencies"].to_dataset()
    det = next(row for row in found["rows"] if row["relation"] == "det")
    assert told["heads"][det["head"]][3] == det["spelled"] == "L0H3"
    assert det["accuracy"][0] == pytest.approx(float(stored["best_accuracy"].sel(relation="det")), rel=1e-3)
    assert det["examples"]
    for example in det["examples"]:
        for word, predicted, true in example["arcs"]:
            assert example["words"][word] == "the"
            assert predicted in range(len(example["words"]))
            assert example["words"][true] in ("dog", "saw")
    relation = told["colourings"][0]
    planted = next(index for index, head in enumerate(told["heads"]) if head[3] == "L0H3")
    assert relation["names"][relation["values"][planted]] == "det"


def test_the_heads_of_one_stack_of_several_are_found(tmp_path: Path) -> None:
    model, tokenizer = translator()
    hc.probe(model, tokenizer, sentences(20), relations=["det"], control=False, out=tmp_path / "study")
    told, _ = describe(read_view(tmp_path / "study"), "study")
    for row in told["probes"][0]["rows"]:
        assert told["heads"][row["head"]][3] == row["spelled"]
        assert row["spelled"].startswith("encoder.")


def test_all_relations_together_are_enough_for_a_grid(tmp_path: Path) -> None:
    model, tokenizer = studies.planted_attention()
    hc.probe(model, tokenizer, sentences(10), control=False, out=tmp_path / "study")
    told, _ = describe(read_view(tmp_path / "study"), "study")
    assert [row["relation"] for row in told["probes"][0]["rows"]] == ["all"]
    assert len(told["heads"]) == 16
    assert told["findings"]
