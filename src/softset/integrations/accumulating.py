"""Scores of texts that come batch by batch, with the methods of torchmetrics' `BERTScore`; without torch."""

import os
from typing import Any

from softset.integrations.scorer import BERTScorer
from softset.integrations.texts import read_texts
from softset.similarity.idf import Idf
from softset.similarity.metrics import Metric

__all__ = ["BERTScore"]


class BERTScore:
    """Collects pairs of texts and scores them when it is asked to, in the order that they came in.

    Options are those of `BERTScorer`.

    >>> metric = BERTScore(num_layers=4)
    >>> metric.update(["A red book."], ["The book is red."])
    >>> metric.update(["A pen.", "Dogs bark."], ["A pen.", "It rains."])
    >>> metric.compute()["f1"].round(2)
    array([0.8 , 1.  , 0.53])
    """

    def __init__(
        self,
        model_name_or_path: Any = None,
        num_layers: int | None = None,
        all_layers: bool = False,
        *,
        verbose: bool = False,
        idf: bool | Idf = False,
        device: Any = None,
        batch_size: int = 64,
        num_threads: int = 0,
        return_hash: bool = False,
        lang: str | None = "en",
        rescale_with_baseline: bool = False,
        baseline_path: str | os.PathLike[str] | None = None,
        metric: str | Metric = "bertscore",
    ) -> None:
        self.scorer = BERTScorer(
            model_name_or_path,
            num_layers,
            batch_size,
            num_threads,
            all_layers,
            idf,
            device=device,
            lang=lang,
            rescale_with_baseline=rescale_with_baseline,
            baseline_path=baseline_path,
            metric=metric,
        )
        self.verbose, self.return_hash = verbose, return_hash
        self.reset()

    def reset(self) -> None:
        """Forget all pairs.

        >>> metric = BERTScore()
        >>> metric.update("a", "b")
        >>> metric.reset()
        >>> metric.compute()["f1"].shape
        (0,)
        """
        self._preds: list[str] = []
        self._target: list[list[str]] = []

    def update(self, preds: Any, target: Any) -> None:
        """Add pairs: two texts, two lists of texts, or a list of texts and a list of references for each of them.

        >>> BERTScore().update(["a", "b"], ["c"])
        Traceback (most recent call last):
        softset.errors.ShapeError: there are 2 candidates but 1 reference: give one for each candidate, in the same \
order
        """
        candidates, references = _read(preds, target)
        self._preds += candidates
        self._target += references

    def compute(self) -> dict[str, Any]:
        """Return the precision, recall and f1 of all pairs, (n,) each; and the hash if it was asked for.

        >>> metric = BERTScore(return_hash=True)
        >>> metric.update("a red book", ["a red book"])
        >>> sorted(metric.compute())
        ['f1', 'hash', 'precision', 'recall']
        """
        return self._scored(self._preds, self._target)

    def forward(self, preds: Any, target: Any) -> dict[str, Any]:
        """Add pairs and return their own scores; calling the object does the same.

        >>> BERTScore()(["a red book"], ["a red book"])["f1"].round(6)
        array([1.])
        """
        candidates, references = _read(preds, target)
        self.update(candidates, references)
        return self._scored(candidates, references)

    __call__ = forward

    def _scored(self, candidates: list[str], references: list[list[str]]) -> dict[str, Any]:
        numbers = self.scorer.score(candidates, references, verbose=self.verbose)
        found: dict[str, Any] = dict(zip(("precision", "recall", "f1"), numbers, strict=True))
        return {**found, "hash": self.scorer.hash} if self.return_hash else found


def _read(preds: Any, target: Any) -> tuple[list[str], list[list[str]]]:
    """Return texts, and a list of references for each."""
    if isinstance(preds, str):
        preds, target = [preds], [target]
    candidates, references, _ = read_texts(preds, target)
    return candidates, [[one] if isinstance(one, str) else one for one in references]
