"""From texts to scores: STS-B test, all-MiniLM-L6-v2 in float32."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import softset
from benchmarks.case import Case, Check, Outcome, Target, needs
from benchmarks.data import minilm_folder, sts_pairs
from benchmarks.measuring import alternating, threads

__all__ = ["CASES"]

BATCHES = (16, 32, 64, 128)
OUTSIDE = Target("share of our time outside the encoder", 0.05, "lower")


def _scores(metric: str) -> Callable[[bool], Outcome]:
    def run(quick: bool) -> Outcome:
        A, B = sts_pairs(64 if quick else None)
        peer, batch = _peer(A[:256], B[:256])
        scorer = softset.Scorer("minilm", metric=metric, threads=threads())
        watch = _Watch(scorer.encoder)
        found: dict[str, Any] = {}

        def ours() -> None:
            watch.start()
            found["ours"] = scorer.score(A, B).score
            watch.stop()

        def theirs() -> None:
            found["peer"] = peer.score(A, B, batch_size=batch)[2].numpy()

        ours()
        watch.forget()  # what is made or imported at the first call is no part of what a pair takes
        seconds = alternating({"ours": ours, "peer": theirs}, 3 if quick else 5)
        return Outcome(
            ours=len(A) / seconds["ours"],
            peer=len(A) / seconds["peer"],
            unit="pairs/s",
            ratio=seconds["peer"] / seconds["ours"],
            notes=(
                f"bert_score 0.3.13 in batches of {batch}, its best of {', '.join(map(str, BATCHES))}, fast tokeniser",
                f"{threads()} threads",
                f"share of our threads' time outside the network {watch.outside('network', threads()):.1%}",
                f"correlation of the two F {np.corrcoef(found['ours'], found['peer'])[0, 1]:.3f}",
            ),
            also=(Check(watch.outside("encoder"), OUTSIDE),),
        )

    return run


def _peer(A: list[str], B: list[str]) -> tuple[Any, int]:
    """Return bert_score's object with its model loaded, and the batch size that serves it best."""
    needs("torch", "bert_score")
    folder = minilm_folder()
    import torch
    from bert_score import BERTScorer

    torch.set_num_threads(threads())
    peer = BERTScorer(model_type=str(folder), num_layers=6, device="cpu", use_fast_tokenizer=True)
    tasks = {str(size): lambda size=size: peer.score(A, B, batch_size=size) for size in BATCHES}
    seconds = alternating(tasks, 2)
    return peer, int(min(seconds, key=seconds.__getitem__))


class _Watch:
    """Sums the time spent in an encoder and, by all threads, in its network, of what passes between start and stop."""

    def __init__(self, encoder: Any) -> None:
        self.forget()
        encoder.encode = self._watched(encoder.encode, "encoder")
        network = encoder._network  # noqa: SLF001 (only there can the network's own time be told from the encoder's)
        network._session = _Session(network._session, self._watched)  # noqa: SLF001 (the same)

    def _watched(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def timed(*given: Any, **options: Any) -> Any:
            start = time.perf_counter()
            result = function(*given, **options)
            self.inside[name].append(time.perf_counter() - start)  # a sum could lose what two threads add at once
            return result

        return timed

    def forget(self) -> None:
        self.whole, self.inside = 0.0, {"encoder": [], "network": []}

    def start(self) -> None:
        self.begun = time.perf_counter()

    def stop(self) -> None:
        self.whole += time.perf_counter() - self.begun

    def outside(self, name: str, side_by_side: int = 1) -> float:
        return 1 - sum(self.inside[name]) / (side_by_side * self.whole)


class _Session:
    """An onnxruntime session whose runs are timed."""

    def __init__(self, session: Any, watched: Callable[..., Any]) -> None:
        self.run = watched(session.run, "network")


def _case(name: str, metric: str, what: str) -> Case:
    return Case(
        name,
        f"STS-B test from texts to scores by {what}, the bundled MiniLM computed in float32",
        "bert_score on the original float32 weights",
        "our pairs/s / peer's pairs/s",
        Target("at least 1.8 times its pairs/s", 1.8, "higher"),
        _scores(metric),
    )


CASES = (
    _case("texts-bertscore", "bertscore", "the same metric"),
    _case("texts-softset", "softset", "our default metric"),
)
