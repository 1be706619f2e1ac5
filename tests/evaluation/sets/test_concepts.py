"""The files of concept sets: what is read, and one sentence with file and line for what cannot be."""

from pathlib import Path

import pytest

from softset.errors import FileError
from softset.evaluation.data import Data
from softset.evaluation.sets.concepts import QUERY, read_concepts


def test_sets_are_numbered_through_the_splits(folder: Path, concepts) -> None:
    assert len(concepts.words) == 90 and len(concepts.sets) == 18
    assert concepts.splits == {"train": range(6), "val": range(6, 12), "test": range(12, 18)}
    lines = (folder / "lda-1k" / "sets_test.tsv").read_text().splitlines()
    assert "\t".join(concepts.words[at] for at in concepts.sets[13]) == lines[1]
    assert concepts.query(13) == concepts.sets[13][:QUERY]


def test_common_counts_words_of_both(concepts) -> None:
    for a, b in ((0, 3), (0, 1), (5, 17)):
        assert concepts.common[a, b] == len(set(concepts.sets[a]) & set(concepts.sets[b]))


def test_windows_line_ends_are_no_part_of_words(folder: Path, concepts) -> None:
    for path in (folder / "lda-1k").iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_concepts(Data(folder)) == concepts


@pytest.mark.parametrize(
    ("name", "line", "text", "sentence"),
    [
        ("vocab.txt", 2, "", "has no word in line 2"),
        ("vocab.txt", 3, None, "twice in line 3"),
        ("sets_val.tsv", 2, "a1\ta2\ta3", "has 3 words in line 2, but a set has 6 or more"),
        ("sets_val.tsv", 4, "a1\ta2\ta3\ta4\ta5\tzzz", "has 'zzz' in line 4, which is not in vocab.txt"),
        ("sets_test.tsv", 6, "a1\ta2\ta3\ta4\ta5\ta2", "has 'a2' twice in line 6"),
    ],
)
def test_a_line_that_does_not_fit_is_named(folder: Path, name, line, text, sentence) -> None:
    path = folder / "lda-1k" / name
    lines = path.read_text().splitlines()
    lines[line - 1] = lines[0] if text is None else text
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FileError, match=sentence) as error:
        read_concepts(Data(folder))
    assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["vocab.txt", "sets_train.tsv"])
def test_an_empty_file_is_refused(folder: Path, name) -> None:
    (folder / "lda-1k" / name).write_text("")
    with pytest.raises(FileError, match=rf"{name} is empty, but one"):
        read_concepts(Data(folder))


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "lda-1k" / "sets_val.tsv").unlink()
    with pytest.raises(FileError, match=r"sets_val.tsv is missing"):
        read_concepts(Data(folder))
