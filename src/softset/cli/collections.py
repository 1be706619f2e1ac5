"""`softset index`, `softset add` and `softset delete`: collections of items."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from softset.cli import options as opt
from softset.cli.output import ProgressBar, note, on_interrupt
from softset.io.text import counted

if TYPE_CHECKING:
    from softset.collections.items import Item

index_options = opt.add_options(
    opt.option("--chunks", type=click.Choice(["sentence", "window", "token", "none"]), default="sentence"),
    opt.option("--language", default="english"),
    opt.NO_LEXICAL,
)
item_options = opt.add_options(
    opt.option("--text-field", help="Column or field with the texts.  [default: text, or the only one besides the id]"),
    opt.option("--id-field", help="Column or field with the ids.  [default: id, or the row number]"),
    opt.option("--type", "types", multiple=True, metavar="FIELD=TYPE"),
    opt.option("--vectors-file", type=click.Path()),
)


@click.command(short_help="Build a collection of your own items.")
@click.argument("items", type=click.Path())
@opt.option("--out", required=True, type=click.Path(), help="Output: a new folder, or the address of a store.")
@opt.option("--model", help=f"{opt.MODEL}.  [default: minilm; none with --vectors-file]")
@item_options
@index_options
@opt.option("--query-prompt", help="Text that the model expects before queries.  [default: the model's own]")
@opt.option("--document-prompt", help="Text that the model expects before items.  [default: the model's own]")
def index(
    items: str,
    out: str,
    model: str | None,
    vectors_file: str | None,
    types: tuple[str, ...],
    text_field: str | None,
    id_field: str | None,
    **options: Any,
) -> None:
    """Build a collection of ITEMS: text lines, TSV, CSV, JSON lines, a JSON array or Parquet.

    Texts are encoded by --model. The model "words" averages word vectors; it is faster and less accurate than the
    default. The other columns are stored as metadata, for `softset find --filter`: a column of TSV or CSV becomes
    numbers or dates if all its values have this form. With --vectors-file, the examples of a query are ids; they may
    also be texts if --model names the model that computed the vectors. The address of a store is
    milvus://FILE_OR_URL#NAME or lance://FOLDER#NAME; only new and changed items are added to an existing store.

    \b
    Examples:
      softset index books.tsv --out books.softset
      softset index books.tsv --model words --out books.softset
      softset index books.jsonl --text-field title --id-field isbn --out books.softset
      softset index books.txt --vectors-file books.npy --out books.softset
      softset find --collection books.softset '{sea, ship} - war'
      softset index books.tsv --out 'milvus://books.db#books'
    """
    from softset.collections.collection import Collection
    from softset.collections.embedder import Embedder, text_encoder
    from softset.collections.items import read_items

    embed, name = text_encoder(model or ("none" if vectors_file else "minilm"))
    records = _with_note(read_items(items, types=_parse_types(types), text_field=text_field, id_field=id_field))
    with ProgressBar("texts") as progress:
        embed = embed and _with_progress(embed, progress)
        if "://" in out:
            if vectors_file is not None or embed is None:
                raise click.UsageError("a store needs a --model that encodes texts, and takes no --vectors-file")
            _add_to_store(out, records, embed, name)
            return
        vectors = _read_vectors_file(vectors_file)
        embedder = Embedder(name, embed)
        options["lexical"] = None if options["lexical"] else False  # by default, if there is a model
        collection = Collection.create(out, records, vectors=vectors, encoder=embedder, require_vectors=True, **options)
    click.echo(f"{out}: {len(collection)} items, {collection.dimensions} dimensions, encoder {collection.encoder}")
    _note_without_vector(_count_without_vector(collection))


def _add_to_store(out: str, records: Any, embed: Any, name: str) -> None:
    from softset.stores import create_store
    from softset.stores.ingest import ingest

    store = create_store(out, embed(["word"]).shape[1], name)
    with on_interrupt(lambda: f"{out} has {counted(len(store), 'item')}; run the command again to add the others"):
        done = ingest(store, records, embed)
    before = f", {done.unchanged:,} were there already" if done.unchanged else ""
    click.echo(f"{out}: {counted(done.added, 'item')} added{before}; {len(store):,} in all, encoder {store.encoder}")
    _note_without_vector(done.without_vector)


def _with_progress(embed: Any, progress: ProgressBar) -> Callable[[Sequence[str]], Any]:
    """Return an embedding function that reports its progress over all calls."""
    before = 0

    def embed_with_progress(texts: Sequence[str]) -> Any:
        nonlocal before
        start, before = before, before + len(texts)
        return embed(texts, progress=lambda done, _: progress(start + done))

    return embed_with_progress


@click.command(short_help="Add items to a collection.")
@click.argument("collection", type=click.Path())
@click.argument("items", type=click.Path())
@opt.COLLECTION_MODEL
@item_options
def add(
    collection: str, items: str, model: str | None, vectors_file: str | None, types: tuple[str, ...], **fields: Any
) -> None:
    """Add ITEMS to the folder COLLECTION, in the file formats of `softset index`.

    An id that the collection already has is an error.

    \b
    Example:
      softset add books.softset more.tsv
    """
    from softset.collections.collection import open_collection

    target = open_collection(collection, encoder=model)
    size, without_vector = len(target), _count_without_vector(target)
    target.add(items, vectors=_read_vectors_file(vectors_file), types=_parse_types(types), **fields)
    click.echo(f"{collection}: {len(target)} items, {len(target) - size} of them new")
    _note_without_vector(_count_without_vector(target) - without_vector)


@click.command(short_help="Index the texts of a collection again, with other settings.")
@click.argument("collection", type=click.Path())
@opt.COLLECTION_MODEL
@index_options
def upgrade(collection: str, model: str | None, **options: Any) -> None:
    """Add chunks and a lexical index to the folder COLLECTION, or change them.

    Collections of softset 0.6 have neither. The vectors of the items are kept.

    \b
    Example:
      softset upgrade books.softset
      softset upgrade books.softset --chunks window --language german
    """
    from softset.collections.collection import open_collection

    stats = open_collection(collection, encoder=model).upgrade(**options).stats()
    index = f"lexical index in {stats.language}" if stats.language else "no lexical index"
    click.echo(f"{collection}: {stats.items} items, {stats.vectors} vectors, {index}")


@click.command(short_help="Delete items from a collection.")
@click.argument("collection", type=click.Path())
@click.argument("ids", nargs=-1, required=True)
def delete(collection: str, ids: tuple[str, ...]) -> None:
    """Delete the items with these IDS from a COLLECTION.

    If the collection lacks one of them, nothing is deleted and the command fails.

    \b
    Example:
      softset delete books.softset 17 23
    """
    from softset.collections.collection import Collection

    left = Collection.open(collection).delete(ids)
    click.echo(f"{collection}: {len(left)} items left")


def _parse_types(types: tuple[str, ...]) -> Any:
    """Return the types by field; `read_items` checks them."""
    pairs = [text.rpartition("=") for text in types]
    wrong = [text for text, (name, _, kind) in zip(types, pairs, strict=True) if not name or not kind]
    if wrong:
        raise click.UsageError(f"--type must be FIELD=TYPE, such as year=text, but {wrong[0]!r} was given")
    return {name: kind for name, _, kind in pairs}


def _with_note(items: Iterator["Item"]) -> Iterator["Item"]:
    """Yield items, and report the first one as it was parsed."""
    for number, item in enumerate(items):
        if number == 0:
            values = "".join(f", {name} {_shown(value)}" for name, value in item.metadata.items() if value is not None)
            note(f"first item: id {item.id!r:.60}, text {item.text!r:.120}{values}"[:600])
        yield item


def _shown(value: Any) -> str:
    """Return a value for a message; texts are quoted, numbers and dates are not."""
    return f"{value!r:.60}" if isinstance(value, str) else f"{value!s:.60}"


def _read_vectors_file(path: str | None) -> Any:
    """Return the memory-mapped array of a .npy file, or None without a path."""
    from softset.io.arrays import read_array

    return None if path is None else read_array(path)


def _count_without_vector(collection: Any) -> int:
    return int((collection.norms == 0).sum())


def _note_without_vector(count: int) -> None:
    """Report items whose vector is zero."""
    if count > 0:
        note(f"{counted(count, 'item')} without a vector, which searches cannot find")
