"""Run the benchmarks: `python -m benchmarks` runs all cases, each in its own process; `--case NAME` runs one.

softset and the baseline alternate in one process, after a warm-up and with the same number of threads. The numbers are
medians. A case whose data or baseline is missing is skipped and says what to install.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.case import Case

ROOT = Path(__file__).parent.parent
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def main() -> None:
    options = _parse_arguments()
    _set_environment(options)
    from benchmarks.cases import CASES  # late, because libraries read the number of threads when they are imported

    if options.list:
        width = max(map(len, CASES))
        print("\n".join(f"{name:{width}}  {case.description}" for name, case in CASES.items()))
        return
    unknown = [name for name in options.case or () if name not in CASES]
    if unknown:
        message = f"the case {unknown[0]!r} is not known: use {', '.join(CASES)}"
        print(f"python -m benchmarks: {message}", file=sys.stderr)
        sys.exit(2)
    if options.case and len(options.case) == 1:
        _run_one(CASES[options.case[0]], options)
    else:
        _run_several(options.case or list(CASES), options)


def _parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", metavar="NAME", help="run this case; repeat for more cases")
    parser.add_argument("--list", action="store_true", help="list the cases and exit")
    parser.add_argument("--json", action="store_true", help="print JSON instead of the table")
    parser.add_argument("--quick", action="store_true", help="less work on bundled vectors, to check that a case runs")
    parser.add_argument("--data", metavar="DIR", help="folder that holds sts/raw/STSB-test.tsv [SOFTSET_DATA]")
    parser.add_argument("--threads", type=int, metavar="N", help="threads of softset and the baselines [all cores]")
    parser.add_argument("--write", action="store_true", help="update the table in benchmarks/README.md")
    options = parser.parse_args()
    if options.write and (options.case or options.quick):
        parser.error("--write needs all cases in full: omit --case and --quick")
    if options.threads is not None and options.threads < 1:
        parser.error("--threads must be 1 or more")
    return options


def _set_environment(options: argparse.Namespace) -> None:
    """Set the variables that softset, the baselines and all child processes share."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    threads = options.threads or int(os.environ.get("OMP_NUM_THREADS") or cores)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    os.environ.setdefault("SOFTSET_CACHE", str(ROOT / ".cache" / "softset"))
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    os.environ.update(HF_HUB_OFFLINE="1", TQDM_DISABLE="1")
    if options.data:
        os.environ["SOFTSET_DATA"] = options.data


def _run_one(case: "Case", options: argparse.Namespace) -> None:
    """Run a case in this process and print its result."""
    from benchmarks.table import details, text_table

    with contextlib.redirect_stdout(sys.stderr):  # some baselines print
        record = case.record(options.quick)
    print(json.dumps(record) if options.json else "\n".join([text_table([record]), *details(record)]))


def _run_several(names: list[str], options: argparse.Namespace) -> None:
    """Run each case in its own process, and print the table."""
    from benchmarks.measurement import describe_machine
    from benchmarks.table import text_table, update_page

    machine, records, failed = describe_machine(), [], []
    for name in names:
        print(f"{name} ...", file=sys.stderr, flush=True)
        command = [
            sys.executable,
            "-m",
            "benchmarks",
            "--case",
            name,
            "--json",
            *(["--quick"] if options.quick else []),
        ]
        process = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
        if process.returncode:
            failed.append(name)
        else:
            records.append(json.loads(process.stdout))
    print(json.dumps(records) if options.json else f"{machine}\n\n{text_table(records)}")
    if options.quick:
        print("A quick run only checks that the cases run; the targets apply to full runs.", file=sys.stderr)
    if failed:
        sys.exit(f"these cases failed: {', '.join(failed)}")
    if options.write:
        update_page(ROOT / "benchmarks" / "README.md", records, machine)


if __name__ == "__main__":
    main()
