"""Models of the sentence-transformers package: their token vectors, through our own batches and windows."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from softset.encoders.base import Progress, TextEncoder
from softset.encoders.batching import DEFAULT_BATCH_TOKENS, batches, pad_sequences
from softset.encoders.config import longest_sequence
from softset.encoders.forking import refuse_after_fork
from softset.encoders.late_interaction import PROMPTS, LateInteractionEncoder, Role
from softset.encoders.network import SequentialNetwork, running
from softset.encoders.pipeline import ContextualEncoder, PipelineOptions
from softset.encoders.sentence_models import (
    backend_of,
    identity_of,
    is_half,
    load_model,
    numpy_of,
    package,
    precision_of,
)
from softset.encoders.tokenizer import SubwordTokenizer
from softset.errors import InputError

__all__ = ["SentenceEncoder", "sentence_encoder"]

# Modules that do the same to a token whatever stands beside it, so that padding cannot leak into a vector.
TOKENWISE = {
    "Transformer",
    "Pooling",
    "Dense",
    "Normalize",
    "Dropout",
    "LayerNorm",
    "WeightedLayerPooling",
    "WordWeights",
}


def sentence_encoder(
    model: Any, *, role: Role = "document", options: PipelineOptions | None = None, name: str | None = None
) -> TextEncoder:
    """Return a SentenceTransformer or a MultiVectorEncoder as an encoder: the model, its folder, or its name.

    A name is looked up among the models downloaded before: nothing is fetched, no code of a model is run, and only
    safetensors files are opened. A SentenceTransformer goes through our own batches and windows, without its prompts. A
    MultiVectorEncoder goes through its own code, which has a way for each `role`; it decides itself what is in a set,
    so that of the options only `budget` applies. Do not train a model on while it is an encoder.
    """
    if role not in PROMPTS:
        raise InputError(f'the role {role!r} is not known: use "document" or "query"')
    library = package()
    if isinstance(model, str | os.PathLike):
        name = name or Path(model).resolve().name
        model = load_model(library, model)
    if isinstance(model, library.SentenceTransformer):
        _must_read_plain_text(model)
        return SentenceEncoder(_tokeniser(model), _Modules(model, identity_of(model, name)), options)
    if isinstance(model, getattr(library, "MultiVectorEncoder", ())):
        if options is not None and replace(options, batch_tokens=DEFAULT_BATCH_TOKENS) != PipelineOptions():
            raise InputError("a multi-vector model defines its own token sets: give no option but batch_tokens")
        return LateInteractionEncoder(
            model, identity_of(model, name), role, (options or PipelineOptions()).batch_tokens
        )
    raise InputError(
        f"{type(model).__name__} was given, but a SentenceTransformer, a MultiVectorEncoder or the folder of one was "
        "wanted"
    )


class SentenceEncoder(ContextualEncoder):
    """The token vectors of a SentenceTransformer as they leave its last module that changes them.

    `embed` gives the model's own sentence vectors, however it pools; for a text of many windows their mean.
    """

    _network: "_Modules"

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> np.ndarray:
        """Return the model's own sentence vector of each text, (n, d); zero for an empty text."""
        if self._network.pooled not in (None, self.dimensions):
            raise InputError(
                f"the model's sentence vectors have {self._network.pooled} dimensions and its token vectors "
                f"{self.dimensions}, so they are not of one space: use FunctionEncoder(model.encode) for the sentences"
            )
        return super().embed(texts, progress=progress)

    def _embed(self, texts: Sequence[str]) -> np.ndarray:
        if self._network.pooled is None:
            return super()._embed(texts)
        before, after = ([mark for mark, _ in marks] for marks in (self._tokeniser.prefix, self._tokeniser.suffix))
        jobs, sequences = [], []
        for at, (text, one) in enumerate(zip(texts, self._tokeniser(texts), strict=True)):
            plan = self.plan(text, len(one.ids))
            if (one.unknown | one.blank)[: plan[-1].stop].all():
                continue  # its set is empty
            for window in plan:
                jobs.append((at, (window.end - window.begin) / plan[-1].stop))
                sequences.append(np.array([*before, *one.ids[window.start : window.stop], *after], dtype=np.int64))
        pooled = np.zeros((len(texts), self.dimensions))
        most = 1 if self._network.alone else None
        for group in batches([len(one) for one in sequences], self.options.batch_tokens, most):
            ids, mask = pad_sequences([sequences[job] for job in group], self._tokeniser.pad)
            with running(self._network.identity, ids.shape):
                found = self._network.sentences(ids, mask)
            for row, job in enumerate(group):
                at, share = jobs[job]
                pooled[at] += share * found[row]
        return pooled


class _Modules(SequentialNetwork):
    """The modules of a SentenceTransformer as a network."""

    layer: int | None = None  # the last is what the modules after it were trained on

    def __init__(self, model: Any, identity: str) -> None:
        self._model, self.identity = model, identity
        config = getattr(getattr(model[0], "auto_model", None), "config", None)
        limits = {} if config is None else config.to_dict()
        self.longest: int | None = longest_sequence(limits, model.max_seq_length)
        self._typed = "token_type_ids" in model.tokenizer.model_input_names
        self.precision = precision_of(model)
        # Half precision rounds differently for every shape of a batch, by more than we promise.
        self.alone = is_half(model) or not all(type(one).__name__ in TOKENWISE for one in model)
        self.dimensions, self.pooled = self._sizes()

    def _sizes(self) -> tuple[int, int | None]:
        """Return the lengths of token vectors and of sentence vectors, seen on three tokens."""
        found = self._run(np.zeros((1, 3), dtype=np.int64), np.ones((1, 3), dtype=np.int64))
        tokens, sentence = found.get("token_embeddings"), found.get("sentence_embedding")
        if tokens is None or tuple(tokens.shape[:2]) != (1, 3):
            raise InputError(
                f"the model's {type(self._model[0]).__name__} gives no vector for each token, so there is no set of "
                "them: use FunctionEncoder(model.encode) for one vector a text"
            )
        return int(tokens.shape[2]), None if sentence is None else int(sentence.shape[-1])

    def _run(self, ids: np.ndarray, mask: np.ndarray) -> dict[str, Any]:
        import torch

        refuse_after_fork(torch.get_num_threads())
        given = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask)}
        if self._typed:
            given["token_type_ids"] = torch.zeros_like(given["input_ids"])
        self._model.eval()
        with torch.inference_mode():
            found: dict[str, Any] = self._model({key: one.to(self._model.device) for key, one in given.items()})
        return found

    def __call__(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the token vectors (b, L, d)."""
        return numpy_of(self._run(ids, mask)["token_embeddings"])

    def sentences(self, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        """Return the sentence vectors (b, d)."""
        return numpy_of(self._run(ids, mask)["sentence_embedding"])


def _must_read_plain_text(model: Any) -> None:
    """Refuse models whose tokens are not simply those of the text."""
    if hasattr(model[0], "sub_modules"):
        raise InputError(
            "the model has different modules for queries and documents: give one made of the modules you want"
        )
    if "message" in getattr(model, "modalities", ()):
        raise InputError(
            "the model writes a text into a chat template, whose tokens would be in the set: use FunctionEncoder"
        )


def _tokeniser(model: Any) -> SubwordTokenizer:
    backend, own = backend_of(model), model.tokenizer
    return SubwordTokenizer(backend, unknown=own.unk_token_id, pad=0 if own.pad_token_id is None else own.pad_token_id)
