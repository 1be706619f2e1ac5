"""Run the benchmarks: `python -m benchmarks` all of them, each in a process of its own; `--case NAME` one.

Ours and the peer run in turns in one process, after a warm-up, with the same number of threads; medians are printed. A
case whose data or peer is not here is skipped, and says what to install.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.case import Case

ROOT = Path(__file__).parent.parent
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def main() -> None:
    given = _arguments()
    _prepare(given)
    from benchmarks.cases import CASES  # only now: libraries read the number of threads when they are loaded

    if given.list:
        width = max(map(len, CASES))
        print("\n".join(f"{name:{width}}  {case.about}" for name, case in CASES.items()))
        return
    unknown = [name for name in given.case or () if name not in CASES]
    if unknown:
        sys.exit(_usage(f"there is no case {unknown[0]!r}; known are {', '.join(CASES)}"))
    names = given.case or list(CASES)
    if len(names) == 1 and given.case:
        _one(CASES[names[0]], given)
    else:
        _several(names, given)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", metavar="NAME", help="run this case; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--json", action="store_true", help="print an object a case instead of the table")
    parser.add_argument("--quick", action="store_true", help="less work, on bundled vectors: to see that a case runs")
    parser.add_argument("--data", metavar="DIR", help="the folder that holds sts/raw/STSB-test.tsv [SOFTSET_DATA]")
    parser.add_argument("--threads", type=int, metavar="N", help="for ours and the peers [all cores]")
    parser.add_argument("--write", action="store_true", help="renew the table in benchmarks/README.md")
    given = parser.parse_args()
    if given.write and (given.case or given.quick):
        parser.error("--write wants all cases in full: leave out --case and --quick")
    if given.threads is not None and given.threads < 1:
        parser.error("--threads must be 1 or more")
    return given


def _usage(problem: str) -> int:
    print(f"python -m benchmarks: {problem}", file=sys.stderr)
    return 2


def _prepare(given: argparse.Namespace) -> None:
    """Set what ours, the peers and all child processes have in common."""
    from_affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = given.threads or int(os.environ.get("OMP_NUM_THREADS") or from_affinity)
    os.environ.update(dict.fromkeys(POOLS, str(threads)))
    os.environ.setdefault("SOFTSET_CACHE", str(ROOT / ".cache" / "softset"))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.update(HF_HUB_OFFLINE="1", TQDM_DISABLE="1")
    if given.data:
        os.environ["SOFTSET_DATA"] = given.data


def _one(case: "Case", given: argparse.Namespace) -> None:
    """Run a case here and print it."""
    with contextlib.redirect_stdout(sys.stderr):  # what peers print is talk
        found = case.record(given.quick)
    print(json.dumps(found) if given.json else _told(found))


def _several(names: list[str], given: argparse.Namespace) -> None:
    """Run cases, each in a process of its own, and print the table."""
    from benchmarks.measuring import machine
    from benchmarks.table import aligned, renew

    described, found, failed = machine(), [], []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "benchmarks", "--case", name, "--json", *(["--quick"] if given.quick else [])]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            failed.append(name)
        else:
            found.append(json.loads(done.stdout))
    print(json.dumps(found) if given.json else f"{described}\n\n{aligned(found)}")
    if given.quick:
        print("A quick run only shows that the cases run: the targets are for the full work.", file=sys.stderr)
    if failed:
        sys.exit(f"these cases failed: {', '.join(failed)}")
    if given.write:
        renew(ROOT / "benchmarks" / "README.md", found, described)


def _told(found: dict[str, Any]) -> str:
    from benchmarks.table import aligned, remarks

    return "\n".join([aligned([found]), *remarks(found)])


if __name__ == "__main__":
    main()
