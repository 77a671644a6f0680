"""The tokens of cue words, by their characters or as pieces."""

from __future__ import annotations

from pathlib import Path

from headcount.statistical_cues.cue_tokens import encode_with_cues
from tests import planted


def test_the_tokens_of_a_pair_and_what_was_cut(tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(tmp_path / "words")
    texts = [("up the", "it is up"), ("the", "a so it is up")]
    both = encode_with_cues(tokenizer, texts, (0, 1), ["up"], "words", False, 8)
    assert [positions for _, positions, _ in both] == [[1, 6], []], "[CLS] up the [SEP] it is up [SEP]; the last is cut"
    second = encode_with_cues(tokenizer, texts, (1,), ["up"], "words", False, 64)
    assert [positions for _, positions, _ in second] == [[6], [7]]
    pieces = encode_with_cues(tokenizer, texts, (0, 1), ["up"], "pieces", False, 64)
    assert [positions for _, positions, _ in pieces] == [[1, 6], [7]]
