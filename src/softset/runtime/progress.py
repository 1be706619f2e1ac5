"""Progress of long calls: the argument `progress`, and the bar that it shows."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

from softset.errors import InputError

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

PROGRESS_DELAY = 2.0  # seconds: on the command line, shorter work shows no progress bar
REFRESH = 0.2  # seconds between two updates of the bar in a notebook

Progress = Callable[[int, int], None]  # receives the numbers of finished and of all texts, pairs or rows
ProgressOption = Progress | bool | None  # what a caller may give: a function, or True for a bar


@contextmanager
def report_progress(progress: ProgressOption | object, unit: str) -> Iterator[Progress | None]:
    """Yield the function that a call reports its progress to, or None; True shows a bar that counts `unit`.

    >>> with report_progress(print, "texts") as report:
    ...     report(1, 2)
    1 2
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        with ProgressBar(unit, delay=0.0, transient=False) as bar:
            yield bar
    elif callable(progress):
        yield progress
    else:
        kind = type(progress).__name__
        raise InputError(f"progress is of type {kind}, but True or a function of (done, total) was expected")


def span(progress: Progress | None, start: int, stop: int, total: int) -> Progress | None:
    """Return a function that reports the progress of one step, which goes from `start` to `stop` of `total`.

    >>> step = span(print, 10, 20, 100)
    >>> step(1, 2)
    15 100
    """
    if progress is None:
        return None
    return lambda done, count: progress(start + (stop - start) * done // max(count, 1), total)


def iter_blocks(total: int, size: int, progress: Progress | None) -> Iterator[tuple[int, int, Progress | None]]:
    """Yield where each block of `size` texts begins and ends, and a function that reports the progress of the block.

    >>> [(start, stop) for start, stop, _ in iter_blocks(5, 2, None)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, total, size):
        stop = min(start + size, total)
        yield start, stop, span(progress, start, stop, total)
        if progress is not None:
            progress(stop, total)


class ProgressBar:
    """A progress bar with the time left: on standard error, or in the output of a notebook.

    Calling it with the numbers done and in total updates it, so it serves as the `progress` argument of the library. A
    total of 0 or None is unknown. On the command line it appears on terminals only, after `PROGRESS_DELAY` seconds, and
    disappears at the end.
    """

    def __init__(self, unit: str, *, delay: float | None = None, transient: bool = True) -> None:
        self.unit, self.start, self.transient = unit, time.monotonic(), transient
        self.delay = PROGRESS_DELAY if delay is None else delay
        self.bar: RichProgress | None = None
        self.visible = sys.stderr.isatty() or not transient
        self._picture: Any = None  # the output of a notebook
        self._drawn = 0.0

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int | None = None) -> None:
        """Show how much is done."""
        if self.bar is None and self.visible and time.monotonic() - self.start >= self.delay:
            self._start()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=done, total=total or None)
            if self._picture is not None and time.monotonic() - self._drawn >= REFRESH:
                self._draw()

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns: Any = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
        notebook = notebook_display()
        console = Console(stderr=True, force_jupyter=False)
        self.bar = Progress(*columns, console=console, transient=self.transient)  # notes are printed above it
        self.bar.add_task(self.unit, total=None)
        if notebook is None:
            self.bar.start()
        else:  # rich's own display in notebooks needs ipywidgets
            self._picture = notebook(self.bar, display_id=True)

    def _draw(self) -> None:
        self._picture.update(self.bar)
        self._drawn = time.monotonic()

    def __exit__(self, *error: object) -> None:
        if self._picture is not None:
            self._draw()
        elif self.bar is not None:
            self.bar.stop()


def notebook_display() -> Callable[..., Any] | None:
    """Return IPython's `display` in a notebook, or None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or type(shell).__name__ == "TerminalInteractiveShell":
        return None
    display: Callable[..., Any] = import_module("IPython.display").display
    return display
