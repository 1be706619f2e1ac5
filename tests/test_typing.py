"""Type checkers find misspelled options in the scripts of users."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import softset

GOOD = """\
import softset
from softset import Idf, Scorer

idf = Idf.fit(["a red book"], model="words", progress=True)
scorer = Scorer("words", metric="bertscore(weights=idf)", idf=idf, unit="token")
scores = scorer.score(["a"], ["b"], progress=print)
head: softset.Scores = scores[:1]
first: float = scores[0].score
total: float = sum(row.score for row in softset.score(["a"], ["b"], layer=4, metric="bertscore").rows())
comparison = softset.compare({"old": ["a"], "new": ["b"]}, ["c"], metric=["softset", "average"], samples=100)
print(head.to_pandas(), first, total, comparison.to_markdown(), softset.pairwise(["a"], distance=True).shape)
print(softset.load_encoder("minilm", layer=4).encode(["a"], progress=True))
words = softset.load_words()
red: softset.SetExpression = words.set("red", vector=words["red"], weights=[2, 1]) & "fruit" | words.span(["wine"])
print(words.find(red, top=3)[:2].to_pandas(), words.count(red, min_score=0.3, filter=lambda item: len(item.id) > 3))
books = softset.Collection.create("books", ["a red book"], encoder="words").add([{"text": "x", "year": 1}])
print(books.find(red, filter="year > 0", offset=2, distinct=0.95).explain(), books["1"].text, books.stats().items)
"""
BAD = """\
import softset

softset.load_words().find("red", topp=3)
softset.score(["a"], ["b"], metrc="bertscore")
softset.Scorer("words", layr=4)
softset.Scorer("words").score(["a"], ["b"], progres=True)
softset.Scorer("words").matrix(["a"], progres=True)
softset.Idf.fit(["a"], modle="words")
softset.Calibration.fit(["a"], round=3)
softset.compare({}, [], sample=3)
softset.load_encoder("words", layr=2)
softset.pairwise(["a"], distanc=True)
softset.Scorer("words", multi_reference="bset")
softset.load_words().set("red", wieghts=[1])
softset.load_words().count("red", min_scor=0.3)
softset.Collection.create("books", ["a"], encodr="words")
softset.Collection.open("books").find("red", filtr="year > 0")
"""


def test_mypy_accepts_a_correct_script_and_finds_every_misspelled_option(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    source = Path(softset.__file__).parent.parent
    options = [
        "--strict",
        "--ignore-missing-imports",
        "--follow-imports=silent",
        f"--cache-dir={source.parent}/.mypy_cache/users",  # apart from the cache of the project's own options
    ]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "good.py", "bad.py"],
        cwd=tmp_path, env={**os.environ, "MYPYPATH": str(source)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = run.stdout.splitlines()
    errors = {int(line.split(":")[1]) for line in lines if line.startswith("bad.py:") and ": error:" in line}
    assert errors == set(range(3, BAD.count("\n") + 1)), run.stdout
    assert not [line for line in lines if line.startswith("good.py")]
    assert "did you mean" in run.stdout.lower() and 'Unexpected keyword argument "topp"' in run.stdout
