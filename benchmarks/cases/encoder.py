"""The bundled encoder, from texts to token sets, beside a bare onnxruntime loop.

The loop gets the same file and threads, and token ids that were made and sorted by length beforehand.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.case import Case, Outcome, Skip, Target
from benchmarks.data import sentences, sts_pairs
from benchmarks.measuring import alternating, threads
from softset.encoders.batching import DEFAULT_BATCH_TOKENS, pad_sequences
from softset.encoders.models import model_folder
from softset.encoders.onnx import OnnxNetwork, open_onnx
from softset.encoders.pipeline import ContextualEncoder, PipelineOptions
from softset.encoders.tokenizer import SubwordTokenizer
from softset.runtime.threads import side_by_side

__all__ = ["CASES"]

SIZES = (8, 16, 32, 64)
BUDGETS = (256, 1024, 2048)


def _texts(count: int) -> list[str]:
    try:
        A, B = sts_pairs()
    except Skip:
        return sentences(count, seed=0)
    both = sorted({*A, *B})
    return both[:: max(len(both) // count, 1)]


def _bare(texts: list[str], tokeniser: SubwordTokenizer, network: OnnxNetwork) -> dict[str, Callable[[], object]]:
    """Return loops for each batch size: one batch after the other on all threads, or as many at once on one each."""
    before, after = ([number for number, _ in marks] for marks in (tokeniser.prefix, tokeniser.suffix))
    rows = sorted((np.array([*before, *one.ids, *after]) for one in tokeniser(texts)), key=len)
    # The very sessions, called without anything of ours.
    wide, narrow = network.multithreaded._session, network._session  # noqa: SLF001 (see above)

    def made(size: int, session: Any, at_once: int) -> Callable[[], object]:
        pairs = [pad_sequences(rows[at : at + size], tokeniser.pad) for at in range(0, len(rows), size)]
        batches = [{"input_ids": ids, "attention_mask": mask} for ids, mask in pairs]
        return lambda: list(side_by_side(lambda batch: session.run(["hidden_6"], batch), batches, at_once))

    one_by_one = {f"batches of {size}": made(size, wide, 1) for size in SIZES}
    return one_by_one | {
        f"batches of {size} side by side": made(size, narrow, network.parallel_batches) for size in SIZES
    }


def _run(quick: bool) -> Outcome:
    texts = _texts(60 if quick else 600)
    # The same sessions for all: more would fight for the cores.
    parts = open_onnx(model_folder("minilm"), "minilm", threads=threads())
    half = open_onnx(model_folder("minilm"), "minilm", layer=3, threads=threads())
    bare = _bare(texts, *parts)
    others = {f"{one} tokens a batch": ContextualEncoder(*parts, PipelineOptions(batch_tokens=one)) for one in BUDGETS}
    others["layer 3 of 6"] = ContextualEncoder(*half, PipelineOptions())
    encoders = {"ours": ContextualEncoder(*parts, PipelineOptions()), **others}
    tasks = bare | {name: lambda one=one: one.encode(texts) for name, one in encoders.items()}
    seconds = alternating(tasks, 3 if quick else 9)
    best = min(bare, key=seconds.__getitem__)
    speeds = {name: len(texts) / spent for name, spent in seconds.items()}
    return Outcome(
        ours=speeds["ours"],
        peer=speeds[best],
        unit="texts/s",
        ratio=speeds["ours"] / speeds[best],
        notes=(
            f"ours with {DEFAULT_BATCH_TOKENS} tokens a batch, onnxruntime in {best}, {threads()} threads",
            ", ".join(f"{name} {speeds[name]:.0f} texts/s" for name in (*bare, *others)),
        ),
    )


CASES = (
    Case(
        "encoder",
        "600 sentences from texts to token sets, the bundled MiniLM",
        "onnxruntime alone, at its best batch size, on ids made and sorted beforehand",
        "our texts/s / peer's texts/s",
        Target("at least 90 % of its rate", 0.90, "higher"),
        _run,
    ),
)
