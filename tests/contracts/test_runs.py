"""What every run promises: killed and resumed as if uninterrupted, in memory as in a folder, in shards as whole, and
where its numbers come from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import xarray as xr

import headcount as hc
from headcount.choosing import attribution, curvature, importance
from headcount.core.provenance import PACKAGES
from headcount.core.results import HEAD_DIMS, UNIT_DIMS
from headcount.core.schema import read_schema
from headcount.costs.layer_times import LayerTimes
from headcount.engines.sinks import FolderSink
from headcount.measures import passes
from tests import planted
from tests.contracts.writers import SHARDED, TIMED, TIMES, make_checkpoints, writers
from tests.engines.runs import missing

NAMES = [
    "sweep",
    "screened",
    "pairs",
    "raced",
    "measure",
    "compare",
    "patterns",
    "maps",
    "probe",
    "cues",
    "cue_heads",
    "classifiers",
    "importance",
    "attribution",
    "gates",
    "roles",
    "carriers",
    "function_vectors",
    "circuit",
    "paths",
    "choose",
    "budget",
    "speed",
    "layer_times",
    "cost",
    "dynamics",
]
SOURCE = Path(hc.__file__).parent
WRITERS = {
    "ablation/sweep.py",
    "measures/passes.py",
    "attention_maps/maps.py",
    "attention_maps/find_patterns.py",
    "probing/probe.py",
    "probing/classifiers/tree_classifiers.py",
    "statistical_cues/cues.py",
    "statistical_cues/cue_heads.py",
    "choosing/importance.py",
    "choosing/attribution.py",
    "choosing/function_vectors.py",
    "choosing/curvature.py",
    "choosing/gates.py",
    "choosing/roles.py",
    "choosing/role_checks.py",
    "choosing/carriers.py",
    "choosing/circuit.py",
    "choosing/curves.py",
    "choosing/dynamics.py",
    "choosing/training_dynamics.py",
    "budgets/speed_search.py",
    "budgets/choose_parts.py",
    "budgets/trials.py",
    "costs/cost.py",
    "costs/layer_times.py",
}
"""What asks the ledger for a result: the verbs above run all of it but what `HeadCallback` writes after a training."""
UNSTEADY = {"speed": 6}
"""Verbs whose number of steps depends on measured times, and one that they always reach."""
ORIGINS = {"models/fingerprint.py"}
"""Where origins are found."""


class Killed(BaseException):
    pass


@contextmanager
def writing(last: int | None = None) -> Iterator[list[str]]:
    """What is written meanwhile, one entry for each unit and each end of a run; killed before the next one."""
    written: list[str] = []

    def watch(real: Callable[..., None]) -> Callable[..., None]:
        def write(sink: FolderSink, *arguments: Any) -> None:
            if len(written) == last:
                raise Killed
            real(sink, *arguments)
            written.append(f"{sink.run.group} {arguments[0] if real.__name__ == 'save' else 'finished'}")

        return write

    with pytest.MonkeyPatch.context() as patch:
        for step in ("save", "finish"):
            patch.setattr(FolderSink, step, watch(getattr(FolderSink, step)))
        yield written


class Verbs:
    """The verbs with small units, and what each gives when nobody disturbs it."""

    def __init__(self, folder: Path) -> None:
        make_checkpoints(folder / "run")
        self.folder, self.run = folder, writers(folder)
        self.known: dict[str, tuple[dict[str, xr.Dataset], int]] = {}

    def uninterrupted(self, name: str) -> tuple[dict[str, xr.Dataset], int]:
        """What is given back, and in how many steps it was written; the study is in the folder `name`."""
        if name not in self.known:
            with writing() as written:
                found = self.run[name](self.folder / name)
            self.known[name] = datasets(found), len(written)
        return self.known[name]


@pytest.fixture(scope="module")
def verbs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Verbs]:
    with pytest.MonkeyPatch.context() as patch:
        for module in (passes, importance, attribution):
            patch.setattr(module, "UNIT", 16)
        patch.setattr(curvature, "UNIT", 2)
        yield Verbs(tmp_path_factory.mktemp("runs"))


def datasets(found: Any) -> dict[str, xr.Dataset]:
    """The results that a verb gives back, by name."""
    if isinstance(found, xr.DataTree):
        return {name: node.to_dataset() for name, node in found.children.items()}
    if isinstance(found, pd.DataFrame):
        return {"table": xr.Dataset({name: ("row", found[name]) for name in found}, attrs=found.attrs)}
    if isinstance(found, xr.Dataset):
        return {"result": found}
    if isinstance(found, LayerTimes):
        return {}  # read from what is stored, without its attributes
    parts = ("selection", "held_out", *(("importance",) if isinstance(found, hc.Choice) else ()))
    return {part: getattr(found, part) for part in parts}


def stored(study: Path) -> dict[str, xr.Dataset]:
    tree = hc.open_study(study)
    return {node.path: node.to_dataset().load() for node in tree.subtree if "complete" in node.attrs}


def check_alike(found: dict[str, xr.Dataset], expected: dict[str, xr.Dataset], timed: bool, exact: bool) -> None:
    assert set(found) == set(expected)
    for name, one in found.items():
        mine, other = (each.drop_vars(("done", *TIMES), errors="ignore") for each in (one, expected[name]))
        if timed:
            assert {key: array.dims for key, array in mine.items()} == {k: a.dims for k, a in other.items()}
        elif exact:
            xr.testing.assert_equal(mine, other)
        else:
            xr.testing.assert_allclose(mine, other, rtol=1e-5, atol=2e-5)
        assert plain_attributes(mine, timed) == plain_attributes(other, timed)


def plain_attributes(one: xr.Dataset, timed: bool) -> dict[str, Any]:
    """Without the command and, where a measured speed decides, without what was tried for it."""
    gone = {"trials": ""} if timed else {}
    return {**one.attrs, "command": "", "identity": {**one.attrs["identity"], **gone}}


@pytest.mark.parametrize("name", NAMES)
def test_in_memory_as_in_a_folder(verbs: Verbs, name: str) -> None:
    check_alike(datasets(verbs.run[name](None)), verbs.uninterrupted(name)[0], name in TIMED, exact=True)


@pytest.mark.parametrize("moment", ["middle", "last"])
@pytest.mark.parametrize("name", NAMES)
def test_killed_and_resumed_as_uninterrupted(verbs: Verbs, tmp_path: Path, name: str, moment: str) -> None:
    """A measure that lacks a unit which the others have is run alone, and rounds otherwise in the last digits."""
    expected, steps = verbs.uninterrupted(name)
    last = {"middle": steps // 2, "last": steps - 1 if name not in UNSTEADY else UNSTEADY[name]}[moment]
    with writing(last) as before, pytest.raises(Killed):
        verbs.run[name](tmp_path / "study")
    assert len(before) == last
    with writing() as written:
        found = verbs.run[name](tmp_path / "study")
    assert not set(before) & set(written), "what was written before is not computed again"
    assert len(written) == steps - last or name in UNSTEADY
    check_alike(datasets(found), expected, name in TIMED, exact=False)
    check_alike(stored(tmp_path / "study"), stored(verbs.folder / name), name in TIMED, exact=False)
    with writing() as written:
        again = verbs.run[name](tmp_path / "study")
    assert not written
    check_alike(datasets(again), datasets(found), timed=False, exact=True)


@pytest.mark.parametrize("name", SHARDED)
def test_shards_as_whole(verbs: Verbs, tmp_path: Path, name: str) -> None:
    expected, steps = verbs.uninterrupted(name)
    counts = []
    for shard in ("1/2", "2/2"):
        with writing() as written:
            found = datasets(writers(verbs.folder, shard)[name](tmp_path / "study"))
        assert {one.attrs["complete"] for one in found.values()} == {shard == "2/2"}
        counts.append(len(written))
    assert sum(counts) == steps
    assert all(counts), "each has a part of it"
    check_alike(found, expected, timed=False, exact=True)
    check_alike(stored(tmp_path / "study"), stored(verbs.folder / name), timed=False, exact=True)


@pytest.mark.parametrize("name", NAMES)
def test_every_number_says_where_it_comes_from(verbs: Verbs, name: str) -> None:
    given = verbs.uninterrupted(name)[0]
    there = stored(verbs.folder / name)
    assert there
    for key, one in [*given.items(), *there.items()]:
        assert one.attrs["complete"], key
        assert not missing(one.attrs), f"{key} does not say its {', '.join(missing(one.attrs))}"
        assert set(PACKAGES) <= set(one.attrs["versions"]), key
        assert one.attrs["command"].startswith("headcount."), key


@pytest.mark.parametrize(
    "name", ["classifiers", "cues", "importance", "gates", "roles", "choose", "budget", "speed", "cost", "dynamics"]
)
def test_every_number_says_what_it_is(verbs: Verbs, name: str) -> None:
    """All but the ends of intervals, which are their variable's, and the axes of heads and examples."""
    verbs.uninterrupted(name)
    plain = {*HEAD_DIMS, *UNIT_DIMS, "direction", "seed", "sentence", "example", "done", "low", "high"}
    for path, result in stored(verbs.folder / name).items():
        for key, array in (
            result.variables.items() if path.startswith(("/pruning/", "/cost/", "/probe/", "/cues/")) else ()
        ):
            assert key in plain or str(key).endswith(("_low", "_high")) or read_schema(array.attrs), f"{path}: {key}"


def test_what_is_missing_is_named() -> None:
    assert missing({}) == ["model", "data", "seed", "versions", "device"]


def test_no_verb_is_left_out(verbs: Verbs) -> None:
    assert sorted(verbs.run) == sorted(NAMES)
    asking = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if re.search(r"^from headcount\.engines\.ledger import", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert asking == WRITERS


def test_the_ledger_alone_writes_studies_and_provenance() -> None:
    writes = re.compile(r"\bversions\(\)|\bStudy\(|\"device\": device_label")
    writing_files = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if writes.search(path.read_text(encoding="utf-8"))
    }
    assert {name for name in writing_files if name.split("/")[0] not in ("core", "engines", "live_server")} == ORIGINS


def test_rows_keep_their_numbers_in_the_data(verbs: Verbs) -> None:
    """The halves of a choice speak of the rows of the file, not of their positions within a half."""
    verbs.uninterrupted("choose")
    tree = hc.open_study(verbs.folder / "choose")
    halves = [tree[f"sweep/sets-zero@prune-{part}"]["example"].values for part in ("choosing", "confirming")]
    assert sorted(int(row) for half in halves for row in half) == list(range(40))
    swept = tree["sweep/sets-zero@prune-confirming"].to_dataset()
    assert (swept["label"].values == planted.texts(40)["label"].loc[swept["example"].values].values).all()
