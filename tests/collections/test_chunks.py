"""Texts in parts: how they are split, and what collections with vectors of parts and with words find."""

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from math import ceil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import softset
from softset import Collection
from softset.collections.background import CALIBRATIONS
from softset.collections.chunks import MAX_WORDS, split_text
from softset.errors import FileError, InputError
from softset.io.arrays import map_tensors, write_tensors
from softset.io.assets import bundled_file
from softset.query.lexical import LexicalIndex, analyzer, term_weights

D = 16
WORDS = "whale ship sea war song film book red blue green star moon town king queen bread wine horse".split()


@cache
def vector_of(word: str) -> np.ndarray:
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
    return np.random.default_rng(seed).standard_normal(D)


def words_of(text: str) -> list[str]:
    return text.lower().replace(".", "").replace(",", "").split()


def embed(texts: list[str]) -> np.ndarray:
    return np.array([sum(map(vector_of, words_of(text)), np.zeros(D)) for text in texts])


def embed_words(texts: list[str]) -> list[np.ndarray]:
    return [np.array([vector_of(word) for word in words_of(text)]).reshape(-1, D) for text in texts]


def make_texts(count: int, seed: int = 0) -> list[str]:
    """Return texts of one to four sentences of four to seven words."""
    random, texts = np.random.default_rng(seed), []
    for _ in range(count):
        sentences = (" ".join(random.choice(WORDS, random.integers(4, 8))) for _ in range(random.integers(1, 5)))
        texts.append(". ".join(sentences) + ".")
    return texts


TEXTS = make_texts(1_000)
QUERY = "whale ship"


def found(collection: Collection, query: str = QUERY, **options: object) -> dict[str, float]:
    hits = collection.find(query, 2_000, include_examples=True, **options)
    return {hit.id: hit.membership for hit in hits}


# Splitting

SENTENCE = "one two three four five."


def parts(text: str, chunks: str = "sentence") -> list[str]:
    return [text[start:stop] for start, stop in split_text(text, chunks)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("   ", []),
        (SENTENCE, []),
        ("A whale swims far away. Is the sea red or blue? Yes it is, of course!", 3),
        ("Version 1.5 is out for all now. It is not bad at all.", 2),
        ('He said "the whale is red." Then he went back home.', 2),
        ("A title without a full stop\n\nAnd a text after a blank line", 2),
        ("鯨は海にいます。とても大きいです。", []),  # two short ones
        ("one two three four\nfive six seven eight", []),
    ],
)
def test_sentences(text: str, expected: list[str] | int) -> None:
    assert (len(parts(text)) if expected else parts(text)) == expected


def test_short_sentences_are_joined_with_a_neighbour() -> None:
    assert parts(f"Oh no! {SENTENCE} {SENTENCE}") == [f"Oh no! {SENTENCE}", SENTENCE]
    assert parts(f"{SENTENCE} {SENTENCE} Oh no!") == [SENTENCE, f"{SENTENCE} Oh no!"]
    assert parts(f"{SENTENCE} Oh no!") == []


def test_long_sentences_are_cut() -> None:
    words = [f"w{n}" for n in range(2 * MAX_WORDS + 10)]
    assert [len(part.split()) for part in parts(" ".join(words))] == [MAX_WORDS, MAX_WORDS, 10]


def test_windows_share_a_sentence() -> None:
    sentences = [f"{' '.join(f's{n}w{m}' for m in range(20))}." for n in range(7)]
    assert parts(" ".join(sentences), "window") == [" ".join(sentences[n : n + 3]) for n in (0, 2, 4)]
    assert parts(" ".join(sentences[:3]), "window") == []
    long = [f"{' '.join(['word'] * 70)}."] * 3
    assert parts(" ".join(long), "window") == long


@given(st.text(alphabet="ab .!?\n\"'。", max_size=400), st.sampled_from(["sentence", "window"]))
def test_parts_are_in_order_and_cover_all_words(text: str, chunks: str) -> None:
    spans = split_text(text, chunks)
    assert len(spans) != 1 and spans == sorted(spans) and len(set(spans)) == len(spans)
    assert all(0 <= start < stop <= len(text) and text[start:stop].strip() == text[start:stop] for start, stop in spans)
    if spans:
        covered = {position for start, stop in spans for position in range(start, stop)}
        assert all(position in covered for position, letter in enumerate(text) if not letter.isspace())
    if chunks == "sentence":
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
        assert all(len(text[start:stop].split()) <= MAX_WORDS + 6 for start, stop in spans)


@pytest.mark.parametrize("chunks", ["none", "token"])
def test_other_ways_have_no_parts(chunks: str) -> None:
    assert split_text(f"{SENTENCE} {SENTENCE}", chunks) == []


# Collections


class Reference:
    """Memberships in the set of one text, in float64: for each text, all its vectors and the words are looked at."""

    def __init__(self, plan: softset.query.plan.Plan, *, lexical: bool) -> None:
        centroid = plan.leaves[0].members
        self.direction, self.weights, self.average = centroid.direction, dict[str, float](), 0.0
        sentences = bundled_file("baselines/sentences.txt").read_text("utf-8").splitlines()
        rows = embed(sentences).astype("f4").astype("f8")
        cosines = rows @ self.direction / np.linalg.norm(rows, axis=1)
        self.scale = scale_of(cosines, 0.02)
        values, self.mean_score, self.fused = self.relative(cosines), 0.0, (0.0, 1.0)
        if lexical:
            index = LexicalIndex.of(map(analyzer("english"), sentences))
            weights = term_weights([analyzer("english")(QUERY)], [1.0], index)
            self.weights = {term: weight / sum(weights.values()) for term, weight in weights.items()}
            self.average = index.average_length
            scores = index.scores(self.weights, self.average)
            self.mean_score = scores.mean()
            self.fused = scale_of(values + 6 * (scores - self.mean_score), 0.5)
            values = self.fuse(values, scores)
        self.last = scale_of(2 * (values - 0.5), 0.1)

    def relative(self, cosines: np.ndarray | float) -> np.ndarray:
        return (cosines - self.scale[0]) / (self.scale[1] - self.scale[0])

    def fuse(self, values: np.ndarray, scores: np.ndarray | float) -> np.ndarray:
        sums = values + 6 * (scores - self.mean_score)
        return (sums - self.fused[0]) / (self.fused[1] - self.fused[0])

    def membership(self, text: str, chunks: list[str]) -> float:
        rows = embed([text, *chunks]).astype("f4").astype("f8")
        cosines = rows @ self.direction / np.linalg.norm(rows, axis=1)
        value = self.relative((cosines[0] + cosines.max()) / 2)
        if self.weights:
            terms = analyzer("english")(text)
            k = 0.6 * (0.6 + 0.4 * len(terms) / self.average)
            score = sum(w * terms.count(term) / (terms.count(term) + k) for term, w in self.weights.items())
            value = self.fuse(value, score)
        y = (2 * (value - 0.5) - self.last[0]) / (self.last[1] - self.last[0])
        fitted = CALIBRATIONS["sentences"]
        return float(1 / (1 + np.exp(-fitted.slope * (y - fitted.midpoint))))


def scale_of(scores: np.ndarray, min_spread: float) -> tuple[float, float]:
    highest = np.sort(scores)[::-1][: ceil(0.015 * len(scores))]
    return scores.mean(), max(highest.mean(), scores.mean() + min_spread)


def check(collection: Collection, texts: dict[str, str], split: Callable[[str], list[str]], *, lexical: bool) -> None:
    """Compare all memberships with those of the reference, and the vectors with the number of parts."""
    reference = Reference(collection.plan(QUERY), lexical=lexical)
    expected = {name: reference.membership(text, split(text)) for name, text in texts.items()}
    assert found(collection) == pytest.approx(expected, abs=1e-6)
    assert [hit.id for hit in collection.find(QUERY, 5)] == sorted(expected, key=lambda name: -expected[name])[:5]
    assert collection.stats().vectors == sum(1 + len(split(text)) for text in texts.values())
    many = collection.find_many([QUERY, "red & wine", "sea - song", QUERY], 2_000)
    assert {hit.id: hit.membership for hit in many[3]} == pytest.approx(expected, abs=1e-6)
    kept = {name: value for name, value in expected.items() if collection[name].metadata["number"] % 3 == 0}
    assert found(collection, filter="third == 0") == pytest.approx(kept, abs=1e-6)
    given = collection.membership(QUERY, [texts[name] for name in list(texts)[:40]])
    assert [each.membership for each in given] == pytest.approx(list(expected.values())[:40], abs=1e-6)


SPLITTERS = {
    "sentence": (embed, lambda text: parts(text)),
    "window": (embed, lambda text: parts(text, "window")),
    "token": (embed_words, words_of),
    "none": (embed, lambda _: []),
}


def rows_of(texts: Iterable[str], first: int) -> list[dict]:
    return [{"id": f"i{n}", "text": text, "number": n, "third": n % 3} for n, text in enumerate(texts, first)]


@pytest.mark.parametrize("lexical", [False, True])
@pytest.mark.parametrize("chunks", SPLITTERS)
def test_memberships_are_those_of_all_vectors(tmp_path: Path, chunks: str, lexical: bool) -> None:
    encoder, split = SPLITTERS[chunks]
    count = 60 if chunks == "token" else 200
    texts = [" ".join(TEXTS[n : n + 8]) if n % 9 == 0 else TEXTS[n] for n in range(count)]
    if chunks == "token":  # whose texts have the mean of their tokens, which has the direction of the sum
        texts = TEXTS[:count]
    present = {f"i{n}": text for n, text in enumerate(texts)}
    create = {"encoder": encoder, "chunks": chunks, "lexical": lexical}
    collection = Collection.create(tmp_path / "c", rows_of(texts, 0), **create)
    assert collection.stats().chunks == chunks and collection.stats().language == ("english" if lexical else None)
    check(collection, present, split, lexical=lexical)
    more = make_texts(12, seed=1)
    collection.add(rows_of(more, count))
    present |= {f"i{count + n}": text for n, text in enumerate(more)}
    check(collection, present, split, lexical=lexical)
    changed = make_texts(5, seed=2)
    collection.upsert(rows_of(changed, 3))
    present |= {f"i{3 + n}": text for n, text in enumerate(changed)}
    check(collection, present, split, lexical=lexical)
    gone = [f"i{n}" for n in (0, 4, 17, count + 3)]
    collection.delete(gone)
    present = {name: text for name, text in present.items() if name not in gone}
    assert collection.stats().deleted > 0
    check(collection, present, split, lexical=lexical)
    check(Collection.open(tmp_path / "c", encoder=encoder), present, split, lexical=lexical)
    check(collection.compact(), present, split, lexical=lexical)
    assert collection.stats().deleted == 0 and collection.stats().segments == 1


def test_items_with_given_vectors_have_no_parts(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", TEXTS[:10], encoder=embed)
    before = collection.stats().vectors
    collection.add(["A red whale swims. The sea is blue today."], vectors=embed(["whale"]))
    assert collection.stats().vectors == before + 1 and found(collection)["11"] > 0


def test_an_unknown_way_to_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="chunks must be one of sentence, window, token, none"):
        Collection.create(tmp_path / "c", TEXTS[:3], encoder=embed, chunks="page")
    with pytest.raises(InputError, match="has no stemmer"):
        Collection.create(tmp_path / "c", TEXTS[:3], encoder=embed, language="klingon")
    assert not (tmp_path / "c").exists()


STORY = "Whale ship whale ship. Bread wine bread wine. King horse rides king."


def test_passages_are_the_parts_that_are_most_like_the_sets(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", [STORY, *TEXTS[:20]], encoder=embed)
    sentences = STORY.replace(". ", ".|").split("|")

    def passages(query: str) -> tuple[str, ...]:
        return next(hit.passages for hit in collection.find(query, 100) if hit.id == "1")

    assert passages("whale ship") == (sentences[0],)
    assert passages("wine bread & king horse") == (sentences[1], sentences[2])
    assert passages("king horse - wine bread") == (sentences[2],)
    assert passages("king horse & rides") == (sentences[2],)
    hit = collection.find("wine bread - king horse", 100, filter=lambda item: item.id == "1").explain()[0]
    assert [leaf.passage for leaf in hit.leaves] == [sentences[1], sentences[2]]
    assert hit.to_dict()["passages"] == [sentences[1]]
    assert hit.to_dict()["leaves"][1]["passage"] == sentences[2]
    assert sentences[1] in str(collection.find("wine bread", 1).explain())


def test_texts_of_one_part_have_no_passages(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", ["a red whale at sea", STORY], encoder=embed)
    hits = {hit.id: hit for hit in collection.find("whale", 5, explain=True)}
    assert hits["1"].passages == () and hits["1"].leaves[0].passage == "" and "passages" not in hits["1"].to_dict()
    assert hits["2"].passages
    plain = Collection.create(tmp_path / "p", [STORY], encoder=embed, chunks="none")
    assert plain.find("whale", explain=True)[0].passages == ()


# The frozen background


@pytest.fixture(scope="module")
def frozen(tmp_path_factory) -> Collection:
    return Collection.create(tmp_path_factory.mktemp("frozen") / "c", TEXTS, encoder=embed)


@pytest.mark.parametrize("query", [QUERY, "whale & wine", "whale | wine", "whale ship - red", "~whale"])
def test_a_text_has_the_membership_of_its_item(frozen: Collection, query: str) -> None:
    memberships = found(frozen, query)
    given = frozen.membership(query, TEXTS[:60])
    expected = [memberships[f"{n}"] for n in range(1, 61)]
    assert [each.membership for each in given] == pytest.approx(expected, abs=1e-6)
    by_id = frozen.membership(query, [f"{n}" for n in range(1, 61)])
    assert [each.membership for each in by_id] == pytest.approx(expected, abs=1e-9)


def test_other_items_change_no_membership(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", TEXTS, encoder=embed)
    queries = [QUERY, "whale & wine", "whale | wine", "whale ship - red"]
    before = {query: found(collection, query) for query in queries}
    assert collection.stats().background == collection.stats().vectors > 2_000
    collection.add(["whale ship whale ship. " * 40] * 20).delete([f"{n}" for n in range(1, 100)])
    collection.add(["bread wine. " * 30] * 5).compact()
    for query in queries:
        after = found(collection, query)
        kept = {name: value for name, value in before[query].items() if int(name) >= 100}
        assert {name: after[name] for name in kept} == pytest.approx(kept, abs=1e-9)
    assert found(collection.refresh_background()) != pytest.approx(after, abs=1e-3)


def test_without_words_a_collection_is_one_without_a_lexical_index(tmp_path: Path, frozen: Collection) -> None:
    plain = Collection.create(tmp_path / "c", TEXTS, encoder=embed, lexical=False)
    for query in (QUERY, "whale & wine", "whale ship - red"):
        assert found(frozen, query, lexical=False) == pytest.approx(found(plain, query), abs=1e-9)
        assert found(frozen, query) != pytest.approx(found(plain, query), abs=1e-3)


# Upgrades


@pytest.mark.parametrize("count", [50, 1_000])
@pytest.mark.parametrize("language", ["english", "none"])
def test_an_upgraded_collection_is_like_a_new_one(tmp_path: Path, count: int, language: str) -> None:
    old = Collection.create(tmp_path / "old", TEXTS[:count], encoder=embed, chunks="none", lexical=False)
    new = Collection.create(tmp_path / "new", TEXTS[:count], encoder=embed, language=language)
    before = found(old)
    assert before != pytest.approx(found(new), abs=1e-3)
    old.upgrade(language=language)
    assert (old.stats().chunks, old.stats().language) == ("sentence", language)
    assert old.stats().vectors == new.stats().vectors
    assert found(old) == pytest.approx(found(new), abs=1e-9)
    assert found(Collection.open(tmp_path / "old", encoder=embed)) == pytest.approx(found(new), abs=1e-9)
    old.upgrade(chunks="none", lexical=False)
    assert old.stats().vectors == count and found(old) == pytest.approx(before, abs=1e-9)


def test_an_upgrade_keeps_what_it_does_not_name(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": STORY, "year": 1851}, {"id": "b", "text": "a calm sea", "year": 1815}]
    vectors = np.random.default_rng(0).standard_normal((2, D)).astype("f4")
    collection = Collection.create(tmp_path / "c", rows, vectors=vectors, encoder=embed, lexical=False)
    collection.upgrade()
    assert np.array_equal(collection.take([0, 1]), vectors) and collection.stats().vectors == 5
    assert collection["a"].metadata == {"year": 1851} and collection.fields == {"year": "integer"}
    with pytest.raises(InputError, match="chunks must be one of"):
        collection.upgrade(chunks="page")
    assert collection.stats().chunks == "sentence"


# Prompts


def test_prompts_are_put_before_texts(tmp_path: Path) -> None:
    seen: list[str] = []

    def encoder(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return embed(texts)

    prompts = {"query_prompt": "query: ", "document_prompt": "passage: "}
    collection = Collection.create(tmp_path / "c", [STORY], encoder=encoder, **prompts)
    assert f"passage: {STORY}" in seen and "passage: King horse rides king." in seen and STORY not in seen
    assert "|query:query:|document:passage:" in collection.signature
    for opened in (collection, Collection.open(tmp_path / "c", encoder=encoder)):
        seen.clear()
        opened.find("whale")
        assert "query: whale" in seen and not {"whale", "passage: whale"} & set(seen)
        opened.membership("whale", [STORY])
        assert f"passage: {STORY}" in seen
    seen.clear()
    collection.add(["a red sea"])
    assert "passage: a red sea" in seen and "a red sea" not in seen
    memberships = found(collection, "whale")
    given = collection.membership("whale", [STORY, "a red sea"])
    assert [each.membership for each in given] == pytest.approx([memberships["1"], memberships["2"]], abs=1e-6)


def test_signatures_name_the_settings(tmp_path: Path) -> None:
    def signature(name: str, **options: object) -> str:
        return Collection.create(tmp_path / name, TEXTS[:3], encoder=embed, **options).signature

    assert "|chunks:sentence|lexical:english" in signature("a")
    assert "|chunks:window|lexical:german" in signature("b", chunks="window", language="german")
    plain = signature("c", chunks="none", lexical=False)
    assert "chunks:" not in plain and "lexical:" not in plain and "query:" not in plain


# Damaged files


@pytest.mark.parametrize(
    "name", ["chunks.npy", "chunk-norms.npy", "chunk-spans.npy", "chunk-starts.npy", "lexical.safetensors"]
)
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_damaged_files_are_refused(tmp_path: Path, name: str, damage: str) -> None:
    collection = Collection.create(tmp_path / "c", TEXTS[:20], encoder=embed)
    [path] = collection.folder.glob(f"segment-*/{name}")
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[:-8])
    with pytest.raises(FileError, match=name):
        Collection.open(collection.folder)
    path.write_bytes(content)
    assert found(Collection.open(collection.folder, encoder=embed)) == found(collection)


def test_positions_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    collection = Collection.create(tmp_path / "c", TEXTS[:20], encoder=embed)
    [path] = collection.folder.glob("segment-*/chunk-starts.npy")
    np.save(path, np.load(path) + 1)
    with pytest.raises(FileError, match="do not fit together"):
        Collection.open(collection.folder)


@pytest.mark.parametrize("name", ["items", "starts", "offsets"])
def test_words_that_do_not_fit_are_refused(tmp_path: Path, name: str) -> None:
    collection = Collection.create(tmp_path / "c", TEXTS[:20], encoder=embed)
    [path] = collection.folder.glob("segment-*/lexical.safetensors")
    arrays = {key: np.array(tensor.values) for key, tensor in map_tensors(path, "LexicalIndex")[0].items()}
    arrays[f"lexical-{name}"] += 100_000
    write_tensors(path, "LexicalIndex", arrays, {})
    with pytest.raises(FileError):
        Collection.open(collection.folder, encoder=embed).find(QUERY)


def test_zero_vectors_of_tokens_do_not_count(tmp_path: Path) -> None:
    angles = {"query": 0.0, "far": 2.1, "near": 1.9}
    vectors = {word: np.array([np.cos(angle), np.sin(angle)]) for word, angle in angles.items()} | {"zero": np.zeros(2)}

    def encoder(texts: list[str]) -> list[np.ndarray]:
        return [np.array([vectors.get(word, np.ones(2)) for word in text.split()]).reshape(-1, 2) for text in texts]

    items = ["far zero", "near", "far"]
    collection = Collection.create(tmp_path / "c", items, encoder=encoder, chunks="token", lexical=False)
    assert collection.find("query", 3)[0].text == collection.find("query", 1)[0].text == "near"
