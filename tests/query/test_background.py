"""The scale of memberships: backgrounds, centroids and calibrations."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from softset import WordVectors, load_words
from softset.errors import FileError, InputError
from softset.query.background import (
    DEFAULT_CALIBRATION,
    MIN_SLOPE,
    SIZE,
    Background,
    MembershipCalibration,
    Scale,
    mean_direction,
    sample_indices,
)
from softset.query.centroid import Centroid, make_centroids

WORDS = load_words()


def test_the_scale_is_the_mean_and_the_mean_of_the_highest() -> None:
    scores = np.arange(1_000.0)
    assert Scale.of(scores, 0.02) == Scale(499.5, 992)  # the highest 15
    assert Scale.of(np.arange(10.0), 0.02) == Scale(4.5, 9)  # the highest one
    assert Scale.of(np.full(64, 0.5), 0.25) == Scale(0.5, 0.75)  # scores that are all alike have a minimal spread
    assert Scale.of(np.zeros(0), 0.02) == Scale(0, 0.02)
    with pytest.raises(FileError, match="a vector has a number that is not finite"):
        Scale.of(np.array([0.1, np.nan]), 0.02)


def test_relative_values_are_0_at_the_mean_and_1_at_the_reference() -> None:
    assert Scale(0.1, 0.5).relative(np.array([-0.3, 0.1, 0.5, 0.9])) == pytest.approx([-1, 0, 1, 2])


@pytest.mark.parametrize(("n", "size", "expected"), [(0, 4, []), (1, 4, [0]), (3, 4, [0, 1, 2]), (9, 3, [0, 4, 8])])
def test_sample_indices(n: int, size: int, expected: list[int]) -> None:
    assert sample_indices(n, size).tolist() == expected


def test_a_sample_has_different_items_from_the_first_to_the_last() -> None:
    for n in (SIZE, SIZE + 1, 2 * SIZE - 1, 10 * SIZE):
        indices = sample_indices(n)
        assert len(np.unique(indices)) == SIZE and indices[0] == 0 and indices[-1] == n - 1


def test_vectors_of_a_background_have_length_1_and_zero_vectors_are_left_out() -> None:
    background = Background.of(np.array([[3.0, 4.0], [0, 0], [0, 1e-200]]), reach=1.0, note="a note")
    assert background.units.tolist() == [[0.6, 0.8], [0, 1]] and (background.reach, background.note) == (1.0, "a note")
    with pytest.raises(FileError, match="a number that is not finite"):
        Background.of(np.array([[1.0, np.inf]]))


def test_a_centroid_has_the_log_odds_of_its_background() -> None:
    rows = np.random.default_rng(0).normal(size=(400, 5))
    background = Background.of(rows)
    (centroid,), (odds,) = make_centroids([np.eye(5)[0]], background)
    cosines = background.units[:, 0]
    assert centroid.scale == Scale.of(cosines, 0.02)
    assert odds == pytest.approx(2 * (centroid.scale.relative(cosines) - 0.5))
    assert (centroid.dim, centroid.ambient, centroid.factor().shape) == (1, 5, (1, 5))
    assert make_centroids([], background)[0] == []


def test_membership_of_a_centroid_ignores_lengths() -> None:
    centroid = Centroid(np.array([0.6, 0.8]), Scale(0.1, 0.5))
    rows = np.array([[6.0, 8.0], [0.006, 0.008], [0, 1], [0, 0], [-3, -4]])
    y = np.array([2.25, 2.25, 1.75])
    expected = [*(1 / (1 + np.exp(-4 * (y - 2)))), 0]
    assert centroid.membership(rows)[:4] == pytest.approx(expected)
    assert 0 < centroid.membership(rows)[4] < 1e-8
    assert centroid.membership(rows[0]) == pytest.approx(expected[0]) and centroid.membership(rows[3]) == 0


def test_mean_direction() -> None:
    rows = np.array([[5.0, 0], [0, 0.1]])
    assert mean_direction(rows, np.array([3.0, 1.0])) == pytest.approx(np.array([3, 1]) / np.sqrt(10))
    assert mean_direction(rows, np.array([3e-200, 1e-200])) == pytest.approx(np.array([3, 1]) / np.sqrt(10))
    assert mean_direction(np.array([[1.0, 0], [-2, 0]]), np.ones(2)).tolist() == [0, 0]


def test_examples_that_cancel_out_are_refused() -> None:
    words = WordVectors.of(["a", "b", "c"], [[1, 0], [-1, 0], [0, 1]])
    with pytest.raises(InputError, match=r"the examples of \{a, b\} cancel out"):
        words.find("{a, b}")
    assert len(words.find("{a, b}", logic="lattice")) == 0


def test_items_that_are_all_alike_have_memberships() -> None:
    words = WordVectors.of([f"w{i}" for i in range(20)], np.ones((20, 3)))
    memberships = [hit.membership for hit in words.find("w1 | w2", 20)]
    assert memberships == pytest.approx([memberships[0]] * 18) and 0 < memberships[0] < 0.5


# Calibrations


def test_the_default_calibration() -> None:
    assert DEFAULT_CALIBRATION.apply(np.array([-np.inf, 2.0, 2.5, np.inf])) == pytest.approx(
        [0, 0.5, 1 / (1 + np.exp(-2)), 1]
    )
    assert DEFAULT_CALIBRATION.apply(np.array([-1e6, 1e6])).tolist() == [0, 1]


@pytest.mark.parametrize(("midpoint", "slope"), [(np.nan, 1), (np.inf, 1), (1, 0), (1, -1), (1, np.inf), (1, np.nan)])
def test_invalid_calibrations_are_refused(midpoint: float, slope: float) -> None:
    with pytest.raises(InputError, match="a calibration needs a finite midpoint and a slope above 0"):
        MembershipCalibration(midpoint, slope)


points = st.lists(st.tuples(st.floats(-20, 20), st.booleans()), min_size=1, max_size=40)


@given(points)
def test_a_fit_minimises_the_loss_of_observations_and_the_default(rows: list[tuple[float, bool]]) -> None:
    values, belongs = np.array([value for value, _ in rows]), np.array([one for _, one in rows])
    grid = np.linspace(0, 4, 9)  # the default counts as four observations
    x, target = np.append(values, grid), np.append(belongs.astype(float), 1 / (1 + np.exp(-4 * (grid - 2))))
    weight = np.append(np.ones(len(values)), np.full(9, 4 / 9))

    def loss(parameters: np.ndarray) -> float:
        z = parameters[0] + parameters[1] * x
        return float(weight @ (np.logaddexp(0, z) - target * z))

    best = min((minimize(loss, start, method="Nelder-Mead") for start in ([-8, 4], [0, 0.5])), key=lambda r: r.fun)
    if best.x[1] < MIN_SLOPE + 1e-3:
        if best.x[1] < MIN_SLOPE - 1e-3:
            with pytest.raises(InputError, match="the members do not score above the non-members"):
                MembershipCalibration.fit(values, belongs)
        return
    fitted = MembershipCalibration.fit(values, belongs)
    assert loss(np.array([-fitted.midpoint * fitted.slope, fitted.slope])) <= best.fun + 1e-5


def test_members_move_the_midpoint_down_and_non_members_up() -> None:
    low = MembershipCalibration.fit(np.array([1.0, 1.2, 1.4]), np.array([True, True, True]))
    high = MembershipCalibration.fit(np.array([2.5, 2.7, 3.0]), np.array([False, False, False]))
    assert low.midpoint < 1.7 and high.midpoint > 2.3
    nothing = MembershipCalibration.fit(np.zeros(0), np.zeros(0, bool))
    assert (nothing.midpoint, nothing.slope) == pytest.approx((2, 4))


def test_exchanged_members_are_refused() -> None:
    with pytest.raises(InputError, match="the members do not score above the non-members"):
        MembershipCalibration.fit(np.array([0.0, 0.5, 3, 3.5]), np.array([True, True, False, False]))


def test_calibrated_memberships_follow_the_members() -> None:
    query, related, distant = "{dog, cat, hamster}", ["rabbit", "horse", "goat", "cow"], ["wolf", "puppy", "leash"]
    generous, strict = WORDS.calibrate(query, related, ["table"]), WORDS.calibrate(query, ["rabbit"], distant)
    assert generous.midpoint < 2 < strict.midpoint
    plain, more, fewer = (WORDS.find(query, 40, calibration=one) for one in (None, generous, strict))
    assert [hit.id for hit in plain] == [hit.id for hit in more] == [hit.id for hit in fewer]
    for one, above, below in zip(plain, more, fewer, strict=True):
        assert one.membership < above.membership
        if one.membership > 0.5:  # a flatter function raises low memberships
            assert below.membership < one.membership
    assert WORDS.count(query, calibration=generous) > WORDS.count(query, calibration=strict)
    (alone,) = WORDS.membership(query, ["rabbit"], calibration=generous)
    assert alone.membership == pytest.approx(next(hit.membership for hit in more if hit.id == "rabbit"), abs=1e-6)


def test_a_negated_query_is_calibrated_by_its_own_members() -> None:
    calibration = WORDS.calibrate("~{dog, cat}", ["wolf", "rabbit"], ["puppy"])
    opposite = WORDS.calibrate("{dog, cat}", ["puppy"], ["wolf", "rabbit"])
    assert (calibration.midpoint, calibration.slope) == pytest.approx((opposite.midpoint, opposite.slope))
    values = {
        one.id: one.membership for one in WORDS.membership("~{dog, cat}", ["wolf", "puppy"], calibration=calibration)
    }
    assert values["wolf"] > 0.5 > values["puppy"]


@pytest.mark.parametrize(
    ("members", "non_members", "options", "sentence"),
    [
        ([], ["dog"], {}, "members is empty: give at least one text that does belong"),
        (["dog"], [], {}, "non_members is empty: give at least one text that does not belong"),
        ("dog", ["cat"], {}, "a list of texts was expected, but one str was given"),
        (["blue"], ["qqzzxx"], {}, "'qqzzxx' has no vector here"),
        (["blue"], ["dog"], {"logic": "graded"}, "only memberships of the logic logistic can be calibrated, not of gr"),
        (["blue"], ["dog"], {"logik": "graded"}, "there is no option 'logik'; did you mean 'logic'"),
        (["dog", "cat", "cow", "horse"], ["yellow", "pink", "purple", "orange"], {}, "do not score above"),
    ],
)
def test_calibrations_that_cannot_be_fitted(members: Any, non_members: Any, options: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        WORDS.calibrate("{red, green}", members, non_members, **options)


def test_calibrations_that_cannot_be_used() -> None:
    with pytest.raises(InputError, match="a calibration is for the logic logistic: leave it out in the logic lattice"):
        WORDS.find("red", logic="lattice", calibration=MembershipCalibration())
    with pytest.raises(InputError, match=r"a calibration must come from calibrate, but 0.5 was given"):
        WORDS.find("red", calibration=0.5)
    zero = WordVectors.of(["a", "b", "c"], [[1, 0], [0, 1], [0, 0]])
    with pytest.raises(InputError, match="'c' has the zero vector, which has no membership"):
        zero.calibrate("a", ["b"], ["c"])


def test_members_of_one_half_or_more_are_counted() -> None:
    for query in ("{monday, tuesday}", "{red, blue, green} & {apple, peach, banana}", "{dog, cat} - wolf"):
        members = WORDS.members(query)
        assert WORDS.count(query) == len(members) > 0 and min(hit.membership for hit in members) >= 0.5
        more = WORDS.find(query, len(members) + 1, include_examples=True)
        assert [hit.id for hit in more][:-1] == [hit.id for hit in members] and more[-1].membership < 0.5
        mask = np.arange(len(WORDS)) % 2 == 0  # without half of the items, the others keep their memberships
        half = WORDS.members(query, filter=mask)
        assert [(hit.id, round(hit.membership, 9)) for hit in half] == [
            (hit.id, round(hit.membership, 9)) for hit in members if hit.index % 2 == 0
        ]
        assert WORDS.count(query, min_score=0.9) == sum(hit.membership >= 0.9 for hit in members)


def test_plans_hold_their_scales_and_are_immutable() -> None:
    plan = WORDS.plan("{red, blue} - green")
    centroid = plan.leaves[0].members
    values = (plan, plan.leaves[0], centroid, centroid.scale, plan.combination, plan.combination.calibration)
    for value, name in zip(values, ("leaves", "members", "scale", "mean", "tree", "slope"), strict=True):
        with pytest.raises(AttributeError):
            setattr(value, name, None)
