"""Sentence pairs with human judgements of similarity: STS12 to STS16, STS-B and SICK-R, from either of two folders."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from softset.encoders.texts import distinct_indices
from softset.errors import InputError
from softset.evaluation.data import Data, numbers
from softset.evaluation.senteval import read_senteval, senteval_folder

__all__ = ["DATASETS", "TUNING", "SentencePairs", "Text", "chosen_datasets", "read_datasets", "text_form"]

Text = Literal["raw", "tokenised"]

DATASETS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
TUNING = ("STSB-train", "STSB-dev", "SICK-train", "SICK-trial")
FILES = {"STS-B": "STSB-test", "SICK-R": "SICK-test"}  # where a dataset has another name than its file
COLUMNS = ("score", "sentence1", "sentence2", "source")
YEARS = DATASETS[:5]


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """One dataset: n pairs of sentences, how alike people found them, and the sub-dataset of each.

    >>> pairs = SentencePairs("STS12", np.array([4.5]), ["A red book."], ["The book is red."], ["MSRpar"])
    >>> len(pairs), pairs.places
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
    def places(self) -> tuple[list[str], np.ndarray, np.ndarray]:
        """The distinct sentences, and where among them each candidate and each reference is."""
        first = distinct_indices([*self.candidates, *self.references])
        left, right = (np.array([first[one] for one in side]) for side in (self.candidates, self.references))
        return list(first), left, right

    @property
    def parts(self) -> list[np.ndarray]:
        """The places of each sub-dataset's pairs, for the datasets that are made of some: those of a year."""
        if self.name not in YEARS:
            return []
        sources = np.array(self.sources)
        return [np.flatnonzero(sources == one) for one in dict.fromkeys(self.sources)]

    def first(self, limit: int | None) -> "SentencePairs":
        """Return the first pairs alone, or all of them."""
        return replace(
            self,
            gold=self.gold[:limit],
            references=self.references[:limit],
            candidates=self.candidates[:limit],
            sources=self.sources[:limit],
        )


def chosen_datasets(wanted: Sequence[str]) -> list[str]:
    """Return the names of datasets as they are spelled here; of none, those of the tables.

    >>> chosen_datasets(["sts12", "STSB-test"])
    ['STS12', 'STS-B']
    >>> chosen_datasets(["STS11"])
    Traceback (most recent call last):
    softset.errors.InputError: there is no dataset 'STS11': use some of STS12, STS13, STS14, STS15, STS16, STS-B, \
SICK-R, STSB-train, STSB-dev, SICK-train, SICK-trial
    """
    known = {name.lower(): name for name in (*DATASETS, *TUNING)}
    known |= {file.lower(): name for name, file in FILES.items()}
    found = []
    for one in wanted or DATASETS:
        if one.lower() not in known:
            raise InputError(f"there is no dataset {one[:80]!r}: use some of {', '.join((*DATASETS, *TUNING))}")
        found.append(known[one.lower()])
    return list(dict.fromkeys(found))


def read_datasets(data: Data, names: Sequence[str], text: Text | None, limit: int | None) -> list[SentencePairs]:
    """Read datasets, from `sts/raw` or `sts/tokenised` of the folder, or from that of SentEval."""
    return [_read(data, name, text).first(limit) for name in names]


def text_form(data: Data, text: Text | None) -> str:
    """Return how the sentences of a folder are spelled, as a result tells it."""
    return text or ("raw" if senteval_folder(data) is None else "as SentEval's folder has it")


def _read(data: Data, name: str, text: Text | None) -> SentencePairs:
    folder = senteval_folder(data)
    file = FILES.get(name, name)
    if folder is None:
        rows = data.table(f"sts/{text or 'raw'}/{file}.tsv", COLUMNS, (numbers, str, str, str))
    elif text is not None:
        raise InputError(f"--text chooses between sts/raw and sts/tokenised, but {data.folder} is SentEval's: leave it")
    else:
        rows = read_senteval(data, folder, file)
    gold, references, candidates, sources = (list(column) for column in zip(*rows, strict=True))
    return SentencePairs(name, np.array(gold, dtype=np.float64), references, candidates, sources)
