"""The words among the tokens of a tokenizer.json."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from softset.errors import FileError

__all__ = ["words_of_tokenizer"]

Tokens = list[tuple[int, str]]
MAX_BYTES = 1 << 28
SPECIAL = re.compile(r"\[(PAD|UNK|CLS|SEP|MASK|unused\d+)\]|</?(s|pad|unk|mask|cls|sep)>|<\|[^|]*\|>")
WORD_STARTS = ("▁", "Ġ", " ")
# Byte-level tokenizers spell each byte as a letter: itself where it is one, else the next letter after U+00FF.
LETTERS = [byte for byte in range(256) if 33 <= byte < 127 or (byte > 160 and byte != 173)]
OTHERS = [byte for byte in range(256) if byte not in LETTERS]
BYTES = {chr(byte): byte for byte in LETTERS} | {chr(256 + i): byte for i, byte in enumerate(OTHERS)}


def words_of_tokenizer(path: Path) -> Tokens:
    """Return the tokens that stand for a word, with their numbers and in the order of these."""
    if path.stat().st_size > MAX_BYTES:
        raise FileError(f"{path} has more than {MAX_BYTES:,} bytes, as no tokenizer has")
    try:
        content = json.loads(path.read_bytes())
        return _words(content)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} is not a tokenizer with a vocabulary; save the model again") from error


def _words(content: Any) -> Tokens:
    special = {token["content"] for token in content.get("added_tokens") or [] if token.get("special")}
    tokens = sorted(_numbered(content["model"]["vocab"]))
    tokens = [(number, token) for number, token in tokens if token not in special and not SPECIAL.fullmatch(token)]
    if (content.get("decoder") or {}).get("type") == "ByteLevel":
        tokens = [(number, _spelled(token)) for number, token in tokens]
    # In a WordPiece vocabulary only the inside of a word is marked, and the Maltese letter Ġ is a letter.
    marked = content["model"].get("type") != "WordPiece"
    tokens = _started(tokens) if marked else tokens
    return [(number, token) for number, token in tokens if token.strip() and not token.startswith("##")]


def _numbered(vocab: Any) -> Iterator[tuple[int, str]]:
    """Yield number and token of a vocabulary, whether it names the numbers or is a list of (token, score)."""
    pairs = vocab.items() if isinstance(vocab, dict) else ((entry[0], i) for i, entry in enumerate(vocab))
    for token, number in pairs:
        if not isinstance(token, str) or type(number) is not int or not 0 <= number < 1 << 62:
            raise TypeError("a token is a text with a number")
        yield number, token


def _spelled(token: str) -> str:
    """Return the text whose bytes a token spells as letters ("ĠcafÃ©" is " café"), or none for part of a character."""
    if not set(token) <= BYTES.keys():
        return token
    try:
        return bytes(BYTES[letter] for letter in token).decode()
    except UnicodeDecodeError:
        return ""


def _started(tokens: Tokens) -> Tokens:
    """Strip the mark of a word's start; a piece without it is left out if the word is there with it."""
    starts = {token[1:] for _, token in tokens if token.startswith(WORD_STARTS)}
    return [
        (number, token[1:] if token.startswith(WORD_STARTS) else token)
        for number, token in tokens
        if token.startswith(WORD_STARTS) or token not in starts
    ]
