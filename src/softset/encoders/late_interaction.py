"""Late interaction (ColBERT) by the MultiVectorEncoder of sentence-transformers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from softset.encoders.base import Progress, TextEncoder
from softset.encoders.batching import DEFAULT_BATCH_TOKENS
from softset.encoders.forking import refuse_after_fork
from softset.encoders.network import running
from softset.encoders.sentence_models import backend_of, is_half, numpy_of, precision_of
from softset.encoders.signature import format_signature
from softset.encoders.tokensets import TokenSets

__all__ = ["PROMPTS", "LateInteractionEncoder", "Role"]

Role = Literal["document", "query"]
PROMPTS = {"query": ("query",), "document": ("document", "passage", "corpus")}  # the first that a model has


class LateInteractionEncoder(TextEncoder):
    """A MultiVectorEncoder: sets are what its `encode_document` or `encode_query` gives, its marks included.

    Texts go together only where they have equally many tokens: then nothing is padded, and a vector does not depend on
    its batch. A text of nothing but space is the empty set, as with every encoder.
    """

    def __init__(self, model: Any, identity: str, role: Role, budget: int = DEFAULT_BATCH_TOKENS) -> None:
        self._model, self._identity, self._role, self._budget = model, identity, role, budget
        name = next((one for one in PROMPTS[role] if one in model.prompts), model.default_prompt_name)
        self._prompt: str = model.prompts.get(name) or ""
        self._backend = backend_of(model)
        # Vectors of merged tokens stand for no token of the text.
        self._merges = any(hasattr(one, "pool_one") and one.applies_to(role) for one in model)

    @property
    def signature(self) -> str:
        """The model, its role, and what goes before every text."""
        return format_signature(
            {
                "encoder": self._identity,
                "role": self._role,
                "prompt": self._prompt or None,
                "max_length": self._model.max_seq_length,
                "dtype": precision_of(self._model),
            }
        )

    @property
    def dimensions(self) -> int:
        """The length d of the vectors."""
        return int(self._model.get_embedding_dimension())

    def _encode(self, texts: Sequence[str], progress: Progress | None) -> TokenSets:
        vectors: list[np.ndarray] = [np.zeros((0, self.dimensions), dtype=np.float32)] * len(texts)
        tokens: list[list[str]] = [[]] * len(texts)
        lengths = np.array([self._length(text) if text.strip() else 0 for text in texts], dtype=np.int64)
        done = int((lengths == 0).sum())
        for group in self._groups(lengths):
            for at, found in zip(group, self._run([texts[at] for at in group]), strict=True):
                vectors[at], tokens[at] = found
            done += len(group)
            if progress is not None:
                progress(done, len(texts))
        names = None if self._merges else tokens
        sets = TokenSets.from_arrays(vectors, tokens=names, dimensions=self.dimensions, signature=self.signature)
        whole = [len(self._backend.encode(self._prompt + text)) if text.strip() else 0 for text in texts]
        return replace(sets, truncated=np.maximum(np.array(whole, dtype=np.int64) - lengths, 0))

    def _length(self, text: str) -> int:
        return int(self._model.preprocess([text], prompt=self._prompt, task=self._role)["input_ids"].shape[-1])

    def _groups(self, lengths: np.ndarray) -> Iterator[np.ndarray]:
        for length in np.unique(lengths[lengths > 0]):
            places = np.flatnonzero(lengths == length)
            size = 1 if is_half(self._model) else max(self._budget // int(length), 1)
            yield from (places[start : start + size] for start in range(0, len(places), size))

    def _run(self, texts: list[str]) -> Iterator[tuple[np.ndarray, list[str]]]:
        """Yield the vectors and the tokens of texts of one length."""
        import torch

        refuse_after_fork(torch.get_num_threads())
        encode = getattr(self._model, f"encode_{self._role}")
        with running(self._identity, (len(texts), self._length(texts[0]))):
            found = encode(texts, output_value=None, batch_size=len(texts), show_progress_bar=False)
        for one in found:
            counts = one["attention_mask"].bool()
            ids = [] if self._merges else one["input_ids"][counts].tolist()
            yield numpy_of(one["token_embeddings"][counts]), self._model.tokenizer.convert_ids_to_tokens(ids)
