"""A process that has imported everything, and registers in a fork of itself for each line of its input.

    python -m bench.registration_process VIEWS

So each registration is a process's first one, as it is when a server starts, without its imports.
"""

import gc
import json
import os
import sys
import time
from pathlib import Path

from bench import workload


def main() -> None:
    views = sorted(Path(sys.argv[1]).glob("*.html"))
    # Names that are loaded on first use count as imports, too.
    for build in workload.BUILDERS.values():
        build(views[:0])
    # Otherwise garbage collection in each fork would copy the memory of all imported modules.
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        print(json.dumps(_registered(line.strip(), views)), flush=True)


def _registered(subject: str, views: list[Path]) -> float:
    """Return the CPU seconds that a fork spent registering."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        started = time.process_time()
        workload.BUILDERS[subject](views)
        os.write(writer, json.dumps(time.process_time() - started).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    os.waitpid(child, 0)
    if not answer:
        raise RuntimeError(f"registering on {subject} failed; see its error above")
    return float(json.loads(answer))


if __name__ == "__main__":
    main()
