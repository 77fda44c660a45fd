"""Run the tests again and again while the machine is busy, to find tests that depend on time.

    python scripts/stress.py [--runs 3] [--load 2] [--timeout 5400] [PYTEST ARGUMENT ...]

Starts `--load` busy loops for each core, runs pytest `--runs` times, and lists each test that failed at least once.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Ends by itself if this script is killed.
BUSY = """
import os, sys
parent = int(sys.argv[1])
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""

FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
CLOSING = re.compile(r"^=*\s*(.*\b(?:passed|failed|error)\b.* in [\d.]+s.*?)\s*=*$", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="how often to run the tests (default: 3)")
    parser.add_argument("--load", type=int, default=2, metavar="N", help="busy loops for each core (default: 2)")
    parser.add_argument(
        "--timeout", type=float, default=5400, metavar="SECONDS", help="end a run after this time (default: 5400)"
    )
    options, arguments = parser.parse_known_args()
    cores = os.cpu_count() or 1
    failures: Counter[str] = Counter()
    failed_runs = 0
    with busy(options.load * cores):
        for number in range(1, options.runs + 1):
            start = time.monotonic()
            code, output = run_tests(arguments, options.timeout)
            closing = (CLOSING.findall(output) or [output.strip().splitlines()[-1] if output.strip() else "no output"])[
                -1
            ]
            minutes = (time.monotonic() - start) / 60
            print(f"run {number} of {options.runs}: exit code {code}, {closing} ({minutes:.1f} min)", flush=True)
            failures.update(set(FAILED.findall(output)))
            failed_runs += code != 0
            if code != 0:
                (ROOT / f".stress-{number}.log").write_text(output, encoding="utf-8")
    for test, count in failures.most_common():
        print(f"failed in {count} of {options.runs} runs: {test}")
    load = f"{options.load} busy loops for each of {cores} cores"
    print(f"stress: {options.runs - failed_runs} of {options.runs} runs passed, with {load}")
    return 1 if failed_runs else 0


def run_tests(arguments: list[str], timeout: float) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", *arguments]
    try:
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired as error:
        output = error.stdout or b""
        return 124, output.decode() if isinstance(output, bytes) else output
    return done.returncode, done.stdout


@contextmanager
def busy(count: int) -> Iterator[None]:
    loops = [subprocess.Popen([sys.executable, "-c", BUSY, str(os.getpid())]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
        for loop in loops:
            loop.wait()


if __name__ == "__main__":
    sys.exit(main())
