"""Signatures: one line that names everything that a result depends on, and that can be parsed."""

from collections.abc import Mapping
from urllib.parse import quote, unquote

from softset.errors import InputError

UNQUOTED = "/@+,-._~()<>= "  # the separators | and : must be quoted


def format_signature(facts: Mapping[str, object]) -> str:
    """Return the facts in one line, such as "encoder:minilm@ab12|layer:6"; facts that are None are left out."""
    return "|".join(f"{key}:{quote(str(value), safe=UNQUOTED)}" for key, value in facts.items() if value is not None)


def parse_signature(signature: str) -> dict[str, str]:
    """Return the facts of a signature."""
    pairs = [part.partition(":") for part in signature.split("|")]
    if not all(key and colon for key, colon, _ in pairs):
        raise InputError(f"{signature!r} is not a signature: key:value pairs separated by | were expected")
    return {key: unquote(value) for key, _, value in pairs}
