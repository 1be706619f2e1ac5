"""Scoring: texts or vectors in, precision, recall and F out, block by block so that memory stays bounded."""

import inspect
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Literal

import numpy as np

from softset.encoders.base import Encoder, Progress
from softset.encoders.loading import load_encoder
from softset.encoders.signature import format_signature
from softset.encoders.texts import distinct_indices, iter_items
from softset.encoders.tokensets import TokenSets
from softset.errors import AmbientError, InputError
from softset.runtime.threads import in_threads
from softset.similarity.calibration import Calibration
from softset.similarity.chance import Levels, rescaling
from softset.similarity.explain import Explanation
from softset.similarity.idf import Idf, as_facts
from softset.similarity.inputs import Job, Side, read_job, read_side
from softset.similarity.metrics import DEFAULT, PRF, Metric
from softset.similarity.metrics import metric as named
from softset.similarity.pairs import Pairs, block_bounds
from softset.similarity.references import MULTI_REFERENCE, MultiReference, reduced, united
from softset.similarity.scores import Row, ScoreMatrix, Scores

__all__ = ["Rescale", "Scorer"]

BLOCK = 1_024  # pairs that are encoded together: enough to sort by length; 60 MB of vectors for sentences of 20 tokens
GIVEN = 16_384  # pairs of given vectors between two reports of progress: threads wait for each other only there

Rescale = Literal["chance"] | Calibration | None


class Scorer:
    """Keeps a model, a metric and the choices that go with them, and scores whatever comes.

    Args:
        model: as in `load_encoder`; it is loaded when the first text comes, and never for vectors of one's own.
        metric: a metric or its name, such as "subspace(weights=l2)"; "softset" is the default, "subspace" the paper's.
        rescale: "chance" counts scores from the closed-form chance level, a `Calibration` from a measured one.
        multi_reference: how to combine several references: the "best" by F, the "mean", or the "union" of their sets.
        idf: weights of tokens for metrics that use them; fitted on the references unless they are given.
        options: those of `load_encoder`, such as layer=4.

    >>> import softset
    >>> scorer = softset.Scorer("minilm", layer=4, metric="subspace(weights=l2)")
    >>> scorer.score(["A red book."], ["The book is red."])
    Scores(1 pair, precision=0.838, recall=0.795, score=0.816)
    """

    def __init__(
        self,
        model: Any = "minilm",
        *,
        metric: str | Metric = DEFAULT,
        rescale: Rescale = None,
        multi_reference: MultiReference = "best",
        idf: Idf | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(multi_reference, str) or multi_reference not in MULTI_REFERENCE:
            raise InputError(
                f"multi_reference is {multi_reference!r}, but one of {', '.join(MULTI_REFERENCE)} was wanted"
            )
        if idf is not None and not isinstance(idf, Idf):
            raise InputError(f"idf is of type {type(idf).__name__}, but softset.Idf.fit(texts) was wanted")
        unknown = sorted(set(options) - set(inspect.signature(load_encoder).parameters))
        if unknown:
            raise InputError(f"there is no option {unknown[0]!r}: beside its own, a Scorer takes those of load_encoder")
        self.model, self.options = model, options
        self.metric = named(metric)
        self.multi_reference: MultiReference = multi_reference
        self.rescale, self.idf = rescale, idf
        self._rescaling = rescaling(rescale, self.metric)
        self._moments: dict[str, np.ndarray | None] = {}
        self._like: Scorer | None = None  # a scorer with the same model

    def __repr__(self) -> str:
        return f"Scorer({self.model!r}, metric={self.metric})"

    @cached_property
    def encoder(self) -> Encoder:
        """What encodes the texts; loaded when it is first asked for.

        >>> import softset
        >>> softset.Scorer("words").encoder.dimensions
        300
        """
        return load_encoder(self.model, **self.options) if self._like is None else self._like.encoder

    def with_options(
        self,
        *,
        metric: str | Metric | None = None,
        rescale: Rescale | Literal["same"] = "same",
        idf: Idf | None = None,
    ) -> "Scorer":
        """Return a scorer with the same model, loaded once, and another metric, rescaling or weights.

        >>> import softset
        >>> scorer = softset.Scorer("words")
        >>> scorer.with_options(metric="bertscore").metric
        bertscore
        """
        other = Scorer(
            self.model,
            metric=self.metric if metric is None else metric,
            rescale=self.rescale if rescale == "same" else rescale,
            multi_reference=self.multi_reference,
            idf=idf or self.idf,
            **self.options,
        )
        other._like = self  # whoever is asked first loads the model for both
        return other

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return the token sets of texts, which can be scored in their place: encode once, score many times.

        >>> import softset
        >>> softset.Scorer("words").encode(["a red book"])
        TokenSets(1 text, 3 tokens, 300 dimensions)
        """
        return self.encoder.encode(texts, progress=progress)

    # Scoring

    def score(self, candidates: Any, references: Any, *, progress: Progress | None = None) -> Scores:
        """Return the scores of each candidate with its reference, or its list of references.

        Both sides are lists of texts, `TokenSets`, or lists of (tokens, dimensions) arrays.

        >>> import softset
        >>> softset.Scorer("words").score(["a red book"], [["a novel", "the book is red"]]).best_reference
        array([1])
        """
        return self._scored(read_job(candidates, references), progress)

    def _scored(self, job: Job, progress: Progress | None) -> Scores:
        if self.metric.needs_idf and self.idf is None and len(job) <= BLOCK:
            job = self._encoded_first(job)
        idf = self.weights_for(job.references)
        parts = []
        united = job.multi_reference and self.multi_reference == "union"
        size = BLOCK if job.texts or united else GIVEN
        for start, stop in _blocks(len(job), size):
            parts.append(self._block(job, start, stop, idf))
            if progress is not None:
                progress(stop, len(job))
        return Scores.concatenate(parts)

    def stream(self, pairs: Iterable[tuple[Any, Any]], *, block: int = BLOCK) -> Iterator[Row]:
        """Score (candidate, reference) pairs as they come, in order; memory holds one block of them.

        >>> import softset
        >>> pairs = ((f"line {n}", "line 1") for n in range(3))
        >>> [round(row.score, 2) for row in softset.Scorer("words").stream(pairs, block=2)]
        [0.64, 1.0, 0.9]
        """
        if not isinstance(block, int) or block < 1:
            raise InputError(f"a block of {block} pairs is too small, or no number: give at least 1")
        if self.metric.needs_idf and self.idf is None:
            raise InputError(f"{self.metric} needs idf weights before a stream begins: give idf=softset.Idf.fit(texts)")
        source, done = iter_items(pairs, "pairs"), 0
        while some := list(islice(source, block)):
            for at, one in enumerate(some, done):
                if not isinstance(one, tuple | list) or len(one) != 2:
                    raise InputError(f"pair {at} is no (candidate, reference)")
            yield from self._scored(read_job([one for one, _ in some], [other for _, other in some], done), None)
            done += len(some)

    def matrix(self, candidates: Any, references: Any = None) -> ScoreMatrix:
        """Return the scores (n, m) of every candidate with every reference; with the candidates themselves if none.

        >>> import softset
        >>> softset.Scorer("words").matrix(["red", "blue"], ["red", "green", "pen"]).score.round(2)
        array([[1.  , 0.78, 0.33],
               [0.84, 0.76, 0.35]])
        """
        left = read_side(candidates, "candidate")
        right = left if references is None else read_side(references, "reference")
        A = self._sets(left)
        B = A if references is None else self._sets(right)
        _must_agree(A, B)
        idf = self.weights_for(B)
        metric, moment = self.served(A)
        numbers = metric.of_all(A, B, idf, moment)
        if self._rescaling is not None:
            numbers = self._rescaling.of_all(numbers, A, B, moment, self._base_signature(A.signature, idf))
        if isinstance(left, list) and isinstance(right, list) and left is not right:
            numbers = _same_texts_alike(numbers, left, right, A.counts == 0, metric.BEST)
        signature = self._signature(A.signature, idf, multi_reference=False)
        return ScoreMatrix(*numbers, signature=signature, score_kind=metric.SCORE_KIND)

    def explain(self, candidate: Any, reference: Any, *, metrics: Sequence[str | Metric] | None = None) -> Explanation:
        """Return why a candidate scores what it does: each token's membership and where it comes from.

        `metrics` are shown side by side; they are this scorer's own unless they are given.

        >>> import softset
        >>> why = softset.Scorer("minilm", layer=4).explain("royalty", "the king and the queen")
        >>> why.views[0].candidate_membership.round(2), why.views[0].counterparts("candidate", 0)[0][0]
        (array([0.81]), 4)
        """
        from softset.similarity.explain.build import explain

        return explain(
            self, candidate, reference, [self.metric] if metrics is None else [named(one) for one in metrics]
        )

    # One block

    def _block(self, job: Job, start: int, stop: int, idf: Idf | None) -> Scores:
        """Return the scores of the candidates from start to stop."""
        here = slice(*np.searchsorted(job.owner, [start, stop]))
        A, left, B, right = self._encoded(job, start, stop, job.right[here])
        _must_agree(A, B)
        owner = job.owner[here] - start
        if self.multi_reference == "union" and job.multi_reference:
            B, right = united(B, right, owner), np.arange(stop - start)
        else:
            left = left[owner]
        numbers, saturated, empty = self._numbers(A, left, B, right, idf)
        facts = {
            "candidate_tokens": A.counts[left],
            "reference_tokens": B.counts[right],
            "truncated": A.truncated[left] + B.truncated[right],
            "unknown": A.unknown[left] + B.unknown[right],
            "empty": empty,
            "saturated": saturated,
        }
        numbers, facts, best = reduced(numbers, facts, owner, stop - start, self.multi_reference)
        return Scores(
            *numbers,
            **facts,
            best_reference=best,
            signature=self._signature(A.signature, idf, multi_reference=job.multi_reference),
            score_kind=self.metric.SCORE_KIND,
        )

    def _encoded(
        self, job: Job, start: int, stop: int, right: np.ndarray
    ) -> tuple[TokenSets, np.ndarray, TokenSets, np.ndarray]:
        """Return token sets of both sides, and where in them the candidates and the pairs' references are."""
        candidates, references = job.candidates, job.references
        here = np.arange(start, stop)
        if isinstance(candidates, list) and isinstance(references, list):
            texts = candidates[start:stop] + [references[at] for at in right.tolist()]
            place = distinct_indices(texts)
            sets, places = self.encode(list(place)), np.array([place[text] for text in texts], dtype=np.int64)
            return sets, places[: len(here)], sets, places[len(here) :]
        A, left = (
            (candidates, here)
            if isinstance(candidates, TokenSets)
            else (self.encode(candidates[start:stop]), here - start)
        )
        if isinstance(references, TokenSets):
            return A, left, references, right
        return A, left, self.encode([references[at] for at in right.tolist()]), np.arange(len(right))

    def _encoded_first(self, job: Job) -> Job:
        """Return a job of token sets: weights can be counted on them, and they need not be encoded again."""
        A, left, B, right = self._encoded(job, 0, len(job), job.right)
        return Job(A.take(left), B.take(right), job.owner, np.arange(len(right)))

    def _sets(self, side: Side) -> TokenSets:
        return side if isinstance(side, TokenSets) else self.encode(side)

    def _numbers(
        self, A: TokenSets, left: np.ndarray, B: TokenSets, right: np.ndarray, idf: Idf | None
    ) -> tuple[PRF, np.ndarray, np.ndarray]:
        """Return precision, recall and F of pairs, and whether they are saturated and have an empty side, (p,) each."""
        found, saturated, empty = np.zeros((3, len(left))), *np.zeros((2, len(left)), dtype=bool)
        signature = self._base_signature(A.signature, idf)
        metric, moment = self.served(A)

        def block(here: slice) -> tuple[slice, PRF, np.ndarray, np.ndarray]:
            pairs = Pairs.of(A, B, left[here], right[here], idf, moment)
            numbers = metric.of_pairs(pairs)
            levels = Levels.of(metric, pairs, moment if self.rescale == "chance" else None)
            if self._rescaling is not None:
                numbers = self._rescaling.of_pairs(numbers, pairs, levels, signature)
            return here, numbers, levels.saturated, pairs.empty[0::2] | pairs.empty[1::2]

        for here, numbers, full, without in in_threads(block, block_bounds(A, B, left, right)):
            found[:, here], saturated[here], empty[here] = numbers, full, without
        return PRF(*found), saturated, empty

    # What goes with it

    def weights_for(self, references: Iterable[str] | TokenSets) -> Idf | None:
        """Return the idf weights if the metric needs some: those given, or those of the references.

        >>> import softset
        >>> softset.Scorer("words", metric="subspace(weights=idf)").weights_for(["a red book", "a pen"])
        Idf(2 texts, 4 tokens)
        """
        if not self.metric.needs_idf or self.idf is not None:
            return self.idf if self.metric.needs_idf else None
        if isinstance(references, TokenSets):
            return Idf.counted([references])
        return Idf.fit(references, model=self.encoder)

    def served(self, sets: TokenSets) -> tuple[Metric, np.ndarray | None]:
        """Return the metric as token sets let it be, and the second moment of their encoder, where it is asked for.

        >>> import softset
        >>> softset.Scorer("words").served(TokenSets.from_arrays([[[1.0, 0.0]]]))
        (softset(weights=none), None)
        """
        moment = self.moment_of(sets.signature) if self.metric.needs_moment or self.rescale == "chance" else None
        return self.metric.served(moment=moment is not None), moment

    def moment_of(self, of_sets: str) -> np.ndarray | None:
        """Return the second moment of the encoder that made some token sets, if it is known; the chance level needs it.

        >>> import softset
        >>> scorer = softset.Scorer("words")
        >>> scorer.moment_of(scorer.encoder.signature).shape, scorer.moment_of("own")
        ((300, 300), None)
        """
        if of_sets in self._moments:
            return self._moments[of_sets]
        ours = self.model is not None and of_sets.startswith("encoder:")  # else no encoder of softset's made them
        known = ours and of_sets == self.encoder.signature
        if self.rescale == "chance" and self.model is not None and not known and of_sets != "own":
            raise InputError(
                f"the token sets were made with {of_sets}, but this scorer's model is {self.encoder.signature}: "
                "the chance level needs the same"
            )
        moment: np.ndarray | None = getattr(self.encoder, "second_moment", None) if known else None
        if moment is None and self.rescale == "chance":
            raise InputError(
                "the chance level needs the second moment of the encoder's tokens, which is known for the bundled "
                "models only: measure the level instead with softset.Calibration.fit(texts, model=...), on the command "
                "line with softset fit calibration"
            )
        self._moments[of_sets] = moment
        return moment

    def _base_signature(self, of_sets: str, idf: Idf | None) -> str:
        """Return what a calibration must have been fitted with."""
        if idf is not None:
            idf.must_fit(of_sets)
        metric = self.metric.served(moment=self.metric.needs_moment and self.moment_of(of_sets) is not None)
        facts = {"metric": metric, "idf": idf.checksum if idf is not None else None}
        return f"{format_signature(facts)}|{as_facts(of_sets)}"

    def signature(self, *, idf: Idf | None = None, multi_reference: bool = False) -> str:
        """Return what makes the scores of texts, in one line that parses back.

        >>> import softset
        >>> softset.Scorer("minilm", layer=4).signature().split("|")[1:4]
        ['metric:softset', 'encoder:minilm@f80c23cd', 'layer:4']
        """
        return self._signature(self.encoder.signature, idf, multi_reference=multi_reference)

    def _signature(self, of_sets: str, idf: Idf | None, *, multi_reference: bool) -> str:
        from softset import __version__

        how = None if self._rescaling is None else self._rescaling.name
        facts = {
            "softset": __version__,
            "rescale": how,
            "multi_reference": self.multi_reference if multi_reference else None,
        }
        return f"{format_signature(facts)}|{self._base_signature(of_sets, idf)}"


def _blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield where n pairs are cut into blocks of one length, which is about `size`, at the most half as much again.

    A small rest would have threads wait for each other once more.

    >>> list(_blocks(10, 4)), list(_blocks(5, 4)), list(_blocks(0, 4))
    ([(0, 5), (5, 10)], [(0, 5)], [(0, 0)])
    """
    count = max(round(n / size), 1)
    return pairwise(n * at // count for at in range(count + 1))


def _same_texts_alike(numbers: PRF, left: Sequence[str], right: Sequence[str], empty: np.ndarray, best: float) -> PRF:
    """Return the numbers (n, m) with full scores for a text and itself where the model knows none of its tokens.

    Sets of texts are empty then, and cannot tell that the texts are the same.
    """
    for i in np.flatnonzero(empty).tolist():
        same = [j for j, text in enumerate(right) if text == left[i]]
        for values, full in zip(numbers, (1.0, 1.0, best), strict=True):
            values[i, same] = full
    return numbers


def _must_agree(A: TokenSets, B: TokenSets) -> None:
    """Refuse vectors of two spaces."""
    if A.dimensions != B.dimensions:
        raise AmbientError(
            f"the candidates' vectors have {A.dimensions} dimensions and the references' {B.dimensions}: encode both "
            "with the same model"
        )
    if A.signature != B.signature:
        raise InputError(
            f"the candidates were encoded with {A.signature}, but the references with {B.signature}: encode both with "
            "the same model and options"
        )
