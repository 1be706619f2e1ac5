"""Baseline files as bert_score has them: what unrelated texts score at each layer, and scores counted from there."""

import csv
import math
import os
from pathlib import Path

import numpy as np

from softset.errors import FileError
from softset.similarity.calibration import rescaled
from softset.similarity.metrics.base import PRF

__all__ = ["Baselines"]

HEADER = ["LAYER", "P", "R", "F"]


class Baselines:
    """The chance levels of a file with the header LAYER,P,R,F and one row a layer.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.tsv"
    ...     _ = path.write_text("LAYER,P,R,F\\n0,0.3,0.3,0.3\\n1,0.5,0.5,0.5\\n")
    ...     Baselines(path).at(1)
    (0.5, 0.5, 0.5)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.levels = _read(Path(path))

    def at(self, layer: int | None) -> tuple[float, float, float]:
        """Return precision, recall and F of unrelated texts at a layer."""
        if layer not in self.levels:
            known = ", ".join(map(str, self.levels))
            raise FileError(f"{self.path} has no row for layer {layer}: it has rows for {known}")
        return self.levels[layer]

    def rescale(self, numbers: PRF, empty: np.ndarray, layer: int | None) -> PRF:
        """Return (x - b) / (1 - b) for each number; those of pairs with an `empty` side (n,) stay as they are.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "mine.tsv"
        ...     _ = path.write_text("LAYER,P,R,F\\n4,0.5,0.5,0.5\\n")
        ...     one = np.array([0.75, 0.0])
        ...     Baselines(path).rescale(PRF(one, one, one), np.array([False, True]), 4).score.tolist()
        [0.5, 0.0]
        """
        levels = PRF(*(np.full(len(empty), level) for level in self.at(layer)))
        after = rescaled(numbers, levels)
        return PRF(*(np.where(empty, old, new) for old, new in zip(numbers, after, strict=True)))


def _read(path: Path) -> dict[int, tuple[float, float, float]]:
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FileError(f"{path} is no text file: a table with the header {','.join(HEADER)} was wanted") from None
    mark = "\t" if lines and "\t" in lines[0] else ","  # bert_score's files are named .tsv and have commas
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
    if not rows or rows[0] != HEADER:
        raise FileError(
            f"{path} does not begin with the header {','.join(HEADER)}: one row a layer was wanted below it"
        )
    levels: dict[int, tuple[float, float, float]] = {}
    for number, row in enumerate(rows[1:], 2):
        if any(row):
            layer, level = _row(path, number, row)
            if layer in levels:
                raise FileError(f"{path} has layer {layer} twice, the second time in line {number}")
            levels[layer] = level
    if not levels:
        raise FileError(f"{path} has no row below its header: one row a layer was wanted")
    return levels


def _row(path: Path, number: int, row: list[str]) -> tuple[int, tuple[float, float, float]]:
    """Return the layer and the levels of one row."""
    try:
        layer, precision, recall, f1 = int(row[0]), *map(float, row[1:])
    except ValueError:
        layer, precision, recall, f1 = -1, math.nan, math.nan, math.nan
    if layer < 0 or not all(-1 <= one < 1 for one in (precision, recall, f1)):
        raise FileError(
            f"line {number} of {path} is no layer with its three numbers below 1, such as 17,0.83,0.83,0.83: "
            f"{','.join(row)[:60]!r}"
        )
    return layer, (precision, recall, f1)
