"""`headcount live`: type a text, switch heads off, watch the answer change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headcount.cli import options


def live(
    model: str = "bundled:qnli",
    /,
    *,
    study: Annotated[
        Path | None, Parameter(help="A study of this model: its texts and its results are shown too.")
    ] = None,
    host: Annotated[
        str, Parameter(help="Address to listen at; one that other machines can reach needs --token.")
    ] = "127.0.0.1",
    port: Annotated[int | None, Parameter(help="Port to listen at; any that is free by default.")] = None,
    token: Annotated[str | None, Parameter(help="A secret of at least 16 characters that requests must have.")] = None,
    browser: Annotated[bool, Parameter(negative="--no-browser", help="Open the page in a browser.")] = True,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    trust_remote_code: options.Trust = False,
) -> None:
    """Serve a page on this machine: type a text, switch heads off, watch the answer change.

    Example: headcount live bundled:qnli --study study

    Ctrl-C stops it. On a remote machine, run it there with --port 8000 --no-browser, then
    ssh -L 8000:127.0.0.1:8000 MACHINE here, and open http://127.0.0.1:8000/.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from headcount.live_server.address import take_address

    with take_address(host, port, token) as address:  # before the model is loaded
        from headcount.live_server.live import serve
        from headcount.live_server.memory_needed import check_memory

        check_memory(model, device, dtype)
        loaded, words = options.load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
        serve(loaded, words, address, study, browser, lambda line: print(line, flush=True))
