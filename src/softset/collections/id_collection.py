"""Sources whose items have ids: examples of a query are ids, or texts that an encoder reads."""

from abc import abstractmethod
from collections.abc import Iterable

from softset.collections.embedder import Embed
from softset.errors import UnknownWordError
from softset.query.resolution import Resolved
from softset.search.find import SearchableSource

__all__ = ["IdCollection"]


class IdCollection(SearchableSource):
    """A searchable source whose items have ids; `_text_encoder` encodes other texts, if it is not None."""

    @abstractmethod
    def _text_encoder(self) -> Embed | None:
        """Return the function from texts to vectors (n, d), or None."""

    def _query_encoder(self) -> Embed | None:
        """Return the function from texts in queries to vectors (n, d), or None."""
        return self._text_encoder()

    @property
    @abstractmethod
    def encoder(self) -> str:
        """The name of the encoder of texts, or "none"."""

    def resolve(self, text: str) -> Resolved:
        """Return the vector of the item with this id, or else of the text, or raise UnknownWordError."""
        resolved = self.resolve_many([text]).get(text)
        if resolved is not None:
            return resolved
        reason = "there is no model to encode it as a text"
        if self._text_encoder() is not None:
            reason = f"the model {self.encoder} has no vector for it"
        raise UnknownWordError(f"{text!r} is not an id of these items, and {reason}")

    def resolve_many(self, texts: Iterable[str]) -> dict[str, Resolved]:
        """Return the vectors of those ids and texts that have one; all texts are encoded in one batch."""
        distinct = list(dict.fromkeys(texts))
        resolved = self.resolve_ids(distinct) if distinct else {}
        others = [text for text in distinct if text not in resolved]
        embed = self._query_encoder() if others else None
        if embed is not None:
            how, pairs = f"as a text, by {self.encoder}", zip(others, embed(others), strict=True)
            resolved |= {text: Resolved(row, how, (), text) for text, row in pairs if row.any()}
        return resolved
