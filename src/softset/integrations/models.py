"""Which model and layer are meant where bert_score's caller names a language only, or a model without a layer."""

import os
from typing import Any

from softset.encoders.base import Encoder
from softset.encoders.loading import load_encoder
from softset.encoders.models import BUNDLED
from softset.encoders.signature import parse_signature
from softset.errors import InputError

__all__ = ["depth_of", "model_for", "name_of", "open_encoder", "tuned_layer"]

MULTILINGUAL = "bert-base-multilingual-cased"
LANGUAGES = {"zh": "bert-base-chinese", "tr": "dbmdz/bert-base-turkish-cased"}

# The layers that bert_score documents as tuned on the human judgements of WMT16 (those of zh and tr on other data).
TUNED = {
    "albert-base-v2": 9,
    "albert-large-v2": 14,
    "albert-xlarge-v2": 13,
    "albert-xxlarge-v2": 8,
    "allenai/longformer-base-4096": 7,
    "allenai/longformer-large-4096": 14,
    "allenai/scibert_scivocab_cased": 9,
    "allenai/scibert_scivocab_uncased": 8,
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "dbmdz/bert-base-turkish-cased": 10,
    "distilbert-base-multilingual-cased": 5,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "facebook/bart-base": 6,
    "facebook/bart-large": 10,
    "facebook/bart-large-mnli": 11,
    "google/electra-base-discriminator": 9,
    "google/electra-large-discriminator": 14,
    "microsoft/deberta-base": 9,
    "microsoft/deberta-base-mnli": 9,
    "microsoft/deberta-large": 16,
    "microsoft/deberta-large-mnli": 18,
    "microsoft/deberta-v3-base": 9,
    "microsoft/deberta-v3-large": 12,
    "microsoft/deberta-v3-small": 4,
    "microsoft/deberta-xlarge": 18,
    "microsoft/deberta-xlarge-mnli": 40,
    "microsoft/mdeberta-v3-base": 10,
    "microsoft/mpnet-base": 8,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "t5-base": 11,
    "t5-large": 23,
    "t5-small": 6,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "xlnet-base-cased": 5,
    "xlnet-large-cased": 7,
}
# Whose models had names without an owner when that list was made.
OWNERS = ("FacebookAI", "albert", "distilbert", "google-bert", "google-t5", "xlnet")


def model_for(lang: str | None) -> str:
    """Return the model for a language: the bundled one for English, which needs no download.

    >>> model_for(None), model_for("en"), model_for("de"), model_for("zh")
    ('minilm', 'minilm', 'bert-base-multilingual-cased', 'bert-base-chinese')
    """
    if lang is None:
        return BUNDLED
    if not isinstance(lang, str) or not lang.strip():
        raise InputError(f'lang is {lang!r}, but the code of a language such as "en" was wanted')
    code = lang.strip().lower()
    return BUNDLED if code.startswith("en") else LANGUAGES.get(code, MULTILINGUAL)


def tuned_layer(model: Any) -> int | None:
    """Return the layer that bert_score was tuned to for a model, if it was.

    >>> tuned_layer("roberta-large"), tuned_layer("FacebookAI/roberta-large"), tuned_layer("minilm")
    (17, 17, None)
    """
    if not isinstance(model, str):
        return None
    owner, _, name = model.partition("/")
    return TUNED.get(name if owner in OWNERS else model)


def open_encoder(model: Any, layer: int | float | str | None, device: Any) -> Encoder:
    """Return the encoder; None is the last layer. A model that cannot choose its device runs on "cpu" anyway.

    >>> open_encoder("minilm", None, "cpu").dimensions
    384
    """
    options: dict[str, Any] = {} if layer is None else {"layer": layer}
    if device is None:
        return load_encoder(model, **options)
    try:
        return load_encoder(model, device=str(device), **options)
    except InputError:
        if str(device) != "cpu":
            raise
        return load_encoder(model, **options)


def depth_of(encoder: Encoder) -> int | None:
    """Return the number of the layer that an encoder takes its vectors from; None where it has no layers.

    >>> depth_of(load_encoder("minilm")), depth_of(load_encoder("words"))
    (6, None)
    """
    layer = parse_signature(encoder.signature).get("layer") if ":" in encoder.signature else None
    return int(layer) if layer is not None and layer.isdecimal() else None


def name_of(model: Any) -> str:
    """Return a model's name for a hash: as it was given, or what kind of object it is.

    >>> name_of("roberta-large"), name_of(load_encoder("words"))
    ('roberta-large', 'WordsEncoder')
    """
    return os.fspath(model) if isinstance(model, str | os.PathLike) else type(model).__name__
