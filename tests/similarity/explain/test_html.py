"""The HTML page of an explanation is well-formed, safe, and readable without colour or script."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from softset.errors import InputError
from softset.io.text import printable
from softset.similarity.explain import ExplainedText
from softset.similarity.explain.html import MAX_TOKENS, as_html
from tests.similarity.explain.cases import NASTY, explain, royalty, text_of

VOID = {"meta"}


class Page(HTMLParser):
    """The elements of a page, each with its attributes, its path and the text inside it."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[dict] = []
        self.elements: list[dict] = []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes) -> None:
        assert len(dict(attributes)) == len(attributes)
        element = {"tag": tag, "text": "", "path": [each["tag"] for each in self.open], **dict(attributes)}
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag) -> None:
        if tag not in VOID:
            assert self.open.pop()["tag"] == tag

    def handle_data(self, data) -> None:
        in_number = any(element["tag"] == "rt" for element in self.open)
        for element in self.open:
            if element["tag"] == "rt" or not in_number:
                element["text"] += data

    def all(self, tag: str, **attributes: str) -> list[dict]:
        return [element for element in self.elements if element["tag"] == tag and attributes.items() <= element.items()]


def luminance(colour: tuple[float, ...]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(ink: tuple[float, ...], paper: tuple[float, ...]) -> float:
    dark, light = sorted((luminance(ink), luminance(paper)))
    return (light + 0.05) / (dark + 0.05)


def test_texts_are_unchanged_and_each_token_has_its_membership() -> None:
    text = "  “Royal-\n\tties”, <b>not</b> royals!  "
    candidate = text_of("Royal", "ties", "not", "royals", text=text)
    page = Page(as_html(explain(candidate, royalty().reference)))
    shown = page.all("p", **{"class": "text"})
    assert [element["text"] for element in shown] == [text, "We are the king and queen"] * 2
    marks = [mark for mark in page.all("a") if mark["href"].startswith("#v0c")]
    assert [mark["text"] for mark in marks] == ["Royal", "ties", "not", "royals"]
    rows = {row["id"]: row["text"] for row in page.all("tr") if "id" in row}
    for mark, number in zip(marks, page.all("rt"), strict=False):
        assert (
            number["text"] in rows[mark["href"][1:]] and f"membership {number['text']}, weight 0.250" in mark["title"]
        )


def test_largest_cosine_is_bold_and_shares_are_coloured() -> None:
    source = as_html(royalty())
    page = Page(source)
    assert [element["text"] for element in page.all("h2")] == ["bertscore", "subspace"]
    assert page.all("title")[0]["text"] == page.all("h1")[0]["text"] == "What two texts share"
    assert [element["text"] for element in page.all("strong")] == [
        "0.64",
        "0.12",
        "0.08",
        "0.15",
        "0.64",
        "0.10",
        "0.61",
    ]
    assert '<td class="n h10">0.51</td>' in source and '<td class="n c0">-0.01</td>' in source
    assert [element["value"] for element in page.all("meter")] == "0.640 0.280 0.390 0.860 0.140 0.240".split()
    assert page.all("a", href="#v1c0")[0]["data-to"] == "v1r3 v1r5 v1r2"
    assert page.all("footer")[0]["text"] == "softset test"


def test_tables_are_named_and_links_have_targets() -> None:
    page = Page(as_html(explain(text_of(*NASTY), text_of("a", "b"))))
    ids = [element["id"] for element in page.elements if "id" in element]
    assert len(ids) == len(set(ids))
    assert {link["href"][1:] for link in page.all("a")} <= set(ids)
    assert {to for link in page.all("a") for to in link["data-to"].split()} <= set(ids)
    assert {element["aria-labelledby"] for element in page.elements if "aria-labelledby" in element} <= set(ids)
    assert len(page.all("table")) == len(page.all("caption")) == 4
    assert all(element["text"] for element in page.all("caption"))
    assert {element["scope"] for element in page.all("th")} == {"row", "col"}
    assert all(element.get("tabindex") == "0" for element in page.all("div", role="region"))
    assert page.all("html")[0]["lang"] == "en" and all(element["lang"] == "" for element in page.all("bdi"))


def test_text_is_escaped_and_nothing_is_loaded() -> None:
    candidate, reference = text_of(*NASTY), text_of(*reversed(NASTY))
    source = as_html(explain(candidate, reference, ("bertscore<script>",)))
    page = Page(source)
    assert source.encode()  # lone surrogates are escaped, too
    assert len(page.all("script")) == 1 and len(page.all("style")) == 1
    assert not [
        name for element in page.elements for name in element if name.startswith("on") or name in {"src", "style"}
    ]
    assert all(element["href"].startswith("#v0") for element in page.elements if "href" in element)
    assert not re.search(r"https?:|//\w|url\(|@import", source.replace("<!doctype html>", ""))
    assert not set(source) & set("\x00\x07\r\x1b\u202e\u2066\u2028")
    assert page.all("h2")[0]["text"] == "bertscore<script>"
    heads = [element["text"] for element in page.all("bdi")]
    assert {printable(text) for text in NASTY} <= set(heads)


def test_content_security_policy_allows_only_own_style_and_script() -> None:
    page = Page(as_html(royalty()))
    policy = page.all("meta", **{"http-equiv": "Content-Security-Policy"})[0]["content"]
    for tag in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.all(tag)[0]["text"].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';") and "unsafe" not in policy


def test_tokens_without_spans_are_inserted() -> None:
    marks = ExplainedText("ab👑", ("[CLS]", "ab", "ð", "Ł", "[SEP]"), ((0, 0), (0, 2), (2, 3), (2, 3), (3, 3)))
    page = Page(as_html(explain(marks, ExplainedText("a b", ("a", "b"), None), ("bertscore",))))
    first, second = page.all("p", **{"class": "text"})
    assert first["text"] == "[CLS]ab👑 Ł [SEP]" and second["text"] == "a b"
    assert [link["text"] for link in page.all("a") if link["class"].endswith("extra")] == ["[CLS]", "Ł", "[SEP]"]
    unknown = ExplainedText(None, ("a", "b"), ((0, 1), (1, 2)))
    assert Page(as_html(explain(unknown, marks))).all("p", **{"class": "text"})[0]["text"] == "a b"
    assert (
        Page(as_html(explain(ExplainedText("", (), ()), text_of("a")))).all("p", **{"class": "text"})[0]["text"] == ""
    )


@pytest.mark.parametrize("theme", [0, 1])
def test_contrast_in_light_and_dark_themes(theme: int) -> None:
    css = (files("softset.similarity.explain") / "page.css").read_text()
    palettes = re.findall(r":root {(.*?)}", css)
    palette = dict(re.findall(r"--(\w+): (#\w+);", palettes[theme]))
    colour = {
        name: tuple(int(value[start : start + 2], 16) / 255 for start in (1, 3, 5)) for name, value in palette.items()
    }
    for name in ("hot", "cold"):
        for step in range(11):
            channels = zip(colour[name], colour["paper"], strict=True)
            assert contrast(colour["ink"], tuple(step / 10 * a + (1 - step / 10) * b for a, b in channels)) >= 4.5
    for name in ("bar", "line"):
        assert contrast(colour[name], colour["paper"]) >= 3


def test_too_many_tokens_are_refused() -> None:
    most, more = text_of(*["a"] * MAX_TOKENS), text_of(*["a"] * (MAX_TOKENS + 1))
    assert len(as_html(explain(most, most))) < 8_000_000
    with pytest.raises(InputError, match="0 to 200 tokens of a text, but the reference has 201"):
        as_html(explain(most, more))
