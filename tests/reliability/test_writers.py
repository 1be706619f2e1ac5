"""The crash checks cover every function of the package that writes, renames or deletes files."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from reliability.check import CheckFailed
from reliability.checks import writes
from reliability.checks.writers import ATOMIC_FILES, NOT_KILLED, WRITTEN_BY, Writer, writers

import softset
from softset.errors import InputError

PACKAGE = Path(softset.__file__).parent
WRITES = {
    "copyfile", "copytree", "link_to", "locked", "makedirs", "mkdir", "mkdtemp", "mkstemp", "NamedTemporaryFile",
    "new_folder", "new_part", "open_locked", "rename", "renamed", "rmdir", "rmtree", "symlink_to", "TemporaryDirectory",
    "tofile", "touch", "truncate", "unlink", "write_atomically", "write_bytes", "write_table", "write_tensors",
    "write_text", "_changed",  # the lock of a collection
}  # fmt: skip
METHODS = {("np", "save"), ("np", "savez"), ("np", "savetxt"), ("sqlite3", "connect"), ("os", "open"), ("os", "remove")}


def writing_calls(module: Path) -> Iterator[tuple[str, str]]:
    """Yield the qualified name of the function around each call that writes, and the name that is called."""

    def visit(node: ast.AST, functions: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and (name := writing_name(child)):
                yield ".".join(functions), name
            is_scope = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            yield from visit(child, (*functions, child.name) if is_scope else functions)

    return visit(ast.parse(module.read_text("utf-8")), ())


def writing_name(call: ast.Call) -> str | None:
    """Return the name of a called function that writes, or None."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    owner = getattr(getattr(function, "value", None), "id", None)
    strings = [value.value for value in ast.walk(call) if isinstance(value, ast.Constant)]
    modes = {value for value in strings if isinstance(value, str) and set(value) <= set("rwaxbt+")}
    if name in WRITES or (owner, name) in METHODS or (name == "open" and set("".join(modes)) & set("wax+")):
        return name
    # Path.replace has one argument; str.replace has two.
    return name if name == "replace" and owner and len(call.args) == 1 and not call.keywords else None


def all_writing_calls() -> dict[str, list[str]]:
    calls = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if module != "io.atomic":  # the primitives themselves
            for function, name in writing_calls(path):
                calls[f"{module}:{function}"].append(name)
    return calls


def test_the_tables_name_every_function_that_writes() -> None:
    named = [*(name for functions in WRITTEN_BY.values() for name in functions), *ATOMIC_FILES, *NOT_KILLED]
    assert len(named) == len(set(named)), "a function is named twice"
    assert set(all_writing_calls()) == set(named), "complete the tables in reliability/checks/writers.py"


def test_atomic_files_are_written_by_one_call() -> None:
    calls = all_writing_calls()
    assert {
        name: calls[name] for name in ATOMIC_FILES if calls[name] not in (["write_atomically"], ["write_tensors"])
    } == {}


def test_a_function_that_writes_is_found(tmp_path: Path) -> None:
    source = """
class A:
    def b(self, path):
        path.replace(path)
        "text".replace("a", "b")
        path.open()
        path.open(encoding="utf-8")
def c(path):
    with path.open("wb"), open(path, mode="a"):
        np.save(path, 1)
"""
    (tmp_path / "a.py").write_text(source)
    assert list(writing_calls(tmp_path / "a.py")) == [("A.b", "replace"), ("c", "open"), ("c", "open"), ("c", "save")]


def test_the_writers_run_the_functions_that_they_cover(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOFTSET_CACHE", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    called: set[str] = set()

    def record(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(PACKAGE):
            module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
            called.add(f"{module}:{frame.f_code.co_qualname}")

    all_writers = writers(tmp_path / "files")
    assert {writer.name for writer in all_writers} == {*WRITTEN_BY, "idf"}
    for writer in all_writers:
        writer.reset()
        called.clear()
        sys.setprofile(record)
        try:
            writer.write()
        finally:
            sys.setprofile(None)
        assert writer.state() == "new"
        assert set(WRITTEN_BY.get(writer.name, ())) <= called, writer.name


@pytest.mark.parametrize("state", ["old", "new"])
def test_a_second_run_that_is_refused_is_detected(state: str) -> None:
    """Only a writer that is not repeatable may refuse, and only if the first run is complete."""

    def refuse() -> None:
        raise InputError("an interrupted run is in the way")

    for repeatable in (True, False):
        writer = Writer("scores", lambda: None, refuse, lambda: state, repeatable)
        if state == "new" and not repeatable:
            assert writes._check_recovery(writer, "now") == "new"
            continue
        with pytest.raises(CheckFailed, match=f"scores, now: a second run in the {state} state fails"):
            writes._check_recovery(writer, "now")
