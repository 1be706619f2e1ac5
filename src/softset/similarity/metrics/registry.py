"""The metrics by name, with parameters in brackets."""

import re
from dataclasses import fields
from typing import Any

from softset.errors import InputError
from softset.io.text import check_names
from softset.similarity.metrics.base import Metric
from softset.similarity.metrics.bertscore import BertScore, Grassmann, Johnson, SubspaceBertScore
from softset.similarity.metrics.lexical import Jaccard, JohnsonSymbolic, Symbolic, TfIdf
from softset.similarity.metrics.pooled import Average, Cls, DynaMax
from softset.similarity.metrics.softset import SoftsetScore
from softset.similarity.metrics.transport import Wmd, Wrd

METRICS: dict[str, type[Metric]] = {
    kind.NAME: kind
    for kind in (
        *(SoftsetScore, SubspaceBertScore, BertScore, Johnson),
        *(Average, Cls, DynaMax, Wmd, Wrd),
        *(Symbolic, Jaccard, JohnsonSymbolic, TfIdf, Grassmann),
    )
}
DEFAULT = SoftsetScore.NAME
PATTERN = re.compile(r"\s*([a-z-]+)\s*(?:\((.*)\))?\s*", re.DOTALL)


def metric(name: "str | Metric") -> Metric:
    """Return a metric by its name, with parameters in brackets where they differ from the defaults.

    >>> import softset
    >>> softset.metric("subspace(weights=l2)")
    subspace(weights=l2)
    >>> softset.metric("subspace( aperture = 2 )") == softset.metric("subspace(aperture=2.0, weights=none)")
    True
    >>> softset.metric("subspaces")
    Traceback (most recent call last):
    softset.errors.InputError: there is no metric 'subspaces'; did you mean 'subspace'? Metrics: softset, subspace, \
bertscore, johnson, average, cls, dynamax, wmd, wrd, symbolic, jaccard, johnson-symbolic, tfidf, grassmann
    """
    if isinstance(name, Metric):
        return name
    if not isinstance(name, str):
        raise InputError(f"a metric must be a name or a Metric, but {type(name).__name__} was given")
    if name.count("(") != name.count(")"):
        raise InputError(f"the brackets of {name[:80]!r} do not match: write for example subspace(weights=l2)")
    text, _, listed = name.strip().partition("(")
    check_names([text.strip()[:80]], METRICS, "metric")
    kind = METRICS[text.strip()]
    parameters: dict[str, Any] = {}
    for part in listed.removesuffix(")").split(","):
        if part.strip():
            parameter, value = _parameter(kind, part)
            if parameter in parameters:
                raise InputError(f"{parameter} is given twice in {name[:80]!r}: give it once")
            parameters[parameter] = value
    return kind(**parameters)


def _parameter(kind: type[Metric], text: str) -> tuple[str, Any]:
    """Return the name and value of one parameter, written as name=value."""
    name, equals, value = (part.strip() for part in text.partition("="))
    parameters = {field.name: field for field in fields(kind)}
    if name not in parameters:
        known = f"its parameters are {', '.join(parameters)}" if parameters else "it has no parameters"
        raise InputError(f"{kind.NAME} has no parameter {name[:80]!r}: {known}")
    if not equals or not value:
        raise InputError(f"{name} of {kind.NAME} has no value: write {name}=...")
    if not isinstance(parameters[name].default, float):
        return name, value
    try:
        return name, float(value)
    except ValueError:
        raise InputError(f"{name} of {kind.NAME} must be a number, but {value[:80]!r} was given") from None
