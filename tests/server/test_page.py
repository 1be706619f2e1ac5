"""The page in Chromium: it shows the numbers of the command line, on a large screen and on a phone.

Needs playwright and chromium. Screenshots are saved to the folder SOFTSET_SCREENS, if that is set.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.conftest import ServerProcess

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # raised by playwright
]

CHROMIUM_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
SCREENS = os.environ.get("SOFTSET_SCREENS")
AXE = os.environ.get("SOFTSET_AXE")
QUERY = "{red, blue, green} & {apple, peach, banana}"
SENTENCES = ("Royalty rules.", "The king and the queen reign.")


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


class OpenPage:
    """A page with its requests and errors."""

    def __init__(self, context: object, url: str) -> None:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        self.page, self.url = context.new_page(), url
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.set_default_timeout(20_000)

    def open(self, fragment: str = "") -> object:
        self.page.goto(f"{self.url}/{fragment}")
        return self.page

    def copied(self, name: str, panel: str) -> str:
        self.page.click(f"#{panel} [data-copy={name}]")
        self.page.wait_for_selector(f"#{panel} [data-copy={name}]:text-is('Copied')")
        return self.page.evaluate("navigator.clipboard.readText()")


@pytest.fixture(params=["desktop", "phone"])
def opened(request, browser, server: ServerProcess) -> Iterator[OpenPage]:
    """A page on a large screen and on a phone; no test may cause errors or requests to other hosts."""
    size = {"desktop": {"width": 1200, "height": 900}, "phone": {"width": 390, "height": 844}}[request.param]
    context = browser.new_context(viewport=size, has_touch=request.param == "phone")
    opened = OpenPage(context, server.url)
    yield opened
    opened.page.wait_for_timeout(100)
    width = opened.page.evaluate("document.documentElement.scrollWidth")
    if SCREENS:
        Path(SCREENS).mkdir(parents=True, exist_ok=True)
        name = re.sub(r"\W+", "-", request.node.name).strip("-")
        opened.page.screenshot(path=str(Path(SCREENS) / f"{name}.png"), full_page=True)
    context.close()
    assert width <= size["width"]
    assert opened.requests and all(url.startswith(server.url) for url in opened.requests)
    assert opened.errors == []


def command_output(*arguments: str) -> dict:
    run = subprocess.run([sys.executable, "-m", "softset", *arguments], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def shown_hits(page: object, selector: str) -> list[tuple[str, str]]:
    return [
        (row.query_selector(".name").inner_text(), row.query_selector(".number").inner_text())
        for row in page.query_selector_all(f"{selector} .hit")
    ]


def wait_for_hits(page: object, selector: str, expected: list[tuple[str, str]]) -> None:
    """Wait until the page shows these results; fixed delays are too short on a busy machine."""
    page.wait_for_function(
        """([selector, expected]) => {
          const text = (row, name) => row.querySelector(name).innerText;
          const rows = [...document.querySelectorAll(`${selector} .hit`)];
          return JSON.stringify(rows.map((row) => [text(row, ".name"), text(row, ".number")])) === expected;
        }""",
        arg=[selector, json.dumps(expected, separators=(",", ":"), ensure_ascii=False)],
    )


def expected_hits(result: dict, name: str = "id") -> list[tuple[str, str]]:
    return [(hit[name], f"{hit['membership']:.3f}") for hit in result["results"]]


def wait_for_text(page: object, text: str, selector: str) -> None:
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector).textContent.includes(text)", arg=[selector, text]
    )


def test_queries_with_boxes(opened: OpenPage) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")
    assert shown_hits(page, "[data-logic=logistic]") == expected_hits(command_output("find", QUERY, "--json"))
    page.fill("#example-1", "plum")
    page.press("#example-1", "Enter")
    page.click("text=Add a set")
    page.keyboard.type("car, truck,")
    page.select_option("[aria-label='Operator before set 3']", "-")
    query = "({red, blue, green} & {apple, peach, banana, plum}) - {car, truck}"
    wait_for_text(page, "{car, truck}", "#results")
    wait_for_hits(page, "[data-logic=logistic]", expected_hits(command_output("find", query, "--json")))
    page.click("[aria-label='Remove set 3']")
    page.click("[aria-label='Remove plum']")
    wait_for_hits(page, "[data-logic=logistic]", expected_hits(command_output("find", QUERY, "--json")))


def test_results_of_one_logic_only_are_marked(opened: OpenPage) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")
    for logic in ("lattice", "graded"):
        page.check(f"#logics input[value={logic}]")
    page.wait_for_selector("[data-logic=graded] .hit")
    page.wait_for_timeout(500)
    results = {
        name: command_output("find", QUERY, "--logic", name, "--json") for name in ("logistic", "lattice", "graded")
    }
    for name, result in results.items():
        assert shown_hits(page, f"[data-logic={name}]") == expected_hits(result)
    names = {name: {hit["id"] for hit in result["results"]} for name, result in results.items()}
    for name, own in names.items():
        others = set().union(*(ids for other, ids in names.items() if other != name))
        marked = page.query_selector_all(f"[data-logic={name}] .hit:has(.only) .name")
        assert {row.inner_text() for row in marked} == own - others


def test_leaf_memberships_are_shown_on_focus(opened: OpenPage) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")
    first = page.query_selector("#results .hit")
    shares = first.query_selector(".shares")
    assert not shares.is_visible()
    first.focus()
    assert shares.is_visible()
    leaves = command_output("find", QUERY, "--explain", "--top", "1", "--json")["results"][0]["leaves"]
    for leaf in leaves:
        assert f"{leaf['membership']:.3f} in {leaf['leaf']}" in shares.inner_text()


def test_queries_as_text_and_their_errors(opened: OpenPage) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")
    page.click("#as-text")
    assert page.input_value("#query") == QUERY
    page.fill("#query", "~red & {dog, cat}")
    expected = expected_hits(command_output("find", "~red & {dog, cat}", "--json"))
    wait_for_text(page, expected[0][0], "#results")
    assert shown_hits(page, "#results") == expected
    page.click("#as-boxes")
    assert "The form can only show sets" in page.inner_text("#sets-error")
    page.fill("#query", "qwxzy")
    wait_for_text(page, "qwxzy", "#sets-error")
    assert page.inner_text("#sets-error").startswith("No example of {qwxzy} has a vector here")
    assert not shown_hits(page, "#results")
    page.fill("#query", "{red")
    wait_for_text(page, "A comma or } was expected here", "#sets-error")
    page.fill("#query", '{"new york", paris}')
    page.wait_for_selector("#results .hit")
    page.click("#as-boxes")
    assert page.inner_text("#boxes").count("×") == 2 and "new york" in page.inner_text("#boxes")
    page.click("#as-text")
    for query, sets in (
        ("{red} AND {blue} AND {green}", 3),
        ("({red} & {blue}) BUT NOT {green}", 3),
        ("{red} & {blue} | {green}", 0),
        ("{red} & ({blue} | {green})", 0),
        ("{red^2}", 0),
        ("red", 0),
    ):
        page.fill("#query", query)
        page.click("#as-boxes")
        assert page.is_visible("#query") == (not sets)
        if sets:
            assert len(page.query_selector_all(".box")) == sets
            page.click("#as-text")
    opened.errors.clear()  # the browser logs every response with an error status


def test_words_without_a_vector_are_marked_and_skipped(opened: OpenPage) -> None:
    page = opened.open("#/sets?q={red, qwxzy}")
    page.wait_for_selector("#results .hit")
    wait_for_text(page, "skipped because they have no vector: qwxzy", "#sets-status")
    assert [chip.get_attribute("data-example") for chip in page.query_selector_all("li.unknown")] == ["qwxzy"]
    expected = expected_hits(command_output("find", "{red, qwxzy}", "--skip-unknown", "--json"))
    assert shown_hits(page, "#results") == expected
    command = shlex.split(opened.copied("command", "sets"))
    assert expected_hits(command_output("find", "--json", *command[2:])) == expected


def test_a_failing_logic_does_not_affect_others(opened: OpenPage) -> None:
    page = opened.open("#/sets?q={red} %26 {fruit}&logics=logistic,lattice")
    page.wait_for_selector("[data-logic=logistic] .hit")
    assert "is empty" in page.inner_text("#results section[aria-label=lattice] .error")
    page.fill("#alpha", "0.7")
    page.wait_for_selector("[data-logic=lattice] .hit")
    expected = expected_hits(
        command_output("find", "{red} & {fruit}", "--logic", "lattice", "--alpha", "0.7", "--json")
    )
    assert shown_hits(page, "[data-logic=lattice]") == expected
    assert "alpha=0.7" in page.url
    opened.errors.clear()


def test_unfinished_input_is_added_before_boxes_change(opened: OpenPage) -> None:
    page = opened.open("#/sets?q={bass} - {guitar, drums}")
    page.wait_for_selector("#results .hit")
    page.fill("#example-0", "cello")
    page.click("text=Add a set")
    assert len(page.query_selector_all(".box")) == 3 and "cello" in page.inner_text("#boxes")
    page.fill("#example-1", "horn")
    page.click("[aria-label='Remove drums']")
    assert "drums" not in page.inner_text("#boxes") and "horn" in page.inner_text("#boxes")
    page.fill("#example-0", "viola")
    page.press("#example-0", "Tab")
    assert page.evaluate("() => document.activeElement !== document.body")
    for word in ("bass", "cello", "viola"):
        page.click(f"[aria-label='Remove {word}']")
    wait_for_text(page, "Set 1 is empty", "#sets-status")
    assert not shown_hits(page, "#results") and page.is_disabled("[data-copy=command]")
    page.click("[aria-label='Remove set 1']")
    page.wait_for_selector("#results .hit")


def test_a_link_to_a_missing_collection_shows_an_error(opened: OpenPage) -> None:
    page = opened.open("#/sets?q={red}&source=collection+gone")
    wait_for_text(page, "The link names the collection gone, which this server does not have", "#sets-status")
    assert not shown_hits(page, "#results")
    page.select_option("#source", "vectors glove-840b-300d")
    page.wait_for_selector("#results .hit")
    for fragment in ("#/constructor", "#/nothing?x=1", "#main"):
        page.goto("about:blank")
        opened.open(fragment)
        page.wait_for_selector("#results .hit")


def test_back_returns_to_the_previous_tab(opened: OpenPage) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")
    page.click("#tab-sentences")
    page.wait_for_selector(".token")
    page.go_back()
    page.wait_for_selector("#results .hit")
    assert page.is_visible("#boxes") and not page.is_visible("#candidate")


def test_a_link_restores_the_state(opened: OpenPage) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")
    page.check("#logics input[value=lattice]")
    page.fill("#top", "4")
    page.wait_for_function("() => document.querySelectorAll('[data-logic=lattice] .hit').length === 4")
    link, expected = opened.copied("link", "sets"), page.inner_text("#results")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_function("() => document.querySelectorAll('[data-logic=lattice] .hit').length === 4")
    assert page.inner_text("#results") == expected and page.input_value("#top") == "4"
    page.goto("about:blank")
    page.goto(f"{opened.url}/#/sets?q=~red%20%26%20dog")
    page.wait_for_selector("#results .hit")
    assert page.input_value("#query") == "~red & dog"


def test_copied_commands_give_the_shown_results(opened: OpenPage, tmp_path: Path) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")
    page.fill("#example-0", "it's")
    page.press("#example-0", "Enter")
    wait_for_text(page, "it's", "#results")
    command = shlex.split(opened.copied("command", "sets"))
    page.wait_for_timeout(400)
    assert command[:2] == ["softset", "find"]
    assert shown_hits(page, "#results") == expected_hits(command_output("find", "--json", *command[2:]))
    curl = shlex.split(opened.copied("curl", "sets"))
    response = subprocess.run(curl, capture_output=True, text=True, check=True).stdout
    assert shown_hits(page, "#results") == expected_hits(json.loads(response))
    script = tmp_path / "copied.py"
    script.write_text(opened.copied("python", "sets"))
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert [line.split()[1] for line in run.stdout.splitlines()] == [name for name, _ in shown_hits(page, "#results")]


def test_sentences_equal_the_command_line(opened: OpenPage, tmp_path: Path) -> None:
    page = opened.open("#/sentences")
    page.wait_for_selector(".token")
    for texts in (SENTENCES, ("-- Ein Café, bitte! 🙂 ok", "A coffee, please.")):
        page.fill("#candidate", texts[0])
        page.fill("#reference", texts[1])
        page.wait_for_function("text => document.querySelector('.tokens').textContent === text", arg=texts[0])
        page.wait_for_timeout(600)
        flags = [flag for name in ("bertscore", "subspace", "softset") for flag in ("--metric", name)]
        why = command_output("explain", *flags, "--json", "--", *texts)
        for view in why["metrics"]:
            place = f"[data-metric={view['metric']}]"
            for part in ("precision", "recall", "score"):
                assert page.inner_text(f"{place} [data-part={part}]") == f"{view[part]:.3f}"
            marks = page.query_selector_all(f"{place} .chance")
            levels = [100 * view["chance"][part] for part in ("precision", "recall", "score")]
            positions = [float(mark.evaluate("mark => mark.style.left").removesuffix("%")) for mark in marks]
            assert positions == pytest.approx(levels, abs=0.006)
            memberships = [f"{value:.3f}" for value in (*view["candidate_membership"], *view["reference_membership"])]
            assert [
                token.get_attribute("data-membership") for token in page.query_selector_all(f"{place} .token")
            ] == memberships
            assert page.query_selector_all(f"{place} .tokens")[1].inner_text() == texts[1]
    command = shlex.split(opened.copied("command", "sentences"))
    assert command_output("explain", "--json", *command[2:]) == why
    script = tmp_path / "copied.py"
    script.write_text(opened.copied("python", "sentences"))
    assert "softset" in subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout


def test_a_token_shows_its_links(opened: OpenPage) -> None:
    page = opened.open("#/sentences")
    page.wait_for_selector(".token")
    token = page.query_selector("[data-metric=bertscore] .token")
    token.focus()
    linked = page.query_selector_all("[data-metric=bertscore] .token.linked")
    names = [token.inner_text() for token in linked]
    assert names[0] == "Royalty" and "queen" in names
    assert page.inner_text("[data-metric=bertscore] .why").startswith("royalty: membership 0.61")
    page.focus("#candidate")
    assert not page.query_selector_all(".token.linked")
    page.fill("#candidate", " ")
    wait_for_text(page, "The candidate is empty", "#sentences-error")
    opened.errors.clear()


def test_uploaded_items_equal_an_indexed_file(opened: OpenPage, tmp_path: Path) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")  # tabs respond when the page has loaded
    page.click("#tab-items")
    lines = page.input_value("#lines").splitlines()
    page.click("#index")
    page.wait_for_selector("#items-results .hit")
    page.fill("#items-query", "{sea, ship} - war")
    page.wait_for_function("() => document.querySelector('#items-results').textContent.includes('(negated)')")
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    subprocess.run(
        [sys.executable, "-m", "softset", "index", str(tmp_path / "lines.txt"), "--out", str(tmp_path / "c")],
        check=True,
        capture_output=True,
    )
    expected = command_output("find", "--collection", str(tmp_path / "c"), "{sea, ship} - war", "--json", "--top", "20")
    assert shown_hits(page, "#items-results") == expected_hits(expected, "text")
    page.reload()
    page.wait_for_selector("#items-results .hit")
    assert shown_hits(page, "#items-results") == expected_hits(expected, "text")
    for name, content, message in (
        ("latin.txt", "Käse".encode("latin-1"), "is not a UTF-8 text file"),
        ("table.csv", b"id,text", "is a table"),
        ("picture.txt", b"a\0b", "is not a text file"),
    ):
        (tmp_path / name).write_bytes(content)
        page.set_input_files("#file", str(tmp_path / name))
        wait_for_text(page, message, "#items-error")
    dropped = tmp_path / "other.txt"
    dropped.write_text("".join(f"line {n} about the sea\r\n" for n in range(450)))
    page.set_input_files("#file", str(dropped))
    wait_for_text(page, "other.txt is loaded", "#items-status")
    page.select_option("#items-model", "words")
    page.click("#index")
    wait_for_text(page, "450 texts", "#items-status")
    assert len(shown_hits(page, "#items-results")) == 20


def test_keyboard_navigation(opened: OpenPage) -> None:
    page = opened.open()
    page.wait_for_selector("#results .hit")
    page.focus("#tab-sets")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-sentences" and page.is_visible("#candidate")
    page.keyboard.press("ArrowLeft")
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"as-boxes", "as-text", "source", "top", "example-0", "example-1", "add-box", "hit"} <= reached


def test_the_page_asks_for_the_api_key(browser, home) -> None:
    with ServerProcess(SOFTSET_API_KEY="correct-horse-battery") as locked:
        context = browser.new_context()
        page = context.new_page()
        page.goto(locked.url)
        page.wait_for_selector("#key-dialog[open]")
        page.keyboard.press("Escape")
        wait_for_text(page, "reload the page", "#sets-error")
        page.click("#tab-items")
        page.reload()
        for wrong in ("wrong", "ключ"):
            page.wait_for_selector("#key-dialog[open]")
            page.fill("#key", wrong)
            page.click("#key-dialog button")
            page.wait_for_selector("#key-wrong:visible")
        page.fill("#key", "correct-horse-battery")
        page.click("#key-dialog button")
        page.wait_for_selector("#results .hit")
        context.close()


def test_a_stopped_server_is_reported(browser, home) -> None:
    with ServerProcess() as running:
        context = browser.new_context()
        page = context.new_page()
        page.goto(running.url)
        page.wait_for_selector("#results .hit")
        running.stop()
        page.fill("#top", "5")
        wait_for_text(page, "Cannot reach the server", "#sets-error")
        context.close()


@pytest.mark.skipif(not AXE, reason="SOFTSET_AXE names the package of axe-core")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_accessibility_problems(browser, server: ServerProcess, scheme: str) -> None:
    with tarfile.open(AXE) as package:
        script = package.extractfile("package/axe.min.js").read().decode()
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    page.goto(server.url)
    page.wait_for_selector("#results .hit")
    page.check("#logics input[value=lattice]")
    page.wait_for_selector("[data-logic=lattice] .hit")
    page.evaluate(script)
    violations = []
    for tab, ready in (("sets", ".hit"), ("sentences", ".token"), ("items", "#index")):
        page.click(f"#tab-{tab}")
        page.wait_for_selector(f"#{tab} {ready}")
        page.wait_for_timeout(400)
        for rule in page.evaluate("axe.run()")["violations"]:
            violations += [f"{tab}: {rule['id']}: {node['target']} {node['failureSummary']}" for node in rule["nodes"]]
    context.close()
    assert violations == []
