"""Where the rows of a run go: into the sets, or aside.

A text's rows are laid out as marks before, tokens, marks after. Those that belong to its set go to one long array, the
others to a second one, each in the order of the texts, whatever the order in which they are computed.
"""

from collections.abc import Sequence

import numpy as np

from softset.encoders.tokenizer import Tokenised, Tokeniser
from softset.encoders.tokensets import TokenSets, strings
from softset.encoders.windows import Window

__all__ = ["Layout"]


class Layout:
    """The rows of some texts, to be filled window by window."""

    def __init__(
        self,
        tokenised: Sequence[Tokenised],
        plans: Sequence[Sequence[Window]],
        tokeniser: Tokeniser,
        dimensions: int,
        *,
        special: bool,
    ) -> None:
        self._tokenised, self._plans = tokenised, plans
        self._before, self._after = tokeniser.prefix, tokeniser.suffix
        marks = len(self._before) + len(self._after)
        self._begins = np.cumsum([0, *(plan[-1].stop + marks for plan in plans)], dtype=np.int64)
        self._inside = self._which_are_inside(special)
        self._place = np.where(self._inside, np.cumsum(self._inside), np.cumsum(~self._inside)) - 1
        members = int(self._inside.sum())
        self._vectors = np.empty((members, dimensions), dtype=np.float32)
        self._aside = np.empty((len(self._inside) - members, dimensions), dtype=np.float32)

    def _which_are_inside(self, special: bool) -> np.ndarray:
        """Say of every row whether it belongs to its text's set; a text without a known token has an empty one."""
        inside = np.zeros(int(self._begins[-1]), dtype=bool)
        for at, (one, plan) in enumerate(zip(self._tokenised, self._plans, strict=True)):
            rows = inside[self._begins[at] : self._begins[at + 1]]
            known = _known(one)[: plan[-1].stop]
            rows[:] = special and bool(known.any())
            rows[len(self._before) : len(self._before) + len(known)] = known
        return inside

    def put(self, at: int, window: Window, hidden: np.ndarray) -> None:
        """Take a window's share of the vectors (L, d) of its sequence, which is marks, tokens, marks again."""
        plan, before = self._plans[at], len(self._before)
        begin = 0 if window is plan[0] else before + window.begin
        end = before + window.end + (len(self._after) if window is plan[-1] else 0)
        rows = slice(int(self._begins[at]) + begin, int(self._begins[at]) + end)
        taken, inside, place = hidden[begin - window.start : end - window.start], self._inside[rows], self._place[rows]
        self._vectors[place[inside]] = taken[inside]
        self._aside[place[~inside]] = taken[~inside]

    def sets(self, texts: Sequence[str], signature: str) -> TokenSets:
        """Return the sets, when every window was put in."""
        tokens, spans = self._described(texts)
        shown = [(one, plan[-1].stop) for one, plan in zip(self._tokenised, self._plans, strict=True)]
        unknown = np.array([one.unknown[:n].sum() for one, n in shown], dtype=np.int64)
        truncated = np.array([_known(one)[n:].sum() for one, n in shown], dtype=np.int64)
        nothing = np.zeros(len(texts), dtype=np.int64)
        ins, out = self._inside, ~self._inside
        special = TokenSets(self._aside, self._offsets(out), tokens[out], spans[out], None, nothing, nothing, signature)
        return TokenSets(
            self._vectors, self._offsets(ins), tokens[ins], spans[ins], special, truncated, unknown, signature
        )

    def _offsets(self, chosen: np.ndarray) -> np.ndarray:
        """Return where each text begins among the chosen rows."""
        offsets: np.ndarray = np.concatenate([[0], np.cumsum(chosen)])[self._begins]
        return offsets

    def _described(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens and spans of all rows; a mark's span is empty, at the beginning or the end of its text."""
        before, after = (strings([name for _, name in marks]) for marks in (self._before, self._after))
        tokens, spans = np.empty(len(self._inside), dtype=object), np.zeros((len(self._inside), 2), dtype=np.int32)
        for at, (text, one) in enumerate(zip(texts, self._tokenised, strict=True)):
            n = self._plans[at][-1].stop
            first = int(self._begins[at]) + len(before)
            tokens[first - len(before) : first + n + len(after)] = np.concatenate([before, one.tokens[:n], after])
            spans[first : first + n], spans[first + n : first + n + len(after)] = one.spans[:n], len(text)
        return tokens, spans


def _known(one: Tokenised) -> np.ndarray:
    known: np.ndarray = ~(one.unknown | one.blank)
    return known
