"""How the texts of a collection are indexed: the options of `Collection.create`, and the settings of the manifest."""

from dataclasses import dataclass, fields
from typing import Any

from softset.collections.chunks import Chunking, check_chunking
from softset.collections.embedder import Embedder
from softset.collections.items import ItemOptions
from softset.query.lexical import analyzer

__all__ = ["DEFAULT_CHUNKS", "DEFAULT_LANGUAGE", "CreateOptions", "IndexSettings", "read_options"]

DEFAULT_CHUNKS: Chunking = "sentence"
DEFAULT_LANGUAGE = "english"


class CreateOptions(ItemOptions, total=False):
    """The options of a new collection: those of `ItemOptions` and the following.

    Attributes:
        chunks: how long texts are split into parts that have vectors of their own: "sentence", "window" (about 60
            words), "token" or "none". Two sets of a query may then hold in two places of a text. Items with given
            vectors have no parts.
        lexical: whether the collection has a lexical index, so that words count beside vectors; by default, if there is
            an encoder.
        language: the language of the texts, for the stemmer of the lexical index; "none" leaves words unchanged.
        query_prompt: the text that the encoder expects before a query, such as "query: "; by default the model's own.
        document_prompt: the text that the encoder expects before the text of an item, such as "passage: ".
    """

    chunks: Chunking
    lexical: bool | None
    language: str
    query_prompt: str | None
    document_prompt: str | None


@dataclass(frozen=True)
class IndexSettings:
    """How the texts of a collection are indexed; the defaults are those of collections of softset 0.6 and earlier.

    Attributes:
        chunks: how texts are split into parts that have vectors of their own.
        language: the language of the lexical index, or None if there is none.
        query_prompt: the text that is put before the texts of queries when they are encoded.
        document_prompt: the text that is put before the texts of items.
    """

    chunks: Chunking = "none"
    language: str | None = None
    query_prompt: str = ""
    document_prompt: str = ""

    def describe(self) -> str:
        """Return the settings that differ from the defaults, as a part of a signature."""
        pairs = {"chunks": self.chunks, "lexical": self.language or "", "query": self.query_prompt}
        defaults = {"chunks": "none", "lexical": "", "query": "", "document": ""}
        changed = {**pairs, "document": self.document_prompt}
        return "".join(f"|{name}:{value.strip()}" for name, value in changed.items() if value != defaults[name])

    @classmethod
    def parse(cls, value: Any) -> "IndexSettings":
        """Return the settings of a manifest; values of another form raise ValueError or TypeError."""
        settings = cls(**{each.name: value[each.name] for each in fields(cls) if each.name in value})
        texts = (settings.query_prompt, settings.document_prompt, settings.language or "")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("the settings of the index have another form")
        check_chunking(settings.chunks)
        if settings.language is not None:
            analyzer(settings.language)
        return settings


def read_options(options: CreateOptions, embedder: Embedder, *, has_vectors: bool) -> tuple[IndexSettings, ItemOptions]:
    """Return how the texts of a new collection are indexed, and the options that read its items.

    `has_vectors` says whether the vectors of the items are given.
    """
    prompts = embedder.with_prompts(options.get("query_prompt"), options.get("document_prompt"))
    lexical = options.get("lexical")
    has_words = embedder.embed is not None if lexical is None else lexical
    language = options.get("language", DEFAULT_LANGUAGE) if has_words else None
    values = {"chunks": "none" if has_vectors else options.get("chunks", DEFAULT_CHUNKS), "language": language}
    settings = IndexSettings.parse(
        {**values, "query_prompt": prompts.query_prompt, "document_prompt": prompts.document_prompt}
    )
    others = {name: value for name, value in options.items() if name in ItemOptions.__annotations__}
    return settings, others  # type: ignore[return-value]
