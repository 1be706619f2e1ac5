"""The scorer: a million pairs of texts that are empty, huge, of control characters and of all scripts."""

import hashlib
import os
import random
import warnings
from collections.abc import Iterator

import numpy as np
from tests.server.load import memory_of

from reliability.check import Check, Finding, expect
from softset import Scorer, Scores

__all__ = ["CHECKS"]

AT_ONCE = 10_000
WORDS = "the red book on a blue table was read by two old men who never spoke of the sea again".split()
SCRIPTS = ["日本語の文章", "русский текст", "نص عربي", "ελληνικά", "हिन्दी पाठ", "한국어 문장", "ไทย", "עברית"]
ODD = [
    "\x00",
    "\x07\x1b[31m",
    "\u200b\u200d\ufeff",
    "\u202e",
    "e\u0301" * 20,
    "\U0001f468\u200d\U0001f469",
    "\r\n\t",
    "\ufffd",
]
HUGE = {"words": 50_000, "minilm": 3_000}  # words of the longest texts: six windows of MiniLM, which takes its time
FLAT = 1.1  # memory in the last quarter by that in the second


def text(rng: random.Random, huge: int) -> str:
    """Return a text: mostly plain, now and then empty, blank, of odd characters, of several scripts, or huge."""
    kind = rng.random()
    if kind < 0.85:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))
    if kind < 0.89:
        return rng.choice(["", " ", "\n", "\t \u3000"])
    if kind < 0.93:
        return rng.choice(ODD) * rng.randint(1, 5) + rng.choice(["", " the book"])
    if kind < 0.97:
        return " ".join(rng.choices(SCRIPTS + WORDS, k=rng.randint(1, 8)))
    if kind < 0.99995:
        return rng.choice("aé日\u0301!") * rng.randint(1, 300)
    return " ".join(rng.choices(WORDS, k=huge))


def blocks(count: int, huge: int) -> Iterator[tuple[list[str], list[str]]]:
    for at in range(0, count, AT_ONCE):
        rng = random.Random(at)
        size = min(AT_ONCE, count - at)
        A, B = ([text(rng, huge) for _ in range(size)] for _ in range(2))
        A[0] = " ".join(rng.choices(WORDS, k=huge))  # one at least in every block
        yield A, B


def _digest(found: Scores) -> bytes:
    columns = [found.precision, found.recall, found.score, found.empty, found.candidate_tokens, found.reference_tokens]
    return b"".join(np.ascontiguousarray(one).tobytes() for one in columns)


def _check(found: Scores, A: list[str], B: list[str]) -> int:
    """See that every row has its numbers, and that rows with nothing to compare are flagged; return how many."""
    for name in ("precision", "recall", "score"):
        numbers = np.asarray(getattr(found, name))
        expect(
            bool(np.isfinite(numbers).all() and (numbers >= 0).all() and (numbers <= 1).all()), f"{name} out of range"
        )
    nothing = (np.asarray(found.candidate_tokens) == 0) | (np.asarray(found.reference_tokens) == 0)
    expect(bool((np.asarray(found.empty) == nothing).all()), "a row without tokens is not flagged as empty")
    blank = np.array([not a.strip() or not b.strip() for a, b in zip(A, B, strict=True)])
    expect(bool(np.asarray(found.empty)[blank].all()), "a blank text is not flagged as empty")
    return int(nothing.sum())


def _scored(model: str, count: int, threads: int) -> tuple[str, int, int, float]:
    """Score so many pairs; return a digest of all results, how many were flagged, and the growth of memory."""
    scorer = Scorer(model, threads=threads)
    digest, empty, cut = hashlib.sha256(), 0, 0
    held: list[float] = []  # MB after each block: a peak would be that of the longest texts of all
    for A, B in blocks(count, HUGE[model]):
        found = scorer.score(A, B)
        empty += _check(found, A, B)
        cut += int(np.count_nonzero(found.truncated))
        digest.update(_digest(found))
        held.append(memory_of(os.getpid()))
    quarter = max(1, len(held) // 4)
    grown = float(np.median(held[-quarter:]) / np.median(held[quarter - 1 : 2 * quarter]))
    return digest.hexdigest(), empty, cut, grown


def _run(model: str, full: int, few: int):
    def run(short: bool) -> Finding:
        warnings.simplefilter("error")
        count = few if short else full
        once, empty, cut, grown = _scored(model, count, 1)
        for threads in (1, 2):
            expect(_scored(model, count, threads)[0] == once, f"other results the second time, with {threads} threads")
        expect(grown <= FLAT, f"memory grew {grown:.2f} times")
        figures = {
            "empty, flagged": f"{empty:,}",
            "cut, flagged": f"{cut:,}",
            "memory of the last quarter by the second": f"{grown:.2f}",
        }
        return Finding(f"{count:,} pairs, three times, with 1 and 2 threads", figures)

    return run


WANTED = "finishes; every odd row flagged; memory flat; the same twice, and with 1 and 2 threads"
CHECKS = (
    Check("texts-static", "fuzz", "odd texts scored on static vectors", WANTED, _run("words", 1_000_000, 20_000)),
    Check("texts-minilm", "fuzz", "odd texts scored on MiniLM", WANTED, _run("minilm", 20_000, 300)),
)
