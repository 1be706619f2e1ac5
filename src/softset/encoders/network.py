"""What the pipeline wants of a model, and how it is run: whatever a library raises becomes one sentence."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, Self

import numpy as np

from softset.encoders.batching import pad_sequences
from softset.errors import FileError, SoftsetError
from softset.io.text import counted, first_line

__all__ = ["Network", "SequentialNetwork", "run", "running"]

ADVICE = "try a smaller max_length or batch_tokens, or save the model again"


class Network(Protocol):
    """What the pipeline wants of a model: ids (b, L) and their mask in, the vectors (b, L, d) of one layer out.

    `identity` is its name and checksum; `longest` how many tokens it takes, marks included, or None for any number;
    `alone` whether a vector depends on what else is in the batch, so that each text must go alone; `precision` is None
    for float32; `at_once` how many batches may be run side by side, from as many threads, and `on_all_threads` the same
    network for a batch that has no other beside it: itself, where a batch has all threads anyway.
    """

    @property
    def identity(self) -> str: ...  # noqa: D102 (told above)
    @property
    def layer(self) -> int | None: ...  # noqa: D102 (told above)
    @property
    def dimensions(self) -> int: ...  # noqa: D102 (told above)
    @property
    def longest(self) -> int | None: ...  # noqa: D102 (told above)
    @property
    def alone(self) -> bool: ...  # noqa: D102 (told above)
    @property
    def precision(self) -> str | None: ...  # noqa: D102 (told above)
    @property
    def at_once(self) -> int: ...  # noqa: D102 (told above)
    @property
    def on_all_threads(self) -> "Network": ...  # noqa: D102 (told above)

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the hidden states of one layer."""
        ...


class SequentialNetwork:
    """A network whose library has threads of its own, or needs none: its batches go one after the other."""

    at_once = 1

    @property
    def on_all_threads(self) -> Self:
        """The network itself."""
        return self


def run(network: Network, sequences: Sequence[np.ndarray], pad: int, advice: str = ADVICE) -> np.ndarray:
    """Return the vectors (b, L, d) of some sequences, each padded on the right to the longest."""
    ids, mask = pad_sequences(sequences, pad)
    with running(network.identity, ids.shape, advice):
        hidden = network(ids, mask)
    wanted = (*ids.shape, network.dimensions)
    if hidden.shape != wanted:
        raise FileError(
            f"the model {network.identity} gives vectors of shape {hidden.shape}, but one for each token, {wanted}, "
            "was wanted: such a model has no token sets"
        )
    return hidden


@contextmanager
def running(identity: str, shape: tuple[int, ...], advice: str = ADVICE) -> Iterator[None]:
    """Turn whatever a library raises that runs a foreign model on ids of a shape (b, L) into one sentence."""
    try:
        yield
    except (SoftsetError, MemoryError):
        raise
    except Exception as error:
        size = f"{counted(shape[0], 'text')} of {counted(shape[1], 'token')}"
        why = first_line(error)[:300]
        raise FileError(f"the model {identity} cannot be run on {size} ({why}): {advice}") from error
