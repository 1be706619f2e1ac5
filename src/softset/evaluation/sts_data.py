"""Sentence pairs with human similarity judgements: STS12 to STS16, STS-B and SICK-R, from sts/raw or sts/tokenised."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from softset.encoders.texts import distinct_indices
from softset.errors import InputError
from softset.evaluation.data import DataFolder, finite_number

TextForm = Literal["raw", "tokenised"]

DATASETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
TUNING = ("STSB-train", "STSB-dev", "SICK-train", "SICK-trial")
FILES = {"STS-B": "STSB-test", "SICK-R": "SICK-test"}  # datasets whose file has another name
COLUMNS = ("score", "sentence1", "sentence2", "source")
YEARS = DATASETS[:5]


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
    data: DataFolder, names: Sequence[str], text: TextForm = "raw", limit: int | None = None
) -> list[SentencePairs]:
    """Read the first `limit` pairs of each dataset; `text` chooses between sts/raw and sts/tokenised.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "sts", "raw").mkdir(parents=True)
    ...     lines = ["\\t".join(COLUMNS), "4.5\\tA red book.\\tThe book is red.\\tMSRpar"]
    ...     _ = Path(folder, "sts", "raw", "STS12.tsv").write_text("\\n".join(lines))
    ...     read_datasets(DataFolder(folder), ["STS12"])[0].candidates
    ['The book is red.']
    """
    datasets = []
    for name in names:
        rows = data.table(f"sts/{text}/{FILES.get(name, name)}.tsv", COLUMNS, (finite_number, str, str, str))
        gold, references, candidates, sources = (list(column) for column in zip(*rows[:limit], strict=True))
        datasets.append(SentencePairs(name, np.array(gold, dtype=np.float64), references, candidates, sources))
    return datasets
