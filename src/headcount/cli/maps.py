"""`headcount maps`: the attention maps of one text, into a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headcount.cli.options import Device, Dtype, Tokenizer, Trust, load_model_and_tokenizer


def maps(
    model: str,
    /,
    *,
    text: Annotated[str, Parameter(help="The text.")],
    pair: Annotated[
        str | None, Parameter(help="The second segment, or the target text of an encoder-decoder, which needs one.")
    ] = None,
    out: Annotated[Path, Parameter(help="The study folder that the maps go to.")],
    name: Annotated[str | None, Parameter(help="A name for the maps; without it, one made of the text.")] = None,
    max_length: Annotated[int | None, Parameter(help="Cut the text to so many tokens.")] = None,
    tokenizer: Tokenizer = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    trust_remote_code: Trust = False,
) -> None:
    """Keep what every head looks at in one text: its attention maps, a byte for each weight.

    Example: headcount maps bundled:qnli --text "Who wrote it?" --pair "Anna Lund wrote it." --out study

    The study gets the group maps/NAME with maps_STACK [layer, head, query, key]; headcount.attention_maps.maps.unpack
    turns the bytes into weights. The same command again does nothing.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from headcount.attention_maps.maps import store_maps
    from headcount.attention_maps.plan import plan_maps
    from headcount.story.maps import maps_sentences

    loaded, words = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
    plan = plan_maps(loaded, words, text, pair, max_length)
    stored = store_maps(loaded, plan, out, name)
    for line in maps_sentences(stored.maps, stored.group, stored.size, stored.new, out):
        print(line)
