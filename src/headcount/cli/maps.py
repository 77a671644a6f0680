"""`headcount maps`: store the attention maps of one text in a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.options import load_model_and_tokenizer


def maps(
    model: str,
    /,
    *,
    text: Annotated[str, Parameter(help="The text.")],
    pair: Annotated[
        str | None, Parameter(help="The second text of a pair; for an encoder-decoder, the target text (required).")
    ] = None,
    out: Annotated[Path, Parameter(help="Study folder for the maps.")],
    name: Annotated[str | None, Parameter(help="Name of the maps in the study; by default made from the text.")] = None,
    max_length: options.MaxLength = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    trust_remote_code: options.Trust = False,
) -> None:
    """Store the attention maps of all heads on one text, one byte per weight.

    Example: headcount maps bundled:qnli --text "Who wrote it?" --pair "Anna Lund wrote it." --out study

    The maps are stored in the group maps/NAME as maps_STACK [layer, head, query, key];
    headcount.attention_maps.maps.unpack converts the bytes to weights.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:qnli.
    """
    from headcount.attention_maps.maps import store_maps
    from headcount.attention_maps.plan import plan_maps
    from headcount.story.maps import maps_sentences

    loaded, loaded_tokenizer = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer)
    plan = plan_maps(loaded, loaded_tokenizer, text, pair, max_length)
    stored = store_maps(loaded, plan, out, name)
    for line in maps_sentences(stored.maps, stored.group, stored.size, stored.new, out):
        print(line)
