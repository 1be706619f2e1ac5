"""Judgements of translations are read with their texts, and errors name the file and the line."""

import numpy as np
import pytest

from softset.errors import FileError, InputError
from softset.evaluation.data import DataFolder
from softset.evaluation.translations import choose_pairs, read_pair
from tests.evaluation.translation_cases import HEADER, JUDGEMENTS, REFERENCES, TRANSLATIONS, real_data, write_pair


def as_texts(pair):
    """Return the judgements as texts."""
    return [
        (pair.references[segment], pair.translations[better], pair.translations[worse])
        for segment, better, worse in zip(pair.segment, pair.better, pair.worse, strict=True)
    ]


def test_judgements_refer_to_the_right_texts(tmp_path) -> None:
    write_pair(tmp_path)
    pair = read_pair(DataFolder(tmp_path), "cs-en")
    expected = [
        (REFERENCES[sid - 1], TRANSLATIONS[better][sid - 1], TRANSLATIONS[worse][sid - 1])
        for sid, better, worse, *_ in JUDGEMENTS
    ]
    assert as_texts(pair) == expected and len(pair) == 6
    assert pair.references == [REFERENCES[0], REFERENCES[1], REFERENCES[3]]
    assert len(pair.translations) == 8  # "the king" and all of segment 3 are not judged
    assert "the king" not in pair.translations
    assert pair.owner.tolist() == [0, 0, 0, 1, 1, 2, 2, 2] and np.bincount(pair.segment).tolist() == [3, 1, 2]


def test_order_of_lines_does_not_matter(tmp_path) -> None:
    write_pair(tmp_path)
    write_pair(tmp_path, "de-en", JUDGEMENTS[::-1])
    data = DataFolder(tmp_path)
    pair, other = read_pair(data, "cs-en"), read_pair(data, "de-en")
    assert pair.translations == other.translations and as_texts(pair) == as_texts(other)[::-1]
    assert np.array_equal(pair.better, other.better[::-1]) and np.array_equal(pair.segment, other.segment[::-1])


def test_limit_counts_segments_with_judgements(tmp_path) -> None:
    write_pair(tmp_path)
    data = DataFolder(tmp_path)
    assert len(read_pair(data, "cs-en", 1)) == 3
    assert read_pair(data, "cs-en", 3).references == read_pair(data, "cs-en", 99).references
    assert read_pair(data, "cs-en", 3).references[-1] == "A pen."


def test_language_pairs_by_name_or_all(tmp_path) -> None:
    for name in ("tr-en", "cs-en"):
        write_pair(tmp_path, name)
    data = DataFolder(tmp_path)
    assert choose_pairs(data, ["all"]) == choose_pairs(data, ["tr-en", "all"]) == ["cs-en", "tr-en"]
    assert choose_pairs(data, ["tr-en", "cs-en", "tr-en"]) == ["tr-en", "cs-en"]
    with pytest.raises(InputError, match=r"^there is no language pair 'xx-en'.* Language pairs: cs-en, tr-en, all$"):
        choose_pairs(data, ["cs-en", "xx-en"])


@pytest.mark.parametrize(
    ("judgement", "sentence"),
    [
        ("0\tgood\tpoor\t9\t1", "no valid judgement in line 3"),
        ("5\tgood\tpoor\t9\t1", "no valid judgement in line 3"),
        ("1\tbest\tpoor\t9\t1", "no valid judgement in line 3"),
        ("1\tgood\t../ref\t9\t1", "no valid judgement in line 3"),
        ("1\tgood\tgood\t9\t1", "no valid judgement in line 3"),
        ("1\tgood\tpoor\t1\t9", "no valid judgement in line 3"),
        ("one\tgood\tpoor\t9\t1", "'one' in line 3 instead of a number"),
        ("1\tgood\tpoor\tnan\t1", "'nan' in line 3 instead of a number"),
        ("1\tgood\tpoor\t9", "4 columns in line 3, but needs 5"),
    ],
)
def test_invalid_line_is_named(tmp_path, judgement, sentence) -> None:
    pair = write_pair(tmp_path)
    (pair / "darr.tsv").write_text(f"{HEADER}\n1\tgood\tpoor\t9\t1\n{judgement}\n")
    with pytest.raises(FileError) as error:
        read_pair(DataFolder(tmp_path), "cs-en")
    assert str(error.value).startswith(str(pair / "darr.tsv")) and sentence in str(error.value)


def test_invalid_file_is_named(tmp_path) -> None:
    pair, data = write_pair(tmp_path), DataFolder(tmp_path)
    (pair / "hyp" / "fair.txt").write_text("only one line\n")
    with pytest.raises(FileError, match=r"fair\.txt has 1 lines, but ref\.txt has 4: both need one line per segment"):
        read_pair(data, "cs-en")
    (pair / "hyp" / "fair.txt").write_bytes(b"a\nb\xff\nc\nd\n")
    with pytest.raises(FileError, match=r"fair\.txt is not UTF-8 in line 2"):
        read_pair(data, "cs-en")
    write_pair(tmp_path, header="sid\tgood\tbad")
    with pytest.raises(FileError, match=r"darr\.tsv starts with the columns sid, good, bad, but needs sid, better"):
        read_pair(data, "cs-en")
    write_pair(tmp_path, judgements=[])
    with pytest.raises(FileError, match=r"darr\.tsv has a header but no rows"):
        read_pair(data, "cs-en")
    (pair / "ref.txt").unlink()
    with pytest.raises(FileError, match=r"ref\.txt is missing"):
        read_pair(data, "cs-en")


def test_missing_folders_are_named(tmp_path) -> None:
    with pytest.raises(FileError, match="wmt18 has no language pairs: it needs folders"):
        choose_pairs(DataFolder(tmp_path), ["cs-en"])
    (tmp_path / "wmt18").mkdir()
    with pytest.raises(FileError, match="wmt18 has no language pairs"):
        choose_pairs(DataFolder(tmp_path), ["all"])
    pair = write_pair(tmp_path)
    for path in (pair / "hyp").iterdir():
        path.unlink()
    with pytest.raises(FileError, match=r"hyp is missing or empty: it needs a SYSTEM\.txt"):
        read_pair(DataFolder(tmp_path), "cs-en")


def test_real_data_have_the_published_counts() -> None:
    data = DataFolder(real_data())
    counts = {name: len(read_pair(data, name)) for name in ("cs-en", "ru-en", "tr-en")}
    assert counts == {"cs-en": 5110, "ru-en": 10404, "tr-en": 8525}
