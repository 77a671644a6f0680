"""Type a text, switch heads off, watch the answer change: a server on this machine for one model."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

from transformers import PreTrainedModel

from headcount.core.read_study import StudyLike
from headcount.errors import HeadcountError, InvalidOption
from headcount.live_server.address import Address, take_address
from headcount.live_server.described import shown_name
from headcount.live_server.example_texts import example_origin, example_texts
from headcount.live_server.live_model import LiveModel
from headcount.live_server.served_study import ServedStudy
from headcount.live_server.worker import Worker
from headcount.models.compiled import takes_compiled
from headcount.trace.session import check_untouched

GRACE = 2
"""Seconds that open requests get when the server is stopped."""


@takes_compiled
def live(
    model: PreTrainedModel,
    tokenizer: Any,
    study: StudyLike | None = None,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
    browser: bool = True,
) -> None:
    """Serve a page for trying heads on and off while typing, until Ctrl-C.

    `study`: a study of this model, whose texts and results the page has. `port`: any that is free by default. `host`:
    an address that other machines can reach needs a `token`. `browser`: open the page. What the page asks for can be
    asked for by programs too: docs/live.md describes the routes.
    """
    with take_address(host, port, token) as address:
        serve(model, tokenizer, address, study, browser)


def serve(
    model: PreTrainedModel,
    tokenizer: Any,
    address: Address,
    study: StudyLike | None = None,
    browser: bool = True,
    say: Callable[[str], None] = print,
) -> None:
    """Serve a model at an address that is taken already."""
    import uvicorn

    from headcount.live_server.app import make_app

    _check_no_loop()
    check_untouched(model, "headcount live shows what the model itself does; leave the context")
    served = None if study is None else ServedStudy(study, model)
    loaded = LiveModel(model, tokenizer, example_texts(model, served), origin=example_origin(served))
    lost: list[BaseException] = []
    server: uvicorn.Server

    def stop(error: BaseException) -> None:
        lost.append(error)
        server.should_exit = True

    worker = Worker(loaded.limits.waiting, stop)

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            for note in served.notes if served else []:
                say(f"note: {note}")
            say(f"{shown_name(model)} is at {address.url} (Ctrl-C stops it)")
            if browser:
                open_browser(address.url)

    app = make_app(loaded, worker, served, address.host, address.token)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=128,
        timeout_graceful_shutdown=GRACE,
    )
    server = Server(config)
    try:
        server.run(sockets=[address.socket])
    finally:
        worker.stop(GRACE)
    if lost:
        reason = str(lost[0]).strip().partition("\n")[0]
        raise HeadcountError(f"the device failed and is of no use to this process ({reason}); start again")


def _check_no_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidOption("an event loop is running here, as in a notebook; run headcount live in a terminal")


def open_browser(url: str) -> None:
    """Open the page where there is a screen; it is never waited for, and its failure is no failure of the server."""
    has_screen = sys.platform in ("win32", "darwin") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    if has_screen and "SSH_CONNECTION" not in os.environ:
        threading.Thread(target=_try_to_open, args=(url,), daemon=True).start()


def _try_to_open(url: str) -> None:
    try:
        webbrowser.open(url)
    except (webbrowser.Error, OSError):
        pass  # the address was printed
