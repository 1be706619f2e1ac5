"""The scoring plan, which holds all options of a scorer, and how to run it: encode, pair, compute, reduce.

There are two levels of blocks. An outer block is encoded at once; an inner block has a bounded number of token vectors
and runs on one thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Literal

import numpy as np

from softset.encoders.base import Encoder
from softset.encoders.signature import format_signature
from softset.encoders.texts import distinct_indices
from softset.encoders.tokensets import TokenSets, hash_texts
from softset.errors import AmbientError, InputError
from softset.runtime.progress import Progress, span
from softset.runtime.threads import in_threads
from softset.similarity.idf import Idf, encoder_signature, tokenizer_of
from softset.similarity.inputs import ScoringInput, TextsOrSets
from softset.similarity.metrics.base import PRF, Metric
from softset.similarity.metrics.pairs import Pairs, block_slices, unpaired
from softset.similarity.rescaling import Calibration, Rescale, chance_levels, pair_levels, rescale_scores
from softset.similarity.scores import ScoreMatrix, Scores

TEXT_PAIRS = 1_024  # pairs of texts that are encoded together: 60 MB of vectors for sentences of 20 tokens
ENCODING_PERCENT = 90  # share of encoding in the time for a block of texts; scores take a tenth or less
VECTOR_PAIRS = 16_384  # pairs of given vectors in a block: threads wait for each other only between blocks

MultiReference = Literal["best", "mean", "union"]


@dataclass(frozen=True, eq=False)
class ScoringPlan:
    """Everything that the scores of one call depend on.

    Attributes:
        source: the signature of the token sets.
        encoder: encodes the texts; None if only vectors are scored.
        metric: the metric, resolved for this encoder.
        idf: token weights; None if the metric does not use them.
        moment: (d, d) the second moment of the encoder's unit vectors; None if it is unknown or not used.
        min_level_rows: chance levels are computed for sets of at least this size; smaller ones cannot be saturated.
        rescale: "chance", a calibration that fits the signature, or None.
        multi_reference: how to combine several references.
        multiple_references: whether a candidate has several references.
    """

    source: str
    encoder: Encoder | None
    metric: Metric
    idf: Idf | None
    moment: np.ndarray | None
    min_level_rows: int
    rescale: Rescale
    multi_reference: MultiReference
    multiple_references: bool

    def __post_init__(self) -> None:
        tokenizer = tokenizer_of(self.source)
        if self.idf is not None and self.idf.encoder != tokenizer:
            raise InputError(
                f"the idf weights were fitted with {self.idf.encoder}, but the texts are encoded with {tokenizer}: fit "
                "them with the same model"
            )
        if isinstance(self.rescale, Calibration) and self.rescale.signature != self._base:
            raise InputError(
                f"this calibration was fitted with {self.rescale.signature}, but the scores have {self._base}: fit it "
                "with the same model, metric and options (and idf weights, if the metric uses them)"
            )

    @property
    def _base(self) -> str:
        weights = None if self.idf is None else self.idf.checksum
        return f"{format_signature({'metric': self.metric, 'idf': weights})}|{encoder_signature(self.source)}"

    @cached_property
    def signature(self) -> str:
        """The facts above in one line."""
        from softset import __version__

        level: str | None = self.rescale if isinstance(self.rescale, str) else None
        if isinstance(self.rescale, Calibration):
            level = "measured({:.6g},{:.6g},{:.6g})".format(*self.rescale.levels)
        combined = self.multi_reference if self.multiple_references else None
        facts = {"softset": __version__, "rescale": level, "multi_reference": combined}
        return f"{format_signature(facts)}|{self._base}"


def score_pairs(plan: ScoringPlan, scoring_input: ScoringInput, progress: Progress | None = None) -> Scores:
    """Return the scores of all candidates, block by block."""
    united = scoring_input.has_multiple_references and plan.multi_reference == "union"
    size = TEXT_PAIRS if scoring_input.has_texts or united else VECTOR_PAIRS
    parts, n = [], len(scoring_input)
    count = max(round(n / size), 1)  # of blocks of equal length, so that the last one is not small
    for start, stop in pairwise(n * index // count for index in range(count + 1)):
        step = span(progress, start, stop, n)
        parts.append(_score_block(plan, scoring_input.block(start, stop), step, united=united))
        if progress is not None:
            progress(stop, n)
    return Scores.concatenate(parts)


def _score_block(plan: ScoringPlan, block: ScoringInput, progress: Progress | None, *, united: bool) -> Scores:
    encoding = ENCODING_PERCENT if block.has_texts else 0
    block = encode_input(plan.encoder, block, span(progress, 0, encoding, 100))
    if united:
        block = _unite_references(block)
    numbers, flags = _compute(plan, block, span(progress, encoding, 100, 100))
    numbers, facts, best = _reduce_references(plan.multi_reference, block, numbers, _facts(block) | flags)
    return Scores(*numbers, **facts, best_reference=best, signature=plan.signature, score_kind=plan.metric.SCORE_KIND)


# Encode


def encode_input(encoder: Encoder | None, block: ScoringInput, progress: Progress | None = None) -> ScoringInput:
    """Return the input with token sets on both sides; texts that occur several times are encoded once."""
    texts = _texts_of(block.candidates, block.left) + _texts_of(block.references, block.right)
    if block.has_texts:
        assert encoder is not None  # noqa: S101 (a plan for texts has an encoder)
        distinct = distinct_indices(texts)
        sets = encode_texts(encoder, list(distinct), progress)
        indices = np.array([distinct[text] for text in texts], dtype=np.int64)
        if isinstance(block.candidates, list):
            block = replace(block, candidates=sets, left=indices[: len(block.left)])
        if isinstance(block.references, list):
            block = replace(block, references=sets, right=indices[len(indices) - len(block.right) :])
    check_same_space(*block.token_sets)
    return block


def encode_texts(encoder: Encoder, texts: Sequence[str], progress: Progress | None = None) -> TokenSets:
    """Return the token sets of texts, with their hashes if the encoder did not add them."""
    sets = encoder.encode(texts, progress=progress)
    return sets if sets.text_hashes is not None else replace(sets, text_hashes=hash_texts(texts))


def _texts_of(side: TextsOrSets, indices: np.ndarray) -> list[str]:
    return [side[index] for index in indices.tolist()] if isinstance(side, list) else []


def check_same_space(A: TokenSets, B: TokenSets) -> None:
    """Raise an error for vectors of different encoders."""
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


# Pair and compute


def _compute(plan: ScoringPlan, block: ScoringInput, progress: Progress | None) -> tuple[PRF, dict[str, np.ndarray]]:
    """Return the numbers (p,) of each pair of an encoded block, and whether it is empty and saturated."""
    (A, B), left, right = block.token_sets, block.left[block.owner], block.right
    numbers, empty, saturated = np.zeros((3, len(left))), *np.zeros((2, len(left)), dtype=bool)
    compute_slice = partial(_compute_slice, plan, A, B, left, right)
    for rows, scores, is_empty, is_saturated in in_threads(compute_slice, block_slices(A, B, left, right)):
        numbers[:, rows], empty[rows], saturated[rows] = scores, is_empty, is_saturated
        if progress is not None:
            progress(rows.stop, len(left))
    return PRF(*numbers), {"empty": empty, "saturated": saturated}


def _compute_slice(
    plan: ScoringPlan, A: TokenSets, B: TokenSets, left: np.ndarray, right: np.ndarray, rows: slice
) -> tuple[slice, PRF, np.ndarray, np.ndarray]:
    pairs = Pairs.of(A, B, left[rows], right[rows], plan.idf, plan.moment)
    numbers = plan.metric.compute(pairs)
    levels = chance_levels(plan.metric, pairs, plan.moment, plan.min_level_rows)
    empty = pairs.empty[0::2] | pairs.empty[1::2]
    chance = None if levels.of_sets is None else pair_levels(levels.of_sets[0::2], levels.of_sets[1::2])
    return rows, _rescale(plan, numbers, empty, chance), empty, levels.saturated


def _rescale(plan: ScoringPlan, numbers: PRF, empty: np.ndarray, chance: PRF | None) -> PRF:
    """Rescale numbers by a calibration or by chance levels, if the plan asks for it."""
    levels = plan.rescale.levels if isinstance(plan.rescale, Calibration) else chance
    if plan.rescale is None or levels is None:
        return numbers
    return rescale_scores(numbers, levels, empty, plan.metric.MAX_SCORE)


# Reduce


def _facts(block: ScoringInput) -> dict[str, np.ndarray]:
    """Return the counts of tokens (p,) of each pair of an encoded block."""
    (A, B), left, right = block.token_sets, block.left[block.owner], block.right
    return {
        "candidate_tokens": A.counts[left],
        "reference_tokens": B.counts[right],
        "truncated": A.truncated[left] + B.truncated[right],
        "unknown": A.unknown[left] + B.unknown[right],
    }


def _unite_references(block: ScoringInput) -> ScoringInput:
    """Return one reference for each candidate, with the tokens of all its references: the union of their sets.

    If a reference is the same text as the candidate, the union counts as the same text too.
    """
    candidates, references = block.token_sets
    taken = replace(references, special=None).take(block.right)
    first, hashes = _first_of_each(block.owner), None
    if candidates.text_hashes is not None and taken.text_hashes is not None:
        own = candidates.text_hashes[block.left]
        same = np.logical_or.reduceat(own[block.owner] == taken.text_hashes, first)
        hashes = np.where(same, own, taken.text_hashes[first])
    union = replace(
        taken,
        offsets=np.concatenate([taken.offsets[first], taken.offsets[-1:]]),
        spans=None,
        truncated=np.add.reduceat(taken.truncated, first),
        unknown=np.add.reduceat(taken.unknown, first),
        text_hashes=hashes,
    )
    return replace(block, references=union, right=np.arange(len(block)), owner=np.arange(len(block)))


def _reduce_references(
    multi_reference: MultiReference, block: ScoringInput, numbers: PRF, facts: dict[str, np.ndarray]
) -> tuple[PRF, dict[str, np.ndarray], np.ndarray]:
    """Return the numbers and facts of the n candidates, from those of p pairs, and which reference counted.

    The best reference has the highest score; its precision and recall are used. The first one wins a tie.
    """
    n, owner = len(block), block.owner
    if len(owner) == n:
        return numbers, facts, np.full(n, 0 if multi_reference == "best" else -1)
    first = _first_of_each(owner)
    if multi_reference == "best":
        # Scores that differ by less than their precision are a tie.
        best = np.lexsort((np.arange(len(owner)), -numbers.score.round(6), owner))[first]
        of_best = {name: values[best] for name, values in facts.items()}
        return PRF(*(values[best] for values in numbers)), of_best, best - first
    counts = np.diff(np.append(first, len(owner)))
    means = PRF(*(np.add.reduceat(values, first) / counts for values in numbers))
    totals = {
        name: np.logical_or.reduceat(values, first) if values.dtype == bool else np.add.reduceat(values, first)
        for name, values in facts.items()
    }
    totals["candidate_tokens"] = facts["candidate_tokens"][first]
    return means, totals, np.full(n, -1)


def _first_of_each(owner: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.concatenate([[True], np.diff(owner) > 0]))


# Matrix


def score_matrix(plan: ScoringPlan, A: TokenSets, B: TokenSets, progress: Progress | None = None) -> ScoreMatrix:
    """Return the scores of every candidate with every reference, (n, m)."""
    check_same_space(A, B)
    numbers = plan.metric.compute_matrix(A, B, plan.idf, plan.moment, progress)
    if plan.rescale is not None:
        left, right = unpaired(A, B), unpaired(B, A)
        moment = plan.moment if plan.rescale == "chance" else None
        of_A, of_B = (chance_levels(plan.metric, sets, moment).of_sets for sets in (left, right))
        chance = None if of_A is None or of_B is None else pair_levels(of_A[::2, None], of_B[None, ::2])
        numbers = _rescale(plan, numbers, left.empty[::2, None] | right.empty[None, ::2], chance)
    return ScoreMatrix(*numbers, signature=plan.signature, score_kind=plan.metric.SCORE_KIND)
