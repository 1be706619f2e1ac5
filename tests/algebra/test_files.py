"""Sets in files: saved sets are read back unchanged, and damaged files are errors."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from softset import GradedSubspace, Subspace
from softset.errors import FileError

ROWS = np.random.default_rng(0).standard_normal((3, 10))
SETS = [
    Subspace.span(ROWS),
    ~Subspace.span(ROWS.astype("float32")),
    Subspace.empty(4),
    Subspace.whole(4),
    GradedSubspace.of(ROWS, aperture=2),
    ~GradedSubspace.of(ROWS.astype("float32")),
    GradedSubspace.of(ROWS).with_floor(0.25),
    Subspace.span(ROWS) | Subspace.span(2 + ROWS),
    Subspace.span(ROWS).without(Subspace.span(2 + ROWS.astype("float32"))),
    GradedSubspace.of(ROWS) | GradedSubspace.of(2 + ROWS),
    GradedSubspace.empty(3),
    GradedSubspace.whole(3),
]


@pytest.mark.parametrize("A", SETS)
def test_round_trip(A: Subspace | GradedSubspace, tmp_path: Path) -> None:
    path = tmp_path / "set.safetensors"
    A.save(path)
    B = type(A).load(path)
    assert B == A and repr(B) == repr(A)
    v = np.random.default_rng(1).standard_normal((5, A.ambient)).astype("float32")
    assert np.array_equal(A.membership(v), B.membership(v)) and A.membership(v).dtype == B.membership(v).dtype
    assert [p.name for p in tmp_path.iterdir()] == ["set.safetensors"]


def write(path: Path, tensors: dict[str, np.ndarray], facts: dict[str, str]) -> None:
    path.write_bytes(save(tensors, metadata=facts))


GOOD = {"softset": "Subspace", "dtype": "float64", "complemented": "False"}
GRADED = {"softset": "GradedSubspace", "dtype": "float64", "rest": "0.0"}
Q = np.eye(4)[:2]


@pytest.mark.parametrize(
    ("tensors", "facts", "sentence"),
    [
        ({"directions": Q}, {}, "a safetensors file that softset did not write, but a softset Subspace was expected"),
        ({"directions": Q}, {**GOOD, "softset": "TokenSets"}, "holds a softset TokenSets, but a softset Subspace"),
        ({"directions": Q}, {**GOOD, "dtype": "int8"}, "does not have exactly the arrays of a softset Subspace"),
        ({"directions": Q}, {**GOOD, "complemented": "maybe"}, "does not say whether its Subspace is complemented"),
        ({"frame": Q}, GOOD, "does not have exactly the arrays"),
        ({"directions": Q, "more": Q}, GOOD, "does not have exactly the arrays"),
        ({"directions": Q[0]}, GOOD, "does not have exactly the arrays"),
        ({"directions": 2 * Q}, GOOD, "are not orthonormal: the file was changed"),
        (
            {"directions": Q.astype("complex64")},
            GOOD,
            "are not valid vectors|not a complete",
        ),
        ({"directions": Q * np.nan}, GOOD, "are not valid vectors: row 0, column 0 is nan"),
    ],
)
def test_a_file_of_another_kind_is_an_error(tensors, facts, sentence, tmp_path: Path) -> None:
    path = tmp_path / "set"
    write(path, tensors, facts)
    with pytest.raises(FileError, match=sentence):
        Subspace.load(path)


@pytest.mark.parametrize(
    ("grades", "rest"),
    [([0.5], "0.0"), ([0.5, 1.5], "0.0"), ([0.5, 0.2], "none"), ([0.5, 0.2], "2"), ([0.1, 0.2], "nan")],
)
def test_invalid_grades_in_a_file_are_an_error(grades: list[float], rest: str, tmp_path: Path) -> None:
    path = tmp_path / "set"
    write(path, {"directions": Q, "grades": np.array(grades)}, {**GRADED, "rest": rest})
    with pytest.raises(FileError, match="needs grades from 0 to 1"):
        GradedSubspace.load(path)


def test_a_truncated_file(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    SETS[0].save(whole)
    content = whole.read_bytes()
    for size in (0, 1, 7, 8, 20, len(content) // 2, len(content) - 1):
        path = tmp_path / "cut"
        path.write_bytes(content[:size])
        with pytest.raises(FileError, match="is not a complete safetensors file"):
            Subspace.load(path)


def test_a_header_with_wrong_sizes_is_an_error(tmp_path: Path) -> None:
    header = json.dumps({"directions": {"dtype": "F64", "shape": [10**6, 10**6], "data_offsets": [0, 8]}}).encode()
    path = tmp_path / "lie"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(8))
    with pytest.raises(FileError):
        Subspace.load(path)


def test_a_file_with_a_type_that_numpy_lacks_is_an_error(tmp_path: Path) -> None:
    facts = json.dumps({"__metadata__": GOOD, "directions": {"dtype": "BF16", "shape": [1, 4], "data_offsets": [0, 8]}})
    path = tmp_path / "half"
    path.write_bytes(struct.pack("<Q", len(facts)) + facts.encode() + bytes(8))
    with pytest.raises(FileError, match="half"):
        Subspace.load(path)


def test_directions_saved_in_float32_are_orthonormalised(tmp_path: Path) -> None:
    A = Subspace.span(np.random.default_rng(0).standard_normal((5, 300)))
    path = tmp_path / "set"
    write(path, {"directions": np.ascontiguousarray(A.basis, dtype="float32")}, GOOD)
    B = Subspace.load(path)
    assert B == B and (B | B).dim == (B & B).dim == 5 and B.ambient == 300
    assert np.abs(B.basis @ B.basis.T - np.eye(5)).max() < 1e-14
    assert A.membership(B.basis).min() > 1 - 1e-12


def test_missing_and_unwritable_files(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        Subspace.load(tmp_path)
    with pytest.raises(FileError, match="/dev/null is not a complete"):
        Subspace.load("/dev/null")
    with pytest.raises(FileNotFoundError):
        Subspace.load(tmp_path / "absent")
    with pytest.raises(FileNotFoundError):
        SETS[0].save(tmp_path / "absent" / "set")
