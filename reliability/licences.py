"""Write docs/licences.md: all packages that softset and its extras bring here, with what they say of their licence."""

import importlib.metadata

from reliability.checks.audit import closure, licence
from reliability.page import ROOT

HEAD = """# Licences

softset is under Apache-2.0. What it brings when it is installed, and what its extras bring, as the packages themselves
say (`python -m reliability.licences`, in an environment with the extras); the bundled data are in
[src/softset/assets/README.md](../src/softset/assets/README.md).

| package | version | licence | needed by |
|---|---|---|---|
"""


def main() -> None:
    plain = set(closure())
    told = {name: (importlib.metadata.version(name), licence(name)) for name in closure(("all",))}
    rows = [
        f"| {name} | {version} | {terms} | {'softset' if name in plain else 'an extra'} |\n"
        for name, (version, terms) in told.items()
    ]
    (ROOT / "docs" / "licences.md").write_text(HEAD + "".join(rows), "utf-8")


if __name__ == "__main__":
    main()
