"""Can a small encoder-decoder learn German-English from nothing, and what is it like along the way?

From pairs of sentences to a vocabulary, a config, a trained model with checkpoints, and its translations.
"""

import argparse
import json
from pathlib import Path

import pandas as pd
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import MarianConfig, PreTrainedTokenizerFast

from headcount.data.encode import encode
from headcount.data.examples import read_examples
from headcount.data.tasks import find_task
from headcount.models.load import load_model, load_tokenizer
from headcount.training.finetune import finetune
from headcount.training.scores import generate_texts
from headcount.training.trainer import Settings

PAD, END, UNKNOWN = "<pad>", "</s>", "<unk>"


def make_tokenizer(texts: list[str], size: int) -> PreTrainedTokenizerFast:
    """One vocabulary of byte pairs for both languages; every text ends in `</s>`."""
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation()])
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, special_tokens=[PAD, END, UNKNOWN]))
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, eos_token=END, unk_token=UNKNOWN, model_max_length=128
    )


def make_start(data: Path, out: Path, size: int, width: int, layers: int) -> Path:
    """A folder with a tokenizer and a config: what `finetune` with random weights starts from."""
    table = pd.read_parquet(data / "train.parquet")
    tokenizer = make_tokenizer([*table.de, *table.en], size)
    config = MarianConfig(
        vocab_size=len(tokenizer),
        d_model=width,
        encoder_layers=layers,
        decoder_layers=layers,
        encoder_attention_heads=8,
        decoder_attention_heads=8,
        encoder_ffn_dim=4 * width,
        decoder_ffn_dim=4 * width,
        max_position_embeddings=128,
        dropout=0.2,
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=1,
        architectures=["MarianMTModel"],
    )
    tokenizer.save_pretrained(out)
    config.save_pretrained(out)
    return out


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="Multi30k: train, validation, test_*.parquet (de, en)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--vocabulary", type=int, default=8000)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--epochs", type=float, default=20)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--rate", type=float, default=7e-4)
    parser.add_argument("--checkpoints", type=int, default=20)
    parser.add_argument("--spacing", default="even", help="even: one an epoch; log puts most before it has learned")
    parser.add_argument("--precision", default="bfloat16")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args(arguments)
    start = options.out / "start"
    if not (start / "config.json").exists():
        make_start(options.data, start, options.vocabulary, options.width, options.layers)
    task = find_task("translation", text=("de", "en"))
    settings = Settings(
        per_device_train_batch_size=options.batch,
        num_train_epochs=options.epochs,
        learning_rate=options.rate,
        dtype=options.precision,
        checkpoints=options.checkpoints,
        spacing=options.spacing if options.checkpoints else "even",
        save_steps=1000,
        more={"label_smoothing_factor": 0.1},
    )
    table = finetune(
        start,
        [task],
        options.data,
        options.out / "runs",
        init=["random"],
        settings=settings,
        limit=options.limit,
        device=options.device,
    )
    print(table.to_string(), flush=True)
    # Where sacrebleu is missing, the texts can be scored elsewhere.
    run = options.out / "runs" / "translation" / "random" / "seed-0"
    said = {}
    tests = sorted(options.data.glob("test_*.parquet"))
    for folder in [*sorted((run / "checkpoints").glob("step-*")), run / "model"]:
        model, tokenizer = load_model(folder, head="translation").to(options.device), load_tokenizer(folder)
        for test in tests if folder.name == "model" else tests[:1]:
            table = pd.read_parquet(test)[["de", "en"]][: options.limit]
            examples = read_examples(table, task, None, tokenizer=tokenizer)
            found = generate_texts(model, tokenizer, task.kind, encode(examples, tokenizer, 126, 0))
            said.setdefault(folder.name, {})[test.stem] = found
    (options.out / "translations.json").write_text(json.dumps(said, ensure_ascii=False))


if __name__ == "__main__":
    main()
