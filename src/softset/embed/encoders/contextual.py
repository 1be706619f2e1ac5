"""One pipeline for every model that reads tokens: tokenise, cut in windows, batch, run, put each row in its place."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import numpy as np

from softset.embed.encoders.base import TextEncoder
from softset.embed.encoders.batching import BUDGET, batches, padded
from softset.embed.encoders.protocol import Progress
from softset.embed.encoders.signature import format_signature
from softset.embed.encoders.texts import excerpt
from softset.embed.encoders.tokeniser import Tokeniser
from softset.embed.encoders.units import merged_to_words
from softset.embed.encoders.windows import Window, windows
from softset.embed.moments import read_moment
from softset.embed.tokensets import TokenSets, strings
from softset.errors import InputError

__all__ = ["ContextualEncoder", "Network", "Options"]

Overflow = Literal["window", "truncate", "error"]
Unit = Literal["token", "word"]


class Network(Protocol):
    """What the pipeline wants of a model: ids (b, L) and their mask in, the vectors (b, L, d) of one layer out.

    `identity` is its name and checksum; `longest` how many tokens it takes, marks included, or None for any number;
    `alone` whether a vector depends on what else is in the batch, so that each text must go alone; `precision` is None
    for float32.
    """

    @property
    def identity(self) -> str: ...  # noqa: D102
    @property
    def layer(self) -> int | None: ...  # noqa: D102
    @property
    def dimensions(self) -> int: ...  # noqa: D102
    @property
    def longest(self) -> int | None: ...  # noqa: D102
    @property
    def alone(self) -> bool: ...  # noqa: D102
    @property
    def precision(self) -> str | None: ...  # noqa: D102

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the hidden states of one layer."""
        ...


@dataclass(frozen=True)
class Options:
    """How texts become sets, whatever the model."""

    special: bool = False
    unit: Unit = "token"
    overflow: Overflow = "window"
    max_length: int | None = None
    budget: int = BUDGET

    def __post_init__(self) -> None:
        if self.unit not in ("token", "word"):
            raise InputError(f'the unit {self.unit!r} is not known: use "token" or "word"')
        if self.overflow not in ("window", "truncate", "error"):
            raise InputError(f'the overflow {self.overflow!r} is not known: use "window", "truncate" or "error"')
        if self.max_length is not None and self.max_length < 1:
            raise InputError(f"max_length is {self.max_length}, but at least 1 token is needed")
        if self.budget < 1:
            raise InputError(f"a budget of {self.budget} tokens a batch is too small: give at least 1")


class ContextualEncoder(TextEncoder):
    """A tokeniser, a network and options: the encoder of every model that `load_encoder` opens but word vectors."""

    def __init__(
        self,
        tokeniser: Tokeniser,
        network: Network,
        options: Options | None = None,
        *,
        moments: Path | None = None,
    ) -> None:
        self._tokeniser, self._network, self.options = tokeniser, network, options or Options()
        self._moments = moments
        self._marks = len(tokeniser.prefix) + len(tokeniser.suffix)
        self._size = self._window_size()

    def _window_size(self) -> int | None:
        """Return how many tokens of text fit between the marks."""
        most, wanted = self._network.longest, self.options.max_length
        if wanted is not None and most is not None and wanted > most:
            raise InputError(f"max_length is {wanted}, but the model takes at most {most} tokens")
        longest = wanted if wanted is not None else most
        if longest is not None and longest <= self._marks:
            raise InputError(f"max_length {longest} leaves no room: the model's own marks take {self._marks} tokens")
        return None if longest is None else longest - self._marks

    @property
    def signature(self) -> str:
        """The model, its layer, and every option that changes a vector."""
        options = self.options
        return format_signature(
            {
                "encoder": self._network.identity,
                "layer": self._network.layer,
                "special": "in" if options.special else "out",
                "unit": options.unit,
                "overflow": options.overflow if self._size is not None else None,
                "max_length": None if self._size is None else self._size + self._marks,
                "dtype": self._network.precision,
            }
        )

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return self._network.dimensions

    @property
    def layer(self) -> int | None:
        """The number of the layer whose vectors these are; None where a model has only one."""
        return self._network.layer

    @property
    def second_moment(self) -> np.ndarray | None:
        """The second moment (d, d) of unit token vectors of this layer, where it is known: shipped with "minilm"."""
        return None if self._moments is None else read_moment(self._moments, f"layer_{self.layer}")

    def _pool(self, sets: TokenSets) -> np.ndarray:
        """Return the mean over all tokens, marks included, as sentence encoders are trained; zero for empty sets."""
        means, counts = sets.means(), sets.counts
        if sets.special is not None:
            aside = sets.special.counts
            both = counts[:, None] * means + aside[:, None] * sets.special.means()
            means = both / np.maximum(counts + aside, 1)[:, None]
            means[counts == 0] = 0
        pooled: np.ndarray = means.astype(np.float32)
        return pooled

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        return _Run(self, texts).sets(progress)

    # What a run needs

    def plan(self, text: str, n: int) -> list[Window]:
        """Return the windows over a text of n tokens."""
        if self._size is None or n <= self._size:
            return [Window(0, n, 0, n)]
        if self.options.overflow == "error":
            raise InputError(
                f"the text {excerpt(text)} has {n} tokens, but the model takes {self._size}: shorten it, or use "
                "overflow='window' to encode all of it, or overflow='truncate' to cut it"
            )
        if self.options.overflow == "truncate":
            return [Window(0, self._size, 0, self._size)]
        return list(windows(n, self._size))


class _Run:
    """One call of `encode`. A text's rows are laid out as marks before, tokens, marks after."""

    def __init__(self, encoder: ContextualEncoder, texts: Sequence[str]) -> None:
        self._encoder, self._texts = encoder, texts
        self._tokeniser, self._network = encoder._tokeniser, encoder._network  # noqa: SLF001 (one idea in two parts)
        self._tokenised = list(self._tokeniser(texts))
        self._plans = [encoder.plan(text, len(one.ids)) for text, one in zip(texts, self._tokenised, strict=True)]
        lengths = np.array([plan[-1].stop for plan in self._plans], dtype=np.int64)
        self._truncated = np.array([len(one.ids) for one in self._tokenised], dtype=np.int64) - lengths
        marks = len(self._tokeniser.prefix) + len(self._tokeniser.suffix)
        self._begins = np.concatenate([[0], np.cumsum(lengths + marks)]).astype(np.int64)
        self._inside = self._which_are_inside()

    def _which_are_inside(self) -> np.ndarray:
        """Say of every row whether it belongs to its text's set, or is kept aside."""
        inside = np.ones(int(self._begins[-1]), dtype=bool)
        for at, (one, plan) in enumerate(zip(self._tokenised, self._plans, strict=True)):
            rows = inside[self._begins[at] : self._begins[at + 1]]
            before, n = len(self._tokeniser.prefix), plan[-1].stop
            known = ~(one.unknown | one.blank)[:n]
            if not known.any():
                rows[:] = False
            elif not self._encoder.options.special:
                rows[:before] = rows[before + n :] = False
                rows[before : before + n] = known
        return inside

    def sets(self, progress: Progress | None) -> TokenSets:
        """Run the network over all windows and return the sets."""
        d, inside = self._network.dimensions, self._inside
        vectors = np.empty((int(inside.sum()), d), dtype=np.float32)
        aside = np.empty((len(inside) - len(vectors), d), dtype=np.float32)
        place = np.where(inside, np.cumsum(inside), np.cumsum(~inside)) - 1
        jobs = [(at, window) for at, plan in enumerate(self._plans) for window in plan]
        sequences = [self._sequence(at, window) for at, window in jobs]
        most, done = (1 if self._network.alone else None), 0
        for group in batches([len(one) for one in sequences], self._encoder.options.budget, most):
            hidden = self._network(*padded([sequences[job] for job in group], self._tokeniser.pad))
            for row, job in enumerate(group):
                rows, taken = self._taken(*jobs[job])
                belongs = inside[rows]
                vectors[place[rows][belongs]] = hidden[row, taken][belongs]
                aside[place[rows][~belongs]] = hidden[row, taken][~belongs]
            done += len(group)
            if progress is not None:
                progress(done * len(self._texts) // len(jobs), len(self._texts))
        return self._assembled(vectors, aside)

    def _sequence(self, at: int, window: Window) -> np.ndarray:
        prefix, suffix = ([number for number, _ in marks] for marks in (self._tokeniser.prefix, self._tokeniser.suffix))
        middle = self._tokenised[at].ids[window.start : window.stop]
        return np.concatenate([np.array(prefix, np.int64), middle, np.array(suffix, np.int64)])

    def _taken(self, at: int, window: Window) -> tuple[slice, slice]:
        """Return the rows of the layout that a window fills, and the places in its sequence they come from."""
        plan, before, after = self._plans[at], len(self._tokeniser.prefix), len(self._tokeniser.suffix)
        begin = 0 if window is plan[0] else before + window.begin
        end = before + window.end + (after if window is plan[-1] else 0)
        row = int(self._begins[at])
        return slice(row + begin, row + end), slice(begin - window.start, end - window.start)

    def _assembled(self, vectors: np.ndarray, aside: np.ndarray) -> TokenSets:
        tokens, spans = self._described()
        inside, signature = self._inside, self._encoder.signature
        unknown = np.array(
            [int(one.unknown[: plan[-1].stop].sum()) for one, plan in zip(self._tokenised, self._plans, strict=True)],
            dtype=np.int64,
        )
        nothing = np.zeros(len(self._texts), dtype=np.int64)
        out = ~inside
        special = TokenSets(aside, self._offsets(out), tokens[out], spans[out], None, nothing, nothing, signature)
        sets = TokenSets(
            vectors, self._offsets(inside), tokens[inside], spans[inside], special, self._truncated, unknown, signature
        )
        return merged_to_words(sets, self._texts) if self._encoder.options.unit == "word" else sets

    def _offsets(self, chosen: np.ndarray) -> np.ndarray:
        """Return where each text begins among the chosen rows."""
        before: np.ndarray = np.concatenate([[0], np.cumsum(chosen)]).astype(np.int64)
        offsets: np.ndarray = before[self._begins]
        return offsets

    def _described(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the tokens and spans of all rows; a mark's span is empty, at the beginning or the end of its text."""
        before, after = ([name for _, name in marks] for marks in (self._tokeniser.prefix, self._tokeniser.suffix))
        tokens, spans = np.empty(len(self._inside), dtype=object), np.zeros((len(self._inside), 2), dtype=np.int32)
        for at, (text, one) in enumerate(zip(self._texts, self._tokenised, strict=True)):
            row, n = int(self._begins[at]), self._plans[at][-1].stop
            middle = slice(row + len(before), row + len(before) + n)
            tokens[row : middle.start], tokens[middle] = strings(before), one.tokens[:n]
            tokens[middle.stop : middle.stop + len(after)] = strings(after)
            spans[middle], spans[middle.stop : middle.stop + len(after)] = one.spans[:n], len(text)
        return tokens, spans
