"""Metrics by name, with their parameters in brackets."""

import re
from dataclasses import fields
from typing import Any

from softset.errors import InputError
from softset.similarity.metrics.base import Metric
from softset.similarity.metrics.bertscore import BertScore
from softset.similarity.metrics.dynamax import DynaMax
from softset.similarity.metrics.grassmann import Grassmann
from softset.similarity.metrics.lexical import Jaccard, JohnsonSymbolic, Symbolic, TfIdf
from softset.similarity.metrics.pooled import Average, Cls
from softset.similarity.metrics.softset import SoftsetScore
from softset.similarity.metrics.subspace import Johnson, SubspaceBertScore
from softset.similarity.metrics.transport import Wmd, Wrd

__all__ = ["DEFAULT", "METRICS", "metric"]

KINDS: tuple[type[Metric], ...] = (
    SoftsetScore,
    SubspaceBertScore,
    BertScore,
    Johnson,
    Average,
    Cls,
    DynaMax,
    Wmd,
    Wrd,
    Symbolic,
    Jaccard,
    JohnsonSymbolic,
    TfIdf,
    Grassmann,
)
METRICS: dict[str, type[Metric]] = {kind.NAME: kind for kind in KINDS}
DEFAULT = SoftsetScore.NAME
SPELLING = re.compile(r"\s*([a-z-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def metric(given: "str | Metric") -> Metric:
    """Return a metric by its name, with parameters in brackets where they differ from the defaults.

    >>> import softset
    >>> softset.metric("subspace(weights=l2)")
    subspace(weights=l2)
    >>> softset.metric("subspace( aperture = 2 )") == softset.metric("subspace(aperture=2.0, weights=none)")
    True
    >>> softset.metric("subspaces")
    Traceback (most recent call last):
    softset.errors.InputError: there is no metric 'subspaces': use one of softset, subspace, bertscore, johnson, \
average, cls, dynamax, wmd, wrd, symbolic, jaccard, johnson-symbolic, tfidf, grassmann
    """
    if isinstance(given, Metric):
        return given
    if not isinstance(given, str):
        raise InputError(f"a metric is given by its name or as an object, but {type(given).__name__} was given")
    if given.count("(") != given.count(")"):
        raise InputError(f"a bracket of {given[:80]!r} has no other half: write it as subspace(weights=l2)")
    found = SPELLING.fullmatch(given)
    if found is None or found[1] not in METRICS:
        raise InputError(f"there is no metric {given[:80]!r}: use one of {', '.join(METRICS)}")
    kind = METRICS[found[1]]
    parameters: dict[str, Any] = {}
    for part in (found[2] or "").split(","):
        if part.strip():
            name, value = _parameter(kind, part)
            if name in parameters:
                raise InputError(f"{name} is given twice in {given[:80]!r}: give it once")
            parameters[name] = value
    return kind(**parameters)


def _parameter(kind: type[Metric], text: str) -> tuple[str, Any]:
    """Return one name=value of a metric's parameters."""
    name, equals, value = (part.strip() for part in text.partition("="))
    known = {one.name: one for one in fields(kind)}
    if name not in known:
        what = f"its parameters are {', '.join(known)}" if known else "it has none"
        raise InputError(f"{kind.NAME} has no parameter {name[:80]!r}: {what}")
    if not equals or not value:
        raise InputError(f"{name} of {kind.NAME} has no value: write it as {name}=...")
    if not isinstance(known[name].default, float):
        return name, value
    try:
        return name, float(value)
    except ValueError:
        raise InputError(f"{name} of {kind.NAME} is a number, but {value[:80]!r} was given") from None
