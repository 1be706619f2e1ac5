"""What gives the texts of a collection their vectors, by the name that the collection keeps."""

import os

from softset.embed.library import BUNDLED, vectors_folder
from softset.embed.mean import MeanOfWords
from softset.embed.vocabulary import Vocabulary
from softset.errors import InputError
from softset.retrieval.collection import Collection
from softset.retrieval.segment import Embed

__all__ = ["open_collection", "text_encoder"]


def text_encoder(name: str) -> tuple[Embed | None, str]:
    """Return the function from texts to vectors (n, d) that a name stands for, and its full name with a checksum.

    Names are "words", "words:NAME" of imported vectors, "none", and the full names themselves, such as
    "words:mine@0a1b2c3d"; if the vectors of that name are others by now, that is refused.

    >>> encode, name = text_encoder("words")
    >>> encode(["red wine"]).shape, name.split("@")[0]
    ((1, 300), 'words:glove-840b-300d')
    """
    if name == "none":
        return None, name
    kind, _, rest = name.partition(":")
    vectors, _, wanted = rest.partition("@")
    if kind != "words":
        raise InputError(f"the encoder {name!r} is not known: use words, words:NAME of imported vectors, or none")
    vocabulary = Vocabulary.open(vectors_folder(vectors or BUNDLED))
    found = vocabulary.checksum[:8]
    if wanted and wanted != found:
        raise InputError(f"the vectors {vectors!r} were replaced since this was made with them: index the items again")
    return MeanOfWords(vocabulary), f"words:{vectors or BUNDLED}@{found}"


def open_collection(folder: str | os.PathLike[str], *, read_texts: bool = True) -> Collection:
    """Open a collection with the encoder that it names, which must be the very one that made it."""
    opened = Collection.open(folder)
    return Collection.open(folder, embed=text_encoder(opened.encoder)[0]) if read_texts else opened
