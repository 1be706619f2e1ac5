"""The bundled encoder, from texts to token sets, compared with a plain onnxruntime loop.

The loop uses the same model and number of threads. Its token ids are computed and sorted by length beforehand.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import softset
from benchmarks.case import Case, Measurement, SkipCase, Target
from benchmarks.data import random_sentences, sts_pairs
from benchmarks.measurement import median_seconds, thread_count
from softset.io.assets import bundled_folder

__all__ = ["CASES"]

BATCH_SIZES = (8, 16, 32, 64)
OUTPUT = "hidden_6"


def _texts(count: int) -> list[str]:
    try:
        A, B = sts_pairs()
    except SkipCase:
        return random_sentences(count, seed=0)
    texts = sorted({*A, *B})
    return texts[:: max(len(texts) // count, 1)]


def _batches(texts: list[str], size: int) -> list[dict[str, np.ndarray]]:
    """Return padded batches of texts of similar length."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(bundled_folder("minilm", "Model") / "tokenizer.json"))
    tokenizer.enable_padding()
    ordered = sorted(texts, key=lambda text: len(tokenizer.encode(text).attention_mask))
    batches = []
    for start in range(0, len(ordered), size):
        encodings = tokenizer.encode_batch(ordered[start : start + size])
        ids, mask = ([getattr(encoding, name) for encoding in encodings] for name in ("ids", "attention_mask"))
        batches.append({"input_ids": np.array(ids), "attention_mask": np.array(mask)})
    return batches


def _onnxruntime_tasks(texts: list[str]) -> dict[str, Callable[[], object]]:
    """Return a task for each batch size, with sequential batches on all threads and with parallel batches."""
    import onnxruntime

    def open_session(threads: int) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        return onnxruntime.InferenceSession(bundled_folder("minilm", "Model") / "model.onnx", options)

    def make_task(session: onnxruntime.InferenceSession, size: int, workers: int) -> Callable[[], object]:
        batches = _batches(texts, size)
        pool = ThreadPoolExecutor(workers)
        return lambda: list(pool.map(lambda batch: session.run([OUTPUT], batch), batches))

    wide, narrow = open_session(thread_count()), open_session(1)
    sequential = {f"batches of {size}": make_task(wide, size, 1) for size in BATCH_SIZES}
    parallel = {f"parallel batches of {size}": make_task(narrow, size, thread_count()) for size in BATCH_SIZES}
    return sequential | parallel


def _run(quick: bool) -> Measurement:
    texts = _texts(60 if quick else 600)
    encoder = softset.load_encoder("minilm", threads=thread_count())
    loops = _onnxruntime_tasks(texts)
    seconds = median_seconds({**loops, "softset": lambda: encoder.encode(texts)}, 3 if quick else 9)
    rates = {name: len(texts) / value for name, value in seconds.items()}
    best = max(loops, key=rates.__getitem__)
    return Measurement(
        softset=rates["softset"],
        baseline=rates[best],
        unit="texts/s",
        ratio=rates["softset"] / rates[best],
        notes=(
            f"onnxruntime with {best}, {thread_count()} threads",
            ", ".join(f"{name}: {rates[name]:.0f} texts/s" for name in loops),
        ),
    )


CASES = (
    Case(
        "encoder",
        "600 sentences from texts to token sets, bundled MiniLM",
        "onnxruntime alone with its best batch size, on token ids computed beforehand",
        "softset texts/s / baseline texts/s",
        Target("at least 90 % of the rate", 0.90, "higher"),
        _run,
    ),
)
