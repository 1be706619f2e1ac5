"""BUT NOT: where the border of the excluded set is, and what strictness changes."""

from typing import Any

import numpy as np
import pytest

from softset import load_words
from softset.query.exclusion import GRID, Border, Strictness, find_border
from softset.query.plan import Plan

WORDS = load_words()


def border_of(plan: Plan) -> Border:
    (exclusion,) = plan.combination.exclusions.values()
    (border,) = exclusion.borders.values()
    return border


def outside(query: str, *words: str) -> list[float]:
    """Return the probabilities of words to be outside the right side of a query A - B."""
    plan = WORDS.plan(query)
    removed = plan.leaves[-1].members
    rows = np.stack([WORDS.preprocessed(None, plan.logic).vector(WORDS.match(word)) for word in words])
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return border_of(plan)(removed.log_odds(units @ removed.direction)).tolist()


def test_a_border_falls_from_1_to_0() -> None:
    for query in ("{monday, tuesday} - friday", "bass - {guitar, drums}", "{dog, cat} - {table, chair}"):
        values = border_of(WORDS.plan(query)).outside
        assert (np.diff(values) <= 0).all() and values[0] > 0.99 and values[-1] == pytest.approx(1e-9)
        assert (values <= 1 - 1e-9).all()


def test_a_border_is_constant_outside_its_grid() -> None:
    border = border_of(WORDS.plan("{monday, tuesday} - friday"))
    assert border(np.array([-1e9, 1e9])).tolist() == [border.outside[0], border.outside[-1]]
    between = (GRID[400] + GRID[401]) / 2
    assert border(np.array([between]))[0] == pytest.approx(border.outside[400:402].mean())


def test_a_sibling_of_the_examples_keeps_siblings() -> None:
    near, itself = outside("{monday, tuesday, wednesday} - sunday", "saturday", "sunday")
    assert near > 0.9 and itself < 0.05
    alone, _ = outside("monday - sunday", "saturday", "sunday")
    assert alone < 0.05  # with one example, everything like B is removed


def test_a_set_that_is_far_keeps_a_wide_border() -> None:
    fruit, red = outside("{monday, tuesday} - {apple, banana}", "pear", "red")
    assert fruit < 0.01 and red < 0.6
    fruit, red = outside("{lemon, orange, cherry} - {apple, banana}", "pear", "red")
    assert fruit > 0.01 and red > 0.9


def test_examples_of_the_excluded_set_widen_its_border() -> None:
    """They are like their own set only, and an item that is as like it as they are is inside, too."""
    (one,), (several,) = (
        outside(query, "fiddle") for query in ("bass - violin", "bass - {violin, flute, trumpet, piano}")
    )
    assert one < 0.5 and several < 0.5
    examples = ["violin", "flute", "trumpet", "piano"]
    assert max(outside(f"bass - {{{', '.join(examples)}}}", *examples)) < 0.3


def test_the_reach_of_the_background_is_the_median_of_the_prior() -> None:
    plan = WORDS.plan("bass - guitar")
    background = WORDS.preprocessed(None, plan.logic).background
    removed = plan.leaves[-1]
    border = find_border(removed.members, removed.vectors, [], background, 1.0)
    at = 2 * (background.reach - 0.5)
    assert border(np.array([at]))[0] == pytest.approx(0.5, abs=0.02)
    assert border(np.array([at + 1]))[0] == pytest.approx(1 / (1 + np.exp(3)), abs=0.005)


@pytest.mark.parametrize(
    ("strict", "examples", "expected"),
    [
        (0, 3, (0.25, 1, 1)),
        (0.25, 3, (0.25, 0.125, 1)),
        (0.5, 3, (0.25, 0, 1)),
        (0.5, 2, (0.25, 0, 1)),
        (0.75, 3, (0.375, 0, 0.75)),
        (1, 3, (0.5, 0, 0.5)),
        (0, 1, (0.5, 1, 1)),
        (0.5, 1, (0.5, 0, 1)),
        (1, 1, (0.5, 0, 0.5)),
    ],
)
def test_numbers_of_a_strictness(strict: float, examples: int, expected: tuple[float, ...]) -> None:
    found = Strictness.of(strict, examples)
    assert (found.weight, found.min_outside, found.evidence_share) == pytest.approx(expected)


def test_the_penalty_has_a_limit_below_one_half() -> None:
    penalty = Strictness.of(0.25, 3).penalty(np.array([1, 0.5, 1e-9]))
    assert penalty == pytest.approx(0.25 * np.log([1, 0.125 + 0.875 * 0.5, 0.125]), abs=1e-6)
    assert Strictness.of(0, 3).penalty(np.array([1e-9])) == 0


def test_the_largest_slope_bounds_every_difference() -> None:
    border = border_of(WORDS.plan("{monday, tuesday, wednesday} - sunday"))
    starts = np.concatenate([GRID, np.random.default_rng(1).uniform(-6, 18, 5_000)])
    for values, slope in zip((border, lambda odds: 1 - border(odds)), border.max_slopes, strict=True):
        largest = 0.0
        for step in (1e-5, -1e-5, 1e-2):
            changes = np.abs(np.log(values(starts + step)) - np.log(values(starts)))
            largest = max(largest, float(changes.max() / abs(step)))
        assert largest <= slope * (1 + 1e-6) + 1e-6 and largest > 0.9 * slope


def ranks(query: Any, *words: str) -> list[int]:
    order = {hit.id: rank for rank, hit in enumerate(WORDS.find(query, 2_000, include_examples=True))}
    return [order.get(word, 2_000) for word in words]


def test_strictness_removes_more_and_more() -> None:
    city = WORDS.set("milan", "venice", "florence")
    values = [
        [item.membership for item in WORDS.membership(city.without("rome", strict=strict), ["rome", "naples"])]
        for strict in (0, 0.25, 0.5, 0.75, 1)
    ]
    for one, all_of_it in zip(zip(*values, strict=True), WORDS.membership(city, ["rome", "naples"]), strict=True):
        assert list(one) == sorted(one, reverse=True) and one[0] == pytest.approx(all_of_it.membership)
    assert values[0][0] > 0.6 and values[2][0] < 0.05  # rome itself, already by default
    assert values[2][1] == pytest.approx(values[0][1], abs=0.01) and values[4][1] < 0.8 * values[0][1]


def test_the_strict_operator_removes_also_what_is_like_the_examples() -> None:
    mild, strict = ranks("{dog, cat, horse} - wolf", "coyote"), ranks("{dog, cat, horse} -- wolf", "coyote")
    assert mild < strict
