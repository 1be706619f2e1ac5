"""The same vectors in different formats are the same vectors."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.vectors.formats.files import binary, gz, npy_of, read, safetensors_of, text

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
# What all formats can spell: text ends a word at blanks, and a word's file at the end of a line.
LETTERS = st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"])
SPELLINGS = st.text(LETTERS, min_size=1, max_size=12)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], np.ndarray]:
    words = draw(st.lists(SPELLINGS, min_size=1, max_size=8, unique=True))
    d = draw(st.integers(2, 5))
    numbers = draw(st.lists(st.lists(NUMBERS, min_size=d, max_size=d), min_size=len(words), max_size=len(words)))
    return words, np.array(numbers, dtype=np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agreement")


@given(table=tables())
def test_formats_agree(folder: Path, table: tuple[list[str], np.ndarray]) -> None:
    words, rows = table
    (folder / "words").write_text("\n".join(words), encoding="utf-8", newline="\n")
    header = f"{len(words)} {rows.shape[1]}\n"
    for kind, content, options in (
        ("text", text(words, rows), {}),
        ("text", gz(text(words, rows, header)), {}),
        ("word2vec-binary", binary(words, rows), {}),
        ("npy", npy_of(rows), {"words": folder / "words"}),
        ("safetensors", safetensors_of(rows), {"words": folder / "words"}),
    ):
        path = folder / "vectors"
        path.write_bytes(content)
        words_read, read_rows, stream = read(path, format=kind, **options)
        assert stream.format == kind and words_read == words
        assert np.array_equal(read_rows, rows)
