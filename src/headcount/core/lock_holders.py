"""Who holds the lock on a study: what its file says, and what is said to another writer."""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from headcount.core.provenance import current_command

REMEDY = "wait until it has ended, or give another study folder"


def describe_holder() -> dict[str, Any]:
    """This process, as the lock file names it."""
    since = time.strftime("%Y-%m-%d %H:%M")
    return {"host": socket.gethostname(), "process": os.getpid(), "since": since, "command": current_command()}


def refusal(path: str | Path, file: Path, patience: float) -> str:
    """The message that says who holds the lock; its file is written a moment later, for which this waits."""
    deadline = time.monotonic() + patience
    while not (holders := _holders(file)) and time.monotonic() < deadline and file.exists():
        time.sleep(0.02)
    if not holders:
        return f"{path} is being written by another process; {REMEDY}"
    holder = list(holders.values())[-1]
    command = str(holder.get("command") or "")
    shown = f" ({command if len(command) <= 100 else command[:97] + '...'})" if command else ""
    return (
        f"{path} is being written by process {holder['process']} on host {holder['host']} since {holder.get('since')}"
        f"{shown}; {REMEDY}"
    )


def _holders(file: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """By host and process, what the holders of the lock have written into its file."""
    holders: dict[tuple[str, int], dict[str, Any]] = {}
    with suppress(OSError):
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            with suppress(ValueError, TypeError, KeyError):
                holder = json.loads(line)
                key = str(holder["host"]), int(holder["process"])
                if holder.get("left") or not is_alive(*key):
                    holders.pop(key, None)
                else:
                    holders[key] = holder
    return holders


def is_alive(host: str, process: int) -> bool:
    """Whether a process may still be running; on another machine that is unknown, so True."""
    if host == socket.gethostname():
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except OSError:  # it runs as another user
            pass
    return True
