"""Console blocks in the documentation. Run `python -m tests.docs.console FILE...` to update their output."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield each `$ softset ...` command in the console blocks of a text, with the output below it."""
    for block in CONSOLE.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.strip("\n")


def output_of(command: str) -> str:
    """Run a softset command and return both output streams, without spaces at the ends of lines."""
    program, *arguments = shlex.split(command)
    assert program == "softset"
    process = subprocess.run([sys.executable, "-m", "softset", *arguments], capture_output=True, text=True, timeout=60)
    return "\n".join(line.rstrip() for line in (process.stderr + process.stdout).strip("\n").splitlines())


def update_console(text: str) -> str:
    """Return a text with the current output in every console block."""

    def run_block(match: re.Match[str]) -> str:
        parts = [f"$ {command}\n{output_of(command)}\n" for command, _ in commands(match[0])]
        return "```console\n" + "\n".join(parts) + "```"

    return CONSOLE.sub(run_block, text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(update_console(path.read_text()))
