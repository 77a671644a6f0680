"""Pages of studies in a real browser without a network: opening them, and reading what they show."""

from __future__ import annotations

import base64
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import xarray as xr

import headcount as hc
from tests.reporting import studies

CHROMIUM = shutil.which("chromium")
SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
WATCH = (
    """addEventListener('securitypolicyviolation', (event) => console.error('policy ' + event.violatedDirective));"""
)


OVERFLOW = """() => {
  const panel = document.getElementById('head');
  const inside = !panel || panel.hidden ? 0 : panel.scrollWidth - panel.clientWidth;
  return Math.max(document.documentElement.scrollWidth - innerWidth, inside);
}"""


TEXTS = """(within) => [...document.querySelectorAll(`${within} svg.drawing`)].flatMap((svg) => {
  const box = svg.getBoundingClientRect(), found = [], name = svg.getAttribute('aria-label');
  const texts = [...svg.querySelectorAll('text')].filter((one) => one.textContent).map((one) => ({
    said: one.textContent, box: one.getBoundingClientRect(),
    group: one.closest('.axis') ?? (one.matches('.tick') ? svg : null) }));
  for (const { said, box: own } of texts) {
    const out = Math.max(box.left - own.left, own.right - box.right, box.top - own.top, own.bottom - box.bottom);
    if (out > 2) found.push(`${name}: "${said}" is cut by ${out.toFixed(0)} px`);
  }
  texts.forEach((one, place) => texts.slice(place + 1).forEach((other) => {
    if (!one.group || one.group !== other.group) return;
    const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const up = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    const least = Math.min(one.box.width * one.box.height, other.box.width * other.box.height);
    if (across > 0 && up > 0 && across * up > 0.2 * least) found.push(`${name}: "${one.said}" lies on "${other.said}"`);
  }));
  return found;
})"""


class Shelf:
    """Studies and pages, each made when it is first asked for."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.trees: dict[str, xr.DataTree] = {}

    def study(self, name: str) -> Path:
        path = self.place / ("<img src=x onerror=alert(8)>" if name == "hostile" else name)
        if not path.exists():
            kind, _, what = name.partition("-")
            if kind == "partial":
                studies.partial_study(path, what)
            elif kind == "dynamics":
                studies.dynamics_study(path, self.place / "work")
            else:
                getattr(studies, f"{kind}_study")(path)
        return path

    def page(self, *names: str) -> Path:
        path = self.place / f"{'+'.join(names)}.html"
        return path if path.exists() else hc.report([self.study(name) for name in names], path)

    def tree(self, name: str) -> xr.DataTree:
        if name not in self.trees:
            self.trees[name] = hc.open_study(self.study(name))
        return self.trees[name]

    def result(self, name: str, group: str) -> xr.Dataset:
        return self.tree(name)[group].to_dataset().load()

    def maps(self, name: str) -> list[xr.Dataset]:
        return [one.to_dataset().load() for one in self.tree(name)["maps"].children.values()]

    def own(self, name: str, group: str, variable: str) -> dict[str, float]:
        """The study's own numbers by head."""
        array = self.result(name, group)[variable]
        several = array.sizes["stack"] > 1
        return {
            f"{stack + '.' if several else ''}L{layer}H{head}": float(array[place, layer, head])
            for place, stack in enumerate(map(str, array["stack"].values))
            for layer in range(array.sizes["layer"])
            for head in range(array.sizes["head"])
            if np.isfinite(array[place, layer, head])
        }


Visit = Callable[..., Any]
PATIENCE = 30_000
"""Milliseconds that the browser is waited for."""


class Tab:
    """A page of the browser and all that it asked for, said or complained of."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.problems: list[str] = []
        self.at = "about:blank"
        self.context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900}, **options)
        self.page = self.context.new_page()
        # A busy machine draws late, which is no fault of the page.
        self.page.set_default_timeout(PATIENCE)
        pytest.importorskip("playwright.sync_api").expect.set_options(timeout=PATIENCE)
        self.page.add_init_script(WATCH)
        self.page.on("request", self.asked)
        self.page.on("dialog", self.said)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("console", lambda message: self.problems.append(f"{message.type}: {message.text}"))

    def asked(self, request: Any) -> None:
        if request.url.split("#")[0] != self.at and not request.url.startswith(("data:", "blob:")):
            self.problems.append(f"request: {request.url}")

    def said(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, path: Path, link: str, width: int) -> Any:
        self.at = "about:blank"
        self.page.goto(self.at)
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.mouse.move(1, 1)
        self.at = path.as_uri()
        self.page.goto(self.at + link)
        return self.page


def grid(page: Any, number: int = 0) -> Any:
    return page.locator("#centre svg[role=grid]").nth(number)


def cell(page: Any, head: str, number: int = 0) -> Any:
    return grid(page, number).get_by_role("gridcell", name=re.compile(rf"^{re.escape(head)}:"))


def names_of(page: Any, number: int = 0) -> dict[str, str]:
    """By head, what a screen reader says of its cell after its name."""
    found = grid(page, number).locator(".cell").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    return dict(name.split(": ", 1) for name in found)


def values_of(page: Any, number: int = 0) -> dict[str, float]:
    """By head, the number in the name of its cell."""
    title = grid(page, number).get_attribute("aria-label").removeprefix("Heads coloured by: ")
    return {head: figures_in(said.removeprefix(title))[0] for head, said in names_of(page, number).items()}


def see_wall(page: Any) -> Any:
    """The grid with the maps of all heads, once they are painted."""
    page.locator("#centre svg[data-painted]").first.wait_for()
    return grid(page)


def unfold(page: Any) -> None:
    """Open everything that is folded, so that it can be read."""
    page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true; })")


def panel(page: Any) -> Any:
    return page.locator("#head")


def focused(page: Any) -> str:
    """The head whose cell has the focus."""
    return str(page.evaluate("document.activeElement.getAttribute('aria-label') ?? ''")).split(":")[0]


def figures_in(text: str) -> list[float]:
    """The numbers of a text that people read, with a true minus."""
    return [float(one) for one in re.findall(r"[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text.replace("\u2212", "-"))]


def close_to(value: float) -> Any:
    return pytest.approx(value, abs=6e-4, rel=6e-3)


def choose(page: Any, label: str, option: str) -> None:
    """Choose a number from the menu, or from all numbers where it has no name there."""
    menu = page.locator("#stage").get_by_label(label, exact=True)
    if option in menu.locator("option").all_inner_texts():
        menu.select_option(label=option)
        return
    menu.select_option("all numbers")
    page.get_by_label("Search all numbers").fill(option)
    page.get_by_role("dialog").get_by_role("button", name=option, exact=True).click()


def bright(page: Any) -> list[str]:
    """The heads that the filter keeps, in the grid."""
    names = grid(page).locator(".cell:not(.dimmed)").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    return [name.split(":")[0] for name in names]


def listed(page: Any) -> list[str]:
    return list(page.locator("#list tbody th").all_inner_texts())


def saved(page: Any, button: Any) -> tuple[str, bytes]:
    with page.expect_download() as waiting:
        button.click()
    return waiting.value.suggested_filename, Path(waiting.value.path()).read_bytes()


def assert_drawing(content: bytes) -> ElementTree.Element:
    """A drawing that stands alone: well formed, in plain colours, without a word about another place."""
    text = content.decode("utf-8")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    for part in ("var(", "url(", "@import", "currentcolor"):
        assert part not in text.lower()
    for node in root.iter():
        for name, value in node.attrib.items():
            if name.endswith("href"):
                assert value.startswith("data:image/png;base64,")
            assert "http" not in value
    assert [root.get("width"), root.get("height")] == root.get("viewBox").split()[2:]
    return root


def inflate_layer(text: str, shape: tuple[int, ...]) -> np.ndarray:
    """What the page's script does: the bytes [head, query, key] of a layer's maps."""
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(shape)
