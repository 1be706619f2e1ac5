"""Write the items of a collection, and its manifest with a background."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from softset.collections.background import MIN_ITEMS, BackgroundFile, choose_sample
from softset.collections.embedder import Embed, Embedder
from softset.collections.embedding import embed_items
from softset.collections.items import Item
from softset.collections.manifest import CollectionManifest, write_manifest
from softset.collections.schema import SchemaTracker
from softset.collections.segment import write_segment
from softset.collections.segmented import SegmentedItems
from softset.collections.settings import IndexSettings

__all__ = ["write_items", "write_with_background"]


def write_items(
    folder: Path, items: Iterable[Item], vectors: Any, embedder: Embedder, settings: IndexSettings
) -> CollectionManifest:
    """Write items as the only segment of a collection; return the manifest."""
    embedder = embedder.with_prompts(settings.query_prompt, settings.document_prompt)
    fingerprint, tracker = embedder.fingerprint(), SchemaTracker({})
    dimensions = None if vectors is None or embedder.embed is None else embedder.embed(["word"]).shape[1]
    embedded = embed_items(tracker.check(items), vectors, embedder, settings.chunks)
    name = write_segment(folder, embedded, language=settings.language, dimensions=dimensions)
    manifest = CollectionManifest(embedder.name, {name: []}, tracker.schema, fingerprint, settings=settings)
    embed = embedder.embed_documents if embedder.document_prompt else embedder.embed
    return write_with_background(folder, manifest, SegmentedItems.open(folder, manifest.segments), lambda: embed)


def write_with_background(
    folder: Path, manifest: CollectionManifest, items: SegmentedItems, encoder: Callable[[], Embed | None]
) -> CollectionManifest:
    """Write a manifest, with a background of the items unless one is frozen or they are too few, and return it."""
    stored, count, language = manifest.background, int(np.count_nonzero(items.norms())), manifest.settings.language
    if stored is None or (stored.source != "items" and count >= MIN_ITEMS):
        embed = encoder() if count < MIN_ITEMS else None
        source, sample = choose_sample(count, lambda: items.sample(language), embed, language)
        if source != "items" or count >= MIN_ITEMS:
            manifest = replace(manifest, background=BackgroundFile.write(folder, source, sample))
    write_manifest(folder, manifest)
    return manifest
