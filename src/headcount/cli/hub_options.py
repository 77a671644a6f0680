"""`--split` and `--config` of every verb that takes `--data hub:NAME`: they become parts of that name."""

from __future__ import annotations

from pathlib import Path

from headcount.errors import InvalidOption


def join_hub_options(words: list[str]) -> list[str]:
    """The words with the split and the configuration of a data set on the hub in its name.

    `--config` is also the option for a TOML file with options: a file that exists is that.

    >>> join_hub_options(["sweep", "m", "--data", "hub:nyu-mll/glue", "--config", "mrpc", "--split=test"])
    ['sweep', 'm', '--data', 'hub:nyu-mll/glue,config=mrpc,split=test']
    >>> join_hub_options(["sweep", "m", "--data", "pairs.csv", "--config", "sweep.toml"])
    ['sweep', 'm', '--data', 'pairs.csv', '--config', 'sweep.toml']
    """
    rest, found = list(words), {}
    named = _find(rest, "data", "hub:")
    for option in ("config", "split"):
        place = _find(rest, option)
        if place is None or (option == "config" and (named is None or _is_file(_value(rest, place)))):
            continue
        if named is None:
            raise InvalidOption(
                f"got --{option}, which belongs to --data hub:NAME; of a folder or several files give the file itself"
            )
        found[option] = _value(rest, place)
        del rest[place : place + _length(rest, place)]
        if not found[option] or (option == "split" and _find(rest, option) is not None):
            raise InvalidOption(f"got --{option} without a name or twice; expected one, such as --{option} test")
        named = _find(rest, "data", "hub:")
        assert named is not None
        last = named + _length(rest, named) - 1
        rest[last] += f",{option}={found[option]}"
    return rest


def _find(words: list[str], option: str, beginning: str = "") -> int | None:
    """Where an option is whose value begins so."""
    for place, word in enumerate(words):
        if (word == f"--{option}" or word.startswith(f"--{option}=")) and _value(words, place).startswith(beginning):
            return place
    return None


def _value(words: list[str], place: int) -> str:
    _, equals, value = words[place].partition("=")
    return value if equals else "".join(words[place + 1 : place + 2])


def _length(words: list[str], place: int) -> int:
    """How many words the option and its value are."""
    return 1 if "=" in words[place] else 2


def _is_file(value: str) -> bool:
    return value.endswith(".toml") or Path(value).is_file()
