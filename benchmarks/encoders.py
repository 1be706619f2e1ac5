"""The bundled encoder beside a bare onnxruntime loop: python benchmarks/encoders.py [--data DIR] [--budgets]

The bare loop gets the same file, threads and texts, tokenised and sorted by length beforehand, at its best batch size.
Ours is timed from texts to token sets, tokenising and all. Texts are the distinct sentences of STS-B test if --data
names a folder of evaluation data, and word salad of the same lengths otherwise.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import softset
from softset.embed.encoders.batching import BUDGET, padded
from softset.embed.encoders.contextual import ContextualEncoder, Options
from softset.embed.encoders.onnx import OnnxNetwork, open_onnx
from softset.embed.encoders.threads import thread_count
from softset.embed.encoders.tokeniser import SubWords
from softset.embed.models import model_folder

SIZES = (8, 16, 32, 64)
BUDGETS = (256, 512, 1024, 2048, 4096)


def texts_of(data: str | None) -> list[str]:
    if data is not None:
        lines = (Path(data) / "sts" / "raw" / "STSB-test.tsv").read_text(encoding="utf-8").split("\n")[1:]
        return sorted({text for line in lines if line for text in line.split("\t")[1:3]})
    random, words = np.random.default_rng(0), softset.load_words().words[:5000]
    return [" ".join(random.choice(words, length)) for length in random.integers(5, 25, 2500)]


def bare(texts: list[str], tokeniser: SubWords, network: OnnxNetwork) -> dict[int, Callable[[], object]]:
    before, after = ([number for number, _ in marks] for marks in (tokeniser.prefix, tokeniser.suffix))
    rows = sorted((np.array([*before, *one.ids, *after]) for one in tokeniser(texts)), key=len)
    session = network._session  # noqa: SLF001 (the very session, called without anything of ours)

    def loop(batches: list[dict[str, np.ndarray]]) -> None:
        for batch in batches:
            session.run(["hidden_6"], batch)

    def made(size: int) -> Callable[[], object]:
        pairs = [padded(rows[a : a + size], tokeniser.pad) for a in range(0, len(rows), size)]
        batches = [{"input_ids": ids, "attention_mask": mask} for ids, mask in pairs]
        return lambda: loop(batches)

    return {size: made(size) for size in SIZES}


def interleaved(tasks: dict[object, Callable[[], object]], repeats: int) -> dict[object, list[float]]:
    """Time tasks in turns, so that a busy moment of the machine meets all of them; the first turn warms up."""
    times: dict[object, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats + 1):
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            times[name].append(time.perf_counter() - start)
    return {name: some[1:] for name, some in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--texts", type=int, default=600, help="how many, evenly from all")
    parser.add_argument("--budgets", action="store_true", help="try several token budgets")
    given = parser.parse_args()
    texts, threads = texts_of(given.data), thread_count(None)
    texts = texts[:: max(len(texts) // given.texts, 1)]
    budgets = BUDGETS if given.budgets else (BUDGET,)
    parts = open_onnx(model_folder("minilm"), "minilm", threads=threads)  # one session: two would fight for the cores
    encoders = {f"budget {one}": ContextualEncoder(*parts, Options(budget=one)) for one in budgets}
    half = open_onnx(model_folder("minilm"), "minilm", layer=3, threads=threads)
    encoders["layer 3 of 6"] = ContextualEncoder(*half, Options())
    tasks: dict[object, Callable[[], object]] = dict(bare(texts, *parts))
    tasks |= {name: lambda encoder=encoder: encoder.encode(texts) for name, encoder in encoders.items()}
    print(f"{len(texts)} texts, {threads} threads, medians of {given.repeats}")
    seconds = interleaved(tasks, given.repeats)
    best = min(SIZES, key=lambda size: statistics.median(seconds[size]))
    for name, spent in seconds.items():
        what = f"onnxruntime alone, batches of {name}" if isinstance(name, int) else f"softset, {name}"
        share = statistics.median(b / s for b, s in zip(seconds[best], spent, strict=True))
        speed = len(texts) / statistics.median(spent)
        print(f"{what:36} {speed:7.0f} texts/s  {share:6.1%} of the best bare loop, turn by turn")


if __name__ == "__main__":
    main()
