"""`softset encode`: output files, counts and error messages."""

import json
from pathlib import Path

import numpy as np
import pytest

from softset import TokenSets, cli, load_encoder
from softset.errors import FileError
from softset.io.lines import TextFile

TEXTS = ["A red book.", "", "line\u2028separator\x0cfeed", "unbelievably red 𓀀"]


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Run the command line in a folder of its own; return its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("\n".join(TEXTS) + "\n", encoding="utf-8")

    def runner(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            cli.main(["encode", *arguments])
        shown = capsys.readouterr()
        return ended.value.code, shown.out, shown.err

    return runner


@pytest.mark.parametrize("out", ["x.sets", "x.safetensors"])
def test_written_sets_equal_the_python_result(run, out) -> None:
    code, shown, err = run(
        "texts.txt", "--out", out, "--layer", "2", "--unit", "word", "--special-tokens", "--batch-tokens", "9"
    )
    assert code == 0 and shown.startswith(f"{out}: TokenSets(4 texts, ")
    assert "1 token unknown to the model" in err and "1 text with an empty set" in err
    opened = TokenSets.open(out)
    expected = load_encoder("minilm", layer=2, unit="word", special_tokens=True).encode(TEXTS)
    assert opened.signature == expected.signature and opened.tokens_of(3) == expected.tokens_of(3)
    assert np.abs(opened.vectors - expected.vectors).max() < 1e-5


def test_json_counts_texts_tokens_and_flags(run) -> None:
    Path("long.txt").write_text("red " * 600 + "\n\n")
    code, out, err = run("long.txt", "--out", "x", "--overflow", "truncate", "--json", "--float16", "--cache", "kept")
    facts = json.loads(out)
    assert code == 0 and facts.pop("signature") == load_encoder(overflow="truncate").signature
    assert facts == {"texts": 2, "tokens": 510, "dimensions": 384, "empty": 1, "truncated": 90, "unknown": 0}
    assert "90 tokens truncated: --overflow window" in err
    assert TokenSets.open("x").vectors.dtype == np.float16 and Path("kept/cache.sqlite").is_file()


def test_standard_input_and_other_models(run, monkeypatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"red book\r\npen\n"), encoding="utf-8"))
    assert run("-", "--model", "words", "--out", "x")[0] == 0
    assert TokenSets.open("x").counts.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("absent.txt", "--out", "x"), "absent.txt: No such file"),
        (("empty.txt", "--out", "x"), "empty.txt is empty: one text per line is expected"),
        (("texts.txt", "--out", "texts.txt"), "texts.txt: File exists"),
        (("texts.txt", "--out", "no/such/x"), "no/such: No such file"),
        (("texts.txt", "--out", "x", "--layer", "9"), "the model has layers 0 to 6"),
        (("texts.txt", "--out", "x", "--layer", "deep"), "layer 'deep' is not known"),
        (("texts.txt", "--out", "x", "--unit", "line"), "'line' is not one of"),
        (("texts.txt", "--out", "x", "--model", "words", "--layer", "2"), "no option layer"),
        (("texts.txt", "--out", "x", "--max-length", "1"), "special tokens alone take 2 tokens"),
        (("texts.txt", "--out", "x", "--threads", "0"), "0 is not in the range"),
        (("texts.txt", "--out", "x", "--overflow", "error", "--max-length", "4"), "--overflow"),
        (("latin.txt", "--out", "x"), "latin.txt is not UTF-8 in line 2"),
        (("texts.txt",), "Missing option '--out'"),
    ],
)
def test_bad_input_gives_one_sentence_and_exit_code_2(run, arguments, sentence) -> None:
    Path("latin.txt").write_bytes(b"ok\ncaf\xe9\n")
    Path("empty.txt").touch()
    code, out, err = run(*arguments)
    assert code == 2 and out == "" and sentence in err and err.count("\n") == 1 and "Traceback" not in err
    assert not Path("x").exists()


def test_only_line_feeds_end_a_line(tmp_path) -> None:
    path = tmp_path / "t"
    for content, lines in (
        (b"a\nb", ["a", "b"]),
        (b"a\r\n\r\nb\n", ["a", "", "b"]),
        (b"\n\n", ["", ""]),
        (b"", []),
        (b"\xef\xbb\xbfa\xe2\x80\xa8b\x0bc\n", ["a\u2028b\x0bc"]),
    ):
        path.write_bytes(content)
        assert list(TextFile(str(path))) == lines
    path.write_bytes(b"\xff\n")
    with pytest.raises(FileError, match="not UTF-8 in line 1"):
        list(TextFile(str(path)))
