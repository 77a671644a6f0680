"""The interface of a kind of task: how it is read, encoded, computed and scored, and which models can do it."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from headcount.data.kinds.metrics import LOGIT_DIFFERENCE, Metric, Outputs
from headcount.data.kinds.outputs import class_distances, logits_of
from headcount.data.kinds.texts import Texts
from headcount.data.kinds.tokens import Encoding, length
from headcount.data.kinds.typed import Answers
from headcount.errors import InvalidOption

if TYPE_CHECKING:
    from headcount.data.encode import Encodings
    from headcount.data.examples import Examples
    from headcount.data.labels import LabelColumn

Labels = tuple[Any, tuple[str, ...]]
"""The labels of all examples, and notes for the user on how they were read."""


class Kind(Texts, Answers):
    """A kind of task. To add one, write a subclass in a file of its own and add it to `catalogue.py`.

    A subclass defines at least `name`, `text_columns`, `metrics`, `auto_class`, `read_labels`, `encode`, `losses`,
    `output_shapes` and `reduce`.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    """Other names for it."""
    text_columns: ClassVar[tuple[tuple[str, ...], ...]]
    """The usual names of its text columns: the first that a table has are taken; if empty, the user names them."""
    text_columns_hint: ClassVar[str] = "in their order"
    """What the user is told about the text columns to name."""
    label_columns: ClassVar[tuple[str, ...]] = ("label",)
    """The usual names of its label column, the default first; empty if the label is in the texts."""
    label_lists: ClassVar[bool] = False
    """Whether a label is a list, such as a tag for each word."""
    metrics: ClassVar[tuple[Metric, ...]]
    """Its metrics, the default first."""
    auto_class: ClassVar[str]
    """The Auto class of transformers that loads models for it."""
    problem_type: ClassVar[str | None] = None
    """Its `problem_type` in a config of transformers, if one model class does several kinds."""
    named_classes: ClassVar[bool] = False
    """Whether labels are classes of the model, which have names."""
    over_vocabulary: ClassVar[bool] = False
    """Whether logits are over the whole vocabulary."""
    has_choices: ClassVar[bool] = False
    """Whether its texts are a context and then the choices."""
    without_head: ClassVar[str | None] = None
    """Why only models with the head can do it, where no training of another model would help."""
    labels_are_inputs: ClassVar[bool] = False
    """Whether labels are inputs of the model, as a decoder reads the target text."""
    own_answers: ClassVar[bool] = False
    """Whether a model's outputs can stand in for labels (`own_labels`)."""
    contrasts: ClassVar[bool] = False
    """Whether the logit of a right answer can be compared with that of a wrong one."""

    bare: ClassVar[bool] = False
    """Whether its models have no head."""
    model_computes_loss: ClassVar[bool] = True
    """Whether its models compute the loss from the labels themselves."""
    has_documents: ClassVar[bool] = False
    """Whether an example is a query with its judged documents, whatever the layout of the data (`judged_tables`)."""
    candidates: int = 0
    """Of kinds with documents, how many a query has where the data is a whole corpus."""
    several_rows: ClassVar[bool] = False
    """Whether an example is several rows inside the model, so that positions of its texts name nothing."""
    has_probabilities: ClassVar[bool] = True
    """Whether logits are those of classes or words, which a softmax turns into probabilities."""

    # Options

    def with_options(self, options: Mapping[str, Any]) -> Kind:
        """This kind with options of its own; an error for others."""
        self.check_options(options, ())
        return self

    def own_options(self) -> dict[str, Any]:
        """The options that were given, as `with_options` takes them."""
        return {}

    def check_options(self, options: Mapping[str, Any], known: Sequence[str]) -> None:
        """Refuse options that this kind does not have."""
        for option in options:
            if option not in known:
                has = " and ".join(f"{name}=" for name in known) or "no options of its own"
                raise InvalidOption(f"got {option}= for {self.name}, which has {has}; leave it out")

    def for_model(self, model: Any) -> Kind:
        """This kind as the model does it, where that differs between models."""
        return self

    # Reading

    def read_labels(self, labels: LabelColumn | None, texts: list[tuple[Any, ...]]) -> Labels:
        """The labels as metrics take them; `labels` is None if the task has no label column."""
        raise NotImplementedError

    def stand_ins(self, texts: list[tuple[Any, ...]]) -> Any:
        """Labels in place of those of texts that have none, for passes that do not look at them."""
        return [0] * len(texts)

    def input_texts(self, texts: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The texts that the model reads."""
        return texts

    # Encoding

    def encode(self, examples: Examples, tokenizer: Any, limit: int, seed: int) -> tuple[list[Encoding], int]:
        """An encoding with `labels` for each example, and how many texts were truncated to `limit` tokens."""
        raise NotImplementedError

    def size(self, row: Encoding) -> int:
        """How many tokens of a batch an example takes."""
        return length(row)

    def nothing_left(self, row: Encoding) -> bool:
        """Whether an encoding has nothing to look at or to predict."""
        return length(row) < self.least_tokens

    def scored_labels(self, labels: Any, rows: list[Encoding]) -> Any:
        """The labels that are scored: not those of text that was truncated."""
        return labels

    def wrong_labels(
        self, wrong: LabelColumn | None, examples: Examples, encodings: Encodings, tokenizer: Any, classes: int
    ) -> list[Any]:
        """Of kinds with `contrasts`, the label of each example's wrong answer, in the shape of its `labels`.

        `wrong`: the column of wrong answers; None if the table has none. `classes`: how many the model has.
        """
        raise NotImplementedError

    def prompt_end(self, row: Encoding) -> int:
        """The position of the last token before the answer; where the answer is no text, of the last token."""
        return length(row) - 1

    def answer_positions(self, row: Encoding) -> list[int]:
        """The positions whose outputs predict the answer, of kinds where an answer has positions."""
        raise InvalidOption(f"got positions='answer'; the answers of {self.name} have no positions in the text")

    # The forward pass

    def prompt(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The inputs of a batch that the model takes, without the labels: some tokenizers give more than that."""
        known = inspect.signature(model.forward).parameters
        return {key: value for key, value in batch.items() if key in known and key != "labels"}

    def inputs(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The inputs of a forward pass that gives logits for the labels."""
        return self.prompt(model, batch)

    def query_mask(self, batch: Mapping[str, Tensor], stack: str) -> Tensor:
        """[row, token]: whether a query of this stack is a token, not padding, for each row inside the layers."""
        return batch.get("attention_mask", torch.ones_like(batch["input_ids"])).flatten(0, -2)

    def losses(self, result: Any, labels: Tensor) -> Tensor:
        """[example]: the loss of each example, differentiable and independent of the batch."""
        raise NotImplementedError

    def own_labels(self, result: Any, labels: Tensor, draws: Sequence[np.random.Generator]) -> Tensor:
        """Of kinds with `own_answers`, labels that the model itself gives, in the shape of `labels`.

        `draws` has a generator for each example, so that what is drawn does not depend on the batch.
        """
        raise NotImplementedError

    def distances(self, result: Any, teacher: Any, labels: Tensor, temperature: float) -> Tensor:
        """[example]: how far a model's result is from a teacher's, differentiable; of `labels`, where they are at most.

        `temperature`: of the probabilities that are compared, for kinds with `has_probabilities`.
        """
        return class_distances(logits_of(result), logits_of(teacher), temperature)

    def log_probabilities(self, result: Any, labels: Tensor) -> Tensor:
        """[example]: of kinds with the metric `log_probability`, that of each example; differentiable."""
        return -self.losses(result, labels)

    def output_shapes(self, model: Any, rows: list[Encoding]) -> dict[str, tuple[int, ...]]:
        """The arrays that `reduce` keeps, with their shape for one example, large enough for all `rows`."""
        raise NotImplementedError

    def reduce(self, result: Any, labels: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
        """The arrays [example, ...] that are kept of a model's result."""
        raise NotImplementedError

    def logit_differences(self, result: Any, labels: Tensor, wrong: Tensor) -> Tensor:
        """[example]: of kinds with `contrasts`, the right answer's logit minus the wrong one's; differentiable."""
        raise NotImplementedError

    def typed_inputs(self, model: Any, batch: Mapping[str, Tensor]) -> dict[str, Any]:
        return self.prompt(model, batch)

    # Scores

    def outputs(self, arrays: Mapping[str, Any]) -> dict[str, Any]:
        """The kept arrays as metrics take them."""
        return {"predictions": list(arrays["texts"])} if "texts" in arrays else dict(arrays)

    def predictions(self, outputs: Outputs) -> Any:
        """The predictions that are passed to a user's own metric."""
        return outputs["predictions"]

    def find_metric(self, name: str) -> Metric:
        """The metric with this name, if this kind of task has it."""
        known = {metric.name: metric for metric in (*self.metrics, *([LOGIT_DIFFERENCE] if self.contrasts else []))}
        if name not in known:
            raise InvalidOption(f"got the metric {name!r} for {self.name}; expected one of {', '.join(known)}")
        return known[name]

    # Models and training

    def check_model(self, model: Any, stacks: Collection[str]) -> None:
        """Refuse a model that has the right head but cannot do the task; `stacks`: those of its attention."""

    def config_changes(self, names: Sequence[str]) -> dict[str, Any]:
        """Entries of the config of a model to be fine-tuned on the task, with classes of these names."""
        if not names:
            return {}
        return {"id2label": dict(enumerate(names)), "label2id": {name: number for number, name in enumerate(names)}}

    def has_failed(self, scores: Mapping[str, float], labels: Any) -> bool:
        """Whether fine-tuning failed: the scores on the training examples are no better than chance."""
        return False
