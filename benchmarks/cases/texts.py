"""From texts to scores: STS-B test, all-MiniLM-L6-v2 in float32, compared with bert_score."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import softset
from benchmarks.case import Case, Check, Measurement, Target, require_modules
from benchmarks.data import minilm_folder, sts_pairs
from benchmarks.measurement import median_seconds, thread_count

__all__ = ["CASES"]

BATCH_SIZES = (16, 32, 64, 128)
OVERHEAD = Target("share of softset's time outside the encoder", 0.05, "lower")


def _compare_with_bert_score(metric: str) -> Callable[[bool], Measurement]:
    def run(quick: bool) -> Measurement:
        A, B = sts_pairs(64 if quick else None)
        baseline, batch_size = _open_bert_score(A[:256], B[:256])
        scorer = softset.Scorer("minilm", metric=metric, threads=thread_count())
        timer = _EncoderTimer(scorer)
        tasks = {
            "softset": lambda: timer.score(A, B),
            "bert_score": lambda: baseline.score(A, B, batch_size=batch_size)[2].numpy(),
        }
        ours, theirs = (task() for task in tasks.values())  # also the warm-up
        timer.reset()
        seconds = median_seconds(tasks, 3 if quick else 5, warmup=0)
        return Measurement(
            softset=len(A) / seconds["softset"],
            baseline=len(A) / seconds["bert_score"],
            unit="pairs/s",
            ratio=seconds["bert_score"] / seconds["softset"],
            notes=(
                f"bert_score 0.3.13 in batches of {batch_size}, the best of {', '.join(map(str, BATCH_SIZES))}",
                f"{thread_count()} threads",
                f"correlation of the two scores {np.corrcoef(ours, theirs)[0, 1]:.3f}",
            ),
            checks=(Check(timer.share_outside_encoder, OVERHEAD),),
        )

    return run


def _open_bert_score(A: list[str], B: list[str]) -> tuple[Any, int]:
    """Return a BERTScorer with the original weights, and its fastest batch size."""
    require_modules("torch", "bert_score")
    folder = minilm_folder()
    import torch
    from bert_score import BERTScorer

    torch.set_num_threads(thread_count())
    scorer = BERTScorer(model_type=str(folder), num_layers=6, device="cpu", use_fast_tokenizer=True)
    tasks = {str(size): lambda size=size: scorer.score(A, B, batch_size=size) for size in BATCH_SIZES}
    seconds = median_seconds(tasks, 2)
    return scorer, int(min(seconds, key=seconds.__getitem__))


class _EncoderTimer:
    """Measures the time of a scorer and the part of it that is spent in the encoder."""

    def __init__(self, scorer: softset.Scorer) -> None:
        self._scorer, self._encode = scorer, scorer.encoder.encode
        scorer.encoder.encode = self._timed_encode
        self.reset()

    def reset(self) -> None:
        self._total = self._in_encoder = 0.0

    def score(self, A: list[str], B: list[str]) -> np.ndarray:
        start = time.perf_counter()
        scores = self._scorer.score(A, B).score
        self._total += time.perf_counter() - start
        return scores

    def _timed_encode(self, *arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        sets = self._encode(*arguments, **options)
        self._in_encoder += time.perf_counter() - start
        return sets

    @property
    def share_outside_encoder(self) -> float:
        return 1 - self._in_encoder / self._total


def _case(name: str, metric: str, what: str) -> Case:
    return Case(
        name,
        f"STS-B test from texts to scores with {what}, bundled MiniLM computed in float32",
        "bert_score with the original float32 weights",
        "softset pairs/s / baseline pairs/s",
        Target("at least 1.8 times the rate", 1.8, "higher"),
        _compare_with_bert_score(metric),
    )


CASES = (
    _case("texts-bertscore", "bertscore", "the same metric"),
    _case("texts-softset", "softset", "softset's default metric"),
)
