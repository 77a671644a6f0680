"""What does a small BERT learn from text alone? Token streams in, a checkpoint with its language-model head out.

Both of BERT's objectives: masked words and next sentence. The length of the training is a time budget, and the learning
rate follows it down to zero; a run that stops before (`--session`) goes on from its state when it is started again.
"""

import argparse
import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoTokenizer, BertConfig, BertForPreTraining, PreTrainedTokenizerFast

from recipes.bundled_bert.pairs import Batch, Corpus, draw
from recipes.bundled_bert.tokens import read_parts

LONG, SHORT = (
    0.1,
    0.1,
)  # shares of the batches: rows of all positions, rows that end early; the rest are full rows of --length


@dataclass
class Clock:
    """How much of the budget is spent: the larger share of the seconds and of the steps."""

    seconds: float
    steps: float
    spent: float = 0.0
    step: int = 0

    def progress(self) -> float:
        return max(self.spent / self.seconds, self.step / self.steps)

    def rate(self, peak: float, warm_up: float) -> float:
        """The learning rate now: up in a line for the share `warm_up` of the budget, then down in a line to zero."""
        progress = self.progress()
        return peak * min(progress / warm_up, max(0.0, 1 - progress) / (1 - warm_up))


def build_model(options: argparse.Namespace, tokenizer: PreTrainedTokenizerFast) -> BertForPreTraining:
    """An untrained model of the sizes asked for; dropout is set for the fine-tuning to come and off in pre-training."""
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=options.hidden,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        intermediate_size=4 * options.hidden,
        max_position_embeddings=options.positions,
        initializer_range=options.spread,
        pad_token_id=tokenizer.pad_token_id,
    )
    model = (
        BertForPreTraining.from_pretrained(options.weights, dtype=torch.float32)
        if options.weights
        else BertForPreTraining(config)
    )
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    return model


def both_losses(model: BertForPreTraining, batch: Batch) -> tuple[Tensor, Tensor]:
    """Masked-word loss and next-sentence loss; the vocabulary is scored at the masked positions only."""
    hidden, pooled = model.bert(
        input_ids=batch.input_ids,
        token_type_ids=batch.token_type_ids,
        attention_mask=batch.attention_mask,
        return_dict=False,
    )
    width = hidden.shape[-1]
    masked = hidden.gather(1, batch.places[..., None].expand(-1, -1, width)).reshape(-1, width)
    return (
        functional.cross_entropy(model.cls.predictions(masked).float(), batch.labels.reshape(-1)),
        functional.cross_entropy(model.cls.seq_relationship(pooled).float(), batch.random_next),
    )


class Drawer:
    """Draws batches of one corpus; every batch has the same number of tokens, whatever its row length."""

    def __init__(self, corpus: Corpus, batch: int, length: int, positions: int, seed: int) -> None:
        self.corpus, self.batch, self.length, self.positions = corpus, batch, length, positions
        self.generator = torch.Generator(corpus.tokens.device).manual_seed(seed)
        self.kinds = random.Random(seed)
        self.anchors = {size: corpus.anchors(size) for size in {length, positions}}

    def full(self) -> Batch:
        return draw(self.corpus, self.anchors[self.length], self.batch, self.length, self.generator)

    def mixed(self) -> Batch:
        """Mostly full rows, some batches with long rows and some with rows that end early."""
        kind = self.kinds.random()
        if kind < LONG and self.positions != self.length:
            rows = self.batch * self.length // self.positions
            return draw(self.corpus, self.anchors[self.positions], rows, self.positions, self.generator)
        if kind < LONG + SHORT:
            return draw(self.corpus, self.anchors[self.length], self.batch, self.length, self.generator, short=True)
        return self.full()


def read_corpus(folders: list[Path], name: str, tokenizer: PreTrainedTokenizerFast, device: str) -> Corpus:
    """The parts called `name` as one corpus on the device."""
    special = {piece: tokenizer.convert_tokens_to_ids(piece) for piece in tokenizer.all_special_tokens}
    stream = torch.from_numpy(read_parts(folders, name).astype("int32")).to(device)
    return Corpus.from_stream(stream, len(tokenizer), special)


def held_out_losses(
    model: BertForPreTraining, corpus: Corpus, options: argparse.Namespace, batches: int
) -> tuple[float, float]:
    """Masked-word and next-sentence loss on the same held-out full rows each time."""
    drawer = Drawer(corpus, options.batch, options.length, options.length, seed=1)
    words = pairs = 0.0
    for _ in range(batches):
        with torch.no_grad(), autocast(options.device):
            word, pair = both_losses(model, drawer.full())
        words, pairs = words + word.item() / batches, pairs + pair.item() / batches
    return words, pairs


def autocast(device: str) -> torch.autocast:
    """bfloat16 on a GPU, plain float32 elsewhere."""
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=device != "cpu")


def parameter_groups(model: nn.Module, decay: float) -> list[dict[str, object]]:
    """Weight decay for matrices, none for biases and norms."""
    matrices = [weight for weight in model.parameters() if weight.ndim > 1]
    vectors = [weight for weight in model.parameters() if weight.ndim <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


@dataclass
class Run:
    """A training under way: all that its state file holds, and the folder where it is."""

    model: BertForPreTraining
    tokenizer: PreTrainedTokenizerFast
    optimizer: torch.optim.Optimizer
    clock: Clock
    folder: Path

    @classmethod
    def start(cls, options: argparse.Namespace, tokenizer: PreTrainedTokenizerFast) -> "Run":
        """A new run, or the one whose state is in the folder."""
        model = build_model(options, tokenizer).to(options.device)
        groups = parameter_groups(model, options.decay)
        optimizer = torch.optim.AdamW(groups, betas=(0.9, 0.98), eps=1e-6, fused=options.device != "cpu")
        run = cls(model, tokenizer, optimizer, Clock(options.seconds, options.steps), options.out)
        if (run.folder / "state.pt").exists():
            state = torch.load(run.folder / "state.pt", map_location=options.device)
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            run.clock.spent, run.clock.step = state["clock"]
        return run

    def save(self) -> None:
        """The state, to go on from, and `checkpoint/`: float16 weights and the tokenizer, for `from_pretrained`."""
        weights = self.model.state_dict()
        state = {
            "model": weights,
            "optimizer": self.optimizer.state_dict(),
            "clock": (self.clock.spent, self.clock.step),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        torch.save(state, self.folder / "state.new")
        (self.folder / "state.new").replace(self.folder / "state.pt")  # a run that is killed here loses nothing
        copy = BertForPreTraining(self.model.config)
        copy.load_state_dict(weights)
        copy.half().save_pretrained(self.folder / "checkpoint")
        self.tokenizer.save_pretrained(self.folder / "checkpoint")


def train(run: Run, drawer: Drawer, options: argparse.Namespace) -> Iterator[str]:
    """Steps until the budget or the session is spent; yields a line for the log every `--report` steps."""
    model, optimizer, clock = run.model, run.optimizer, run.clock
    began, before, reported = time.monotonic(), clock.spent, clock.spent
    sums = torch.zeros(2, device=options.device)
    while clock.progress() < 1 and clock.spent - before < options.session:
        rate = clock.rate(options.rate, options.warm_up)
        for group in optimizer.param_groups:
            group["lr"] = rate
        with autocast(options.device):
            losses = torch.stack(both_losses(model, drawer.mixed()))
        losses.sum().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        sums += losses.detach()
        clock.step += 1
        if clock.step % options.report == 0:
            word, pair = (sums / options.report).tolist()  # waits for the device, so the clock stays honest
            if not math.isfinite(word):
                raise FloatingPointError(f"the loss is {word} at step {clock.step}: lower --rate, now {options.rate}")
            sums.zero_()
        clock.spent = before + time.monotonic() - began
        if clock.step % options.report == 0:
            speed = options.report * options.batch * options.length / (clock.spent - reported)
            reported = clock.spent
            yield (
                f"step {clock.step}, {clock.spent:.0f} s, rate {rate:.2e}: masked-word loss {word:.4f}, "
                f"next-sentence loss {pair:.4f}, {speed:.0f} tokens/s"
            )


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    tokenizer = AutoTokenizer.from_pretrained(options.tokenizer)
    corpus, held_out = (read_corpus(options.tokens, name, tokenizer, options.device) for name in ("train", "held_out"))
    run = Run.start(options, tokenizer)
    size = sum(weight.numel() for weight in run.model.parameters())
    print(
        f"{size} parameters, {len(corpus.tokens)} tokens, {len(held_out.tokens)} held out, from step {run.clock.step}"
    )
    if options.compile:
        torch._dynamo.config.recompile_limit = 64
        for layer in run.model.bert.encoder.layer:  # one layer's code serves all, so this compiles once per row shape
            layer.compile(dynamic=False)

    def report_held_out(batches: int) -> None:
        words, pairs = held_out_losses(run.model, held_out, options, batches)
        print(
            f"step {run.clock.step}: held-out masked-word loss {words:.4f}, next-sentence loss {pairs:.4f}", flush=True
        )

    drawer = Drawer(corpus, options.batch, options.length, options.positions, seed=options.seed + run.clock.step)
    saved = time.monotonic()
    for line in train(run, drawer, options):
        print(line, flush=True)
        if time.monotonic() - saved > options.save:
            run.save()
            report_held_out(batches=2)
            saved = time.monotonic()
    run.save()
    report_held_out(batches=16)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("tokens", nargs="+", type=Path, help="folders with the parts that tokens.py wrote")
    add("--tokenizer", type=Path, required=True, help="the folder that vocabulary.py wrote")
    add("--out", type=Path, required=True, help="for state.pt, to go on from, and checkpoint/")
    add("--weights", type=Path, help="a checkpoint to begin with, instead of random weights")
    add("--layers", type=int, default=12)
    add("--heads", type=int, default=12)
    add("--hidden", type=int, default=192)
    add("--positions", type=int, default=256, help="the longest row that the model can read")
    add("--spread", type=float, default=0.02, help="standard deviation of the first weights")
    add("--length", type=int, default=128, help="tokens in most rows")
    add("--batch", type=int, default=512, help="rows of --length in a batch")
    add("--rate", type=float, default=1.5e-3, help="the highest learning rate")
    add("--warm-up", type=float, default=0.04, help="share of the budget before the highest learning rate")
    add("--decay", type=float, default=0.05, help="weight decay of the matrices")
    add("--seconds", type=float, default=math.inf, help="the budget; the learning rate is zero at its end")
    add("--steps", type=float, default=math.inf, help="the budget in steps, instead or as well")
    add("--session", type=float, default=math.inf, help="stop after so many seconds and save; start again to go on")
    add("--save", type=float, default=100, help="seconds between checkpoints")
    add("--report", type=int, default=100, help="steps between lines of the log")
    add("--seed", type=int, default=0)
    add("--device", default="cuda")
    add("--compile", action=argparse.BooleanOptionalAction, default=False, help="compile the layers")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
