"""The options that choose an encoder, for every verb that reads texts; they are those of `softset.load_encoder`."""

from typing import Any

import click

__all__ = ["encoder_options"]

OPTIONS = (
    click.option(
        "--model", default="minilm", show_default=True, help="A name, a folder, or a hub name: see models list."
    ),
    click.option("--layer", default="last", show_default=True, help="A number, -1 from the end, a fraction, or last."),
    click.option(
        "--unit", type=click.Choice(["token", "word"]), default="token", show_default=True, help="What a set is of."
    ),
    click.option("--special-tokens", is_flag=True, help="Count marks such as [CLS] as members of the sets."),
    click.option(
        "--overflow",
        type=click.Choice(["window", "truncate", "error"]),
        default="window",
        show_default=True,
        help="For texts that are too long: encode all of it in windows, cut it, or refuse it.",
    ),
    click.option("--max-length", type=int, help="Tokens at once.  [default: the model's own limit]"),
    click.option(
        "--batch-tokens", type=int, default=512, show_default=True, help="Tokens in a batch: speed and memory only."
    ),
    click.option("--threads", type=int, help="Threads of the model.  [default: all cores of the process]"),
    click.option("--device", help="For torch models, such as cuda.  [default: the best there is]"),
    click.option("--dtype", help="For torch models: float32, bfloat16 or float16."),
    click.option("--cache", type=click.Path(), help="A folder that keeps what was encoded."),
)


def encoder_options(command: Any) -> Any:
    """Add the options; their names are those of the arguments of `load_encoder`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
