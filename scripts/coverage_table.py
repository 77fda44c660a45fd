"""Print line and branch coverage for each package, from the data that `pytest --cov` left.

    python scripts/coverage_table.py [--missing PACKAGE]

`--missing protocol` lists the lines and branches of a package that no test reached.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "src/fanlight/"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--missing", metavar="PACKAGE", help="list what no test of this package reached")
    options = parser.parse_args()
    files = measured()
    if options.missing:
        print_missing(files, options.missing)
    else:
        print_table(files)
    return 0


def measured() -> dict[str, Any]:
    """Return what coverage knows of each file, by its path below src/fanlight."""
    command = [sys.executable, "-m", "coverage", "json", "--quiet", "-o", "-"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"coverage: {done.stdout.strip() or done.stderr.strip()}. Run `make coverage` first.")
    files: dict[str, Any] = json.loads(done.stdout)["files"]
    return {path.split(SOURCE, 1)[1]: found for path, found in files.items() if SOURCE in path}


def package_of(path: str) -> str:
    return path.split("/")[0] if "/" in path else "fanlight"


def print_table(files: dict[str, Any]) -> None:
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path, found in files.items():
        for name in (package_of(path), "all"):
            totals[name].update({key: int(value) for key, value in found["summary"].items() if key in COUNTS})
    print("| package | lines | branches |")
    print("|---|--:|--:|")
    for name, count in sorted(totals.items(), key=lambda item: (item[0] == "all", item[0])):
        lines = share(count["covered_lines"], count["num_statements"])
        print(f"| {name} | {lines} | {share(count['covered_branches'], count['num_branches'])} |")


COUNTS = ("covered_lines", "num_statements", "covered_branches", "num_branches")


def share(covered: int, all: int) -> str:
    return f"{100 * covered / all:.1f} %" if all else "-"


def print_missing(files: dict[str, Any], package: str) -> None:
    for path, found in sorted(files.items()):
        if package_of(path) == package and (found["missing_lines"] or found["missing_branches"]):
            branches = ", ".join(f"{start}->{end}" for start, end in found["missing_branches"])
            print(f"{path}: lines {found['missing_lines']}, branches {branches or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
