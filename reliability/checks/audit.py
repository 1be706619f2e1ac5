"""Network and supply chain: sockets watched, dependencies listed with their licences, code and data checked."""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from reliability.check import Check, Finding, Skip, expect
from reliability.page import ROOT

__all__ = ["CHECKS"]

WATCHED = """
import os, sys
seen = []
def hook(event, arguments):
    if event.startswith("socket."):
        seen.append(f"{event} {arguments!r}"[:200])
sys.addaudithook(hook)
def note(step):
    files = [f"/proc/self/fd/{one}" for one in os.listdir("/proc/self/fd")]
    open_ones = [os.readlink(one) for one in files if os.path.islink(one)]
    bad = seen + [one for one in open_ones if one.startswith("socket:")]
    if bad:
        print(step, *bad, sep="; ")
        sys.exit(1)
import softset
note("import")
words = softset.load_words()
print(words.find("{red, blue} & {apple}", 3)[0].id)
note("find")
print(softset.score(["a red book"], ["a blue book"]).score[0])
note("score")
print(softset.score(["a red book"], ["a blue book"], model="words").score[0])
note("score with words")
softset.Scorer().explain("a red book", "two blue books")
note("explain")
from softset.cli import main
for line in ("find,{sea} - war", "explain,a king,a queen", "vectors,list", "models,list"):
    command = line.split(",")
    try:
        main(command)
    except SystemExit as ended:
        assert not ended.code, command
    note(" ".join(command))
print("done")
"""
CALLS = re.compile(r"\b(socket|connect|sendto|bind)\(")
KNOWN_LICENCES = (
    "Apache",
    "BSD",
    "MIT",
    "PSF",
    "Python Software Foundation",
    "ISC",
    "MPL",
    "Unlicense",
    "Zlib",
    "HPND",
    "CC0",
)


def _network(short: bool) -> Finding:
    """Watch Python's own sockets by its audit events, and the system's calls where strace is there to see them."""
    del short
    if not Path("/proc/self/fd").is_dir():
        raise Skip("open sockets are known from /proc, which is not here")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "calls")
        strace = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(trace)] if shutil.which("strace") else []
        done = subprocess.run([*strace, sys.executable, "-c", WATCHED], capture_output=True, text=True, check=False)
        expect(done.returncode == 0 and done.stdout.endswith("done\n"), f"{done.stdout[-300:]}{done.stderr[-300:]}")
        calls = [line for line in trace.read_text().splitlines() if CALLS.search(line)] if strace else []
    expect(not calls, f"system calls: {calls[:3]}")
    how = "Python's events, open files and the system's calls" if strace else "Python's events and open files"
    return Finding("import, find, score, explain and four commands", {"sockets": f"none, by {how}"})


# Dependencies


def closure(extras: tuple[str, ...] = ()) -> list[str]:
    """Return all that an installed softset needs, with some extras, by name."""
    from packaging.requirements import Requirement

    seen: dict[str, None] = {}
    todo = [("softset", frozenset(extras))]
    while todo:
        name, wanted = todo.pop()
        for line in importlib.metadata.requires(name) or ():
            need = Requirement(line)
            asked = [{"extra": extra} for extra in (*wanted, "")]
            if need.marker is not None and not any(need.marker.evaluate(one) for one in asked):
                continue
            plain = re.sub(r"[-_.]+", "-", need.name).lower()
            if plain in seen or plain == "softset" or not _installed(plain):
                continue
            seen[plain] = None
            todo.append((plain, frozenset(need.extras)))
    return sorted(seen)


def _installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def licence(name: str) -> str:
    """Return what a package says of its licence, in a few words."""
    facts = importlib.metadata.metadata(name)
    listed = [one.rpartition(" :: ")[2] for one in facts.get_all("Classifier") or () if one.startswith("License ::")]
    named = ", ".join(one for one in listed if one != "OSI Approved")
    lines = (facts.get("License") or "").strip().splitlines()
    return facts.get("License-Expression") or named or (lines[0] if lines else "unknown")


def _licences(short: bool) -> Finding:
    """See that all that a plain installation brings, and what extras are here, may be used freely."""
    del short
    plain, found = closure(), {name: licence(name) for name in closure(("all",))}
    odd = {name: told for name, told in found.items() if not any(one.lower() in told.lower() for one in KNOWN_LICENCES)}
    expect(not odd, f"licences to look at: {odd}")
    listed = (ROOT / "docs" / "licences.md").read_text("utf-8")
    missing = [name for name in plain if f"| {name} |" not in listed]
    expect(not missing, f"not in docs/licences.md: {missing}; python -m reliability.licences writes it")
    figures = {"of a plain installation": str(len(plain)), "not free to use": "none", "all": "docs/licences.md"}
    return Finding(f"{len(found)} packages, with the extras that are installed here", figures)


def _vulnerabilities(short: bool) -> Finding:
    """Ask pip-audit for known holes in what is installed for a plain softset and its extras."""
    del short
    names = closure(("all",))
    with tempfile.TemporaryDirectory() as folder:
        wanted = Path(folder, "requirements.txt")
        wanted.write_text("".join(f"{name}=={importlib.metadata.version(name).partition('+')[0]}\n" for name in names))
        command = [sys.executable, "-m", "pip_audit", "-r", str(wanted), "--no-deps", "--disable-pip", "-f", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No module named" in done.stderr:
        raise Skip("pip-audit is not installed: pip install pip-audit")
    if not done.stdout.strip():
        raise Skip("pip-audit cannot ask for known holes from here")
    told = json.loads(done.stdout)["dependencies"]
    asked = [one for one in told if "skip_reason" not in one]
    if not asked:
        raise Skip("the registry that this machine uses has no list of known holes")
    holes = {one["name"]: [hole["id"] for hole in one["vulns"]] for one in asked if one["vulns"]}
    expect(not holes, f"known holes: {holes}")
    return Finding(f"{len(asked)} packages of all extras", {"known holes": "none"})


def _code(short: bool) -> Finding:
    """Run ruff's security rules (bandit's) over the package, and count what is set aside with a reason."""
    del short
    command = [sys.executable, "-m", "ruff", "check", "--select", "S", "--output-format", "json", "src"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)
    expect(not found, f"{len(found)} findings, such as {found[:1]}")
    aside = [
        line
        for path in (ROOT / "src").rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"# noqa: [A-Z0-9, ]*\bS\d{3}", line)
    ]
    expect(all(re.search(r"noqa: [A-Z0-9, ]+\(", line) for line in aside), "a rule is set aside without a reason")
    pickles = [
        path
        for path in (ROOT / "src").rglob("*.py")
        if re.search(r"^\s*import pickle|pickle\.load", path.read_text("utf-8"), re.M)
    ]
    expect(not pickles, f"pickle is imported in {pickles}")
    return Finding("the package", {"findings": "none", "lines set aside with a reason": str(len(aside))})


def _assets(short: bool) -> Finding:
    """Check every bundled file by its SHA-256, as the first use does."""
    del short
    from softset.io.assets import ASSETS, CHECKSUMS, bundled_file, bundled_folder

    for name in CHECKSUMS:
        bundled_file(name)
    bundled_folder("minilm", "Model")
    bundled_folder("glove-840b-300d", "WordVectors")
    files = [path for path in ASSETS.rglob("*") if path.is_file()]
    return Finding(
        f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.0f} MB", {"changed": "none"}
    )


CHECKS = (
    Check("network", "audit", "sockets watched at import, find, score, explain", "none opened", _network),
    Check("licences", "audit", "the licences of all that is installed", "free to use, all of them listed", _licences),
    Check("holes", "audit", "pip-audit over all extras", "none known, or each answered", _vulnerabilities),
    Check("code", "audit", "ruff's security rules, and a look for pickle", "none, or set aside with a reason", _code),
    Check("assets", "audit", "bundled data by their SHA-256, as at load", "none changed", _assets),
)
