"""The approximate engine: nearly the exact answer, or a refusal; never silently wrong."""

import sys
import time
import tracemalloc
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmarks.measurement import median_seconds

from softset import WordVectors, load_words
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.errors import FileError, InputError, MissingExtraError
from softset.query.logic import Logic
from softset.query.parser import parse
from softset.search import approximate
from softset.search.approximate import LEAST_DIMENSIONS
from softset.search.probing import _has_candidates, units
from softset.search.thresholds import FEW


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
    exact = {hit.id: hit.membership for hit in words.find(QUERIES[0], top=100)}
    found = words.find(QUERIES[0], top=20, approximate=True)
    assert found[0].id == "orange" and "engine:approximate" in found.signature
    for hit in found:
        assert hit.membership == pytest.approx(exact[hit.id], abs=1e-5)


def test_complements_are_refused_with_the_reason(words: WordVectors) -> None:
    with pytest.raises(InputError, match=r"one side of ~\{red\} holds nearly everything.*search exactly"):
        words.find("~red", approximate=True)
    assert len(words.find("~red")) == 10


def test_deleted_items_do_not_stand_in_the_way(tmp_path) -> None:
    pytest.importorskip("faiss")
    rows = np.random.default_rng(0).standard_normal((5000, 16)).astype("f4")
    c = Collection.create(tmp_path / "c", [Item(str(i), "") for i in range(5000)], vectors=rows)
    near = [hit.id for hit in c.find("0", top=1500)]
    c = c.delete(near)
    found = c.find("0", top=10, approximate=True)
    assert len(found) == 10 and not {hit.id for hit in found} & set(near)


def test_the_index_is_kept_for_the_next_process(words: WordVectors, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    first = load_words().find(QUERIES[0], approximate=True)
    (kept,) = (tmp_path / "approximate").iterdir()
    monkeypatch.setattr(approximate, "_built", lambda _: pytest.fail("the index was made again"))
    assert [hit.id for hit in load_words().find(QUERIES[0], approximate=True)] == [hit.id for hit in first]
    monkeypatch.undo()
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    kept.write_bytes(kept.read_bytes()[:1000])
    assert [hit.id for hit in load_words().find(QUERIES[0], approximate=True)] == [hit.id for hit in first]


def test_few_items_and_the_examples_left_out() -> None:
    pytest.importorskip("faiss")
    small = WordVectors.of([f"w{i}" for i in range(5)], np.eye(5) + 1)
    assert {hit.id for hit in small.find("{w0, w1}", approximate=True)} == {"w2", "w3", "w4"}
    assert small.recall(["w0 | w1"], top=3) == 1


def words_of(rows: np.ndarray) -> WordVectors:
    return WordVectors.of([f"w{at}" for at in range(len(rows))], rows)


def spread(n: int, d: int, seed: int = 3) -> np.ndarray:
    """Return vectors (n, d) at all distances from 300 centres, as words are: codes tell them apart."""
    random = np.random.default_rng(seed)
    centres, own = units(random.standard_normal((300, d))), units(random.standard_normal((n, d)))
    near = random.uniform(0, 0.95, size=(n, 1))
    return near * centres[np.arange(n) % 300] + np.sqrt(1 - near**2) * own


@pytest.fixture(scope="module")
def many() -> WordVectors:
    """So many words that borders come from a sample, and codes stand for vectors."""
    pytest.importorskip("faiss")
    rows = spread(FEW + 5_000, LEAST_DIMENSIONS)
    rows[70] = 0
    rows[80] = rows[81]
    return words_of(rows)


SETS = [f"{{w{at}, w{at + 300}, w{at + 600}, w{at + 900}}}" for at in range(100, 130)]  # each around one centre


def test_coded_vectors_find_what_the_exact_engine_finds(many: WordVectors) -> None:
    """As far as it is in the lists that are read: with all of them read, it is what codes lose."""
    index = many.preprocessed(None, Logic()).approximate_index
    assert index.coded and many.recall(SETS, top=100) > 0.85
    index.index.nprobe, usual = index.index.nlist, index.index.nprobe
    assert many.recall(SETS, top=100) > 0.98 and many.recall(SETS, top=10) > 0.98
    for operator in "|&-":
        assert many.recall([f"{a} {operator} {b}" for a, b in pairwise(SETS)], top=20) > 0.95
    index.index.nprobe = usual


def test_it_takes_less_time_than_the_exact_engine(many: WordVectors) -> None:
    """A fifth of it here, by the processor's time, which others on the machine hardly change; the bound is generous."""
    seconds = median_seconds(
        {
            name: lambda approximate=approximate: [many.find(one, 100, approximate=approximate) for one in SETS]
            for name, approximate in (("approximate", True), ("exact", False))
        },
        5,
        clock=time.process_time,
    )
    assert 1.5 * seconds["approximate"] < seconds["exact"]


def grouped(share: float, noise: float, *, d: int = 48, size: int = 300) -> tuple[WordVectors, list[str]]:
    """Return words of which a share is in groups of some that are nearly the same, and ten of these."""
    random = np.random.default_rng(4)
    n = FEW + 1_000
    groups = max(int(share * n / size), 1)
    rows = spread(n, d)
    rows[: groups * size] = np.repeat(units(random.standard_normal((groups, d))), size, axis=0)
    rows[: groups * size] += noise * random.standard_normal((groups * size, d)) / np.sqrt(d)
    return words_of(rows), [f"w{at * groups * size // 10}" for at in range(10)]


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("share", [0.005, 0.02, 0.06, 0.5])
def test_items_that_are_nearly_the_same_are_told_apart(noise: float, share: float) -> None:
    """They have the same codes: the best of them would be found by luck.

    If they are few, they are looked for further out; if they are many, the index holds the vectors themselves.
    """
    pytest.importorskip("faiss")
    words, queries = grouped(share, noise)
    for top in (1, 10, 100):
        assert words.recall(queries, top=top, preprocessing="none") > 0.95
    if share == 0.5:
        assert not words.approximate_index.coded
        return  # groups take most lists of the index then: what lies between them is in few of those that are read
    for operator in "|-":
        joined = [f"{a} {operator} {b}" for a, b in zip(queries, ["w66000", "w66300", "w66001"] * 4, strict=False)]
        assert words.recall(joined, top=10, preprocessing="none") > 0.9
    assert words.approximate_index.coded or share > 0.05


def test_many_examples_take_little_memory() -> None:
    """Whoever compares each candidate of each probe with each example needs a gigabyte here."""
    found = np.random.default_rng(8).integers(0, 100_000, size=(500, 2_000))
    tracemalloc.start()
    kept = approximate._candidates(found, frozenset(range(1_000)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert kept.min() == 1_000 and peak < 100e6


def test_vectors_of_odd_lengths_have_their_directions(tmp_path) -> None:
    pytest.importorskip("faiss")
    rows = np.random.default_rng(9).standard_normal((3_000, 8)).astype(np.float32)
    rows[1], rows[2] = rows[0] * np.float32(1e-30), rows[0] * np.float32(1e25)
    found = words_of(rows).find("w0", 2, preprocessing="none", approximate=True)
    assert [hit.id for hit in found] == ["w1", "w2"]


def test_nothing_is_found_where_all_is_deleted(tmp_path) -> None:
    pytest.importorskip("faiss")
    c = Collection.create(
        tmp_path / "c", [Item(str(at), "") for at in range(50)], embed=lambda texts: np.ones((len(texts), 4))
    )
    c = c.delete([str(at) for at in range(50)])
    assert len(c.find("anything", approximate=True)) == len(c.find("anything")) == 0


def test_an_index_that_cannot_be_kept_is_used_all_the_same(words: WordVectors, tmp_path, monkeypatch) -> None:
    faiss = pytest.importorskip("faiss")
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))

    def refuse(index, name: str) -> None:
        Path(name).write_bytes(b"a part")
        raise RuntimeError(f"could not write {name}")  # as faiss says it

    monkeypatch.setattr(faiss, "write_index", refuse)
    assert load_words().find(QUERIES[0], approximate=True)[0].id == "orange"
    assert not list((tmp_path / "approximate").iterdir())


def test_borders_are_those_of_the_exact_engine(many: WordVectors) -> None:
    items = many.preprocessed(None, Logic())
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(LEAST_DIMENSIONS, LEAST_DIMENSIONS)))[0]
    middles = np.concatenate([items.sample[0][:200], turned])
    assert items.approximate_index._sample is not None
    off = items.approximate_index.thresholds(middles) - items.thresholds(middles)
    assert (np.abs(off) < 1e-6).mean() > 0.9 and -0.01 < off.min() and off.max() < 1e-6  # what is missed was nearer
    exact = {hit.id: hit.membership for hit in many.find(SETS[0], top=50)}
    for hit in many.find(SETS[0], top=20, approximate=True):
        assert hit.membership == pytest.approx(exact[hit.id], abs=0.01)


@pytest.mark.parametrize("d", [8, LEAST_DIMENSIONS])
@pytest.mark.parametrize("left", ["many", "few", "none of the sample"])
def test_deleted_items_move_the_borders_of_both_engines(tmp_path, d: int, left: str, capfd) -> None:
    pytest.importorskip("faiss")
    rows = spread(FEW + 2_000, d)
    q = np.random.default_rng(5).standard_normal((1, d))
    whole = Collection.create(tmp_path / "c", [Item(str(at), "") for at in range(len(rows))], vectors=rows)
    q /= np.linalg.norm(q)
    order = np.argsort(-(rows @ q[0]) / np.linalg.norm(rows, axis=1))
    others = np.setdiff1d(order, whole.sample[1])[30:]
    gone = {"many": order[:3_000], "few": order[:-1_000], "none of the sample": np.union1d(whole.sample[1], others)}
    fewer = whole.delete([str(at) for at in gone[left].tolist()])
    if left != "none of the sample":
        assert fewer.thresholds(q)[0] < whole.thresholds(q)[0] - 0.05
    assert fewer.approximate_index.thresholds(q) == pytest.approx(fewer.thresholds(q), abs=0.01)
    kept = np.setdiff1d(order, gone[left])
    found = fewer.find(str(kept[0]), top=10, approximate=True)
    assert len(found) == 10 and {int(hit.id) for hit in found} <= set(kept.tolist())
    assert "WARNING" not in "".join(capfd.readouterr())


def test_both_indexes_of_many_items_are_kept(many: WordVectors, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    many.save(tmp_path / "words")
    first = WordVectors.open(tmp_path / "words").find(SETS[0], approximate=True)
    assert len(list((tmp_path / "cache" / "approximate").iterdir())) == 2
    monkeypatch.setattr(approximate, "_made", lambda *_: pytest.fail("an index was made again"))
    again = WordVectors.open(tmp_path / "words").find(SETS[0], approximate=True)
    assert again.hits == first.hits


@pytest.mark.parametrize(("n", "d", "kept"), [(2_000, 8, False), (FEW + 1_000, 8, False), (FEW + 1_000, 64, True)])
def test_numbers_that_are_none_are_refused(n: int, d: int, kept: bool, tmp_path, monkeypatch) -> None:
    pytest.importorskip("faiss")
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    words_of(spread(n, d, seed=6)).save(tmp_path / "s")
    if kept:
        assert WordVectors.open(tmp_path / "s").find("w1", approximate=True, preprocessing="none")
    stored = np.lib.format.open_memmap(tmp_path / "s" / "vectors.npy", "r+")
    stored[200 : n - 100] = np.nan
    stored.flush()
    with pytest.raises(FileError, match="not finite: its file was changed"):
        WordVectors.open(tmp_path / "s").find("w1", approximate=True, preprocessing="none")


def test_only_find_has_an_approximate_engine(words: WordVectors) -> None:
    for ask in (words.plan, lambda query, **options: words.membership(query, ["blue"], **options)):
        with pytest.raises(InputError, match="approximate is no option"):
            ask("red", approximate=True)
