"""`softset fit`: its files equal those of Python, and `softset score` reads them."""

from pathlib import Path

import softset

TEXTS = ["a red book", "the blue pen", "a dog barks", "rain falls in may", ""]


def test_fitted_files_are_used_by_score(run) -> None:
    Path("corpus.txt").write_text("\n".join(TEXTS) + "\n")
    code, out, _ = run("fit", "idf", "corpus.txt", "--model", "words", "--out", "idf.json")
    assert (code, out) == (0, "idf.json: Idf(5 texts, 12 tokens)\n")
    assert softset.Idf.load("idf.json").counts == softset.Idf.fit(TEXTS, model="words").counts
    code, out, _ = run(
        "fit", "calibration", "corpus.txt", "--model", "words", "--metric", "bertscore", "--out", "c.json"
    )
    level = softset.Calibration.fit(TEXTS, model="words", metric="bertscore")
    assert code == 0 and softset.Calibration.load("c.json") == level and f"score {level.score:.4f}" in out
    pair = ("score", "--inline", "-c", "a red pen", "-r", "a red book", "--model", "words")
    assert run(*pair, "--metric", "bertscore", "--rescale", "c.json")[0] == 0
    assert run(*pair, "--metric", "subspace(weights=idf)", "--idf", "idf.json")[0] == 0


def test_bad_texts_give_one_sentence(run) -> None:
    Path("empty.txt").write_text("")
    Path("one.txt").write_text("a red book\n")
    for arguments, sentence in (
        (("idf", "empty.txt"), "idf needs at least one text"),
        (("idf", "missing.txt"), "missing.txt: No such file or directory"),
        (("calibration", "one.txt"), "at least 2 different texts, but there are 1"),
        (("calibration", "one.txt", "--rounds", "0"), "rounds is 0"),
    ):
        code, out, err = run("fit", *arguments, "--model", "words", "--out", "o.json")
        assert (code, out) == (2, "") and sentence in err and len(err.splitlines()) == 1 and not Path("o.json").exists()
