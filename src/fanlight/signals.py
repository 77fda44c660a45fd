"""How a command ends."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ended_alike() -> Iterator[None]:
    """End by other signals as by Ctrl+C, so that nothing is left behind."""
    before = {}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it to what it starts with &
        before[signal.SIGINT] = signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)  # not on every system
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            before[number] = signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
