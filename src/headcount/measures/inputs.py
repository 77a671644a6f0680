"""What is measured on: texts, pairs, annotated sentences or translations, as the model takes them, with their facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from transformers import PreTrainedModel

from headcount.core.options import without_effect
from headcount.core.provenance import fingerprint
from headcount.data.annotations import Annotated, join_sentences
from headcount.data.blank_rows import is_absent, known_blank
from headcount.data.examples import draw_present_rows
from headcount.data.in_memory import InMemory
from headcount.data.kinds.texts import PLAIN
from headcount.data.kinds.tokens import Encoding
from headcount.data.kinds.translation import Translation
from headcount.data.marks import Facts, VocabularyIds, find_facts
from headcount.data.pair_boundary import separates_texts, text_numbers
from headcount.data.rarity import mark_rarest
from headcount.data.read_annotated import read_annotated
from headcount.data.row_numbers import name_row
from headcount.data.source_notes import notes_of
from headcount.data.spans import COMPLETION, NEEDLE, Spans, read_spans, tokens_of_span
from headcount.data.synthetic.source import Synthetic, find_source
from headcount.data.tables import read_table
from headcount.data.word_pieces import with_spaces, words_of_tokens
from headcount.errors import DataProblem, InvalidOption, UnsuitableModel, listed, short
from headcount.models.decoder_inputs import decoder_inputs
from headcount.models.longest import longest_input
from headcount.models.segments import has_segments
from headcount.trace.anatomy import read_anatomy
from headcount.zoo.bundled import find_data

Data = str | Path | InMemory | Synthetic
Annotate = Callable[[list[str]], list[Annotated]]
"""From plain texts to annotated ones: a spaCy pipeline, or a tagger."""
COLUMNS = (
    ("text",),
    ("sentence1", "sentence2"),
    ("question", "sentence"),
    ("premise", "hypothesis"),
    ("question1", "question2"),
    ("sentence",),
    ("source", "target"),
)
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
    linked: bool = False
    """Whether the annotations tell how words hang together: those of a tagger do not."""
    blank: dict[str, Any] = field(default_factory=dict)
    """The rows that were left out: their count, of how many, the numbers of the first."""
    notes: tuple[str, ...] = ()
    """What the source of the texts left out."""

    @property
    def fingerprint(self) -> str:
        marked = self.annotated or bool({COMPLETION, NEEDLE} & set(self.classes))
        notes = [(one.classes, one.links) for one in self.facts] if marked else None
        return fingerprint([self.ids, self.rows, notes])

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of tokens that are known of these texts."""
        return tuple(self.facts[0].classes)


def read_inputs(
    data: Data,
    model: PreTrainedModel,
    tokenizer: Any,
    columns: tuple[str, ...] | None,
    limit: int | None,
    seed: int,
    max_length: int | None,
    annotate: Annotate | None = None,
    annotator: str = "tagger",
) -> Inputs:
    """The texts of a table (`columns` names one or two), the sentences of a CoNLL-U file or an annotated table, or
    synthetic texts.

    `annotate` finds the parts of speech and roles of plain texts; `annotator` is the option that asked for it.
    """
    check_tokenizer(tokenizer)
    longest = longest_input(model, tokenizer, max_length)
    both = bool(getattr(model.config, "is_encoder_decoder", False))
    synthetic = find_source(data)
    source = find_data(data) if synthetic is None else synthetic.read(tokenizer, limit, seed)
    if _is_conllu(source):
        without_effect("text", columns, "a CoNLL-U file has no columns of texts")
        without_effect(annotator, annotate, "the sentences of a CoNLL-U file are annotated")
        _check_alone(both)
        return _from_sentences(read_annotated(source), tokenizer, longest, limit, seed)
    table = read_table(source)
    if columns is None and {"upos", "heads", "deprels"} <= set(table.columns):
        without_effect(annotator, annotate, "the sentences of this table are annotated")
        _check_alone(both)
        return _from_sentences(read_annotated(table), tokenizer, longest, limit, seed)
    names = _text_columns(table, columns)
    table = draw_present_rows(table, names, Translation() if both else PLAIN, tokenizer, limit, seed)
    rows, blank = table.index.to_numpy(), known_blank(table)
    texts = [_check_texts(table, row, names) for row in rows]
    if annotate is not None:
        _check_alone(both)
        columns_of = [annotate(list(column)) for column in zip(*texts, strict=True)]
        inputs = _plain(texts, rows, tokenizer, longest, model, table.attrs, list(zip(*columns_of, strict=True)))
    elif both:
        inputs = _translations(texts, rows, tokenizer, longest, model, table.attrs)
    else:
        spans = read_spans(table, [text for (text,) in texts]) if len(names) == 1 else None
        inputs = _plain(texts, rows, tokenizer, longest, model, table.attrs, spans=spans)
    return replace(inputs, blank=blank, notes=notes_of(table.attrs))


def check_tokenizer(tokenizer: Any) -> None:
    """An error where the tokenizer cannot tell the words of its tokens, or is the image processor of a vision model."""
    if not getattr(tokenizer, "is_fast", False):
        raise UnsuitableModel(
            f"got {type(tokenizer).__name__}; expected a fast tokenizer, which tells the words of its tokens"
        )


def check_pairs(model: PreTrainedModel, tokenizer: Any) -> None:
    """An error where neither segments nor a separator tell the texts of a pair apart."""
    if not has_segments(model) and not (separates_texts(tokenizer) and "encoder" in read_anatomy(model).stacks):
        raise DataProblem(
            f"got pairs of texts, but {type(model).__name__} has no segments to tell them apart, nor a separator "
            "between them; give one text column"
        )


def _check_alone(both: bool) -> None:
    if both:
        raise DataProblem(
            "got annotated sentences for an encoder-decoder, which also needs a target; "
            "give a table with two text columns, source and target"
        )


def _is_conllu(data: str | Path | InMemory) -> bool:
    if not isinstance(data, str | Path):
        return False
    path = Path(data)
    return path.suffix == ".conllu" and (path.is_file() or not path.exists())


def _text_columns(table: pd.DataFrame, columns: tuple[str, ...] | None) -> tuple[str, ...]:
    if columns is not None:
        missing = [name for name in columns if name not in table.columns]
        if missing or not 1 <= len(columns) <= 2:
            raise DataProblem(f"got the text columns {listed(columns)}; expected one or two of {listed(table.columns)}")
        return columns
    known = next((names for names in COLUMNS if set(names) <= set(table.columns)), None)
    if known is None:
        raise DataProblem(
            f"which column holds the text? The table has {listed(table.columns)}; name one or two of them with text="
        )
    return known


def _check_texts(table: pd.DataFrame, row: int, names: tuple[str, ...]) -> tuple[str, ...]:
    values: tuple[Any, ...] = tuple(table.at[row, name] for name in names)
    if len(names) > 1:  # one text of a pair may be absent
        values = tuple("" if is_absent(value) else value for value in values)
    for name, value in zip(names, values, strict=True):
        if not isinstance(value, str):
            raise DataProblem(
                f"{name_row(table.attrs, row)}, column {short(name)}: got {short(value)}; expected a string"
            )
    return values


def _plain(
    texts: list[tuple[str, ...]],
    ids: np.ndarray,
    tokenizer: Any,
    longest: int,
    model: PreTrainedModel,
    attrs: Mapping[Any, Any],
    sentences: list[tuple[Annotated, ...]] | None = None,
    spans: list[Spans] | None = None,
) -> Inputs:
    """Texts or pairs as they are, or as the words that `sentences` makes of them."""
    pairs = len(texts[0]) == 2
    if pairs:
        check_pairs(model, tokenizer)
    if sentences is not None:
        texts = [tuple(" ".join(one.words) for one in parts) for parts in sentences]
    columns = [list(column) for column in zip(*texts, strict=True)]
    rows, facts, cut = _encode(
        tokenizer,
        columns,
        lambda at: name_row(attrs, ids[at]),
        longest,
        sentences,
        spans=spans,
        segments=has_segments(model),
    )
    lengths = np.array([one.length for one in facts])
    linked = sentences is not None and any(any(one.heads) for parts in sentences for one in parts)
    return Inputs(
        rows,
        facts,
        None,
        lengths,
        ids,
        [" | ".join(text) for text in texts],
        sentences is not None,
        pairs,
        cut,
        longest,
        linked,
    )


def _encode(
    tokenizer: Any,
    columns: list[list[str]],
    where: Callable[[int], str],
    longest: int,
    sentences: list[tuple[Annotated, ...]] | None = None,
    gold: bool = False,
    spans: list[Spans] | None = None,
    segments: bool = False,
) -> tuple[list[Encoding], list[Facts], int]:
    """Encodings and facts of all texts, and how many were longer than the model takes.

    `segments`: whether the model is told the texts of a pair. Every word of a `gold` sentence must have a token; a
    tagger may see words in marks that tokenizers drop.
    """
    pairs = len(columns) > 1
    if longest <= tokenizer.num_special_tokens_to_add(pairs):
        raise InvalidOption(f"got room for {longest} tokens, which leaves none for the text; give a larger max_length=")
    options: dict[str, Any] = {"return_offsets_mapping": True} | ({"return_token_type_ids": segments} if pairs else {})
    whole = tokenizer(*columns, verbose=False, **options)
    long = {number for number, ids in enumerate(whole["input_ids"]) if len(ids) > longest}
    made = tokenizer(*columns, truncation=True, max_length=longest, **options) if long else whole
    known, rows, facts = VocabularyIds.of(tokenizer), [], []
    for number in range(len(columns[0])):
        row = {key: list(made[key][number]) for key in made if key != "offset_mapping"}
        sentence = None if sentences is None else join_sentences(*sentences[number])
        words: list[int | None] = made.word_ids(number)
        if sentence is not None:
            assert sentences is not None
            texts = [with_spaces(one.words) for one in sentences[number]]
            words = words_of_tokens(texts, made["offset_mapping"][number], made.sequence_ids(number))
            lost = sorted(set(range(len(sentence.words))) - set(words)) if number not in long else []
            if lost and gold:
                raise DataProblem(
                    f"{where(number)}: the tokenizer makes no token of the word {short(sentence.words[lost[0]])}"
                )
        described = find_facts(row, known, words, sentence, text_numbers(made.sequence_ids(number)) if pairs else None)
        if len(described.classes["special"]) == described.length:
            text = " | ".join(column[number] for column in columns)
            raise DataProblem(f"{where(number)}: nothing but special tokens in {short(text)}; expected some text")
        for name, span in spans[number].items() if spans is not None else ():
            described.classes[name] = tokens_of_span(made["offset_mapping"][number], span)
        rows.append(row)
        facts.append(described)
    mark_rarest([row["input_ids"] for row in rows], facts)
    return rows, facts, len(long)


def _from_sentences(sentences: list[Annotated], tokenizer: Any, longest: int, limit: int | None, seed: int) -> Inputs:
    table = pd.DataFrame({"words": [" ".join(sentence.words) for sentence in sentences]})
    table = draw_present_rows(table, ("words",), PLAIN, tokenizer, limit, seed)
    ids = table.index.to_numpy()
    chosen = [sentences[number] for number in ids]
    texts = [" ".join(sentence.words) for sentence in chosen]
    rows, facts, cut = _encode(
        tokenizer, [texts], lambda at: f"sentence {chosen[at].name}", longest, [(one,) for one in chosen], gold=True
    )
    lengths = np.array([one.length for one in facts])
    return Inputs(rows, facts, None, lengths, ids, texts, True, False, cut, longest, True, known_blank(table))


def _translations(
    texts: list[tuple[str, ...]],
    ids: np.ndarray,
    tokenizer: Any,
    longest: int,
    model: PreTrainedModel,
    attrs: Mapping[Any, Any],
) -> Inputs:
    if len(texts[0]) != 2:
        raise DataProblem("an encoder-decoder needs two text columns, source and target; got one")
    where = lambda at: name_row(attrs, ids[at])
    sources, aims = (list(column) for column in zip(*texts, strict=True))
    rows, facts, cut = _encode(tokenizer, [sources], where, longest)
    wanted, _, cut_too = _encode(_Targets(tokenizer), [aims], where, longest)
    known, targets = VocabularyIds.of(tokenizer), []
    for row, aim in zip(rows, wanted, strict=True):
        row["labels"] = aim["input_ids"]
        row["decoder_input_ids"] = decoder_inputs(model, aim["input_ids"])
        # Only what the decoder reads is looked at; the words of its tokens are asked for in pairs alone.
        targets.append(find_facts({"input_ids": row["decoder_input_ids"]}, known, [None] * len(aim["input_ids"])))
    mark_rarest([row["decoder_input_ids"] for row in rows], targets)
    lengths = np.array([max(a.length, b.length) for a, b in zip(facts, targets, strict=True)])
    joined = [f"{source} | {target}" for source, target in texts]
    return Inputs(rows, facts, targets, lengths, ids, joined, False, False, cut + cut_too, longest)


class _Targets:
    """A tokenizer that reads its texts as targets of a translation."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    def __call__(self, texts: list[str], **options: Any) -> Any:
        return self.tokenizer(text_target=texts, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tokenizer, name)
