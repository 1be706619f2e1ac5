"""Columns of DataFrames and arrays of texts are texts."""

import re
from typing import Any

import numpy as np
import pytest

from softset import Scorer
from softset.errors import InputError

DATA = {"a": ["a red book", "a pen"], "b": ["the book is red", "one pen"]}


def frames() -> list[Any]:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    return [pandas.DataFrame(DATA), polars.DataFrame(DATA), pyarrow.table(DATA)]


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return Scorer("words")


@pytest.mark.parametrize("index", range(3), ids=["pandas", "polars", "pyarrow"])
def test_columns_and_frames_of_one_column_are_texts(scorer: Scorer, index: int) -> None:
    frame, expected = frames()[index], scorer.score(DATA["a"], DATA["b"]).score.tolist()
    assert scorer.score(frame["a"], frame["b"]).score.tolist() == expected
    one = [frame.select([name]) if hasattr(frame, "select") else frame[[name]] for name in "ab"]
    assert scorer.score(*one).score.tolist() == expected
    assert scorer.matrix(*one).score.shape == (2, 2) and len(scorer.encoder.encode(one[0])) == 2


@pytest.mark.parametrize("index", range(3), ids=["pandas", "polars", "pyarrow"])
def test_a_frame_with_several_columns_is_refused(scorer: Scorer, index: int) -> None:
    frame = frames()[index]
    for call in (lambda: scorer.score(frame, DATA["b"]), lambda: scorer.score(DATA["a"], frame)):
        with pytest.raises(
            InputError, match=re.escape('with 2 columns (a, b) was given: give one column, such as df["a"]')
        ):
            call()


def test_missing_values_are_named(scorer: Scorer) -> None:
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InputError, match=r"candidate 1 is .*, but a str was expected"):
        scorer.score(pandas.DataFrame({"a": ["red", None]})["a"], ["red", "blue"])


@pytest.mark.parametrize("dtype", [None, object])
def test_a_2d_array_of_strings_has_several_references(scorer: Scorer, dtype: Any) -> None:
    rows = [["a novel", "the book is red"], ["one pen", "a king"]]
    expected = scorer.score(DATA["a"], rows)
    scores = scorer.score(np.array(DATA["a"], dtype=dtype), np.array(rows, dtype=dtype))
    assert scores.score.tolist() == expected.score.tolist() and scores.best_reference.tolist() == [1, 0]
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame(rows, columns=["x", "y"])
    assert scorer.score(DATA["a"], frame[["x", "y"]].to_numpy()).score.tolist() == expected.score.tolist()
    lists = polars.DataFrame({"references": rows})["references"]
    assert scorer.score(DATA["a"], lists).score.tolist() == expected.score.tolist()


def test_the_pooled_encode_of_a_sentence_transformer_is_refused() -> None:
    kind = type("SentenceTransformer", (), {"__module__": "sentence_transformers.x", "encode": lambda _, texts: texts})
    with pytest.raises(
        InputError, match="returns one pooled vector per text: give the model itself, model=st in place"
    ):
        Scorer(kind().encode).score(["a"], ["b"])


def test_a_bare_transformers_model_is_refused() -> None:
    kind = type("BertModel", (), {"__module__": "transformers.models.bert", "__call__": lambda _, ids: ids})
    subclass = type("MyModel", (kind,), {"__module__": "__main__"})
    for model in (kind(), subclass()):
        with pytest.raises(
            InputError, match='a model needs its tokenizer: give its name or folder, such as model="bert'
        ):
            Scorer(model).score(["a"], ["b"])
