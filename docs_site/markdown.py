"""The repository's Markdown in the dialect of the site, and the title of a page."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise

ITEM = re.compile(r"([-*]|\d+\.) ")


def adapted(text: str) -> str:
    """Text that GitHub shows as it is meant, for a parser that wants an empty line before a list.

    >>> adapted("Heads:\\n- L0H1\\n- L2H3\\n")
    'Heads:\\n\\n- L0H1\\n- L2H3\\n'
    """
    lines: list[str] = []
    in_list = in_fence = False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_fence = not in_fence
        if not in_fence and ITEM.match(line):
            if lines and lines[-1] and not in_list:
                lines.append("")
            in_list = True
        elif not line.startswith(" "):
            in_list = False
        lines.append(line)
    return "\n".join(lines) + "\n"


def title(text: str) -> str:
    """The first heading.

    >>> title("\\n# Heads of a *model*\\n\\nText")
    'Heads of a *model*'
    """
    found = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    if found is None:
        raise ValueError("a page without a title: its first heading must start with '# '")
    return found[1].strip()


def listed(docstring: str, parameters: Collection[str]) -> str:
    """The docstring with an item of a list for each parameter that a sentence starts to explain.

    >>> listed("A sweep.\\n\\n`how`: the replacement. `by`: a head\\nor a layer.", {"how", "by"}).split("\\n")
    ['A sweep.', '', '- `how`: the replacement.', '- `by`: a head', '  or a layer.']
    """
    starts = re.compile(rf"(?:^|(?<=[.)]))\s*(?=`(?:{'|'.join(map(re.escape, parameters)) or '(?!)'})`:\s)")
    return "\n\n".join(
        block if block.startswith((" ", ">>>")) else _as_list([part for part in starts.split(block) if part])
        for block in docstring.split("\n\n")
    )


def _as_list(parts: list[str]) -> str:
    items = [re.match(r"`\w+`:\s", part) is not None for part in parts]
    lines = [
        "- " + part.strip().replace("\n", "\n  ") if item else part.strip()
        for part, item in zip(parts, items, strict=True)
    ]
    between = ["\n" if one == other else "\n\n" for one, other in pairwise(items)]
    return "".join(line + gap for line, gap in zip(lines, [*between, ""], strict=True))


def fenced(docstring: str) -> str:
    """The docstring with a fence around each of its doctests.

    >>> fenced("A sum.\\n\\n>>> 1 + 1\\n2").split("\\n")
    ['A sum.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    blocks: list[str] = []
    for block in docstring.split("\n\n"):
        blocks.append(f"```pycon\n{block}\n```" if block.lstrip().startswith(">>>") else block)
    return "\n\n".join(blocks)
