"""Named sets, from files: TOML or JSON (name = list of examples, or a query text), or a folder of NAME.txt."""

import json
import os
import tomllib
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from softset.errors import FileError, InputError
from softset.io.atomic import write_atomically
from softset.io.text import html_table
from softset.query.expression import (
    And,
    Example,
    Examples,
    GivenSet,
    Minus,
    Named,
    Not,
    Or,
    SetExpression,
    as_expression,
    leaves,
)
from softset.query.parser import parse


class Sets(MutableMapping[str, SetExpression]):
    """Named sets, which queries refer to as @name.

    A set is a list of examples, a query text, a set expression or a set of the algebra; it may refer to other names.

    >>> import softset
    >>> sets = Sets({"colour": ["red", "blue", "green"]})
    >>> sets["fruit"] = softset.SetExpression.parse("{apple, peach, banana}")
    >>> sets
    Sets(colour={red, blue, green}, fruit={apple, peach, banana})
    >>> softset.load_words().find("@colour & @fruit", sets=sets, top=1)
    0.599  orange
    """

    def __init__(self, sets: Mapping[str, Any] | None = None) -> None:
        content: Any = sets or {}
        if not isinstance(content, Mapping):
            given = f"a {type(sets).__name__} was given; read a file with softset.Sets.load"
            raise InputError(f"named sets must be a dictionary of names and sets, but {given}")
        self._sets: dict[str, SetExpression] = {}
        self.update(content)

    def __getitem__(self, name: str) -> SetExpression:
        return self._sets[name]

    def lookup(self, name: str) -> SetExpression:
        """Return the set with a name, or raise InputError with the nearest name.

        >>> Sets({"colour": ["red", "blue"]}).lookup("color")
        Traceback (most recent call last):
        softset.errors.InputError: there is no set named @color; did you mean @colour?
        """
        if name in self._sets:
            return self._sets[name]
        near = get_close_matches(name, self._sets, n=1)
        known = f"known are {', '.join(sorted(self)[:20])}" if self else "there are no named sets: use --named-sets"
        raise InputError(f"there is no set named @{name}; {f'did you mean @{near[0]}?' if near else known}")

    def expand(self, tree: SetExpression, parents: tuple[str, ...] = ()) -> SetExpression:
        """Return an expression with each @name replaced by its set; lists of examples keep their name.

        >>> sets = Sets({"colour": ["red", "blue"], "shade": "@colour - {white}"})
        >>> print(sets.expand(parse("@shade & {fruit}")))
        @colour - {white} & {fruit}
        """
        match tree:
            case Not(inner):
                return Not(self.expand(inner, parents))
            case And(left, right) | Or(left, right) | Minus(left, right):
                return replace(tree, left=self.expand(left, parents), right=self.expand(right, parents))
            case Named(name):
                if name in parents:
                    raise InputError(f"the set @{name} refers to itself: {' -> '.join([*parents, name])}")
                value = self.lookup(name)
                return tree if isinstance(value, Examples) else self.expand(value, (*parents, name))
        return tree

    def __setitem__(self, name: str, value: Any) -> None:
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"a set needs a name, but {name!r} was given")
        if isinstance(value, list | tuple):
            if not value or not all(isinstance(text, str) and text.strip() for text in value):
                raise InputError(f"the set {name!r} must be a list of words or phrases, none of them empty")
            value = Examples(tuple(map(Example, value)))
        self._sets[name] = parse(value) if isinstance(value, str) else as_expression(value)

    def __delitem__(self, name: str) -> None:
        del self._sets[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def __len__(self) -> int:
        return len(self._sets)

    def __repr__(self) -> str:
        return f"Sets({', '.join(f'{name}={value}' for name, value in self.items())})"

    def _repr_html_(self) -> str:
        return html_table(["name", "set"], [[f"@{name}", str(value)] for name, value in self.items()])

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read the named sets of a TOML or JSON file, or of a folder with a file NAME.txt for each set.

        In a file, a list of strings holds examples, and a string holds a query text. A line of a .txt file is an
        example.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "colour.txt").write_text("red\\nblue\\n")
        ...     Sets.load(folder)
        Sets(colour={red, blue})
        """
        source = Path(path)
        if source.is_dir():
            content: Any = {file.stem: _read_lines(file) for file in sorted(source.glob("*.txt"))}
        else:
            content = _read_mapping(source)
        try:
            return cls(content)
        except InputError as error:
            raise FileError(f"{source}: {error}") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sets to a TOML file, or to a JSON file if the name ends with .json.

        Vectors and subspaces have no text, so sets that contain them are refused.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Sets({"colour": ["red", "blue"], "shade": "@colour - white"}).save(f"{folder}/sets.toml")
        ...     print(pathlib.Path(folder, "sets.toml").read_text(), end="")
        "colour" = ["red", "blue"]
        "shade" = "@colour - {white}"
        """
        content = {name: _to_plain(name, value) for name, value in self.items()}
        if Path(path).suffix.lower() == ".json":
            text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
        else:  # strings and lists of JSON are also TOML, except that TOML wants DEL escaped
            pairs = ((json.dumps(part, ensure_ascii=False) for part in pair) for pair in content.items())
            text = "".join(f"{name} = {value}\n" for name, value in pairs).replace("\x7f", "\\u007f")
        write_atomically(Path(path), text.encode())


def _to_plain(name: str, value: SetExpression) -> list[str] | str:
    examples = [each for leaf in leaves(value) if isinstance(leaf, Examples) for each in leaf.items]
    if any(isinstance(leaf, GivenSet) for leaf in leaves(value)) or any(each.kind == "vector" for each in examples):
        raise InputError(f"the set {name!r} contains a vector or a subspace, which a file of sets cannot hold")
    is_list = isinstance(value, Examples) and all((each.weight, each.kind) == (1, "text") for each in examples)
    return [each.text for each in examples] if is_list else str(value)


def _read_mapping(source: Path) -> dict[str, Any]:
    text, is_json = _read_text(source), source.suffix.lower() == ".json"
    try:
        sets: Any = json.loads(text) if is_json else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{source} cannot be read as {'JSON' if is_json else 'TOML'}: {error}") from error
    if not isinstance(sets, dict):
        raise FileError(f"{source} must map names to lists of examples, but holds a {type(sets).__name__}")
    for name, value in sets.items():
        if not isinstance(value, list | str):
            raise FileError(f"{source}: the set {name!r} must be a list of words or phrases, or a query text")
    return sets


def _read_text(source: Path) -> str:
    try:
        return source.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"{source} is not UTF-8 (byte {error.start}): convert it first") from error


def _read_lines(file: Path) -> list[str]:
    lines = [line.strip() for line in _read_text(file).splitlines()]
    return [line for line in lines if line and not line.startswith("#")]
