"""An explanation as one HTML page that loads nothing else and works without colour, mouse or script."""

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from string import Template

import numpy as np

from softset.io.text import printable
from softset.similarity.explain.data import Explanation, MetricView, check_tokens
from softset.similarity.explain.text import Direction, chance_note, directions

MAX_TOKENS = 200  # per text: two metrics then give 160,000 cells and 6 MB, which browsers can still scroll
JOINERS = "\u200c\u200d"  # control characters that some scripts and emoji need


def as_html(explanation: Explanation) -> str:
    """Return the explanation as a page; a text of more than 200 tokens raises InputError."""
    check_tokens(explanation, MAX_TOKENS, "a page")
    template, style, script = (
        (files(__package__) / name).read_text("utf-8") for name in ("page.html", "page.css", "page.js")
    )
    sections = [
        line for index, view in enumerate(explanation.views) for line in _section(explanation, view, f"v{index}")
    ]
    return Template(template).substitute(
        sections="\n".join(sections),
        signature=_text(explanation.signature),
        style=style,
        script=script,
        style_digest=_digest(style),
        script_digest=_digest(script),
    )


def _section(explanation: Explanation, view: MetricView, key: str) -> Iterator[str]:
    """Yield the section of one metric: its scores, both texts with marked tokens, and a table for each text."""
    yield f'<section aria-labelledby="{key}">\n<h2 id="{key}">{_text(view.metric)}</h2>\n<dl>'
    for name, value in (("precision", view.precision), ("recall", view.recall), (view.score_label, view.score)):
        yield f'<dt>{name}</dt><dd><meter value="{float(np.nan_to_num(value)):.3f}"></meter> {value:z.3f}</dd>'
    yield f"</dl>\n<p>{_text(chance_note(view))}</p>"
    for direction in directions(explanation, view):
        yield f"<h3>The {direction.name}</h3>"
        yield f'<p class="text" lang="" dir="auto">{"".join(_marked_text(direction, view, key))}</p>'
        yield from _table(direction, view, key)
    yield "</section>"


def _marked_text(direction: Direction, view: MetricView, key: str) -> Iterator[str]:
    """Yield a text with its tokens marked in place.

    Tokens without a span of their own are inserted: special tokens such as [CLS], and byte pieces of one character.
    """
    text, spans, done = direction.text.text, direction.text.spans, 0
    for index, token in enumerate(direction.text.tokens):
        start, end = spans[index] if text is not None and spans is not None else (0, 0)
        if text is not None and done <= start < end:
            yield _text(text[done:start], keep=JOINERS + "\n\t")
            yield _marked_token(_text(text[start:end], keep=JOINERS + "\n\t"), direction, view, index, key)
            done = end
        else:
            kind = "extra" if spans else "token"
            yield (" " if index else "") + _marked_token(_token(token), direction, view, index, key, kind)
    if text is not None and spans is not None:
        yield _text(text[done:], keep=JOINERS + "\n\t")


def _marked_token(shown: str, direction: Direction, view: MetricView, index: int, key: str, kind: str = "token") -> str:
    """Return one token as a link to its table row, with its membership above it and its counterparts in the title."""
    membership, other_side = float(direction.membership[index]), "r" if direction.name == "candidate" else "c"
    strongest = view.counterparts(direction.name, index)
    targets = " ".join(f"{key}{other_side}{other}" for other, link in strongest if link > 0)
    names = ", ".join(f"{direction.other.tokens[other]} {link:z.2f}" for other, link in strongest)
    title = _text(f"membership {membership:z.2f}, weight {direction.weights[index]:z.3f}; strongest: {names}")
    return (
        f'<a href="#{key}{direction.name[0]}{index}" class="{_colour(membership, 1.0)} {kind}" data-to="{targets}" '
        f'title="{title}"><ruby>{shown}<rt>{membership:z.2f}</rt></ruby></a>'
    )


def _table(direction: Direction, view: MetricView, key: str) -> Iterator[str]:
    """Yield the table of a text: membership, weight and every link of each token; wide tables scroll."""
    cosine = view.links == "cosine"
    rule = "the membership is the largest cosine of a row (bold)" if cosine else "the shares of a row sum to 1"
    caption = f"{view.metric}: the tokens of the {direction.name} and their {view.links}s; {rule}"
    name = f"{key}{direction.name[0]}-links"
    yield f'<div class="wide" role="region" tabindex="0" aria-labelledby="{name}">\n<table>'
    yield f'<caption id="{name}">{_text(caption)}</caption>'
    heads = ["token", "membership", "weight", *map(_token, direction.other.tokens)]
    yield "<thead><tr>" + "".join(f'<th scope="col">{head}</th>' for head in heads) + "</tr></thead>\n<tbody>"
    largest = 1.0 if cosine else float(np.abs(direction.links).max(initial=0)) or 1.0
    for index, token in enumerate(direction.text.tokens):
        row = direction.links[index].tolist()
        best = int(np.argmax(row)) if cosine and row else -1
        cells = "".join(_cell(value, largest, bold=column == best) for column, value in enumerate(row))
        yield f'<tr id="{key}{direction.name[0]}{index}"><th scope="row">{_token(token)}</th>'
        yield f'{_cell(float(direction.membership[index]), 1.0)}<td class="n">{direction.weights[index]:z.3f}</td>'
        yield f"{cells}</tr>"
    yield "</tbody>\n</table>\n</div>"


def _cell(value: float, largest: float, *, bold: bool = False) -> str:
    number = f"<strong>{value:z.2f}</strong>" if bold else f"{value:z.2f}"
    return f'<td class="n {_colour(value, largest)}">{number}</td>'


def _colour(value: float, largest: float) -> str:
    """Return the class of a background colour: h0 to h10 for values from 0, c0 to c10 for negative ones."""
    share = min(abs(float(np.nan_to_num(value))) / largest, 1.0)
    return f"{'h' if value >= 0 else 'c'}{round(10 * share)}"


def _token(text: str) -> str:
    return f'<bdi lang="">{_text(text)}</bdi>'


def _text(text: str, keep: str = JOINERS) -> str:
    """Return a text escaped for HTML, with control characters other than `keep` replaced."""
    return escape("".join(char if char in keep else printable(char) for char in text), quote=True)


def _digest(content: str) -> str:
    """Return the hash that lets the content security policy accept this content."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")
