"""Score texts: the functions `score` and `pairwise`, and the `Scorer` for any number of calls."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Literal, Unpack, get_args

import numpy as np

from softset.encoders.base import Encoder, Progress
from softset.encoders.loading import EncoderOptions, load_encoder
from softset.encoders.texts import iter_items
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.io.text import check_options
from softset.similarity import run
from softset.similarity.explain import Explanation
from softset.similarity.idf import Idf
from softset.similarity.inputs import ScoringInput, TextsOrSets, check_count, read_input, read_side
from softset.similarity.metrics import DEFAULT, Metric
from softset.similarity.metrics import metric as parse_metric
from softset.similarity.rescaling import Rescale, check_rescale, has_chance_levels, min_saturated_rows
from softset.similarity.run import TEXT_PAIRS, MultiReference, ScoringPlan
from softset.similarity.scores import ScoreMatrix, ScoreRow, Scores


class ScoringOptions(EncoderOptions, total=False):
    """The keyword options of `Scorer`, for functions that pass them on."""

    metric: str | Metric
    rescale: Rescale
    multi_reference: MultiReference
    idf: Idf | None


class Scorer:
    """A model, a metric and their options, for any number of scores.

    Args:
        model: as in `load_encoder`; it is loaded for the first text, and never if only vectors are scored.
        metric: a metric or its name, such as "subspace(weights=l2)"; "subspace" is the paper's metric.
        rescale: "chance" subtracts the closed-form chance level, a `Calibration` a measured one.
        multi_reference: how to combine several references: the "best" score, the "mean", or the "union" of their sets.
        idf: token weights for metrics that use them; fitted on the references by default.
        **options: options of `load_encoder`, such as layer=4.

    >>> import softset
    >>> scorer = softset.Scorer("minilm", metric="subspace(weights=l2)")
    >>> scorer.score(["A red book."], ["The book is red."])
    Scores(1 pair, precision=0.840, recall=0.865, score=0.852)
    """

    def __init__(
        self,
        model: Any = "minilm",
        *,
        metric: str | Metric = DEFAULT,
        rescale: Rescale = None,
        multi_reference: MultiReference = "best",
        idf: Idf | None = None,
        **options: Unpack[EncoderOptions],
    ) -> None:
        if not isinstance(multi_reference, str) or multi_reference not in get_args(MultiReference):
            choices = ", ".join(get_args(MultiReference))
            raise InputError(f"multi_reference is {multi_reference!r}, but one of {choices} was expected")
        if idf is not None and not isinstance(idf, Idf):
            raise InputError(f"idf is of type {type(idf).__name__}, but softset.Idf.fit(texts) was expected")
        self.metric = parse_metric(metric)
        check_rescale(rescale, self.metric)
        self.rescale: Rescale = rescale
        self.multi_reference: MultiReference = multi_reference
        self.idf = idf
        self._loader = _EncoderLoader(model, options)

    def __repr__(self) -> str:
        return f"Scorer({self._loader.model!r}, metric={self.metric})"

    @property
    def encoder(self) -> Encoder:
        """The encoder of the texts; it is loaded at the first access.

        >>> import softset
        >>> softset.Scorer("words").encoder.dimensions
        300
        """
        return self._loader.encoder

    def with_options(
        self,
        *,
        metric: str | Metric | None = None,
        rescale: Rescale | Literal["same"] = "same",
        multi_reference: MultiReference | None = None,
        idf: Idf | None = None,
    ) -> "Scorer":
        """Return a scorer that shares the loaded model and has other options.

        >>> import softset
        >>> softset.Scorer("words").with_options(metric="bertscore")
        Scorer('words', metric=bertscore)
        """
        scorer = Scorer(
            metric=self.metric if metric is None else metric,
            rescale=self.rescale if rescale == "same" else rescale,
            multi_reference=multi_reference or self.multi_reference,
            idf=idf or self.idf,
        )
        scorer._loader = self._loader
        return scorer

    def encode(self, texts: Sequence[str], *, progress: Progress | None = None) -> TokenSets:
        """Return the token sets of texts, which can be scored in place of the texts: encode once, score often.

        >>> import softset
        >>> softset.Scorer("words").encode(["a red book"])
        TokenSets(1 text, 3 tokens, 300 dimensions)
        """
        return run.encode_texts(self.encoder, texts, progress)

    def score(self, candidates: Any, references: Any, *, progress: Progress | None = None) -> Scores:
        """Score each candidate with its reference, or with its list of references.

        Both sides are lists of texts, `TokenSets`, or lists of (tokens, dimensions) arrays.

        >>> import softset
        >>> softset.Scorer("words").score(["a red book"], [["a novel", "the book is red"]]).best_reference
        array([1])
        """
        return self._score(read_input(candidates, references), progress)

    def _score(self, scoring_input: ScoringInput, progress: Progress | None = None) -> Scores:
        references = scoring_input.references
        fits_idf = self.metric.needs_idf and self.idf is None
        if fits_idf and scoring_input.has_texts and len(scoring_input) <= TEXT_PAIRS:
            scoring_input = run.encode_input(self.encoder, scoring_input)  # so that idf does not encode them again
            references = scoring_input.token_sets[1].take(scoring_input.right)
        multiple = scoring_input.has_multiple_references
        plan = self.resolve(scoring_input.candidates, references, multiple_references=multiple)
        return run.score_pairs(plan, scoring_input, progress)

    def stream(self, pairs: Iterable[tuple[Any, Any]], *, block: int = TEXT_PAIRS) -> Iterator[ScoreRow]:
        """Score (candidate, reference) pairs from an iterable, in order; only one block of them is in memory.

        >>> import softset
        >>> pairs = ((f"line {n}", "line 1") for n in range(3))
        >>> [round(row.score, 2) for row in softset.Scorer("words").stream(pairs, block=2)]
        [0.64, 1.0, 0.9]
        """
        check_count("block", block, 1)
        if self.metric.needs_idf and self.idf is None:
            raise InputError(f"{self.metric} needs idf weights before a stream begins: give idf=softset.Idf.fit(texts)")
        iterator, done = iter_items(pairs, "pairs"), 0
        while batch := list(islice(iterator, block)):
            for index, pair in enumerate(batch, done):
                if not isinstance(pair, tuple | list) or len(pair) != 2:
                    raise InputError(f"element {index} is not a (candidate, reference) pair")
            yield from self._score(read_input([a for a, _ in batch], [b for _, b in batch], done))
            done += len(batch)

    def matrix(self, candidates: Any, references: Any = None) -> ScoreMatrix:
        """Score every candidate with every reference, (n, m); with the candidates themselves by default.

        >>> import softset
        >>> softset.Scorer("words").matrix(["red", "blue"], ["red", "green", "pen"]).score.round(2)
        array([[1.  , 0.78, 0.33],
               [0.84, 0.76, 0.35]])
        """
        left = read_side(candidates, "candidate")
        right = left if references is None else read_side(references, "reference")
        A = left if isinstance(left, TokenSets) else self.encode(left)
        B = A if right is left else right if isinstance(right, TokenSets) else self.encode(right)
        return run.score_matrix(self.resolve(A, B), A, B)

    def explain(self, candidate: Any, reference: Any, *, metrics: Sequence[str | Metric] | None = None) -> Explanation:
        """Explain the score of a pair: each token's membership, and which tokens of the other text contribute to it.

        `metrics` are shown side by side; the default is this scorer's metric.

        >>> import softset
        >>> explanation = softset.Scorer("minilm", layer=4).explain("royalty", "the king and the queen")
        >>> view = explanation.views[0]
        >>> view.candidate_membership.round(2), view.counterparts("candidate", 0)[0][0]
        (array([0.81]), 4)
        """
        from softset.similarity.explain.build import explain

        chosen = [self.metric] if metrics is None else [parse_metric(name) for name in metrics]
        return explain(self, candidate, reference, chosen)

    def signature(self, *, idf: Idf | None = None, multiple_references: bool = False) -> str:
        """Return the signature of the scores of texts; `multiple_references` if a candidate has several.

        >>> import softset
        >>> softset.Scorer("minilm", layer=4).signature().split("|")[1:4]
        ['metric:softset', 'encoder:minilm@f80c23cd', 'layer:4']
        """
        return self._resolve(self.encoder.signature, idf, multiple_references=multiple_references).signature

    def resolve(
        self, candidates: TextsOrSets, references: TextsOrSets, *, multiple_references: bool = False
    ) -> ScoringPlan:
        """Resolve all options into a plan for candidates and references, checked by `read_input`.

        >>> import softset
        >>> softset.Scorer("words").resolve(TokenSets.from_arrays([[[1.0, 0.0]]]), ["a"]).metric
        softset(weights=none)
        """
        sets = next((side for side in (candidates, references) if isinstance(side, TokenSets)), None)
        source = self.encoder.signature if sets is None else sets.signature
        has_texts = isinstance(candidates, list) or isinstance(references, list)
        encoder = self.encoder if has_texts else None
        return self._resolve(source, self.resolve_idf(references), encoder, multiple_references=multiple_references)

    def _resolve(
        self, source: str, idf: Idf | None, encoder: Encoder | None = None, *, multiple_references: bool
    ) -> ScoringPlan:
        uses_moment = self.metric.needs_moment or has_chance_levels(self.metric)
        moment = self.second_moment(source) if uses_moment else None
        min_rows = 0 if moment is None or self.rescale == "chance" else self._loader.min_saturated_rows
        metric = self.metric.resolve(has_moment=moment is not None)
        options = (self.rescale, self.multi_reference, multiple_references)
        return ScoringPlan(source, encoder, metric, idf, moment, min_rows, *options)

    def resolve_idf(self, references: Iterable[str] | TokenSets) -> Idf | None:
        """Return the idf weights if the metric uses them: those of the scorer, or those of the references.

        >>> import softset
        >>> softset.Scorer("words", metric="subspace(weights=idf)").resolve_idf(["a red book", "a pen"])
        Idf(2 texts, 4 tokens)
        """
        if not self.metric.needs_idf:
            return None
        if self.idf is not None:
            return self.idf
        if isinstance(references, TokenSets):
            return Idf.count([references])
        return Idf.fit(references, model=self.encoder)

    def second_moment(self, source: str) -> np.ndarray | None:
        """Return the second moment (d, d) of the encoder of token sets with the signature `source`, if it is known.

        >>> import softset
        >>> scorer = softset.Scorer("words")
        >>> scorer.second_moment(scorer.encoder.signature).shape, scorer.second_moment("own")
        ((300, 300), None)
        """
        has_model = self._loader.model is not None
        known = has_model and source.startswith("encoder:") and source == self.encoder.signature
        moment: np.ndarray | None = getattr(self.encoder, "second_moment", None) if known else None
        if moment is None and self.rescale == "chance":
            if has_model and not known and source != "own":
                raise InputError(
                    f"the token sets were encoded with {source}, but this scorer's model is {self.encoder.signature}: "
                    "the chance level needs the same model"
                )
            raise InputError(
                "the chance level needs the second moment of the encoder's tokens, which is known for the bundled "
                "models only: measure the level instead with softset.Calibration.fit(texts, model=...), on the command "
                "line with softset fit calibration"
            )
        return moment


class _EncoderLoader:
    """Loads an encoder once, for all scorers that share it."""

    def __init__(self, model: Any, options: EncoderOptions) -> None:
        check_options(options, EncoderOptions.__annotations__)
        self.model, self.options = model, options

    @cached_property
    def encoder(self) -> Encoder:
        return load_encoder(self.model, **self.options)

    @cached_property
    def min_saturated_rows(self) -> int:
        return min_saturated_rows(getattr(self.encoder, "second_moment"))  # noqa: B009 (not every encoder has one)


def score(
    candidates: Any,
    references: Any,
    *,
    model: Any = "minilm",
    metric: str | Metric = DEFAULT,
    rescale: Rescale = None,
    multi_reference: MultiReference = "best",
    idf: Idf | None = None,
    progress: Progress | None = None,
    **options: Unpack[EncoderOptions],
) -> Scores:
    """Score each candidate with its reference: precision over the candidate's tokens, recall, and a score of both.

    Args:
        candidates: texts, `TokenSets`, or one (tokens, dimensions) array a text.
        references: the same, one for each candidate; or a list of texts for each candidate.
        model: as in `load_encoder`.
        metric: a metric or its name: see `softset.metric`.
        rescale: "chance", a `Calibration`, or None for the raw numbers.
        multi_reference: how to combine several references: the "best" score, the "mean", or the "union" of their sets.
        idf: token weights; fitted on the references by default if the metric uses them.
        progress: called with the number of finished pairs and of all pairs.
        **options: options of `load_encoder`, such as layer=4.

    >>> import softset
    >>> softset.score(["A red book."], ["The book is red."], metric="bertscore")
    Scores(1 pair, precision=0.805, recall=0.762, score=0.783)
    """
    scorer = Scorer(model, metric=metric, rescale=rescale, multi_reference=multi_reference, idf=idf, **options)
    return scorer.score(candidates, references, progress=progress)


def pairwise(
    X: Any,
    Y: Any = None,
    *,
    model: Any = "minilm",
    metric: str | Metric = DEFAULT,
    rescale: Rescale = None,
    idf: Idf | None = None,
    distance: bool = False,
    **options: Unpack[EncoderOptions],
) -> np.ndarray:
    """Return the scores (n, m) of every text of X with every text of Y, or of X, like sklearn's pairwise functions.

    With `distance` the result is 1 - score, symmetric if Y is None, for clustering with metric="precomputed". The other
    options are those of `score`.

    >>> import softset
    >>> softset.pairwise(["red", "blue", "pen"], model="words", distance=True).round(2)
    array([[0.  , 0.16, 0.67],
           [0.16, 0.  , 0.65],
           [0.67, 0.65, 0.  ]])
    """
    check_options(options, EncoderOptions.__annotations__)  # not every option of a scorer has an effect here
    scorer = Scorer(model, metric=metric, rescale=rescale, idf=idf, **options)
    values = scorer.matrix(X, Y).score
    if not distance:
        return values
    values = values / (scorer.metric.MAX_SCORE if rescale is None else 1.0)
    if Y is None:
        values = (values + values.T) / 2
        np.fill_diagonal(values, 1.0)
    return np.asarray(np.maximum(1 - values, 0.0))
