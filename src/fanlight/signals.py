"""How a command reacts to signals: SIGTERM and SIGHUP end it like Ctrl+C, so that it leaves nothing behind."""

import signal
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")

INTERRUPTED = 130
"""The exit code of a command that was interrupted."""


@contextmanager
def handle_termination() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block for SIGTERM and SIGHUP, and for SIGINT even if a shell had it ignored."""
    before = {signal.SIGINT: signal.getsignal(signal.SIGINT)}
    if before[signal.SIGINT] is signal.SIG_IGN:  # set by shells for commands that they start with &
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not on every system
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(function: Callable[..., Awaitable[Result]], *arguments: Any) -> Result:
    """Run an async function with `handle_termination`. Raise KeyboardInterrupt if it was interrupted."""
    import anyio  # takes a while, and commands handle signals before they import it

    async def main() -> Result:
        _discard_errors_after_interrupt()
        return await function(*arguments)

    with handle_termination():
        return anyio.run(main)


def _discard_errors_after_interrupt() -> None:
    """Stop asyncio from logging, after Ctrl+C, the errors of futures that are no longer awaited.

    A terminal sends Ctrl+C to child processes, too, such as a browser, so whatever waits for them fails.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    inner = signal.getsignal(signal.SIGINT)  # that of asyncio, which cancels the main task

    def interrupt(number: int, frame: FrameType | None) -> None:
        loop.set_exception_handler(lambda loop, context: None)
        if callable(inner):
            inner(number, frame)

    signal.signal(signal.SIGINT, interrupt)
