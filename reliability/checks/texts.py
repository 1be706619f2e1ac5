"""Texts: score pairs of empty, very long and unusual texts."""

import hashlib
import os
import random
import warnings
from collections.abc import Iterator

import numpy as np
from tests.server.load import memory_of

from reliability.check import CheckResult, check, expect
from softset import Scorer, Scores

BLOCK_PAIRS = 10_000
WORDS = "the red book on a blue table was read by two old men who never spoke of the sea again".split()
SCRIPTS = ["日本語の文章", "русский текст", "نص عربي", "ελληνικά", "हिन्दी पाठ", "한국어 문장", "ไทย", "עברית"]
UNUSUAL = ["\x00", "\x07\x1b[31m", "\u200b\u200d\ufeff", "\u202e", "e\u0301" * 20]
UNUSUAL += ["\U0001f468\u200d\U0001f469", "\r\n\t", "\ufffd"]
LONGEST = {"words": 50_000, "minilm": 3_000}  # words; six windows of MiniLM
GOAL = "finishes; empty rows are flagged; memory stays flat; same results in each run, with 1 and 2 threads"
MAX_MEMORY_RATIO = 1.1  # memory in the last quarter of the run by memory in the second quarter


def random_text(rng: random.Random, longest: int) -> str:
    """Return a text: usually plain; sometimes empty, with control characters, in several scripts, or very long."""
    kind = rng.random()
    if kind < 0.85:
        return " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))
    if kind < 0.89:
        return rng.choice(["", " ", "\n", "\t \u3000"])
    if kind < 0.93:
        return rng.choice(UNUSUAL) * rng.randint(1, 5) + rng.choice(["", " the book"])
    if kind < 0.97:
        return " ".join(rng.choices(SCRIPTS + WORDS, k=rng.randint(1, 8)))
    if kind < 0.99995:
        return rng.choice("aé日\u0301!") * rng.randint(1, 300)
    return " ".join(rng.choices(WORDS, k=longest))


def blocks(count: int, longest: int) -> Iterator[tuple[list[str], list[str]]]:
    """Yield blocks of candidates and references; each block has at least one very long text."""
    for start in range(0, count, BLOCK_PAIRS):
        rng = random.Random(start)
        size = min(BLOCK_PAIRS, count - start)
        candidates, references = ([random_text(rng, longest) for _ in range(size)] for _ in range(2))
        candidates[0] = " ".join(rng.choices(WORDS, k=longest))
        yield candidates, references


def _check_scores(scores: Scores, candidates: list[str], references: list[str]) -> int:
    """Check that all numbers are in range and empty texts are flagged; return the number of empty pairs."""
    for name in ("precision", "recall", "score"):
        numbers = np.asarray(getattr(scores, name))
        in_range = np.isfinite(numbers).all() and (numbers >= 0).all() and (numbers <= 1).all()
        expect(bool(in_range), f"{name} out of range")
    without_tokens = (np.asarray(scores.candidate_tokens) == 0) | (np.asarray(scores.reference_tokens) == 0)
    expect(bool((np.asarray(scores.empty) == without_tokens).all()), "a row without tokens is not flagged as empty")
    blank = np.array([not a.strip() or not b.strip() for a, b in zip(candidates, references, strict=True)])
    expect(bool(np.asarray(scores.empty)[blank].all()), "a blank text is not flagged as empty")
    return int(without_tokens.sum())


def _score_all(model: str, count: int, threads: int) -> tuple[str, int, int, float]:
    """Score pairs; return a digest of all results, the numbers of empty and truncated pairs, and memory growth."""
    scorer = Scorer(model, threads=threads)
    digest, empty, truncated = hashlib.sha256(), 0, 0
    memory: list[float] = []  # MB after each block; the peak would depend on the longest text only
    for candidates, references in blocks(count, LONGEST[model]):
        scores = scorer.score(candidates, references)
        empty += _check_scores(scores, candidates, references)
        truncated += int(np.count_nonzero(scores.truncated))
        for name in ("precision", "recall", "score", "empty", "candidate_tokens", "reference_tokens"):
            digest.update(np.ascontiguousarray(getattr(scores, name)).tobytes())
        memory.append(memory_of(os.getpid()))
    quarter = max(1, len(memory) // 4)
    growth = float(np.median(memory[-quarter:]) / np.median(memory[quarter - 1 : 2 * quarter]))
    return digest.hexdigest(), empty, truncated, growth


def _run(model: str, count: int) -> CheckResult:
    warnings.simplefilter("error")
    digest, empty, truncated, growth = _score_all(model, count, 1)
    for threads in (1, 2):
        expect(_score_all(model, count, threads)[0] == digest, f"other results in a second run, {threads} threads")
    expect(growth <= MAX_MEMORY_RATIO, f"memory grew {growth:.2f} times")
    figures = {
        "flagged as empty": f"{empty:,}",
        "flagged as truncated": f"{truncated:,}",
        "memory ratio of the last to the second quarter": f"{growth:.2f}",
    }
    return CheckResult(f"{count:,} pairs, three times, with 1 and 2 threads", figures)


@check("texts-static", "fuzz", "score unusual texts with static vectors", goal=GOAL)
def _static(short: bool) -> CheckResult:
    return _run("words", 20_000 if short else 1_000_000)


@check("texts-minilm", "fuzz", "score unusual texts with MiniLM", goal=GOAL)
def _minilm(short: bool) -> CheckResult:
    return _run("minilm", 300 if short else 20_000)
