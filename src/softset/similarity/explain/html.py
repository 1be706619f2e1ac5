"""An explanation as one page of HTML that needs nothing else: no host, no script to be read, no colour to be told."""

import base64
import hashlib
from collections.abc import Iterator
from html import escape

import numpy as np

from softset.errors import InputError
from softset.similarity.explain.data import Explanation, View
from softset.similarity.explain.text import Half, halves, visible

__all__ = ["MOST_TOKENS", "as_html"]

MOST_TOKENS = 200  # a side: with two metrics 160,000 cells and 6 MB, which a browser still scrolls
STEPS = 10  # of colour between nothing and most

LIGHT = {"ink": "#16191d", "paper": "#ffffff", "line": "#6b7480", "hot": "#6fb1e8", "cold": "#f0a868", "bar": "#1b6ca8"}
DARK = {"ink": "#f1f3f5", "paper": "#14181d", "line": "#8b96a3", "hot": "#1f5f99", "cold": "#8a4712", "bar": "#6fb1e8"}

STYLE = """
body { max-width: 110rem; margin: auto; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); }
h1, h2, h3 { line-height: 1.2; }
.views { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 38rem), 1fr)); gap: 0 2rem; }
section { min-width: 0; border-top: 1px solid var(--line); }
.text { padding: .5rem .75rem 0; border: 1px solid var(--line); line-height: 2.4; white-space: pre-wrap;
  overflow-wrap: anywhere; }
.text a { color: inherit; padding: 0 .1em; }
.extra { border: 1px dashed var(--line); }
rt { font-size: .7rem; }
.lit { outline: 3px solid var(--ink); }
:focus-visible { outline: 3px solid var(--bar); outline-offset: 2px; }
tr:target th { outline: 3px solid var(--bar); }
.wide { overflow: auto; max-height: 90vh; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: start; font-weight: bold; padding: .25rem 0; }
th, td { border: 1px solid var(--line); padding: .15rem .5rem; text-align: start; font-weight: normal; }
thead th { position: sticky; top: 0; background: var(--paper); }
td.n { text-align: end; }
svg { display: block; width: 12rem; height: .8rem; overflow: visible; }
.track { fill: none; stroke: var(--line); vector-effect: non-scaling-stroke; }
.fill { fill: var(--bar); }
"""

SCRIPT = """
for (const view of document.querySelectorAll("section")) {
  const light = (event, on) => {
    const token = event.target.closest("a[data-to]");
    if (!token) return;
    for (const id of token.dataset.to.split(" "))
      for (const other of view.querySelectorAll(`a[href="#${id}"]`)) other.classList.toggle("lit", on);
  };
  for (const kind of ["mouseover", "focusin"]) view.addEventListener(kind, event => light(event, true));
  for (const kind of ["mouseout", "focusout"]) view.addEventListener(kind, event => light(event, false));
}
"""


def as_html(explanation: Explanation, *, title: str = "What two texts share") -> str:
    """Return the explanation as a page; more than 200 tokens a side are refused, for their tables would not be read.

    >>> import numpy as np
    >>> from softset.similarity.explain import Explanation, Side, View
    >>> C, ones, halves = np.array([[0.6, 0.8]]), np.ones(1), np.full(2, 0.5)
    >>> view = View("bertscore", 0.8, 0.7, 0.75, C.max(1), C.max(0), ones, halves, C, C.T, "cosine")
    >>> royalty, couple = Side("<royalty>", ("royalty",), ((1, 8),)), Side("king queen", ("king", "queen"), None)
    >>> page = as_html(Explanation(royalty, couple, C, (view,), ""), title="Royalty & co")
    >>> "<title>Royalty &amp; co</title>" in page, "http" in page.replace("http-equiv", "")
    (True, False)
    """
    for name, side in (("candidate", explanation.candidate), ("reference", explanation.reference)):
        if len(side.tokens) > MOST_TOKENS:
            raise InputError(
                f"a page shows at most {MOST_TOKENS} tokens a side, but the {name} has {len(side.tokens):,}: "
                "explain a part of the text, or read all of it as JSON"
            )
    return "\n".join(_page(explanation, title))


def _page(explanation: Explanation, title: str) -> Iterator[str]:
    style = _style()
    policy = f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(SCRIPT)}'; form-action 'none'"
    yield "<!doctype html>"
    yield '<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}; base-uri \'none\'">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{_text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n<h1>{_text(title)}</h1>"
    yield (
        "<p>The number over a token, and its blue, say how much it belongs to the other text: 0 not at all, 1 wholly. "
        'A token leads to its row below, which names the tokens it owes this to.</p>\n<div class="views">'
    )
    for at, view in enumerate(explanation.views):
        yield from _section(explanation, view, f"v{at}")
    yield f"</div>\n</main>\n<footer><p>{_text(explanation.signature)}</p></footer>"
    yield f"<script>{SCRIPT}</script>\n</body>\n</html>\n"


def _section(explanation: Explanation, view: View, key: str) -> Iterator[str]:
    """Return what one metric says: its scores, both texts, and a table of tokens and one of links for each."""
    yield f'<section aria-labelledby="{key}">\n<h2 id="{key}">{_text(view.metric)}</h2>'
    yield from _scores(view)
    both = halves(explanation, view)
    for half in both:
        yield f"<h3>The {half.name}</h3>"
        yield f'<p class="text" lang="" dir="auto">{"".join(_marked(half, view, key))}</p>'
    for half in both:
        yield from _tokens(half, view, key)
        yield from _heat(half, view, key)
    yield "</section>"


def _scores(view: View) -> Iterator[str]:
    """Return precision, recall and F1, each as a number and a bar."""
    yield f"<table>\n<caption>Scores</caption>\n{_heads('score', 'value', 'of 1')}\n<tbody>"
    for name, value in (("precision", view.precision), ("recall", view.recall), ("F1", view.score)):
        filled = 100 * min(max(float(np.nan_to_num(value)), 0.0), 1.0)
        bar = f'<rect class="fill" width="{filled:.1f}" height="8"/><rect class="track" width="100" height="8"/>'
        yield f'<tr><th scope="row">{name}</th><td class="n">{value:z.3f}</td><td>'
        yield f'<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">{bar}</svg></td></tr>'
    yield "</tbody>\n</table>"


def _marked(half: Half, view: View, key: str) -> Iterator[str]:
    """Return a text with its tokens marked in place; what has no place of its own stands there as the token it is.

    Such are marks like [CLS], and the parts of one character that a model cuts into bytes.
    """
    text, spans, done = half.side.text, half.side.spans, 0
    for at, token in enumerate(half.side.tokens):
        start, end = spans[at] if text is not None and spans is not None else (0, 0)
        if text is not None and done <= start < end:
            yield _text(text[done:start], keep="\n\t")
            yield _mark(_text(text[start:end], keep="\n\t"), half, view, at, key)
            done = end
        else:
            yield (" " if at else "") + _mark(_token(token), half, view, at, key, "extra" if spans else "token")
    if text is not None and spans is not None:
        yield _text(text[done:], keep="\n\t")


def _mark(shown: str, half: Half, view: View, at: int, key: str, kind: str = "token") -> str:
    """Return one token as a link to its row, with its membership over it and the reasons in its title."""
    value, other = float(half.membership[at]), "r" if half.name == "candidate" else "c"
    strongest = view.counterparts(half.name, at)
    to = " ".join(f"{key}{other}{place}" for place, link in strongest if link > 0)
    why = ", ".join(f"{half.other.tokens[place]} {link:z.2f}" for place, link in strongest)
    title = _text(f"membership {value:z.2f}, weight {half.weights[at]:z.3f}; strongest: {why}")
    return (
        f'<a href="#{key}{half.name[0]}{at}" class="{_level(value, 1.0)} {kind}" data-to="{to}" title="{title}">'
        f"<ruby>{shown}<rt>{value:z.2f}</rt></ruby></a>"
    )


def _tokens(half: Half, view: View, key: str) -> Iterator[str]:
    """Return the table of a side's tokens: membership, weight and strongest counterparts."""
    yield _opened(f"{view.metric}: the tokens of the {half.name}", f"{key}{half.name[0]}-tokens")
    yield _heads("token", "membership", "weight", f"strongest {_text(view.links)}s") + "\n<tbody>"
    for at, token in enumerate(half.side.tokens):
        strongest = view.counterparts(half.name, at)
        why = ", ".join(f"{_token(half.other.tokens[place])} {link:z.2f}" for place, link in strongest)
        value = float(half.membership[at])
        yield f'<tr id="{key}{half.name[0]}{at}"><th scope="row">{_token(token)}</th>{_number(value, 1.0)}'
        yield f'<td class="n">{half.weights[at]:z.3f}</td><td>{why}</td></tr>'
    yield "</tbody>\n</table>\n</div>"


def _heat(half: Half, view: View, key: str) -> Iterator[str]:
    """Return the table of all links of a side: a row for each of its tokens, a column for each of the other's."""
    cosine = view.links == "cosine"
    rule = "the largest of a row, bold, counts" if cosine else "a row sums to 1, and all of it counts"
    yield _opened(f"{view.metric}: every {view.links} for the {half.name}; {rule}", f"{key}{half.name[0]}-links")
    yield _heads(half.name, *map(_token, half.other.tokens)) + "\n<tbody>"
    most = 1.0 if cosine else float(np.abs(half.links).max(initial=0)) or 1.0
    for token, row in zip(half.side.tokens, half.links, strict=True):
        best = int(np.argmax(row)) if cosine and len(row) else -1
        cells = "".join(_number(float(value), most, bold=at == best) for at, value in enumerate(row))
        yield f'<tr><th scope="row">{_token(token)}</th>{cells}</tr>'
    yield "</tbody>\n</table>\n</div>"


def _opened(caption: str, key: str) -> str:
    """Return the beginning of a table that may be wider than the page, and is then scrolled by mouse or keys."""
    region = f'<div class="wide" role="region" tabindex="0" aria-labelledby="{key}">'
    return f'{region}\n<table>\n<caption id="{key}">{_text(caption)}</caption>'


def _heads(*shown: str) -> str:
    cells = "".join(f'<th scope="col">{one}</th>' for one in shown)
    return f"<thead><tr>{cells}</tr></thead>"


def _number(value: float, most: float, *, bold: bool = False) -> str:
    shown = f"<strong>{value:z.2f}</strong>" if bold else f"{value:z.2f}"
    return f'<td class="n {_level(value, most)}">{shown}</td>'


def _level(value: float, most: float) -> str:
    """Return the class of a colour: h for what is there, c for what is below 0, from 0 to 10."""
    share = min(abs(float(np.nan_to_num(value))) / most, 1.0)
    return f"{'h' if value >= 0 else 'c'}{round(STEPS * share)}"


def _token(text: str) -> str:
    """Return a token on its own; its direction is its own too."""
    return f'<bdi lang="">{_text(text)}</bdi>'


def _text(text: str, keep: str = "") -> str:
    return escape(visible(text, keep), quote=True)


def _style() -> str:
    """Return the style sheet: two palettes, and a rule for each step of colour."""
    light, dark = ("".join(f" --{name}: {value};" for name, value in palette.items()) for palette in (LIGHT, DARK))
    steps = "".join(
        f".{kind}{at} {{ background: color-mix(in srgb, var(--{name}) {100 * at // STEPS}%, var(--paper)); }}\n"
        for kind, name in (("h", "hot"), ("c", "cold"))
        for at in range(STEPS + 1)
    )
    return (
        f"\n:root {{ color-scheme: light dark;{light} }}"
        f"\n@media (prefers-color-scheme: dark) {{ :root {{{dark} }} }}{STYLE}{steps}"
    )


def _digest(content: str) -> str:
    """Return a hash by which the page's policy lets this content in, and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")
