"""Processes that are forked from one that has imported the SDKs already, because importing takes longer than a test."""

import multiprocessing
import os
from collections.abc import Callable
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest

_context = multiprocessing.get_context("forkserver")
_MODULES = [
    "support.forked",
    "support.cluster",
    "support.worker",
    "fanlight.server.fastmcp",
    # What FastMCP imports when it is used for the first time.
    "fastmcp.server.context",
    "fastmcp.apps.app",
    "griffe",
    "key_value.aio.stores.memory",
    # What a host imports when its store is opened, and uvicorn when it serves.
    "fanlight.host.store.postgres",
    "fanlight.host.store.redis",
    "uvicorn.loops.auto",
    "uvicorn.protocols.http.auto",
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    "uvicorn.lifespan.on",
]


@cache
def _preload() -> None:
    """Start the process that is forked, with all modules."""
    _context.set_forkserver_preload(_MODULES)
    with pytest.MonkeyPatch.context() as patch:
        # The process does not get `sys.path`, and only pytest's configuration has the folder of the tests.
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        forkserver.ensure_running()


def process(target: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """Run a function in a process of its own, which is killed at the end of the test run."""
    _preload()
    started = _context.Process(target=target, args=arguments, daemon=True)
    started.start()
    return started
