"""Variants of words: pairs that are variants, pairs that are not, and searches that leave them out."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import softset
from softset import WordVectors
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.search import paging
from softset.vectors.variants import variant_keys

WORDS = softset.load_words()


def names(*arguments: object, **options: object) -> list[str]:
    return [hit.id for hit in WORDS.find(*arguments, **options)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("word", "variants"),
    [
        ("dog", "dogs Dog DOG dog's dog\u2019s Dogs' dogs"),
        ("mercury", "Mercury mercurys mercury's"),
        ("color", "colour colors Colours"),
        ("behavioral", "behavioural"),
        ("organize", "organise organises"),
        ("organization", "organisation organisations"),
        ("analyze", "analyse"),
        ("center", "centre centres"),
        ("catalog", "catalogue catalogues"),
        ("defense", "defence"),
        ("traveling", "travelling"),
        ("gray", "grey"),
        ("city", "cities"),
        ("movie", "movies"),
        ("box", "boxes"),
        ("cache", "caches"),
        ("church", "churches"),
        ("potato", "potatoes"),
        ("virus", "viruses"),
        ("glass", "glasses"),
        ("lens", "lenses"),
        ("email", "e-mail E-mail e_mail"),
        ("New York", "new_york new-york NewYork"),
        ("resume", "résumé résumés"),
    ],
)
def test_variants_share_a_key(word: str, variants: str) -> None:
    assert [each for each in variants.split() if variant_keys(word).isdisjoint(variant_keys(each))] == []


@pytest.mark.parametrize(
    "pair",
    [
        *("bus bu", "news new", "here her", "glass glas", "crisis crisi", "lens len", "this thi", "class clas", "us u"),
        *("mary marie", "ash ashe", "touch touche", "filled filed", "four for", "your yor", "prize prise", "to toes"),
        *("us uses", "hour hor", "fire fier", "still stil", "c++ c", "# -", "- _", "1 2"),
    ],
)
def test_other_words_share_no_key(pair: str) -> None:
    first, second = pair.split()
    assert variant_keys(first).isdisjoint(variant_keys(second))


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text("aeiourlsyzgtn'-", max_size=14) | st.sampled_from(WORDS.words[::7]))
def test_a_key_is_a_key_of_itself(word: str) -> None:
    assert all(key in variant_keys(key) for key in variant_keys(word))
    assert not variant_keys(word).isdisjoint(variant_keys(word.upper())) or not word.isascii()


@pytest.mark.parametrize(
    ("query", "hidden"),
    [
        ("{dog, cat, horse}", {"dogs", "cats", "horses"}),
        ("{colour, harbour}", {"color", "colors", "colours", "harbor"}),
        ("{centre, theatre}", {"center", "theater", "centres"}),
        ("{wolf, fox} - dog", {"foxes"}),
        ("red wine", {"wines"}),
    ],
)
def test_variants_of_examples_are_hits_only_on_request(query: str, hidden: set[str]) -> None:
    assert hidden <= set(names(query, top=5000, variants=True))
    without, include = names(query, top=5000), names(query, top=5000, include_examples=True)
    assert len(without) == 5000 and not hidden & set(without) and hidden <= set(include)


def test_other_hits_do_not_change() -> None:
    shown = WORDS.find("{dog, cat}", top=30, variants=True)
    others = [hit for hit in shown if not variant_keys(hit.id) & {"dog", "cat"}]
    assert 20 < len(others) < 30 and list(WORDS.find("{dog, cat}", top=30))[: len(others)] == others


def test_pages_are_full_if_most_of_the_best_words_are_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    forms = ["dog", "Dog", "DOG", "dogs", "Dogs", "DOGS", "dog's", "do-g", "wolf", "fox"]
    words = WordVectors.of(forms, np.column_stack([np.ones(10), np.arange(10)]))
    monkeypatch.setattr(paging, "EXPECTED_VARIANTS", 1)
    assert [hit.id for hit in words.find("dog", top=1)] == ["wolf"]
    assert [hit.id for hit in words.find("dog", top=1, distinct=0.9999)] == ["wolf"]
    assert [hit.id for hit in words.find("dog", top=5, offset=1)] == ["fox"]
    assert len(words.find_many(["dog", "fox"], top=9)[1]) == 9


def test_members_count_all_variants() -> None:
    assert {"dog", "dogs"} <= {hit.id for hit in WORDS.members("dog")}


def test_items_of_collections_have_no_variants(tmp_path) -> None:
    items = [Item("dog"), Item("dogs"), Item("Dog")]
    books = Collection.create(tmp_path / "c", items, vectors=np.eye(3) + 0.5)
    assert {hit.id for hit in books.find("id:dog")} == {"dogs", "Dog"}
