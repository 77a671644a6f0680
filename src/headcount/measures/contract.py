"""What a question is: from one layer's attention in one batch to a value for every text and head.

A question sees a layer once, gives values [example, head, ...], and the layer is dropped. NaN says that the question
does not apply to a text, which is then left out of the mean; it never says that the model's numbers are not finite: a
pass in which they are not is an error (`layers.py`), and so is an infinite value. `finish` says what follows from the
means alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor

from headcount.core.results import Labelled
from headcount.core.schema import STRENGTH, Schema
from headcount.data.kinds.language import Language
from headcount.data.marks import Marks
from headcount.models.unembedding import Unembedding
from headcount.trace.blocks import GPU_BLOCK
from headcount.trace.uniform_shares import uniform_mass
from headcount.trace.view import AttentionView

T = TypeVar("T")
SHARE = "share of attention"
CHANCE = "_chance"
"""The end of the names of variables that hold chance levels: they depend on the texts and the mask alone."""
Schemas = dict[str, Schema]
Values = dict[str, Tensor]
"""By variable: [example, head, ...], the head in its place among those that the layer has."""


@dataclass(frozen=True)
class Setting:
    """What the texts and the model allow to be asked."""

    classes: tuple[str, ...]
    """The classes of tokens that are known."""
    annotated: bool
    pairs: bool
    language: Language | None
    """The language-model task that the model can do."""
    layers: dict[str, int]
    """How many layers each stack has."""
    width: int
    """The largest number of heads in a layer."""
    linked: bool = True
    """Whether annotated texts have links between words."""
    no_logits: str | None = None
    """Why what heads write cannot be read as logits; None if it can."""
    no_writing: str | None = None
    """Why what heads write cannot be read at all; None if it can."""

    @property
    def special(self) -> bool:
        return "cls" in self.classes and "sep" in self.classes


@dataclass
class Seen:
    """One layer in one batch, and what its queries and its keys are."""

    view: AttentionView
    queries: Marks
    keys: Marks
    classes: tuple[str, ...]
    unembedding: Unembedding | None = None
    """How what heads write becomes logits, where it is known."""
    kept: dict[str, Any] = field(default_factory=dict)
    """What `once` has computed."""

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What does not depend on the map, computed once: of a long text, questions are asked twice."""
        if name not in self.kept:
            self.kept[name] = compute()
        value: T = self.kept[name]
        return value

    @property
    def stack(self) -> str:
        return self.view.block.stack

    def mass(self, name: str) -> Tensor:
        """Attention of every query to a class of keys [B, H, Q]."""
        return self.view.mass[..., self.classes.index(name)]

    @cached_property
    def _uniform(self) -> Tensor:
        assert self.view.classes is not None
        return uniform_mass(self.view.call, self.view.classes)

    def chance(self, name: str) -> Tensor:
        """What uniform attention would give to a class of keys [B, 1 or H, Q or 1]."""
        return self._uniform[..., self.classes.index(name)]

    def mean_chance(self, values: Tensor, over: Tensor | None = None) -> Tensor:
        """The mean [B, H] of chance levels [B, 1 or H, Q or 1], computed as `mean` does with what heads do."""
        return self.mean(values, over).expand(*self.view.total.shape[:2])

    @cached_property
    def before(self) -> Tensor:
        """Attention of every query to the tokens before it [B, H, Q], without special tokens and the first one."""
        return self.view.mass_before(self.keys.readable)

    def mean(self, values: Tensor, over: Tensor | None = None) -> Tensor:
        """The mean [B, H] of values [B, H, Q] over the real queries, or over those that `over` [B, Q] chooses."""
        chosen = (self.queries.real if over is None else over)[:, None]
        return torch.where(chosen > 0, values, 0).sum(-1) / chosen.sum(-1)


class Question(ABC):
    """One question about heads: what it gives, what it needs, and its answer, `see`; subclass it to measure your own.

    `hc.measure(..., only=["position", Mine()])` asks it beside those of Headcount; `hc.show`, the page and the figures
    draw what its `schemas` describe. `see` gets one layer of a batch, `seen`, and returns, by variable, a value for
    every text and head [example, head]; NaN leaves a text out. In `seen`:

    - `view.map` is the attention [example, head, query, key]; `view.mass_on(chosen)` [example, head, query] is its sum
      over chosen keys [example, 1, key], and never builds the map of a long text.
    - `queries` and `keys` are the tokens: their ids, `token` [example, token], -1 for special tokens and padding;
      `segment`, 0 for the first text of a pair and 1 for the second; `classes`, such as "punctuation".
    - `mean(values, over)` [example, head] is the mean over some queries [example, query], all real ones by default.

    What `see` needs to know belongs in attributes, because a study is resumed only with equal attributes and code.

    >>> import torch
    >>> import headcount as hc
    >>> class Ends(hc.Question):
    ...     name, summary = "ends", "attention to the last word of the text"
    ...     schemas = {"attention": hc.Schema("Attention to the last word", "share of attention", range=(0, 1))}
    ...
    ...     def see(self, seen):
    ...         words = seen.keys.token >= 0
    ...         last = words & (words.flip(1).cumsum(1).flip(1) == 1)
    ...         return {"attention": seen.mean(seen.view.mass_on(last[:, None]))}
    >>> model, tokenizer = hc.load("bundled:qnli", dtype="float32")
    >>> measured = hc.measure(model, tokenizer, "bundled:sentences", only=[Ends()], limit=4)
    >>> measured["ends"]["attention"].dims
    ('stack', 'layer', 'head')

    Most see a layer of a forward pass (`Seen`); `gradients.py`, `distances.py` and `compare.py` say what theirs see.
    """

    name: ClassVar[str]
    """Lower-case letters and underscores; it names the group of the result."""
    summary: ClassVar[str]
    """One line for people, with the unit."""
    paper: ClassVar[str] = ""
    kind: ClassVar[str] = "layers"
    """Which pass feeds it: `layers`, `gradients` (of a loss), or `maps` (all layers of one text)."""
    needs_map: ClassVar[bool] = True
    needs_logits: ClassVar[bool] = False
    """Whether it asks what heads do to the logits: of a model where they do so directly."""
    in_logits: ClassVar[tuple[str, ...]] = ()
    """Variables that `see` gives for each query [B, H, Q], before the final norm, whose scale is known only when the
    pass is over: they are divided by it, query by query, and summed."""
    averaged: ClassVar[bool] = True
    """Whether its values are averaged over the texts; what counts cases says in `whole` what follows from them."""
    category: ClassVar[str] = "What it looks at"
    """The heading under which pages list it."""
    schemas: ClassVar[Schemas] = {}
    """By variable, also those of `finish` and `whole`: what it means. What has none is not shown."""

    def lacking(self, setting: Setting) -> str | None:
        """Why the question makes no sense here, or None."""
        return (setting.no_logits or setting.no_writing) if self.needs_logits else None

    def variables(self, setting: Setting) -> dict[str, tuple[str, ...]]:
        """What `see` gives: the variables and their dimensions after the head; by default those of `schemas`."""
        return dict.fromkeys(self.schemas, ())

    def coords(self, setting: Setting) -> dict[str, list[str] | list[int]]:
        """The coordinates of those dimensions."""
        return {}

    @abstractmethod
    def see(self, seen: Any) -> Values:
        """The answer for the texts of a batch and the heads of a layer."""

    def bytes_of_text(self, setting: Setting, tokens: int, itemsize: int) -> int:
        """What the attention maps of one text take that it holds at once: of one layer, a block of queries if long."""
        one_query = setting.width * tokens * itemsize
        return min(tokens * one_query, max(GPU_BLOCK, one_query))

    def scale_of(self, variable: str, values: dict[str, Any]) -> tuple[Any, Any, Any]:
        """Of a variable with a role: its values, its chance level and the largest possible value [example, ...].

        `values`: what `see` gave, by variable. The strength of a role is (value - chance) / (largest - chance).
        """
        schema = self.schemas[variable]
        assert schema.baseline is not None
        chance = values[schema.baseline] if isinstance(schema.baseline, str) else schema.baseline
        return values[variable], chance, 1.0 if schema.range[1] is None else schema.range[1]

    def finish(self, means: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What follows from the means [stack, layer, head, ...]: arrays [stack, layer, head] or [stack]."""
        return {}

    def whole(self, values: dict[str, np.ndarray], seed: int) -> Labelled:
        """What all heads together give, from values [example, stack, layer, head, ...]: dimensions and arrays."""
        return {}

    def notes(self) -> dict[str, Any]:
        """What a reader of the result should know of the measure itself."""
        return {}

    def stored_schemas(self) -> Schemas:
        """By variable, what is stored with its arrays."""
        said = self.schemas | {
            name: schema
            for variable in roles_of(self.schemas)
            for name, schema in _of_strength(self.schemas[variable], variable)
        }
        return {name: replace(schema, category=self.category, paper=self.paper) for name, schema in said.items()}


def roles_of(schemas: Schemas) -> list[str]:
    """The variables whose excess over a known chance level is a role."""
    return [name for name, schema in schemas.items() if schema.role and schema.baseline is not None]


def _of_strength(schema: Schema, variable: str) -> list[tuple[str, Schema]]:
    """What follows from the values of a variable with a role."""
    strength = Schema(
        f"Strength of the role: {schema.role}",
        "share of what is possible",
        "0: chance; 1: does nothing else",
        (None, 1),
        signed=True,
        shown=False,
    )
    p = Schema(
        f"p of the role: {schema.role}", "probability", "low: chance gives no such strength", (0, 1), shown=False
    )
    return [(f"{variable}{STRENGTH}", strength), (f"{variable}{STRENGTH}_p", p)]


def share_of_attention(target: str, direction: str = "1: looks at nothing else", **more: Any) -> Schema:
    """The schema of a mean share of attention on `target`."""
    said: dict[str, Any] = {"title": f"Attention to {target}", "most": f"looks most at {target}"}
    if "role" in more:
        said |= {"role_from": 0.5, "does": f"Attends to {target}"}
    return Schema(unit=SHARE, direction=direction, range=(0, 1), **said | more)


def chance_of(target: str) -> Schema:
    """The schema of the share of attention that `target` gets from uniform attention."""
    return Schema(
        f"Attention to {target} by chance", SHARE, "what attention to all tokens alike gives", (0, 1), shown=False
    )
