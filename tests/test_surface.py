"""The public surface: sorted, lazy, and documented by examples that run."""

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

import softset


def test_the_names_are_sorted_and_there() -> None:
    assert softset.__all__ == sorted(softset.__all__)
    for name in softset.__all__:
        assert getattr(softset, name).__name__ == name
    assert set(softset.__all__) <= set(dir(softset))
    with pytest.raises(AttributeError, match="has no attribute 'Frobnicate'"):
        _ = softset.Frobnicate


def test_errors_form_the_tree_that_is_drawn() -> None:
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
    """And so has every public method; that the examples are right, doctest checks elsewhere."""
    kind = getattr(softset, name)
    assert ">>>" in kind.__doc__
    fields = getattr(kind, "__dataclass_fields__", {})  # their defaults are data
    for method, value in vars(kind).items():
        if not method.startswith("_") and method not in fields:
            documented = getattr(kind, method).__doc__
            without = isinstance(value, property) or getattr(kind, "_is_protocol", False)
            assert documented and (without or ">>>" in documented), method


def test_the_version_is_one() -> None:
    root = Path(__file__).parent.parent
    assert f"version: {softset.__version__}" in (root / "CITATION.cff").read_text()
    assert f"## {softset.__version__}" in (root / "CHANGELOG.md").read_text()
    assert importlib.metadata.version("softset") == softset.__version__
