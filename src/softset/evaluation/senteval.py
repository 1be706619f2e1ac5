"""The folder of SentEval, as its own script makes it: STS12 to STS16, STSBenchmark and SICK."""

from softset.errors import FileError
from softset.evaluation.data import Data, numbers

__all__ = ["read_senteval", "senteval_folder"]

Row = tuple[float, str, str, str]  # how alike, both sentences, the sub-dataset

# The sub-datasets of each year, as SentEval counts them: STS13 is without SMT, which is not free.
PARTS = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "OnWN", "images", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
SICK = ("pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment")


def senteval_folder(data: Data) -> str | None:
    """Return the path of SentEval's tasks inside the folder of data, if it is SentEval's.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "downstream", "STS").mkdir(parents=True)
    ...     senteval_folder(Data(folder)), senteval_folder(Data(f"{folder}/downstream"))
    ('downstream/STS', 'STS')
    """
    if (data.folder / "sts" / "raw").is_dir() or (data.folder / "sts" / "tokenised").is_dir():
        return None
    found = [one for one in ("downstream/STS", "data/downstream/STS", "STS") if (data.folder / one).is_dir()]
    return found[0] if found else None


def read_senteval(data: Data, folder: str, name: str) -> list[Row]:
    """Read one dataset, such as STS12, STSB-test or SICK-trial."""
    if name in PARTS:
        return [row for part in PARTS[name] for row in _year(data, f"{folder}/{name}-en-test", part)]
    task, split = name.split("-")
    return _benchmark(data, folder, split) if task == "STSB" else _sick(data, folder, split)


def _year(data: Data, folder: str, part: str) -> list[Row]:
    """Read one sub-dataset of a year: sentences and scores are in two files, and a pair without a score is none."""
    texts, scores = f"{folder}/STS.input.{part}.txt", f"{folder}/STS.gs.{part}.txt"
    sentences, golds = data.lines(texts), data.lines(scores)
    if len(sentences) != len(golds):
        raise FileError(
            f"{data.folder / texts} has {len(sentences):,} lines but {data.folder / scores} has {len(golds):,}: "
            "as many were wanted"
        )
    rows = []
    for at, (line, gold) in enumerate(zip(sentences, golds, strict=True), 1):
        if gold.strip():
            cells = _cells(data, texts, at, line, 2)
            rows.append((_score(data, scores, at, gold), cells[0], cells[1], part))
    return _filled(data, texts, rows)


def _benchmark(data: Data, folder: str, split: str) -> list[Row]:
    """Read STS-B: genre, file, year, number, score and the two sentences, and in some lines where they are from."""
    name = f"{folder}/STSBenchmark/sts-{split}.csv"
    rows = []
    for at, line in enumerate(data.lines(name), 1):
        genre, file, year, _, score, first, second, *_ = _cells(data, name, at, line, 7)
        rows.append((_score(data, name, at, score), first, second, f"{genre}/{file}/{year}"))
    return _filled(data, name, rows)


def _sick(data: Data, folder: str, split: str) -> list[Row]:
    parent = folder.removesuffix("STS")
    name = f"{parent}SICK/SICK_{'test_annotated' if split == 'test' else split}.txt"
    rows = data.table(name, SICK, (str, str, str, numbers, str))
    return [(score, first, second, f"SICK/{judgement}") for _, first, second, score, judgement in rows]


def _cells(data: Data, name: str, at: int, line: str, wanted: int) -> list[str]:
    cells = line.rstrip("\r").split("\t")
    if len(cells) < wanted:
        raise FileError(f"{data.folder / name} has {len(cells)} columns in line {at}, but {wanted} were wanted")
    return cells


def _score(data: Data, name: str, at: int, cell: str) -> float:
    try:
        return numbers(cell)
    except ValueError:
        raise FileError(
            f"{data.folder / name} has {cell.strip()[:60]!r} in line {at}, where a number was wanted"
        ) from None


def _filled(data: Data, name: str, rows: list[Row]) -> list[Row]:
    if not rows:
        raise FileError(f"{data.folder / name} has no pair with a score")
    return rows
