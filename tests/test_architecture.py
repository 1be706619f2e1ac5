"""Rules that hold for every module of the package."""

import ast
from collections import Counter
from pathlib import Path

import softset

SOURCE = Path(softset.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
# Names of 0.6 that readers did not understand, and that have been replaced.
OLD_MODULES = {
    *("accumulating", "asker", "asking", "belonging", "beyond", "borders", "closest", "codes", "coding", "combining"),
    *(
        "compiling",
        "conceptor",
        "counters",
        "counting",
        "desk",
        "drops",
        "explaining",
        "finding",
        "forking",
        "gathering",
    ),
    *("growing", "guards", "ingesting", "integers", "json_cursor", "kept", "layout", "mapping", "named", "naming"),
    *("offers", "opening", "parts", "picture", "probing", "products", "protocol", "readers", "resampling", "running"),
    *("score_file", "sealed", "shelf", "sides", "stacks", "stored", "symbols", "tangent", "triangles", "value", "wink"),
}
OLD_CLASSES = {
    *("Along", "Asked", "Belonging", "Bodies", "Counted", "Desk", "Drops", "Entry", "Finding", "Gathered", "Ground"),
    *("GrowingWords", "ImpatientProtocol", "Kept", "Keys", "Known", "LeafShare", "Lookup", "Map", "Memberships"),
    *("Offers", "OneByOne", "Screen", "Seal", "Sealed", "Searchable", "SetValue", "Shelf", "Spot", "Tangent", "_Wish"),
}


def class_names() -> Counter[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in MODULES]
    return Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def test_no_class_name_is_defined_twice() -> None:
    assert [name for name, count in class_names().items() if count > 1] == []


def test_modules_have_at_most_350_lines() -> None:
    lengths = {str(path.relative_to(SOURCE)): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {name: lines for name, lines in lengths.items() if lines > 350} == {}


def test_replaced_names_do_not_return() -> None:
    assert {path.stem for path in MODULES} & OLD_MODULES == set()
    assert set(class_names()) & OLD_CLASSES == set()
