"""Token sets for tests: separate, copied, combined, nearly equal, crowded, huge and tiny, in every type."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import strategies as st

from softset import Scores, TokenSets
from softset.algebra.rank import tolerance

KINDS = ("apart", "copies", "scaled", "combined", "near", "nearer", "as one", "crowded", "one")
SCALES = {"float16": (1.0, 64.0), "float32": (1.0, 1e30, 1e-30), "float64": (1.0, 1e300, 1e-300)}
AS_ONE = {"float16": 0.0, "float32": 1e-7, "float64": 1e-10}  # angles far below the cut


def cut_of(rows: np.ndarray) -> float:
    """Return the project's one rank tolerance for rows of a type; float16 counts as float32."""
    return tolerance(rows.shape[1], np.result_type(rows.dtype, np.float32), np)


def separate(rng: np.random.Generator, k: int, d: int) -> np.ndarray:
    """Return k <= d rows with canonical angles far from 0."""
    return np.linalg.qr(rng.standard_normal((d, d)))[0][:k] + 0.1 * rng.standard_normal((k, d)) / np.sqrt(d)


def rows_of(kind: str, rng: np.random.Generator, d: int, dtype: str = "float64", scale: float = 1.0) -> np.ndarray:
    """Return the rows (k, d) of one set."""
    k = int(rng.integers(2, max(3, d)))
    rows = separate(rng, k, d)
    aside = separate(rng, 2, d)[1]
    match kind:
        case "one":
            rows = rows[:1]
        case "copies":
            rows = rows[rng.integers(0, k, k + 3)]
        case "scaled":
            rows = np.vstack([rows, -4 * rows[:1], 0.25 * rows[1:2]])
        case "combined":
            rows = np.vstack([rows, rows[0] + rows[1], 2 * rows[0] - rows[-1]])
        case "near" | "nearer" | "as one":
            angle = {"near": 1e-2, "nearer": 1e-3, "as one": AS_ONE[dtype]}[kind]
            rows = np.vstack([rows[: max(1, k - 1)], rows[0] + angle * aside])
        case "crowded":
            rows = np.vstack([separate(rng, d, d), rng.standard_normal((int(rng.integers(1, 5)), d))])
    lengths = 1.0 if kind == "copies" else 2.0 ** rng.integers(-3, 4, (len(rows), 1))
    with np.errstate(under="ignore"):
        return (rows[rng.permutation(len(rows))] * lengths * scale).astype(dtype)


class Pair(NamedTuple):
    """A candidate and a reference."""

    A: np.ndarray
    B: np.ndarray

    @property
    def cut(self) -> float:
        return cut_of(self.A)


@st.composite
def pairs(draw: st.DrawFn, dtypes: Sequence[str] = ("float16", "float32", "float64")) -> Pair:
    """Draw two sets of one space and type."""
    d, dtype = draw(st.sampled_from([2, 3, 4, 8, 16])), draw(st.sampled_from(dtypes))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    # Sums rounded to float16 are neither dependent nor clearly independent.
    kinds = [kind for kind in KINDS if dtype != "float16" or kind not in ("combined", "as one", "nearer")]
    A, B = (rows_of(draw(st.sampled_from(kinds)), rng, d, dtype, draw(st.sampled_from(SCALES[dtype]))) for _ in "AB")
    return Pair(A, B)


def sets_of(*arrays: Any) -> TokenSets:
    """Return token sets of arrays, one a text."""
    return TokenSets.from_arrays(arrays)


class ToyEncoder:
    """Words cut at spaces, each with a vector of its own that leans on its neighbour; a mark is kept aside."""

    def __init__(self, d: int = 12, name: str = "toy", lean: float = 0.3, dtype: str = "float32") -> None:
        self.dimensions, self.name, self.lean, self.dtype = d, name, lean, dtype
        self.texts_seen = 0

    @property
    def signature(self) -> str:
        return f"encoder:{self.name}|d:{self.dimensions}"

    def _word(self, word: str) -> np.ndarray:
        seed = zlib.crc32(f"{self.name} {word}".encode())
        return np.random.default_rng(seed).standard_normal(self.dimensions) + 0.4

    def _rows(self, words: list[str]) -> np.ndarray:
        rows = np.array([self._word(word) for word in words]).reshape(-1, self.dimensions)
        return (rows + self.lean * np.roll(rows, 1, axis=0)).astype(self.dtype)

    def encode(self, texts: Sequence[str], *, progress: Any = None) -> TokenSets:  # noqa: ARG002 (an encoder's)
        self.texts_seen += len(texts)
        words = [text.split() for text in texts]
        sets = TokenSets.from_arrays(
            [self._rows(tokens) for tokens in words], tokens=words, dimensions=self.dimensions, signature=self.signature
        )
        marks = TokenSets.from_arrays(
            [self._word("[CLS] " + text)[None, :] for text in texts],
            tokens=[["[CLS]"]] * len(texts),
            dimensions=self.dimensions,
            signature=self.signature,
        )
        return replace(sets, special=replace(marks, spans=np.zeros((len(texts), 2), dtype=np.int64)))

    def embed(self, texts: Sequence[str], *, progress: Any = None) -> np.ndarray:  # noqa: ARG002 (an encoder's)
        return self.encode(texts).means()


def moment_of(d: int) -> np.ndarray:
    """Return a second moment (d, d) of vectors that lean to one side and are wide in some directions."""
    rng = np.random.default_rng(d)
    V = rng.standard_normal((5 * d, d)) * np.linspace(0.2, 2, d) + 0.4
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    moment: np.ndarray = V.T @ V / len(V)
    return moment


class KnownEncoder(ToyEncoder):
    """A toy that knows its second moment, so that some directions are rarer than others."""

    @property
    def second_moment(self) -> np.ndarray:
        return moment_of(self.dimensions)


class IsotropicEncoder(ToyEncoder):
    """A toy that says its vectors point everywhere alike."""

    @property
    def second_moment(self) -> np.ndarray:
        return np.eye(self.dimensions) / self.dimensions


LEFT = ["the red book", "a king", "", "king king and queen", "of of of", "a red red park walks in the book of a"]
RIGHT = ["the red book", "the queen and a king walks", "", "park", "", "book"]
WORDS = "the red book of a king and queen walks in park".split()
TEXTS = st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join)
FILLED = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)

# Every metric with every choice of its parameters; two apertures and two ridges.
WEIGHED = [f"(weights={weights})" for weights in ("none", "l2", "l1", "idf", "rare")]
GRADED = ["(aperture=2)", "(weights=l2, aperture=0.5)"]
SYMBOLIC = ["symbolic", "symbolic(weights=idf)", "johnson-symbolic", "johnson-symbolic(weights=idf)"]
MEMBERSHIP = [f"{name}{options}" for name in ("subspace", "johnson") for options in WEIGHED + GRADED]
MEMBERSHIP += [f"bertscore{options}" for options in WEIGHED]
SOFTSET = [
    "softset",
    *(f"softset{options}" for options in WEIGHED),
    "softset(ridge=0.5)",
    "softset(weights=l2, ridge=9)",
]
SYMMETRIC = [f"average{options}" for options in WEIGHED] + ["cls", "jaccard", "tfidf", "grassmann"]
SYMMETRIC += [f"dynamax(index={index})" for index in ("jaccard", "otsuka", "dice")]
TRANSPORT = ["wmd", "wmd(distance=rms)", "wrd"]
EVERY = [*SOFTSET, *MEMBERSHIP, *SYMMETRIC, *SYMBOLIC, *TRANSPORT]


def columns(scores: Scores) -> dict[str, list[Any]]:
    return {name: getattr(scores, name).tolist() for name in scores.to_dict()["segments"][0]}


def assert_same(a: Scores, b: Scores, atol: float = 1e-5) -> None:
    assert len(a) == len(b)
    for name, values in columns(a).items():
        assert values == pytest.approx(columns(b)[name], abs=atol), name
