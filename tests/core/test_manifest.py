"""Metadata is sealed with a digest, chunks end in a checksum: every change is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from headcount.core.manifest import (
    Damaged,
    check_chunk,
    chunk_files,
    group_node,
    is_study,
    read_node,
    read_root,
    visible,
    write_sealed,
)
from headcount.core.store import Study
from tests.core.damage import write_units


def test_sealed_metadata_comes_back(tmp_path: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    write_sealed(study, study, group_node({"task": "rte", "digest": "of an earlier writing"}))
    node = read_node(study)
    assert visible(node["attributes"]) == {"task": "rte"}
    assert read_node(study, expected=node["attributes"]["digest"]) == node
    with pytest.raises(Damaged, match="was changed"):
        read_node(study, expected="0" * 16)
    assert [path.name for path in tmp_path.iterdir()] == ["study"], "nothing stays beside it"


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [('"rte"', '"sst2"', "was changed"), ("{", "", "is not readable"), ('"attributes"', '"x"', "is not readable")],
)
def test_changed_metadata_is_noticed(tmp_path: Path, before: str, after: str, reason: str) -> None:
    write_sealed(tmp_path, tmp_path, group_node({"task": "rte"}))
    text = (tmp_path / "zarr.json").read_text()
    (tmp_path / "zarr.json").write_text(text.replace(before, after, 1))
    with pytest.raises(Damaged, match=reason):
        read_node(tmp_path)


def test_a_folder_without_metadata_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(Damaged, match="is missing"):
        read_root(tmp_path)
    assert not is_study(tmp_path)
    Study(tmp_path / "study")
    assert is_study(tmp_path / "study")


def test_the_names_of_all_chunks(tmp_path: Path) -> None:
    write_units(tmp_path / "study")
    folder = tmp_path / "study/sweep/sets-zero/logits"
    on_disk = {path.relative_to(folder).as_posix() for path in folder.rglob("c/*/*")}
    assert set(chunk_files(read_node(folder))) == on_disk == {"c/0/0", "c/0/1", "c/0/2"}


def test_a_chunk_is_compared_with_its_checksum(tmp_path: Path) -> None:
    write_units(tmp_path / "study")
    content = (tmp_path / "study/sweep/sets-zero/logits/c/0/0").read_bytes()
    check_chunk(content)
    with pytest.raises(Damaged, match="was changed"):
        check_chunk(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(Damaged, match="is cut off"):
        check_chunk(content[:3])
