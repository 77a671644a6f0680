"""The server of a live model in a thread of this process, and its page in a real browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from headcount.live_server.address import take_address
from headcount.live_server.app import make_app
from headcount.live_server.live_model import LiveModel
from headcount.live_server.served_study import ServedStudy
from headcount.live_server.worker import Worker
from tests.reporting.pages import PATIENCE, WATCH


class PageServer:
    """A model at a port of its own, which can be stopped as abruptly as a kill and started again."""

    def __init__(self, live: LiveModel, study: ServedStudy | None = None, token: str | None = None) -> None:
        self.live, self.study, self.token = live, study, token
        self.port: int | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        self.address = take_address(port=self.port)
        self.port = self.address.port
        self.worker = Worker()
        app = make_app(self.live, self.worker, self.study, token=self.token)
        config = uvicorn.Config(
            app, log_level="critical", lifespan="off", ws="none", loop="asyncio", timeout_graceful_shutdown=0
        )
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.address.socket],), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Nobody is answered any more, open requests included."""
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(60)
        self.address.socket.close()
        self.worker.stop()


@contextmanager
def page_server(live: LiveModel, **options: Any) -> Iterator[PageServer]:
    server = PageServer(live, **options)
    try:
        yield server
    finally:
        server.stop()


class LiveTab:
    """A tab with the live page, and all that it complained of or asked another place for."""

    def __init__(self, context: Any, server: PageServer) -> None:
        self.server, self.problems = server, list[str]()
        self.page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.add_init_script(WATCH)
        self.page.on("request", self.asked)
        self.page.on("dialog", self.said)
        self.page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        self.page.on("console", self.told)

    def asked(self, request: Any) -> None:
        if not request.url.startswith((self.server.url, "data:", "blob:")):
            self.problems.append(f"request: {request.url}")

    def told(self, message: Any) -> None:
        # What the network says of a server that is gone, or of a token that is missing, is no fault of the page.
        if not message.text.startswith("Failed to load resource"):
            self.problems.append(f"{message.type}: {message.text}")

    def said(self, dialog: Any) -> None:
        self.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, link: str = "") -> Any:
        self.page.goto("about:blank")
        self.page.goto(self.server.url + link)
        self.page.locator(".live-heads svg[role=grid], .banner:not([hidden])").first.wait_for()
        if self.page.locator(".live-answer").count():
            settled(self.page)
        return self.page


def settled(page: Any) -> None:
    """Wait until the answer that is shown is of what is typed and switched off."""
    page.locator(".live-answer:not([aria-busy])").wait_for()


def write(page: Any, *texts: str) -> None:
    for number, text in enumerate(texts):
        page.locator("textarea").nth(number).fill(text)
    settled(page)


def cell(page: Any, head: str) -> Any:
    return page.locator(f".live-heads .cell[aria-label^='{head}:']")


def off(page: Any) -> list[str]:
    """The heads that are crossed out in the grid, once what was clicked is drawn."""
    page.evaluate("() => new Promise((done) => setTimeout(done, 0))")
    names = page.locator(".live-heads .cell.gone").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    return [name.split(":")[0] for name in names]


def rows(page: Any) -> dict[str, list[str]]:
    """The table of the answer: by option, what stands in its columns."""
    settled(page)
    found = page.locator("table.answers tbody tr").evaluate_all(
        "(all) => all.map((row) => [...row.cells].map((one) => one.textContent))"
    )
    return {name: [value for value in values if value] for name, *values in found}


def link(page: Any) -> str:
    """The part of the address that restores the state."""
    page.wait_for_timeout(350)
    return str(page.evaluate("location.hash"))


def keep_copies(page: Any) -> None:
    """What the page copies is kept, whatever the browser's clipboard allows."""
    page.add_init_script(
        "window.copied = [];"
        "if (navigator.clipboard)"
        "  navigator.clipboard.writeText = async (text) => { window.copied.push(text); };"
    )


def copied(page: Any, button: str) -> str:
    page.get_by_role("button", name=button).click()
    page.wait_for_function("window.copied.length > 0")
    return str(page.evaluate("window.copied.pop()"))
