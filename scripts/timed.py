"""Run a command, and print how long it took.

python scripts/timed.py NAME COMMAND [ARGUMENT ...]
"""

import subprocess
import sys
import time


def main() -> int:
    name, *command = sys.argv[1:]
    start = time.monotonic()
    code = subprocess.run(command).returncode
    minutes, seconds = divmod(round(time.monotonic() - start), 60)
    print(f"{name}: {'passed' if code == 0 else 'failed'} after {minutes} min {seconds} s", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
