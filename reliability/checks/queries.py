"""Query parser: each input gives a tree that survives printing and parsing, or a QueryError with a position."""

import importlib.util
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from reliability.check import CheckFailed, CheckResult, CheckSkipped, check, expect
from softset.errors import QueryError
from softset.query.parser import MAX_CHARACTERS, parse

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
{red, blue} -- {green} | a -^0.3 (b - ^.25 c)
{\u201cx\u201d, "say \\"hi\\" \\\\ there"}
""".splitlines()
FRAGMENTS = [
    *'{}()&|~,^"@-\\ \n\t\u201c\u201d\x00\ud800é日\u2029',
    *("AND", "OR", "NOT", "BUT NOT", "^1e999", "^0", "--", "-^0.3", "a", "1"),
]
MAX_MS = 50.0
GOAL = "only QueryErrors, each with a position; at most 50 ms each; printed queries parse back"
LARGE_GOAL = f"1,000,000 inputs: {GOAL}"
FUZZER = """
import json, sys, time
import atheris
with atheris.instrument_imports(include=["softset.query", "softset.search"]):
    from reliability.checks.queries import check_query
RUNS, FILE = int(sys.argv[1]), sys.argv[2]
outcomes = []

def fuzz(data):
    provider = atheris.FuzzedDataProvider(data)
    query = provider.ConsumeUnicode(len(data)) if data[:1] > b"\\x80" else data.decode("utf-8", "surrogateescape")
    outcomes.append(check_query(query))
    if len(outcomes) == RUNS:
        with open(FILE, "w") as out:
            json.dump(outcomes, out)

atheris.Setup([sys.argv[0], *sys.argv[3:], f"-runs={RUNS + 1000}"], fuzz)
atheris.Fuzz()
"""


def check_query(query: str) -> tuple[float, bool]:
    """Parse a query and check the outcome; return the milliseconds, and whether the query is valid."""
    start = time.thread_time()
    try:
        tree = parse(query)
    except QueryError as error:
        tree = None
        expect(0 <= error.position <= len(query), f"the position {error.position} is outside {query!r}")
        expect(str(error).count("\n") == 2, f"the error has no line and caret: {query!r}")
    except Exception as error:
        raise CheckFailed(f"{type(error).__name__}: {error} for {query!r}") from error
    milliseconds = 1e3 * (time.thread_time() - start)
    if milliseconds > MAX_MS / 5:  # measure again, in case the interpreter paused
        milliseconds = min(milliseconds, _measure(query))
        expect(milliseconds <= MAX_MS, f"{milliseconds:.0f} ms for {query[:200]!r}")
    if tree is not None:
        expect(parse(str(tree)) == tree, f"{query!r} prints as {str(tree)!r}, which is another query")
    return milliseconds, tree is not None


def _measure(query: str) -> float:
    start = time.thread_time()
    with suppress(QueryError):
        parse(query)
    return 1e3 * (time.thread_time() - start)


@check("queries-guided", "fuzz", "atheris on the parser, guided by coverage", goal=LARGE_GOAL)
def _coverage_guided(short: bool) -> CheckResult:
    """Let atheris search for inputs that reach new lines of the parser."""
    if importlib.util.find_spec("atheris") is None:
        raise CheckSkipped("atheris is not installed: pip install atheris")
    runs = 20_000 if short else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "corpus").mkdir()
        for number, query in enumerate(CORPUS):
            (folder / "corpus" / str(number)).write_text(query, "utf-8")
        words = "\n".join(json.dumps(word) for word in ["AND", "OR", "NOT", "BUT NOT", "{", "}", "^2", '\\"', "@", "~"])
        (folder / "words").write_text(words, "utf-8")
        options = f"-dict={folder}/words -max_len=400 -seed=1 -artifact_prefix={folder}/ {folder}/corpus".split()
        command = [sys.executable, "-c", FUZZER, str(runs), str(folder / "result"), *options]
        process = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        if not (folder / "result").is_file():
            messages = [line for line in process.stderr.splitlines() if "CheckFailed" in line or "Error" in line]
            raise CheckFailed((messages or process.stderr.splitlines()[-3:] or ["atheris ended early"])[-1][:500])
        return _result(json.loads((folder / "result").read_text()))


@check("queries-random", "fuzz", "mixed fragments and real queries, up to the length limit", goal=LARGE_GOAL)
def _random(short: bool) -> CheckResult:
    """Combine random fragments of the language, and real queries that are cut, joined and repeated."""
    rng, count = random.Random(7), 10_000 if short else 1_000_000
    queries = (_mutated_query(rng) if number % 1_000 else _long_query(rng) for number in range(count))
    return _result(map(check_query, queries))


@check("queries-grammar", "fuzz", "hypothesis on the parser, from the grammar", goal=GOAL)
def _grammar_based(short: bool) -> CheckResult:
    """Let hypothesis generate queries from the grammar, and strings of its special characters."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import strategies as st

    quoted = st.text(max_size=8).map(lambda text: json.dumps(text, ensure_ascii=False))
    word = st.text("abcé日'", min_size=1, max_size=5) | quoted
    example = st.builds(str.__add__, word, st.sampled_from(["", "^2", " ^ .5", "^1e2"]))
    leaf = st.lists(example, min_size=1, max_size=4).map(lambda examples: "{" + ", ".join(examples) + "}") | word
    operator = st.sampled_from(["&", "|", "-", "--", "-^0.3", "- ^ .25", "-^1e-3", "AND", "BUT NOT"])

    def combine(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.builds("({} {} {})".format, inner, operator, inner) | inner.map("~{}".format)

    outcomes: list[tuple[float, bool]] = []
    options = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}

    @settings(max_examples=500 if short else 50_000, derandomize=True, phases=[Phase.generate], **options)
    @given(st.recursive(leaf, combine, max_leaves=12) | st.text('{}()&|~,^@-"\\ aN1\n', max_size=40))
    def try_query(query: str) -> None:
        outcomes.append(check_query(query))

    try_query()
    return _result(outcomes)


def _mutated_query(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return "".join(rng.choices(FRAGMENTS, k=rng.randint(0, 25)))
    query = rng.choice(CORPUS)
    for _ in range(rng.randint(0, 3)):
        position = rng.randint(0, len(query))
        mutation = rng.randrange(4)
        if mutation == 0:
            query = query[:position] + rng.choice(FRAGMENTS) + query[position:]
        elif mutation == 1:
            query = query[:position] + query[position + rng.randint(1, 4) :]
        elif mutation == 2:
            query = f"({query}) {rng.choice('&|-')} {rng.choice(CORPUS)}"
        else:
            query = query[:position] + query[rng.randint(0, len(query)) :]
    return query


def _long_query(rng: random.Random) -> str:
    """Return a query of about the maximum length that repeats a few fragments."""
    fragments = "".join(rng.choices(FRAGMENTS, k=rng.randint(1, 4)))
    return (fragments * (MAX_CHARACTERS // len(fragments) + 1))[: MAX_CHARACTERS + rng.randint(-2, 2)]


def _result(outcomes: Iterable[tuple[float, bool]]) -> CheckResult:
    """Return the result of all calls of `check_query`."""
    count, parsed, slowest = 0, 0, 0.0
    for milliseconds, valid in outcomes:
        count, parsed, slowest = count + 1, parsed + valid, max(slowest, milliseconds)
    expect(0 < parsed < count, f"{parsed:,} of {count:,} inputs were valid: too few or too many for a useful test")
    figures = {"valid": f"{parsed:,}", "refused with a position": f"{count - parsed:,}"}
    return CheckResult(f"{count:,} inputs", {**figures, "slowest": f"{slowest:.1f} ms"})
