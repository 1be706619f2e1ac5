"""The approximate engine: high recall, exact scores, clear refusals, an index in the cache."""

import sys
import time
from itertools import pairwise

import numpy as np
import pytest
from benchmarks.measurement import median_seconds

from softset import WordVectors, load_words
from softset.algebra.arrays import unit_rows
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.errors import FileError, InputError, MissingExtraError
from softset.query.expression import has_neighbours
from softset.query.logic import Logic
from softset.query.parser import parse
from softset.search import approximate
from softset.search.approximate import MIN_QUANTIZED


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
def test_which_queries_have_neighbours(query: str, possible: bool) -> None:
    assert has_neighbours(parse(query)) == possible


def test_without_faiss_the_error_names_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("logic", Logic.NAMES)
def test_recall_of_all_logics(words: WordVectors, logic: str) -> None:
    assert words.recall(QUERIES, top=10, logic=logic, alpha=0.9) > 0.95
    assert words.recall(QUERIES, top=100, logic=logic, alpha=0.9) > 0.85


def test_scores_are_exact(words: WordVectors) -> None:
    exact = {hit.id: hit.membership for hit in words.find(QUERIES[0], top=100)}
    found = words.find(QUERIES[0], top=20, approximate=True)
    assert found[0].id == "orange" and "engine:approximate" in found.signature
    for hit in found:
        assert hit.membership == pytest.approx(exact[hit.id], abs=1e-5)


def test_complements_are_refused_with_the_reason(words: WordVectors) -> None:
    with pytest.raises(InputError, match=r"nearly every item belongs to ~\{red\} or to a part of it.*search exactly"):
        words.find("~red", approximate=True)
    assert len(words.find("~red")) == 10


def test_deleted_items_do_not_displace_others(tmp_path) -> None:
    pytest.importorskip("faiss")
    rows = np.random.default_rng(0).standard_normal((5000, 16)).astype("f4")
    c = Collection.create(tmp_path / "c", [Item(str(i), "") for i in range(5000)], vectors=rows)
    near = [hit.id for hit in c.find("0", top=1500)]
    c = c.delete(near)
    found = c.find("0", top=10, approximate=True)
    assert len(found) == 10 and not {hit.id for hit in found} & set(near)


def test_index_is_cached_for_the_next_process(words: WordVectors, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    first = load_words().find(QUERIES[0], approximate=True)
    (file,) = (tmp_path / "approximate").iterdir()
    monkeypatch.setattr(approximate, "_build", lambda _: pytest.fail("the index was built again"))
    assert [hit.id for hit in load_words().find(QUERIES[0], approximate=True)] == [hit.id for hit in first]
    monkeypatch.undo()
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    file.write_bytes(file.read_bytes()[:1000])
    assert [hit.id for hit in load_words().find(QUERIES[0], approximate=True)] == [hit.id for hit in first]


def test_few_items() -> None:
    pytest.importorskip("faiss")
    small = WordVectors.of([f"w{i}" for i in range(5)], np.eye(5) + 1)
    assert {hit.id for hit in small.find("{w0, w1}", approximate=True)} == {"w2", "w3", "w4"}
    assert small.recall(["w0 | w1"], top=3) == 1


def words_of(rows: np.ndarray) -> WordVectors:
    return WordVectors.of([f"w{i}" for i in range(len(rows))], rows)


def spread(n: int, d: int, seed: int = 3) -> np.ndarray:
    """Return vectors (n, d) at all distances from 300 centres, as word vectors are."""
    random = np.random.default_rng(seed)
    centres, own = unit_rows(random.standard_normal((300, d))), unit_rows(random.standard_normal((n, d)))
    near = random.uniform(0, 0.95, size=(n, 1))
    return near * centres[np.arange(n) % 300] + np.sqrt(1 - near**2) * own


@pytest.fixture(scope="module")
def many() -> WordVectors:
    """Return so many words that the index is quantized."""
    pytest.importorskip("faiss")
    rows = spread(MIN_QUANTIZED + 5_000, 64)
    rows[70] = 0
    rows[80] = rows[81]
    return words_of(rows)


SETS = [f"{{w{i}, w{i + 300}, w{i + 600}, w{i + 900}}}" for i in range(100, 130)]  # each around one centre


def test_quantized_vectors_find_what_the_exact_engine_finds(many: WordVectors) -> None:
    """With all lists scanned, the only loss is that of the quantization."""
    index = many.preprocessed(None, Logic()).approximate_index.index
    assert many.recall(SETS, top=100) > 0.85
    index.nprobe, usual = index.nlist, index.nprobe
    assert many.recall(SETS, top=100) > 0.98 and many.recall(SETS, top=10) > 0.98
    for operator in "|&-":
        assert many.recall([f"{a} {operator} {b}" for a, b in pairwise(SETS)], top=20) > 0.95
    index.nprobe = usual


def test_both_engines_give_the_same_memberships(many: WordVectors) -> None:
    exact = {hit.id: hit.membership for hit in many.find(SETS[0], top=50)}
    hits = many.find(SETS[0], top=20, approximate=True)
    assert len({hit.id for hit in hits} & set(exact)) >= 15
    assert all(hit.membership == exact[hit.id] for hit in hits if hit.id in exact)


def test_it_takes_less_time_than_the_exact_engine(many: WordVectors) -> None:
    """About a fifth of the processor time, which other processes hardly change; the bound is generous."""
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
    """Return words of which a share is in groups of near duplicates, and ten of these as queries."""
    random = np.random.default_rng(4)
    n = MIN_QUANTIZED + 1_000
    groups = max(int(share * n / size), 1)
    rows = spread(n, d)
    rows[: groups * size] = np.repeat(unit_rows(random.standard_normal((groups, d))), size, axis=0)
    rows[: groups * size] += noise * random.standard_normal((groups * size, d)) / np.sqrt(d)
    return words_of(rows), [f"w{i * groups * size // 10}" for i in range(10)]


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("share", [0.005, 0.02, 0.06, 0.5])
def test_near_duplicates_are_ranked_by_their_vectors(noise: float, share: float) -> None:
    """They have the same codes, so that only their vectors tell which of them are best."""
    pytest.importorskip("faiss")
    words, queries = grouped(share, noise)
    for top in (1, 10, 100):
        assert words.recall(queries, top=top, preprocessing="none") > 0.95
    if share == 0.5:
        return  # the groups take up most lists of the index, and items between them are in few scanned ones
    for operator in "|-":
        joined = [f"{a} {operator} {b}" for a, b in zip(queries, ["w66000", "w66300", "w66001"] * 4, strict=False)]
        assert words.recall(joined, top=10, preprocessing="none") > 0.9


def test_extreme_norms_do_not_matter(tmp_path) -> None:
    pytest.importorskip("faiss")
    rows = np.random.default_rng(9).standard_normal((3_000, 8)).astype(np.float32)
    rows[1], rows[2] = rows[0] * np.float32(1e-30), rows[0] * np.float32(1e25)
    found = words_of(rows).find("w0", 2, preprocessing="none", approximate=True)
    assert [hit.id for hit in found] == ["w1", "w2"]


def test_nothing_is_found_when_all_items_are_deleted(tmp_path) -> None:
    pytest.importorskip("faiss")
    c = Collection.create(
        tmp_path / "c", [Item(str(i), "") for i in range(50)], encoder=lambda texts: np.ones((len(texts), 4))
    )
    c = c.delete([str(i) for i in range(50)])
    assert len(c.find("anything", approximate=True)) == len(c.find("anything")) == 0


def test_a_cached_index_of_another_size_is_not_used(words: WordVectors, tmp_path, monkeypatch) -> None:
    faiss = pytest.importorskip("faiss")
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    source = load_words().preprocessed(None, Logic())
    file = approximate._cache_file(source)
    file.parent.mkdir(parents=True)
    other = faiss.index_factory(source.dimensions, "IVF1,Flat", faiss.METRIC_INNER_PRODUCT)
    rows = np.eye(50, source.dimensions, dtype=np.float32)
    other.train(rows)
    other.add(rows)
    faiss.write_index(other, str(file))
    assert approximate.ApproximateIndex(source).index.ntotal == len(source)


def test_index_that_cannot_be_cached_is_used(words: WordVectors, tmp_path, monkeypatch) -> None:
    (tmp_path / "approximate").write_bytes(b"")  # a file where the folder should be
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path))
    assert load_words().find(QUERIES[0], approximate=True)[0].id == "orange"


@pytest.mark.parametrize("d", [8, 64])
@pytest.mark.parametrize("left", ["many", "few"])
def test_many_deleted_items_are_not_found(tmp_path, d: int, left: str, capfd) -> None:
    pytest.importorskip("faiss")
    rows = spread(MIN_QUANTIZED + 2_000, d)
    q = np.random.default_rng(5).standard_normal((1, d))
    whole = Collection.create(tmp_path / "c", [Item(str(i), "") for i in range(len(rows))], vectors=rows)
    q /= np.linalg.norm(q)
    order = np.argsort(-(rows @ q[0]) / np.linalg.norm(rows, axis=1))
    gone = {"many": order[:3_000], "few": order[:-1_000]}
    fewer = whole.delete([str(i) for i in gone[left].tolist()])
    kept = np.setdiff1d(order, gone[left])
    found = fewer.find(str(kept[0]), top=10, approximate=True)
    assert len(found) == 10 and {int(hit.id) for hit in found} <= set(kept.tolist())
    assert "WARNING" not in "".join(capfd.readouterr())


@pytest.mark.parametrize(
    ("n", "d", "kept"), [(2_000, 8, False), (MIN_QUANTIZED + 1_000, 8, False), (MIN_QUANTIZED + 1_000, 64, True)]
)
def test_numbers_that_are_not_finite_are_refused(n: int, d: int, kept: bool, tmp_path, monkeypatch) -> None:
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


def test_index_of_many_items_is_cached(many: WordVectors, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    many.save(tmp_path / "words")
    first = WordVectors.open(tmp_path / "words").find(SETS[0], approximate=True)
    assert len(list((tmp_path / "cache" / "approximate").iterdir())) == 1
    monkeypatch.setattr(approximate, "_build", lambda _: pytest.fail("the index was built again"))
    assert WordVectors.open(tmp_path / "words").find(SETS[0], approximate=True).rows == first.rows
