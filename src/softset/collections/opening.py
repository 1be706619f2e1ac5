"""What gives the texts of a collection their vectors, by the name that the collection keeps."""

import os
import re
from collections.abc import Callable

from softset.collections.collection import Collection
from softset.collections.segment import Embed
from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.encoders.signature import parse_signature
from softset.errors import InputError
from softset.vectors.library import BUNDLED

__all__ = ["open_collection", "text_encoder"]

FULL = re.compile(r"(.+)@([0-9a-f]{8})")


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


def open_collection(
    folder: str | os.PathLike[str], *, read_texts: bool = True, load: Callable[[str], Encoder] = load_encoder
) -> Collection:
    """Open a collection with the encoder that it names, which must be the very one that made it."""
    opened = Collection.open(folder)
    return Collection.open(folder, embed=text_encoder(opened.encoder, load)[0]) if read_texts else opened
