"""The numbers of a page that are not looked at first: deflated, since a large model has hundreds for each head."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

LARGE = 200_000
"""Letters of JSON from which colourings are packed."""
FIRST = ("roles", "patterns", "present")


def split_numbers(colourings: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The colourings that a page shows first, and the others as text; no text where there are few numbers.

    The others keep their places: in the list an object with nothing but an id stands for each.
    """
    if len(json.dumps(colourings)) <= LARGE:
        return colourings, ""
    first = [each.get("main") or each.get("effect") or each["id"] in FIRST for each in colourings]
    rest = [each for each, kept in zip(colourings, first, strict=True) if not kept]
    content = json.dumps(rest, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode("utf-8", "replace")
    packed = base64.b64encode(zlib.compress(content, 9)).decode("ascii")
    return [each if kept else {"id": each["id"]} for each, kept in zip(colourings, first, strict=True)], packed
