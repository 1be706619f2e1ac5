"""Searching with set expressions and sets of the algebra: words, collections and stores."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import softset
from softset import GradedSubspace, SetExpression, Subspace
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.errors import InputError, UnknownWordError
from softset.search.find import SearchableSource
from softset.stores.collection import StoreCollection
from tests.stores.exact_store import ROWS, ExactStore

WORDS = softset.load_words()
FRUIT, COLOUR = WORDS.set("apple", "peach", "banana"), WORDS.set("red", "blue", "green")
TEXT = "{apple, peach, banana} & {red, blue, green} - {black}"
EXPRESSION = FRUIT & COLOUR - "black"


@pytest.fixture(params=["collection", "store"])
def source(request, tmp_path: Path) -> SearchableSource:
    if request.param == "store":
        return StoreCollection(ExactStore())
    items = [Item(f"i{n}", f"text {n}") for n in range(len(ROWS))]
    return Collection.create(tmp_path / "c.softset", items, vectors=ROWS)


def test_an_expression_finds_what_its_text_finds() -> None:
    assert str(EXPRESSION) == TEXT
    assert WORDS.find(EXPRESSION).to_dict() == WORDS.find(TEXT).to_dict()
    assert [each.to_dict() for each in WORDS.find_many([EXPRESSION, "red"])] == [
        each.to_dict() for each in WORDS.find_many([TEXT, "red"])
    ]
    assert WORDS.membership(EXPRESSION, ["orange"]).to_dict() == WORDS.membership(TEXT, ["orange"]).to_dict()
    assert WORDS.plan(EXPRESSION).to_dict() == WORDS.plan(TEXT).to_dict()
    assert WORDS.map(EXPRESSION).to_dict() == WORDS.map(TEXT).to_dict()
    assert WORDS.members(EXPRESSION, 0.2).to_dict() == WORDS.members(TEXT, 0.2).to_dict()
    assert WORDS.count(EXPRESSION, 0.2) == WORDS.count(TEXT, 0.2) == len(WORDS.members(TEXT, 0.2)) > 3


def test_an_expression_finds_what_its_text_finds_in_collections_and_stores(source: SearchableSource) -> None:
    expression = source.set(id=["i1", "i2"]) & source.set("i9", id="i5", weights=[2, 1]) - "i7"
    text = "{id:i1, id:i2} & {i9^2, id:i5} - {i7}"
    assert str(expression) == text
    assert source.find(expression).to_dict() == source.find(text).to_dict()
    assert source.membership(expression, ["i3"]).to_dict() == source.membership(text, ["i3"]).to_dict()
    assert source.map(expression).to_dict() == source.map(text).to_dict()
    assert 0 < source.count(expression, 0.001) == len(source.members(text, 0.001)) < len(ROWS)


def test_more_like_this_does_not_return_the_item_itself(source: SearchableSource) -> None:
    like = source.find(source.set(id="i7"), top=5)
    assert len(like) == 5 and "i7" not in [hit.id for hit in like]
    cosines = ROWS @ like.plan.centroid.direction / np.linalg.norm(ROWS, axis=1)
    cosines[7] = -1
    assert [hit.id for hit in like] == [f"i{index}" for index in np.argsort(-cosines)[:5]]
    assert source.find("id:i7", top=1, include_examples=True)[0].id == "i7"


def test_a_vector_of_the_caller_is_an_example(source: SearchableSource) -> None:
    by_vector = source.find(source.set(vector=ROWS[7]), top=3)
    assert [hit.id for hit in by_vector][1:] == [hit.id for hit in source.find("id:i7", top=2)]
    assert by_vector[0].id == "i7"  # the caller's vector is not an item


def test_unknown_ids_are_refused_with_the_nearest(tmp_path: Path) -> None:
    books = Collection.create(tmp_path / "c.softset", [Item("d7", ""), Item("e1", "")], vectors=np.eye(2))
    for ask in (lambda: books.set(id="d77"), lambda: books.find("id:d77"), lambda: books.set(id=["d7", "d77"])):
        with pytest.raises(UnknownWordError, match=r"there is no item with the id 'd77'; did you mean 'd7'\?"):
            ask()
    assert books.find("{id:d7, id:d77}", skip_unknown=True).unknown == ("d77",)
    with pytest.raises(UnknownWordError, match="there is no item with the id 'zz'"):
        StoreCollection(ExactStore()).set(id="zz")


def test_ids_are_not_texts() -> None:
    """An id is taken as it is written; a text may be found in another form."""
    assert WORDS.find("Red", top=1)[0].id == WORDS.find("id:red", top=1)[0].id
    with pytest.raises(UnknownWordError, match="no item with the id 'RED'"):
        WORDS.find("id:RED")


@pytest.mark.parametrize("wrap", [lambda space: space, lambda _: SetExpression.parse("@space")])
def test_sets_of_the_algebra_rank_items_by_their_membership(wrap: Any) -> None:
    rows = WORDS.take(range(len(WORDS))).astype(float)
    spaces = (WORDS.span(["red", "blue"]), GradedSubspace.of(rows[:9]), ~WORDS.span(["red"]))
    for space in spaces:
        result = WORDS.find(wrap(space), top=5, sets={"space": space})
        best = np.sort(space.membership(rows))[::-1][:5]
        assert np.allclose([hit.membership for hit in result], best, atol=1e-9)
        assert result.logic == ("graded" if isinstance(space, GradedSubspace) else "lattice")


def test_a_subspace_is_combined_with_examples_as_in_the_algebra() -> None:
    space, fruit = WORDS.span(["red", "blue"]), WORDS.span(["apple"])
    for found, members in (
        (space | WORDS.set("apple"), space | fruit),
        (WORDS.set("apple") - space, fruit.without(space)),
    ):
        result = WORDS.find(found, top=3)
        expected = [float(members.membership(WORDS[hit.id])) for hit in result]
        assert np.allclose([hit.membership for hit in result], expected, atol=1e-6)


def test_queries_of_several_logics_are_answered_in_their_order() -> None:
    space = WORDS.span(["red", "blue"])
    results = WORDS.find_many(["red", space, FRUIT], top=2)
    assert [result.logic for result in results] == ["logistic", "lattice", "logistic"]
    assert [result.to_dict() for result in results] == [
        WORDS.find(each, top=2).to_dict() for each in ("red", space, FRUIT)
    ]


@pytest.mark.parametrize(
    ("query", "options", "sentence"),
    [
        (3, {}, "a query must be a text such as .* but a int was given"),
        (Subspace.span(np.eye(3)), {}, "has 3 dimensions, but the items have 300"),
        (Subspace.empty(300), {}, "it is an empty set"),
        (WORDS.span(["red"]), {"logic": "logistic"}, "the logic logistic cannot use a Subspace"),
        (GradedSubspace.of(np.eye(300)[:2]), {"logic": "lattice"}, "the logic lattice cannot use a GradedSubspace"),
    ],
)
def test_queries_that_cannot_be_searched_with(query: Any, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        WORDS.find(query, **options)


def test_vectors_are_preprocessed_like_the_words() -> None:
    assert WORDS.find(WORDS.set(vector=WORDS["red"]), top=1)[0].membership == pytest.approx(
        WORDS.find("red", top=1, include_examples=True)[0].membership, abs=1e-6
    )


# Results


def test_a_result_explains_itself(source: SearchableSource) -> None:
    result = source.find("{id:i1, id:i2} - id:i3", top=3)
    assert result.expression == SetExpression.parse("{id:i1, id:i2} - id:i3")
    explained = result.explain()
    assert explained.to_dict() == source.find("{id:i1, id:i2} - id:i3", top=3, explain=True).to_dict()
    assert not result[0].leaves and [leaf.negated for leaf in explained[0].leaves] == [False, True]


def test_a_result_is_not_explained_with_other_vectors(tmp_path: Path) -> None:
    items = [Item(f"i{n}", "") for n in range(5)]
    books = Collection.create(tmp_path / "c.softset", items, vectors=np.eye(5) + 0.1)
    result = books.find("id:i1")
    books.delete(["i0"])
    with pytest.raises(InputError, match="older than the last change of the items cannot be explained"):
        result.explain()


def test_results_as_dataframes_and_html(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    items = [Item("a", "<b>", {"year": 1999}), Item("b", "two", {"pages": 3}), Item("c", "three")]
    books = Collection.create(tmp_path / "c.softset", items, vectors=np.eye(3) + 0.5)
    result = books.find("id:c", include_examples=True)
    frame = result.to_pandas()
    assert list(frame.columns) == ["id", "membership", "text", "year", "pages"] and len(frame) == 3
    assert frame["membership"].tolist() == [hit.membership for hit in result]
    assert "&lt;b&gt;" in result._repr_html_() and "<b>" not in result._repr_html_()
    assert list(books.find("id:c", min_score=1).to_pandas().columns) == ["id", "membership", "text"]
    memberships = WORDS.membership("red", ["blue", "qwxz"], skip_unknown=True)
    assert memberships.to_pandas()["id"].tolist() == ["blue", "qwxz"]
    assert "<td>qwxz</td>" in memberships._repr_html_() and "<th>text</th>" not in memberships._repr_html_()
    explained = WORDS.find("{red, blue} - {green}", top=1).explain()._repr_html_()
    assert "<th>sets</th>" in explained and "in {red, blue}: " in explained and "; negated: " in explained
    assert WORDS.plan("{red, blue}")._repr_html_().startswith("<pre>query     {red, blue}\n")
    projection = WORDS.map("{red, blue} & {apple, peach}", top=3)
    assert repr(projection).startswith("Projection2D(2 sets, 3 items, explained_variance=0.")
    drawing = projection._repr_svg_()
    assert drawing.startswith("<svg") and drawing.count("<circle") == 9 and ">orange</text>" in drawing


def test_a_slice_of_a_result_is_a_result() -> None:
    result = WORDS.find(EXPRESSION, top=4, min_score=0)
    head = result[:2]
    assert isinstance(head, type(result)) and list(head) == list(result)[:2] and head.signature == result.signature
    assert head.explain()[0].leaves and head.to_pandas()["id"].tolist() == [hit.id for hit in head]
    assert result[-1] == list(result)[-1]


def test_results_are_equal_if_their_hits_are() -> None:
    result = WORDS.find(EXPRESSION, top=3)
    assert result == WORDS.find(EXPRESSION, top=3) == pickle.loads(pickle.dumps(result))
    assert result != WORDS.find(EXPRESSION, top=2)


def test_several_queries_in_any_iterable() -> None:
    texts = ["red & fruit", "king - man"]
    expected = WORDS.find_many(texts, top=2)
    assert WORDS.find_many(np.array(texts), top=2) == WORDS.find_many(iter(texts), top=2) == expected
    assert WORDS.find_many(pytest.importorskip("pandas").Series(texts), top=2) == expected
    with pytest.raises(InputError, match="a list of queries was expected, but a set has no order"):
        WORDS.find_many({"red", "blue"})
