"""The encoding pipeline of every model that reads tokens: tokenize, split into windows, batch, run, collect."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from softset.encoders.base import Progress, TextEncoder
from softset.encoders.batching import DEFAULT_BATCH_TOKENS, Window, group_by_length, split_windows, tokens_per_batch
from softset.encoders.collect import RowCollector, merge_words
from softset.encoders.models import read_moment
from softset.encoders.network import Network, is_causal, run_network
from softset.encoders.signature import format_signature
from softset.encoders.texts import check_texts, excerpt
from softset.encoders.tokenizer import TokenizedText, Tokenizer
from softset.encoders.tokensets import TokenSets
from softset.errors import InputError
from softset.io.text import counted
from softset.runtime.threads import parallel_map

# A single sequence of this length uses all threads; a shorter one takes less than 60 ms on one thread.
LONG_SEQUENCE = 256

TEXTS_PER_REPORT = 1024  # tokenizing so many sentences takes about 50 ms

Overflow = Literal["window", "truncate", "error"]
Unit = Literal["token", "word"]


@dataclass(frozen=True)
class PipelineOptions:
    """The options of `load_encoder`, which explains them; the last four are for opening the model."""

    special_tokens: bool = False
    unit: Unit = "token"
    overflow: Overflow = "window"
    max_length: int | None = None
    batch_tokens: int = DEFAULT_BATCH_TOKENS
    layer: float = -1
    threads: int = 1
    device: str | None = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        if self.unit not in ("token", "word"):
            raise InputError(f'the unit {self.unit!r} is not known: use "token" or "word"')
        if self.overflow not in ("window", "truncate", "error"):
            raise InputError(f'the overflow {self.overflow!r} is not known: use "window", "truncate" or "error"')
        if not isinstance(self.special_tokens, bool):
            raise InputError(f"special_tokens is {self.special_tokens!r}, but True or False was expected")
        for name, value in (("max_length", self.max_length), ("batch_tokens", self.batch_tokens)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"{name} is {value!r}, but a whole number of at least 1 was expected")

    def reject(self, subject: str, *names: str) -> None:
        """Raise InputError if one of these options was given, because it would have no effect."""
        for name in names:
            if getattr(self, name) != getattr(PipelineOptions, name):
                raise InputError(f"{subject} has no option {name}: leave {name} out")


@dataclass(frozen=True)
class _Job:
    """A window of one distinct text, and the ids of its sequence with special tokens."""

    text: int
    window: Window
    ids: np.ndarray


class ContextualEncoder(TextEncoder):
    """The encoder of every model that `load_encoder` opens, except word vectors: a tokenizer, a network and options.

    `layer` is the number of the layer, or None if the model has only one.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        network: Network,
        options: PipelineOptions | None = None,
        *,
        moments: Path | None = None,
    ) -> None:
        self._tokenizer, self._network, self.options = tokenizer, network, options or PipelineOptions()
        self.layer, self._moments = network.layer, moments
        self._added = len(tokenizer.prefix) + len(tokenizer.suffix)
        self._window_size = self._find_window_size()

    def _find_window_size(self) -> int | None:
        """Return the number of text tokens in a window, without special tokens; None if there is no limit."""
        limit, length = self._network.max_length, self.options.max_length or self._network.max_length
        if length is not None and limit is not None and length > limit:
            raise InputError(f"max_length is {length}, but the model takes at most {counted(limit, 'token')}")
        if length is None:
            return None
        if length <= self._added:
            raise InputError(
                f"max_length is {length}, but the model's special tokens alone take {counted(self._added, 'token')}"
            )
        return length - self._added

    @property
    def signature(self) -> str:
        """The model, its layer, and every option that changes a vector."""
        options, limited = self.options, self._window_size is not None
        return format_signature(
            {
                "encoder": self._network.identity,
                "layer": self._network.layer,
                "special": "in" if options.special_tokens else "out",
                "unit": options.unit,
                "overflow": options.overflow if limited else None,
                "max_length": None if self._window_size is None else self._window_size + self._added,
                "dtype": self._network.precision,
            }
        )

    @property
    def dimensions(self) -> int:
        """The dimension d of the vectors."""
        return self._network.dimensions

    @property
    def second_moment(self) -> np.ndarray | None:
        """The second moment (d, d) of unit token vectors of this layer, or None if it was not measured."""
        measured = self.options.unit == "token" and not self.options.special_tokens
        return read_moment(self._moments, f"layer_{self.layer}") if measured else None

    def with_options(self, **changes: Any) -> Self:
        """Return an encoder that shares this encoder's network, with changes to its `PipelineOptions`."""
        return type(self)(self._tokenizer, self._network, replace(self.options, **changes), moments=self._moments)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, without encoding the texts."""
        return [len(tokenized.ids) for tokenized in self._tokenizer(check_texts(texts))]

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        sets = self._encode_tokens(texts, progress)
        return merge_words(sets, texts) if self.options.unit == "word" else sets

    def _embed(self, texts: Sequence[str], progress: Progress | None) -> np.ndarray:
        """Return the mean of all tokens of the model, special tokens included, as sentence encoders are trained."""
        sets = self._encode_tokens(texts, progress)
        means, counts = sets.means(), sets.counts
        if sets.special is not None:
            others = sets.special.counts
            sums = counts[:, None] * means + others[:, None] * sets.special.means()
            means = sums / np.maximum(counts + others, 1)[:, None]
            means[counts == 0] = 0
        return np.asarray(means.astype(np.float32))

    def _encode_tokens(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        """Return the sets of the model's tokens of distinct texts."""
        tokenized, windows, jobs = self._prepare(texts, progress)
        collector = RowCollector(
            texts, tokenized, windows, self._tokenizer, self.dimensions, special_tokens=self.options.special_tokens
        )
        batches = self._batches([job.ids for job in jobs])
        # A single batch with a long text uses all threads.
        single = len(batches) == 1 and max(len(jobs[number].ids) for number in batches[0]) >= LONG_SEQUENCE
        network = self._network.multithreaded if single else self._network

        def run(batch: np.ndarray) -> int:
            vectors = run_network(network, [jobs[number].ids for number in batch], self._tokenizer.pad)
            for row, number in enumerate(batch):
                collector.add(jobs[number].text, jobs[number].window, vectors[row])
            return len(batch)

        done = 0
        for count in parallel_map(run, batches, max(1, min(network.parallel_batches or 1, len(batches)))):
            done += count
            if progress is not None:
                progress(done * len(texts) // len(jobs), len(texts))
        return collector.token_sets(self.signature)

    def _prepare(
        self, texts: Sequence[str], progress: Progress | None
    ) -> tuple[list[TokenizedText], list[list[Window]], list[_Job]]:
        """Return the tokens and the windows of each text, and one job for each window."""
        tokenized = []
        for tokens in self._tokenizer(texts):
            tokenized.append(tokens)
            if progress is not None and len(tokenized) % TEXTS_PER_REPORT == 0:
                progress(0, len(texts))
        windows = [self._plan(text, len(tokens.ids)) for text, tokens in zip(texts, tokenized, strict=True)]
        jobs = [
            _Job(text, window, self._tokenizer.sequence(tokenized[text].ids[window.start : window.stop]))
            for text, plan in enumerate(windows)
            for window in plan
        ]
        return tokenized, windows, jobs

    def _plan(self, text: str, n: int) -> list[Window]:
        """Return the windows over a text of n tokens."""
        size = self._window_size
        if size is None or n <= size:
            return [Window(0, n, 0, n)]
        if self.options.overflow == "error":
            raise InputError(
                f"the text {excerpt(text)} has {n} tokens, but the model takes {size}: shorten the text, or use "
                "overflow='window' (--overflow window) to encode all of it or 'truncate' to cut it"
            )
        if self.options.overflow == "truncate":
            return [Window(0, size, 0, size)]
        return list(split_windows(n, size, causal=self._causal))

    @cached_property
    def _causal(self) -> bool:
        """Whether a token sees only the tokens before it; tested when the first text needs windows."""
        return is_causal(self._tokenizer, self._network)

    def _batches(self, sequences: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return the indices of the non-empty sequences in batches.

        The batches do not depend on the number of threads: they can change the last digit of a vector.
        """
        lengths = np.array([len(sequence) for sequence in sequences], dtype=np.int64)
        filled, max_tokens = np.flatnonzero(lengths), self.options.batch_tokens
        if self._network.one_text_per_batch:
            max_tokens = 1
        elif self._network.parallel_batches is not None:
            max_tokens = tokens_per_batch(int(lengths.sum()), max_tokens)
        return [filled[batch] for batch in group_by_length(lengths[filled], max_tokens)]
