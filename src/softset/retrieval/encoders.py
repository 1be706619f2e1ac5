"""What gives the texts of a collection their vectors, by the name that the collection keeps."""

from softset.embed.library import BUNDLED, vectors_folder
from softset.embed.mean import MeanOfWords
from softset.embed.vocabulary import Vocabulary
from softset.errors import InputError
from softset.retrieval.collection import Embed

__all__ = ["text_encoder"]


def text_encoder(name: str) -> Embed | None:
    """Return the function from texts to vectors (n, d) that a name stands for: "words", "words:NAME", or "none".

    >>> text_encoder("words")(["red wine"]).shape
    (1, 300)
    """
    if name == "none":
        return None
    kind, _, vectors = name.partition(":")
    if kind != "words":
        raise InputError(f"the encoder {name!r} is not known: use words, words:NAME of imported vectors, or none")
    return MeanOfWords(Vocabulary.open(vectors_folder(vectors or BUNDLED)))
