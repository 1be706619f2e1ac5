"""Explanations built by hand, without a metric."""

import numpy as np

from softset.similarity.explain import ExplainedText, Explanation, MetricView

NASTY = (
    "</script><script>alert('x')</script>",
    '" onmouseover="alert(1)',
    "\x1b[2J\x1b]0;owned\x07",
    "\u202eevil\u2066",
    "$\\frac{1}{0}$",
    "日本語",
    "👑",
    "مملكة",
    "e\u0301",
    "\x00\r\n\u2028",
    "x" * 300,
    "",
    "&amp;",
    "\ud800",
)


def text_of(*tokens: str, text: str | None = None) -> ExplainedText:
    """Return a text with the spans of its tokens; without a text, the tokens are joined by spaces."""
    text = " ".join(tokens) if text is None else text
    spans, done = [], 0
    for token in tokens:
        start = text.index(token, done)
        done = start + len(token)
        spans.append((start, done))
    return ExplainedText(text, tokens, tuple(spans))


def explain(
    candidate: ExplainedText, reference: ExplainedText, metrics=("bertscore", "subspace"), seed: int = 0
) -> Explanation:
    """Return an explanation with arbitrary numbers: cosines for bertscore, shares for all others."""
    k, l = len(candidate.tokens), len(reference.tokens)
    C = np.random.default_rng(seed).uniform(-0.2, 0.95, (k, l))
    views = tuple(_cosines(name, C) if name.startswith("bertscore") else _shares(name, C) for name in metrics)
    return Explanation(candidate, reference, C, views, "softset test")


def royalty() -> Explanation:
    """Return the paper's figure 2: one token of the candidate lies in the span of two of the reference."""
    couple = text_of("We", "are", "the", "king", "and", "queen")
    C = np.array([[0.12, 0.08, 0.15, 0.64, 0.10, 0.61]])
    shares = np.array([[0.02, -0.01, 0.03, 0.51, 0.01, 0.44]])
    single, six = np.ones(1), np.full(6, 1 / 6)
    bertscore = MetricView("bertscore", 0.64, 0.28, 0.39, C.max(1), C.max(0), single, six, C, C.T, "cosine")
    members = np.array([0.02, 0.01, 0.03, 0.41, 0.01, 0.37])
    subspace = MetricView(
        "subspace", 0.86, 0.14, 0.24, np.array([0.86]), members, single, six, shares, np.ones((6, 1)), "share"
    )
    return Explanation(text_of("royalty"), couple, C, (bertscore, subspace), "softset test")


def _cosines(name: str, C: np.ndarray) -> MetricView:
    return _view(name, C.max(1, initial=0), C.max(0, initial=0), C, C.T, "cosine")


def _shares(name: str, C: np.ndarray) -> MetricView:
    rows, columns = (each / each.sum(1, keepdims=True) for each in (C, C.T))
    return _view(name, np.clip(C.max(1, initial=0) + 0.1, 0, 1), C.max(0, initial=0), rows, columns, "share")


def _view(name: str, P: np.ndarray, R: np.ndarray, rows: np.ndarray, columns: np.ndarray, links: str) -> MetricView:
    k, l = len(P), len(R)
    weights = np.full(k, 1 / max(k, 1)), np.full(l, 1 / max(l, 1))
    precision, recall = float(P @ weights[0]), float(R @ weights[1])
    return MetricView(name, precision, recall, (precision + recall) / 2, P, R, *weights, rows, columns, links)
