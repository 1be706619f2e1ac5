"""The public names: sorted, imported lazily, documented by examples that run."""

import ast
import importlib.metadata
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import pytest

import softset


def test_public_names_are_sorted_and_exist() -> None:
    assert softset.__all__ == sorted(softset.__all__)
    for name in softset.__all__:
        assert getattr(softset, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Frobnicate'"):
        _ = softset.Frobnicate


def test_completion_shows_only_public_names() -> None:
    code = "import softset, softset.search.words; softset.score; print(*dir(softset))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert names == sorted([*softset.__all__, "__version__"])


def test_type_checkers_see_the_same_names_as_the_interpreter() -> None:
    """The imports for type checkers are the only second list of the lazy names."""
    tree = ast.parse(Path(softset.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    imports = {alias.asname: node.module for node in block.body for alias in node.names}
    assert imports == softset._MODULES


def test_errors_form_the_documented_tree() -> None:
    from softset import errors

    assert errors.__all__ == sorted(errors.__all__)
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.SoftsetError) and kind.__doc__
        assert name in str(errors.__doc__)
    assert issubclass(errors.InputError, ValueError) and issubclass(errors.MissingExtraError, ImportError)


def test_importing_softset_loads_nothing_heavy() -> None:
    code = "import sys, softset; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavies = ("numpy", "torch", "scipy", "click", "safetensors", "matplotlib", "onnxruntime", "tokenizers")
    for heavy in (*heavies, "transformers", "sqlite3", "softset.algebra"):
        assert heavy not in loaded


def test_the_algebra_does_not_import_torch() -> None:
    code = "import sys, softset; softset.Subspace.whole(2).membership([1, 1]); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize("name", softset.__all__)
def test_every_public_name_has_an_example(name: str) -> None:
    """Every public method has one too; doctest runs them."""
    kind = getattr(softset, name)
    assert ">>>" in kind.__doc__
    fields = getattr(kind, "__dataclass_fields__", {})  # their defaults are data
    for method, value in vars(kind).items():
        if not method.startswith("_") and method not in fields:
            documented = getattr(kind, method).__doc__
            declared = getattr(kind, "_is_protocol", False) or getattr(value, "__isabstractmethod__", False)
            without = isinstance(value, property | cached_property) or declared
            assert documented and (without or ">>>" in documented), method


def test_all_files_state_the_same_version() -> None:
    root = Path(__file__).parent.parent
    assert f"version: {softset.__version__}" in (root / "CITATION.cff").read_text()
    assert f"## {softset.__version__}" in (root / "CHANGELOG.md").read_text()
    assert importlib.metadata.version("softset") == softset.__version__


def test_make_run_ends_with_how_to_call_softset() -> None:
    makefile = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.split("\nrun:")[1].split("\n\n")[0].splitlines()
    assert recipe[-1].startswith("\t@echo") and "$(BIN)/softset" in recipe[-1] and "$(BIN)/activate" in recipe[-1]
