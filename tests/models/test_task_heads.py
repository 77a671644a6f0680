"""Which head a model has, for the classes that transformers has for each of its families."""

from __future__ import annotations

import pytest
import transformers

from headcount.data.kinds.catalogue import KINDS
from headcount.models.task_heads import ENDINGS, has_head, is_classifier, is_multiple_choice, language_of
from tests.contracts.zoo import CASES, Case, tiny


@pytest.mark.parametrize("auto_class", ENDINGS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_an_auto_class_gives_has_its_head(case: Case, auto_class: str) -> None:
    if type(case.make_config()) not in getattr(transformers, auto_class)._model_mapping:
        pytest.skip("the family has no such model")
    if (case.name, auto_class) in {("bart", "AutoModelForMaskedLM"), ("mbart", "AutoModelForMaskedLM")}:
        pytest.skip("one class for both, named after the other task")
    model = tiny(case.name, case.kernels[0], auto_class)
    assert has_head(model, auto_class)
    assert is_classifier(model) == (auto_class == "AutoModelForSequenceClassification")
    assert is_multiple_choice(model) == (auto_class == "AutoModelForMultipleChoice")


def test_which_language_model_it_is() -> None:
    assert language_of(tiny("bert", head="AutoModelForMaskedLM")) is KINDS["masked-lm"]
    assert language_of(tiny("bert", head="AutoModelForPreTraining")) is KINDS["masked-lm"]
    assert language_of(tiny("electra", head="AutoModelForPreTraining")) is None
    assert language_of(tiny("gpt2", head="AutoModelForCausalLM")) is KINDS["causal-lm"]
    assert language_of(tiny("marian", head="AutoModelForSeq2SeqLM")) is KINDS["translation"]
    assert language_of(tiny("bert")) is None
