"""One pipeline for every model that reads tokens: tokenise, cut in windows, batch, run, put each row in its place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from softset.encoders.base import Progress, TextEncoder
from softset.encoders.batching import DEFAULT_BATCH_TOKENS, batches, finer_at_the_end, shared
from softset.encoders.layout import Layout
from softset.encoders.moments import read_moment
from softset.encoders.network import Network, SequentialNetwork, run
from softset.encoders.probing import is_causal
from softset.encoders.signature import format_signature
from softset.encoders.texts import check_texts, distinct_indices, excerpt
from softset.encoders.tokenizer import Tokenised, Tokeniser
from softset.encoders.tokensets import TokenSets
from softset.encoders.units import merged_to_words
from softset.encoders.windows import Window, windows
from softset.errors import InputError
from softset.io.text import counted
from softset.runtime.threads import side_by_side

__all__ = ["ContextualEncoder", "PipelineOptions"]

LONG = 256  # tokens: a text that is worth all threads, if it is alone; a shorter one takes less than 60 ms on one

Overflow = Literal["window", "truncate", "error"]
Unit = Literal["token", "word"]


@dataclass(frozen=True)
class PipelineOptions:
    """How texts become sets, whatever the model."""

    special_tokens: bool = False
    unit: Unit = "token"
    overflow: Overflow = "window"
    max_length: int | None = None
    batch_tokens: int = DEFAULT_BATCH_TOKENS

    def __post_init__(self) -> None:
        if self.unit not in ("token", "word"):
            raise InputError(f'the unit {self.unit!r} is not known: use "token" or "word"')
        if self.overflow not in ("window", "truncate", "error"):
            raise InputError(f'the overflow {self.overflow!r} is not known: use "window", "truncate" or "error"')
        if not isinstance(self.special_tokens, bool):
            raise InputError(f"special_tokens is {self.special_tokens!r}, but True or False was wanted")
        for name, value in (("max_length", self.max_length), ("batch_tokens", self.batch_tokens)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"{name} is {value!r}, but a whole number of at least 1 was wanted")


class ContextualEncoder(TextEncoder):
    """A tokeniser, a network and options: the encoder of every model that `load_encoder` opens but word vectors."""

    def __init__(
        self,
        tokeniser: Tokeniser,
        network: Network,
        options: PipelineOptions | None = None,
        *,
        moments: Path | None = None,
    ) -> None:
        self._tokeniser, self._network, self.options = tokeniser, network, options or PipelineOptions()
        self._moments = moments
        self._marks = len(tokeniser.prefix) + len(tokeniser.suffix)
        self._size = self._window_size()

    def _window_size(self) -> int | None:
        """Return how many tokens of text fit between the marks."""
        most, wanted = self._network.longest, self.options.max_length
        if wanted is not None and most is not None and wanted > most:
            raise InputError(f"max_length is {wanted}, but the model takes at most {counted(most, 'token')}")
        longest = wanted if wanted is not None else most
        if longest is not None and longest <= self._marks:
            raise InputError(
                f"max_length {longest} leaves no room: the model's own marks take {counted(self._marks, 'token')}"
            )
        return None if longest is None else longest - self._marks

    @property
    def signature(self) -> str:
        """The model, its layer, and every option that changes a vector."""
        options = self.options
        return format_signature(
            {
                "encoder": self._network.identity,
                "layer": self._network.layer,
                "special": "in" if options.special_tokens else "out",
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
        plain = self.options.unit == "token" and not self.options.special_tokens  # what the moments were measured on
        return read_moment(self._moments, f"layer_{self.layer}") if self._moments is not None and plain else None

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

    def padded_states(self, texts: Sequence[str]) -> np.ndarray:
        """Return the network's own output (n, L, d) for one batch: marks and padding have their vectors too.

        What is too long is cut. `encode` gives the rows that belong to a text; this is what it takes them from.

        >>> import softset
        >>> softset.load_encoder("minilm").padded_states(["a red book", "a"]).shape
        (2, 5, 384)
        """
        sequences = [self._sequence(one.ids[: self._size]) for one in self._tokeniser(list(texts))]
        return run(self._network.on_all_threads, sequences, self._tokeniser.pad)

    def with_options(
        self,
        *,
        special_tokens: bool | None = None,
        unit: Unit | None = None,
        overflow: Overflow | None = None,
        max_length: int | None = None,
    ) -> "ContextualEncoder":
        """Return an encoder with other options that shares this encoder's network; None leaves an option as it is.

        >>> import softset
        >>> softset.load_encoder("minilm").with_options(unit="word").encode(["Bookworms!"]).tokens_of(0)
        ['Bookworms', '!']
        """
        changes: dict[str, Any] = {"unit": unit, "overflow": overflow, "max_length": max_length}
        changes["special_tokens"] = special_tokens
        options = replace(self.options, **{name: value for name, value in changes.items() if value is not None})
        return ContextualEncoder(self._tokeniser, self._network, options, moments=self._moments)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, before anything is encoded.

        >>> import softset
        >>> softset.load_encoder("minilm").count_tokens(["A red book.", "Bookworms!"])
        [4, 4]
        """
        return [len(one.ids) for one in self._tokeniser(check_texts(texts))]

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        return self._encode_repeated(texts, progress)

    def _encode_repeated(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        sets = self._sub_words(texts, progress)
        return merged_to_words(sets, texts) if self.options.unit == "word" else sets

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return pooled vectors: of the model's own tokens, since a mean of words would weigh them otherwise."""
        return self._pool(self._sub_words(texts, None))

    def _sub_words(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        """Return the sets of the model's own tokens; a text that is there twice goes through the model once."""
        first = distinct_indices(texts)
        tokenised = list(self._tokeniser(list(first)))
        plans = [self.plan(text, len(one.ids)) for text, one in zip(first, tokenised, strict=True)]
        which = [first[text] for text in texts]
        layout = Layout(
            [tokenised[at] for at in which],
            [plans[at] for at in which],
            self._tokeniser,
            self.dimensions,
            special=self.options.special_tokens,
        )
        self._fill(layout, tokenised, plans, which, progress)
        return layout.sets(texts, self.signature)

    def _fill(
        self,
        layout: Layout,
        tokenised: Sequence[Tokenised],
        plans: Sequence[Sequence[Window]],
        which: Sequence[int],
        progress: Progress | None,
    ) -> None:
        """Run every window of the distinct texts, and put its rows wherever `which` says that its text is."""
        places: list[list[int]] = [[] for _ in plans]
        for place, at in enumerate(which):
            places[at].append(place)
        jobs = [(at, window) for at, plan in enumerate(plans) for window in plan]
        sequences = [self._sequence(tokenised[at].ids[window.start : window.stop]) for at, window in jobs]
        groups = self._batches(sequences)
        network = self._network_for(groups, sequences)

        def fill(group: np.ndarray) -> int:
            hidden = run(network, [sequences[job] for job in group], self._tokeniser.pad)
            for row, job in enumerate(group):
                at, window = jobs[job]
                for place in places[at]:
                    layout.put(place, window, hidden[row])  # rows of its own, so that threads do not meet
            return len(group)

        done = 0
        for count in side_by_side(fill, groups, max(1, min(network.at_once, len(groups)))):
            done += count
            if progress is not None:
                progress(done * len(which) // len(jobs), len(which))

    def _network_for(self, groups: Sequence[np.ndarray], sequences: Sequence[np.ndarray]) -> Network:
        """Return the network for batches side by side, or, for one long text alone, with all threads for that."""
        alone = len(groups) == 1 and max(len(sequences[job]) for job in groups[0]) >= LONG
        return self._network.on_all_threads if alone else self._network

    def plan(self, text: str, n: int) -> list[Window]:
        """Return the windows over a text of n tokens."""
        if self._size is None or n <= self._size:
            return [Window(0, n, 0, n)]
        if self.options.overflow == "error":
            raise InputError(
                f"the text {excerpt(text)} has {n} tokens, but the model takes {self._size}: shorten it, encode all "
                "of it with overflow='window' (--overflow window), or cut it with 'truncate'"
            )
        if self.options.overflow == "truncate":
            return [Window(0, self._size, 0, self._size)]
        return list(windows(n, self._size, causal=self._causal))

    @cached_property
    def _causal(self) -> bool:
        """Whether a token sees only what is before it: asked of the model with the first text that needs windows."""
        return is_causal(self._tokeniser, self._network)

    def _sequence(self, ids: np.ndarray) -> np.ndarray:
        before, after = ([number for number, _ in marks] for marks in (self._tokeniser.prefix, self._tokeniser.suffix))
        return np.concatenate([np.array(before, np.int64), ids, np.array(after, np.int64)])

    def _batches(self, sequences: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return groups of sequences that have at least a token: no text, for a model without marks, is nothing."""
        lengths = np.array([len(one) for one in sequences], dtype=np.int64)
        filled, budget, most = np.flatnonzero(lengths), self.options.batch_tokens, 1 if self._network.alone else None
        if isinstance(self._network, SequentialNetwork):
            groups = list(batches(lengths[filled], budget, most))
        else:  # whatever the number of threads, for who is in a batch may decide the last digit of a vector
            groups = finer_at_the_end(list(batches(lengths[filled], shared(int(lengths.sum()), budget), most)))
        return [filled[group] for group in groups]
