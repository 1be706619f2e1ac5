"""The tutorials: run a notebook, and compare its stored outputs with those of the run.

`python -m tests.docs.notebooks docs/tutorials/*.ipynb` writes the current outputs into the files.
"""

import sys
from pathlib import Path
from typing import Any

SECONDS_PER_CELL = 120


def run_notebook(path: Path, folder: Path) -> Any:
    """Return a notebook with the outputs of a run in a folder; a cell that raises an error is an error here."""
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(path, as_version=4)
    metadata = notebook.metadata.copy()
    settings: dict[str, Any] = {"timeout": SECONDS_PER_CELL, "kernel_name": "python3", "record_timing": False}
    settings["coalesce_streams"] = True  # printed lines are one output, however fast they arrive
    NotebookClient(notebook, resources={"metadata": {"path": str(folder)}}, **settings).execute()
    notebook.metadata = metadata  # without the version of Python
    return notebook


def outputs_of(cell: Any) -> list[str]:
    """Return the text of each output of a cell."""
    outputs = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.get("outputs", ())]
    return ["".join(text) for text in outputs]


def main(names: list[str]) -> None:
    """Run notebooks and store their outputs."""
    import tempfile

    import nbformat

    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run_notebook(Path(name), Path(folder)), name)


if __name__ == "__main__":
    main(sys.argv[1:])
