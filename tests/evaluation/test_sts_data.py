"""Both layouts of the sentence pairs give the same data, and errors name the file and the line."""

import numpy as np
import pytest

from softset.errors import FileError, InputError
from softset.evaluation.data import DataFolder
from softset.evaluation.sts import DATASETS, TUNING, choose_datasets, read_datasets
from tests.evaluation.sts_cases import plain_folder, real_folder, senteval_folder


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return plain_folder(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def senteval(tmp_path_factory):
    return senteval_folder(tmp_path_factory.mktemp("senteval"))


@pytest.mark.parametrize("name", [*DATASETS, *TUNING])
def test_both_layouts_give_the_same_pairs(plain, senteval, name) -> None:
    (ours,) = read_datasets(DataFolder(plain), [name])
    for folder in (senteval, senteval / "downstream"):
        (theirs,) = read_datasets(DataFolder(folder), [name])
        assert theirs.name == ours.name == name and (theirs.gold == ours.gold).all()
        assert (theirs.references, theirs.candidates) == (ours.references, ours.candidates)
        assert [part.tolist() for part in theirs.parts] == [part.tolist() for part in ours.parts]


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("STS12-en-test/STS.gs.MSRpar.txt", "1.0\n", r"has 9 pairs but 1 scores of MSRpar"),
        (
            "STS12-en-test/STS.input.MSRpar.txt",
            "alone\n",
            r"STS\.input\.MSRpar\.txt has 1 columns in line 1, but needs 2",
        ),
        ("STS12-en-test/STS.gs.MSRpar.txt", "high\n", r"STS\.gs\.MSRpar\.txt has 'high' in line 1 instead of a number"),
        ("STSBenchmark/sts-test.csv", "", r"sts-test\.csv has no rows"),
    ],
)
def test_invalid_senteval_file_raises_one_sentence(tmp_path, file, content, sentence) -> None:
    folder = senteval_folder(tmp_path)
    (folder / "downstream/STS" / file).write_text(content)
    with pytest.raises(FileError, match=sentence):
        read_datasets(DataFolder(folder), ["STS12", "STS-B"])


def test_senteval_folder_has_no_tokenised_form(senteval) -> None:
    with pytest.raises(InputError, match=r"is SentEval's folder, which has one form of each text"):
        read_datasets(DataFolder(senteval), ["STS12"], "tokenised")


def test_sentence_1_is_the_reference(plain) -> None:
    (pairs,) = read_datasets(DataFolder(plain), ["STS-B"], "tokenised", 3)
    score, first, second, _ = (plain / "sts/tokenised/STSB-test.tsv").read_text().splitlines()[1].split("\t")
    assert (pairs.gold[0], pairs.references[0], pairs.candidates[0]) == (float(score), first, second)
    assert len(pairs) == 3 and first.isupper()


def test_distinct_texts_contain_each_sentence_once(plain) -> None:
    (pairs,) = read_datasets(DataFolder(plain), ["STS12"])
    texts, left, right = pairs.distinct_texts
    assert len(set(texts)) == len(texts)
    assert [texts[index] for index in left] == pairs.candidates and [
        texts[index] for index in right
    ] == pairs.references


def test_parts_contain_each_pair_of_a_year_once(plain) -> None:
    (pairs,) = read_datasets(DataFolder(plain), ["STS14"])
    assert sorted(np.concatenate(pairs.parts).tolist()) == list(range(len(pairs)))
    for part in pairs.parts:
        assert len({pairs.sources[index] for index in part}) == 1


def test_text_form_and_checksums(plain) -> None:
    data = DataFolder(plain)
    read_datasets(data, ["STS12", "SICK-R"], "tokenised")
    assert sorted(data.checksums) == ["sts/tokenised/SICK-test.tsv", "sts/tokenised/STS12.tsv"]


def test_dataset_names_ignore_case() -> None:
    assert choose_datasets([]) == list(DATASETS)
    assert choose_datasets(["sick-test", "SICK-R", "stsb-DEV"]) == ["SICK-R", "STSB-dev"]


BROKEN = {
    "absent": (None, r"STS12\.tsv is missing"),
    "empty": ("", r"STS12\.tsv starts with the columns"),
    "header alone": ("score\tsentence1\tsentence2\tsource\n", r"STS12\.tsv has a header but no rows"),
    "columns": ("score\tsentence1\tsentence2\tsource\n1\ta\tb\tx\n2\ta\tb\n", r"STS12\.tsv has 3 columns in line 3"),
    "number": (
        "score\tsentence1\tsentence2\tsource\nhigh\ta\tb\tx\n",
        r"STS12\.tsv has 'high' in line 2",
    ),
    "nan": (
        "score\tsentence1\tsentence2\tsource\nnan\ta\tb\tx\n",
        r"STS12\.tsv has 'nan' in line 2",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_invalid_file_raises_one_sentence(tmp_path, what) -> None:
    content, sentence = BROKEN[what]
    (tmp_path / "sts" / "raw").mkdir(parents=True)
    if content is not None:
        (tmp_path / "sts" / "raw" / "STS12.tsv").write_text(content)
    with pytest.raises(FileError, match=sentence) as error:
        read_datasets(DataFolder(tmp_path), ["STS12"])
    assert "\n" not in str(error.value)


def test_real_data_have_the_published_sizes() -> None:
    folder = real_folder()
    if folder is None:
        pytest.skip("the real data are missing: set SOFTSET_DATA to their folder")
    for text in ("raw", "tokenised"):
        sizes = [len(pairs) for pairs in read_datasets(DataFolder(folder), DATASETS, text)]
        assert sizes == [3108, 1500, 3750, 3000, 1186, 1379, 4927]
