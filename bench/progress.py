"""Progress, on standard error."""

import sys


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
