"""What is measured on: texts, pairs, annotated sentences or translations, as the model takes them, with their facts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from transformers import PreTrainedModel

from headcount.core.provenance import fingerprint
from headcount.data.annotations import Annotated, read_annotated
from headcount.data.encode import Encoding, longest_input
from headcount.data.marks import Facts, find_facts
from headcount.data.tables import read_table
from headcount.errors import DataProblem, InvalidOption

Data = str | Path | pd.DataFrame
COLUMNS = (
    ("text",), ("sentence1", "sentence2"), ("question", "sentence"), ("premise", "hypothesis"),
    ("question1", "question2"), ("sentence",), ("source", "target"),
)  # fmt: skip
"""Text columns that are known by their names, tried in this order."""


@dataclass(frozen=True)
class Inputs:
    """Encodings and facts of the texts, in the order of the rows `ids`; `targets` are the decoder's own."""

    rows: list[Encoding]
    facts: list[Facts]
    targets: list[Facts] | None
    lengths: np.ndarray
    ids: np.ndarray
    texts: list[str]
    annotated: bool
    pairs: bool
    cut: int
    limit: int

    @property
    def fingerprint(self) -> str:
        return fingerprint([self.ids, self.rows, self.annotated])

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of tokens that are known of these texts."""
        return tuple(self.facts[0].classes)


def read_inputs(
    data: Data, model: PreTrainedModel, tokenizer: Any, columns: tuple[str, ...] | None, limit: int | None, seed: int,
    max_length: int | None,
) -> Inputs:  # fmt: skip
    """The texts of a table (`columns` names one or two), or the sentences of a CoNLL-U file or an annotated table."""
    if not getattr(tokenizer, "is_fast", False):
        raise InvalidOption(
            f"got {type(tokenizer).__name__}; expected a fast tokenizer, which tells the words of its tokens"
        )
    longest = longest_input(model, tokenizer, max_length)
    if _is_conllu(data):
        return _from_sentences(read_annotated(data), tokenizer, longest, limit, seed)
    table = read_table(data)
    if columns is None and {"upos", "heads", "deprels"} <= set(table.columns):
        return _from_sentences(read_annotated(table), tokenizer, longest, limit, seed)
    names = _text_columns(table, columns)
    rows = _some(len(table), limit, seed)
    texts = [_check_texts(table, row, names) for row in rows]
    if getattr(model.config, "is_encoder_decoder", False):
        return _translations(texts, rows, tokenizer, longest)
    return _plain(texts, rows, tokenizer, longest, model)


def _is_conllu(data: Data) -> bool:
    if isinstance(data, pd.DataFrame):
        return False
    path = Path(data)
    return path.suffix == ".conllu" and (path.is_file() or not path.exists())


def _text_columns(table: pd.DataFrame, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    if columns is not None:
        missing = [name for name in columns if name not in table.columns]
        if missing or not 1 <= len(columns) <= 2:
            raise DataProblem(
                f"got the text columns {', '.join(columns)}; expected one or two of {', '.join(map(str, table.columns))}"
            )
        return columns
    found = next((names for names in COLUMNS if set(names) <= set(table.columns)), None)
    if found is None:
        raise DataProblem(
            f"which column holds the text? The table has {', '.join(map(str, table.columns))}; name one or two of them"
        )
    return found


def _some(count: int, limit: int | None, seed: int) -> np.ndarray:
    if limit is None or limit >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).permutation(count)[:limit])


def _check_texts(table: pd.DataFrame, row: int, names: tuple[str, ...]) -> tuple[str, ...]:
    values = tuple(table[name].iloc[row] for name in names)
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, str):
            raise DataProblem(f"row {row}, column {name!r}: got {value!r}; expected a string")
    return values


def _plain(
    texts: list[tuple[str, ...]], ids: np.ndarray, tokenizer: Any, longest: int, model: PreTrainedModel
) -> Inputs:
    pairs = len(texts[0]) == 2
    if pairs and getattr(model.config, "type_vocab_size", 0) < 2:
        raise DataProblem(
            f"got pairs of texts, but {type(model).__name__} has no segments to tell them apart; give one text column"
        )
    rows, facts, cut = [], [], 0
    for row, text in zip(ids, texts, strict=True):
        made, was_cut = _encode(tokenizer, text, longest)
        facts.append(_facts(made, tokenizer, f"row {row}", text))
        rows.append({key: list(made[key]) for key in made})
        cut += was_cut
    lengths = np.array([one.length for one in facts])
    return Inputs(rows, facts, None, lengths, ids, [" | ".join(text) for text in texts], False, pairs, cut, longest)


def _encode(tokenizer: Any, text: tuple[str, ...], longest: int, **options: Any) -> tuple[Any, bool]:
    made = tokenizer(*text, verbose=False, **options)
    if len(made["input_ids"]) <= longest:
        return made, False
    return tokenizer(*text, truncation=True, max_length=longest, **options), True


def _facts(made: Any, tokenizer: Any, where: str, text: Any, sentence: Annotated | None = None) -> Facts:
    row = {key: made[key] for key in made}
    facts = find_facts(row, tokenizer, made.word_ids(), sentence)
    if len(facts.classes["special"]) == facts.length:
        raise DataProblem(f"{where}: nothing but special tokens in {text!r}; expected some text")
    return facts


def _from_sentences(sentences: list[Annotated], tokenizer: Any, longest: int, limit: int | None, seed: int) -> Inputs:
    ids = _some(len(sentences), limit, seed)
    rows, facts, texts, cut = [], [], [], 0
    for number in ids:
        sentence = sentences[number]
        words = list(sentence.words)
        made, was_cut = _encode(tokenizer, (words,), longest, is_split_into_words=True)  # type: ignore[arg-type]
        seen = {word for word in made.word_ids() if word is not None}
        lost = [word for place, word in enumerate(words) if place not in seen]
        if lost and not was_cut:
            raise DataProblem(f"sentence {sentence.name}: the tokenizer makes no token of the word {lost[0]!r}")
        facts.append(_facts(made, tokenizer, f"sentence {sentence.name}", words, sentence))
        rows.append({key: list(made[key]) for key in made})
        texts.append(" ".join(words))
        cut += was_cut
    lengths = np.array([one.length for one in facts])
    return Inputs(rows, facts, None, lengths, ids, texts, True, False, cut, longest)


def _translations(texts: list[tuple[str, ...]], ids: np.ndarray, tokenizer: Any, longest: int) -> Inputs:
    if len(texts[0]) != 2:
        raise DataProblem("an encoder-decoder needs two text columns, source and target; got one")
    rows, facts, targets, cut = [], [], [], 0
    for row, (source, target) in zip(ids, texts, strict=True):
        made, was_cut = _encode(tokenizer, (source,), longest)
        aim = tokenizer(text_target=target, truncation=True, max_length=longest)
        facts.append(_facts(made, tokenizer, f"row {row}", source))
        targets.append(_facts(aim, tokenizer, f"row {row}", target))
        rows.append({key: list(made[key]) for key in made} | {"labels": list(aim["input_ids"])})
        cut += was_cut
    lengths = np.array([max(a.length, b.length) for a, b in zip(facts, targets, strict=True)])
    joined = [f"{source} | {target}" for source, target in texts]
    return Inputs(rows, facts, targets, lengths, ids, joined, False, False, cut, longest)
