"""How much a client may ask for: lengths, numbers and rates, each with the message for what exceeds it."""

from __future__ import annotations

from dataclasses import dataclass

from headcount.errors import InvalidOption


class TooMuch(InvalidOption):
    """A request is larger than this server takes: ask for less."""


class Busy(InvalidOption):
    """Too many requests at once: wait a moment."""


@dataclass(frozen=True)
class Limits:
    """What a server takes; the defaults suit one person who types."""

    body: int = 256 * 1024
    """Bytes of a request."""
    characters: int = 20_000
    """Of each text."""
    tokens: int = 512
    """Of an example; longer ones are truncated, and the answer says so."""
    selections: int = 64
    """Selections of heads in a request."""
    options: int = 50
    """Options of an answer that are listed."""
    new_tokens: int = 128
    """Tokens that a model goes on writing."""
    waiting: int = 32
    """Requests that wait for the model."""
    rate: float = 30.0
    """Requests a second from one address, in the long run."""
    burst: int = 60
    """Requests that may come at once."""


LIMITS = Limits()


def check_most(what: str, got: int, most: int) -> None:
    """Refuse more than there may be."""
    if got > most:
        raise TooMuch(f"got {got:,} {what}; this server takes at most {most:,}")
