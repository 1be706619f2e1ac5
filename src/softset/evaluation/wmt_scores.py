"""What metrics say of translations, block by block: memory holds the vectors of one block, and numbers of all."""

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from time import perf_counter

import numpy as np
import numpy.typing as npt

from softset.encoders.base import Encoder, Progress
from softset.encoders.texts import distinct_indices
from softset.errors import MissingExtraError
from softset.evaluation.methods import Method
from softset.evaluation.scoring import Scored, score_blocks
from softset.evaluation.wmt_data import LanguagePair
from softset.similarity.idf import Idf
from softset.similarity.pairs import blocks

__all__ = ["CHRF", "chrf_scores", "segment_blocks", "sentence_chrf", "translation_scores"]

CHRF = "sacrebleu chrF"
TEXTS = 1_024  # translations at once: with their references 50 MB of vectors for sentences of 25 tokens

Places = npt.NDArray[np.int64]


def translation_scores(
    encoder: Encoder, methods: Sequence[Method], pair: LanguagePair, progress: Progress | None = None
) -> Scored:
    """Return the scores (m,) of the m translations of a language pair, by every method.

    In a block each text is encoded once, and a translation that several systems share is scored once: it ties with
    itself to the last digit.
    """
    weighted = any(one.metric.needs_idf for one in methods)
    idf = Idf.fit(pair.references, model=encoder) if weighted else None  # of all of them: a block has only its own
    moment = getattr(encoder, "second_moment", None)
    values = {one.name: np.zeros(len(pair.owner)) for one in methods}
    seconds = dict.fromkeys(values, 0.0)
    for here in segment_blocks(pair.owner, TEXTS):
        both = [(pair.translations[at], pair.references[pair.owner[at]]) for at in range(here.start, here.stop)]
        distinct = list(dict.fromkeys(both))
        texts = distinct_indices([text for one in distinct for text in one])
        left, right = np.array([[texts[text] for text in one] for one in distinct]).T
        sets = encoder.encode(list(texts))
        scored = score_blocks(methods, blocks(sets, sets, left, right, idf, moment), len(distinct), moment)
        place = {one: at for at, one in enumerate(distinct)}
        back = [place[one] for one in both]
        for name, found in scored.values.items():
            values[name][here] = found[back]
            seconds[name] += scored.seconds[name]
        if progress is not None:
            progress(here.stop, len(pair.owner))
    return Scored(values, seconds)


def segment_blocks(owner: Places, size: int) -> Iterator[slice]:
    """Yield translations, whose segments rise, in blocks of whole segments: at most `size`, or one segment.

    >>> [(one.start, one.stop) for one in segment_blocks(np.array([0, 0, 1, 2, 2, 2, 2, 3]), 3)]
    [(0, 3), (3, 7), (7, 8)]
    """
    ends = np.append(np.flatnonzero(np.diff(owner)) + 1, len(owner))
    start = 0
    while start < len(owner):
        first, beyond = np.searchsorted(ends, [start, start + size], side="right")
        stop = int(ends[max(first, beyond - 1)])
        yield slice(start, stop)
        start = stop


def sentence_chrf() -> Callable[[str, str], float]:
    """Return sacrebleu's chrF of a translation and its reference."""
    try:
        metric = import_module("sacrebleu.metrics").CHRF()
    except ImportError:
        raise MissingExtraError("chrF needs sacrebleu: pip install sacrebleu") from None
    return lambda translation, reference: float(metric.sentence_score(translation, [reference]).score)


def chrf_scores(pair: LanguagePair, chrf: Callable[[str, str], float]) -> Scored:
    """Return the chrF of the translations: its taus are known, and tell whether the data are read rightly."""
    start = perf_counter()
    scores = [chrf(text, pair.references[at]) for text, at in zip(pair.translations, pair.owner, strict=True)]
    return Scored({CHRF: np.array(scores)}, {CHRF: perf_counter() - start})
