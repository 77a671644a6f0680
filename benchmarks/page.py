"""How long does a page take to make, how large is it, how soon is it seen, how soon does a head open? In Chromium.

    python benchmarks/page.py MODEL [--text FILE] [--tokens 32 512]
    python benchmarks/page.py --shape 24 16 --tokens 512 --texts 1
    python benchmarks/page.py --page report.html

For each length a study with measures, patterns and maps of some texts is made and rendered; the times are
medians of several loads. Beside it: the size of the same maps as plain JSON, which is what other pages embed.
With `--shape` the model is an untrained BERT of so many layers and heads, and the study has maps alone.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import transformers
from playwright.sync_api import sync_playwright

import headcount as hc
from headcount.attention_maps.maps import unpack
from headcount.models.load import load_model, load_tokenizer

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PAINT = """async () => {
  const painted = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  while (painted() === undefined) await new Promise((done) => setTimeout(done, 5));
  return painted();
}"""
OPEN = """async () => {
  const begin = performance.now();
  document.querySelector('#centre [data-head="7"]').dispatchEvent(new MouseEvent("click", { bubbles: true }));
  while (!document.querySelector("#head .map svg")) await new Promise((done) => setTimeout(done, 1));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
  return performance.now() - begin;
}"""


def make_study(
    model: object, tokenizer: object, words: list[str], tokens: int, texts: int, out: Path, only_maps: bool
) -> float:
    """A study with maps, and with measures and patterns; gives the bytes that the maps' weights would take as JSON."""
    plain = 0.0
    chunk = max(4, tokens)
    parts = [" ".join(words[place * chunk : (place + 1) * chunk]) for place in range(max(texts, 8))]
    data = pd.DataFrame({"sentence": parts})
    if not only_maps:
        hc.measure(model, tokenizer, data, max_length=tokens, distance_examples=2, out=out)
        hc.find_patterns(model, tokenizer, data, max_length=tokens, out=out)
    for number in range(texts):
        found = hc.maps(model, tokenizer, parts[number], out=out, name=f"text-{number}", max_length=tokens)
        few = unpack(found.maps_encoder.values[0, 0])
        plain += len(json.dumps(few.round(4).tolist())) * found.maps_encoder[:, :, 0, 0].size
    return plain


def untrained(tokenizer: Any, layers: int, heads: int, tokens: int) -> Any:
    """A BERT whose attention is neither uniform nor the same in all heads: what packs badly."""
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=8 * heads,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=64,
        max_position_embeddings=tokens,
    )
    model = transformers.BertModel(config).eval()
    for name, weights in model.named_parameters():
        if weights.ndim > 1:
            # Embeddings outweigh what the layers add, so that the tokens stay unlike each other in all layers.
            spread = 0.12 if "query" in name or "key" in name else 0.3 if "embeddings" in name else 0.03
            torch.nn.init.normal_(weights, 0, spread)
    return model


def look(page: Path, loads: int) -> tuple[float, float]:
    """Milliseconds to the first paint, and from a click on a head to its map."""
    paints, opens = [], []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for _ in range(loads):
            context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
            tab = context.new_page()
            tab.goto(page.as_uri(), wait_until="load")
            paints.append(tab.evaluate(PAINT))
            tab.wait_for_timeout(1000)  # nobody clicks before the page has come to rest
            opens.append(tab.evaluate(OPEN))
            context.close()
        browser.close()
    return statistics.median(paints), statistics.median(opens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", default=hc.bundled("pretrained"))
    parser.add_argument("--shape", type=int, nargs=2, metavar=("LAYERS", "HEADS"), help="an untrained BERT instead")
    parser.add_argument("--text", type=Path, help="a text file; without it the bundled sentences")
    parser.add_argument("--tokens", type=int, nargs="+", default=[32, 512])
    parser.add_argument("--texts", type=int, nargs="+", default=[4, 1], help="maps for each length")
    parser.add_argument("--loads", type=int, default=5)
    parser.add_argument("--page", type=Path, help="look at this page and make none; at most 2.5 MB, 500 ms, 100 ms")
    options = parser.parse_args()
    if options.page:
        paint, click = look(options.page.resolve(), options.loads)
        size = options.page.stat().st_size / 1e6
        print(f"{size:.2f} MB, first paint {paint:.0f} ms, a head opens in {click:.0f} ms")
        return
    tokenizer = load_tokenizer(options.model)
    if options.shape:
        tokenizer.model_max_length = max(options.tokens)
        model = untrained(tokenizer, *options.shape, max(options.tokens))
    else:
        model = load_model(options.model)
    if options.text:
        words = options.text.read_text(encoding="utf-8").split()
    else:
        from headcount.data.tables import read_table
        from headcount.zoo.bundled import bundled_pairs

        words = " ".join(read_table(bundled_pairs())["sentence"]).split()
    for tokens, texts in zip(options.tokens, options.texts, strict=True):
        with tempfile.TemporaryDirectory() as place:
            study, page = Path(place) / "study", Path(place) / "report.html"
            plain = make_study(model, tokenizer, words, tokens, texts, study, only_maps=bool(options.shape))
            times = []
            for _ in range(3):
                start = time.perf_counter()
                hc.report([study], page)
                times.append(time.perf_counter() - start)
            paint, click = look(page, options.loads)
            print(
                f"{texts} maps of {tokens} tokens: made in {statistics.median(times):.2f} s, "
                f"{page.stat().st_size / 1e6:.2f} MB (the weights alone as JSON: {plain / 1e6:.0f} MB), "
                f"first paint {paint:.0f} ms, a head opens in {click:.0f} ms"
            )


if __name__ == "__main__":
    main()
