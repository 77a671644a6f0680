"""One file that holds everything, asks for nothing, runs nothing but its own script, and is never half there."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import headcount as hc
from headcount.core.heads import Layout
from headcount.core.manifest import read_node, write_sealed
from headcount.core.results import HEAD_DIMS, by_head, head_coords
from headcount.core.study_root import list_result
from headcount.errors import CannotWrite, HeadcountError, InvalidOption, OutputTaken, StudyProblem
from headcount.reporting.document import describe, make_page, rank_agreement
from headcount.reporting.view import View, find_layout, number, read_view
from tests import planted
from tests.reporting import studies
from tests.reporting.pages import inflate_layer
from tests.study_results import write_result

NAMESPACES = {
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/1999/xlink",
    "http://www.w3.org/XML/1998/namespace",
    "http://www.w3.org/2000/xmlns/",
}
LICENCES = ("http://www.apache.org/licenses/",)
TAGS = [
    "html",
    "head",
    "meta",
    "meta",
    "meta",
    "meta",
    "title",
    "meta",
    "meta",
    "meta",
    "style",
    "body",
    "noscript",
    "div",
    "script",
    "script",
]


class Page(HTMLParser):
    """A page as a browser takes it apart: its tags in order, and what stands in its blocks."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.inside = False
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.blocks: dict[int, str] = {}
        # What is read without a script has tests of its own.
        start, self.plain, rest = re.split(r"<noscript>|</noscript>", text, maxsplit=2)
        self.feed(f"{start}<noscript></noscript>{rest}")
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = True
        self.tags.append(tag)
        self.attributes.append(dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        at = len(self.tags) - 1
        if self.inside:
            self.blocks[at] = self.blocks.get(at, "") + data

    def find(self, tag: str, **attributes: str) -> list[str]:
        return [
            self.blocks.get(at, "")
            for at, name in enumerate(self.tags)
            if name == tag and all(self.attributes[at].get(key) == value for key, value in attributes.items())
        ]

    @property
    def data(self) -> Any:
        (block,) = self.find("script", id="data")
        return json.loads(block, parse_constant=lambda word: pytest.fail(f"{word} in the page"))

    @property
    def maps(self) -> dict[str, str]:
        return {
            str(self.attributes[at]["id"]): self.blocks.get(at, "")
            for at, name in enumerate(self.tags)
            if name == "script" and self.attributes[at].get("type") == "text/plain"
        }

    @property
    def script(self) -> str:
        found = [self.blocks[at] for at, name in enumerate(self.tags) if name == "script" and not self.attributes[at]]
        assert len(found) == 1
        return found[0]

    @property
    def policy(self) -> dict[str, list[str]]:
        (content,) = [one["content"] for one in self.attributes if one.get("http-equiv") == "Content-Security-Policy"]
        parts = [part.split() for part in str(content).split(";")]
        return {words[0]: words[1:] for words in parts if words}


def page_of(*views: View) -> Page:
    return Page(make_page([(view, f"study-{number}") for number, view in enumerate(views)]))


def view_of(results: dict[str, xr.Dataset], name: str = "study") -> View:
    return View(name, results, (), find_layout(results))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("studies")


@pytest.fixture(scope="module")
def small(place: Path) -> Path:
    """Two sweeps, maps and some measures of a planted model."""
    tokenizer, texts = planted.tokenizer(place / "words"), planted.texts(40)
    path = place / "small"
    model = planted.classifier()
    model.config._name_or_path = "models/tuned"
    for by in ("head", "layer"):
        hc.sweep(model, tokenizer, texts, task="sst2", how="zero", by=by, out=path)
    hc.maps(model, tokenizer, "so good", out=path)
    hc.maps(model, tokenizer, "it is so bad", "the good", out=path)
    hc.measure(model, tokenizer, texts[:8], text="sentence", only=("position", "special", "distances"), out=path)
    return path


@pytest.fixture(scope="module")
def view(small: Path) -> View:
    return read_view(small)


@pytest.fixture
def copied(small: Path, tmp_path: Path) -> Path:
    """A study that a test may damage."""
    shutil.copytree(small, tmp_path / "study")
    return tmp_path / "study"


def plain(value: Any) -> Any:
    """As JSON gives it back: keys of objects are strings."""
    return json.loads(json.dumps(value, allow_nan=False))


def test_the_data_of_a_real_study(small: Path, place: Path, view: View) -> None:
    found = Page(hc.report([small], place / "small.html").read_text(encoding="utf-8"))
    expected, blobs = describe(view, str(small))
    told = found.data["studies"][0]
    assert found.data["version"] == hc.__version__
    assert set(told) == set(expected)
    for key in set(expected) - {"maps"}:
        assert told[key] == plain(expected[key]), key
    assert told["model"] == "models/tuned"
    assert told["task"] == "sst2"
    assert told["heads"] == [["encoder", layer, head, f"L{layer}H{head}"] for layer in (0, 1) for head in (0, 1)]
    assert told["stacks"] == [{"stack": "encoder", "layers": [[0, 1]] * 2, "width": 2}]
    assert {row[0] for row in told["provenance"]} == set(view.results)
    for key in ("findings", "colourings", "flips", "layers", "embedding", "offsets", "maps", "gaps"):
        assert told[key], key
    assert list(found.maps.values()) == list(blobs.values())


def test_the_maps_of_a_real_study(small: Path, view: View) -> None:
    """Every layer that is named has a block, every block is named, and holds the bytes that the study holds."""
    found = page_of(view)
    tree = hc.open_study(small)
    named = []
    for one in found.data["studies"][0]["maps"]:
        stored = tree[f"maps/{one['name']}"]["maps_encoder"].values
        (stack,) = one["stacks"]
        for layer, mark in enumerate(stack["layers"]):
            named.append(mark)
            np.testing.assert_array_equal(inflate_layer(found.maps[mark], tuple(stack["shape"][1:])), stored[layer])
    assert sorted(named) == sorted(found.maps)
    assert len(set(named)) == 4


KINDS = [studies.translation_study, studies.pruned_study, studies.empty_study]


@pytest.mark.parametrize("make", KINDS, ids=lambda one: one.__name__)
def test_studies_of_every_kind(make: Callable[[Path], Path], tmp_path: Path) -> None:
    path = make(tmp_path / "study")
    found = Page(hc.report([path], tmp_path / "report.html").read_text(encoding="utf-8"))
    told = found.data["studies"][0]
    view = read_view(path)
    assert len(told["heads"]) == view.layout.count
    for metric in told["colourings"]:
        assert len(metric["values"]) == view.layout.count
    assert found.tags[: len(TAGS)] == TAGS
    assert [[*spelled[:3]] for spelled in told["heads"]] == [
        [head.stack, head.layer, head.head] for head in view.layout
    ]


@pytest.mark.parametrize("what", ["maps", "layer"])
def test_partial_studies(what: str, tmp_path: Path) -> None:
    path = studies.partial_study(tmp_path / "study", what)
    assert Page(hc.report([path], tmp_path / "report.html").read_text(encoding="utf-8")).data["studies"]


def test_the_same_study_gives_the_same_page(small: Path, tmp_path: Path) -> None:
    first = hc.report([small], tmp_path / "a.html").read_bytes()
    assert hc.report([small], tmp_path / "b.html").read_bytes() == first


def sha(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_only_the_page_s_own_script_and_style_may_run(view: View) -> None:
    found = page_of(view)
    assert found.policy["default-src"] == ["'none'"]
    assert found.policy["script-src"] == [sha(found.script)]
    (style,) = found.find("style")
    assert found.policy["style-src"] == [sha(style)]
    assert found.policy["base-uri"] == found.policy["form-action"] == ["'none'"]
    assert set(found.policy["img-src"]) <= {"data:", "blob:"}
    assert not any(
        "unsafe" in word or "http" in word or word == "*" for words in found.policy.values() for word in words
    )
    assert found.tags.index("style") > found.attributes.index(
        next(one for one in found.attributes if "http-equiv" in one)
    )


def test_the_page_asks_for_nothing(view: View) -> None:
    text = make_page([(view, "study")])
    found = Page(text)
    assert set(found.tags) == set(TAGS)
    assert not any({"src", "href", "srcset", "action", "background"} & set(one) for one in found.attributes)
    named = {address for address in re.findall(r"https?://[^\s\"'`)<\\]*", text) if not address.startswith(LICENCES)}
    assert named <= NAMESPACES
    (style,) = found.find("style")
    assert "@import" not in style
    assert all(one.startswith(("data:", "#")) for one in re.findall(r"url\([\"']?([^)\"']*)", style))
    for word in ("XMLHttpRequest", "WebSocket", "sendBeacon", "importScripts", "EventSource", "eval("):
        assert word not in found.script
    assert not re.search(r"\bfetch\(", found.script)
    assert not re.search(r"</script|<!--", found.script, re.IGNORECASE)


def hostile_view(words: list[str], text: str) -> View:
    """A sweep in which one example flips, a measure and maps, all of whose strings are the given ones."""
    layout = Layout.even({"encoder": (1, 3)})
    logits = np.zeros((1, 1, 3, 1, 2))
    logits[..., 0] = 1
    logits[0, 0, 1, 0, 1] = 5
    alike = by_head(dict.fromkeys(layout, 0.1), layout)
    numbers = dict.fromkeys(("score", "delta", "low", "high", "p", "q"), (HEAD_DIMS, alike))
    ends = [
        f"{name}{end}"
        for name in ("baseline", "mean_delta", "above_chance", "honest_gain")
        for end in ("", "_low", "_high")
    ]
    single = dict.fromkeys([*ends, "mean_delta_p", "above", "naive_gain"], ((), 0.5))
    sweep = xr.Dataset(
        numbers
        | single
        | {
            "best": ((), text),
            "logits": ((*HEAD_DIMS, "example", "class"), logits),
            "baseline_logits": (("example", "class"), np.array([[1.0, 0.0]])),
            "label": ("example", [1]),
            "text": ("example", np.array([text], dtype=object)),
            "pair": ("example", np.array([words[0]], dtype=object)),
        },
        coords=head_coords(layout),
        attrs={
            "by": "head",
            "how": text,
            "metric": text,
            "task": text,
            "model": f"m{text}",
            "data": text,
            "labels": [text, words[0]],
            "higher_is_better": True,
            "device": text,
            "versions": {text: text},
        },
    )
    along = ((*HEAD_DIMS, "link"), np.ones((1, 1, 3, 1)))
    links = xr.Dataset(
        dict.fromkeys(("gain", "gain_low", "gain_high", "attention", "control"), along),
        coords=head_coords(layout) | {"link": np.array([text], dtype=object)},
    )
    maps = xr.Dataset(
        {
            "maps_encoder": (
                ("layer", "head", "query", "key"),
                np.zeros((1, 3, len(words), len(words)), dtype=np.uint8),
            ),
            "tokens": ("query", np.array(words, dtype=object)),
        },
        attrs={"text": text, "pair": text, "model": f"m{text}"},
    )
    return view_of({"maps/text": maps, "measures/links": links, "sweep/head-zero": sweep}, name=text)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=3), st.text())
@example(["</script>"], "</ScRiPt ><script>alert(1)</script>")
@example(["<!--", "-->"], "<!--<script>")
@example(["]]>"], "</title></style></noscript><main>")
@example(["\u2028"], "\x00\x1b\r\n\t\u2029\ufeff")
@example(list(studies.HOSTILE), "'\"`&amp;&#60;\\u003c")
@example([""], "\x00")
def test_data_never_leave_their_block(words: list[str], text: str) -> None:
    view = hostile_view(words, text)
    found = Page(make_page([(view, text)]))
    expected, _ = describe(view, text)
    assert found.tags == [*TAGS, "script"]
    told = found.data["studies"][0]
    expected["maps"] = told["maps"]  # there the names of the blocks differ
    assert told == plain(expected)
    assert told["maps"][0]["text"] == text
    assert told["maps"][0]["stacks"][0]["queries"] == words
    assert told["flips"][0]["texts"][0]["text"] == [text[:400] + "…" * (len(text) > 400), words[0]]


def test_a_study_made_of_hostile_strings(tmp_path: Path) -> None:
    path = studies.hostile_study(tmp_path / "<script>alert(0)<")
    found = Page(hc.report([path], tmp_path / "report.html").read_text(encoding="utf-8"))
    assert found.tags == [*TAGS, *["script"] * 4], "two layers of maps and two of typical maps"
    told = found.data["studies"][0]
    assert told["name"] == "<script>alert(0)<"
    assert set(studies.HOSTILE) <= {word for text in told["typical"]["texts"] for word in text.split("|")}
    assert set(studies.HOSTILE) <= set(told["maps"][0]["stacks"][0]["queries"])
    (title,) = found.find("title")
    assert "<img src=x onerror=alert(7)>" in title


def test_a_folder_whose_name_is_no_utf_8(small: Path, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/st\xffdy"
    shutil.copytree(os.fsencode(small), odd)
    page = hc.report([os.fsdecode(odd)], tmp_path / "report.html").read_text(encoding="utf-8")
    plain = Page(hc.report([small], tmp_path / "plain.html").read_text(encoding="utf-8"))
    told, expected = Page(page).data["studies"][0], plain.data["studies"][0]
    assert told["name"].startswith("st")
    assert told["name"].endswith("dy")
    assert told["colourings"] == expected["colourings"]


def shaken(results: dict[str, xr.Dataset], name: str, variable: str, value: float) -> dict[str, xr.Dataset]:
    changed = results[name].copy(deep=True)
    values = changed[variable].values.astype(float)
    values.flat[0] = value
    changed[variable] = (changed[variable].dims, values)
    return results | {name: changed}


@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
@pytest.mark.parametrize(
    ("name", "variable"),
    [
        *[("sweep/head-zero", one) for one in ("delta", "low", "high", "p", "q", "score", "mean_delta", "honest_gain")],
        *[("sweep/layer-zero", one) for one in ("score", "low", "high", "q")],
        ("sweep/head-zero", "logits"),
        ("sweep/head-zero", "baseline"),
        ("sweep/layer-zero", "baseline"),
    ],
)
def test_numbers_that_are_none_never_reach_the_page(view: View, name: str, variable: str, value: float) -> None:
    found = page_of(View("study", shaken(view.results, name, variable, value), (), view.layout))
    assert found.data["studies"][0]["colourings"]


def test_nothing_of_torch_is_loaded(small: Path, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "import headcount.reporting.document, headcount.reporting.figure\n"
        f"headcount.reporting.document.report([{str(small)!r}], {str(tmp_path / 'report.html')!r})\n"
        "heavy = {'matplotlib'} & set(sys.modules)\n"
        f"headcount.figure({str(small)!r}, 'ablation', {str(tmp_path / 'fig.pdf')!r})\n"
        "heavy |= {'torch', 'transformers', 'datasets', 'sklearn', 'matplotlib.pyplot', 'tkinter'} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert (tmp_path / "report.html").stat().st_size > 100_000
    assert (tmp_path / "fig.pdf").stat().st_size > 5000


def listing(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


FULL = (OSError(28, "No space left on device"), CannotWrite)
STOPPED = (KeyboardInterrupt(), KeyboardInterrupt)


@pytest.mark.parametrize("failing", ["os.replace", "os.chmod"])
@pytest.mark.parametrize(("error", "raised"), [FULL, STOPPED], ids=["full", "stopped"])
def test_a_page_that_cannot_be_put_in_place(
    small: Path, tmp_path: Path, failing: str, error: BaseException, raised: type[BaseException]
) -> None:
    page = tmp_path / "report.html"
    page.write_text("the page of yesterday")
    with mock.patch(failing, side_effect=error), pytest.raises(raised):
        hc.report([small], page)
    assert page.read_text() == "the page of yesterday"
    assert listing(tmp_path) == ["report.html"]


LIMITED = """
import resource, signal, sys
from headcount.cli.main import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
sys.exit(main(["report", sys.argv[1], "-o", sys.argv[2]]))
"""


@pytest.fixture(scope="module")
def full(small: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], Path]:
    """A report where no file may be longer than 20 kB, as on a disk that is full, over an earlier page."""
    folder = tmp_path_factory.mktemp("full")
    (folder / "report.html").write_text("the page of yesterday")
    words = [sys.executable, "-c", LIMITED, str(small), str(folder / "report.html")]
    return subprocess.run(words, capture_output=True, text=True, check=False), folder


def test_a_disk_that_is_full(full: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    done, folder = full
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot write" in done.stderr
    assert (folder / "report.html").read_text() == "the page of yesterday"


def test_a_disk_that_is_full_keeps_no_temporary_file(full: tuple[subprocess.CompletedProcess[str], Path]) -> None:
    assert listing(full[1]) == ["report.html"]


KILLED = """
import os, signal, sys
from headcount.reporting import document
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
document.os.replace = die
document.report([sys.argv[1]], sys.argv[2])
"""


def test_killed_before_the_page_is_in_place(small: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("the page of yesterday")
    done = subprocess.run([sys.executable, "-c", KILLED, str(small), str(page)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert page.read_text() == "the page of yesterday"
    assert "report.html" in listing(tmp_path)
    hc.report([small], page)
    assert Page(page.read_text(encoding="utf-8")).data["studies"]


def test_an_earlier_page_is_replaced(small: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text("the page of yesterday")
    page.chmod(0o444)
    assert hc.report([small], page) == page
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert page.stat().st_mode & 0o777 == 0o644
    assert listing(tmp_path) == ["report.html"]


def test_a_link_to_a_page_elsewhere(small: Path, tmp_path: Path) -> None:
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "index.html").write_text("the page of yesterday")
    (tmp_path / "report.html").symlink_to(tmp_path / "www" / "index.html")
    hc.report([small], tmp_path / "report.html")
    assert (tmp_path / "www" / "index.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_no_study_and_places_that_cannot_be(small: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="got no study"):
        hc.report([], tmp_path / "report.html")
    with pytest.raises(OutputTaken, match="is a folder; expected the name of a file"):
        hc.report([small], tmp_path)
    with pytest.raises(CannotWrite, match="there is no folder"):
        hc.report([small], tmp_path / "none" / "report.html")
    (tmp_path / "file").write_text("x")
    with pytest.raises(CannotWrite, match="there is no folder"):
        hc.report([small], tmp_path / "file" / "report.html")
    assert listing(tmp_path) == ["file"]


def test_the_place_is_looked_at_before_the_study(tmp_path: Path) -> None:
    with (
        mock.patch("headcount.reporting.document.read_view", side_effect=AssertionError("too late")),
        pytest.raises(OutputTaken),
    ):
        hc.report(["study"], tmp_path)


def test_the_place_that_is_suggested_does_the_study_no_harm(copied: Path) -> None:
    with pytest.raises(OutputTaken) as caught:
        hc.report([copied], copied)
    suggested = re.search(r"such as (\S+)", str(caught.value))
    assert suggested is not None
    hc.report([copied], suggested[1])
    assert set(hc.open_study(copied)["sweep"].children) == {"head-zero", "layer-zero"}


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize(
    "array", ["delta", "q", "baseline", "baseline_logits", "best", "text", "label", "logits", "done"]
)
def test_a_study_that_lacks_an_array(copied: Path, tmp_path: Path, array: str) -> None:
    """Either a page without it or one clear line, never a traceback, and nothing by halves."""
    remove(copied / "sweep" / "head-zero" / array)
    try:
        hc.report([copied], tmp_path / "report.html")
    except HeadcountError:
        assert listing(tmp_path) == ["study"]


@pytest.mark.parametrize("key", ["model", "metric", "how", "by"])
def test_a_study_that_lacks_an_attribute(copied: Path, tmp_path: Path, key: str) -> None:
    place = copied / "sweep" / "head-zero" / "zarr.json"
    told = json.loads(place.read_text())
    del told["attributes"][key]
    place.write_text(json.dumps(told))
    try:
        hc.report([copied], tmp_path / "report.html")
    except HeadcountError:
        assert listing(tmp_path) == ["study"]


@pytest.mark.parametrize("array", ["logits", "delta"])
def test_a_missing_chunk_is_no_page(copied: Path, tmp_path: Path, array: str) -> None:
    """A head of which nothing is known must not be shown as one that changes nothing."""
    chunk = next(one for one in (copied / "sweep" / "head-zero" / array / "c").rglob("*") if one.is_file())
    chunk.unlink()
    with pytest.raises(StudyProblem, match=f"sweep/head-zero is damaged .*{array}/c/.* is missing"):
        hc.report([copied], tmp_path / "report.html")
    assert listing(tmp_path) == ["study"]


def effects(values: list[float | None], higher: bool = True, heads: int | None = None) -> dict[str, Any]:
    names = [["encoder", 0, head, f"L0H{head}"] for head in range(heads or len(values))]
    return {"heads": names, "colourings": [{"id": "x", "values": values, "effect": True, "higher": higher}]}


def test_agreement_of_studies() -> None:
    """Spearman's correlation over the heads that both know, with its interval."""
    one, other = [0.1, 0.4, None, 0.2, 0.9, 0.5], [0.2, 0.3, 0.1, None, 0.1, 0.4]
    (found,) = rank_agreement([effects(one), effects(other)])
    assert (found["first"], found["second"]) == (0, 1)
    assert found["value"] == number(spearmanr([0.1, 0.4, 0.9, 0.5], [0.2, 0.3, 0.1, 0.4]).statistic)
    assert -1 <= found["low"] <= found["value"] <= found["high"] <= 1


def test_studies_that_cannot_be_compared() -> None:
    assert rank_agreement([effects([0.1, 0.2, 0.3]), effects([0.1, 0.2, 0.3, 0.4])]) == []
    assert rank_agreement([effects([0.1, 0.2]), effects([0.1, 0.2])]) == [], "two heads are no order"
    assert rank_agreement([effects([0.1, 0.2, 0.3]), {"heads": effects([0.1] * 3)["heads"], "colourings": []}]) == []
    assert rank_agreement([]) == []
    plain(rank_agreement([effects([0.0] * 4), effects([0.0] * 4)]))


def test_agreement_of_a_loss_and_an_accuracy() -> None:
    """The heads that are needed are the same: without them the accuracy falls and the loss rises."""
    found = rank_agreement([effects([-0.3, 0.0, -0.1, 0.1]), effects([0.3, 0.0, 0.1, -0.1], higher=False)])
    assert found[0]["value"] == 1


def test_several_studies_in_one_page(small: Path, place: Path, tmp_path: Path) -> None:
    tokenizer = planted.tokenizer(place / "words")
    pruned = hc.prune(planted.classifier(), ["L1H0"])
    for model, name in ((planted.classifier(), "other"), (pruned, "third")):
        hc.sweep(model, tokenizer, planted.texts(40, seed=2), task="sst2", how="zero", out=tmp_path / name)
        hc.maps(model, tokenizer, "so good", out=tmp_path / name)
    paths = [small, tmp_path / "other", tmp_path / "third"]
    found = Page(hc.report(paths, tmp_path / "report.html").read_text(encoding="utf-8"))
    told = found.data["studies"]
    assert [one["name"] for one in told] == ["small", "other", "third"]
    marks = [mark for one in told for maps in one["maps"] for stack in maps["stacks"] for mark in stack["layers"]]
    assert len(set(marks)) == len(marks) == 8
    assert set(marks) == set(found.maps)
    pairs = {(one["first"], one["second"]): one["value"] for one in found.data["agreement"]}
    assert set(pairs) == {(0, 1)}, "the third has other heads"
    delta = [hc.open_study(path)["sweep/head-zero"]["delta"].values.ravel() for path in paths[:2]]
    assert pairs[0, 1] == pytest.approx(spearmanr(*delta).statistic, rel=1e-3)
    assert told[1]["gaps"][0]["command"].endswith("--out other")
    assert str(tmp_path) not in json.dumps(found.data), "a page that is sent to others names no path of a machine"


def test_unfinished_results_are_said(copied: Path) -> None:
    place = copied / "sweep" / "layer-zero"
    node = read_node(place)
    node["attributes"]["complete"] = False
    write_sealed(copied, place, node)
    list_result(copied, "sweep/layer-zero", None)
    told = page_of(read_view(copied)).data["studies"][0]
    assert told["unfinished"] == ["sweep/layer-zero"]
    assert told["layers"] == []
    assert "what the score is without each layer" in {gap["what"] for gap in told["gaps"]}


def test_an_unusual_name_of_a_result(tmp_path: Path) -> None:
    """Names with dots, signs and letters of other alphabets."""
    layout = Layout.even({"encoder": (1, 3)})
    numbers = xr.Dataset({"sep": (HEAD_DIMS, by_head(dict.fromkeys(layout, 0.1), layout))}, coords=head_coords(layout))
    write_result(tmp_path / "s", "measures/special@vor.dem-Füllen_2", {}, numbers)
    told = page_of(read_view(tmp_path / "s")).data["studies"][0]
    assert told["colourings"][0]["title"] == "Attention to [SEP] (vor.dem-Füllen_2)"
