"""Console blocks of the documentation: run again and written anew by `python -m tests.docs.console FILE...`."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

BLOCK = re.compile(r"```console\n(.*?)```", re.DOTALL)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Return each `$ softset ...` line of a text's console blocks and the output that stands below it."""
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output.strip("\n")


def output_of(command: str) -> str:
    """Run a `softset` command and return what a person sees, both streams, without spaces at line ends."""
    program, *arguments = shlex.split(command)
    assert program == "softset"
    done = subprocess.run([sys.executable, "-m", "softset", *arguments], capture_output=True, text=True, timeout=60)
    return "\n".join(line.rstrip() for line in (done.stderr + done.stdout).strip("\n").splitlines())


def renewed(text: str) -> str:
    """Return a text with the output of every console block as it is today."""

    def block(found: re.Match[str]) -> str:
        parts = [f"$ {command}\n{output_of(command)}\n" for command, _ in commands(found[0])]
        return "```console\n" + "\n".join(parts) + "```"

    return BLOCK.sub(block, text)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(name)
        path.write_text(renewed(path.read_text()))
