"""What a part keeps, in sentences that its numbers allow."""

from __future__ import annotations

import pandas as pd

from headcount.story.partial import ALL, FINE_TUNED, NAMES, partial_sentences
from headcount.training import part_scores, parts
from headcount.training.part_scores import summarise_parts
from headcount.training.vector_model import READERS
from tests.training.test_part_scores import PART, WHOLE, runs


def said(table: pd.DataFrame) -> str:
    return "\n".join(partial_sentences(summarise_parts(table), table))


def test_the_names_are_those_of_the_runs() -> None:
    assert (ALL, FINE_TUNED) == (parts.ALL, part_scores.FINE_TUNED)
    assert set(NAMES) == set(READERS)


def test_what_a_part_keeps() -> None:
    lines = said(runs({("warrant", FINE_TUNED): PART, (ALL, FINE_TUNED): WHOLE})).splitlines()
    assert lines[0].startswith(
        "warrant keeps 71 % of what all inputs gain over chance (0.500); 95 % interval over 4 seeds: "
    )
    assert len(lines) == 2
    assert lines[1].startswith("Intervals are over seeds, not over examples: all runs are scored on the same 300")
    assert lines[1].endswith("an accuracy of 0.715 to ±0.051.")


def test_too_few_seeds() -> None:
    lines = said(runs({("warrant", FINE_TUNED): PART[:2], (ALL, FINE_TUNED): WHOLE[:2]})).splitlines()
    assert lines == ["Too few seeds to tell how much of the score a part keeps: 2; expected at least 3."]


def test_an_interval_that_says_nothing_is_called_so() -> None:
    text = said(runs({("warrant", FINE_TUNED): [0.63, 0.62, 0.64], (ALL, FINE_TUNED): [0.65, 0.61, 0.59]}))
    assert "3 seeds are too few to tell how much warrant keeps" in text
    assert not text.startswith("warrant keeps")


def test_all_inputs_at_chance() -> None:
    text = said(runs({("warrant", FINE_TUNED): PART, (ALL, FINE_TUNED): [0.5, 0.52, 0.49, 0.51]}))
    assert "With all inputs the model is not clearly better than chance (0.500), so what a part keeps" in text
    assert "warrant is better than chance (0.500): +0.15" in text
    assert "keeps 7" not in text


def test_a_part_at_chance_keeps_nothing_for_sure() -> None:
    text = said(runs({("warrant", FINE_TUNED): [0.5, 0.52, 0.49, 0.51], (ALL, FINE_TUNED): WHOLE}))
    assert "warrant is not clearly better than chance (0.500): +0.005" in text


def test_a_part_without_all_inputs() -> None:
    assert "sentence2 is better than chance (0.500): +0.15" in said(runs({("sentence2", FINE_TUNED): PART}))


def test_baselines_that_do_as_well() -> None:
    table = runs({(ALL, FINE_TUNED): WHOLE, (ALL, "bag-of-vectors"): [0.71, 0.7, 0.72, 0.72], (ALL, "bilstm"): PART})
    text = said(table)
    assert "On all, the fine-tuned model is not clearly better than a bag of vectors: +0.003" in text
    assert "a BiLSTM" not in text


def test_failed_runs_are_named() -> None:
    text = said(runs({("warrant", FINE_TUNED): [0.5, 0.66, 0.64], (ALL, FINE_TUNED): WHOLE[:3]}))
    assert "1 of 6 runs failed to train" in text
    assert "warrant/fine-tuned/seed-0." in text


def test_other_metrics_have_no_share_of_examples() -> None:
    assert said(runs({(ALL, FINE_TUNED): WHOLE}, metric="f1")).endswith("scored on the same 300.")


def test_on_further_sets() -> None:
    """A change from the validation examples, paired by seed, and whether the set itself is above chance."""
    usual = runs({("warrant", FINE_TUNED): PART, (ALL, FINE_TUNED): WHOLE})
    twins = runs({("warrant", FINE_TUNED): PART, (ALL, FINE_TUNED): [0.5, 0.52, 0.49, 0.51]}).assign(split="twins")
    text = said(pd.concat([usual, twins]))
    assert (
        "On twins, all inputs score 0.505, not clearly better than chance (0.500); the change from the validation "
        "examples is -0.210, 95 % interval over 4 seeds: " in text
    )
    assert set(said(usual).splitlines()) < set(text.splitlines())
    few = pd.concat([usual, twins])
    assert "On twins" not in said(few[few["seed"] < 2])
