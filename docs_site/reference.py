"""The reference: a page for every public name of the library and for every verb of the command line."""

from __future__ import annotations

import inspect
import re

import headcount
from headcount.cli.main import app

SECTIONS = {
    "Models": ("models", "zoo"),
    "Heads": ("core.heads", "trace.heads", "trace.anatomy"),
    "Forward passes": ("trace", "ablation.ablated", "ablation.means"),
    "What happens without a head": ("ablation",),
    "What heads look at": ("measures", "attention_maps", "probing"),
    "Right for the wrong reason": ("statistical_cues",),
    "Which heads are needed": ("choosing", "budgets"),
    "Smaller models": ("pruning", "costs"),
    "Training": ("choosing.head_callback", "training"),
    "Results": ("core", "reporting", "live_server"),
    "How it runs": ("data", "engines", "self_check", "errors"),
}
"""The sections of the Python reference, and the rooms or modules whose names they hold; the longest match counts."""
FOLDED = {"Parameters": "Options"}
"""Titles of cyclopts, and those of the page."""


def names() -> dict[str, list[str]]:
    """The public names of each section."""
    sections: dict[str, list[str]] = {section: [] for section in SECTIONS}
    for name in headcount.__all__:
        sections[section_of(home(name))].append(name)
    return sections


def home(name: str) -> str:
    """The module of a public name, in the package: `ablation.sweep`."""
    return headcount._HOMES[name]


def section_of(module: str) -> str:
    matches = [
        (len(prefix), section)
        for section, prefixes in SECTIONS.items()
        for prefix in prefixes
        if f"{module}.".startswith(f"{prefix}.")
    ]
    if not matches:
        raise ValueError(f"no section of the reference holds {module}; enter its room in docs_site/reference.py")
    return max(matches)[1]


def python_pages() -> dict[str, str]:
    """File name -> text, in `reference/python/`."""
    lines = ["# Python", "", "`import headcount as hc`, then `hc.NAME`. Each name is imported when it is first used."]
    pages: dict[str, str] = {}
    for section, members in names().items():
        lines += ["", f"## {section}", "", "| name | |", "|---|---|"]
        for name in members:
            lines.append(f"| [`{name}`]({name}.md) | {cell(summary(name))} |")
            pages[f"{name}.md"] = f"---\ntitle: hc.{name}\n---\n\n::: headcount.{home(name)}.{name}\n"
    return {"index.md": "\n".join(lines) + "\n", **pages}


def summary(name: str) -> str:
    """The first sentence of the docstring of a public name."""
    return first_sentence(inspect.getdoc(getattr(headcount, name)) or "")


def first_sentence(docstring: str) -> str:
    """
    >>> first_sentence("The heads of L3.\\n\\nMore.")
    'The heads of L3.'
    """
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", paragraph)[0]


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def verbs() -> list[str]:
    """All verbs, in the order of `headcount --help`."""
    return [verb for verb in app if not verb.startswith("-")]


def command_line_pages() -> dict[str, str]:
    """File name -> text, in `reference/command-line/`; generated from the help of the program."""
    whole = re.sub(r"^(headcount \S+) -m \S+", r"\1", app.generate_docs("markdown"), flags=re.MULTILINE)  # python -m
    parts = re.split(r"^## headcount (\S+)$", whole, flags=re.MULTILINE)
    texts = dict(zip(parts[1::2], parts[2::2], strict=True))
    table = [f"| [`{verb}`]({verb}.md) | {cell(first_sentence(help_of(verb)))} |" for verb in verbs()]
    index = ["# Command line", "", *INTRODUCTION, "", "| verb | |", "|---|---|", *table]
    return {
        "index.md": "\n".join(index) + "\n",
        **{f"{verb}.md": f"# headcount {verb}\n\n{polished(texts[verb])}" for verb in verbs()},
    }


INTRODUCTION = (
    "`headcount VERB --help` shows the same in the terminal. `--config FILE` reads options from a TOML file.",
    "Exit codes: 0; 2: the input cannot be used; 1: training diverged, units or checks failed, `prune` wrote no model.",
)


def help_of(verb: str) -> str:
    return inspect.getdoc(app[verb].default_command) or ""


def polished(text: str) -> str:
    """The text that cyclopts writes for a verb, with examples as code and options as a list of definitions."""
    return "\n\n".join(polished_block(block) for block in text.strip().split("\n\n")) + "\n"


def polished_block(block: str) -> str:
    if example := re.fullmatch(r"(?:([^`\n:]+): )(headcount .*)", block, flags=re.DOTALL):
        return f"{example[1]}:\n\n```sh\n{' '.join(example[2].split())}\n```"
    if heading := re.fullmatch(r"\*\*(.+)\*\*:", block):
        return f"## {FOLDED.get(heading[1], heading[1])}"
    if block.startswith("* `"):
        return "\n".join(polished_option(line) for line in block.splitlines())
    return block if block.startswith("```") else prose(block)


def polished_option(line: str) -> str:
    """
    >>> polished_option("* `--how STR`: The *replacement* of --by. *[default: zero]*")
    '- `--how STR`: The \\\\*replacement\\\\* of `--by`. *default: zero*{ .given }'
    """
    found = re.fullmatch(r"\* (`[^`]+`)(?:: )?(.*)", line)
    if found is None:
        return line
    text, marks = found[2], []
    while mark := re.search(r" ?\*{1,2}\[([^\]]*)\]\*{1,2}$", text):
        marks.insert(0, f"*{prose(mark[1])}*{{ .given }}")
        text = text[: mark.start()]
    return " ".join(filter(None, [f"- {found[1]}:", prose(text), *marks]))


def prose(text: str) -> str:
    """Help as Markdown: options are code, and nothing else has a meaning.

    >>> prose("A folder with validation.*, or --out DIR.")
    'A folder with validation.\\\\*, or `--out` DIR.'
    """
    return re.sub(r"(?<![\w-])(--[a-z][\w-]*)", r"`\1`", re.sub(r"([*_<\[\]])", r"\\\1", text))
