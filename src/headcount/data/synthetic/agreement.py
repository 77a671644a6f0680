"""Subject and verb with a distractor between them: "The key to the cabinets" is followed by " is", not by " are".

A model that lets the verb agree with the nearest noun is wrong in every clean input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from headcount.data.source_notes import add_notes
from headcount.data.synthetic.contract import Source, choices
from headcount.data.synthetic.pairs import Pair, draw_pairs, fill
from headcount.data.synthetic.single_tokens import left_out_note, single_tokens
from headcount.errors import DataProblem

TEMPLATES = (
    "The {subject} near the {distractor}",
    "The {subject} behind the {distractor}",
    "The {subject} next to the {distractor}",
    "After lunch the {subject} beside the {distractor}",
    "We were told that the {subject} opposite the {distractor}",
    "The {subject} that we noticed near the {distractor}",
    "Everyone agrees that the {subject} close to the {distractor}",
    "In the old film the {subject} with the {distractor}",
)
"""Between subject and verb the distractor is the only noun."""
NUMBERS = ("singular", "plural")
VERBS = {"is": ("is", "are"), "was": ("was", "were"), "has": ("has", "have")}
NOUNS = (
    *(("key", "keys"), ("book", "books"), ("picture", "pictures"), ("table", "tables"), ("chair", "chairs")),
    *(("lamp", "lamps"), ("box", "boxes"), ("bag", "bags"), ("letter", "letters"), ("door", "doors")),
    *(("window", "windows"), ("garden", "gardens"), ("tree", "trees"), ("flower", "flowers"), ("house", "houses")),
    *(("car", "cars"), ("boat", "boats"), ("bridge", "bridges"), ("road", "roads"), ("wall", "walls")),
    *(("tower", "towers"), ("train", "trains"), ("truck", "trucks"), ("ship", "ships"), ("phone", "phones")),
    *(("computer", "computers"), ("camera", "cameras"), ("bottle", "bottles"), ("coin", "coins"), ("map", "maps")),
    *(("card", "cards"), ("ticket", "tickets"), ("painting", "paintings"), ("song", "songs"), ("river", "rivers")),
    *(("dog", "dogs"), ("cat", "cats"), ("bird", "birds"), ("horse", "horses"), ("cow", "cows")),
    *(("boy", "boys"), ("girl", "girls"), ("doctor", "doctors"), ("teacher", "teachers"), ("student", "students")),
    *(("farmer", "farmers"), ("soldier", "soldiers"), ("king", "kings"), ("child", "children"), ("man", "men")),
    *(("woman", "women"), ("friend", "friends"), ("writer", "writers"), ("player", "players"), ("artist", "artists")),
)
"""Singular and plural."""


@dataclass(frozen=True)
class Agreement(Source):
    """The distractor's number is the opposite of the clean subject's; `number` is that of the clean subject.

    Rows take turns through the numbers. The counterpart has the subject in the other number, which is the distractor's,
    and `wrong` is due. Columns beside those of pairs: `number`, `verb` (its singular), `template` (its number). Spans:
    `subject`, `distractor`.
    """

    name = "agreement"
    summary = 'a verb that agrees with its subject, not with the noun before it: "The key near the cabinets" is'

    number: tuple[str, ...] = choices(NUMBERS, "singular/plural")
    verb: tuple[str, ...] = choices(tuple(VERBS), "is/was")

    def table(self, tokenizer: Any, count: int, seed: int) -> pd.DataFrame:
        forms = [VERBS[verb] for verb in self.verb]
        nouns, verbs = (_in_both_numbers(tokenizer, words) for words in (NOUNS, forms))
        for kept, of, what, least in ((nouns, len(NOUNS), "nouns", 2), (verbs, len(forms), "verbs", 1)):
            if len(kept) < least:
                raise DataProblem(
                    f"{type(tokenizer).__name__} has {len(kept)} of {of} English {what} as single tokens in singular "
                    f"and plural; 'synthetic:agreement' needs {least} of them"
                )
        table = draw_pairs(self.name, tokenizer, count, seed, partial(self._draw, nouns, verbs))
        notes = left_out_note(self.name, len(nouns), len(NOUNS), "nouns")
        return add_notes(table, notes + left_out_note(self.name, len(verbs), len(forms), "verbs"))

    def _draw(
        self, nouns: list[tuple[str, str]], verbs: list[tuple[str, str]], generator: np.random.Generator, row: int
    ) -> Pair:
        number = NUMBERS.index(self.number[row % len(self.number)])
        template = int(generator.integers(len(TEMPLATES)))
        subject, distractor = (nouns[at] for at in generator.permutation(len(nouns))[:2])
        verb = verbs[int(generator.integers(len(verbs)))]
        clean, corrupted = (
            fill(TEMPLATES[template], {"subject": subject[each], "distractor": distractor[1 - number]})
            for each in (number, 1 - number)
        )
        columns = {"number": NUMBERS[number], "verb": verb[0], "template": template}
        return Pair(clean, corrupted, f" {verb[number]}", f" {verb[1 - number]}", columns)


def _in_both_numbers(tokenizer: Any, words: Any) -> list[tuple[str, str]]:
    """The words of which singular and plural are single tokens."""
    single = set(single_tokens(tokenizer, [form for forms in words for form in forms]))
    return [forms for forms in words if single.issuperset(forms)]
