"""How fast are encoding and indexing, against SentenceTransformer.encode in the same run?

    python benchmarks/encoder.py FOLDER [--passages 800] [--repeats 3]
    python benchmarks/encoder.py FOLDER --memory
    python benchmarks/encoder.py FOLDER --device cuda [--model NAME_OR_FOLDER]

The passages are those of the first files of FOLDER, as `seewhy index` cuts and encodes them, with their contexts. Each
engine encodes all of them, in turn, several times; the figures are medians, and the ratios, by the clock and of
processor time, are medians of the ratios within one turn. `indexing` reads, cuts, encodes and stores the same files,
from nothing. The share of sgemm counts the multiplications of the model's layers without padding, against NumPy's or
PyTorch's matrix product, whichever is quicker, in a process without the variables that could hold them back.
--device compares the PyTorch engine on another device, by precision, with SentenceTransformer.encode on it.
--memory prints the peak memory of indexing about 1,000 and about 20,000 passages, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from machine import headline

from search import Encoder, Index
from search.corpus import Cutter, Skipped, documents, load, walk
from search.store.settings import PassageSettings

HOLD_BACK = ("OPENBLAS_", "OMP_", "MKL_", "KMP_", "GOTO_", "DNNL_", "ONEDNN_")
"""What variables of the environment begin with by which libraries of matrix products are set."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--passages", type=int, default=800)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--model", default="all-MiniLM-L6-v2", help="with --device")
    parser.add_argument("--sgemm", type=int, default=3072, metavar="N", help="multiply N x N matrices")
    parser.add_argument("--index-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--sgemm-only", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.index_only:
        index_and_report_memory(args.folder)
        return
    if args.sgemm_only:
        print(json.dumps(products(args.sgemm)))
        return
    if args.device != "cpu":
        print(headline("torch", "transformers", "sentence-transformers"))
        with tempfile.TemporaryDirectory() as place:
            on_device(args.folder, Path(place), args.passages, args.repeats, args.device, args.model)
        return
    print(headline("openvino", "torch", "transformers", "sentence-transformers", "numpy"))
    with tempfile.TemporaryDirectory() as place:
        os.environ["SEEWHY_HOME"] = str(Path(place) / "home")
        if args.memory:
            memory(args.folder, Path(place))
        else:
            speed(args.folder, Path(place), args.passages, args.repeats, args.sgemm)


def speed(folder: Path, place: Path, n: int, repeats: int, side: int) -> None:
    from sentence_transformers import SentenceTransformer

    from search.encoding.openvino_engine import computes_in

    fast, torch = Encoder(offline=True), Encoder(offline=True, engine="torch", device="cpu")
    texts, lengths = copy_files(folder, place / "files", n, fast)
    reference = SentenceTransformer(str(fast.files.folder), device="cpu")
    tokens = sum(lengths)
    print(f"{len(texts)} passages, {tokens:,} tokens, {tokens / len(texts):.0f} on average\n")

    def index(precision: str = "fp32") -> None:
        shutil.rmtree(place / "home", ignore_errors=True)
        Index.build(place / "files", offline=True, precision=precision)

    contestants: dict[str, Callable[[], object]] = {
        "SentenceTransformer.encode": lambda: reference.encode(texts),
        f"engine {torch.engine.name}": lambda: torch.encode(texts),
        f"engine {fast.engine.name}": lambda: fast.encode(texts),
        "indexing": index,
    }
    if computes_in("bf16"):
        bf16 = Encoder(offline=True, engine="openvino", precision="bf16")
        bf16.encode(texts[:1])
        contestants["engine openvino, bf16"] = lambda: bf16.encode(texts)
        contestants["indexing, bf16"] = lambda: index("bf16")
    off = np.abs(fast.encode(texts) - reference.encode(texts, normalize_embeddings=True)).max()
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, work in contestants.items():
            seconds[name].append(timed(work))
    rates, flops = sgemm(folder, side), model_flops(lengths, fast)
    quickest = max(rates, key=lambda name: rates[name])
    base = seconds["SentenceTransformer.encode"]
    print(f"{'':28}{'tokens/s':>10}{'ratio':>8}{'of processor':>14}{'of sgemm':>10}   range of tokens/s")
    for name, taken in seconds.items():
        times = [clock for clock, _ in taken]
        median = statistics.median(times)
        print(
            f"{name:28}{tokens / median:>10,.0f}{ratio(base, taken, 0):>8.2f}{ratio(base, taken, 1):>14.2f}"
            f"{flops / median / rates[quickest]:>10.0%}   {tokens / max(times):,.0f} to {tokens / min(times):,.0f}"
        )
    found = ", ".join(f"{name} {rate / 1e9:.0f}" for name, rate in rates.items())
    print(f"\nsgemm, GFLOP/s: {found}; the shares are of {quickest}'s")
    print(f"Largest difference from SentenceTransformer, in float32: {off:.1e}")


def on_device(folder: Path, place: Path, n: int, repeats: int, device: str, model: str) -> None:
    import torch
    from sentence_transformers import SentenceTransformer

    engines = {
        name: Encoder(model, offline=True, engine="torch", device=device, precision=name)
        for name in ("fp32", "bf16", "fp16")
    }
    texts, lengths = copy_files(folder, place / "files", n, engines["fp32"])
    reference = SentenceTransformer(str(engines["fp32"].files.folder), device=device)
    tokens = sum(lengths)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    print(f"{name}: {len(texts):,} passages, {tokens:,} tokens, {tokens / len(texts):.0f} on average\n")
    expected = reference.encode(texts, normalize_embeddings=True)
    contestants: dict[str, Callable[[], object]] = {
        "SentenceTransformer.encode": lambda: reference.encode(texts),
        "the same, batch_size=256": lambda: reference.encode(texts, batch_size=256),
    }
    contestants |= {
        f"engine torch, {kind}": partial(encoder.encode, texts) for kind, encoder in engines.items()
    }
    off = {kind: 1 - (encoder.encode(texts) * expected).sum(1).min() for kind, encoder in engines.items()}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, work in contestants.items():
            seconds[name].append(timed(work))
    base = seconds["SentenceTransformer.encode"]
    print(f"{'':28}{'tokens/s':>12}{'ratio':>8}")
    for name, taken in seconds.items():
        median = statistics.median(clock for clock, _ in taken)
        print(f"{name:28}{tokens / median:>12,.0f}{ratio(base, taken, 0):>8.2f}")
    print(
        "\nLargest 1 - cosine with SentenceTransformer.encode:",
        *(f"{kind} {value:.1e}" for kind, value in off.items()),
    )


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock and of the processor."""
    started, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - started, time.process_time() - used


def ratio(base: list[tuple[float, float]], taken: list[tuple[float, float]], which: int) -> float:
    return statistics.median(one[which] / other[which] for one, other in zip(base, taken, strict=True))


def copy_files(folder: Path, place: Path, n: int, encoder: Encoder) -> tuple[list[str], list[int]]:
    """Copy files until they make n passages; the passages and their tokens."""
    settings = PassageSettings()
    cutter = Cutter(
        encoder.tokenizer, max_tokens=encoder.max_tokens, passage_tokens=settings.passage_tokens
    )
    found: dict[str, int] = {}
    for file in walk(folder):
        if len(found) >= n:
            break
        if isinstance(file, Skipped):
            continue
        target = place / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.absolute, target)
        for document in documents(file, load(file)):
            if not isinstance(document, Skipped):
                found.update((passage.encoded, passage.n_tokens) for passage in cutter.cut(document))
    return list(found), list(found.values())


def sgemm(folder: Path, side: int) -> dict[str, float]:
    """FLOP/s of matrix products in float32, by library."""
    free = {name: value for name, value in os.environ.items() if not name.startswith(HOLD_BACK)}
    command = [sys.executable, __file__, str(folder), "--sgemm-only", "--sgemm", str(side)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=free, encoding="utf-8")
    return dict(json.loads(done.stdout))


def products(side: int) -> dict[str, float]:
    """The best of five, of NumPy and PyTorch."""
    import torch

    a = np.random.default_rng(0).random((side, side), dtype=np.float32)
    b = torch.from_numpy(a)
    works: dict[str, Callable[[], object]] = {"NumPy": lambda: a @ a, "PyTorch": lambda: b @ b}
    return {name: 2 * side**3 / min(timed(work)[0] for _ in range(6)) for name, work in works.items()}


def model_flops(lengths: list[int], encoder: Encoder) -> float:
    config = encoder.files.config
    d, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    return sum(layers * (2 * n * (4 * d * d + 2 * d * inner) + 4 * n * n * d) for n in lengths)


def memory(folder: Path, place: Path) -> None:
    encoder = Encoder(offline=True)
    for n in (1_000, 20_000):
        files = place / f"files-{n}"
        texts, _ = copy_files(folder, files, n, encoder)
        command = [sys.executable, __file__, str(files), "--index-only"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
        print(f"indexing {len(texts):,} passages: peak memory {done.stdout.strip()}", flush=True)


def index_and_report_memory(folder: Path) -> None:
    import resource

    Index.build(folder, offline=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{peak * (1 if sys.platform == 'darwin' else 1024) / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
