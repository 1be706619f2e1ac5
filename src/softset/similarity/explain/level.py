"""The chance level beside a score: what two texts score that have nothing to do with each other."""

import csv
from dataclasses import fields
from functools import cache
from typing import NamedTuple

import numpy as np

from softset.encoders.models import BUNDLED
from softset.encoders.signature import parse_signature
from softset.io.assets import bundled_file
from softset.similarity.metrics import Metric
from softset.similarity.metrics.base import harmonic_mean
from softset.similarity.metrics.subspace import Johnson, SubspaceBertScore
from softset.similarity.pairs import Pairs

__all__ = ["Level", "chance_level"]

MEASURED = "baselines/levels.csv"


class Level(NamedTuple):
    """Precision, recall and F by chance, and how they are known."""

    precision: float
    recall: float
    score: float
    how: str


def chance_level(metric: Metric, pairs: Pairs, moment: np.ndarray | None, signature: str) -> Level | None:
    """Return the level of one pair: in closed form, or as it was measured for the bundled encoder, or None.

    The closed form is that of these two sets; what was measured is a mean over many pairs of sentences.
    """
    if isinstance(metric, SubspaceBertScore) and not isinstance(metric, Johnson) and moment is not None:
        of_candidate, of_reference = metric.chance(pairs, moment)[0]
        score = harmonic_mean(of_reference, of_candidate)
        return Level(float(of_reference), float(of_candidate), float(score), "closed form")
    plain = all(getattr(metric, one.name) == one.default for one in fields(metric))
    if not plain or not signature.startswith(f"encoder:{BUNDLED}@"):
        return None
    facts = parse_signature(signature)
    if facts["unit"] != "token" or facts["special"] != "out":
        return None
    found = _measured().get((metric.NAME, facts["layer"]))
    return None if found is None else Level(*found, "measured on 4,000 pairs of unrelated sentences")


@cache
def _measured() -> dict[tuple[str, str], tuple[float, float, float]]:
    with bundled_file(MEASURED).open(encoding="ascii", newline="") as file:
        rows = list(csv.DictReader(file))
    return {(row["METRIC"], row["LAYER"]): (float(row["P"]), float(row["R"]), float(row["F"])) for row in rows}
