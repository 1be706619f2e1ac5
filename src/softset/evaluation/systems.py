"""Scoring of several systems with several metrics: every text is encoded once, whatever the number of metrics."""

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
SEGMENTS_PER_BLOCK = 512  # two systems and a reference are 1,500 texts, about 50 MB of vectors


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
        scorers: One scorer per metric, all with the encoder of the first.
        systems: The n texts of each system.
        references: One or several lists of n references.
        part: The number of each metric to return.
        progress: Receives the number of finished segments and of all segments.
        flags: Counter that receives the flags of the first metric's scores.

    >>> scorer = Scorer("words")
    >>> scores, signatures = score_systems([scorer], {"a": ["red"], "b": ["pen"]}, [["red"]])
    >>> scores["a"]["softset score"].round(3).tolist()
    [1.0]
    """
    columns = [*references, *systems.values()]
    _check(scorers, columns, references)
    named = {f"{scorer.metric} {part}": _with_idf(scorer, references) for scorer in scorers}
    blocks: dict[str, dict[str, list[np.ndarray]]] = {system: {name: [] for name in named} for system in systems}
    signatures: dict[str, str] = {}
    for sets in _encoded_blocks(scorers[0], columns, progress):
        reference_sets, system_sets = sets[: len(references)], sets[len(references) :]
        for (system, texts), (name, scorer) in product(zip(systems, system_sets, strict=True), named.items()):
            scores = scorer.score(texts, reference_sets if len(reference_sets) > 1 else reference_sets[0])
            blocks[system][name].append(getattr(scores, part))
            if flags is not None and scorer.metric == scorers[0].metric:
                flags.update({flag: int(getattr(scores, flag).sum()) for flag in FLAGS})
            signatures[name] = scores.signature
    joined = {
        system: {name: np.concatenate(parts) for name, parts in metrics.items()} for system, metrics in blocks.items()
    }
    return joined, signatures


def _check(scorers: Sequence[Scorer], columns: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> None:
    if not scorers or not references:
        missing = "references" if scorers else "scorers"
        raise InputError(f"no {missing} were given: give at least one scorer and one list of references")
    counts = [len(column) for column in columns]
    if len(set(counts)) > 1 or not counts[0]:
        sizes = ", ".join(map(str, counts))
        raise ShapeError(f"references and systems have {sizes} texts: give the same number for all, at least 1")


def _with_idf(scorer: Scorer, references: Sequence[Sequence[str]]) -> Scorer:
    """Return the scorer with idf weights fitted on all references if its metric needs them."""
    idf = scorer.resolve_idf([text for column in references for text in column])
    return scorer if idf is None else scorer.with_options(rescale=scorer.rescale, idf=idf)


def _encoded_blocks(
    scorer: Scorer, columns: Sequence[Sequence[str]], progress: Progress | None
) -> Iterator[list[TokenSets]]:
    """Yield the token sets of each column, one block of segments at a time; equal texts are encoded once."""
    count = len(columns[0])
    for start in range(0, count, SEGMENTS_PER_BLOCK):
        texts = [text for column in columns for text in column[start : start + SEGMENTS_PER_BLOCK]]
        size = len(texts) // len(columns)
        sets = scorer.encode(texts)
        yield [sets[row : row + size] for row in range(0, len(sets), size)]
        if progress is not None:
            progress(start + size, count)
