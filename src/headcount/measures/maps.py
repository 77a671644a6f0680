"""The attention maps of one text: what every head looks at, a byte for each weight, in memory or in a study.

A byte holds 255 times the square root of a weight, so that small weights stay visible; `unpack` turns it back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
import xarray as xr
from torch import Tensor
from transformers import PreTrainedModel

from headcount.core.heads import Layout
from headcount.core.provenance import fingerprint, versions
from headcount.data.encode import longest_input
from headcount.errors import DataProblem, InvalidOption, ModelUnavailable, NotReached
from headcount.models.anatomy import Anatomy, read_anatomy
from headcount.models.decoder import decoder_inputs
from headcount.models.fingerprint import model_fingerprint
from headcount.trace.attention import AttentionCall
from headcount.trace.modes import evaluating
from headcount.trace.wiring import OutputEdit, Place, check_untouched, edited

SCALE = "sqrt/255"
MOST_BYTES = 64 * 10**6
LEAST_LENGTH = 8
SEGMENTS = ("text", "pair")
"""The names of the token types 0 and 1."""

Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]
"""By name: dimensions and values."""
Packed = TypeVar("Packed", np.ndarray, xr.DataArray)


def unpack(stored: Packed) -> Packed:
    """Attention weights from 0 to 1, float32, from the bytes of a map.

    >>> unpack(np.array([0, 51, 255], dtype=np.uint8))
    array([0.  , 0.04, 1.  ], dtype=float32)
    """
    return (stored.astype(np.float32) / 255) ** 2


def pack(weights: Tensor) -> np.ndarray:
    """The bytes of a map: 255 times the square root of each weight, rounded."""
    packed: np.ndarray = weights.float().clamp(0, 1).sqrt().mul(255).round().to(torch.uint8).cpu().numpy()
    return packed


def take_maps(
    model: PreTrainedModel,
    tokenizer: Any,
    text: str,
    pair: str | None = None,
    out: str | Path | None = None,
    name: str | None = None,
    max_length: int | None = None,
) -> xr.Dataset:
    """The attention maps of a text, `maps_<stack>` uint8 [layer, head, query, key], with its tokens; see `unpack`.

    `pair` is the second segment where the model has segments, and the target text of an encoder-decoder, which needs
    one. `out` is a study folder that the maps go to, as `maps/<name>`; what is there already is read, not computed.
    `present_<stack>` [layer, head] is False where the model has no such head: its map is 0. `tokens` and `segments`
    ("text" or "pair") are those of the queries; an encoder-decoder has `tokens_encoder` and `tokens_decoder` (what the
    decoder reads: the target behind its start token) and dimensions of those names.

    >>> import headcount as hc
    >>> seen = take_maps(*hc.load(hc.bundled()), "Who wrote it?", "Anna Lund wrote it.")
    >>> seen.maps_encoder.shape, seen.tokens.values[1], seen.segments.values[-1]
    ((12, 12, 14, 14), 'who', 'pair')
    """
    plan = plan_maps(model, tokenizer, text, pair, max_length)
    if out is not None:
        return store_maps(model, plan, out, name).maps
    if name is not None:
        raise InvalidOption(f"name={name!r} belongs to out=, the study folder that the maps go to")
    attributes = plan.attributes | {"identity": plan.identity, "complete": True}
    return xr.Dataset(plan.known() | plan.label(run_maps(model, plan)), attrs=attributes)


@dataclass(frozen=True)
class MapsPlan:
    """A text as the model takes it, and the arrays that its maps will make."""

    anatomy: Anatomy
    stacks: tuple[str, ...]
    ids: dict[str, list[int]]
    """By side: "" alone, or "encoder" and "decoder"."""
    types: list[int] | None
    """The segment of each token, where the model has segments."""
    tokens: dict[str, list[str]]
    identity: dict[str, Any]
    attributes: dict[str, Any]

    @property
    def name(self) -> str:
        """What the maps are called where nobody gives them a name."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.attributes["text"].lower())[:24].strip("-") or "text"
        return f"{slug}-{fingerprint([self.identity])[:6]}"

    @property
    def inputs(self) -> dict[str, list[int]]:
        inputs = {"input_ids": self.ids.get("", self.ids.get("encoder", []))}
        if "decoder" in self.ids:
            inputs["decoder_input_ids"] = self.ids["decoder"]
        return inputs if self.types is None else inputs | {"token_type_ids": self.types}

    def dims(self, stack: str) -> tuple[str, ...]:
        query, key = _sides(stack, self.ids)
        return ("layer", "head", _axis("query", query), _axis("key", key))

    def shape(self, stack: str) -> tuple[int, ...]:
        query, key = _sides(stack, self.ids)
        return (*_heads(self.anatomy.layout, self.stacks), len(self.ids[query]), len(self.ids[key]))

    def known(self) -> Variables:
        """What is known before the model runs: tokens, segments, which heads there are."""
        found: Variables = {}
        for side, tokens in self.tokens.items():
            found[_axis("tokens", side)] = ((_axis("query", side),), np.array(tokens, dtype=object))
        if "" in self.ids:
            types = self.types or [0] * len(self.ids[""])
            found["segments"] = (("query",), np.array([SEGMENTS[kind] for kind in types], dtype=object))
        for stack in self.stacks:
            present = np.zeros(_heads(self.anatomy.layout, self.stacks), dtype=bool)
            for layer, heads in enumerate(self.anatomy.layout.stacks[stack]):
                present[layer, list(heads)] = True
            found[f"present_{stack}"] = (("layer", "head"), present)
        return found

    def label(self, maps: dict[str, np.ndarray]) -> Variables:
        return {f"maps_{stack}": (self.dims(stack), values) for stack, values in maps.items()}


def _sides(stack: str, ids: dict[str, list[int]]) -> tuple[str, str]:
    """Whose tokens the queries and the keys of a stack are."""
    if "" in ids:
        return "", ""
    return {"encoder": ("encoder", "encoder"), "decoder": ("decoder", "decoder"), "cross": ("decoder", "encoder")}[
        stack
    ]


def _axis(name: str, side: str) -> str:
    return f"{name}_{side}" if side else name


def _heads(layout: Layout, stacks: tuple[str, ...]) -> tuple[int, int]:
    """The layers and heads of the largest stack: all stacks share these dimensions, absent heads cost nothing."""
    return max(layout.layers(stack) for stack in stacks), max(layout.width(stack) for stack in stacks)


def plan_maps(
    model: PreTrainedModel, tokenizer: Any, text: str, pair: str | None = None, max_length: int | None = None
) -> MapsPlan:
    """The text as the model takes it; what cannot be done is refused here, before the model runs."""
    _check_model(model, tokenizer)
    if max_length is not None and max_length < LEAST_LENGTH:
        raise InvalidOption(f"got max_length={max_length}; expected at least {LEAST_LENGTH}")
    anatomy = read_anatomy(model)
    both = {"encoder", "decoder"} <= set(anatomy.stacks)
    segmented = not both and "encoder" in anatomy.stacks and (getattr(model.config, "type_vocab_size", 0) or 0) > 1
    _check_text(tokenizer, "text", text)
    if pair is not None:
        _check_text(tokenizer, "pair", pair)
    _check_pair(model, pair, both, segmented)
    limit = longest_input(model, tokenizer, max_length)
    if both:
        ids, cut = _encode_both(model, tokenizer, limit, text, pair)
        types = None
    else:
        ids, types, cut = _encode_one(tokenizer, limit, text, pair, segmented)
    identity = {
        "model": model_fingerprint(model), "dtype": str(model.dtype).removeprefix("torch."), "text": _brief(text),
        "pair": None if pair is None else _brief(pair), "lengths": [len(one) for one in ids.values()],
        "tokens": fingerprint([ids, types]),
    }  # fmt: skip
    attributes = {
        "text": text, "pair": pair, "scale": SCALE, "max_length": limit, "tokens_cut": cut,
        "model": str(getattr(model.config, "_name_or_path", "") or type(model).__name__),
        "model_class": type(model).__name__, "device": _device(model), "versions": versions(),
    }  # fmt: skip
    tokens = {side: [str(token) for token in tokenizer.convert_ids_to_tokens(one)] for side, one in ids.items()}
    # Without an encoder beside it nobody feeds a decoder's cross-attention.
    stacks = tuple(stack for stack in anatomy.stacks if stack != "cross" or both)
    plan = MapsPlan(anatomy, stacks, ids, types, tokens, identity, attributes)
    _check_size(plan)
    return plan


def _check_model(model: PreTrainedModel, tokenizer: Any) -> None:
    if model.main_input_name != "input_ids" or not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise ModelUnavailable(
            f"{type(model).__name__} with {type(tokenizer).__name__} reads no text; give a text model and its tokenizer"
        )


def _check_text(tokenizer: Any, what: str, value: Any) -> None:
    """A string of which the tokenizer makes more than special tokens; a word that it does not know is one, too."""
    if not isinstance(value, str):
        raise DataProblem(f"got {value!r} for the {what}; expected a string")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataProblem(f"the {what} is no valid UTF-8 ({error.reason}); expected readable text") from error
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    if not set(tokenizer(value, add_special_tokens=False, verbose=False)["input_ids"]) - special:
        raise DataProblem(f"nothing but special tokens in the {what} {_brief(value)!r}; expected some words")


def _check_pair(model: PreTrainedModel, pair: str | None, both: bool, segmented: bool) -> None:
    name = type(model).__name__
    if both and pair is None:
        raise InvalidOption(f"{name} is an encoder-decoder: give the target text with --pair (pair=)")
    if pair is not None and not both and not segmented:
        raise InvalidOption(f"got a pair, but the model has no segments ({name}); leave --pair (pair=) out")


def _check_size(plan: MapsPlan) -> None:
    size = sum(int(np.prod(plan.shape(stack))) for stack in plan.stacks)
    if size > MOST_BYTES:
        layers, heads = _heads(plan.anatomy.layout, plan.stacks)
        fits = isqrt(MOST_BYTES // (layers * heads * len(plan.stacks)))
        raise InvalidOption(
            f"got {max(plan.identity['lengths'])} tokens, whose maps would take {size / 1e6:.0f} MB; expected at most "
            f"{MOST_BYTES / 1e6:.0f} MB; cut the text with --max-length {fits} (max_length={fits})"
        )


def _encode_one(
    tokenizer: Any, limit: int, text: str, pair: str | None, segmented: bool
) -> tuple[dict[str, list[int]], list[int] | None, int]:
    """Token ids, segments where the model has them, and how many tokens were cut off."""
    options = {"return_token_type_ids": True} if segmented else {}
    made, cut = _encode(tokenizer, limit, *(part for part in (text, pair) if part is not None), **options)
    return {"": list(made["input_ids"])}, list(made["token_type_ids"]) if segmented else None, cut


def _encode_both(
    model: PreTrainedModel, tokenizer: Any, limit: int, text: str, pair: str | None
) -> tuple[dict[str, list[int]], int]:
    """Token ids of the encoder and of the decoder, and how many tokens were cut off."""
    source, cut = _encode(tokenizer, limit, text)
    target, cut_target = _encode(tokenizer, limit, text_target=pair)
    decoder = decoder_inputs(model, list(target["input_ids"]))
    return {"encoder": list(source["input_ids"]), "decoder": decoder}, cut + cut_target


def _encode(tokenizer: Any, limit: int, *texts: str, **options: Any) -> tuple[Any, int]:
    """The encoding, and how many tokens were cut off it."""
    whole = tokenizer(*texts, verbose=False, **options)
    if len(whole["input_ids"]) <= limit:
        return whole, 0
    made = tokenizer(*texts, truncation=True, max_length=limit, **options)
    return made, len(whole["input_ids"]) - len(made["input_ids"])


def _brief(text: str, most: int = 60) -> str:
    """A text short enough for a message, still another one for another text."""
    return text if len(text) <= most else f"{text[:most]}... ({fingerprint([text])})"


def _device(model: PreTrainedModel) -> str:
    return torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else model.device.type


class _Pass(OutputEdit):
    """Leaves a layer as it is: the layer is only listened to."""

    def __call__(self, outputs: Tensor, call: AttentionCall | None) -> Tensor:
        return outputs


def run_maps(model: PreTrainedModel, plan: MapsPlan) -> dict[str, np.ndarray]:
    """By stack, the packed maps [layer, head, query, key]; each layer is packed when it has run, and dropped."""
    maps = {stack: np.zeros(plan.shape(stack), dtype=np.uint8) for stack in plan.stacks}
    layout = plan.anatomy.layout
    edits: dict[Place, _Pass] = {
        (block.stack, block.layer): _Pass() for block in plan.anatomy if block.stack in plan.stacks
    }
    missing = set(edits)

    def hear(call: AttentionCall) -> None:
        stack, layer = place = call.block.stack, call.block.layer
        weights = wiring.weights(call)[0]
        if not bool(weights.isfinite().all()):
            raise InvalidOption(
                f"the attention of {layout.spell_layer(*place)} is not finite in {plan.identity['dtype']}; "
                "give --dtype float32, or a model whose weights are whole"
            )
        maps[stack][layer, list(call.block.heads)] = pack(weights)
        missing.discard(place)

    inputs = {key: torch.tensor([ids], device=model.device) for key, ids in plan.inputs.items()}
    with evaluating(model), torch.no_grad(), edited(model, edits, "taking maps", hear) as wiring:
        model(**inputs)
    if missing:
        unheard = ", ".join(layout.spell_layer(*place) for place in sorted(missing))
        raise NotReached(f"the attention of {unheard} was not heard: it does not run as this family's should")
    return maps


@dataclass(frozen=True)
class StoredMaps:
    """Maps in a study: the name of their group, its bytes on the disk, and whether they were computed just now."""

    group: str
    maps: xr.Dataset
    size: int
    new: bool


def store_maps(model: PreTrainedModel, plan: MapsPlan, out: str | Path, name: str | None = None) -> StoredMaps:
    """The maps as the group `maps/<name>` of a study: read where they are there already, computed otherwise."""
    from headcount.core.store import DONE, Study

    if name is not None and not re.fullmatch(r"\w[\w.@-]*", name):
        raise InvalidOption(f"got the name {name!r}; expected letters, digits, '.', '-' and '_'")
    check_untouched(model)
    place = f"maps/{name or plan.name}"
    group = Study(out).group(place, plan.identity, plan.attributes, {}, plan.known(), [(0, 1)])
    new = not group.complete
    if new:
        _write(group, plan.label(run_maps(model, plan)))
    size = sum(path.stat().st_size for path in (Path(out) / place).rglob("*") if path.is_file())
    return StoredMaps(place, group.read().drop_vars(DONE), size, new)


def _write(group: Any, maps: Variables) -> None:
    """Each layer in a chunk of its own: one head's map is read without unpacking all."""
    from zarr.codecs import ZstdCodec

    from headcount.core.store import clear_errors

    # On real maps the lowest level packs about as tightly as higher ones do; shuffling bits makes the chunks larger.
    codec = ZstdCodec(level=1)
    with clear_errors(group.study.path):
        for name, (dims, values) in maps.items():
            array = group.zarr.create_array(
                name, shape=values.shape, chunks=(1, *values.shape[1:]), dtype="uint8", compressors=codec,
                fill_value=0, dimension_names=dims, overwrite=True,
            )  # fmt: skip
            array[...] = values
    group.write_unit(0, 0, 1, {})
    group.finish({}, {})
