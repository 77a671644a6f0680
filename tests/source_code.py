"""What the source says without being run: which modules it imports, wherever it does so, and which rules it breaks."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

import headcount

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "headcount"
MODULES = sorted(SOURCE.rglob("*.py"))
SUFFIX = re.compile(
    r"\w*(For(SequenceClassification|TokenClassification|MultipleChoice|QuestionAnswering|MaskedLM|PreTraining|CausalLM"
    r"|ConditionalGeneration)|LMHeadModel|MTModel)"
)


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def dotted(path: Path) -> str:
    """`headcount.core.heads`; a folder for its `__init__.py`."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(("headcount", *(parts[:-1] if parts[-1] == "__init__" else parts)))


NAMES = {dotted(path) for path in MODULES}


def imported(source: str) -> set[str]:
    """The modules of headcount that some source imports: at its top, inside functions, by name, or through `headcount`.

    Imports for type checkers alone do not count. A public name (`hc.sweep`) counts as the module that it lives in.
    """
    names: set[str] = set()
    aliases: set[str] = set()
    for node in _run(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname or "headcount" for alias in node.names if alias.name == "headcount"}
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            assert isinstance(node.args[0], ast.Constant), "an import whose name is computed"
            names.add(str(node.args[0].value))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            names.add(f"headcount.{node.attr}")
    return {_module(name) for name in names if name.split(".")[0] == "headcount"} - {"headcount"}


def _run(tree: ast.Module) -> Iterator[ast.AST]:
    """All that may run, aliases before their uses."""
    checked = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]
    skipped = {id(inner) for node in checked for statement in node.body for inner in ast.walk(statement)}
    nodes = [node for node in ast.walk(tree) if id(node) not in skipped]
    return iter(sorted(nodes, key=lambda node: not isinstance(node, ast.Import | ast.ImportFrom)))


def _module(name: str) -> str:
    """The module of a dotted name, which may go on with what is defined in it."""
    parts = name.split(".")
    if len(parts) == 2 and parts[1] in headcount._HOMES:
        return f"headcount.{headcount._HOMES[parts[1]]}"
    while ".".join(parts) not in NAMES:
        parts.pop()
    return ".".join(parts)


def find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """A loop in a graph of who imports whom, or nothing."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [str(name) for name in error.args[1]]
    return []


ORDINARY = frozenset(("align",))
"""Words that are also the name of a model type."""


def known_architectures(source: str) -> set[str]:
    """What some source says of architectures: model types, suffixes of class names, `Conv1D`.

    The names of transformers' Auto classes are no architecture's; documentation does not count.
    """
    tree = ast.parse(source)
    documented = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    said: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            text = node.value
            if text in CONFIG_MAPPING_NAMES.keys() - ORDINARY or (
                SUFFIX.fullmatch(text) and not text.startswith("AutoModelFor")
            ):
                said.add(text)
        elif isinstance(node, ast.Attribute) and node.attr in ("model_type", "Conv1D"):
            said.add(node.attr)
        elif isinstance(node, ast.alias) and node.name == "Conv1D":
            said.add(node.name)
    return said


def touches_forward(source: str) -> set[str]:
    """How some source gets into a forward pass: the hooks that it registers, the `forward` that it replaces."""
    done: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            if re.fullmatch(r"register_\w*(forward|backward)\w*hook", node.attr):
                done.add(node.attr)
            elif node.attr == "forward" and isinstance(node.ctx, ast.Store | ast.Del):
                done.add("forward =")
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("setattr"):
            done |= {"setattr forward" for argument in node.args if ast.unparse(argument) == "'forward'"}
    return done
