"""Texts of messages, JSON files, manifests and numbers of threads."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from softset import errors
from softset.encoders.network import max_sequence_length
from softset.encoders.signature import format_signature, parse_signature
from softset.errors import FileError, InputError
from softset.io.json_files import read_json
from softset.io.manifest import Manifest
from softset.io.text import check_names, counted, first_line, printable, there_are
from softset.runtime import jit
from softset.runtime.threads import thread_count
from softset.vectors.registry import vectors_folder
from softset.vectors.rows import rescale_extreme_rows


def test_texts_of_messages() -> None:
    assert printable("red\x1b[31m\n") == "red\ufffd[31m\ufffd"
    assert (first_line(ValueError("too long\ndetails")), first_line(MemoryError())) == ("too long", "MemoryError")
    assert [counted(n, "text") for n in (1, 2000, 0)] == ["1 text", "2,000 texts", "0 texts"]
    assert [there_are(n, "text") for n in (1, 2)] == ["there is 1 text", "there are 2 texts"]


def test_unknown_options_get_the_nearest_name() -> None:
    check_names(["top"], ["top", "logic"], "option")
    with pytest.raises(InputError, match=r"^there is no option 'topp'; did you mean 'top'\? Options: top, logic$"):
        check_names(["topp"], ["top", "logic"], "option")
    with pytest.raises(InputError, match=r"^there is no option 'xyz'. Options: top, logic$"):
        check_names(["xyz"], ["top", "logic"], "option")


def test_a_missing_json_file_may_be_empty() -> None:
    assert read_json("absent.json", missing_ok=True) == {}
    with pytest.raises(FileNotFoundError):
        read_json("absent.json")


def test_a_manifest_detects_changes(tmp_path: Path) -> None:
    manifest = Manifest("Notes", 1, "a folder of notes", "write them again")
    (tmp_path / "a.txt").write_text("hello")
    manifest.write(tmp_path, {"author": "A"})
    assert manifest.read(tmp_path)["author"] == "A"
    manifest.verify(tmp_path)
    (tmp_path / "a.txt").write_text("jello")
    manifest.read(tmp_path)
    with pytest.raises(FileError, match=r"a\.txt was changed after it was written: write them again"):
        manifest.verify(tmp_path)
    (tmp_path / "a.txt").write_text("hello!")
    with pytest.raises(FileError, match=r"a\.txt is missing or has the wrong size: write them again"):
        manifest.read(tmp_path)


@pytest.mark.parametrize(
    ("config", "limit", "length"),
    [
        ({"max_position_embeddings": 514, "model_type": "roberta", "pad_token_id": 1}, None, 512),
        ({"max_position_embeddings": 514, "model_type": "bert", "pad_token_id": 1}, None, 514),
        ({"model_type": "t5"}, 10**30, 512),
        ({"model_type": "t5"}, 100, 100),
        ({"n_positions": 131_072}, None, 8192),
    ],
)
def test_lengths_of_sequences(config: dict[str, object], limit: int | None, length: int) -> None:
    assert max_sequence_length(config, limit) == length


def test_extreme_rows_keep_their_direction() -> None:
    rows = np.array([[3e30, 4e30], [3, 4], [0, 0], [3e-30, 4e-30]], dtype=np.float32)
    assert np.allclose(rescale_extreme_rows(rows), [[0.6, 0.8], [3, 4], [0, 0], [0.6, 0.8]])
    assert rescale_extreme_rows(rows[1:3]).base is rows


def test_the_bundled_vectors_are_the_default() -> None:
    assert vectors_folder() == vectors_folder("glove-840b-300d")


def test_numbers_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_count(3) == 3
    for variable, expected in (("2", 2), ("4,1", 4), ("9999", 1024)):
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
        assert thread_count(None) == expected
    for variable in ("", "0", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
        assert thread_count(None) >= 1
    with pytest.raises(InputError, match="threads is 0, but a whole number from 1 to 1024 was expected"):
        thread_count(0)


def test_compiled_functions() -> None:
    @jit.compiled
    def total(values):
        result = 0.0
        for value in values:
            result += value
        return result

    assert total(np.array([1.0, 2.0])) == 3.0


def test_signatures_can_be_parsed() -> None:
    facts = {"encoder": "minilm@ab12", "layer": 6, "name": "a|b:c"}
    signature = format_signature({**facts, "dtype": None})
    assert signature == "encoder:minilm@ab12|layer:6|name:a%7Cb%3Ac"
    assert parse_signature(signature) == {name: str(value) for name, value in facts.items()}
    with pytest.raises(InputError, match=r"is not a signature: key:value pairs separated by \| were expected"):
        parse_signature("minilm")


@pytest.mark.parametrize("name", errors.__all__)
def test_errors_can_be_pickled(name: str) -> None:
    """Worker processes send them back."""
    arguments = ("a name was expected", "{red, }", 6) if name == "QueryError" else ("a sentence",)
    error = getattr(errors, name)(*arguments)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error) and str(copied) == str(error) and vars(copied) == vars(error)
