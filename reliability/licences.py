"""Write docs/licences.md: the licences of all packages that softset and its extras install."""

import importlib.metadata

from reliability.checks.audit import closure, licence
from reliability.page import ROOT

HEAD = """# Licences

softset is licensed under Apache-2.0. This table lists the packages that softset and its extras install, with the
licences that the packages declare. `python -m reliability.licences` writes it, in an environment with all extras.
[src/softset/assets/README.md](../src/softset/assets/README.md) has the licences of the bundled data.

| package | version | licence | needed by |
|---|---|---|---|
"""


def main() -> None:
    core = set(closure())
    rows = [
        f"| {name} | {importlib.metadata.version(name)} | {licence(name)} | "
        f"{'softset' if name in core else 'an extra'} |\n"
        for name in closure(("all",))
    ]
    (ROOT / "docs" / "licences.md").write_text(HEAD + "".join(rows), "utf-8")


if __name__ == "__main__":
    main()
