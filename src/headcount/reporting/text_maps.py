"""The attention maps of a study's texts, with those of the same text before fine-tuning, as weights with tokens."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from headcount.core.heads import Head
from headcount.errors import InvalidOption
from headcount.reporting.maps import tokens_of
from headcount.reporting.view import View
from headcount.story.names import short_name

PACKED = "maps_"


@dataclass(frozen=True)
class TextMaps:
    """The maps of one text; `before` are those of the same text in the model before fine-tuning."""

    name: str
    result: xr.Dataset
    before: TextMaps | None = None

    @property
    def model(self) -> str:
        return short_name(str(self.result.attrs.get("model", "")))

    @property
    def text(self) -> str:
        """The text, and what it is read with."""
        attributes = self.result.attrs
        parts = [str(attributes[key]) for key in ("text", "pair") if attributes.get(key)]
        return " | ".join(parts)

    @property
    def pooled(self) -> int:
        """How many tokens a row and a column are."""
        return int(self.result.attrs.get("pooled", 1))

    def has(self, head: Head) -> bool:
        key = f"{PACKED}{head.stack}"
        if key not in self.result or head.layer >= self.result[key].shape[0] or head.head >= self.result[key].shape[1]:
            return False
        present = self.result.get(f"present_{head.stack}")
        return present is None or bool(present.values[head.layer, head.head])

    def shape(self, stack: str) -> tuple[int, int]:
        """The numbers of queries and of keys."""
        queries, keys = self.result[f"{PACKED}{stack}"].shape[-2:]
        return queries, keys

    def weights(self, head: Head) -> np.ndarray:
        """The map of a head [query, key], from 0 to 1."""
        return unpacked(self.result[f"{PACKED}{head.stack}"].values[head.layer, head.head])

    def tokens(self, stack: str) -> tuple[list[str], list[str]]:
        """The tokens of the queries and of the keys."""
        queries, keys = self.result[f"{PACKED}{stack}"].dims[-2:]
        return tokens_of(self.result, str(queries)), tokens_of(self.result, str(keys))


def unpacked(stored: np.ndarray) -> np.ndarray:
    """Weights from the bytes of a map, each 255 times the square root of a weight.

    >>> round(float(unpacked(np.array(51, dtype=np.uint8))), 2)
    0.04
    """
    weights: np.ndarray = (stored.astype(np.float32) / 255) ** 2
    return weights


def find_text_maps(view: View) -> list[TextMaps]:
    """The maps of each text, in the order of their names; those of the model before fine-tuning beside the others."""
    found = [TextMaps(name, result) for name, result in view.of("maps").items() if _has_maps(result)]
    earlier = {str(result.attrs.get("model", "")) for result in view.of("compare").values()}
    models = {short_name(model) for model in earlier if model}
    counts = Counter(one.text for one in found)

    def is_before(one: TextMaps) -> bool:
        return counts[one.text] > 1 and (one.name.endswith("-before") or one.model in models)

    later = [one for one in found if not is_before(one)]
    before = {one.text: one for one in found if is_before(one)}
    return [replace(one, before=before.get(one.text)) for one in later]


def _has_maps(result: xr.Dataset) -> bool:
    return any(str(key).startswith(PACKED) for key in result.data_vars)


def choose_text(maps: list[TextMaps], text: int | None) -> TextMaps:
    """The maps of the text of this number; the first by default."""
    number = 0 if text is None else text
    if not 0 <= number < len(maps):
        last = len(maps) - 1
        numbers = f"the texts 0 to {last}" if last else "one text, number 0"
        raise InvalidOption(f"got text={number}; this study has maps of {numbers}")
    return maps[number]
