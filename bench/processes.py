"""Processes: one subject alone in each, so that its CPU time and memory are the subject's."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Process:
    """A process that reads commands on its input and responds on its output, one JSON line each."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def order(self, order: object) -> dict[str, Any]:
        """Send a command and return the response."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process of the benchmark ended (exit {self._process.wait()}); see its error above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """End it as a crash would, and wait for that."""
        self._process.kill()
        self._process.wait()

    def cpu(self) -> float:
        """Return the CPU seconds of all its threads."""
        # What clock_getcpuclockid(3) returns for another process on Linux, in nanoseconds.
        return time.clock_gettime((~self._process.pid << 3) | 2)

    def cpu_at_rest(self) -> float:
        # Work after a response counts, too, and the CPU clock is only up to date when the process is idle.
        time.sleep(0.002)
        return self.cpu()

    def memory(self) -> int:
        """Return how many bytes of it are in memory."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * _PAGE


@contextmanager
def running(module: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Iterator[Process]:
    """Run a module of the benchmark. It has nothing to clean up, so it is killed at the end."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
    ) as process:
        try:
            yield Process(process)
        finally:
            process.kill()
