"""Take the screenshots of the web page for README.md and docs/server.md, in Chromium: `make pictures`."""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.server.conftest import ServerProcess

TARGET = Path(__file__).parent.parent / "docs" / "pictures"
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
SETS = "#/sets?q={red, blue, green} %26 {apple, peach, banana}&logics=logistic,lattice&top=8"
SENTENCES = "#/sentences?candidate=Royalty rules.&reference=The king and the queen reign.&metrics=bertscore,subspace"


def take() -> None:
    with ServerProcess("--quiet") as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=QUIET)
        page = browser.new_context(viewport={"width": 1000, "height": 600}).new_page()
        for name, fragment, ready, hovered in (
            ("page-sets", SETS, "[data-logic=lattice] .hit", None),
            ("page-sentences", SENTENCES, "[data-metric=subspace] .token", "[data-metric=subspace] .token"),
        ):
            page.goto("about:blank")
            page.goto(f"{server.url}/{fragment}")
            page.wait_for_selector(ready)
            page.wait_for_timeout(500)
            if hovered:
                page.hover(hovered)
                page.wait_for_timeout(200)
            page.screenshot(path=str(TARGET / f"{name}.png"), full_page=True)
        browser.close()


if __name__ == "__main__":
    take()
