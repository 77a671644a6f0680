"""The tokens of cue words in the model's input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headcount.core.cue_spans import find_spans
from headcount.data.kinds.tokens import Encoding


def encode_with_cues(
    tokenizer: Any,
    texts: Sequence[tuple[str, ...]],
    looked_at: Sequence[int],
    cues: Sequence[str],
    rule: str,
    cased: bool,
    limit: int,
) -> list[tuple[Encoding, list[int], list[int | None]]]:
    """Each text or pair as tokens, the positions of the cues' tokens in the texts `looked_at`, the words of tokens."""
    columns = [list(column) for column in zip(*texts, strict=True)]
    encoded = tokenizer(*columns, truncation=True, max_length=limit, return_offsets_mapping=True, verbose=False)
    pieces = set(tokenizer.convert_tokens_to_ids(list(cues))) if rule == "pieces" else set()
    results = []
    for number, text in enumerate(texts):
        row = {key: list(encoded[key][number]) for key in encoded if key != "offset_mapping"}
        sequences, offsets = encoded.sequence_ids(number), encoded["offset_mapping"][number]
        spans = {side: [] if rule == "pieces" else find_spans(text[side], cues, rule, cased) for side in looked_at}
        positions = [
            at
            for at, (side, (start, end)) in enumerate(zip(sequences, offsets, strict=True))
            if side in spans
            and (row["input_ids"][at] in pieces or any(start < last and first < end for first, last in spans[side]))
        ]
        results.append((row, positions, encoded.word_ids(number)))
    return results
