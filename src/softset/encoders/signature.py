"""Signatures: what made a number, in one line that parses back."""

from collections.abc import Mapping
from urllib.parse import quote, unquote

from softset.errors import InputError

__all__ = ["format_signature", "parse_signature"]

PLAIN = "/@+,-._~()<>= "  # what may stand as it is; the bar and the colon build the line


def format_signature(facts: Mapping[str, object]) -> str:
    """Return facts as one line; those that are None are left out.

    >>> format_signature({"encoder": "minilm@ab12", "layer": 6, "dtype": None})
    'encoder:minilm@ab12|layer:6'
    """
    return "|".join(f"{key}:{quote(str(value), safe=PLAIN)}" for key, value in facts.items() if value is not None)


def parse_signature(signature: str) -> dict[str, str]:
    """Return the facts of a line.

    >>> parse_signature("encoder:minilm@ab12|layer:6")
    {'encoder': 'minilm@ab12', 'layer': '6'}
    """
    pairs = [part.partition(":") for part in signature.split("|")]
    if not all(key and colon for key, colon, _ in pairs):
        raise InputError(f"{signature!r} is no signature: key:value pairs with | between were wanted")
    return {key: unquote(value) for key, _, value in pairs}
