"""The table of heads."""

from __future__ import annotations

from pathlib import Path

import pytest

import headcount as hc
from headcount.cli.main import main
from tests.contracts.unknown import make
from tests.contracts.zoo import tiny


def test_the_table_says_what_the_model_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny("llama").save_pretrained(tmp_path / "llama")
    tiny("t5").save_pretrained(tmp_path / "t5")
    assert main(["heads", str(tmp_path / "llama")]) == 0
    shown = capsys.readouterr().out
    # 4 heads of size 8 read 2 key/value groups; a head owns its query and output, and half of a key and value.
    assert ["decoder", "L0-L2", "4", "2", "8", str(8 * 32 * 3)] == shown.splitlines()[4].replace("│", " ").split()
    assert "12 heads" in shown
    assert main(["heads", str(tmp_path / "t5")]) == 0
    shown = capsys.readouterr().out
    assert all(stack in shown for stack in ("encoder", "decoder", "cross", "encoder.L0H0"))


def test_feed_forward_units(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny("bart").save_pretrained(tmp_path / "bart")
    hc.save(hc.prune(tiny("bert"), ["L1U", "L2U1-8"]), None, tmp_path / "cut")
    assert main(["heads", str(tmp_path / "bart")]) == 0
    assert "Feed-forward units a layer: encoder 40; decoder 40." in capsys.readouterr().out
    assert main(["heads", str(tmp_path / "cut")]) == 0
    assert "Feed-forward units a layer: L0 40, L1 0, L2 32." in capsys.readouterr().out


def test_pick_shows_a_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny("bert").save_pretrained(tmp_path)
    assert main(["heads", str(tmp_path), "--pick", "L0H1-2, L2"]) == 0
    assert "6 of 12 heads" in capsys.readouterr().out


def test_which_proofs_hold_of_a_type_without_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("starcoder2", "phi3", "bloom"):
        make(name).save_pretrained(tmp_path / name)
    assert main(["heads", str(tmp_path / "starcoder2")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "This model's type has no record of its feed-forward layers" in shown
    assert "type 'starcoder2' have no record. Proved on small passes in float64: interface, projection," in shown
    assert shown.endswith("replay, cut.")
    assert main(["heads", str(tmp_path / "phi3")]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[4].replace("│", " ").split() == ["decoder", "L0-L1", "4", "2", "8", "-"]
    assert "Not proved: cut (no cut of the decoder" in " ".join(shown.split())
    assert main(["heads", str(tmp_path / "bloom")]) == 2
    assert "interface: no attention runs through" in capsys.readouterr().err
