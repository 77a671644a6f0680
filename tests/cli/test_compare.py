"""The verb `compare`: what it prints and keeps, the table of a study, bad input is one line."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import xarray as xr

import headcount as hc
from headcount.cli.main import main
from headcount.measures.compare import compare
from tests import planted


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, one whose L1H0 looks at itself, one of 3 layers, and some texts."""
    path = tmp_path_factory.mktemp("planted")
    for name in ("model", "other", "deeper"):
        planted.save(path / name)
    other = planted.classifier()
    with torch.no_grad():
        generator = torch.Generator().manual_seed(1)
        attention = other.bert.encoder.layer[1].attention.self
        for linear in (attention.query, attention.key):
            linear.weight[:4] = torch.randn(4, 8, generator=generator) * 3
    other.save_pretrained(path / "other")
    planted.classifier(layers=3).save_pretrained(path / "deeper")
    planted.texts(6).to_csv(path / "texts.csv", index=False)
    return path


def words(place: Path, other: str, *more: str) -> list[str]:
    return ["compare", str(place / "model"), str(place / other), "--data", str(place / "texts.csv"), *more]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A study of both bundled models on four pairs, and what was printed."""
    study = tmp_path_factory.mktemp("bundled") / "study"
    shown = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(shown):
        patch.setenv("COLUMNS", "300")
        command = ["compare", "bundled:pretrained", "bundled:qnli", "--data", "bundled:pairs", "--limit", "4"]
        assert main([*command, "--out", str(study)]) == 0
    return study, shown.getvalue()


def test_what_has_changed(bundled: tuple[Path, str]) -> None:
    study, shown = bundled
    lines = shown.splitlines()
    found = hc.open_study(study)["compare"]
    for name, variable in (("position", "previous"), ("sentences", "across"), ("entropy", "entropy")):
        line = next(line for line in lines if line.startswith(f"│ {name}: {variable} "))
        cells = [cell.strip() for cell in line.split("│")[1:-1]]
        values = found[name][variable].values[0]
        ends = [
            (np.unravel_index(values.argmax(), values.shape), values.max()),
            (np.unravel_index(values.argmin(), values.shape), values.min()),
        ]
        assert cells[1:] == [
            str(int((found[name][f"{variable}_low"] > 0).sum())),
            str(int((found[name][f"{variable}_high"] < 0).sum())),
            *[f"L{layer}H{head} {value:+.3f}" for (layer, head), value in ends],
        ]
    cosines = found["cosine"]["maps"].values[0]
    means = cosines.mean(1)
    told = " ".join(shown.split())
    assert f"The maps of L{means.argmin()} differ most: mean cosine {means.min():.3f} [" in told
    assert f"against {np.median(means):.3f} for the median layer." in told
    layer, head = np.unravel_index(cosines.argmin(), cosines.shape)
    assert re.search(rf"The maps of L{layer}H{head} differ most: {cosines.min():.2f}\d* \[", told)
    assert f"against {np.median(cosines):.2f} for the median head." in told
    assert "Up and down: heads whose 95 % interval of the change excludes 0." in lines
    assert lines[-1] == f"Saved in {study}. Next: headcount report {study}, or headcount table {study} --to csv"


def test_the_study_as_a_table(bundled: tuple[Path, str], tmp_path: Path) -> None:
    study, _ = bundled
    assert main(["table", str(study), "--to", "csv", "-o", str(tmp_path / "heads.csv")]) == 0
    table = pd.read_csv(tmp_path / "heads.csv")
    assert len(table) == len(table[["stack", "layer", "head"]].drop_duplicates()) == 144
    assert set(table["result"]) == {"compare"}
    found = hc.open_study(study)["compare"]
    for column, expected in {
        "cosine.maps": found["cosine"]["maps"],
        "cosine.outputs_low": found["cosine"]["outputs_low"],
        "entropy.entropy": found["entropy"]["entropy"],
        "position.attention[-1]": found["position"]["attention"].sel(offset=-1),
        "features.attention[sep]": found["features"]["attention"].sel(feature="sep"),
    }.items():
        for row in table.to_dict("records"):
            value = float(expected.sel(stack=row["stack"], layer=row["layer"], head=row["head"]))
            assert row[column] == pytest.approx(value, rel=1e-6)


def test_a_table_warns_of_nothing(bundled: tuple[Path, str], tmp_path: Path) -> None:
    assert main(["table", str(bundled[0]), "-o", str(tmp_path / "heads.csv")]) == 0


def test_the_changed_head_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(words(place, "other")) == 0
    shown = capsys.readouterr().out
    model, tokenizer = hc.load(place / "model")
    cosine = compare(model, hc.load(place / "other")[0], tokenizer, place / "texts.csv")["cosine"].to_dataset()
    value = float(cosine["maps"].sel(stack="encoder", layer=1, head=0))
    assert value < 0.9
    assert f"The maps of L1H0 differ most: {value:.2f} [" in shown
    assert "against 1.00 for the median head." in shown
    assert "Saved" not in shown
    line = next(line for line in shown.splitlines() if line.startswith("│ entropy: entropy "))
    assert [cell.strip() for cell in line.split("│")[2:4]] == ["0", "1"]


def test_the_same_model_twice(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert main(words(place, "model")) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("│")]
    assert len(lines) > 5
    assert all([cell.strip() for cell in line.split("│")[2:4]] == ["0", "0"] for line in lines)


def test_what_no_text_answers_is_left_out(place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No word stands in both texts."""
    pd.DataFrame({"sentence1": ["so good"], "sentence2": ["it is"]}).to_csv(tmp_path / "pairs.csv", index=False)
    command = words(place, "other")
    command[command.index("--data") + 1] = str(tmp_path / "pairs.csv")
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "entropy: entropy" in shown
    assert "nan" not in shown


def test_options_reach_the_comparison(place: Path, tmp_path: Path) -> None:
    more = ["--limit", "3", "--seed", "1", "--max-length", "8", "--batch-tokens", "9", "--name", "few"]
    assert main(words(place, "other", *more, "--text", "sentence", "--out", str(tmp_path / "study"))) == 0
    found = hc.open_study(tmp_path / "study")["compare/cosine@few"].to_dataset().sortby("example")
    model, tokenizer = hc.load(place / "model")
    other = hc.load(place / "other")[0]
    expected = compare(model, other, tokenizer, place / "texts.csv", limit=3, seed=1, max_length=8)["cosine"]
    xr.testing.assert_allclose(found["values_maps"], expected["values_maps"], atol=1e-6)
    assert len(found["example"]) == 3


@pytest.mark.parametrize(
    ("other", "more", "expected"),
    [
        ("deeper", [], "the models differ in their heads"),
        ("none", [], "expected a folder"),
        ("other", ["--data", "no/such.csv"], "there is no file"),
        ("other", ["--data", "bundled:nonsense"], "expected bundled:pairs"),
        ("other", ["--limit", "0"], "--limit 0"),
        ("other", ["--text", "stars"], "stars"),
        ("other", ["--device", "abacus"], "not here"),
        ("other", ["--only", "entropy"], "--only"),
    ],
)
def test_bad_input(
    place: Path, tmp_path: Path, other: str, more: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    base = words(place, other, "--out", str(tmp_path / "study"))
    if "--data" in more:
        del base[3:5]
    assert main([*base, *more]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert expected in captured.err
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["bundled:pretrained"], "OTHER"),
        (["bundled:pretrained", "bundled:qnli"], "--data"),
        (["bundled:pretrained", "bundled:nonsense", "--data", "bundled:pairs"], "bundled model 'nonsense'"),
    ],
)
def test_what_is_missing(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert expected in error


def test_a_damaged_study(bundled: tuple[Path, str], place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study = place / "damaged"
    (study / "compare" / "cosine").mkdir(parents=True)
    (study / "zarr.json").write_text((bundled[0] / "zarr.json").read_text())
    (study / "compare" / "cosine" / "zarr.json").write_text("{")
    assert main(words(place, "other", "--out", str(study))) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert f"{study}: compare/cosine is damaged (compare/cosine/zarr.json is not readable)" in captured.err
    assert "made with other options" in captured.err
