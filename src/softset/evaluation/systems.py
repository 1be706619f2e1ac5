"""`compare`: score the texts of several systems with several metrics, and compare them with a baseline."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Literal, Unpack

import numpy as np

from softset.encoders.loading import EncoderOptions
from softset.errors import InputError, ShapeError
from softset.evaluation.compare import Comparison, compare_scores
from softset.io.options import named_options
from softset.io.text import counted
from softset.runtime.progress import Progress, ProgressOption, iter_blocks, report_progress, span
from softset.similarity.functions import open_scorers
from softset.similarity.idf import Idf
from softset.similarity.inputs import ScoringInput, read_input
from softset.similarity.metrics import DEFAULT, Metric
from softset.similarity.rescaling import Rescale
from softset.similarity.run import ENCODING_PERCENT, MultiReference, score_pairs
from softset.similarity.scorer import Scorer

FLAGS = ("empty", "truncated", "unknown", "saturated")
SEGMENTS_PER_BLOCK = 512  # two systems and a reference are 1,500 texts, about 50 MB of vectors

Part = Literal["score", "precision", "recall"]


@named_options
def compare(
    systems: Mapping[str, Any],
    references: Any,
    *,
    model: Any = "minilm",
    metric: str | Metric | Sequence[str | Metric] = DEFAULT,
    score: Part = "score",
    rescale: Rescale = None,
    multi_reference: MultiReference = "best",
    idf: Idf | None = None,
    samples: int = 1000,
    swaps: int = 10_000,
    seed: int = 12345,
    confidence: float = 0.95,
    progress: ProgressOption = None,
    **options: Unpack[EncoderOptions],
) -> Comparison:
    """Compare the texts of systems with those of the first system, the baseline, as `softset compare` does.

    The result has the means with confidence intervals, the differences from the baseline, and two p-values for each
    difference: from the paired bootstrap and from approximate randomisation. Notebooks show it as a table;
    `to_markdown`, `to_latex`, `to_pandas` and `to_json` convert it.

    Args:
        systems: the texts of each system by its name, the baseline first.
        references: as in `score`.
        model: as in `load_encoder`.
        metric: a metric, or a list of metrics.
        score: which number of the metrics is compared: "score", "precision" or "recall".
        rescale: as in `score`.
        multi_reference: as in `score`.
        idf: as in `score`.
        samples: bootstrap draws for intervals and p-values.
        swaps: draws of the approximate randomisation test.
        seed: the random seed.
        confidence: the confidence level of the intervals.
        progress: as in `score`; it counts segments.
        **options: options of `load_encoder`, such as layer=4.

    >>> import softset
    >>> references = ["A red book.", "It rains in May.", "Dogs bark at night."]
    >>> old, new = ["A pen.", "It is May.", "Cats sleep."], ["One red book.", "May is rainy.", "Dogs bark."]
    >>> comparison = softset.compare({"old": old, "new": new}, references, model="words", metric="bertscore")
    >>> round(comparison["new", "bertscore score"].difference, 2)
    0.15
    """
    metrics = [metric] if isinstance(metric, str | Metric) else list(metric)
    scorers = open_scorers(metrics, model, rescale=rescale, multi_reference=multi_reference, idf=idf, **options)
    with report_progress(progress, "segments") as report:
        scores, signatures, _ = score_systems(scorers, systems, references, part=score, progress=report)
    draws = {"samples": samples, "swaps": swaps, "seed": seed}
    return compare_scores(scores, **draws, confidence=confidence, signatures=signatures)


def score_systems(
    scorers: Sequence[Scorer],
    systems: Mapping[str, Any],
    references: Any,
    *,
    part: Part = "score",
    progress: Progress | None = None,
) -> tuple[dict[str, dict[str, np.ndarray]], dict[str, str], Counter[str]]:
    """Return each system's scores (n,) of each metric, as `compare_scores` reads them, and the metrics' signatures.

    Every text is encoded once, for any number of metrics. The third value counts the flags of the first metric.

    Args:
        scorers: One scorer per metric, all with the encoder of the first.
        systems: The n texts of each system.
        references: n references, or n lists of references.
        part: The number of each metric to return.
        progress: Receives the number of finished segments and of all segments.
    """
    if part not in ("score", "precision", "recall"):
        raise InputError(f'score is {part!r}, but "score", "precision" or "recall" was expected')
    inputs = _read_systems(scorers, systems, references)
    fitted = [scorer.with_options(idf=scorer.resolve_idf(inputs[0].references)) for scorer in scorers]
    named = {f"{scorer.metric} {part}": scorer for scorer in fitted}
    blocks: dict[str, dict[str, list[np.ndarray]]] = {system: {name: [] for name in named} for system in systems}
    signatures, flags, n = dict[str, str](), Counter[str](), len(inputs[0])
    for start, stop, step in iter_blocks(n, SEGMENTS_PER_BLOCK, progress):
        encoded = _encode_block(scorers[0], [texts.block(start, stop) for texts in inputs], step)
        jobs = list(product(zip(systems, encoded, strict=True), named.items()))
        for done, ((system, block), (name, scorer)) in enumerate(jobs, 1):
            multiple = inputs[0].has_multiple_references
            plan = scorer.resolve(*block.token_sets, multiple_references=multiple)
            scores = score_pairs(plan, block)
            blocks[system][name].append(getattr(scores, part))
            if name == next(iter(named)):
                flags.update({flag: int(getattr(scores, flag).sum()) for flag in FLAGS})
            signatures[name] = scores.signature
            if step is not None:
                step(ENCODING_PERCENT * len(jobs) + (100 - ENCODING_PERCENT) * done, 100 * len(jobs))
    joined = {
        system: {name: np.concatenate(parts) for name, parts in metrics.items()} for system, metrics in blocks.items()
    }
    return joined, signatures, flags


def _read_systems(scorers: Sequence[Scorer], systems: Any, references: Any) -> list[ScoringInput]:
    """Return the texts of each system with the references."""
    if not isinstance(systems, Mapping):
        kind = type(systems).__name__
        raise InputError(f"systems is of type {kind}, but a dict of names and lists of texts was expected")
    if not scorers or not systems:
        counts = f"{counted(len(scorers), 'metric')} and {counted(len(systems), 'system')}"
        raise InputError(f"there are {counts}: give at least one metric, a baseline and another system")
    if not hasattr(references, "__len__"):
        references = list(references)  # an iterator could be read only once
    inputs = []
    for system, texts in systems.items():
        try:
            inputs.append(read_input(texts, references))
        except InputError as error:
            raise type(error)(f"in the system {system}, {error}") from None
    if not all(isinstance(side, list) for part in inputs for side in (part.candidates, part.references)):
        raise InputError("a comparison needs texts, but vectors were given: score them, then use compare_scores")
    if not len(inputs[0]):
        raise ShapeError("the systems have no texts: give at least one text, and one reference for it")
    return inputs


def _encode_block(scorer: Scorer, blocks: Sequence[ScoringInput], progress: Progress | None) -> list[ScoringInput]:
    """Return the same segments of all systems as token sets; equal texts are encoded once."""
    references = [blocks[0].references[index] for index in blocks[0].right]
    texts = [part.candidates[index] for part in blocks for index in part.left]
    sets = scorer.encode([*references, *texts], progress=span(progress, 0, ENCODING_PERCENT, 100))
    size, right = len(blocks[0]), np.arange(len(references))
    starts = range(len(references), len(sets), size)
    return [
        ScoringInput(sets, sets, np.arange(start, start + size), right, part.owner)
        for part, start in zip(blocks, starts, strict=True)
    ]
