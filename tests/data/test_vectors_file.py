"""Word vectors from text files, and files that hold none."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.data.vectors_file import read_vectors
from headcount.errors import DataProblem


def written(folder: Path, text: str) -> Path:
    (folder / "vectors.txt").write_text(text, encoding="utf-8")
    return folder / "vectors.txt"


@pytest.mark.parametrize(
    "text",
    [
        "dog 1 2.5\ncat -3e-1 4\n",
        "2 2\ndog 1 2.5\ncat -3e-1 4",
        "dog\t1\t2.5\ncat\t-3e-1\t4\n",
        "dog 1 2.5 \n\ncat -.3 4\n",
    ],
)
def test_plain_files_and_files_with_a_first_line(tmp_path: Path, text: str) -> None:
    vectors = read_vectors(written(tmp_path, text), {"dog", "cat", "bird"})
    assert {word: vector.tolist() for word, vector in vectors.items()} == {
        "dog": [1, 2.5],
        "cat": pytest.approx([-0.3, 4]),
    }


def test_only_what_is_wanted_is_read(tmp_path: Path) -> None:
    path = written(tmp_path, "dog 1 2\n. . . 3 4\nbad x y\ndog 5 6\n")
    assert {word: vector.tolist() for word, vector in read_vectors(path, {"dog", ". . ."}).items()} == {
        "dog": [1, 2],
        ". . .": [3, 4],
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "has no vectors"),
        ("3 2\n", "has no vectors"),
        ("dog 1 2\ncat 3\n", "line 2: got 1 numbers after the word 'cat'; expected 2"),
        ("dog\n", "line 1: got 0 numbers after the word 'dog'; expected at least one"),
        ("dog 1 x\n", r"line 1 \('dog'\): got 'x'; expected a number"),
        ("dog 1 nan\n", "NaN or infinite"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(DataProblem, match=expected):
        read_vectors(written(tmp_path, text), {"dog", "cat"})


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataProblem, match="cannot read .*none.txt: No such file"):
        read_vectors(tmp_path / "none.txt", {"dog"})
    with pytest.raises(DataProblem, match="cannot read .*directory"):
        read_vectors(tmp_path, {"dog"})
    (tmp_path / "packed.gz").write_bytes(b"\x1f\x8b\xff\xfe")
    with pytest.raises(DataProblem, match="not a text file in UTF-8"):
        read_vectors(tmp_path / "packed.gz", {"dog"})
