"""Measure the effect of padding in the paper's code: `python tools/paper_code.py --data DIR`.

That code takes [CLS], [SEP] and the padding of a batch as tokens, so a pair's score depends on the other sentences of
its batch. The table has the correlations of its scores, for layer 4 of MiniLM, beside those of softset.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from softset import TokenSets, load_encoder
from softset.encoders.network import run_network
from softset.encoders.pipeline import ContextualEncoder
from softset.evaluation.data import DataFolder
from softset.evaluation.metric_evaluation import Result, ScoringMethod, score_blocks
from softset.evaluation.sts import DATASETS, SentencePairs, StsEvaluation, read_datasets
from softset.similarity.metrics.pairs import Pairs

RESULTS = Path(__file__).parent.parent / "results"
BATCH = 32


class PaperCodeEvaluation(StsEvaluation):
    """An evaluation with additional rows for scores of padded batches."""

    def _dataset(self, pairs: SentencePairs) -> list[Result]:
        texts, left, right = pairs.distinct_texts
        scores = self._score_sets(self.encoder.encode(texts), left, right)
        padded = score_blocks(self.methods, padded_blocks(self.encoder, pairs), len(pairs))
        named = {f"paper-code(batch={BATCH})/{name}": timed for name, timed in padded.items()}
        return self._correlations(pairs, scores | named)


def padded_blocks(encoder: ContextualEncoder, pairs: SentencePairs) -> Iterator[tuple[slice, Pairs]]:
    """Yield the pairs in batches; each side of a batch is padded to its own longest sentence."""
    for start in range(0, len(pairs), BATCH):
        block = slice(start, min(start + BATCH, len(pairs)))
        yield block, Pairs.of(*(padded_sets(encoder, side[block]) for side in (pairs.candidates, pairs.references)))


def padded_sets(encoder: ContextualEncoder, texts: list[str]) -> TokenSets:
    """Return the token sets of one padded batch, with special tokens and padding; long texts are truncated."""
    tokenizer = encoder._tokenizer
    sequences = [tokenizer.sequence(text.ids[: encoder._window_size]) for text in tokenizer(texts)]
    states = run_network(encoder._network, sequences, tokenizer.pad)
    n, length, d = states.shape
    zeros, offsets = np.zeros(n, dtype=np.int64), np.arange(n + 1) * length
    return TokenSets(states.reshape(n * length, d), offsets, None, None, None, zeros, zeros, "padded")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the effect of padding in the paper's code.")
    parser.add_argument("--data", help="folder of evaluation data")
    datasets = read_datasets(DataFolder(parser.parse_args().data), DATASETS)
    methods = [ScoringMethod.parse(name) for name in ("bertscore", "subspace")]
    evaluation = PaperCodeEvaluation(load_encoder("minilm", layer=4), methods)
    evaluation.table(datasets).save(RESULTS / "sts-paper-code", "sts")


if __name__ == "__main__":
    main()
