"""What does the model read? Text and a tokenizer in, compressed token streams out.

A stream is little-endian uint16: `[CLS]` opens a document, `[SEP]` closes a sentence. It is cut into parts at document
boundaries and each part is compressed on its own, so parts can be moved and unpacked side by side.
"""

import argparse
import lzma
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from recipes.bundled_bert.text import read_documents

LONGEST_SENTENCE = 256  # tokens; a longer "sentence" is a table or a list
# Two-byte symbols: positions and literals are told apart by parity.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 4, "lc": 2, "lp": 1, "pb": 1}]

Stream = np.ndarray[tuple[int], np.dtype[np.uint16]]


def encode_documents(documents: Iterator[list[str]], tokenizer: PreTrainedTokenizerFast) -> Iterator[Stream]:
    """One stream a document; documents of a single sentence are left out, since nothing follows it."""
    for sentences in documents:
        pieces = tokenizer.backend_tokenizer.encode_batch_fast(sentences, add_special_tokens=False)
        kept = [piece.ids for piece in pieces if 0 < len(piece.ids) <= LONGEST_SENTENCE]
        if len(kept) > 1:
            flat = [tokenizer.cls_token_id]
            for ids in kept:
                flat += ids
                flat.append(tokenizer.sep_token_id)
            yield np.array(flat, dtype="<u2")


def write_part(path: Path, documents: list[Stream]) -> int:
    """Compress documents into one part; returns its tokens."""
    stream = np.concatenate(documents)
    path.write_bytes(lzma.compress(stream.tobytes(), format=lzma.FORMAT_XZ, filters=_FILTERS))
    print(f"{path.name}: {len(documents)} documents, {len(stream)} tokens, {path.stat().st_size} bytes", flush=True)
    return len(stream)


def read_parts(folders: list[Path], name: str) -> Stream:
    """The stream of all parts called `name-*.xz` in the folders, in order of name."""
    paths = sorted((path for folder in folders for path in folder.glob(f"{name}-*.xz")), key=lambda path: path.name)
    if not paths:
        raise FileNotFoundError(f"no {name}-*.xz in {', '.join(map(str, folders))}: write them with tokens.py")
    with ThreadPoolExecutor() as pool:
        return np.concatenate(
            list(pool.map(lambda path: np.frombuffer(lzma.decompress(path.read_bytes()), "<u2"), paths))
        )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="+", type=Path, help=".parquet files with a column `text`, or plain text files")
    parser.add_argument("--tokenizer", type=Path, required=True, help="the folder that vocabulary.py wrote")
    parser.add_argument("--out", type=Path, required=True, help="the folder for train-*.xz and held_out-*.xz")
    parser.add_argument("--hold-out", type=int, default=100, help="every n-th document is held out")
    parser.add_argument("--part", type=int, default=8_000_000, help="tokens in a part")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    tokenizer = AutoTokenizer.from_pretrained(options.tokenizer)
    held_out: list[Stream] = []
    pending: list[Stream] = []
    parts = waiting = 0
    for n, document in enumerate(encode_documents(read_documents(options.text), tokenizer)):
        if n % options.hold_out == options.hold_out - 1:
            held_out.append(document)
            continue
        pending.append(document)
        waiting += len(document)
        if waiting >= options.part:
            write_part(options.out / f"train-{parts:03}.xz", pending)
            pending, waiting, parts = [], 0, parts + 1
    if pending:
        write_part(options.out / f"train-{parts:03}.xz", pending)
    write_part(options.out / "held_out-000.xz", held_out)


if __name__ == "__main__":
    main()
