"""What a study has not got yet: every command that is named can be typed as it stands, and fills its gap."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from headcount.cli.main import app, main
from headcount.core.heads import Layout
from headcount.reporting.gaps import find_gaps
from headcount.reporting.view import View, read_view
from tests import planted
from tests.measures import cases
from tests.reporting import studies

KINDS = {
    "what the score is without each head": ("sweep/head-uniform", {"by": "head"}),
    "what the score is without each layer": ("sweep/layer-uniform", {"by": "layer"}),
    "what every head looks at": ("measures/special", {}),
    "what the maps of every head look like": ("patterns/typical", {}),
    "which relations between words heads follow": ("measures/links@words", {}),
    "which heads follow annotations, such as dependencies": ("probe/dependencies", {}),
    "which words give the label away": ("cues/classification", {}),
    "attention maps of a sentence": ("maps/text", {}),
    "what fine-tuning changed": ("compare/cosine", {}),
    "how important each head is": ("pruning/importance", {"measure": "importance"}),
    "which heads help, hurt or make no difference": ("pruning/roles", {"measure": "roles"}),
    "how many heads can go": ("pruning/curve@prune-confirming", {}),
    "how small the model can get without heads and feed-forward units": ("pruning/budget@budget-confirming", {}),
    "when the order of heads settles": ("pruning/dynamics", {}),
    "what a smaller model costs": ("cost/models", {}),
}


def view_of(results: dict[str, dict[str, Any]]) -> View:
    return View("study", {name: xr.Dataset(attrs=attributes) for name, attributes in results.items()}, (), Layout({}))


def parsed(command: str) -> tuple[str, dict[str, Any]]:
    """The verb and what its parameters get, as the program itself reads the line; an error where it cannot."""
    words = shlex.split(command)
    assert words[0] == "headcount"
    verb, bound, *_ = app.parse_args(words[1:], exit_on_error=False, print_error=False)
    assert verb.__module__.startswith("headcount.cli.")
    return verb.__name__, dict(bound.arguments)


def test_an_empty_study_lacks_everything() -> None:
    gaps = find_gaps(view_of({}), "study")
    assert [gap["what"] for gap in gaps] == list(KINDS)
    verbs = [parsed(gap["command"])[0] for gap in gaps]
    assert verbs == [
        "sweep",
        "sweep",
        "measure",
        "find_patterns",
        "measure",
        "probe",
        "cues",
        "maps",
        "compare",
        "importance",
        "gates",
        "prune",
        "prune",
        "dynamics",
        "cost",
    ]


def test_the_study_is_the_one_that_was_given() -> None:
    for gap in find_gaps(view_of({}), "runs/mrpc"):
        verb, given = parsed(gap["command"])
        name = "study" if verb in ("prune", "dynamics", "cost") else "out"
        assert given[name] == Path("runs/mrpc"), gap["command"]
        assert given.get("model", "MODEL") in ("MODEL", "BEFORE")


@pytest.mark.parametrize("what", KINDS)
def test_a_result_fills_its_gap(what: str) -> None:
    """And no other, but that links are measures too."""
    name, attributes = KINDS[what]
    left = [gap["what"] for gap in find_gaps(view_of({name: attributes}), "study")]
    filled = {what} | ({"what every head looks at"} if "links" in name else set())
    assert left == [one for one in KINDS if one not in filled]


def test_scores_of_units_are_no_importance_of_heads() -> None:
    found = {"pruning/importance": {"measure": "importance", "what": "units"}}
    assert "how important each head is" in [gap["what"] for gap in find_gaps(view_of(found), "study")]


def test_a_whole_study_lacks_nothing() -> None:
    assert find_gaps(view_of(dict(KINDS.values())), "study") == []


def test_model_task_and_data_are_the_study_s_own() -> None:
    known = {"model": "/models/tuned", "task": "mrpc", "data": "data/dev.csv", "by": "head"}
    for gap in find_gaps(view_of({"sweep/head-zero": known}), "study"):
        _, given = parsed(gap["command"])
        values = {str(value) for value in given.values()}
        assert not values & {"MODEL", "TASK", "DATA"}, gap["command"]
        if "folder" not in given:
            assert "tuned" in values, "by its name: a page names no path of a machine"
        if "task" in given:
            assert given["task"] == "mrpc"


def test_what_the_study_does_not_know_is_a_word_to_fill_in() -> None:
    known = {"model": "m/x", "task": "mrpc", "data": "data frame", "by": "head"}
    for gap in find_gaps(view_of({"sweep/head-zero": known}), "study"):
        assert "data frame" not in gap["command"]


def test_bundled_models_are_called_by_their_short_names() -> None:
    known = {"model": "/lib/python/headcount/zoo/data/qnli", "by": "head"}
    commands = [gap["command"] for gap in find_gaps(view_of({"sweep/head-zero": known}), "study")]
    assert any("bundled:qnli" in command for command in commands)
    assert not any("zoo/data" in command for command in commands)


@pytest.mark.parametrize("odd", ["my study", "it's", "$HOME/x", "a;b", "a&b", "(1)"])
def test_paths_that_a_shell_would_take_apart(odd: str) -> None:
    known = {"model": f"models/{odd}", "task": "mrpc", "data": f"data/{odd}.csv", "by": "head"}
    for gap in find_gaps(view_of({"sweep/head-zero": known}), odd):
        verb, given = parsed(gap["command"])
        assert given["study" if verb in ("prune", "dynamics", "cost") else "out"] == Path(odd)
        assert not set("$;&()") & set(gap["command"]) or "'" in gap["command"]


def test_maps_of_an_encoder_decoder_need_a_target() -> None:
    layout = Layout.even({"encoder": (1, 1), "decoder": (1, 1), "cross": (1, 1)})
    gaps = find_gaps(View("study", {}, (), layout), "study")
    command = next(gap["command"] for gap in gaps if gap["what"] == "attention maps of a sentence")
    assert parsed(command)[1].get("pair")


def test_the_commands_fill_the_gaps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A study of one sweep: each command, typed as it stands, works, until nothing but a training is missing."""
    monkeypatch.chdir(tmp_path)
    planted.save(tmp_path / "model")
    planted.texts(60).to_csv("texts.csv", index=False)
    assert main(["sweep", str(tmp_path / "model"), "--task", "sst2", "--data", "texts.csv", "--out", "study"]) == 0
    (tmp_path / "TREEBANK.conllu").write_text(conllu(), encoding="utf-8")
    (tmp_path / "BEFORE").symlink_to(tmp_path / "model")
    gaps = find_gaps(read_view("study"), "study")
    assert [gap["what"] for gap in gaps] == list(KINDS)[1:]
    for gap in gaps:
        if gap["what"] == "when the order of heads settles":
            continue
        more = ["--batches", "1", "--lengths", "8", "--repeats", "1"] if " cost " in gap["command"] else []
        assert main([*shlex.split(gap["command"])[1:], *more]) == 0, (gap["command"], capsys.readouterr().err)
    left = find_gaps(read_view("study"), "study")
    assert [gap["what"] for gap in left] == ["when the order of heads settles"]


def conllu() -> str:
    """The planted trees as a treebank."""
    blocks = []
    for number, spelled in enumerate(cases.TREES):
        one = cases.sentence(spelled)
        rows = [f"# sent_id = {number}"]
        for place, word in enumerate(one.words):
            cells = (place + 1, word, word, one.upos[place], "_", "_", one.heads[place], one.deprels[place], "_", "_")
            rows.append("\t".join(map(str, cells)))
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n\n"


def test_the_gaps_of_real_studies(tmp_path: Path) -> None:
    for what, missing in (("maps", "attention maps"), ("layer", "each layer"), ("measures", "every head looks at")):
        view = read_view(studies.partial_study(tmp_path / what, what))
        gaps = find_gaps(view, str(tmp_path / what))
        assert len(gaps) == 14
        assert not any(missing in gap["what"] for gap in gaps)
        for gap in gaps:
            parsed(gap["command"])


def test_patterns_are_missing_until_there_are_maps_that_show_them(tmp_path: Path) -> None:
    """All measures name the patterns; the maps come with the command, and it can be typed as it stands."""
    what = "what the maps of every head look like"
    measured = view_of({"measures/patterns": {"model": "m/x", "data": "pairs.csv"}})
    command = next(gap["command"] for gap in find_gaps(measured, "study") if gap["what"] == what)
    verb, given = parsed(command)
    assert (verb, given["model"], given["data"], given["out"]) == ("find_patterns", "m/x", "pairs.csv", Path("study"))
    view = read_view(studies.patterns_study(tmp_path / "study"))
    assert what not in [gap["what"] for gap in find_gaps(view, "study")]
    without = {name: found for name, found in view.results.items() if not name.startswith("patterns/")}
    assert what in [gap["what"] for gap in find_gaps(View("study", without, (), view.layout), "study")]


CARRY, WHERE = "which heads carry the difference between two inputs", "at which positions heads carry it"


def test_a_patch_leaves_the_gap_of_the_ablation() -> None:
    known = {"by": "head", "how": "patch", "data": "pairs.csv"}
    left = [gap["what"] for gap in find_gaps(view_of({"sweep/head-patch": known}), "study")]
    assert left == list(KINDS), "nothing was ablated, and what was patched is there"
    left = [gap["what"] for gap in find_gaps(view_of({"sweep/layer-patch": known | {"by": "layer"}}), "study")]
    assert CARRY in left
    assert WHERE not in left, "these texts may have no positions in common"


def test_patching_is_for_data_with_two_inputs() -> None:
    def gaps(data: str, **patched: dict[str, str]) -> dict[str, str]:
        base = {"model": "m/x", "task": "completion", "kind": "completion", "data": data}
        results = {"sweep/head-zero": base | {"by": "head", "how": "zero"}}
        results |= {f"sweep/{by}-patch": base | {"by": by, "how": "patch"} for by in patched}
        return {gap["what"]: gap["command"] for gap in find_gaps(view_of(results), "study")}

    assert not {CARRY, WHERE} & set(gaps("texts.csv"))
    both = gaps("synthetic:names")
    for what, by in ((CARRY, "head"), (WHERE, "position")):
        verb, given = parsed(both[what])
        assert (verb, given["by"], given["how"], given["data"]) == ("sweep", by, "patch", "synthetic:names")
    assert not {CARRY, WHERE} & set(gaps("synthetic:names", head={}, position={}))
