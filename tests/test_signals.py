"""Commands that are interrupted, at any time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

INTERRUPTED_IMPORT = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.{signal})

sys.meta_path.insert(0, Interrupt())
from fanlight.cli import main
sys.exit(main({arguments!r}))
"""

ABANDONED_FUTURE = """
import asyncio, gc, signal
import anyio
from fanlight.signals import run

async def work():
    future = asyncio.get_running_loop().create_future()
    try:
        if {interrupt}:
            signal.raise_signal(signal.SIGINT)
        await anyio.sleep(0 if not {interrupt} else 60)
    finally:
        future.set_exception(ValueError("abandoned"))
        del future
        gc.collect()

try:
    run(work)
except KeyboardInterrupt:
    print("interrupted")
"""


def execute(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, env=environment
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize(
    ("command", "module"),
    [
        ("dev", "fanlight.inspector.startup"),
        ("dev", "anyio"),
        ("dev", "uvicorn"),
        ("check", "fanlight.check.command"),
        ("check", "anyio"),
        ("shot", "fanlight.testing.shot_command"),
    ],
)
def test_a_signal_during_the_imports_of_a_command_is_no_traceback_and_leaves_nothing_behind(
    command: str, module: str, name: str, tmp_path: Path
) -> None:
    arguments = [command, "server.py", *(["tool"] if command == "shot" else [])]
    done = execute(INTERRUPTED_IMPORT.format(module=module, signal=name, arguments=arguments), tmp_path)
    assert done.stderr in ("", "fanlight check: stopped.\n")
    assert done.returncode == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("interrupt", [True, False])
def test_errors_of_abandoned_futures_are_logged_unless_the_command_was_interrupted(
    interrupt: bool, tmp_path: Path
) -> None:
    done = execute(ABANDONED_FUTURE.format(interrupt=interrupt), tmp_path)
    assert ("never retrieved" in done.stderr) == (not interrupt)
    assert done.stdout == ("interrupted\n" if interrupt else "")
