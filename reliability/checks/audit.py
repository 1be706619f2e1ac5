"""Audit: no network access, free licences, no known vulnerabilities, safe code, unchanged bundled data."""

import importlib.metadata
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from reliability.check import CheckResult, CheckSkipped, check, expect
from reliability.page import ROOT

# Runs in a child process; exits with 1 after the first step that uses a socket.
WATCHED = """
import os, sys
events = []
def hook(event, arguments):
    if event.startswith("socket."):
        events.append(f"{event} {arguments!r}"[:200])
sys.addaudithook(hook)
def check(step):
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    open_files = [os.readlink(link) for link in links if os.path.islink(link)]
    sockets = events + [file for file in open_files if file.startswith("socket:")]
    if sockets:
        print(step, *sockets, sep="; ")
        sys.exit(1)
import softset
check("import")
words = softset.load_words()
print(words.find("{red, blue} & {apple}", 3)[0].id)
check("find")
print(softset.score(["a red book"], ["a blue book"]).score[0])
check("score")
print(softset.score(["a red book"], ["a blue book"], model="words").score[0])
check("score with words")
softset.Scorer().explain("a red book", "two blue books")
check("explain")
from softset.cli import main
for line in ("find,{sea} - war", "explain,a king,a queen", "vectors,list", "models,list"):
    command = line.split(",")
    try:
        main(command)
    except SystemExit as ended:
        assert not ended.code, command
    check(" ".join(command))
print("done")
"""
SYSTEM_CALLS = re.compile(r"\b(socket|connect|sendto|bind)\(")
FREE_LICENCES = "apache|bsd|mit|psf|python software foundation|isc|mpl|unlicense|zlib|hpnd|cc0"


@check("network", "audit", "watch for sockets during import, find, score and explain", goal="no sockets")
def _network(_: bool) -> CheckResult:
    """Watch Python's audit events and open files, and system calls if strace is installed."""
    if not Path("/proc/self/fd").is_dir():
        raise CheckSkipped("the check reads open sockets from /proc, which does not exist here")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder, "calls")
        strace = ["strace", "-f", "-qq", "-e", "trace=network", "-o", str(trace)] if shutil.which("strace") else []
        process = subprocess.run([*strace, sys.executable, "-c", WATCHED], capture_output=True, text=True, check=False)
        output = f"{process.stdout[-300:]}{process.stderr[-300:]}"
        expect(process.returncode == 0 and process.stdout.endswith("done\n"), output)
        calls = [line for line in trace.read_text().splitlines() if SYSTEM_CALLS.search(line)] if strace else []
    expect(not calls, f"system calls: {calls[:3]}")
    methods = "audit events, open files and system calls" if strace else "audit events and open files"
    return CheckResult("import, find, score, explain and four commands", {"sockets": f"none, according to {methods}"})


def closure(extras: tuple[str, ...] = ()) -> list[str]:
    """Return the names of all installed packages that softset needs, directly or indirectly, with some extras."""
    from packaging.requirements import Requirement

    installed = {_normalized(distribution.name) for distribution in importlib.metadata.distributions()}
    packages: set[str] = set()
    todo = [("softset", frozenset(extras))]
    while todo:
        package, package_extras = todo.pop()
        for line in importlib.metadata.requires(package) or ():
            requirement = Requirement(line)
            environments = [{"extra": extra} for extra in (*package_extras, "")]
            if requirement.marker is not None and not any(map(requirement.marker.evaluate, environments)):
                continue
            name = _normalized(requirement.name)
            if name not in packages and name != "softset" and name in installed:
                packages.add(name)
                todo.append((name, frozenset(requirement.extras)))
    return sorted(packages)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licence(name: str) -> str:
    """Return the licence that a package declares."""
    metadata = importlib.metadata.metadata(name)
    classifiers = [
        line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier") or () if line.startswith("License ::")
    ]
    names = ", ".join(line for line in classifiers if line != "OSI Approved")
    text = (metadata.get("License") or "").strip().splitlines()
    return metadata.get("License-Expression") or names or (text[0] if text else "unknown")


@check("licences", "audit", "list the licences of all installed packages", goal="only free licences")
def _licences(_: bool) -> CheckResult:
    core, licences = closure(), {name: licence(name) for name in closure(("all",))}
    unknown = {name: text for name, text in licences.items() if not re.search(FREE_LICENCES, text.lower())}
    expect(not unknown, f"unknown licences: {unknown}")
    page = (ROOT / "docs" / "licences.md").read_text("utf-8")
    missing = [name for name in core if f"| {name} |" not in page]
    expect(not missing, f"not in docs/licences.md: {missing}; run python -m reliability.licences")
    figures = {"without extras": str(len(core)), "other licences": "none", "list": "docs/licences.md"}
    return CheckResult(f"{len(licences)} packages, with all installed extras", figures)


@check("vulnerabilities", "audit", "run pip-audit on all extras", goal="none known, or each one answered")
def _vulnerabilities(_: bool) -> CheckResult:
    """Run pip-audit on the installed versions of all packages that softset and its extras need."""
    names = closure(("all",))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "requirements.txt")
        file.write_text("".join(f"{name}=={importlib.metadata.version(name).partition('+')[0]}\n" for name in names))
        command = [sys.executable, "-m", "pip_audit", "-r", str(file), "--no-deps", "--disable-pip", "-f", "json"]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No module named" in process.stderr:
        raise CheckSkipped("pip-audit is not installed: pip install pip-audit")
    if not process.stdout.strip():
        raise CheckSkipped("pip-audit cannot reach a vulnerability database")
    audited = [package for package in json.loads(process.stdout)["dependencies"] if "skip_reason" not in package]
    if not audited:
        raise CheckSkipped("the package registry of this machine has no vulnerability database")
    known = {package["name"]: [entry["id"] for entry in package["vulns"]] for package in audited if package["vulns"]}
    expect(not known, f"known vulnerabilities: {known}")
    return CheckResult(f"{len(audited)} packages of all extras", {"known vulnerabilities": "none"})


@check("code", "audit", "run ruff's security rules and search for pickle", goal="no findings without a reason")
def _code(_: bool) -> CheckResult:
    """Run ruff's security rules (those of bandit), count their exceptions, and search for pickle."""
    command = [sys.executable, "-m", "ruff", "check", "--select", "S", "--output-format", "json", "src"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    findings = json.loads(process.stdout)
    expect(not findings, f"{len(findings)} findings, such as {findings[:1]}")
    sources = {path: path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")}
    lines = [line for source in sources.values() for line in source.splitlines()]
    exceptions = [line for line in lines if re.search(r"# noqa: [A-Z0-9, ]*\bS\d{3}", line)]
    unexplained = [line for line in exceptions if not re.search(r"noqa: [A-Z0-9, ]+\(", line)]
    expect(not unexplained, f"rules disabled without a reason: {unexplained}")
    pickles = [path for path, source in sources.items() if re.search(r"^\s*import pickle|pickle\.load", source, re.M)]
    expect(not pickles, f"pickle is imported in {pickles}")
    return CheckResult("the package", {"findings": "none", "lines with an explained exception": str(len(exceptions))})


@check("assets", "audit", "verify the SHA-256 checksums of bundled data", goal="no changes")
def _assets(_: bool) -> CheckResult:
    """Verify the SHA-256 checksum of each bundled file, as the first use does."""
    from softset.io.assets import ASSETS, CHECKSUMS, bundled_file, bundled_folder

    for name in CHECKSUMS:
        bundled_file(name)
    bundled_folder("minilm", "Model")
    bundled_folder("glove-840b-300d", "WordVectors")
    sizes = [path.stat().st_size for path in ASSETS.rglob("*") if path.is_file()]
    return CheckResult(f"{len(sizes)} files, {sum(sizes) / 1e6:.0f} MB", {"changed": "none"})
