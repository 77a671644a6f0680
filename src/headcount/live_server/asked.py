"""What a client asks for, read from JSON: every field is checked, and an error names it and what was expected."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from headcount.ablation.replacements import REPLACEMENTS
from headcount.core.heads import Head, HeadSet, Layout
from headcount.errors import DataProblem, InvalidOption, short
from headcount.live_server.limits import LIMITS, Limits, check_most

FIELDS = ("client", "texts", "off", "map", "top", "how", "question", "option", "new_tokens")


@dataclass(frozen=True)
class Off:
    """Heads that are replaced; `strength`: the share of their output that is, from 0 (none) to 1."""

    heads: HeadSet
    how: str = "zero"
    strength: float = 1.0


@dataclass(frozen=True)
class Asked:
    """A request.

    `client`: who asks; a newer request of the same client cancels an older one. `off`: the heads that are switched off.
    `map`: the head whose map is wanted. `top`: how many options of an answer are listed. `how`: the replacement of a
    sweep, `question` and `option` what its changes are of (None: the most probable option). `new_tokens`: of a
    continuation.
    """

    texts: tuple[str, ...]
    client: str = ""
    off: tuple[Off, ...] = ()
    map: Head | None = None
    top: int = 10
    how: str = "zero"
    question: int = 0
    option: int | None = None
    new_tokens: int = 24


def read_json(body: bytes) -> Any:
    """What a body says; only JSON as the standard has it."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidOption('the request is not JSON; expected an object such as {"texts": ["..."]}') from error


def _no_number(name: str) -> Any:
    raise ValueError(name)


def read_asked(value: Any, layout: Layout, limits: Limits = LIMITS) -> Asked:
    """The request that an object describes, for a model with these heads."""
    if not isinstance(value, Mapping):
        raise InvalidOption(f"got {short(value)}; expected an object with texts")
    unknown = [name for name in value if name not in FIELDS]
    if unknown:
        raise InvalidOption(f"got the field {short(unknown[0])}; expected some of {', '.join(FIELDS)}")
    texts = _read_texts(value.get("texts"), limits)
    client = value.get("client", "")
    if not isinstance(client, str) or not re.fullmatch(r"[\w-]{0,64}", client):
        raise InvalidOption(f"client: got {short(client)}; expected at most 64 letters, digits, - and _")
    return Asked(
        texts=texts,
        client=client,
        off=_read_off(value.get("off") or [], layout, limits),
        map=_read_head(value.get("map"), layout),
        top=_whole("top", value.get("top", Asked.top), 1, limits.options),
        how=_one_of("how", value.get("how", Asked.how), REPLACEMENTS),
        question=_whole("question", value.get("question", 0), 0, limits.tokens),
        option=None if value.get("option") is None else _whole("option", value["option"], 0, 10**7),
        new_tokens=_whole("new_tokens", value.get("new_tokens", Asked.new_tokens), 1, limits.new_tokens),
    )


def _read_texts(value: Any, limits: Limits) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(text, str) for text in value):
        raise InvalidOption(f"texts: got {short(value)}; expected a list of strings")
    for text in value:
        check_most("characters in a text", len(text), limits.characters)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DataProblem("texts: got a text that is no valid Unicode; expected readable text") from error
    return tuple(value)


def _read_off(value: Any, layout: Layout, limits: Limits) -> tuple[Off, ...]:
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise InvalidOption(f'off: got {short(value)}; expected a list of objects such as {{"heads": "L3H7, L5"}}')
    check_most("selections of heads", len(value), limits.selections)
    found: list[Off] = []
    taken = HeadSet(frozenset(), layout)
    for one in value:
        unknown = [name for name in one if name not in ("heads", "how", "strength")]
        if unknown:
            raise InvalidOption(f"off: got the field {short(unknown[0])}; expected heads, how and strength")
        names = one.get("heads")
        if not isinstance(names, str | list):
            raise InvalidOption(f'off: got the heads {short(names)}; expected names such as "L3H7, L5"')
        check_most("characters in the names of heads", len(str(names)), limits.characters)
        heads = HeadSet.of(names, layout)
        if twice := taken & heads:
            raise InvalidOption(f"off: {twice} in two selections; expected each head in one")
        taken |= heads
        how = _one_of("off: how", one.get("how", "zero"), REPLACEMENTS)
        if heads:
            found.append(Off(heads, how, _share(one.get("strength", 1.0))))
    return tuple(found)


def _read_head(value: Any, layout: Layout) -> Head | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidOption(f'map: got {short(value)}; expected a head such as "L3H7"')
    heads = layout.find(value)
    if len(heads) != 1:
        raise InvalidOption(f'map: got {short(value)}, {len(heads)} heads; expected one, such as "L3H7"')
    return heads[0]


def _share(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or not 0 <= value <= 1:
        raise InvalidOption(f"off: got strength {short(value)}; expected a number from 0 to 1")
    return float(value)


def _whole(name: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise InvalidOption(f"{name}: got {short(value)}; expected a whole number from {least} to {most}")
    return value


def _one_of(name: str, value: Any, known: Collection[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise InvalidOption(f"{name}: got {short(value)}; expected one of {', '.join(known)}")
    return value
