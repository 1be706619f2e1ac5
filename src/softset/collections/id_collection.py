"""Sources whose items have ids: examples of a query are ids, or texts that an encoder reads."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence

from softset.collections.segment import Embed
from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder, load_installed
from softset.encoders.signature import parse_signature
from softset.errors import InputError, UnknownWordError
from softset.query.plan import Resolved
from softset.search.find import SearchableSource
from softset.vectors.registry import BUNDLED

__all__ = ["IdCollection", "recorded_encoder", "text_encoder"]

NAME_WITH_CHECKSUM = re.compile(r"(.+)@([0-9a-f]{8})")


class IdCollection(SearchableSource):
    """A searchable source whose items have ids; `_embed` encodes other texts, if it is not None."""

    _embed: Embed | None

    @property
    @abstractmethod
    def encoder(self) -> str:
        """The name of the encoder of texts, or "none"."""

    @abstractmethod
    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return the vectors of those ids that exist."""

    def resolve(self, text: str) -> Resolved:
        """Return the vector of the item with this id, or else of the text, or raise UnknownWordError."""
        resolved = self.resolve_many([text]).get(text)
        if resolved is not None:
            return resolved
        reason = "there is no model to encode it as a text"
        if self._embed is not None:
            reason = f"the model {self.encoder} has no vector for it"
        raise UnknownWordError(f"{text!r} is not an id of these items, and {reason}")

    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return the vectors of those ids and texts that have one; all texts are encoded in one batch."""
        distinct = list(dict.fromkeys(texts))
        resolved = self.resolve_ids(distinct) if distinct else {}
        others = [text for text in distinct if text not in resolved]
        if self._embed is not None and others:
            pairs = zip(others, self._embed(others), strict=True)
            resolved |= {text: Resolved(row, f"as a text, by {self.encoder}", ()) for text, row in pairs if row.any()}
        return resolved


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

    >>> embed, name = text_encoder("words")
    >>> embed(["red wine"]).shape, name.split("@")[0]
    ((1, 300), 'words:glove-840b-300d')
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
