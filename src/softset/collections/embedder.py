"""The encoder of a collection: a function from texts to vectors, and a record by which it is recognized again."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softset.algebra.arrays import unit_rows
from softset.encoders.base import Encoder, WrappedEncoder
from softset.encoders.loading import load_encoder, load_installed
from softset.encoders.signature import parse_signature
from softset.errors import InputError, ShapeError
from softset.vectors.registry import BUNDLED

__all__ = ["Embedder", "as_embedder", "recorded_encoder", "text_encoder"]

NAME_WITH_CHECKSUM = re.compile(r"(.+)@([0-9a-f]{8})")
CUSTOM = "custom:"
PROBES = ("a red book", "The ship left the harbour at night.", "2 + 2 = 4")
COMPONENTS = 8  # vector components in the fingerprint for each probe text
TOLERANCE = 1e-3  # for these components, which are at most 1: batches and processors change the sixth digit

Embed = Callable[[Sequence[str]], np.ndarray]
Fingerprint = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Embedder:
    """An encoder that is recorded in a collection.

    Attributes:
        name: the name of a model with its checksum, "custom:NAME" for another encoder, or "none".
        embed: the function from texts to vectors (n, d), or None.
        query_prompt: the text that is put before the texts of queries, as models such as e5 need it.
        document_prompt: the text that is put before the texts of items.
    """

    name: str = "none"
    embed: Embed | None = None
    query_prompt: str = ""
    document_prompt: str = ""

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors (n, d) of texts in queries."""
        return self._embed(texts, self.query_prompt)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors (n, d) of the texts of items."""
        return self._embed(texts, self.document_prompt)

    def _embed(self, texts: Sequence[str], prompt: str) -> np.ndarray:
        if self.embed is None:
            raise InputError("there is no encoder: give one, or give vectors")
        return np.asarray(self.embed([prompt + text for text in texts] if prompt else texts))

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of tokens whose method `embed` is, or None."""
        encoder: Any = getattr(self.embed, "__self__", None)
        while isinstance(encoder, WrappedEncoder):
            encoder = encoder.encoder
        return encoder if isinstance(encoder, Encoder) else None

    def with_prompts(self, query: str | None, document: str | None) -> "Embedder":
        """Return the embedder with prompts; those that are None are the model's own."""
        own = getattr(self.encoder, "prompts", {})
        query = own.get("query", "") if query is None else query
        document = own.get("document", "") if document is None else document
        return replace(self, query_prompt=query, document_prompt=document)

    def fingerprint(self) -> Fingerprint:
        """Return components of the vectors of fixed texts, in which nearly all encoders differ.

        >>> Embedder("custom:ones", lambda texts: np.ones((len(texts), 4))).fingerprint()[0][:2]
        (1.0, 0.0)
        """
        if self.embed is None:
            return ()
        units = unit_rows(np.asarray(self.embed(list(PROBES)), dtype=np.float64))
        d = units.shape[1]
        cosines = np.cos(np.pi * np.outer(np.arange(COMPONENTS), np.arange(d) + 0.5) / d) / np.sqrt(d)
        return tuple(tuple(round(float(value), 5) + 0.0 for value in row) for row in units @ cosines.T)


def as_embedder(encoder: Any) -> Embedder:
    """Return the embedder of a name, an encoder, a function from texts to vectors, an `Embedder` or None.

    >>> as_embedder("words").name.split("@")[0], as_embedder(None).name
    ('words:glove-840b-300d', 'none')
    """
    if isinstance(encoder, Embedder):
        return encoder
    if encoder is None:
        return Embedder()
    if isinstance(encoder, str):
        embed, name = text_encoder(encoder)
        return Embedder(name, embed)
    loaded = load_encoder(encoder)
    return Embedder(CUSTOM + parse_signature(loaded.signature)["encoder"][:200], loaded.embed)


def check_embedder(embedder: Embedder, recorded: str, fingerprint: Fingerprint, dimensions: int, place: str) -> None:
    """Refuse an encoder that did not encode the items of the collection `place`, which records the other values."""
    if embedder.embed is None:
        return
    given = embedder.embed(["word"]).shape[1]
    if given != dimensions:
        raise ShapeError(f"the encoder's vectors have {given} dimensions, but those of {place} have {dimensions}")
    if not fingerprint or (embedder.name == recorded and not recorded.startswith(CUSTOM)):
        return
    computed = embedder.fingerprint()
    shapes = [len(row) for row in fingerprint] == [len(row) for row in computed]
    if not shapes or not np.allclose(computed, fingerprint, rtol=0, atol=TOLERANCE):
        raise InputError(
            f"the items of {place} were encoded by {recorded}, but {embedder.name} gives other vectors: "
            "give the same encoder, or index the items again"
        )


def recorded_encoder(
    recorded: str, model: str | None = None, load: Callable[[str], Encoder] = load_installed
) -> Embed | None:
    """Return the function from texts to vectors (n, d) of the encoder that a collection names.

    Args:
        recorded: the name in the collection, "none" if it has no encoder.
        model: the name that the user gives, which must be the recorded one. By default only bundled and imported
            encoders are loaded.
        load: the function that loads an encoder by its name, if `model` is None.
    """
    if recorded.startswith(CUSTOM):
        name = recorded.removeprefix(CUSTOM)
        advice = "open the collection with encoder="
        raise InputError(f"the items were encoded by {name}, which cannot be loaded by name: {advice}")
    name = _split_checksum(recorded)[0]
    if model is not None and _split_checksum(model)[0] != name:
        raise InputError(f"the items were encoded with {name!r}, but {model!r} was given: give the same name")
    return text_encoder(recorded, load if model is None else load_encoder)[0]


def text_encoder(name: str, load: Callable[[str], Encoder] = load_encoder) -> tuple[Embed | None, str]:
    """Return the function from texts to vectors (n, d) of an encoder, and the encoder's name with its checksum.

    Args:
        name: a name that `softset.load_encoder` accepts, "none", or a name with a checksum, such as
            "words:mine@0a1b2c3d"; a model with another checksum is then refused.
        load: the function that loads an encoder by its name.
    """
    if name == "none":
        return None, name
    model, expected = _split_checksum(name)
    encoder = load(model)
    checksum = parse_signature(encoder.signature)["encoder"].rpartition("@")[2]
    if expected and expected != checksum:
        raise InputError(f"the model {model!r} was replaced after it encoded these items: index the items again")
    return encoder.embed, f"{model}@{checksum}"


def _split_checksum(name: str) -> tuple[str, str | None]:
    """Return the full name of an encoder, and the checksum after it, if there is one."""
    match = NAME_WITH_CHECKSUM.fullmatch(name)
    model, checksum = (match[1], match[2]) if match else (name, None)
    return f"words:{BUNDLED}" if model == "words" else model, checksum


def parse_fingerprint(value: Any) -> Fingerprint:
    """Return the fingerprint of a manifest; a value of another form raises ValueError or TypeError."""
    rows = tuple(tuple(float(number) for number in row) for row in value)
    if rows and [len(row) for row in rows] != [COMPONENTS] * len(PROBES):
        raise ValueError("the fingerprint of the encoder has another form")
    return rows
