"""Sentence pairs with human similarity judgements: STS12 to STS16, STS-B and SICK-R.

Two layouts are read: TSV files in `sts/raw` and `sts/tokenised`, and the folder that SentEval's script creates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from softset.encoders.texts import distinct_indices
from softset.errors import FileError, InputError
from softset.evaluation.data import DataFolder, finite_number

__all__ = ["DATASETS", "TUNING", "SentencePairs", "TextForm", "choose_datasets", "read_datasets", "text_form"]

TextForm = Literal["raw", "tokenised"]
PairRow = tuple[float, str, str, str]  # gold score, both sentences, name of the sub-dataset

DATASETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
TUNING = ("STSB-train", "STSB-dev", "SICK-train", "SICK-trial")
FILES = {"STS-B": "STSB-test", "SICK-R": "SICK-test"}  # datasets whose file has another name
COLUMNS = ("score", "sentence1", "sentence2", "source")
YEARS = DATASETS[:5]

# Sub-datasets of each year in SentEval; STS13 is without SMT, which is not freely available.
SENTEVAL_PARTS = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
SENTEVAL_FOLDERS = ("downstream/STS", "data/downstream/STS", "STS")
SICK_COLUMNS = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """One dataset: n pairs of sentences, their gold scores, and the sub-dataset of each pair.

    >>> pairs = SentencePairs("STS12", np.array([4.5]), ["A red book."], ["The book is red."], ["MSRpar"])
    >>> len(pairs), pairs.distinct_texts
    (1, (['The book is red.', 'A red book.'], array([0]), array([1])))
    """

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

    def first(self, limit: int | None) -> "SentencePairs":
        """Return the first `limit` pairs, or all pairs if it is None."""
        columns = ("gold", "references", "candidates", "sources")
        return replace(self, **{name: getattr(self, name)[:limit] for name in columns})


def choose_datasets(names: Sequence[str]) -> list[str]:
    """Return the standard spelling of dataset names; without names, the seven test sets.

    >>> choose_datasets(["sts12", "STSB-test"])
    ['STS12', 'STS-B']
    >>> choose_datasets(["STS11"])
    Traceback (most recent call last):
    softset.errors.InputError: there is no dataset 'STS11': use some of STS12, STS13, STS14, STS15, STS16, STS-B, \
SICK-R, STSB-train, STSB-dev, SICK-train, SICK-trial
    """
    known = {name.lower(): name for name in (*DATASETS, *TUNING)}
    known |= {file.lower(): name for name, file in FILES.items()}
    for name in names:
        if name.lower() not in known:
            raise InputError(f"there is no dataset {name[:80]!r}: use some of {', '.join((*DATASETS, *TUNING))}")
    return list(dict.fromkeys(known[name.lower()] for name in names or DATASETS))


def read_datasets(
    data: DataFolder, names: Sequence[str], text: TextForm | None, limit: int | None
) -> list[SentencePairs]:
    """Read datasets from either layout; `text` chooses between sts/raw (the default) and sts/tokenised."""
    return [_read(data, name, text).first(limit) for name in names]


def text_form(data: DataFolder, text: TextForm | None) -> str:
    """Return the form of the sentences, for the facts of a table."""
    return text or ("raw" if _senteval_folder(data) is None else "as in SentEval's folder")


def _read(data: DataFolder, name: str, text: TextForm | None) -> SentencePairs:
    folder = _senteval_folder(data)
    file = FILES.get(name, name)
    if folder is not None and text is not None:
        raise InputError(
            f"--text-form chooses between sts/raw and sts/tokenised, but {data.path} is SentEval's folder: leave it out"
        )
    if folder is None:
        rows = data.table(f"sts/{text or 'raw'}/{file}.tsv", COLUMNS, (finite_number, str, str, str))
    else:
        rows = _read_senteval(data, folder, file)
    gold, references, candidates, sources = (list(column) for column in zip(*rows, strict=True))
    return SentencePairs(name, np.array(gold, dtype=np.float64), references, candidates, sources)


def _senteval_folder(data: DataFolder) -> str | None:
    """Return the path of SentEval's STS tasks inside the data folder, or None for the TSV layout."""
    if (data.path / "sts" / "raw").is_dir() or (data.path / "sts" / "tokenised").is_dir():
        return None
    return next((name for name in SENTEVAL_FOLDERS if (data.path / name).is_dir()), None)


def _read_senteval(data: DataFolder, folder: str, file: str) -> list[PairRow]:
    if file in SENTEVAL_PARTS:
        return [row for part in SENTEVAL_PARTS[file] for row in _read_year(data, f"{folder}/{file}-en-test", part)]
    task, split = file.split("-")
    return _read_benchmark(data, folder, split) if task == "STSB" else _read_sick(data, folder, split)


def _read_year(data: DataFolder, folder: str, part: str) -> list[PairRow]:
    """Read one sub-dataset of a year: sentences and scores are in two files; pairs without a score are skipped."""
    texts, scores = f"{folder}/STS.input.{part}.txt", f"{folder}/STS.gs.{part}.txt"
    sentences, golds = data.lines(texts), data.lines(scores)
    if len(sentences) != len(golds):
        raise FileError(
            f"{data.path / texts} has {len(sentences):,} lines but {data.path / scores} has {len(golds):,}: "
            "both need the same number"
        )
    rows = []
    for number, (line, gold) in enumerate(zip(sentences, golds, strict=True), 1):
        if gold.strip():
            first, second, *_ = data.cells(texts, number, line, 2)
            rows.append((data.number(scores, number, gold, finite_number), first, second, part))
    return _non_empty(data, texts, rows)


def _read_benchmark(data: DataFolder, folder: str, split: str) -> list[PairRow]:
    """Read STS-B: genre, file, year, number, score, two sentences, and sometimes their origin."""
    name = f"{folder}/STSBenchmark/sts-{split}.csv"
    rows = []
    for number, line in enumerate(data.lines(name), 1):
        genre, file, year, _, score, first, second, *_ = data.cells(name, number, line, 7)
        rows.append((data.number(name, number, score, finite_number), first, second, f"{genre}/{file}/{year}"))
    return _non_empty(data, name, rows)


def _read_sick(data: DataFolder, folder: str, split: str) -> list[PairRow]:
    parent = folder.removesuffix("STS")
    name = f"{parent}SICK/SICK_{'test_annotated' if split == 'test' else split}.txt"
    rows = data.table(name, SICK_COLUMNS, (str, str, str, finite_number, str))
    return [(score, first, second, f"SICK/{judgement}") for _, first, second, score, judgement in rows]


def _non_empty(data: DataFolder, name: str, rows: list[PairRow]) -> list[PairRow]:
    if not rows:
        raise FileError(f"{data.path / name} has no pair with a score")
    return rows
