"""`find` on word vectors: formulas of every logic, options, errors."""

import json
import time
from math import inf
from threading import Thread

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from softset import GradedSubspace, Subspace, WordVectors, load_words
from softset.collections.collection import Collection
from softset.collections.items import Item
from softset.errors import InputError, QueryError, UnknownWordError
from softset.query.logic import Logic
from softset.search import exact

QUERY = "{red, blue, green} & {apple, peach, banana}"


@pytest.fixture(scope="module")
def words() -> WordVectors:
    return load_words()


def toy(n: int = 500, d: int = 12, seed: int = 0) -> WordVectors:
    random = np.random.default_rng(seed)
    return WordVectors.of([f"w{i}" for i in range(n)], random.standard_normal((n, d)) + random.standard_normal(d))


def names(result) -> list[str]:
    return [hit.id for hit in result]


@pytest.mark.parametrize("logic", Logic.NAMES)
def test_example_of_the_paper(words: WordVectors, logic: str) -> None:
    """Orange belongs to colour and fruit."""
    assert names(words.find(QUERY, logic=logic))[0] == "orange"


def expected_scores(words: WordVectors, query: str, logic: str) -> np.ndarray:
    """Score (A & B), A | B, A - B, ~A & B of two fixed sets by formula, for all words."""
    M = words.matrix
    a, b = words[["w1", "w2", "w3"]], words[["w4", "w5"]]
    if logic == "lattice":
        A, B = Subspace.span(a), Subspace.span(b)
        sets = {"&": A.intersection(B, alpha=0.9), "|": A | B, "-": A.without(B), "~": (~A).intersection(B, alpha=0.9)}
        return sets[query].membership(M)
    A, B = GradedSubspace.of(a, aperture=1.5), GradedSubspace.of(b, aperture=1.5)
    sets = {"&": A.intersection(B, floor=0.1), "|": A | B, "-": A.without(B), "~": (~A).intersection(B, floor=0.1)}
    return sets[query].membership(M)


@pytest.mark.parametrize(
    "logic", [name for name in Logic.NAMES if name != "logistic"]
)  # see tests/query/test_formula.py
@pytest.mark.parametrize(
    ("operator", "query"),
    [
        ("&", "{w1,w2,w3} & {w4,w5}"),
        ("|", "{w1,w2,w3} | {w4,w5}"),
        ("-", "{w1,w2,w3} - {w4,w5}"),
        ("~", "~{w1,w2,w3} & {w4,w5}"),
    ],
)
def test_every_logic_follows_its_formula(logic: str, operator: str, query: str) -> None:
    words = toy()
    result = words.find(query, top=20, logic=logic, alpha=0.9, aperture=1.5, floor=0.1)
    scores = expected_scores(words, operator, logic)
    scores[1:6] = -1
    best = np.argsort(-scores, kind="stable")[:20]
    assert [hit.index for hit in result] == best.tolist()
    np.testing.assert_allclose([hit.membership for hit in result], scores[best], atol=2e-6)


def test_blocks_and_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    words = toy(2000)
    queries = ["{w1, w2} & w7", "w3 | w4", "~w5 & w6", "w1 - w2"]
    alone = [words.find(query, top=15).to_dict() for query in queries]
    assert [result.to_dict() for result in words.find_many(queries, top=15)] == alone
    monkeypatch.setattr(exact, "BLOCK_BYTES", 4 * 12 * 7)  # seven rows a block
    small = [result.to_dict() for result in words.find_many(queries, top=15)]
    for one, other in zip(small, alone, strict=True):
        assert [hit["id"] for hit in one["results"]] == [hit["id"] for hit in other["results"]]
        a, b = ([hit["membership"] for hit in result["results"]] for result in (one, other))
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_ties_are_broken_by_the_order_of_the_vocabulary() -> None:
    same = WordVectors.of([f"w{i}" for i in range(50)], np.tile([1.0, 0.0], (50, 1)))
    assert names(same.find("w7", top=5, preprocessing="none")) == ["w0", "w1", "w2", "w3", "w4"]
    assert names(same.find("w0", top=60, preprocessing="none")) == [f"w{i}" for i in range(1, 50)]


def test_examples_are_hits_only_on_request(words: WordVectors) -> None:
    assert not {"red", "blue"} & set(names(words.find("{red, blue}", top=50)))
    assert set(names(words.find("{red, blue}", top=2, include_examples=True))) == {"red", "blue"}
    assert "york" not in names(words.find("New York", top=50))


def test_percentile_and_min_score(words: WordVectors) -> None:
    result = words.find("banana", top=100, variants=True)
    assert result[0].percentile == pytest.approx(100 * (33752 - 1) / 33752, abs=1e-4)
    assert [hit.percentile for hit in result] == sorted((hit.percentile for hit in result), reverse=True)
    least = result[9].membership
    assert len(words.find("banana", top=100, min_score=least, variants=True)) == 10
    assert len(words.find("banana", min_score=0.999)) == 0


def test_weights_count_except_in_crisp_sets(words: WordVectors) -> None:
    plain, heavy = (words.find(query, top=5) for query in ("{paris, beer}", "{paris, beer^9}"))
    assert names(plain) != names(heavy) and "brewery" in names(heavy)
    crisp = [names(words.find(query, logic="lattice")) for query in ("{paris, beer}", "{paris, beer^9}")]
    assert crisp[0] == crisp[1]
    assert names(words.find("{paris, beer}", logic="graded", aperture=inf)) == crisp[0]


def test_explain(words: WordVectors) -> None:
    hit = words.find(QUERY, top=1, explain=True)[0]
    colour, fruit = hit.leaves
    assert colour.leaf == "{red, blue, green}" and fruit.leaf == "{apple, peach, banana}"
    for leaf in (colour, fruit):
        assert leaf.membership == pytest.approx(words.membership(leaf.leaf, ["orange"])[0].membership, abs=1e-6)
    assert hit.membership == pytest.approx(words.membership(QUERY, ["orange"])[0].membership, abs=1e-6)
    assert colour.examples[0][0] == "red"
    white = words.preprocess("whiten")
    for text, cosine in colour.examples:
        a, b = white["orange"], white[text]
        assert cosine == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-5)
    assert "in {red, blue, green}: red" in str(words.find(QUERY, top=1, explain=True))


def test_named_sets(words: WordVectors) -> None:
    sets = {"colour": ["red", "blue", "green"], "fruit": ["apple", "peach", "banana"]}
    named, plain = words.find("@colour & @fruit", sets=sets), words.find(QUERY)
    assert [hit.to_dict() for hit in named] == [hit.to_dict() for hit in plain]
    with pytest.raises(InputError, match="there is no set named @animal; known are colour, fruit"):
        words.find("@animal", sets=sets)


def test_json_has_the_documented_fields(words: WordVectors) -> None:
    found = json.loads(words.find("{red, bleu}", top=2, skip_unknown=True, explain=True).to_json())
    assert found["query"] == "{red, bleu}" and found["logic"] == "logistic" and found["unknown"] == ["bleu"]
    signature = f"vectors:glove-840b-300d@{words.checksum[:8]}|words:33753|d:300"
    signature += "|preprocessing:whiten(0.2)@33753|engine:exact|logic:"
    assert found["signature"].startswith(signature)
    assert set(found["results"][0]) == {"id", "membership", "leaves"}


def test_plan_as_plain_values() -> None:
    plan = toy().plan("{w1, w2^2} & w3")
    assert plan.notes[0] == "the examples w1 and w2 have little in common"
    example = {"weight": 1.0, "resolved_as": "exact match"}
    sets = [[example | {"text": "w1"}, example | {"text": "w2", "weight": 2.0}], [example | {"text": "w3"}]]
    fields = plan.to_dict()
    assert [part.pop("value") for part in fields["sets"]] == [repr(leaf.members) for leaf in plan.leaves]
    assert fields == {
        "query": "{w1, w2^2} & {w3}",
        "logic": str(plan.logic),
        "sets": [{"set": "{w1, w2^2}", "examples": sets[0]}, {"set": "{w3}", "examples": sets[1]}],
        "combined": None,
        "notes": list(plan.notes),
        "unknown": [],
    }


def test_empty_and_trivial_queries_are_refused(words: WordVectors) -> None:
    with pytest.raises(
        InputError, match=r"nothing belongs.*largest canonical cosine is 0\.\d+; with alpha above 0\.\d+ it"
    ):
        words.find("{dog, cat, horse} & {small, tiny}", logic="lattice", alpha=0.2)
    with pytest.raises(InputError, match=r"nothing belongs to this query: \{red\} - \{red, blue\} is empty"):
        words.find("red - {red, blue}", logic="lattice")
    for logic in Logic.NAMES:
        for query in ("red | ~red", "~(red - red)", "(red & blue) | ~red | ~blue"):
            with pytest.raises(InputError, match="every item belongs to a tautology: "):
                words.find(query, logic=logic)
        for query in ("red & ~red", "red - red", "blue & (red - red)"):
            with pytest.raises(InputError, match="no item belongs to a contradiction: "):
                words.find(query, logic=logic)
    with pytest.raises(InputError, match=r"largest canonical cosine is 0\.00$"):
        words.find("red & ~{red, blue}", logic="lattice")
    result = words.find("({dog, cat} & {small, tiny}) | red", logic="lattice", alpha=0.1)
    assert "is empty" in result.notes[0] and len(result) == 10


@pytest.mark.parametrize("logic", ["lattice", "graded"])
def test_sets_that_together_span_the_whole_space_are_refused(logic: str) -> None:
    with pytest.raises(InputError, match=r"every vector belongs to this query: .* is the whole space"):
        toy(20, 3).find("{w0, w1} | {w2, w3}", logic=logic, aperture=inf, preprocessing="none")


def test_bad_queries_and_options_are_refused(words: WordVectors) -> None:
    with pytest.raises(UnknownWordError, match="'oragne' has no vector here; words with a similar spelling: orange"):
        words.find("{red, oragne}")
    with pytest.raises(InputError, match=r"no example of \{qqqzz, xxqqz\} has a vector"):
        words.find("{qqqzz, xxqqz}", skip_unknown=True)
    with pytest.raises(QueryError):
        words.find("{red")
    with pytest.raises(InputError, match="top must be a positive whole number, but 0 was given"):
        words.find("red", top=0)
    with pytest.raises(InputError, match=r"the logic 'fuzzy' is not known: use one of logistic, graded, lattice$"):
        words.find("red", logic="fuzzy")
    for parameters in ({"alpha": 1}, {"aperture": 0}, {"floor": 0}):
        with pytest.raises(InputError, match="must be"):
            words.find("red", logic="graded", **parameters)
    with pytest.raises(
        InputError, match=r"the logic logistic has no aperture: choose graded \(--logic\), or leave it out"
    ):
        words.find("red", aperture=4)
    with pytest.raises(InputError, match="the preprocessing 'whitten' is not known"):
        words.find("red", preprocessing="whitten")


def test_most_similar_is_gensims_formula(words: WordVectors) -> None:
    found = words.most_similar(positive=["woman", "king"], negative=["man"], topn=5)
    assert found[0][0] == "queen"
    unit = words.normalised()
    target = unit["woman"] + unit["king"] - unit["man"]
    cosines = unit.matrix @ (target / np.linalg.norm(target))
    for word, score in found:
        assert score == pytest.approx(cosines[words.words.get_index(word)], abs=1e-5)
    assert len(words.most_similar("king", topn=3)) == 3
    near = words.most_similar("king", restrict_vocab=1000)
    assert all(words.words.get_index(word) < 1000 for word, _ in near)
    with pytest.raises(InputError, match="needs at least one positive or negative"):
        words.most_similar()


def test_equally_similar_words_are_in_the_order_of_the_vocabulary() -> None:
    words = WordVectors.of(["a", "b", "c", "d", "e"], [[1, 0], [0, 1], [1, 0], [1, 1], [1, 0]])
    for topn, expected in ((1, "c"), (2, "ce"), (3, "ced"), (9, "cedb")):
        assert [word for word, _ in words.most_similar("a", topn=topn)] == list(expected)


def test_most_similar_agrees_with_gensim() -> None:
    gensim = pytest.importorskip("gensim.models")
    words = toy()
    keyed = gensim.KeyedVectors(12)
    keyed.add_vectors(list(words.words), words.matrix)
    theirs = keyed.most_similar(positive=["w1", "w2"], negative=["w3"], topn=20)
    ours = words.most_similar(positive=["w1", "w2"], negative=["w3"], topn=20)
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    np.testing.assert_allclose([s for _, s in ours], [s for _, s in theirs], atol=1e-5)


def test_plan_is_printed(words: WordVectors) -> None:
    shown = str(words.plan("{red, New York} & ~dog", logic="lattice"))
    assert "New York: the weighted mean of new, york" in shown
    assert "lattice(alpha=0.5)" in shown and "Subspace(dim=2, ambient=300)" in shown
    assert "the log-odds in 2 sets" in str(words.plan("red & dog"))


def test_number_of_threads_is_limited(words: WordVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(exact._BlockScorer, "__call__", _noting(exact._BlockScorer.__call__, seen))
    words.find("red", threads=1)
    assert seen and set(seen[-1]) == {1}
    monkeypatch.undo()
    one, two = (words.find(QUERY, top=50, threads=n) for n in (1, 2))
    assert names(one) == names(two)
    np.testing.assert_allclose([hit.membership for hit in one], [hit.membership for hit in two], atol=1e-6)
    with pytest.raises(InputError, match="threads must be a positive whole number, but 0 was given"):
        words.find("red", threads=0)


def _noting(call, seen):
    """Wrap the scoring of a block to record how many threads the libraries may use."""

    def noted(*arguments):
        ours = [pool for pool in threadpool_info() if pool["user_api"] == "blas" and "numpy" in pool["filepath"]]
        seen.append([pool["num_threads"] for pool in ours])  # SciPy and torch bring others, which do no work here
        return call(*arguments)

    return noted


def test_zero_vectors_do_not_displace_other_items() -> None:
    rows = np.random.default_rng(3).standard_normal((301, 6))
    rows[0], rows[1:101] = np.eye(6)[0], 0
    rows[101:, 0] = -np.abs(rows[101:, 0]) - 0.1
    words = WordVectors.of(["q", *(f"w{i}" for i in range(300))], rows)
    few, many = (words.find("q", top, preprocessing="none") for top in (3, 150))
    cosines = rows[101:, 0] / np.linalg.norm(rows[101:], axis=1)
    assert names(few) == [f"w{100 + i}" for i in np.argsort(-cosines)[:3]] == names(many)[:3]
    assert names(few) == names(words.find("q & q", 3, preprocessing="none"))


def test_concurrent_searches_restore_the_number_of_threads(words: WordVectors) -> None:
    def threads() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if "numpy" in pool["filepath"]]

    before, stop = threads(), time.monotonic() + 1.5

    def search(**options: int) -> None:
        while time.monotonic() < stop:
            words.find("red - blue", **options)

    both = [Thread(target=search, kwargs=options) for options in ({"threads": 1}, {})]
    for one in both:
        one.start()
    for one in both:
        one.join(30)
    assert threads() == before


def test_a_named_set_may_be_one_word(words: WordVectors) -> None:
    assert names(words.find("@c", 3, sets={"c": "red"})) == names(words.find("red", 3))


def test_equal_vectors_are_tied_in_their_order() -> None:
    """A matrix product may round its last rows differently; scores in float64 do not depend on the position."""
    for seed in range(20):
        random = np.random.default_rng(seed)
        rows = random.standard_normal((1003, 100)).astype("f4")
        rows[[10, 500, 1001, 1002]] = rows[3] + 0.1 * rows[4]
        words = WordVectors.of([f"w{i}" for i in range(1003)], rows)
        assert names(words.find("w3", top=4)) == ["w10", "w500", "w1001", "w1002"]


def test_excluded_examples_have_membership_zero(words: WordVectors) -> None:
    result = words.find("{red, wine} - {red, blue}", top=40_000, logic="graded", aperture=inf, include_examples=True)
    assert not [hit for hit in result if hit.id in ("red", "blue") and hit.membership > 1e-6]


@pytest.mark.parametrize("logic", Logic.NAMES)
def test_extreme_norms_and_zero_vectors(logic: str) -> None:
    rows = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0.5, 0]]
    plain = WordVectors.of(list("abcde"), rows)
    odd = WordVectors.of(list("abcde"), np.array(rows) * [[1e-30], [1e25], [1e-38], [1], [1e30]])
    for query in ("a", "~a", "a | c", "{a, b} - c"):
        theirs = [(hit.id, hit.membership) for hit in plain.find(query, logic=logic)]
        ours = [(hit.id, hit.membership) for hit in odd.find(query, logic=logic)]
        assert [name for name, _ in ours] == [name for name, _ in theirs]
        assert [m for _, m in ours] == pytest.approx([m for _, m in theirs], abs=1e-6)
        assert "d" not in dict(ours)
    with pytest.raises(InputError, match=r"every example of \{d\} has the zero vector"):
        plain.find("d", logic=logic)
    with pytest.raises(InputError, match="the zero vector, which has no neighbours"):
        plain.most_similar("d")


def test_memory_of_many_queries_is_limited(words: WordVectors) -> None:
    import tracemalloc

    _ = words.norms
    queries = [f"{{{', '.join(words.words[5 * i + 100 : 5 * i + 105])}}}" for i in range(600)]
    tracemalloc.start()
    words.find_many(queries, top=3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120 * 2**20


def test_restrict_vocab_limits_the_search_but_not_the_lookup(words: WordVectors) -> None:
    assert words.words.get_index("peach") > 5000
    result = words.find("{red, peach}", restrict_vocab=5000)
    assert all(hit.index < 5000 for hit in result) and "|restrict:5000|" in result.signature
    assert names(words.find_many("red")[0]) == names(words.find("red"))


def test_result_says_how_phrases_were_resolved(words: WordVectors) -> None:
    result = words.find("{New York, Red, wine}", top=1)
    assert result.to_dict()["resolved_as"] == {"New York": "the weighted mean of new, york", "Red": "as red"}
    assert "resolved_as" not in words.find("wine", top=1).to_dict()


def test_most_similar_accepts_what_gensim_accepts(words: WordVectors) -> None:
    assert words.most_similar(["red"], negative=None) == words.most_similar("red") == words.most_similar([("red", 2.0)])
    near = words.most_similar(words["red"], topn=2)
    assert near[0][0] == "red" and near[0][1] == pytest.approx(1)
    for options in ({"topn": 0}, {"restrict_vocab": -5}):
        with pytest.raises(InputError, match="must be at least 1"):
            words.most_similar("red", **options)
    with pytest.raises(InputError, match="a word or a list of words is needed, but 3 was given"):
        _ = words[3]
    assert words.span("red").dim == 1 and next(iter(words)) == "the"


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_the_length_of_a_vector_does_not_change_its_neighbours(words: WordVectors, scale: float) -> None:
    far = words["red"].astype(np.float64) * scale
    assert words.most_similar(far, topn=5) == words.most_similar(words["red"], topn=5)


def test_the_lengths_of_all_vectors_do_not_change_neighbours() -> None:
    long = toy()
    short = WordVectors.of(list(long.words), np.array(long.matrix) / 100)
    for (word, cosine), (other, same) in zip(long.most_similar("w1"), short.most_similar("w1"), strict=True):
        assert word == other and cosine == pytest.approx(same, abs=1e-6)


def test_only_the_ratio_of_weights_counts(words: WordVectors) -> None:
    for tiny, plain in (("{red^1e-13}", "red"), ("{red^2e-20, blue^1e-20}", "{red^2, blue}")):
        assert names(words.find(tiny)) == names(words.find(plain))


def test_percentiles_count_the_items_that_can_be_found(tmp_path) -> None:
    items = [Item(f"w{i}") for i in range(100)]
    vectors = np.random.default_rng(3).standard_normal((100, 4))
    collection = Collection.create(tmp_path / "c", items, vectors=vectors).delete([f"w{i}" for i in range(50, 75)])
    result = collection.find("w1", top=100)  # 74 of 100: neither deleted items nor the example can be found
    assert [hit.percentile for hit in result] == [round(100 * (73 - i) / 74, 4) for i in range(len(result))]
    # Deleted items have no index, so the first n items are n of those that are left.
    for stop, searched in ((2, 1), (50, 49), (51, 50), (60, 59), (74, 73), (75, 74), (500, 74)):
        hit = collection.find("w1", top=1, restrict_vocab=stop)[0]
        assert hit.percentile == round(100 * (searched - 1) / searched, 4), stop


def test_unknown_texts_are_an_error_unless_they_are_skipped(words: WordVectors) -> None:
    for call in (words.membership, words.find):
        with pytest.raises(UnknownWordError):
            call("{red, qqzzxx}", *([["blue"]] if call == words.membership else []))
    with pytest.raises(UnknownWordError):
        words.membership("red", ["blue", "qqzzxx"])
    assert words.membership("red", ["qqzzxx"], skip_unknown=True)[0].membership is None


def test_skipping_unknown_words_is_fast(words: WordVectors) -> None:
    unknown = [f"qqzz{i}" for i in range(500)]
    start = time.perf_counter()
    result = words.find("{red, " + ", ".join(unknown) + "}", top=1, skip_unknown=True)
    assert len(result.unknown) == 500 and time.perf_counter() - start < 2


def test_memory_does_not_depend_on_the_number_of_items(tmp_path) -> None:
    """Ten blocks of memory-mapped vectors are searched in the memory of about one block."""
    import tracemalloc

    n, d = 400_000, 100
    WordVectors.of([f"w{i}" for i in range(n)], np.random.default_rng(0).standard_normal((n, d), dtype="f4")).save(
        tmp_path / "s"
    )
    words = WordVectors.open(tmp_path / "s")
    tracemalloc.start()
    words.find("{w1, w2} & ~w3", top=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * exact.BLOCK_BYTES < n * d * 4 / 2


def test_python_and_the_command_line_have_one_default(words: WordVectors) -> None:
    import inspect

    for make in (GradedSubspace.of, words.graded):
        assert inspect.signature(make).parameters["aperture"].default == Logic().aperture


def test_negated_leaves_are_marked(words: WordVectors) -> None:
    leaves = words.find("{dog, cat} - wolf", top=1, explain=True)[0].leaves
    assert [one.negated for one in leaves] == [False, True]
    assert "negated: 0." in str(words.find("~wolf & dog", top=1, explain=True))


def test_parameters_override_those_of_a_logic(words: WordVectors) -> None:
    result = words.find(QUERY, top=1, logic=Logic("lattice", alpha=0.5), alpha=0.9)
    assert "logic:lattice(alpha=0.9)" in result.signature


@pytest.mark.parametrize(
    "query", ["{red, blue} & {apple}", "{red, blue} | apple", "{red, blue} - apple", "~red & apple"]
)
def test_graded_sets_of_large_aperture_are_crisp(query: str) -> None:
    words = load_words()
    crisp, nearly = (words.find(query, 5, logic="graded", aperture=aperture) for aperture in (np.inf, 1e6))
    assert [hit.id for hit in crisp] == [hit.id for hit in nearly]
    assert [hit.membership for hit in crisp] == pytest.approx([hit.membership for hit in nearly], abs=1e-4)


@pytest.mark.parametrize(
    ("method", "option", "nearest"),
    [("find", "topp", "top"), ("find_many", "aproximate", "approximate"), ("plan", "logik", "logic")],
)
def test_unknown_options_are_refused_with_the_nearest_name(words, method: str, option: str, nearest: str) -> None:
    with pytest.raises(InputError, match=f"there is no option '{option}'; did you mean '{nearest}'"):
        getattr(words, method)("red", **{option: 3})
    with pytest.raises(InputError, match="there is no option 'explane'; did you mean 'explain'"):
        words.membership("red", ["blue"], explane=True)
