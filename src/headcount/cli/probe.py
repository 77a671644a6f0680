"""`headcount probe`: how well the attention of every head follows annotations."""

from __future__ import annotations

import json
from typing import Annotated, Literal

from cyclopts import Parameter

from headcount.cli import options
from headcount.cli.engine_options import with_engine
from headcount.cli.options import load_model_and_tokenizer, say_part, say_saved


@with_engine
def probe(
    model: str,
    /,
    *,
    data: Annotated[
        str,
        Parameter(
            help="Dependencies and classifiers: a CoNLL-U file, or a parquet, jsonl, csv or tsv file with tokens, "
            "upos, heads and deprels. Coreference: a CoNLL-2012 file, or a table with the columns of LitBank or GAP. "
            "Frames: a table with text, target and fes, a folder with FrameNet, or nltk:framenet_v17. Tables may "
            "also be hub:NAME (--config and --split name its configuration and split)."
        ),
    ],
    kind: Annotated[
        Literal["dependencies", "coreference", "frames", "classifiers"],
        Parameter(
            help="dependencies, coreference or frames: single heads against annotations; classifiers: trained to find "
            "dependencies from the attention of all heads."
        ),
    ] = "dependencies",
    relations: Annotated[
        str | None,
        Parameter(help="Dependency relations, such as nsubj,obj; all with at least 100 cases by default."),
    ] = None,
    words: Annotated[
        Literal["written", "annotated"] | None,
        Parameter(
            help="Words of a dependency tree: as they are written (the default; French du is one word), or as they are "
            "annotated, with spaces between."
        ),
    ] = None,
    candidates: Annotated[
        Literal["words", "mentions"] | None,
        Parameter(
            help="Coreference: a head chooses an antecedent among all other words (the default), or among earlier "
            "mentions only."
        ),
    ] = None,
    elements: Annotated[
        Literal["core", "any", "strict"] | None,
        Parameter(
            help="Frame elements: core ones (the default), any, or only those of sentences all of whose elements are "
            "core, short and distant."
        ),
    ] = None,
    vectors: Annotated[
        str | None,
        Parameter(
            help="Word vectors of classifiers: a text file, a word and its numbers in each line. The model's input "
            "embeddings by default."
        ),
    ] = None,
    seeds: Annotated[int | None, Parameter(help="Number of seeds per classifier; 3 by default.")] = None,
    from_word: Annotated[
        Literal["mean", "first"],
        Parameter(help="Attention from a word of several tokens: the mean over them, or that of the first."),
    ] = "mean",
    control: Annotated[
        bool, Parameter(negative="--no-control", help="Also probe the same model with random weights.")
    ] = True,
    out: options.Out = None,
    name: options.Name = None,
    limit: Annotated[
        int | None, Parameter(help="Use only this many randomly drawn sentences, or windows of documents.")
    ] = None,
    seed: options.Seed = 0,
    max_length: Annotated[
        int | None,
        Parameter(help="Truncate sentences to this many tokens; cut documents into windows of as many (coreference)."),
    ] = None,
    batch_tokens: options.BatchTokens = None,
    shard: options.Shard = None,
    tokenizer: options.Tokenizer = None,
    device: options.Device = "auto",
    device_map: options.DeviceMap = None,
    dtype: options.Dtype = "auto",
    json_: options.Json = False,
    trust_remote_code: options.Trust = False,
) -> None:
    """Find the heads that follow dependencies, coreference or frames, beside what simple rules and random weights get.

    Example: headcount probe bundled:qnli --data bundled:sentences --limit 100 --out study

    For each relation the best head and the best rule (a fixed offset; the nearest mention or the same head word) are
    selected on one half of the sentences or documents and evaluated on the other. Links of frames are compared with
    unlinked words at the same distance. With --kind classifiers, classifiers are trained to find the dependencies from
    the attention of all heads (Clark et al. 2019, section 5). An interrupted run resumes when the same command is run
    again with --out.

    Parameters
    ----------
    model
        A folder written by save_pretrained, a name on the Hugging Face hub, or bundled:pretrained.
    """
    from rich.console import Console

    from headcount.cli.probe_tables import as_json, lines_of
    from headcount.cli.progress import show_progress
    from headcount.engines.compute import Compute
    from headcount.probing.probe import probe as run

    console = Console(highlight=False)
    loaded, pieces = load_model_and_tokenizer(model, device, dtype, trust_remote_code, tokenizer, device_map)
    alone = kind != "classifiers"
    with show_progress("probe", "texts" if alone else "", limited=alone and limit is None) as progress:
        probed = run(
            loaded,
            pieces,
            data,
            kind=kind,
            relations=relations,
            words=words,
            candidates=candidates,
            elements=elements,
            vectors=vectors,
            seeds=seeds,
            from_word=from_word,
            control=control,
            limit=limit,
            seed=seed,
            max_length=max_length,
            out=out,
            name=name,
            compute=Compute(batch_tokens, shard=shard),
            progress=progress,
        )
    if json_:
        print(json.dumps(as_json(probed)))
        return
    if not probed.attrs["complete"]:
        say_part(console)
        return
    for line in lines_of(kind, probed, out):
        console.print(line)
    if out is not None:
        say_saved(console, out)
