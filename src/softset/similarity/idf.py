"""How rare tokens are: inverse document frequencies, fitted on texts, saved, and part of the signature."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from math import log
from typing import Any

import numpy as np

from softset.encoders.signature import format_signature, parse_signature
from softset.encoders.tokensets import TokenSets
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json

__all__ = ["Idf"]


class Idf:
    """Weights of tokens by how many of N texts they are in: log((N + 1) / (df + 1)), as in bert_score.

    A token that no text has weighs log(N + 1), the most; one that all texts have weighs 0. Where all tokens of a text
    weigh 0 they count equally, so that no score is ever NaN.

    >>> import softset
    >>> idf = softset.Idf.fit(["a red book", "a blue book", "a pen"], model="words")
    >>> idf
    Idf(3 texts, 5 tokens)
    >>> [round(idf[token], 2) for token in ("a", "book", "pen", "unseen")]
    [0.0, 0.29, 0.69, 1.39]
    """

    def __init__(self, documents: int, counts: Mapping[str, int], encoder: str) -> None:
        if max(counts.values(), default=0) > documents:
            raise InputError(f"a token is in {max(counts.values())} texts, but there are {documents} texts in all")
        self.documents, self.counts, self.encoder = documents, dict(counts), encoder

    @classmethod
    def fit(cls, texts: "Iterable[str] | TokenSets", *, model: Any = "minilm", **options: Any) -> "Idf":
        """Return the weights of the tokens of some texts, as an encoder cuts them; options are `load_encoder`'s.

        >>> import softset
        >>> softset.Idf.fit(["A red book.", "A pen."])
        Idf(2 texts, 5 tokens)
        """
        fitted = cls._fit(texts, model, options)
        if not fitted.documents:
            raise InputError("idf needs at least one text to be fitted on")
        return fitted

    @classmethod
    def _fit(cls, texts: "Iterable[str] | TokenSets", model: Any, options: dict[str, Any]) -> "Idf":
        if isinstance(texts, TokenSets):
            return cls.counted([texts])
        from softset.encoders.base import TextEncoder
        from softset.encoders.loading import load_encoder
        from softset.encoders.texts import check_texts

        encoder = load_encoder(model, **options)
        if isinstance(encoder, TextEncoder):
            return cls.counted(encoder.stream(texts))
        return cls.counted([encoder.encode(check_texts(texts))])

    @classmethod
    def counted(cls, parts: Iterable[TokenSets]) -> "Idf":
        """Return the weights of the tokens of token sets.

        >>> Idf.counted([TokenSets.from_arrays([[[1.0, 2.0]]], tokens=[["a"]])])
        Idf(1 text, 1 token)
        """
        counts: Counter[str] = Counter()
        documents, encoder = 0, "own"
        for sets in parts:
            documents, encoder = documents + len(sets), encoder_of(sets.signature)
            for at in range(len(sets)):
                counts.update(set(sets.tokens_of(at)))
        return cls(documents, counts, encoder)

    def __getitem__(self, token: str) -> float:
        return log((self.documents + 1) / (self.counts.get(token, 0) + 1))

    def weights(self, tokens: Iterable[str]) -> np.ndarray:
        """Return the weights (n,) of tokens.

        >>> Idf(1, {"a": 1}, "own").weights(["a", "b"]).round(2).tolist()
        [0.0, 0.69]
        """
        found = np.array([self.counts.get(token, 0) for token in tokens], dtype=np.float64)
        weights: np.ndarray = np.log((self.documents + 1) / (found + 1))
        return weights

    def must_fit(self, signature: str) -> None:
        """Refuse token sets of another encoder: its tokens are others.

        >>> Idf(1, {"a": 1}, "minilm@ab12").must_fit("encoder:words@cd34")
        Traceback (most recent call last):
        softset.errors.InputError: the idf weights were fitted with minilm@ab12, but the texts are encoded with ...
        """
        if encoder_of(signature) != self.encoder:
            raise InputError(
                f"the idf weights were fitted with {self.encoder}, but the texts are encoded with "
                f"{encoder_of(signature)}: fit them with the same model"
            )

    @property
    def checksum(self) -> str:
        """Eight hexadecimal digits that tell these weights from others."""
        return hashlib.sha256(self._json().encode()).hexdigest()[:8]

    def _json(self) -> str:
        facts = {"softset": "Idf", "encoder": self.encoder, "documents": self.documents, "counts": self.counts}
        return json.dumps(facts, ensure_ascii=False, sort_keys=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the weights to a JSON file.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Idf(2, {"a": 1}, "own").save(f"{folder}/idf.json")
        ...     Idf.load(f"{folder}/idf.json")
        Idf(2 texts, 1 token)
        """
        write_atomically(path, (self._json() + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Idf":
        """Read what `save` wrote.

        >>> Idf.load("missing.json")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
        """
        facts = read_json(path, "Idf")
        documents, counts, encoder = (facts.get(key) for key in ("documents", "counts", "encoder"))
        if not (
            isinstance(documents, int)
            and isinstance(counts, dict)
            and isinstance(encoder, str)
            and all(_is_count(one, documents) for one in counts.values())
            and _is_count(documents)
        ):
            raise FileError(f"{path} holds no idf weights that make sense: fit and save them again")
        return cls(documents, counts, encoder)

    def __repr__(self) -> str:
        many = len(self.counts) != 1
        return f"Idf({self.documents} text{'s' * (self.documents != 1)}, {len(self.counts)} token{'s' * many})"


def _is_count(value: Any, most: int = 2**53) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= most


def encoder_of(signature: str) -> str:
    """Return the model and how it cuts texts, of a signature; another layer of the same model has the same tokens."""
    facts = parse_signature(as_facts(signature))
    unit = facts.get("unit", "token")
    return facts["encoder"] + ("" if unit == "token" else f"/{unit}")


def as_facts(signature: str) -> str:
    """Return a signature of token sets as facts that parse back; any other name is the encoder's.

    >>> as_facts("mine|yours")
    'encoder:mine%7Cyours'
    """
    try:
        named = "encoder" in parse_signature(signature)
    except InputError:
        named = False
    return signature if named else format_signature({"encoder": signature})
