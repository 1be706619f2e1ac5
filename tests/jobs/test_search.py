"""A search over Parquet files on Ray equals a local search; so do the vectors."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import softset
from softset.collections.collection import Collection, open_collection
from softset.collections.items import Item
from softset.errors import FileError, InputError, UnknownWordError
from softset.jobs.embedding import build_collection, embed_files
from softset.jobs.search import ParquetCollection
from softset.query import background
from tests.jobs.conftest import QUIET, read, write

pytestmark = QUIET
RANDOM = np.random.default_rng(5)
N, D = 3_000, 12
VECTORS = (RANDOM.standard_normal((N, D)) + 2 * RANDOM.standard_normal((20, D))[RANDOM.integers(0, 20, N)]).astype("f4")
VECTORS[7] = 0
NAMES = [f"w{row}" for row in range(N)]
QUERIES = ["{w1, w2, w3}", "{w1, w2} & {w50, w60}", "{w1, w2} | {w70}", "{w1, w2} - {w100, w200}", "~w5 & {w9, w11}"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    shards = tmp_path_factory.mktemp("shards")
    for number, start in enumerate(range(0, N, 1_100)):
        rows = {"id": NAMES[start : start + 1_100], "vector": list(VECTORS[start : start + 1_100])}
        schema = pa.schema(
            [("id", pa.string()), ("vector", pa.list_(pa.float32(), D) if number else pa.list_(pa.float32()))]
        )
        pq.write_table(pa.table(rows, schema=schema), shards / f"{number}.parquet", row_group_size=400)
    return shards


@pytest.mark.parametrize("logic", ["logistic", "lattice", "graded"])
def test_parquet_files_give_the_same_results_as_a_folder(
    two_processes, folder: Path, tmp_path: Path, logic: str
) -> None:
    local = Collection.create(tmp_path / "c", [Item(name) for name in NAMES], vectors=VECTORS)
    shards = ParquetCollection(two_processes, str(folder / "*.parquet"))
    options = {
        "logic": logic,
        "explain": True,
        **({"alpha": 0.9} if logic == "lattice" else {}),
    }
    expected = local.find_many(QUERIES, 15, **options)
    for expected_result, result in zip(expected, shards.find_many(QUERIES, 15, **options), strict=True):
        assert [hit.id for hit in result] == [hit.id for hit in expected_result]
        assert [hit.membership for hit in result] == pytest.approx(
            [hit.membership for hit in expected_result], abs=1e-6
        )
        assert [hit.percentile for hit in result] == [hit.percentile for hit in expected_result]
        assert result[0].leaves[0].membership == pytest.approx(expected_result[0].leaves[0].membership, abs=1e-6)


def test_the_background_is_that_of_a_folder(two_processes, folder: Path, tmp_path: Path, monkeypatch) -> None:
    shards = ParquetCollection(two_processes, str(folder / "*.parquet"))
    local = Collection.create(tmp_path / "c", [Item(name) for name in NAMES], vectors=VECTORS)
    assert np.array_equal(shards.background.units, local.background.units)
    assert len(shards.background.units) == N - 1 and not shards.background.note
    monkeypatch.setattr(background, "SIZE", 1_500)
    sampled = ParquetCollection(two_processes, str(folder / "*.parquet"))
    assert np.array_equal(sampled.background.units, local.background.units[:1_500])
    with pytest.raises(InputError, match="items 0 to 1 cannot be listed"):
        shards.rows(0, 1)


def test_few_items_are_measured_against_sentences(two_processes, tmp_path: Path) -> None:
    encoder = softset.load_encoder("words")
    texts = ["red wine", "a calm sea", "a garden", "a stormy sea"]
    rows = [{"id": str(row), "vector": vector.tolist()} for row, vector in enumerate(encoder.embed(texts))]
    write(tmp_path / "v.parquet", rows)
    result = ParquetCollection(two_processes, str(tmp_path / "v.parquet"), embed=encoder.embed).find("ocean", 4)
    items = [Item(str(row), text) for row, text in enumerate(texts)]
    local = Collection.create(tmp_path / "c", items, encoder=encoder, chunks="none", lexical=False)
    expected = local.find("ocean", 4)
    assert result.notes == expected.notes and "general English sentences" in result.notes[0]
    assert [hit.membership for hit in result] == pytest.approx([hit.membership for hit in expected], abs=1e-6)
    without = ParquetCollection(two_processes, str(tmp_path / "v.parquet")).find("1", 4)
    assert "no encoder" in without.notes[0]


def test_errors_of_a_search_over_parquet_files(two_processes, folder: Path, tmp_path: Path) -> None:
    shards = ParquetCollection(two_processes, str(folder / "*.parquet"))
    with pytest.raises(UnknownWordError, match="'nothing' is not an id of these items, and there is no model"):
        shards.find("nothing")
    with pytest.raises(InputError, match="restrict_vocab is for word vectors"):
        shards.find("w1", restrict_vocab=5)
    with pytest.raises(InputError, match="has no column 'vec'"):
        ParquetCollection(two_processes, str(folder / "*.parquet"), columns=("id", "vec"))
    for name, rows, sentence in (
        ("ragged", [[1.0, 2.0], [1.0]], "vectors of 1 and of 2 numbers"),
        ("nan", [[1.0, 2.0], [1.0, float("nan")]], "not finite"),
        ("text", ["1 2", "3 4"], "lists of numbers, but the column is of type string"),
        ("nested", [[[1.0]], [[2.0]]], "lists of numbers"),
    ):
        write(tmp_path / f"{name}.parquet", [{"id": str(number), "vector": row} for number, row in enumerate(rows)])
        with pytest.raises((InputError, FileError), match=sentence):
            ParquetCollection(two_processes, str(tmp_path / f"{name}.parquet")).find("0")
    write(tmp_path / "mixed" / "a.parquet", [{"id": "a", "vector": [1.0, 2.0]}])
    write(tmp_path / "mixed" / "b.parquet", [{"id": "b", "vector": [1.0, 2.0, 3.0]}])
    with pytest.raises(FileError, match=r"b.parquet: its vectors have 3 numbers, but those of the first file 2"):
        ParquetCollection(two_processes, str(tmp_path / "mixed" / "*.parquet")).find("a")


def test_texts_to_vectors_to_a_collection(two_processes, tmp_path: Path) -> None:
    texts = [f"{topic} number {n}" for n in range(60) for topic in ("a storm at sea", "bread and butter", "a war")]
    rows = [{"id": f"t{row}", "text": text} for row, text in enumerate(texts)]
    rows[4]["text"] = None
    write(tmp_path / "in.parquet", rows, group=50)
    report = embed_files(str(tmp_path / "in.parquet"), tmp_path / "vectors", block=32, model="words")
    assert (report.rows, report.made, report.problems) == (180, 180, (("t4", "the text is missing, not a text"),))
    again = embed_files(str(tmp_path / "in.parquet"), tmp_path / "vectors", block=32, model="words")
    assert again.made == 0
    encoder = softset.load_encoder("words")
    result = read(tmp_path / "vectors")
    expected = encoder.embed([text for row, text in enumerate(texts) if row != 4])
    names = [f"t{row}" for row in range(180) if row != 4]
    assert np.allclose([result[name]["vector"] for name in names], expected, atol=1e-6)
    collection = build_collection(tmp_path / "vectors", tmp_path / "c", model="words")
    assert len(collection) == 179
    query = "{sea, ship} - war"
    alone = Collection.create(
        tmp_path / "d",
        [Item(name, texts[int(name[1:])]) for name in names],
        encoder="words",
        chunks="none",
    )
    by_ray = open_collection(tmp_path / "c").find(query, 20)
    by_one = alone.find(query, 20)
    assert sorted(hit.text for hit in by_ray) == sorted(hit.text for hit in by_one)
    assert [hit.membership for hit in by_ray] == pytest.approx([hit.membership for hit in by_one], abs=1e-6)
    # What was written can be searched where it is, though a row has no vector; and replaced, if that is asked for.
    with pytest.raises(InputError, match="exists already: choose another folder, or replace it"):
        build_collection(tmp_path / "vectors", tmp_path / "c", model="words")
    assert len(build_collection(tmp_path / "vectors", tmp_path / "c", model="words", replace=True)) == 179
    pattern = str(tmp_path / "vectors" / "*.parquet")
    shards = ParquetCollection(two_processes, pattern, embed=encoder.embed, encoder="words")
    in_place = shards.find(query, 20)
    by_vectors = alone.find(query, 20, lexical=False)
    assert [hit.membership for hit in in_place] == pytest.approx([hit.membership for hit in by_vectors], abs=1e-6)


def test_rows_without_a_vector_are_ignored(two_processes, tmp_path: Path) -> None:
    rows = [{"id": f"r{row}", "vector": None if row % 3 == 0 else [1.0, row / 7.0]} for row in range(30)]
    write(tmp_path / "v.parquet", rows, group=10)
    result = ParquetCollection(two_processes, str(tmp_path / "v.parquet")).find("r1", 100)
    assert {hit.id for hit in result} == {f"r{row}" for row in range(30) if row % 3} - {"r1"}
    write(tmp_path / "w.parquet", rows[:1], schema=pa.schema([("id", pa.string()), ("vector", pa.list_(pa.float32()))]))
    with pytest.raises(InputError, match=r"no row of .* has a vector"):
        ParquetCollection(two_processes, str(tmp_path / "w.parquet"))
