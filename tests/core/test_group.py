"""A result is complete only after it was read back, whatever happens on the way, and only once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from headcount.core.damage import damages
from headcount.core.group import Group
from headcount.core.read_study import open_study
from headcount.core.results import ArrayPlan
from headcount.core.store import Study
from headcount.errors import HeadcountWarning, StudyProblem

VALUES = np.arange(8, dtype="float32")


def begin(path: Path, dtype: str = "float32") -> Group:
    plan = {"values": ArrayPlan(("example",), (8,), dtype)}
    return Study(path).group("sweep/x", {"seed": 1}, {}, plan, {}, [(0, 4), (4, 8)])


def fill(group: Group) -> None:
    for unit in range(2):
        group.write_unit(unit, 4 * unit, 4 * unit + 4, {"values": VALUES[4 * unit : 4 * unit + 4]})


def test_a_chunk_that_was_lost_before_the_end(tmp_path: Path) -> None:
    """The scores of a result that lost its values are never those of nothing."""
    group = begin(tmp_path / "study")
    fill(group)
    (tmp_path / "study/sweep/x/values/c/1").unlink()
    with pytest.raises(StudyProblem, match=r"sweep/x could not be read back \(sweep/x/values/c/1 is missing\)"):
        group.finish({"score": ((), np.array(0.5))}, {})
    assert not group.complete
    again = begin(tmp_path / "study")
    with pytest.warns(HeadcountWarning, match="1 of its parts are computed again"):
        assert again.done() == [True, False]
    fill(again)
    again.finish({"score": ((), np.array(0.5))}, {})
    assert open_study(tmp_path / "study")["sweep/x"]["values"].values.tolist() == VALUES.tolist()


@pytest.mark.parametrize("values", [np.array([0.25, np.nan]), np.array(["a", "ü"], dtype=object), np.array([3, 4])])
def test_what_the_disk_did_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, values: np.ndarray) -> None:
    """A disk that says that it has written, and has not."""
    group = begin(tmp_path / "study")
    fill(group)
    write = zarr.Array.__setitem__

    def forgetful(self: Any, place: Any, content: Any) -> None:
        write(self, place, content[::-1] if self.basename == "score" else content)

    monkeypatch.setattr(zarr.Array, "__setitem__", forgetful)
    with pytest.raises(StudyProblem, match="sweep/x/score is not what was written"):
        group.finish({"score": (("n",), values)}, {})
    assert not group.complete
    monkeypatch.undo()
    group.finish({"score": (("n",), values)}, {})
    assert group.complete
    np.testing.assert_array_equal(open_study(tmp_path / "study")["sweep/x"]["score"].values, values)


def test_chunks_of_nothing_but_the_fill_value_are_files(tmp_path: Path) -> None:
    group = begin(tmp_path / "study")
    for unit in range(2):
        group.write_unit(unit, 4 * unit, 4 * unit + 4, {"values": np.full(4, np.nan, dtype="float32")})
    group.finish({"score": (("n",), np.full(3, np.nan))}, {})
    for file in ("values/c/0", "values/c/1", "score/c/0"):
        assert (tmp_path / "study/sweep/x" / file).is_file()
    assert damages(tmp_path / "study", deep=True) == {}


def test_two_that_finish_the_same(tmp_path: Path) -> None:
    """As shards do: the first one's numbers stand, and nobody reads half of them."""
    first, second = begin(tmp_path / "study"), begin(tmp_path / "study")
    fill(first)
    errors: list[Exception] = []

    def finish(group: Group) -> None:
        try:
            group.finish({"score": ((), np.array(0.5))}, {})
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=finish, args=(group,)) for group in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert first.complete
    assert second.complete
    assert damages(tmp_path / "study", deep=True) == {}


def test_each_layer_in_a_chunk_of_its_own(tmp_path: Path) -> None:
    group = begin(tmp_path / "study")
    fill(group)
    maps = np.arange(24, dtype="uint8").reshape(2, 3, 4)
    group.finish({"maps": (("layer", "query", "key"), maps)}, {}, by_layer=["maps"])
    assert sorted(one.name for one in (tmp_path / "study/sweep/x/maps/c").iterdir()) == ["0", "1"]
    np.testing.assert_array_equal(group.read()["maps"], maps)
    assert group.read().attrs["complete"] is True
    assert not {"digest", "manifest"} & set(group.read().attrs)
