"""The plan for the maps of one text: its tokens, the arrays, and what is refused before the model runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np
from transformers import PreTrainedModel

from headcount.attention_maps.exact_blocks import ExactBlocks, plan_blocks
from headcount.core.heads import Layout
from headcount.core.provenance import Origin, fingerprint
from headcount.data.number_options import check_numbers
from headcount.data.pair_boundary import separates_texts, text_numbers
from headcount.errors import DataProblem, InvalidOption, ModelUnavailable, UnsuitableModel, short
from headcount.models.anatomy import Anatomy
from headcount.models.compiled import takes_compiled
from headcount.models.decoder_inputs import decoder_inputs
from headcount.models.fingerprint import find_origin
from headcount.models.finite_weights import check_weights
from headcount.models.longest import longest_input
from headcount.models.segments import has_segments
from headcount.trace.anatomy import read_anatomy

SCALE = "sqrt/255"
MOST_BYTES, MOST_CELLS = 64 * 10**6, 512
"""Maps that would take more bytes are kept between so many stretches of the text."""
SEGMENTS = ("text", "pair")
"""The names of the texts 0 and 1."""

Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]
"""By name: dimensions and values."""


@dataclass(frozen=True)
class MapsPlan:
    """A text as the model reads it, and the arrays of its maps."""

    anatomy: Anatomy
    stacks: tuple[str, ...]
    ids: dict[str, list[int]]
    """By side: only "", or "encoder" and "decoder"."""
    types: list[int] | None
    """The text of each token, 0 or 1, if the model has segments or there is a pair."""
    tokens: dict[str, list[str]]
    origin: Origin
    options: dict[str, Any]
    attributes: dict[str, Any]
    segmented: bool = True
    """Whether the model is told `types`."""
    pooled: int = 1
    """How many tokens share a cell of the maps: of a long text, the maps between stretches are kept."""

    @property
    def name(self) -> str:
        """The default name of the maps."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.attributes["text"].lower())[:24].strip("-") or "text"
        return f"{slug}-{fingerprint([{**self.origin.identity, **self.options}])[:6]}"

    @property
    def inputs(self) -> dict[str, list[int]]:
        inputs = {"input_ids": self.ids.get("", self.ids.get("encoder", []))}
        if "decoder" in self.ids:
            inputs["decoder_input_ids"] = self.ids["decoder"]
        return inputs if self.types is None or not self.segmented else inputs | {"token_type_ids": self.types}

    def dims(self, stack: str) -> tuple[str, ...]:
        query, key = _sides(stack, self.ids)
        return ("layer", "head", _axis("query", query), _axis("key", key))

    def shape(self, stack: str) -> tuple[int, ...]:
        query, key = _sides(stack, self.ids)
        return (*_heads(self.anatomy.layout, self.stacks), self.cells(query), self.cells(key))

    def cells(self, side: str) -> int:
        """The number of tokens of a side, or of the stretches that stand for them."""
        return -(-len(self.ids[side]) // self.pooled)

    def known(self) -> Variables:
        """What is known before the model runs: tokens, segments, which heads the model has."""
        known: Variables = {}
        for side, tokens in self.tokens.items():
            shown = [_stretch(tokens, start, self.pooled) for start in range(0, len(tokens), self.pooled)]
            known[_axis("tokens", side)] = ((_axis("query", side),), np.array(shown, dtype=object))
        if "" in self.ids:
            types = (self.types or [0] * len(self.ids[""]))[:: self.pooled]
            known["segments"] = (("query",), np.array([SEGMENTS[kind] for kind in types], dtype=object))
        for stack in self.stacks:
            present = np.zeros(_heads(self.anatomy.layout, self.stacks), dtype=bool)
            for layer, heads in enumerate(self.anatomy.layout.stacks[stack]):
                present[layer, list(heads)] = True
            known[f"present_{stack}"] = (("layer", "head"), present)
        return known | self._known_of_blocks()

    @property
    def blocks(self) -> dict[str, ExactBlocks]:
        """By stack, the blocks that are kept token by token if the maps are between stretches."""
        if self.pooled == 1:
            return {}
        layers, heads = _heads(self.anatomy.layout, self.stacks)
        every = layers * heads * len(self.stacks)
        lengths = {stack: [len(self.ids[side]) for side in _sides(stack, self.ids)] for stack in self.stacks}
        return {stack: plan_blocks(queries, keys, every) for stack, (queries, keys) in lengths.items()}

    def block_shape(self, stack: str) -> tuple[int, ...]:
        blocks = self.blocks[stack]
        return (*_heads(self.anatomy.layout, self.stacks), len(blocks.starts), blocks.queries, blocks.keys)

    def _known_of_blocks(self) -> Variables:
        known: Variables = {}
        for stack, blocks in self.blocks.items():
            known[f"block_starts_{stack}"] = ((f"block_{stack}", "side"), np.array(blocks.starts))
            sizes = {"query": blocks.queries, "key": blocks.keys}
            for number, (axis, side) in enumerate(zip(sizes, _sides(stack, self.ids), strict=True)):
                words = [self.tokens[side][start[number] : start[number] + sizes[axis]] for start in blocks.starts]
                dims = (f"block_{stack}", f"block_{axis}_{stack}")
                known[f"block_{axis}_tokens_{stack}"] = (dims, np.array(words, dtype=object))
        return known

    def label(self, maps: dict[str, np.ndarray], blocks: dict[str, np.ndarray]) -> Variables:
        """The maps and blocks by the names of their variables, with their dimensions."""
        whole = {f"maps_{stack}": (self.dims(stack), values) for stack, values in maps.items()}
        dims = ("layer", "head", "block_{0}", "block_query_{0}", "block_key_{0}")
        return whole | {
            f"blocks_{stack}": (tuple(dim.format(stack) for dim in dims), values) for stack, values in blocks.items()
        }


def _sides(stack: str, ids: dict[str, list[int]]) -> tuple[str, str]:
    """The sides that the queries and the keys of a stack belong to."""
    if "" in ids:
        return "", ""
    return {"encoder": ("encoder", "encoder"), "decoder": ("decoder", "decoder"), "cross": ("decoder", "encoder")}[
        stack
    ]


def _axis(name: str, side: str) -> str:
    return f"{name}_{side}" if side else name


def _heads(layout: Layout, stacks: tuple[str, ...]) -> tuple[int, int]:
    """The numbers of layers and heads of the largest stack: all stacks share these dimensions."""
    return max(layout.layers(stack) for stack in stacks), max(layout.width(stack) for stack in stacks)


@takes_compiled
def plan_maps(
    model: PreTrainedModel, tokenizer: Any, text: str, pair: str | None = None, max_length: int | None = None
) -> MapsPlan:
    """The text as the model reads it; what cannot be done is refused here, before the model runs."""
    _check_model(model, tokenizer)
    check_numbers(max_length=max_length)
    anatomy = read_anatomy(model)
    check_weights(model)
    both = {"encoder", "decoder"} <= set(anatomy.stacks)
    segmented = not both and "encoder" in anatomy.stacks and has_segments(model)
    _check_text(tokenizer, "text", text)
    if pair is not None:
        _check_text(tokenizer, "pair", pair)
    _check_pair(model, tokenizer, pair, both)
    limit = longest_input(model, tokenizer, max_length)
    if both:
        ids, cut = _encode_both(model, tokenizer, limit, text, pair)
        types = None
    else:
        ids, types, cut = _encode_one(tokenizer, limit, text, pair, segmented)
    options = {
        "text": _brief(text),
        "pair": None if pair is None else _brief(pair),
        "lengths": [len(tokens) for tokens in ids.values()],
    }
    attributes = {"text": text, "pair": pair, "scale": SCALE, "max_length": limit, "tokens_cut": cut}
    tokens = {side: [str(token) for token in tokenizer.convert_ids_to_tokens(own)] for side, own in ids.items()}
    # Without an encoder a decoder's cross-attention has nothing to attend to.
    stacks = tuple(stack for stack in anatomy.stacks if stack != "cross" or both)
    origin = find_origin(model, fingerprint([ids, types]), seed=0)  # nothing is drawn
    return _pooled_if_large(MapsPlan(anatomy, stacks, ids, types, tokens, origin, options, attributes, segmented))


def _check_model(model: PreTrainedModel, tokenizer: Any) -> None:
    if model.main_input_name != "input_ids" or not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise ModelUnavailable(
            f"{type(model).__name__} with {type(tokenizer).__name__} reads no text; give a text model and its tokenizer"
        )


def _check_text(tokenizer: Any, option: str, value: Any) -> None:
    """Refuse anything but a string with tokens that are not special; an unknown word is such a token."""
    if not isinstance(value, str):
        raise DataProblem(f"got {short(value)} for the {option}; expected a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataProblem(f"the {option} is no valid UTF-8 ({error.reason}); expected readable text") from error
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    if not set(tokenizer(value, add_special_tokens=False, verbose=False)["input_ids"]) - special:
        raise DataProblem(f"nothing but special tokens in the {option} {short(value)}; expected some words")


def _check_pair(model: PreTrainedModel, tokenizer: Any, pair: str | None, both: bool) -> None:
    name = type(model).__name__
    if both and pair is None:
        raise InvalidOption(f"{name} is an encoder-decoder: give the target text with pair=")
    if pair is None or both or has_segments(model):
        return
    if not separates_texts(tokenizer) or "encoder" not in read_anatomy(model).stacks:
        raise InvalidOption(
            f"got a pair, but the model has no segments ({name}), nor a separator between texts; leave pair= out"
        )
    if not getattr(tokenizer, "is_fast", False):
        raise UnsuitableModel(
            f"got {type(tokenizer).__name__}; expected a fast tokenizer, which tells the texts of a pair apart"
        )


def _pooled_if_large(plan: MapsPlan) -> MapsPlan:
    """Maps that would take too much are kept between stretches of the text, at most MOST_CELLS of them."""
    if sum(int(np.prod(plan.shape(stack))) for stack in plan.stacks) <= MOST_BYTES:
        return plan
    layers, heads = _heads(plan.anatomy.layout, plan.stacks)
    most = min(MOST_CELLS, isqrt(MOST_BYTES // (layers * heads * len(plan.stacks))))
    pooled = -(-max(plan.options["lengths"]) // max(1, most))
    pooling = {"pooled": pooled}
    options = {**plan.options, **pooling, "blocks": True}  # studies of earlier versions have none
    attributes = {**plan.attributes, **pooling}
    return replace(plan, options=options, attributes=attributes, pooled=pooled)


def _stretch(tokens: list[str], start: int, count: int) -> str:
    """The name of a stretch of tokens: the token itself, or the first and the last."""
    stretch = tokens[start : start + count]
    return stretch[0] if len(stretch) == 1 else f"{stretch[0]} … {stretch[-1]}"


def _encode_one(
    tokenizer: Any, limit: int, text: str, pair: str | None, segmented: bool
) -> tuple[dict[str, list[int]], list[int] | None, int]:
    """Token ids, the text of each token (None: a single one, no segments), and how many tokens were truncated."""
    options = {"return_token_type_ids": True} if segmented else {}
    encoding, cut = _encode(tokenizer, limit, *(part for part in (text, pair) if part is not None), **options)
    ids = {"": list(encoding["input_ids"])}
    if segmented:
        return ids, list(encoding["token_type_ids"]), cut
    return ids, None if pair is None else text_numbers(encoding.sequence_ids()), cut


def _encode_both(
    model: PreTrainedModel, tokenizer: Any, limit: int, text: str, pair: str | None
) -> tuple[dict[str, list[int]], int]:
    """Token ids of the encoder and of the decoder, and how many tokens were truncated."""
    source, cut = _encode(tokenizer, limit, text)
    target, cut_target = _encode(tokenizer, limit, text_target=pair)
    decoder = decoder_inputs(model, list(target["input_ids"]))
    return {"encoder": list(source["input_ids"]), "decoder": decoder}, cut + cut_target


def _encode(tokenizer: Any, limit: int, *texts: str, **options: Any) -> tuple[Any, int]:
    """The encoding, and how many tokens were truncated."""
    whole = tokenizer(*texts, verbose=False, **options)
    if len(whole["input_ids"]) <= limit:
        return whole, 0
    encoding = tokenizer(*texts, truncation=True, max_length=limit, **options)
    return encoding, len(whole["input_ids"]) - len(encoding["input_ids"])


def _brief(text: str) -> str:
    """A text short enough for a message, but different for different texts."""
    return text if len(text) <= 60 else f"{text[:60]}... ({fingerprint([text])})"
