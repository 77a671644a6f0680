"""The whole model as the teacher of a cut one: the loss is how far the outputs are from the teacher's, not labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.job import check_classifier
from headcount.ablation.means import real_positions
from headcount.core.options import without_effect
from headcount.data.kinds.kind import Kind
from headcount.data.tasks import Task
from headcount.errors import InvalidOption, UnsuitableModel
from headcount.models.dispatched import check_whole, input_device
from headcount.trace.anatomy import read_anatomy
from headcount.trace.modes import evaluating
from headcount.trace.precision import widened
from headcount.training.trainer import RunTrainer

TEMPERATURE = 2.0


@dataclass(frozen=True, eq=False)
class Teacher:
    """A model whose outputs another one is trained to give.

    `hidden`: also its hidden states after every layer, which have the same width: a cut is inside the layers.
    """

    model: PreTrainedModel
    kind: Kind
    temperature: float = TEMPERATURE
    hidden: bool = False

    def loss(self, student: Any, batch: Mapping[str, Tensor]) -> Tensor:
        """The mean distance of the outputs, and of the hidden states if they count; differentiable.

        Both run without dropout: the noise of it would be trained away as if it were the cut's.
        """
        inputs: dict[str, Any] = self.kind.inputs(self.model, batch)
        more = {"output_hidden_states": True} if self.hidden else {}
        with torch.no_grad(), evaluating(self.model):
            theirs = self.model(**inputs, **more)
        with evaluating(student):
            ours = student(**inputs, **more)
        loss = self.kind.distances(ours, theirs, batch["labels"], self.temperature).mean()
        if self.hidden:
            labels = {"labels": batch["labels"]} if self.kind.labels_are_inputs else {}
            parts = [
                _relative_error(own[mask], other[mask]) if mask is not None else _relative_error(own, other)
                for own, other, mask in self._states(ours, theirs, inputs | labels)
            ]
            loss = loss + torch.stack(parts).mean()
        return loss

    def _states(
        self, ours: Any, theirs: Any, batch: Mapping[str, Tensor]
    ) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        """The hidden states after every layer of both models, and where real tokens are."""
        anatomy = read_anatomy(self.model)
        names = {"encoder": "encoder_hidden_states", "decoder": "decoder_hidden_states"}
        if "cross" not in anatomy.stacks:
            names = dict.fromkeys(anatomy.stacks, "hidden_states")
        for stack, name in names.items():
            mask = real_positions(batch, stack, anatomy)
            for own, other in zip(ours[name][1:], theirs[name][1:], strict=True):
                yield own, other, None if mask is None else mask.to(own.device)


def _relative_error(ours: Tensor, theirs: Tensor) -> Tensor:
    """The squared error of states, as a share of the sum of squares of the teacher's."""
    ours, theirs = widened(ours), widened(theirs)
    return (ours - theirs).pow(2).sum() / theirs.pow(2).sum().clamp(min=torch.finfo(theirs.dtype).tiny)


def find_teacher(
    teacher: PreTrainedModel, model: PreTrainedModel, task: Task, temperature: float | None, hidden: bool
) -> Teacher:
    """The teacher of a model for a task; an error if it cannot be one."""
    if teacher is model:
        raise InvalidOption("got the model itself as teacher=; expected the whole model: copy it before the cut")
    check_whole(teacher, "teach with it")
    check_classifier(teacher, task)
    for name, what in (("num_labels", "classes"), ("vocab_size", "words")):
        own, other = (getattr(each.config, name, None) for each in (model, teacher))
        if own != other:
            raise UnsuitableModel(f"teacher= has {other} {what} and the model {own}; expected the model before the cut")
    devices = [str(input_device(each)) for each in (teacher, model)]
    if devices[0] != devices[1]:
        raise InvalidOption(f"teacher= is on {devices[0]} and the model on {devices[1]}; put both on one device")
    if hidden and _shape(teacher) != _shape(model):
        raise UnsuitableModel(
            "the hidden states of teacher= have another shape than the model's, which hidden= compares; leave hidden= "
            "out, or give the model before the cut"
        )
    check_temperature(temperature, task.kind)
    return Teacher(teacher, task.kind, TEMPERATURE if temperature is None else temperature, hidden)


def check_temperature(temperature: float | None, kind: Kind) -> None:
    """Refuse a temperature for outputs that are no probabilities."""
    if not kind.has_probabilities:
        without_effect("temperature", temperature, f"the outputs of a {kind.name} are no probabilities")


def _shape(model: PreTrainedModel) -> dict[str, tuple[int, int]]:
    """By stack, the number of layers and the width of the hidden states."""
    stacks = read_anatomy(model).stacks
    return {stack: (len(layers), layers[0].output_matrix.shape[1]) for stack, layers in stacks.items()}


class TaughtTrainer(RunTrainer):
    """Trains on a teacher's outputs."""

    def __init__(self, *args: Any, teacher: Teacher, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.teacher = teacher

    def compute_loss(self, model: Any, inputs: dict[str, Tensor], *_: Any, **__: Any) -> Tensor:
        return self.teacher.loss(model, inputs)
