"""Score texts with one model, metric and options: the `Scorer`."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from operator import length_hint
from typing import Any, Literal, Unpack, get_args

import numpy as np

from softset.encoders.base import Encoder
from softset.encoders.loading import EncoderOptions, load_encoder
from softset.encoders.texts import iter_items
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.io.options import named_options
from softset.runtime.progress import Progress, ProgressOption, report_progress, span
from softset.similarity import run
from softset.similarity.explain import Explanation
from softset.similarity.idf import Idf, check_idf
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

    @named_options
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
        self.metric = parse_metric(metric)
        check_idf(idf, str(self.metric), is_used=self.metric.needs_idf)
        check_rescale(rescale, self.metric)
        self.rescale: Rescale = rescale
        self.multi_reference: MultiReference = multi_reference
        self.idf = idf
        self._loader = _EncoderLoader(model, options)

    def __repr__(self) -> str:
        return f"Scorer({self._loader.model!r}, metric={self.metric})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Scorer":
        return self.with_options()  # nothing in a scorer changes, so that copies share the model

    @property
    def encoder(self) -> Encoder:
        """The encoder of the texts; it is loaded at the first access.

        >>> import softset
        >>> softset.Scorer("words").encoder.dimensions
        300
        """
        return self._loader.encoder

    @named_options
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
        chosen = self.metric if metric is None else parse_metric(metric)
        scorer = Scorer(
            metric=chosen,
            rescale=self.rescale if rescale == "same" else rescale,
            multi_reference=multi_reference or self.multi_reference,
            idf=self.idf if idf is None and chosen.needs_idf else idf,
        )
        scorer._loader = self._loader
        return scorer

    @named_options
    def encode(self, texts: Sequence[str], *, progress: ProgressOption = None) -> TokenSets:
        """Return the token sets of texts, which can be scored in place of the texts: encode once, score often.

        `progress` is as in `score`.

        >>> import softset
        >>> softset.Scorer("words").encode(["a red book"])
        TokenSets(1 text, 3 tokens, 300 dimensions)
        """
        with report_progress(progress, "texts") as report:
            return run.encode_texts(self.encoder, texts, report)

    @named_options
    def score(self, candidates: Any, references: Any, *, progress: ProgressOption = None) -> Scores:
        """Score each candidate with its reference, or with its list of references.

        Both sides are lists of texts, `TokenSets`, or lists of (tokens, dimensions) arrays. With progress=True a
        progress bar is shown; a function is called during the work with the numbers of finished and of all pairs.

        >>> import softset
        >>> softset.Scorer("words").score(["a red book"], [["a novel", "the book is red"]]).best_reference
        array([1])
        """
        with report_progress(progress, "pairs") as report:
            return self._score(read_input(candidates, references), report)

    def _score(self, scoring_input: ScoringInput, progress: Progress | None = None) -> Scores:
        scorer, n, done, references = self, len(scoring_input), 0, scoring_input.references
        if self.metric.needs_idf and self.idf is None and scoring_input.has_texts:
            if n <= TEXT_PAIRS:  # they are encoded first, so that idf does not encode them again
                done = n * run.ENCODING_PERCENT // 100
                scoring_input = run.encode_input(self.encoder, scoring_input, span(progress, 0, done, n))
                references = scoring_input.token_sets[1].take(scoring_input.right)
            else:
                done = n // 3  # the references are encoded twice
                scorer = self.with_options(idf=self._resolve_idf(references, span(progress, 0, done, n)))
        multiple = scoring_input.has_multiple_references
        plan = scorer.resolve(scoring_input.candidates, references, multiple_references=multiple)
        return run.score_pairs(plan, scoring_input, span(progress, done, n, n))

    @named_options
    def stream(
        self, pairs: Iterable[tuple[Any, Any]], *, block: int = TEXT_PAIRS, progress: ProgressOption = None
    ) -> Iterator[ScoreRow]:
        """Score (candidate, reference) pairs from an iterable, in order; only one block of them is in memory.

        `progress` is as in `score`; the number of all pairs is 0 if the iterable has no length.

        >>> import softset
        >>> pairs = ((f"line {n}", "line 1") for n in range(3))
        >>> [round(row.score, 2) for row in softset.Scorer("words").stream(pairs, block=2)]
        [0.64, 1.0, 0.9]
        """
        check_count("block", block, 1)
        if self.metric.needs_idf and self.idf is None:
            raise InputError(f"{self.metric} needs idf weights before a stream begins: give idf=softset.Idf.fit(texts)")
        iterator, done, total = iter_items(pairs, "pairs"), 0, length_hint(pairs)
        with report_progress(progress, "pairs") as report:
            while batch := list(islice(iterator, block)):
                for index, pair in enumerate(batch, done):
                    if not isinstance(pair, tuple | list) or len(pair) != 2:
                        raise InputError(f"element {index} is not a (candidate, reference) pair")
                scoring_input = read_input([a for a, _ in batch], [b for _, b in batch], done)
                yield from self._score(scoring_input, span(report, done, done + len(batch), total)).rows()
                done += len(batch)

    @named_options
    def matrix(self, candidates: Any, references: Any = None, *, progress: ProgressOption = None) -> ScoreMatrix:
        """Score every candidate with every reference, (n, m); with the candidates themselves by default.

        `progress` is as in `score`.

        >>> import softset
        >>> softset.Scorer("words").matrix(["red", "blue"], ["red", "green", "pen"]).score.round(2)
        array([[1.  , 0.78, 0.33],
               [0.84, 0.76, 0.35]])
        """
        left = read_side(candidates, "candidate")
        right = left if references is None else read_side(references, "reference")
        with report_progress(progress, "pairs") as report:
            n = len(left) * len(right)
            first = 0 if isinstance(left, TokenSets) else n // 4  # a rough share: encoding may take more or less
            second = first if right is left or isinstance(right, TokenSets) else first + n // 4
            A = left if isinstance(left, TokenSets) else self.encode(left, progress=span(report, 0, first, n))
            if right is left:
                B = A
            else:
                steps = span(report, first, second, n)
                B = right if isinstance(right, TokenSets) else self.encode(right, progress=steps)
            return run.score_matrix(self.resolve(A, B), A, B, span(report, second, n, n))

    @named_options
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
        return self._resolve_idf(references, None)

    def _resolve_idf(self, references: Iterable[str] | TokenSets, progress: Progress | None) -> Idf | None:
        if not self.metric.needs_idf:
            return None
        if self.idf is not None:
            return self.idf
        if isinstance(references, TokenSets):
            return Idf.count([references])
        return Idf.fit(references, model=self.encoder, progress=progress)

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
    """Loads an encoder once, for all scorers that share it; a pickle has the model's name and options only."""

    def __init__(self, model: Any, options: EncoderOptions) -> None:
        self.model, self.options = model, options

    def __getstate__(self) -> dict[str, Any]:
        if type(self.model).__module__.partition(".")[0] in ("softset", "sentence_transformers"):
            raise TypeError(
                f"a Scorer of a loaded {type(self.model).__name__} cannot be pickled: give it the name or the folder "
                "of the model"
            )
        return {"model": self.model, "options": self.options}

    @cached_property
    def encoder(self) -> Encoder:
        return load_encoder(self.model, **self.options)

    @cached_property
    def min_saturated_rows(self) -> int:
        return min_saturated_rows(getattr(self.encoder, "second_moment"))  # noqa: B009 (not every encoder has one)
