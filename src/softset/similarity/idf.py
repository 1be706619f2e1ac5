"""Inverse document frequencies: token weights that are fitted on texts, saved, and part of the signature."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from math import log
from typing import Any, Unpack

import numpy as np

from softset.encoders.base import TextEncoder
from softset.encoders.loading import EncoderOptions, load_encoder
from softset.encoders.signature import format_signature, parse_signature
from softset.encoders.texts import check_texts
from softset.encoders.tokensets import TokenSets
from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json
from softset.io.options import named_options
from softset.io.text import counted, html_table
from softset.runtime.progress import ProgressOption, report_progress

HTML_ROWS = 10  # tokens that a notebook shows


class Idf:
    """Token weights log((N + 1) / (df + 1)), where df is the number of the N texts with the token, as in bert_score.

    A token that is in no text has the highest weight, log(N + 1); a token that is in all texts has the weight 0. If all
    tokens of a text have the weight 0 they count equally, so that no score is NaN.

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
    @named_options
    def fit(
        cls,
        texts: Iterable[str] | TokenSets,
        *,
        model: Any = "minilm",
        progress: ProgressOption = None,
        **options: Unpack[EncoderOptions],
    ) -> "Idf":
        """Count the tokens of texts, as an encoder splits them; the options are those of `load_encoder`.

        With progress=True a progress bar is shown; a function is called with the numbers of finished and of all texts,
        0 if the iterable has no length.

        >>> import softset
        >>> softset.Idf.fit(["A red book.", "A pen."])
        Idf(2 texts, 5 tokens)
        """
        with report_progress(progress, "texts") as report:
            if isinstance(texts, TokenSets):
                parts: Iterable[TokenSets] = [texts]
            else:
                encoder = load_encoder(model, **options)
                if isinstance(encoder, TextEncoder):
                    parts = encoder.stream(texts, progress=report)
                else:
                    parts = [encoder.encode(check_texts(texts), progress=report)]
            idf = cls.count(parts)
        if not idf.documents:
            raise InputError("idf needs at least one text to be fitted on")
        return idf

    @classmethod
    def count(cls, batches: Iterable[TokenSets]) -> "Idf":
        """Count the tokens of batches of token sets.

        >>> Idf.count([TokenSets.from_arrays([[[1.0, 2.0]]], tokens=[["a"]])])
        Idf(1 text, 1 token)
        """
        counts: Counter[str] = Counter()
        documents, encoder = 0, "own"
        for sets in batches:
            documents, encoder = documents + len(sets), tokenizer_of(sets.signature)
            for index in range(len(sets)):
                counts.update(set(sets.tokens_of(index)))
        return cls(documents, counts, encoder)

    def __getitem__(self, token: str) -> float:
        return log((self.documents + 1) / (self.counts.get(token, 0) + 1))

    def weights(self, tokens: Iterable[str]) -> np.ndarray:
        """Return the weights (n,) of tokens.

        >>> Idf(1, {"a": 1}, "own").weights(["a", "b"]).round(2).tolist()
        [0.0, 0.69]
        """
        frequencies = np.array([self.counts.get(token, 0) for token in tokens], dtype=np.float64)
        return np.asarray(np.log((self.documents + 1) / (frequencies + 1)))

    @cached_property
    def checksum(self) -> str:
        """Eight hexadecimal digits that identify these weights."""
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
        """Read weights that `save` wrote.

        >>> Idf.load("missing.json")
        Traceback (most recent call last):
        FileNotFoundError: [Errno 2] No such file or directory: 'missing.json'
        """
        facts = read_json(path, "Idf")
        documents, counts, encoder = (facts.get(key) for key in ("documents", "counts", "encoder"))
        if not (
            _is_count(documents, 2**53)
            and isinstance(documents, int)
            and isinstance(counts, dict)
            and isinstance(encoder, str)
            and all(_is_count(count, documents) for count in counts.values())
        ):
            raise FileError(f"{path} does not hold valid idf weights: fit and save them again")
        return cls(documents, counts, encoder)

    def __repr__(self) -> str:
        return f"Idf({counted(self.documents, 'text')}, {counted(len(self.counts), 'token')})"

    def _repr_html_(self) -> str:
        frequent = sorted(self.counts.items(), key=lambda item: (-item[1], item[0]))[:HTML_ROWS]
        rows = [[token, f"{count:,}", f"{self[token]:.3f}"] for token, count in frequent]
        return html_table(["token", "texts", "weight"], rows, caption=f"{self}, the most frequent ones")


def _is_count(value: Any, limit: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= limit


def check_idf(idf: Any, metrics: str, *, is_used: bool) -> None:
    """Raise InputError unless `idf` is None, or weights that one of the metrics uses."""
    if idf is None:
        return
    if not isinstance(idf, Idf):
        kind = repr(idf) if isinstance(idf, bool) else f"of type {type(idf).__name__}"
        raise InputError(
            f"idf is {kind}, but softset.Idf.fit(texts) was expected; without idf= a metric with weights=idf fits its "
            "weights on the references"
        )
    if not is_used:
        raise InputError(
            f"idf has no effect on {metrics}: use a metric with weights=idf, such as 'bertscore(weights=idf)', or "
            "leave idf out"
        )


def tokenizer_of(signature: str) -> str:
    """Return the model and unit of a signature; the layers of a model have the same tokens."""
    facts = parse_signature(encoder_signature(signature))
    unit = facts.get("unit", "token")
    return facts["encoder"] + ("" if unit == "token" else f"/{unit}")


def encoder_signature(signature: str) -> str:
    """Return the signature of token sets in a form that can be parsed; any other name becomes the encoder's."""
    try:
        named = "encoder" in parse_signature(signature)
    except InputError:
        named = False
    return signature if named else format_signature({"encoder": signature})
