"""An explanation in a terminal: the tokens of both texts by colour, then a table of what each belongs to and why."""

import math
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from softset.similarity.explain.data import Explanation, Side, View

__all__ = ["Half", "as_text", "clip", "columns", "halves", "visible"]

# (ink, paper) of the 256 colours, from nothing to most. Both are set, so that a theme, dark or light, cannot make them
# unreadable (at least 4.5:1). From grey to blue, which readers who cannot tell red from green see too; never so pale
# or so dark that what belongs least stands out most. The first step is the terminal's own pair.
RAMP = ((None, None), (16, 252), (16, 153), (16, 117), (16, 75), (16, 33), (231, 27))
NARROWEST = 40  # columns: below it a row of the table has no room
NAME = 16  # columns at most for the token that a row is about
VIEW = 30  # columns at least for what one metric says of it
NUMBERS = 14  # of these for its membership and its weight; a counterpart or two have the rest
INDENT = "  "
TITLES = (
    "Candidate: membership in the reference, weight, strongest counterparts",
    "Reference: membership in the candidate, weight, strongest counterparts",
)


class Half(NamedTuple):
    """One direction of a view: the tokens of a side, and what the other side is to them."""

    name: str
    side: Side
    other: Side
    membership: np.ndarray
    weights: np.ndarray
    links: np.ndarray


def as_text(explanation: Explanation, *, colour: bool, width: int) -> str:
    """Return the explanation as lines of at most `width` columns; below 40 they are of 40.

    With `colour` the tokens are marked by membership in 256 colours; without it their numbers follow them. Nothing
    in a token reaches the terminal but its letters: what would control it is shown escaped.

    >>> import numpy as np
    >>> from softset.similarity.explain import Explanation, Side, View
    >>> C, ones, halves = np.array([[0.6, 0.8]]), np.ones(1), np.full(2, 0.5)
    >>> view = View("bertscore", 0.8, 0.7, 0.75, C.max(1), C.max(0), ones, halves, C, C.T, "cosine")
    >>> royalty, couple = Side("royalty", ("royalty",), None), Side("king queen", ("king", "queen"), None)
    >>> print(as_text(Explanation(royalty, couple, C, (view,), ""), colour=False, width=60))
    bertscore  P 0.800  R 0.700  F 0.750
      candidate  royalty 0.80
      reference  king 0.60  queen 0.80
    <BLANKLINE>
    Candidate: membership in the reference, weight, strongest counterparts
    token    bertscore (cosines)
    royalty   0.80 1.000  queen 0.80, king 0.60
    <BLANKLINE>
    Reference: membership in the candidate, weight, strongest counterparts
    token  bertscore (cosines)
    king    0.60 0.500  royalty 0.60
    queen   0.80 0.500  royalty 0.80
    """
    width = max(width, NARROWEST)
    seen = [(view, halves(explanation, view)) for view in explanation.views]
    lines: list[str] = []
    for view, both in seen:
        lines += [*_scores(view, width), *(line for half in both for line in _marked(half, colour, width)), ""]
    if colour:
        lines += [_legend(), ""]
    for at, title in enumerate(TITLES):
        for some in _abreast([(view, both[at]) for view, both in seen], width):
            lines += [*textwrap.wrap(title, width), *_table(some, colour, width), ""]
    return "\n".join(line.rstrip(" ") for line in lines[:-1])


def halves(explanation: Explanation, view: View) -> tuple[Half, Half]:
    """Return both directions of a view: the candidate's tokens in the reference, the reference's in the candidate.

    >>> import numpy as np
    >>> from softset.similarity.explain import Explanation, Side, View
    >>> C, ones, halved = np.array([[0.6, 0.8]]), np.ones(1), np.full(2, 0.5)
    >>> view = View("bertscore", 0.8, 0.7, 0.75, C.max(1), C.max(0), ones, halved, C, C.T, "cosine")
    >>> royalty, couple = Side("royalty", ("royalty",), None), Side("king queen", ("king", "queen"), None)
    >>> [(half.name, half.links.shape) for half in halves(Explanation(royalty, couple, C, (view,), ""), view)]
    [('candidate', (1, 2)), ('reference', (2, 1))]
    """
    one, two = explanation.candidate, explanation.reference
    return (
        Half("candidate", one, two, view.candidate_membership, view.candidate_weights, view.candidate_links),
        Half("reference", two, one, view.reference_membership, view.reference_weights, view.reference_links),
    )


def visible(text: str, keep: str = "") -> str:
    r"""Return a text whose characters all show: those that control a terminal or a line's direction are escaped.

    Characters in `keep` stay as they are, and so do the joiners that scripts and emoji are written with.

    >>> print(visible("\x1b[31mred\u202e\n"), visible("a\nb", keep="\n") == "a\nb")
    \x1b[31mred\u202e\n True
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one in keep or not _hidden(one) else _escaped(one) for one in text)


def columns(text: str) -> int:
    """Return how many columns of a terminal a visible text takes: wide characters two, combining ones none.

    >>> columns("king"), columns("国王"), columns("na\u0308ive"), columns("👑")
    (4, 4, 5, 2)
    """
    return len(text) if text.isascii() else sum(map(_columns, text))


def clip(text: str, most: int) -> str:
    """Return a visible text in at most that many columns; one that was cut ends in an ellipsis.

    >>> clip("subspace", 5), clip("国王国王", 6), clip("king", 4)
    ('subs…', '国王…', 'king')
    """
    if columns(text) <= most:
        return text
    taken, room = "", most - 1
    for one in text:
        room -= _columns(one)
        if room < 0:
            break
        taken += one
    return taken + "…"


def _hidden(one: str) -> bool:
    """Tell whether a character is a control, a line separator, a surrogate or a mark of direction."""
    return unicodedata.category(one) in {"Cc", "Cf", "Cs", "Zl", "Zp"} and one not in "\u200c\u200d"


def _escaped(one: str) -> str:
    return one.encode("unicode_escape").decode("ascii")


def _columns(one: str) -> int:
    if unicodedata.category(one) in {"Mn", "Me", "Cf"} or "\u1160" <= one <= "\u11ff":  # the latter join a syllable
        return 0
    return 2 if unicodedata.east_asian_width(one) in "WF" else 1


def _cell(text: str, most: int) -> str:
    """Return a token for its place in a line; one from right to left is isolated, and moves nothing around it."""
    shown = clip(visible(text), most)
    foreign = any(unicodedata.bidirectional(one) in {"R", "AL", "AN"} for one in shown)
    return f"\u2068{shown}\u2069" if foreign else shown


def _padded(text: str, to: int) -> str:
    return text + " " * (to - columns(text))


def _painted(text: str, membership: float, colour: bool) -> str:
    """Return the text in the colours of a membership."""
    share = 0.0 if math.isnan(membership) else min(max(membership, 0.0), 1.0)
    ink, paper = RAMP[min(int(share * len(RAMP)), len(RAMP) - 1)]
    return text if ink is None or not colour else f"\x1b[38;5;{ink};48;5;{paper}m{text}\x1b[0m"


def _legend() -> str:
    """Return from which membership on each colour is: the middle of a step has its colour."""
    steps = [at / len(RAMP) for at in range(len(RAMP))]
    shown = [_painted(f"{one:z.2f}"[1:], one + 0.5 / len(RAMP), True) for one in steps]
    return "membership " + " ".join(shown)


def _scores(view: View, width: int) -> list[str]:
    """Return the metric's name and its numbers, on one line if they fit."""
    numbers = f"P {view.precision:z.3f}  R {view.recall:z.3f}  F {view.score:z.3f}"
    name = clip(visible(view.metric), width)
    line = f"{name}  {numbers}"
    return [line] if columns(line) <= width else [name, INDENT + numbers]


def _marked(half: Half, colour: bool, width: int) -> Iterable[str]:
    """Return a side's tokens, each with its membership as a colour or a number."""
    start = f"{INDENT}{half.name}  "
    room = width - len(start)
    line, used = start, 0
    for token, value in zip(half.side.tokens, half.membership.tolist(), strict=True):
        number = "" if colour else f" {value:z.2f}"
        shown = _cell(token, room - len(number)) + number
        gap = 0 if not used else 1 if colour else 2
        if used + gap + columns(shown) > room:
            yield line
            line, used, gap = " " * len(start), 0, 0
        line += " " * gap + _painted(shown, value, colour)
        used += gap + columns(shown)
    yield line


def _abreast(all_of: Sequence[tuple[View, Half]], width: int) -> Iterable[Sequence[tuple[View, Half]]]:
    """Cut the views into groups that fit side by side."""
    many = max((width - _name_width(all_of[0][1])) // VIEW, 1) if all_of else 1
    return (all_of[at : at + many] for at in range(0, len(all_of), many))


def _name_width(half: Half) -> int:
    return max(columns(_cell(one, NAME)) for one in ("token", *half.side.tokens))


def _table(some: Sequence[tuple[View, Half]], colour: bool, width: int) -> Iterable[str]:
    """Return a row for each token of a side: what each metric makes of it."""
    first = _name_width(some[0][1])
    each = (width - first) // len(some)
    heads = [clip(f"  {visible(view.metric)} ({view.links}s)", each) for view, _ in some]
    yield _padded("token", first) + "".join(_padded(one, each) for one in heads)
    for at, token in enumerate(some[0][1].side.tokens):
        row = _padded(_cell(token, NAME), first)
        for view, half in some:
            value = _painted(f"{half.membership[at]:z5.2f}", float(half.membership[at]), colour)
            why = _counterparts(view.counterparts(half.name, at), half.other.tokens, each - NUMBERS)
            row += f" {value} {half.weights[at]:z5.3f}  " + _padded(why, each - NUMBERS)
        yield row


def _counterparts(strongest: Iterable[tuple[int, float]], others: Sequence[str], room: int) -> str:
    """Return the other side's tokens with their links, as many as there is room for."""
    shown = ""
    for place, link in strongest:
        number = f" {link:z.2f}"
        more = (", " if shown else "") + _cell(others[place], min(NAME, room - len(number))) + number
        if columns(shown + more) > room:
            break
        shown += more
    return shown
