"""Several systems' texts scored with several metrics: every text is encoded once, whatever the metrics.

Only references are read twice, by metrics with idf weights that were not given: once to count, once to score.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Literal

import numpy as np

from softset.encoders.base import Progress
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError, ShapeError
from softset.similarity.scorer import Scorer

__all__ = ["score_systems"]

FLAGS = ("empty", "truncated", "unknown", "saturated")
BLOCK = 512  # segments at once: with two systems and a reference 1,500 texts, some 50 MB of vectors


def score_systems(
    scorers: Sequence[Scorer],
    systems: Mapping[str, Sequence[str]],
    references: Sequence[Sequence[str]],
    *,
    part: Literal["score", "precision", "recall"] = "score",
    progress: Progress | None = None,
    flags: Counter[str] | None = None,
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, str]]:
    """Return each system's scores (n,) of each metric, as `compare` reads them, and the metrics' signatures.

    Args:
        scorers: One a metric, all with the encoder of the first.
        systems: The n texts of each system.
        references: One list of n texts, or several.
        part: Which of the scores.
        progress: Is told how many segments are done, and of how many.
        flags: Counts what the scores are flagged with, by the first metric.

    >>> scorer = Scorer("words")
    >>> scores, signatures = score_systems([scorer], {"a": ["red"], "b": ["pen"]}, [["red"]])
    >>> scores["a"]["softset score"].round(3).tolist()
    [1.0]
    """
    columns = [*references, *systems.values()]
    _check(scorers, columns, references)
    named = {f"{scorer.metric} {part}": _weighted(scorer, references) for scorer in scorers}
    found: dict[str, dict[str, list[np.ndarray]]] = {system: {name: [] for name in named} for system in systems}
    signatures: dict[str, str] = {}
    for sets in _encoded(scorers[0], columns, progress):
        given, others = sets[: len(references)], sets[len(references) :]
        for (system, texts), (name, scorer) in product(zip(systems, others, strict=True), named.items()):
            scores = scorer.score(texts, given if len(given) > 1 else given[0])
            found[system][name].append(getattr(scores, part))
            if flags is not None and scorer.metric == scorers[0].metric:
                flags.update({flag: int(getattr(scores, flag).sum()) for flag in FLAGS})
            signatures[name] = scores.signature
    return {
        system: {name: np.concatenate(some) for name, some in parts.items()} for system, parts in found.items()
    }, signatures


def _check(scorers: Sequence[Scorer], columns: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> None:
    if not scorers or not references:
        missing = "references" if scorers else "scorers"
        raise InputError(f"no {missing} were given: at least one scorer and one list of references were wanted")
    counts = [len(column) for column in columns]
    if len(set(counts)) > 1 or not counts[0]:
        raise ShapeError(
            f"references and systems have {', '.join(map(str, counts))} texts: as many were wanted of all, at least 1"
        )


def _weighted(scorer: Scorer, references: Sequence[Sequence[str]]) -> Scorer:
    """Return the scorer with the idf weights of all references, where it needs some: a block has only its own."""
    idf = scorer.weights_for([text for column in references for text in column])
    return scorer if idf is None else scorer.with_options(rescale=scorer.rescale, idf=idf)


def _encoded(scorer: Scorer, columns: Sequence[Sequence[str]], progress: Progress | None) -> Iterator[list[TokenSets]]:
    """Yield the token sets of each column, a block of segments at a time; texts in common are encoded once."""
    count = len(columns[0])
    for start in range(0, count, BLOCK):
        some = [list(column[start : start + BLOCK]) for column in columns]
        size = len(some[0])
        sets = scorer.encode(
            [text for column in some for text in column],
            progress=None if progress is None else _within(progress, start, size, count),
        )
        yield [sets[at : at + size] for at in range(0, len(sets), size)]


def _within(progress: Progress, start: int, size: int, count: int) -> Progress:
    """Return what is told of the texts of one block, and tells of all segments."""
    return lambda done, total: progress(start + size * done // max(total, 1), count)
