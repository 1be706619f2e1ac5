"""The query language: whatever is typed, a tree that prints and parses back, or our own error with its place."""

import importlib.util
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from reliability.check import Broken, Check, Finding, Skip, expect
from softset.errors import QueryError
from softset.query.parser import LIMITS, parse

__all__ = ["CHECKS", "examine"]

CORPUS = """\
red
{red, blue, "new york"^2}
{red, blue, green} & {apple, peach, banana}
{red, blue} AND fruit BUT NOT "passion fruit"
cat OR dog BUT NOT @pets
({king, queen} | prince) - {war^.5, "World War II"}
NOT (NOT colour AND ~@"my set") - well-known
\u201cnew york\u201d | 日本 & café
~(~{a^1e2} & {b ^ 3.25}) - (c - d)
{\u201cx\u201d, "say \\"hi\\" \\\\ there"}
""".splitlines()
PIECES = [
    *'{}()&|~,^"@-\\ \n\t\u201c\u201d\x00\ud800é日\u2029',
    "AND",
    "OR",
    "NOT",
    "BUT NOT",
    "^1e999",
    "^0",
    "a",
    "1",
]
MOST_MS = 50.0
GUIDED = """
import json, sys, time
import atheris
with atheris.instrument_imports(include=["softset.query", "softset.search"]):
    from reliability.checks.queries import examine
WANTED, FILE = int(sys.argv[1]), sys.argv[2]
done, parsed, slowest = 0, 0, 0.0

def one(data):
    global done, parsed, slowest
    given = atheris.FuzzedDataProvider(data)
    query = given.ConsumeUnicode(len(data)) if data[:1] > b"\\x80" else data.decode("utf-8", "surrogateescape")
    took, good = examine(query)
    done, parsed, slowest = done + 1, parsed + good, max(slowest, took)
    if done == WANTED:
        with open(FILE, "w") as out:
            json.dump([done, parsed, slowest], out)

atheris.Setup([sys.argv[0], *sys.argv[3:], f"-runs={WANTED + 1000}"], one)
atheris.Fuzz()
"""


def examine(query: str) -> tuple[float, bool]:
    """Parse a query, and say what broke, if anything; return the milliseconds that took, and whether it was good."""
    start = time.thread_time()
    try:
        tree = parse(query)
    except QueryError as error:
        tree = None
        expect(0 <= error.position <= len(query), f"the place {error.position} is outside {query!r}")
        expect(str(error).count("\n") == 2, f"the error has no line and caret: {query!r}")
    except Exception as error:
        raise Broken(f"{type(error).__name__}: {error} of {query!r}") from error
    took = 1e3 * (time.thread_time() - start)
    if took > MOST_MS / 5:  # a pause of the interpreter is not the query's: it would be slow again
        took = min(took, _again(query))
        expect(took <= MOST_MS, f"{took:.0f} ms for {query[:200]!r}")
    if tree is not None:
        expect(parse(str(tree)) == tree, f"{query!r} prints as {str(tree)!r}, which is another query")
    return took, tree is not None


def _again(query: str) -> float:
    start = time.thread_time()
    with suppress(QueryError):
        parse(query)
    return 1e3 * (time.thread_time() - start)


def _guided(short: bool) -> Finding:
    """Let atheris look for inputs that reach new lines of the parser."""
    if importlib.util.find_spec("atheris") is None:
        raise Skip("atheris is not installed: pip install atheris")
    wanted = 20_000 if short else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "corpus").mkdir()
        for at, query in enumerate(CORPUS):
            (folder / "corpus" / str(at)).write_text(query, "utf-8")
        words = "\n".join(json.dumps(one) for one in ["AND", "OR", "NOT", "BUT NOT", "{", "}", "^2", '\\"', "@", "~"])
        (folder / "words").write_text(words, "utf-8")
        options = [
            f"-dict={folder}/words",
            "-max_len=400",
            "-seed=1",
            f"-artifact_prefix={folder}/",
            f"{folder}/corpus",
        ]
        command = [sys.executable, "-c", GUIDED, str(wanted), str(folder / "told"), *options]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if not (folder / "told").is_file():
            broken = [line for line in done.stderr.splitlines() if "Broken" in line or "Error" in line]
            raise Broken((broken or done.stderr.splitlines()[-3:] or ["atheris ended early"])[-1][:500])
        count, parsed, slowest = json.loads((folder / "told").read_text())
    return _found(count, parsed, slowest)


def _random(short: bool) -> Finding:
    """Put pieces of the language together by chance, and real queries cut, joined and repeated up to the limits."""
    rng, wanted = random.Random(7), 10_000 if short else 1_000_000
    parsed, slowest = 0, 0.0
    for at in range(wanted):
        query = _mixed(rng) if at % 1_000 else _long(rng)
        took, good = examine(query)
        parsed, slowest = parsed + good, max(slowest, took)
    return _found(wanted, parsed, slowest)


def _generated(short: bool) -> Finding:
    """Let hypothesis write queries by the grammar, with anything in its quotes, and texts of the language's marks."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    quoted = st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False))
    word = st.text("abcé日'", min_size=1, max_size=5) | quoted
    example = st.builds(str.__add__, word, st.sampled_from(["", "^2", " ^ .5", "^1e2"]))
    leaf = st.lists(example, min_size=1, max_size=4).map(lambda some: "{" + ", ".join(some) + "}") | word
    joined = st.recursive(
        leaf,
        lambda inner: (
            st.builds("({} {} {})".format, inner, st.sampled_from(["&", "|", "-", "AND", "BUT NOT"]), inner)
            | inner.map("~{}".format)
        ),
        max_leaves=12,
    )
    counts = {"inputs": 0, "read": 0}
    slowest = 0.0

    @settings(
        max_examples=500 if short else 50_000,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(joined | st.text('{}()&|~,^@-"\\ aN1\n', max_size=40))
    def try_one(query: str) -> None:
        nonlocal slowest
        took, good = examine(query)
        counts["inputs"], counts["read"], slowest = counts["inputs"] + 1, counts["read"] + good, max(slowest, took)

    try_one()
    return _found(counts["inputs"], counts["read"], slowest)


def _mixed(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return "".join(rng.choices(PIECES, k=rng.randint(0, 25)))
    query = rng.choice(CORPUS)
    for _ in range(rng.randint(0, 3)):
        at = rng.randint(0, len(query))
        form = rng.randrange(4)
        if form == 0:
            query = query[:at] + rng.choice(PIECES) + query[at:]
        elif form == 1:
            query = query[:at] + query[at + rng.randint(1, 4) :]
        elif form == 2:
            query = f"({query}) {rng.choice('&|-')} {rng.choice(CORPUS)}"
        else:
            query = query[:at] + query[rng.randint(0, len(query)) :]
    return query


def _long(rng: random.Random) -> str:
    """Return a query of about as many characters as are allowed, of one piece or a few over and over."""
    some = "".join(rng.choices(PIECES, k=rng.randint(1, 4)))
    return (some * (LIMITS.characters // len(some) + 1))[: LIMITS.characters + rng.randint(-2, 2)]


def _found(count: int, parsed: int, slowest: float) -> Finding:
    expect(0 < parsed < count, f"of {count:,} inputs {parsed:,} were queries: too many or too few to have tried much")
    return Finding(
        f"{count:,} inputs",
        {"read": f"{parsed:,}", "refused with a place": f"{count - parsed:,}", "slowest": f"{slowest:.1f} ms"},
    )


HOLDS = "only our own errors, each with its place; none over 50 ms; printing parses back"
WANTED = f"1,000,000 inputs: {HOLDS}"
CHECKS = (
    Check("queries-guided", "fuzz", "atheris on the parser, guided by coverage, from real queries", WANTED, _guided),
    Check("queries-grammar", "fuzz", "hypothesis on the parser, by the grammar and by its marks", HOLDS, _generated),
    Check(
        "queries-random", "fuzz", "pieces of the language and real queries, mixed, up to the limits", WANTED, _random
    ),
)
