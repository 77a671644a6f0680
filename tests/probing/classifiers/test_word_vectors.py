"""The vectors of words: the mean over their pieces, or those of a file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch

from headcount.errors import DataProblem
from headcount.probing.classifiers.word_vectors import file_vectors, own_vectors
from headcount.probing.dependencies.dependencies import DependencyTrees
from headcount.probing.words.sentences import Sentences, encode_sentences
from tests.measures.tiny import masked

ROWS = pd.DataFrame(
    [(["dogs", "saw", "The", "cat"], ["X"] * 4, [2, 0, 4, 2], ["nsubj", "root", "det", "obj"])],
    columns=["tokens", "upos", "heads", "deprels"],
)


def encoded() -> tuple[object, Sentences]:
    model, tokenizer = masked()
    return model, encode_sentences(DependencyTrees().read(ROWS, tokenizer, 64), model, tokenizer, None, 0, 64)


def test_the_mean_over_the_pieces() -> None:
    model, sentences = encoded()
    [vectors] = own_vectors(model, sentences).rows  # type: ignore[arg-type]
    table = model.get_input_embeddings().weight.detach().float()  # type: ignore[attr-defined]
    ids = torch.tensor(sentences.inputs.rows[0]["input_ids"])
    assert sentences.words[0] == [None, 0, 0, 1, 2, 3, None], "dog ##s saw the cat"
    plain = torch.stack([table[ids[1:3]].mean(0), table[ids[3]], table[ids[4]], table[ids[5]]])
    torch.testing.assert_close(vectors, plain / plain.square().mean().sqrt())


def test_of_a_file_in_any_case(tmp_path: Path) -> None:
    _, sentences = encoded()
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2\nsaw 3 4\n")
    found = file_vectors(path, sentences, torch.device("cpu"))
    [vectors] = found.rows
    assert (found.known, found.source) == (0.5, "vectors.txt")
    path.write_text("the 1 2\nsaw 3 5\n")
    assert file_vectors(path, sentences, torch.device("cpu")).identity != found.identity
    assert vectors[0].tolist() == vectors[3].tolist() == [0, 0]
    torch.testing.assert_close(vectors[1] / vectors[2], torch.tensor([3.0, 2.0]))
    path.write_text("elephant 1 2\n")
    with pytest.raises(DataProblem, match="no vector for any of the words"):
        file_vectors(path, sentences, torch.device("cpu"))
