"""Which task a model's head is for, by the ending of its class name."""

from __future__ import annotations

from transformers import PreTrainedModel

from headcount.data.kinds.catalogue import KINDS
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.language import Language

ENDINGS = {
    "AutoModelForSequenceClassification": ("ForSequenceClassification",),
    "AutoModelForTokenClassification": ("ForTokenClassification",),
    "AutoModelForMultipleChoice": ("ForMultipleChoice",),
    "AutoModelForMaskedLM": ("ForMaskedLM", "ForPreTraining"),
    "AutoModelForCausalLM": ("ForCausalLM", "LMHeadModel"),
    "AutoModelForSeq2SeqLM": ("ForConditionalGeneration", "MTModel"),
}
"""By transformers' Auto class, the endings of the classes that it gives."""


def class_endings(auto_class: str) -> tuple[str, ...]:
    """The endings of the classes that an Auto class gives; one that is not listed gives classes of its own name.

    >>> class_endings("AutoModelForCausalLM"), class_endings("AutoModelForQuestionAnswering")
    (('ForCausalLM', 'LMHeadModel'), ('ForQuestionAnswering',))
    """
    return ENDINGS.get(auto_class, (auto_class.removeprefix("AutoModel"),))


def has_head(model: PreTrainedModel, auto_class: str) -> bool:
    """Whether the model has the head of the models that an Auto class gives."""
    if auto_class == "AutoModel":
        return model.base_model is model
    return type(model).__name__.endswith(class_endings(auto_class))


def is_classifier(model: PreTrainedModel) -> bool:
    return has_head(model, "AutoModelForSequenceClassification")


def is_multiple_choice(model: PreTrainedModel) -> bool:
    return has_head(model, "AutoModelForMultipleChoice")


def language_of(model: PreTrainedModel) -> Language | None:
    """The language-model task that the model's head is for, if it is for one."""
    both = bool(getattr(model.config, "is_encoder_decoder", False))
    for kind in KINDS.values():
        if isinstance(kind, Language) and has_head(model, kind.auto_class) and kind.labels_are_inputs == both:
            # ELECTRA's ForPreTraining detects replaced tokens and predicts no words.
            return kind if model.get_output_embeddings() is not None else None
    return None


def kind_of(model: PreTrainedModel) -> Kind | None:
    """The kind of task that the model's head answers; None without a head, or with one for another kind."""
    language = language_of(model)
    if language is not None:
        return language
    for kind in KINDS.values():
        if not isinstance(kind, Language) and has_head(model, kind.auto_class) and kind.suits(model.config):
            return kind
    return None
