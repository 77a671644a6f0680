"""The routes: JSON in, JSON or server-sent events out; the model itself is used by one worker."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Callable, Iterator
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headcount.errors import short
from headcount.live_server.answer import answer
from headcount.live_server.asked import Asked, read_asked, read_json
from headcount.live_server.continuation import continue_text
from headcount.live_server.described import describe_model
from headcount.live_server.guard import Guard
from headcount.live_server.limits import TooMuch
from headcount.live_server.live_model import LiveModel
from headcount.live_server.problems import describe_problem
from headcount.live_server.rates import Rates
from headcount.live_server.served_study import ServedStudy
from headcount.live_server.text_sweep import sweep_text
from headcount.live_server.worker import Event, Job, Worker

Task = Callable[[LiveModel, Asked], Iterator[Event | None]]


class Waiting:
    """The outcome of a job, awaited by the request that asked for it; a client that leaves cancels the job."""

    def __init__(self, worker: Worker, live: LiveModel, task: Task, asked: Asked, quick: bool, request: Request):
        loop, self.queue = asyncio.get_running_loop(), asyncio.Queue[Any]()

        def deliver(event: Event | BaseException | None) -> None:
            try:
                loop.call_soon_threadsafe(self.queue.put_nowait, event)
            except RuntimeError:  # the server has stopped
                job.cancel()

        job: Job = worker.submit(lambda: task(live, asked), deliver, asked.client, quick)
        self.job = job
        self.gone = asyncio.create_task(_disconnected(request))

    async def events(self) -> AsyncIterator[Event]:
        """The events; the exception that ended the job, if one did. It ends early where the client has left."""
        try:
            while True:
                coming = asyncio.create_task(self.queue.get())
                await asyncio.wait({coming, self.gone}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    return
                event = coming.result()
                if event is None:
                    return
                if isinstance(event, BaseException):
                    raise event
                yield event
        finally:
            self.job.cancel()
            self.gone.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


class EventStream(Response):
    """Server-sent events, one for each event of a job, the last one called `done` or `error`."""

    media_type = "text/event-stream"

    def __init__(self, first: Event | None, events: AsyncIterator[Event]) -> None:
        super().__init__()
        del self.headers["content-length"]
        self.first, self.events = first, events

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})

        async def write(name: str, event: Event) -> None:
            body = f"event: {name}\ndata: {to_json(event)}\n\n".encode()
            await send({"type": "http.response.body", "body": body, "more_body": True})

        try:
            if self.first is not None:
                await write("step", self.first)
                async for event in self.events:
                    await write("step", event)
            await write("done", {})
        except Exception as error:  # noqa: BLE001 - the client is told, whatever it is
            await write("error", describe_problem(error)[1])
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def page_files() -> dict[str, tuple[str, str]]:
    """By path, the files of the page and their media types: the script and the style sheets are those of the report."""
    ours, theirs = files("headcount.live_server"), files("headcount.reporting") / "page"
    return {
        "/": ((ours / "page.html").read_text(encoding="utf-8"), "text/html"),
        "/live.js": ((theirs / "built" / "live.js").read_text(encoding="utf-8"), "text/javascript"),
        "/page.css": ((theirs / "page.css").read_text(encoding="utf-8"), "text/css"),
        "/live.css": ((theirs / "live.css").read_text(encoding="utf-8"), "text/css"),
    }


def to_json(value: Any) -> str:
    """JSON as the standard has it: numbers that are not finite are null."""
    return json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _reply(value: Any, status: int = 200) -> Response:
    return Response(to_json(value).encode("utf-8", "replace"), status, media_type="application/json")


async def _read_body(request: Request, most: int) -> bytes:
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > most:
            raise TooMuch(f"got more than {most:,} bytes; this server takes at most that many in a request")
    return body


def make_app(
    live: LiveModel,
    worker: Worker,
    study: ServedStudy | None = None,
    host: str = "127.0.0.1",
    token: str | None = None,
) -> Guard:
    """The application of one model."""
    described = describe_model(live, study is not None, None if study is None else study.task_and_data())
    page_data = None if study is None else study.page_data()
    shown = page_files()

    def endpoint(task: Task, quick: bool) -> Callable[[Request], Any]:
        async def answer_request(request: Request) -> Response:
            try:
                asked = read_asked(
                    read_json(await _read_body(request, live.limits.body)), live.anatomy.layout, live.limits
                )
                events = Waiting(worker, live, task, asked, quick, request).events()
                # The first event decides on the status.
                first = await anext(events, None)
            except Exception as error:  # noqa: BLE001 - the client is told, whatever it is
                status, problem = describe_problem(error)
                return _reply(problem, status)
            if not quick:
                return EventStream(first, events)
            await events.aclose()  # type: ignore[attr-defined]
            return _reply(first or {})

        return answer_request

    async def show_page(request: Request) -> Response:
        text, kind = shown[request.url.path]
        return Response(text, media_type=kind)

    async def show_model(request: Request) -> Response:
        return _reply(described)

    async def show_study(request: Request) -> Response:
        if page_data is None:
            return _reply({"error": "the server was started without --study", "code": "no-study"}, 404)
        return _reply(page_data)

    async def refuse(request: Request, error: Any) -> Response:
        known = ", ".join(f"{'/'.join(sorted((route.methods or set()) - {'HEAD'}))} {route.path}" for route in routes)
        why = f"got {request.method} {short(request.url.path)}; expected one of {known}"
        return _reply({"error": why, "code": "route"}, error.status_code)

    routes = [
        *(Route(path, show_page) for path in shown),
        Route("/api/model", show_model),
        Route("/api/study", show_study),
        Route("/api/answer", endpoint(answer, quick=True), methods=["POST"]),
        Route("/api/sweep", endpoint(sweep_text, quick=False), methods=["POST"]),
        Route("/api/continue", endpoint(continue_text, quick=False), methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={404: refuse, 405: refuse})
    return Guard(app, host, token, Rates(live.limits.rate, live.limits.burst))
