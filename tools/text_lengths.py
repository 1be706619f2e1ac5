"""Measure how scores depend on the length of texts: `python tools/text_lengths.py --data DIR`.

Any vector belongs to a larger set to a larger degree by chance. Scores that are rescaled by chance should not follow
the number of tokens where the texts share nothing. The table has the correlations of scores with the numbers of tokens,
and the mean scores by length, for unrelated sentences and for similar ones, with layer 4 of MiniLM.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from softset import load_encoder
from softset.encoders.texts import distinct_indices
from softset.evaluation.data import DataFolder
from softset.evaluation.metric_evaluation import ScoringMethod, score_blocks
from softset.evaluation.significance import Statistic, estimates, mean_statistic, spearman_statistic
from softset.evaluation.sts import DATASETS, SentencePairs, read_datasets
from softset.evaluation.tables import ResultRow, ResultTable
from softset.similarity.metrics import DEFAULT
from softset.similarity.metrics.pairs import pair_blocks

RESULTS = Path(__file__).parent.parent / "results"
METRICS = (
    *("softset", "softset P", "softset R"),
    *("subspace", "subspace P", "subspace R", "subspace+chance", "subspace+chance P", "subspace+chance R"),
    *("bertscore", "bertscore P", "bertscore R", "average"),
)
SEED = 12345
MAX_UNRELATED = 20_000  # the standard error of a correlation of this many pairs is 0.007
MIN_GOLD = 4.0  # of 5: the sentences mean the same except for details
BUCKETS = ((1, 8), (9, 16), (17, 32), (33, None))  # tokens of the reference, both ends included
FACTS = {
    "unrelated": f"sentences of all datasets, each with a random other one; at most {MAX_UNRELATED:,} pairs",
    "alike": f"distinct pairs with a gold score of at least {MIN_GOLD:g}, without equal sentences",
    "direction": "P is computed over the candidate's tokens, R over the reference's",
    "length": "number of tokens of the encoder; spearman is with the reference's length",
    "means": "over pairs whose reference has this number of tokens",
    "intervals": "95%, percentile bootstrap over pairs",
}


class PairSample(NamedTuple):
    """A sample of sentence pairs: unrelated or similar ones."""

    name: str
    candidates: list[str]
    references: list[str]


def unrelated_pairs(datasets: Sequence[SentencePairs]) -> PairSample:
    """Return all distinct sentences as references, each with a random candidate that no dataset pairs it with."""
    texts = list(dict.fromkeys(text for pairs in datasets for text in (*pairs.references, *pairs.candidates)))
    index = {text: number for number, text in enumerate(texts)}
    excluded = [{number} for number in range(len(texts))]
    for first, second in text_pairs(datasets):
        excluded[index[first]].add(index[second])
        excluded[index[second]].add(index[first])
    rng = np.random.default_rng(SEED)
    order = [number for number in rng.permutation(len(texts)).tolist() if len(excluded[number]) < len(texts)]
    references = order[:MAX_UNRELATED]
    candidates = [draw_index(rng, len(texts), excluded[number]) for number in references]
    return PairSample("unrelated", [texts[number] for number in candidates], [texts[number] for number in references])


def text_pairs(datasets: Sequence[SentencePairs]) -> Iterator[tuple[str, str]]:
    return (pair for pairs in datasets for pair in zip(pairs.references, pairs.candidates, strict=True))


def draw_index(rng: np.random.Generator, n: int, excluded: set[int]) -> int:
    """Return a random number below n that is not excluded."""
    drawn = int(rng.integers(n - len(excluded)))
    for number in sorted(excluded):
        drawn += drawn >= number
    return drawn


def similar_pairs(datasets: Sequence[SentencePairs]) -> PairSample:
    """Return the distinct pairs with a gold score of at least 4, in random order, without equal sentences."""
    gold = np.concatenate([pairs.gold for pairs in datasets])
    scored = zip(text_pairs(datasets), gold, strict=True)  # STS-B repeats pairs of STS12 to STS16
    distinct = list(dict.fromkeys(pair for pair, score in scored if score >= MIN_GOLD and pair[0] != pair[1]))
    chosen = [distinct[index] for index in np.random.default_rng(SEED).permutation(len(distinct))]
    return PairSample("alike", [candidate for _, candidate in chosen], [reference for reference, _ in chosen])


def table(datasets: Sequence[SentencePairs]) -> ResultTable:
    encoder, methods = load_encoder("minilm", layer=4), [ScoringMethod.parse(name) for name in METRICS]
    samples = [unrelated_pairs(datasets), similar_pairs(datasets)]
    index = distinct_indices([text for sample in samples for text in (*sample.references, *sample.candidates)])
    sets, rows = encoder.encode(list(index)), []

    def add(dataset: str, metric: str, statistic: Statistic, n: int) -> None:
        for method, result in zip(METRICS, estimates(statistic, n, seed=SEED, stream=dataset), strict=True):
            value, low, high, *_ = result
            rows.append(ResultRow("lengths", dataset, method, metric, value, n, low, high, default=method == DEFAULT))

    for sample in samples:
        left, right = (np.array([index[text] for text in side]) for side in (sample.candidates, sample.references))
        known = (sets.counts[left] > 0) & (sets.counts[right] > 0)
        left, right = left[known], right[known]
        blocks = pair_blocks(sets, sets, left, right, None, encoder.second_moment)
        scores = score_blocks(methods, blocks, len(left), encoder.second_moment)
        values = np.stack([scores[name] for name in METRICS])
        for metric, side in (("spearman", right), ("spearman candidate", left)):
            lengths = sets.counts[side].astype(np.float64)
            add(sample.name, metric, spearman_statistic(lengths, values), len(left))
        for shortest, longest in BUCKETS:
            inside = (sets.counts[right] >= shortest) & (sets.counts[right] <= (longest or np.inf))
            bucket = f"{sample.name} {shortest}-{longest or ''}"
            add(bucket, "mean", mean_statistic(values[:, inside]), int(inside.sum()))
    return ResultTable("Text length", tuple(rows), facts={"encoder": encoder.signature, "seed": SEED, **FACTS})


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how scores depend on the length of texts.")
    parser.add_argument("--data", help="folder of evaluation data")
    table(read_datasets(DataFolder(parser.parse_args().data), DATASETS)).save(RESULTS / "lengths", "lengths")


if __name__ == "__main__":
    main()
