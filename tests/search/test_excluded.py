"""`excluded=True` lists what BUT NOT took away, and explained hits have their memberships without it."""

from typing import Any

import numpy as np
import pytest

from softset import WordVectors, load_words
from softset.errors import InputError
from softset.search import find

WORDS = load_words()
RANDOM = np.random.default_rng(2)
# 900 words at all distances from 150 centres, of which six pairs are alike; the first 300 are close.
CENTRES = RANDOM.normal(size=(150, 60))
CENTRES[6:12] = CENTRES[:6] + 0.7 * CENTRES[6:12]
NEAR = np.where(np.arange(900) < 300, 0.9, RANDOM.uniform(0.3, 0.95, size=900))[:, None]
ROWS = NEAR * CENTRES[np.arange(900) % 150] + np.sqrt(1 - NEAR**2) * RANDOM.normal(size=(900, 60))
TOY = WordVectors.of([f"w{i}" for i in range(900)], ROWS)
OPTIONS: Any = {"preprocessing": "none"}


def reductions(query: str, without: str) -> dict[str, tuple[float, float]]:
    """Return each word's membership without BUT NOT, and with it."""
    options: Any = {"top": 900, "include_examples": True, **OPTIONS}
    before, after = ({hit.id: hit.membership for hit in TOY.find(one, **options)} for one in (without, query))
    return {name: (value, after[name]) for name, value in before.items()}


@pytest.mark.parametrize(
    ("query", "without"),
    [
        ("{w1, w151} - w7", "{w1, w151}"),
        ("w1 - {w7, w157}", "w1"),
        ("{w1, w151} -- w7", "{w1, w151}"),
        ("{w1, w151} & {w7, w157} - w307 | w3 -- {w9, w159}", "{w1, w151} & {w7, w157} | w3"),
        ("{w1, w151} & ~w7", "{w1, w151}"),
    ],
)
@pytest.mark.parametrize("pool", [500, 40])
def test_excluded_items_are_those_whose_membership_falls_most(
    query: str, without: str, pool: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(find, "EXCLUDED_POOL", pool)
    examples = {f"w{index}" for index in TOY.plan(query, **OPTIONS).example_indices}
    fell = {name: pair for name, pair in reductions(query, without).items() if name not in examples}
    best = sorted(fell, key=lambda name: -fell[name][0])[: pool + 8]
    expected = sorted(
        (name for name in best if fell[name][0] - fell[name][1] > 0.01), key=lambda n: fell[n][1] - fell[n][0]
    )
    found = TOY.find(query, 8, excluded=True, **OPTIONS)
    assert [hit.id for hit in found] == expected[:8] and found.rows
    for hit in found:
        assert (hit.without_exclusions, hit.membership) == pytest.approx(fell[hit.id], abs=1e-9)
        assert not hit.leaves
    pages = [TOY.find(query, 3, offset=offset, excluded=True, **OPTIONS) for offset in (0, 3, 6)]
    if pool == 500:
        assert [hit.id for page in pages for hit in page] == expected[:9]


def test_a_page_of_excluded_items_has_those_with_the_minimum_membership() -> None:
    """They are in the order of what they lost, not of their memberships."""
    query = "{dog, cat} - wolf"
    whole = WORDS.find(query, 20, excluded=True)
    middle = float(np.median([hit.membership for hit in whole]))
    found = WORDS.find(query, 20, excluded=True, min_score=middle)
    assert [hit.id for hit in found] == [hit.id for hit in whole if hit.membership >= middle]
    assert 0 < len(found) < len(whole)


def test_other_options_select_excluded_items() -> None:
    query, mask = "{w1, w151} - w7", np.arange(900) % 2 == 0
    even = TOY.find(query, 5, excluded=True, filter=mask, **OPTIONS)
    whole = TOY.find(query, 50, excluded=True, **OPTIONS)
    assert [hit.id for hit in even] == [hit.id for hit in whole if hit.index % 2 == 0][:5]
    explained = TOY.find(query, 5, excluded=True, explain=True, **OPTIONS)
    assert [hit.id for hit in explained] == [hit.id for hit in whole][:5] and all(
        len(hit.leaves) == 2 for hit in explained
    )
    assert "w7" in {hit.id for hit in TOY.find(query, 50, excluded=True, include_examples=True, **OPTIONS)}
    several = TOY.find_many([query, "w1 - {w7, w157}"], 5, excluded=True, **OPTIONS)
    assert [hit.id for hit in several[0]] == [hit.id for hit in whole][:5]
    assert [hit.id for hit in several[1]] == [
        hit.id for hit in TOY.find("w1 - {w7, w157}", 5, excluded=True, **OPTIONS)
    ]


@pytest.mark.parametrize(
    ("query", "options"),
    [("{dog, cat}", {}), ("red & blue", {}), ("~dog", {}), ("{dog, cat} - wolf", {"logic": "lattice"})],
)
def test_queries_without_but_not_have_no_excluded_items(query: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="has no BUT NOT in the logic logistic, so nothing is excluded"):
        WORDS.find(query, excluded=True, **options)


def test_nothing_is_excluded_by_a_set_that_is_far_or_with_strictness_0() -> None:
    for hit in WORDS.find("{dog, cat} - carburetor", excluded=True):
        assert hit.without_exclusions - hit.membership < 0.05
    assert len(WORDS.find("{dog, cat} -^0 wolf", excluded=True)) == 0


def test_the_price_of_a_sense() -> None:
    """Music loses, fish do not."""
    lost = {hit.id for hit in WORDS.find("bass - {guitar, drums}", 10, excluded=True)}
    assert {"drummer", "bassist", "vocals"} <= lost and not lost & {"trout", "catfish", "fish"}


def test_explained_hits_have_their_membership_without_but_not() -> None:
    for query, left in (("{dog, cat} - wolf", "{dog, cat}"), ("red | {dog, cat} -- wolf", "red | {dog, cat}")):
        result = WORDS.find(query, 30, explain=True)
        expected = WORDS.membership(left, [hit.id for hit in result])
        for hit, item in zip(result, expected, strict=True):
            assert hit.without_exclusions == pytest.approx(item.membership, abs=1e-6)
            assert hit.without_exclusions >= hit.membership - 1e-6
        line = str(result).splitlines()[0]
        assert line.startswith(f"{result[0].without_exclusions:.3f} -> {result[0].membership:.3f}  {result[0].id}")
        assert result.to_dict()["results"][0]["without_exclusions"] == result[0].without_exclusions
    for query, options in (("{dog, cat}", {}), ("dog & red", {}), ("{dog, cat} - wolf", {"logic": "graded"})):
        (hit,) = WORDS.find(query, 1, explain=True, **options)
        assert hit.without_exclusions is None and "without_exclusions" not in hit.to_dict()
    (plain,) = WORDS.find("{dog, cat} - wolf", 1)
    assert plain.without_exclusions is None
