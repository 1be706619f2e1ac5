"""The approximate engine: nearly the exact answer, or a refusal; never silently wrong."""

import sys
from itertools import pairwise

import numpy as np
import pytest

from softset import WordVectors, load_words
from softset.errors import InputError, MissingExtraError
from softset.retrieval import approximate
from softset.retrieval.borders import FEW
from softset.retrieval.collection import Collection
from softset.retrieval.items import Item
from softset.retrieval.parser import parse
from softset.retrieval.probing import _has_candidates


@pytest.mark.parametrize(
    ("query", "possible"),
    [
        ("a", True),
        ("~a", False),
        ("~~a", True),
        ("a & ~b", True),
        ("~a & ~b", False),
        ("a | ~b", False),
        ("a - b", True),
        ("~a - b", False),
        ("a - ~b", True),
        ("~(a & b)", False),
        ("~(~a & ~b)", True),
        ("~(~a | b)", True),
        ("~(a - b)", False),
        ("~(a | ~b)", True),
        ("(a | ~b) & c", True),
        ("(a | ~b) | c", False),
    ],
)
def test_which_queries_have_candidates(query: str, possible: bool) -> None:
    assert _has_candidates(parse(query)) == possible


def test_without_faiss_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'softset\[approximate\]'"):
        load_words().find("red", approximate=True)


@pytest.fixture(scope="module")
def words() -> WordVectors:
    pytest.importorskip("faiss")
    return load_words()


QUERIES = [
    "{red, blue, green} & {apple, peach, banana}",
    "{dog, cat}",
    "{paris, rome} | {beer, wine}",
    "{doctor, nurse} - {hospital, clinic}",
    "{king, queen} & woman",
    "{snow, ice} & ~winter",
]


@pytest.mark.parametrize("logic", ["product", "minmax", "lattice", "graded"])
def test_it_finds_nearly_what_the_exact_engine_finds(words: WordVectors, logic: str) -> None:
    assert words.recall(QUERIES, top=10, logic=logic, alpha=0.9) > 0.95
    assert words.recall(QUERIES, top=100, logic=logic, alpha=0.9) > 0.85


def test_scores_are_exact(words: WordVectors) -> None:
    exact = {hit.item: hit.membership for hit in words.find(QUERIES[0], top=100)}
    found = words.find(QUERIES[0], top=20, approximate=True)
    assert found[0].item == "orange" and "engine:approximate" in found.signature
    for hit in found:
        assert hit.membership == pytest.approx(exact[hit.item], abs=1e-5)


def test_complements_are_refused_with_the_reason(words: WordVectors) -> None:
    with pytest.raises(InputError, match=r"one side of ~\{red\} holds nearly everything.*search exactly"):
        words.find("~red", approximate=True)
    assert len(words.find("~red")) == 10


def test_deleted_items_do_not_stand_in_the_way(tmp_path) -> None:
    pytest.importorskip("faiss")
    rows = np.random.default_rng(0).standard_normal((5000, 16)).astype("f4")
    c = Collection.create(tmp_path / "c", [Item(str(i), "") for i in range(5000)], vectors=rows)
    near = [hit.item for hit in c.find("0", top=1500)]
    c = c.delete(near)
    found = c.find("0", top=10, approximate=True)
    assert len(found) == 10 and not {hit.item for hit in found} & set(near)


def test_the_index_is_kept_for_the_next_process(words: WordVectors, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    first = load_words().find(QUERIES[0], approximate=True)
    (kept,) = (tmp_path / "approximate").iterdir()
    monkeypatch.setattr(approximate, "_built", lambda _: pytest.fail("the index was made again"))
    assert [hit.item for hit in load_words().find(QUERIES[0], approximate=True)] == [hit.item for hit in first]
    monkeypatch.undo()
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    kept.write_bytes(kept.read_bytes()[:1000])
    assert [hit.item for hit in load_words().find(QUERIES[0], approximate=True)] == [hit.item for hit in first]


def test_few_items_and_the_examples_left_out() -> None:
    pytest.importorskip("faiss")
    small = WordVectors.of([f"w{i}" for i in range(5)], np.eye(5) + 1)
    assert {hit.item for hit in small.find("{w0, w1}", approximate=True)} == {"w2", "w3", "w4"}
    assert small.recall(["w0 | w1"], top=3) == 1


@pytest.fixture(scope="module")
def many() -> WordVectors:
    """So many words that borders come from a sample, and codes stand for vectors."""
    pytest.importorskip("faiss")
    random = np.random.default_rng(3)
    n, d = FEW + 5_000, 24
    rows = random.standard_normal((n, d)) + 2 * random.standard_normal((300, d))[random.integers(0, 300, n)]
    rows[70] = 0
    rows[80] = rows[81]
    return WordVectors.of([f"w{at}" for at in range(n)], rows)


SETS = [f"{{w{at}, w{at + 1}}}" for at in range(100, 160, 2)]


def test_coded_vectors_find_what_the_exact_engine_finds(many: WordVectors) -> None:
    assert many.recall(SETS, top=100) > 0.9
    assert many.recall([f"{a} | {b}" for a, b in pairwise(SETS)], top=20) > 0.8


def test_borders_are_about_those_of_the_exact_engine(many: WordVectors) -> None:
    for query in SETS:
        exact = {hit.item: hit.membership for hit in many.find(query, top=50)}
        for hit in many.find(query, top=20, approximate=True):
            assert hit.membership == pytest.approx(exact.get(hit.item, hit.membership), abs=0.02)
    middles = np.linalg.qr(np.random.default_rng(0).standard_normal((24, 24)))[0]
    assert many.approximation.borders(middles) == pytest.approx(many.borders(middles), abs=0.03)
    assert (many.approximation.borders(middles) <= many.borders(middles) + 1e-6).all()  # what is missed was nearer


def test_a_sample_without_enough_neighbours_asks_the_exact_engine(many: WordVectors, monkeypatch) -> None:
    middles, index = np.eye(24)[:3], many.approximation
    monkeypatch.setattr(index._sample, "nprobe", 1)
    monkeypatch.setattr(approximate, "rank_among", lambda m, _: m)
    assert index.borders(middles) == pytest.approx(many.borders(middles), abs=1e-6)


def test_deleted_items_move_the_borders_of_both_engines(tmp_path) -> None:
    pytest.importorskip("faiss")
    random = np.random.default_rng(5)
    rows = random.standard_normal((FEW + 2_000, 8)).astype("f4")
    whole = Collection.create(tmp_path / "c", [Item(str(at), "") for at in range(len(rows))], vectors=rows)
    near = np.argsort(-rows[:, 0] / np.linalg.norm(rows, axis=1))[:3_000]
    left = whole.delete([str(at) for at in near])
    q = np.eye(8)[:1]
    assert left.borders(q)[0] < whole.borders(q)[0] - 0.05
    assert left.approximation.borders(q) == pytest.approx(left.borders(q), abs=0.02)
