"""One model in memory with what is known about it: how texts are read, its heads, its mean outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers import PreTrainedModel

from headcount.ablation.means import mean_outputs
from headcount.ablation.replacements import REPLACEMENTS
from headcount.data.batches import collate
from headcount.data.kinds.image_classification import ImageClassification
from headcount.data.kinds.kind import Kind
from headcount.data.kinds.sentence_files import files_of, makes_vectors
from headcount.data.kinds.similarity import Similarity
from headcount.data.kinds.typed import Question, Typed
from headcount.errors import DataProblem, HeadcountError, InvalidOption, ModelUnavailable, NotFinite
from headcount.live_server.example_images import example_images
from headcount.live_server.head_maps import watching
from headcount.live_server.images import check_images, find_patches, read_image, token_names
from headcount.live_server.likeness import Likeness
from headcount.live_server.limits import LIMITS, Limits
from headcount.models.compiled import plain_model
from headcount.models.dispatched import input_device, without_gradients
from headcount.models.finite_weights import check_weights
from headcount.models.longest import longest_input
from headcount.models.matching_weights import check_head
from headcount.models.task_heads import has_head, kind_of
from headcount.trace.anatomy import read_anatomy
from headcount.trace.modes import evaluating

Texts = tuple[str, ...]
NO_HEAD = (
    "the head of this model answers no task that headcount knows (classification, regression, token-classification, "
    "multiple-choice, masked-lm, causal-lm, translation, image-classification, or similarity with the files of "
    "sentence-transformers); its maps can be seen"
)


IMAGE_CHARACTERS = 2_800_000
"""Of the data URL of an image: a file of 2 MB."""
IMAGE_BODY = 3 * 1024 * 1024


def _image_kind(model: PreTrainedModel) -> Kind | None:
    kind = ImageClassification()
    return kind if has_head(model, kind.auto_class) and kind.suits(model.config) else None


def _vector_kind(model: PreTrainedModel) -> Kind | None:
    """The similarity of two texts, for a model whose folder says how it makes vectors."""
    kind = Similarity()
    return kind.for_model(model) if has_head(model, kind.auto_class) and makes_vectors(files_of(model)) else None


@dataclass(frozen=True)
class Reading:
    """Typed texts as the model reads them."""

    typed: Typed
    inputs: dict[str, Any]
    tokens: dict[str, list[str]]
    """By side ("" or "encoder" and "decoder") the tokens; of several rows, such as choices, those of the first one."""

    @property
    def length(self) -> int:
        return max(map(len, self.tokens.values()))


class LiveModel:
    """The model, its tokenizer, and the texts of examples, over which means are taken (`origin` names them)."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: Any,
        examples: Sequence[Texts] = (),
        limits: Limits = LIMITS,
        origin: str = "the examples",
    ) -> None:
        self.model: PreTrainedModel = plain_model(model)
        self.tokenizer = tokenizer
        self.images = self.model.main_input_name == "pixel_values"
        self.limits = replace(limits, body=IMAGE_BODY, characters=IMAGE_CHARACTERS) if self.images else limits
        if self.images:
            check_images(self.model, tokenizer)
        elif self.model.main_input_name != "input_ids" or not hasattr(tokenizer, "convert_ids_to_tokens"):
            raise ModelUnavailable(
                f"{type(self.model).__name__} with {type(tokenizer).__name__} reads neither text nor images; headcount "
                "live takes models that do"
            )
        check_weights(self.model)
        self.anatomy = read_anatomy(self.model)
        kind = _image_kind(self.model) if self.images else kind_of(self.model) or _vector_kind(self.model)
        if kind is None:
            raise ModelUnavailable(f"{type(self.model).__name__}: {NO_HEAD}")
        self.kind: Kind = kind
        kind.check_model(self.model, self.anatomy.stacks)
        check_head(self.model, "the head is random and its answers would mean nothing", "train it: headcount finetune")
        self.examples = tuple(examples)
        self._means: dict[str, Tensor] | None = None
        if self.images:
            self.longest = self._image_tokens()
            self.patches = find_patches(self.model.config, self.longest)
            return
        self.patches = None
        self.padding = tokenizer.pad_token_id or 0
        self.longest = min(longest_input(self.model, tokenizer), limits.tokens)
        self.likeness = Likeness(kind, tokenizer, self.longest, self.examples, origin)

    @property
    def device(self) -> torch.device:
        return input_device(self.model)

    @property
    def most_texts(self) -> int:
        """How many texts an example has at most."""
        return self.kind.most_texts or len(self.kind.text_titles)

    def read(self, texts: Texts) -> Reading:
        """The texts as the model reads them; a text without a word is refused."""
        kind = self.kind
        if not kind.texts_needed <= len(texts) <= self.most_texts:
            more = f" to {self.most_texts}" if self.most_texts > kind.texts_needed else ""
            titles = ", ".join(kind.text_titles)
            raise InvalidOption(f"texts: got {len(texts)}; expected {kind.texts_needed}{more}: {titles}")
        if self.images:
            inputs = read_image(self.model, self.tokenizer, texts[0], self.device)
            typed = Typed({}, (Question(kind.name),))
            return Reading(typed, inputs, {"": token_names(self.patches, self.longest)})
        for title, text in zip(kind.text_titles[: kind.texts_needed], texts, strict=False):
            ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
            if not set(ids) - set(self.tokenizer.all_special_ids) - {None} and not self._asks(ids):
                raise DataProblem(f"type some words ({title})")
        typed = kind.read_typed(self.tokenizer, texts, self.longest)
        batch = collate([typed.row], self.padding, self.device)
        inputs = kind.typed_inputs(self.model, batch)
        return Reading(typed, inputs, self._tokens(inputs))

    def unlike(self, texts: Texts, reading: Reading) -> list[str]:
        """What is unusual about a text beside those of the data, in lines; nothing of an image."""
        return [] if self.images else self.likeness.lines(texts, reading.typed.row)

    def _image_tokens(self) -> int:
        """How many tokens the layers read for an image: those of a map of the first head."""
        inputs = read_image(self.model, self.tokenizer, next(iter(example_images().values())), self.device)
        with self.passes(), watching(self.model, next(iter(self.anatomy.layout))) as maps:
            self.model(**inputs)
        return len(maps[0])

    def _asks(self, ids: Sequence[int]) -> bool:
        """Unknown and masked words are words."""
        return bool(set(ids) & {self.tokenizer.unk_token_id, self.tokenizer.mask_token_id} - {None})

    def _tokens(self, inputs: Mapping[str, Any]) -> dict[str, list[str]]:
        ids = inputs["input_ids"].flatten(0, -2)[0]
        if inputs.get("attention_mask") is not None:  # of several rows, the first may be padded, on the right
            ids = ids[: int(inputs["attention_mask"].flatten(0, -2)[0].sum())]
        words = [str(token) for token in self.tokenizer.convert_ids_to_tokens(ids.tolist())]
        if "decoder_input_ids" not in inputs:
            return {"": words}
        target = self.tokenizer.convert_ids_to_tokens(inputs["decoder_input_ids"][0].tolist())
        return {"encoder": words, "decoder": [str(token) for token in target]}

    @contextmanager
    def passes(self) -> Iterator[None]:
        """Forward passes without gradients, dropout or a cache."""
        with evaluating(self.model), without_gradients(self.model):
            yield

    def answers(self, reading: Reading, result: Any) -> Tensor:
        """[row, question, option]: log-probabilities, or the numbers of kinds without; float64, on the CPU.

        In float32, the logarithm of a probability near 1 would be too coarse for the change without a head.
        """
        found = self.kind.answers(result, reading.typed).cpu().double()
        if bool(found.isnan().any()):
            raise NotFinite("the model's output is not finite for this text; give --dtype float32")
        return found.log_softmax(-1) if self.kind.has_probabilities else found

    def names(self, options: list[int]) -> list[str]:
        """The names of options of an answer."""
        classes = getattr(self.model.config, "id2label", None) or {}
        return self.kind.option_names(options, self.tokenizer, classes)

    def why_not(self, how: str) -> str | None:
        """Why a replacement is not available; None where it is."""
        if REPLACEMENTS[how].needs_reference and self.images:
            return "headcount reads no data sets of images, which the mean would be taken over"
        if REPLACEMENTS[how].needs_reference and not self.examples:
            return "there are no texts to take the mean over; give a study whose sweep has its texts (--study)"
        return None

    def means(self) -> dict[str, Tensor]:
        """The mean output of every head over the examples, computed once."""
        why = self.why_not("mean")
        if why is not None:
            raise InvalidOption(f"how: 'mean' is not available: {why}")
        if self._means is None:
            batches = [self._reference(texts) for texts in self.examples]
            with torch.inference_mode(False):
                self._means = mean_outputs(self.model, [batch for batch in batches if batch is not None])
        return self._means

    def _reference(self, texts: Texts) -> dict[str, Any] | None:
        """The inputs of an example; None for one that cannot be read."""
        try:
            inputs = self.read(texts[: self.most_texts]).inputs
        except HeadcountError:
            return None
        return {key: value for key, value in inputs.items() if isinstance(value, Tensor)}
