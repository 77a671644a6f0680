"""Embedding models in PyTorch and in ONNX Runtime, with and without int8: time, size and Spearman of each.

    python benchmarks/onnx_runtime.py e5-small small --data STS-B/validation.parquet --prompt "query: "

Every model is exported with `hc.export` and quantised by ONNX Runtime's own `quantize_dynamic` (int8 weights of each
channel, activations as they come). All variants of all models run in turns on the same random tokens; the score is
the Spearman correlation of cosines and labels over all pairs, with means over tokens as vectors.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnxruntime
import pandas as pd
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from scipy.stats import spearmanr
from transformers import PreTrainedModel

import headcount as hc
from headcount.costs.cost import make_inputs
from headcount.costs.turns import in_turns

Run = Callable[[Mapping[str, np.ndarray]], np.ndarray]
TEXTS_OF_A_PASS = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, help="folders; times are compared with those of the first one")
    parser.add_argument("--data", type=Path, required=True, help="pairs: sentence1, sentence2, label")
    parser.add_argument("--prompt", default="", help="text before every text")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--limit", type=int, help="only the first pairs")
    options = parser.parse_args()
    pairs = pd.read_parquet(options.data).head(options.limit)
    with tempfile.TemporaryDirectory() as folder:
        runs, megabytes, vectors = {}, {}, {}
        for number, path in enumerate(options.models):
            model, tokenizer = hc.load(path, head="similarity")
            check_pooling(model, path)
            label = spell(path)
            for name, (run, size) in variants(model.float().eval(), tokenizer, Path(folder, str(number))).items():
                runs[label, name], megabytes[label, name] = run, size / 1e6
                vectors[label, name] = [
                    embed(run, tokenizer, [options.prompt + text for text in pairs[column]])
                    for column in ("sentence1", "sentence2")
                ]
            inputs = {key: one.numpy() for key, one in make_inputs(model, options.batch, options.length).items()}
        times = time_runs(runs, inputs | {"token_type_ids": np.zeros_like(inputs["input_ids"])}, options.repeats)
    print(f"torch {torch.__version__}, onnxruntime {onnxruntime.__version__}, {torch.get_num_threads()} threads")
    print(as_table(times, megabytes, vectors, pairs.label.to_numpy()).to_markdown(index=False))


def spell(path: Path) -> str:
    """A folder as the table names it: a run's model by its run."""
    return path.name if path.name != "model" else str(path)


def check_pooling(model: PreTrainedModel, path: Path) -> None:
    """Only means over tokens are computed here."""
    pooling = hc.find_task("similarity").kind.for_model(model).of_model
    if pooling.mode != "mean":
        raise SystemExit(f"{path} makes vectors by pooling={pooling.mode}; expected a model with means over tokens")


def variants(model: PreTrainedModel, tokenizer: object, folder: Path) -> dict[str, tuple[Run, float]]:
    """PyTorch, ONNX Runtime and ONNX Runtime in int8, with the bytes of their weights or files."""
    hc.export(model, tokenizer, folder, to="onnx")
    whole, small = folder / "model.onnx", folder / "int8.onnx"
    logging.getLogger().setLevel(logging.ERROR)  # it advises a preparation that the exporter has done
    quantize_dynamic(whole, small, weight_type=QuantType.QInt8, per_channel=True)
    size = sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())
    return {
        "PyTorch": (in_torch(model), size),
        "ONNX Runtime": (in_onnx_runtime(whole), whole.stat().st_size),
        "ONNX Runtime, int8": (in_onnx_runtime(small), small.stat().st_size),
    }


def in_torch(model: PreTrainedModel) -> Run:
    def run(inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        with torch.inference_mode():
            return model(**{key: torch.from_numpy(array) for key, array in inputs.items()}).last_hidden_state.numpy()

    return run


def in_onnx_runtime(file: Path) -> Run:
    threads = onnxruntime.SessionOptions()
    threads.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(file), threads, providers=["CPUExecutionProvider"])
    names = [wanted.name for wanted in session.get_inputs()]
    return lambda inputs: session.run(None, {name: inputs[name] for name in names})[0]


def embed(run: Run, tokenizer: object, texts: list[str]) -> np.ndarray:
    """[text, size]: the means over tokens, of length 1."""
    found, order = [], np.argsort([len(text) for text in texts])
    for start in range(0, len(texts), TEXTS_OF_A_PASS):
        rows = [texts[place] for place in order[start : start + TEXTS_OF_A_PASS]]
        inputs = dict(tokenizer(rows, padding=True, truncation=True, return_tensors="np", return_token_type_ids=True))
        states, mask = run(inputs), inputs["attention_mask"][..., None]
        means = (states * mask).sum(1) / mask.sum(1)
        found.append(means / np.linalg.norm(means, axis=1, keepdims=True))
    return np.concatenate(found)[np.argsort(order)]


def time_runs(runs: Mapping[tuple[str, str], Run], inputs: Mapping[str, np.ndarray], repeats: int) -> dict:
    """Seconds of every pass, in turns: what disturbs one variant disturbs all."""
    times: dict[tuple[str, str], list[float]] = {name: [] for name in runs}
    for name, timed in in_turns(list(runs), repeats):
        start = time.perf_counter()
        runs[name](inputs)
        if timed:
            times[name].append(time.perf_counter() - start)
    return times


def as_table(times: Mapping, megabytes: Mapping, vectors: Mapping, labels: np.ndarray) -> pd.DataFrame:
    """A row for each variant of each model; the change of the score is paired with the first row's."""
    rows = []
    cosines = {name: (first * second).sum(1) for name, (first, second) in vectors.items()}
    first = next(iter(times))
    draws = bootstrap_scores(cosines, labels)
    for name, seconds in times.items():
        low, high = np.quantile(draws[name] - draws[first], [0.025, 0.975])
        score = spearmanr(cosines[name], labels).statistic
        change = score - spearmanr(cosines[first], labels).statistic
        low_ms, middle, high_ms = np.quantile(seconds, [0.25, 0.5, 0.75]) * 1e3
        rows.append(
            {
                "model": name[0],
                "run by": name[1],
                "ms": f"{middle:.1f} [{low_ms:.1f}, {high_ms:.1f}]",
                "times as fast": f"{np.median(np.array(times[first]) / np.array(seconds)):.2f}",
                "MB": f"{megabytes[name]:.1f}",
                "Spearman": f"{score:.4f}",
                "change": "" if name == first else f"{change:+.4f} [{low:+.4f}, {high:+.4f}]",
            }
        )
    return pd.DataFrame(rows)


def bootstrap_scores(cosines: Mapping, labels: np.ndarray, draws: int = 2000) -> dict[tuple[str, str], np.ndarray]:
    """The Spearman correlation of every variant on the same resamples of the pairs."""
    generator, found = np.random.default_rng(0), {name: np.empty(draws) for name in cosines}
    for draw in range(draws):
        rows = generator.integers(0, len(labels), len(labels))
        for name, values in cosines.items():
            found[name][draw] = spearmanr(values[rows], labels[rows]).statistic
    return found


if __name__ == "__main__":
    main()
