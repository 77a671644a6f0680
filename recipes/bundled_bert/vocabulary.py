"""Which word pieces does the model know? Text in, a tokenizer folder out."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertTokenizerFast

from recipes.bundled_bert.text import read_documents

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def train_tokenizer(sentences: Iterator[str], size: int, alphabet: int = 300) -> BertTokenizerFast:
    """An uncased WordPiece tokenizer of at most `size` pieces that knows the `alphabet` most frequent characters."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=SPECIAL, limit_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(sentences, trainer)
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", SPECIAL.index("[SEP]")), ("[CLS]", SPECIAL.index("[CLS]"))
    )
    return BertTokenizerFast(tokenizer_object=tokenizer, do_lower_case=True)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", nargs="+", type=Path, help=".parquet files with a column `text`, or plain text files")
    parser.add_argument("--out", type=Path, required=True, help="the tokenizer folder to write")
    parser.add_argument("--vocabulary", type=int, default=12_000, help="pieces, special ones included")
    parser.add_argument("--every", type=int, default=1, help="read every n-th document only")
    options = parser.parse_args(arguments)
    documents = (document for n, document in enumerate(read_documents(options.text)) if n % options.every == 0)
    tokenizer = train_tokenizer((sentence for document in documents for sentence in document), options.vocabulary)
    tokenizer.save_pretrained(options.out)
    print(f"{len(tokenizer)} pieces in {options.out}")


if __name__ == "__main__":
    main()
