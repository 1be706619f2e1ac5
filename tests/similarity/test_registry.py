"""The repr of a metric is its name and can be parsed; invalid names are rejected."""

from dataclasses import fields
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softset import Scorer, metric
from softset.encoders.signature import format_signature, parse_signature
from softset.errors import InputError
from softset.similarity.metrics import METRICS, Metric
from softset.similarity.metrics.bertscore import SubspaceBertScore
from softset.similarity.metrics.softset import SoftsetScore
from tests.similarity.cases import EVERY

CHOICES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    name: {
        "weights": st.sampled_from(["none", "idf"] if "symbolic" in name else ["none", "l2", "l1", "idf", "rare"]),
        "aperture": st.floats(1e-6, 1e12) | st.integers(1, 100) | st.just(inf),
        "ridge": st.floats(1e-3, 1e4) | st.integers(1, 100),
        "index": st.sampled_from(["jaccard", "otsuka", "dice"]),
        "distance": st.sampled_from(["euclidean", "rms"]),
    }
    for name in METRICS
}


@st.composite
def metrics(draw: st.DrawFn) -> Metric:
    name = draw(st.sampled_from(sorted(METRICS)))
    kind = METRICS[name]
    chosen = draw(st.sets(st.sampled_from([field.name for field in fields(kind)]))) if fields(kind) else set()
    return kind(**{field: draw(CHOICES[name][field]) for field in sorted(chosen)})


@given(metrics())
def test_repr_can_be_parsed(original: Metric) -> None:
    assert metric(repr(original)) == original
    assert metric(str(original)) == original
    assert metric(parse_signature(format_signature({"metric": original}))["metric"]) == original


@given(metrics())
def test_repr_shows_only_changed_parameters(original: Metric) -> None:
    for field in fields(original):
        assert (f"{field.name}=" in repr(original)) == (getattr(original, field.name) != field.default)


@pytest.mark.parametrize("name", EVERY)
def test_spaces_in_names_are_ignored(name: str) -> None:
    assert metric(name) == metric(f"  {name.replace('=', ' = ').replace('(', ' ( ').replace(')', ' )')} ")
    assert hash(metric(name)) == hash(metric(repr(metric(name))))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("softset", "softset"),
        ("softset()", "softset"),
        ("softset(weights=rare, ridge=1)", "softset"),
        ("softset(ridge=2)", "softset(ridge=2)"),
        ("softset(weights=none)", "softset(weights=none)"),
        ("softset(ridge=0.5, weights=idf)", "softset(weights=idf, ridge=0.5)"),
        (SoftsetScore(ridge=2), "softset(ridge=2)"),
    ],
)
def test_the_names_of_the_default_metric(name: Any, shown: str) -> None:
    assert repr(metric(name)) == shown and metric(shown) == metric(name)


def test_the_default_is_softset() -> None:
    assert Scorer(None).metric == SoftsetScore() == metric("softset")


def test_metric_objects_are_returned_unchanged() -> None:
    original = SubspaceBertScore(weights="l2")
    assert metric(original) is original


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "subspaces",
            r"there is no metric 'subspaces'; did you mean 'subspace'\? Metrics: softset, subspace, bertscore",
        ),
        ("", "there is no metric ''"),
        ("subspace(", "the brackets of 'subspace\\(' do not match"),
        ("Subspace", "there is no metric 'Subspace'"),
        ("subspace(weights=l3)", "subspace has no weights 'l3': use one of none, l2, l1, idf, rare"),
        ("subspace(weights)", "weights of subspace has no value: write weights=..."),
        ("subspace(weight=l2)", "subspace has no parameter 'weight': its parameters are weights, aperture"),
        ("jaccard(weights=idf)", "jaccard has no parameter 'weights': it has no parameters"),
        ("symbolic(weights=l2)", "symbolic has no weights 'l2': use one of none, idf"),
        ("subspace(aperture=wide)", "aperture of subspace must be a number, but 'wide' was given"),
        ("subspace(aperture=)", "aperture of subspace has no value"),
        ("subspace(aperture=-1)", "the aperture must be a number from 1e-06 to inf, but -1.0 was given"),
        ("subspace(aperture=nan)", "but nan was given"),
        ("softset(aperture=2)", "softset has no parameter 'aperture': its parameters are weights, ridge"),
        ("softset(ridge=0.0009)", "the ridge must be a number from 0.001 to 10000, but 0.0009 was given"),
        ("softset(ridge=10001)", "the ridge must be a number from 0.001 to 10000, but 10001.0 was given"),
        ("softset(ridge=nan)", "but nan was given"),
        ("dynamax(index=cosine)", "dynamax has no index 'cosine': use one of jaccard, otsuka, dice"),
        ("wmd(distance=l1)", "wmd has no distance 'l1': use one of euclidean, rms"),
        ("grassmann(distance=chordal)", "grassmann has no parameter 'distance': it has no parameters"),
        ("subspace(aperture=2, aperture=3)", "aperture"),  # which of them would count?
        (None, "a metric must be a name or a Metric, but NoneType was given"),
        (3, "but int was given"),
    ],
)
def test_invalid_names_are_rejected(name: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence) as caught:
        metric(name)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=40) | st.text("subpacewighto=(),.12 ", max_size=30).map(lambda text: "subspace(" + text + ")"))
def test_any_string_is_parsed_or_rejected(name: str) -> None:
    try:
        said = repr(metric(name))
    except InputError as error:
        said = str(error)
    assert "\n" not in said


@pytest.mark.parametrize("value", ["2", None, [2.0], True, 10**400, -(10**400)], ids=lambda value: repr(value)[:9])
@pytest.mark.parametrize(("kind", "name"), [(SubspaceBertScore, "aperture"), (SoftsetScore, "ridge")])
def test_invalid_numbers_are_rejected(kind: type[Metric], name: str, value: Any) -> None:
    """True would be shown as a number that does not parse back, and 10**400 fits no float."""
    with pytest.raises(InputError, match=f"the {name} must be .*, but") as caught:
        kind(**{name: value})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


def test_bounds_of_the_ridge_are_accepted() -> None:
    assert [SoftsetScore(ridge=ridge).ridge for ridge in (1e-3, 1, np.float32(2), 10**4)] == [1e-3, 1.0, 2.0, 1e4]
