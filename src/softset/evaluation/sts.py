"""Semantic textual similarity: correlation of metrics with human judgements of sentence pairs (the paper's table 1).

The datasets are STS12 to STS16, STS-B and SICK-R. Two layouts are read: TSV files in sts/raw and sts/tokenised, and the
folder that SentEval's script downloads. Sentence 1 is the reference and sentence 2 the candidate, so precision is
computed over sentence 2.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from softset.encoders.texts import distinct_indices
from softset.errors import FileError, InputError
from softset.evaluation.data import DataFolder, finite_number
from softset.evaluation.metric_evaluation import MetricEvaluation, Result
from softset.evaluation.significance import Statistic, pearson_statistic, spearman_statistic
from softset.io.text import counted

TextForm = Literal["raw", "tokenised"]

DATASETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
TUNING = ("STSB-train", "STSB-dev", "SICK-train", "SICK-trial")
FILES = {"STS-B": "STSB-test", "SICK-R": "SICK-test"}  # datasets whose file has another name
COLUMNS = ("score", "sentence1", "sentence2", "source")
YEARS = DATASETS[:5]

# The sub-datasets of each year in SentEval's folder. STS13 is without SMT, which is not freely available.
SENTEVAL_PARTS = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
SENTEVAL_FOLDERS = ("downstream", "data/downstream", ".")  # where the folder STS may be in the data folder
SICK_COLUMNS = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """One dataset: n pairs of sentences, their gold scores, and the sub-dataset of each pair."""

    name: str
    gold: np.ndarray
    references: list[str]
    candidates: list[str]
    sources: list[str]

    def __len__(self) -> int:
        return len(self.gold)

    @property
    def distinct_texts(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The distinct sentences, and the index of each candidate and each reference among them."""
        index = distinct_indices([*self.candidates, *self.references])
        left, right = (np.array([index[text] for text in side]) for side in (self.candidates, self.references))
        return list(index), left, right

    @property
    def parts(self) -> list[np.ndarray]:
        """The indices of each sub-dataset's pairs; empty unless the dataset is one of the years."""
        if self.name not in YEARS:
            return []
        sources = np.array(self.sources)
        return [np.flatnonzero(sources == source) for source in dict.fromkeys(self.sources)]


def choose_datasets(names: Sequence[str]) -> list[str]:
    """Return the standard spelling of dataset names; without names, the seven test sets."""
    known = {name.lower(): name for name in (*DATASETS, *TUNING)}
    known |= {file.lower(): name for name, file in FILES.items()}
    for name in names:
        if name.lower() not in known:
            raise InputError(f"there is no dataset {name[:80]!r}: use some of {', '.join((*DATASETS, *TUNING))}")
    return list(dict.fromkeys(known[name.lower()] for name in names or DATASETS))


def read_datasets(
    data: DataFolder, names: Sequence[str], text: TextForm = "raw", limit: int | None = None
) -> list[SentencePairs]:
    """Read the first `limit` pairs of each dataset; `text` chooses between sts/raw and sts/tokenised."""
    senteval = senteval_folder(data)
    if senteval is not None and text == "tokenised":
        raise InputError(f"{data.path} is SentEval's folder, which has one form of each text: leave out --text-form")
    datasets = []
    for name in names:
        file = FILES.get(name, name)
        if senteval is None:
            rows = data.table(f"sts/{text}/{file}.tsv", COLUMNS, (finite_number, str, str, str))
        else:
            rows = _read_senteval(data, senteval, file)
        gold, references, candidates, sources = (list(column) for column in zip(*rows[:limit], strict=True))
        datasets.append(SentencePairs(name, np.array(gold, dtype=np.float64), references, candidates, sources))
    return datasets


def senteval_folder(data: DataFolder) -> str | None:
    """Return the folder of SentEval's tasks inside the data folder, or None if the data are TSV files."""
    if any((data.path / "sts" / form).is_dir() for form in ("raw", "tokenised")):
        return None
    return next((name for name in SENTEVAL_FOLDERS if (data.path / name / "STS").is_dir()), None)


def _read_senteval(data: DataFolder, folder: str, file: str) -> list[tuple[Any, ...]]:
    """Return (score, sentence 1, sentence 2, sub-dataset) of each pair of a dataset."""
    if file in SENTEVAL_PARTS:
        year = f"{folder}/STS/{file}-en-test"
        return [row for part in SENTEVAL_PARTS[file] for row in _read_year(data, year, part)]
    task, split = file.split("-")
    if task == "STSB":
        parsers = (str, str, str, str, finite_number, str, str)
        benchmark = data.table(f"{folder}/STS/STSBenchmark/sts-{split}.csv", None, parsers)
        return [(score, first, second, source) for _, source, _, _, score, first, second in benchmark]
    name = f"{folder}/SICK/SICK_{'test_annotated' if split == 'test' else split}.txt"
    rows = data.table(name, SICK_COLUMNS, (str, str, str, finite_number, str))
    return [(score, first, second, "SICK") for _, first, second, score, _ in rows]


def _read_year(data: DataFolder, folder: str, part: str) -> list[tuple[Any, ...]]:
    """Return the pairs of one sub-dataset, whose sentences and scores are in two files; some pairs have no score."""
    sentences = data.table(f"{folder}/STS.input.{part}.txt", None, (str, str))
    scores = data.table(f"{folder}/STS.gs.{part}.txt", None, [lambda cell: finite_number(cell) if cell else None])
    if len(sentences) != len(scores):
        counts = f"{len(sentences):,} pairs but {len(scores):,} scores"
        raise FileError(f"{data.path / folder} has {counts} of {part}: both files need the same number of lines")
    return [(score, *pair, part) for pair, (score,) in zip(sentences, scores, strict=True) if score is not None]


@dataclass(frozen=True, eq=False)
class StsEvaluation(MetricEvaluation):
    """An evaluation on datasets of sentence pairs.

    Attributes:
        all_correlations: Also compute Pearson's r and the mean rho over sub-datasets.
    """

    TASK: ClassVar[str] = "sts"
    TITLE: ClassVar[str] = "Semantic textual similarity: correlation with human judgements"
    FACTS: ClassVar[dict[str, str]] = {
        "direction": "sentence 1 is the reference, sentence 2 the candidate",
        "idf": "fitted on the distinct sentences of each dataset, both sides",
        "intervals": "95%, percentile bootstrap over pairs; for Avg from the variances of its datasets",
    }

    all_correlations: bool = False

    def _dataset(self, pairs: SentencePairs) -> list[Result]:
        start = time.perf_counter()
        texts, left, right = pairs.distinct_texts
        scores = self._score_sets(self.encoder.encode(texts, progress=self.progress), left, right)
        results = self._correlations(pairs, scores)
        self.note(f"{pairs.name}: {counted(len(pairs), 'pair')} in {time.perf_counter() - start:.1f} s")
        return results

    def _correlations(self, pairs: SentencePairs, scores: dict[str, np.ndarray]) -> list[Result]:
        rows, gold, n = np.stack(list(scores.values())), pairs.gold, len(pairs)
        statistics = {"spearman": spearman_statistic(gold, rows)}
        if self.all_correlations and pairs.parts:
            statistics["spearman-mean"] = _part_mean(pairs, rows)
        if self.all_correlations:
            statistics["pearson"] = pearson_statistic(gold, rows)
        return self._results(pairs.name, scores, statistics, n, n)


def _part_mean(pairs: SentencePairs, rows: np.ndarray) -> Statistic:
    """Return the statistic that computes the mean of Spearman's rho over sub-datasets."""
    statistics = [(part, spearman_statistic(pairs.gold[part], rows[:, part])) for part in pairs.parts]
    return lambda counts: np.mean([statistic(counts[part]) for part, statistic in statistics], axis=0)
