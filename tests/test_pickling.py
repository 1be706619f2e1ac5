"""Exceptions, sets and results can be pickled, so that process pools can return them."""

import pickle
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np
import pytest

import softset
from softset import Calibration, GradedSubspace, Idf, Scorer, Subspace, TokenSets
from softset.errors import QueryError, SoftsetError, UnknownWordError

with suppress(ImportError):  # without the extra "serve", there are no exceptions of the server
    import softset.server.problems
    import softset.server.settings

ARGUMENTS = {"QueryError": ("a sentence", "{red", 2), "RequestError": (404, "a sentence")}
TEXTS = ["a red book", "the king sat", "rain fell today"]


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(child) for child in kind.__subclasses__()))


@pytest.mark.parametrize("kind", sorted(subclasses(SoftsetError), key=lambda kind: kind.__name__))
def test_every_exception_can_be_pickled(kind: type) -> None:
    error = kind(*ARGUMENTS.get(kind.__name__, ("a sentence",)))
    error.add_note("a note")
    for copy in (pickle.loads(pickle.dumps(error)), deepcopy(error)):
        assert type(copy) is kind and str(copy) == str(error) and copy.args == error.args
        assert vars(copy) == vars(error)


def test_errors_of_real_calls_can_be_pickled() -> None:
    words = softset.load_words()
    for query, kind in (("{red", QueryError), ("qqzzxx", UnknownWordError)):
        with pytest.raises(kind) as caught:
            words.find(query)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def _words(method: str, *arguments: Any, **options: Any) -> Callable[[], Any]:
    return lambda: getattr(softset.load_words(), method)(*arguments, **options)


RESULTS: dict[str, Callable[[], Any]] = {
    "SearchResult": _words("find", "{red, blue} & fruit - wine", explain=True),
    "MembershipResult": _words("membership", "red", ["blue", "dog"], explain=True),
    "Plan": _words("plan", "{red, blue} - wine"),
    "lattice": _words("plan", "{red, blue} - wine", logic="lattice"),
    "graded": _words("find", "{red, blue} & {apple, plum}", logic="graded"),
    "Projection2D": _words("map", "{red, blue}"),
    "Scores": lambda: softset.score(TEXTS, TEXTS[::-1], model="words"),
    "ScoreMatrix": lambda: Scorer("words").matrix(TEXTS),
    "Explanation": lambda: Scorer("words").explain(*TEXTS[:2]),
    "Idf": lambda: Idf.fit(TEXTS, model="words"),
    "Calibration": lambda: Calibration.fit(TEXTS, model="words"),
    "TokenSets": lambda: Scorer("words").encode(TEXTS),
    "TokenSets of arrays": lambda: TokenSets.from_arrays([np.eye(3)[:2]], tokens=[["a", "b"]]),
    "Subspace": lambda: ~Subspace.span(np.eye(4)[:2]),
    "GradedSubspace": lambda: GradedSubspace.of(np.eye(4)[:2]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_can_be_pickled(name: str) -> None:
    result = RESULTS[name]()
    for copy in (pickle.loads(pickle.dumps(result)), deepcopy(result)):
        assert type(copy) is type(result) and repr(copy) == repr(result)
        if hasattr(result, "to_dict"):
            assert copy.to_dict() == result.to_dict()
