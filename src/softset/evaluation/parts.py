"""Long evaluations, dataset by dataset: what is finished is kept, and a run that was interrupted goes on."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from softset.errors import InputError
from softset.evaluation.results import Row
from softset.io.atomic import write_atomically
from softset.io.json_files import read_json

__all__ = ["Parts"]

KIND = "EvaluationUnderWay"


class Parts:
    """The rows of each dataset, in a file beside the result until the whole is done; without a path, in memory only.

    >>> parts = Parts(None, {})
    >>> parts.of("STS12", lambda: [Row("sts", "STS12", "average", "spearman", 0.5, 100)])[0].value
    0.5
    """

    def __init__(self, path: str | os.PathLike[str] | None, made_by: dict[str, Any], *, resume: bool = False) -> None:
        self.path = None if path is None else Path(path)
        self.made_by = json.loads(json.dumps(made_by))
        self._done: dict[str, Any] = {}
        if self.path is not None and self.path.exists():
            if not resume:
                raise InputError(f"{self.path} holds a run that was interrupted: go on with --resume, or remove it")
            before = read_json(self.path, KIND)
            if before.get("made_by") != self.made_by:
                raise InputError(f"{self.path} was begun with other options or data: remove it and start anew")
            self._done = before["done"]

    def of(self, name: str, compute: Callable[[], Sequence[Row]]) -> list[Row]:
        """Return the rows of one part: those kept, or else those computed now."""
        return [Row(**row) for row in self.kept(name, lambda: [row.to_dict() for row in compute()])]

    def kept(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return what one part has found, in any form that JSON has: what is kept, or else what is computed now.

        >>> Parts(None, {}).kept("STS12", lambda: {"rows": [], "variances": [0.1]})
        {'rows': [], 'variances': [0.1]}
        """
        if name not in self._done:
            self._done[name] = compute()
            self._keep()
        return self._done[name]

    def _keep(self) -> None:
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            content = {"softset": KIND, "made_by": self.made_by, "done": self._done}
            write_atomically(self.path, json.dumps(content, allow_nan=False).encode())

    def finish(self) -> None:
        """Forget the parts: the whole is written.

        >>> Parts(None, {}).finish()
        """
        if self.path is not None:
            self.path.unlink(missing_ok=True)
