"""Examples of a query over items with ids: ids are looked up all at once, and what is none is read as a text."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence

from softset.collections.segment import Embed
from softset.errors import UnknownWordError
from softset.query.plan import Resolved
from softset.search.source import Searchable

__all__ = ["Lookup"]


class Lookup(Searchable):
    """A `Searchable` whose items have ids; `_embed` reads other texts, if it is there."""

    _embed: Embed | None

    @property
    @abstractmethod
    def encoder(self) -> str:
        """The name of what reads texts: "none" if nothing does."""

    @abstractmethod
    def with_ids(self, ids: Sequence[str]) -> dict[str, Resolved]:
        """Return what stands for those of some ids that items have."""

    def resolve(self, text: str) -> Resolved:
        """Return the vector that stands for a text: of the item with this id, or from the encoder."""
        found = self.resolved([text]).get(text)
        if found is not None:
            return found
        why = "there is no encoder to read it as a text"
        if self._embed is not None:
            why = f"the encoder {self.encoder} has no vector for it"
        raise UnknownWordError(f"{text!r} is no id here, and {why}")

    def resolved(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return what stands for those of some texts that have a vector; the encoder reads all of them at once."""
        asked = list(dict.fromkeys(texts))
        found = self.with_ids(asked) if asked else {}
        others = [text for text in asked if text not in found]
        if self._embed is not None and others:
            pairs = zip(others, self._embed(others), strict=True)
            found |= {text: Resolved(row, f"as a text, by {self.encoder}", ()) for text, row in pairs if row.any()}
        return found

    def can_read(self, text: str) -> bool:
        """Tell whether a text is an id, or the encoder has a vector for it."""
        return text in self.resolved([text])
