"""Examples of a query over items with ids: ids are looked up all at once, and what is none is read as a text."""

import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence

from softset.collections.segment import Embed
from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.encoders.signature import parse_signature
from softset.errors import InputError, UnknownWordError
from softset.query.plan import Resolved
from softset.search.find import SearchableSource
from softset.vectors.registry import BUNDLED

__all__ = ["IdCollection", "text_encoder"]

FULL = re.compile(r"(.+)@([0-9a-f]{8})")


class IdCollection(SearchableSource):
    """A `SearchableSource` whose items have ids; `_embed` reads other texts, if it is there."""

    _embed: Embed | None

    @property
    @abstractmethod
    def encoder(self) -> str:
        """The name of what reads texts: "none" if nothing does."""

    @abstractmethod
    def resolve_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return what stands for those of some ids that items have."""

    def resolve(self, text: str) -> Resolved:
        """Return the vector that stands for a text: of the item with this id, or from the encoder."""
        found = self.resolve_many([text]).get(text)
        if found is not None:
            return found
        why = "there is no encoder to read it as a text"
        if self._embed is not None:
            why = f"the encoder {self.encoder} has no vector for it"
        raise UnknownWordError(f"{text!r} is no id here, and {why}")

    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return what stands for those of some texts that have a vector; the encoder reads all of them at once."""
        asked = list(dict.fromkeys(texts))
        found = self.resolve_ids(asked) if asked else {}
        others = [text for text in asked if text not in found]
        if self._embed is not None and others:
            pairs = zip(others, self._embed(others), strict=True)
            found |= {text: Resolved(row, f"as a text, by {self.encoder}", ()) for text, row in pairs if row.any()}
        return found


def text_encoder(name: str, load: Callable[[str], Encoder] = load_encoder) -> tuple[Embed | None, str]:
    """Return the function from texts to vectors (n, d) that a name stands for, and its full name with a checksum.

    Names are those of `softset.load_encoder`, "none", and the full names themselves, such as "words:mine@0a1b2c3d"; if
    the model of that name is another by now, that is refused. `load` opens an encoder by its name.

    >>> embed, name = text_encoder("words")
    >>> embed(["red wine"]).shape, name.split("@")[0]
    ((1, 300), 'words:glove-840b-300d')
    """
    if name == "none":
        return None, name
    full = FULL.fullmatch(name)
    short, wanted = (full[1], full[2]) if full else (f"words:{BUNDLED}" if name == "words" else name, None)
    encoder = load(short)
    found = parse_signature(encoder.signature)["encoder"].rpartition("@")[2]
    if wanted and wanted != found:
        raise InputError(f"the model {short!r} was replaced since this was made with it: index the items again")
    return encoder.embed, f"{short}@{found}"
