"""Servers as they are published on npm, each in a process of its own, over stdio or streamable HTTP."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from support.node import node, node_module

_PRELOADED = Path(__file__).with_name("published.js")


class Published:
    """One server, which the host starts (`command`) or which is started here for HTTP (`start`).

    `folder` is where it writes its log, its process id and its port.
    """

    def __init__(self, package: str, folder: Path) -> None:
        self.log = folder / "log"
        self._info_path = folder / "info.json"
        self._log_path = folder / "output"
        self._script = node_module(f"{package}/dist/index.js")
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> dict[str, Any]:
        """Return the target that starts it over stdio."""
        node, *arguments = self._words("--stdio")
        return {"command": node, "args": arguments, "env": self._environment(0)}

    def start(self, port: int = 0) -> None:
        """Start it over HTTP, without waiting until it listens."""
        self._info_path.unlink(missing_ok=True)
        environment = {**os.environ, **self._environment(port)}
        with self._log_path.open("wb") as output:
            self._process = subprocess.Popen(
                self._words(), env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.info()['port']}/mcp"

    def info(self) -> dict[str, Any]:
        """Wait until the server has written its process id and port, and return them."""
        for _ in range(600):
            if self._info_path.exists():
                info: dict[str, Any] = json.loads(self._info_path.read_text(encoding="utf-8"))
                return info
            time.sleep(0.05)
        output = self._log_path.read_text(encoding="utf-8") if self._log_path.exists() else ""
        raise AssertionError(f"{self._script} did not start: {output}")

    def kill(self) -> None:
        """Kill it."""
        os.kill(self.info()["pid"], signal.SIGKILL)
        if self._process is not None:
            self._process.wait(10)

    def start_again(self) -> None:
        """Start it over HTTP at the same address, after it was killed. Over stdio, the host does that."""
        if self._process is not None:
            self.start(self.info()["port"])
            self.info()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)

    def _words(self, *flags: str) -> list[str]:
        return [node(), "--import", _PRELOADED.as_uri(), str(self._script), *flags]

    def _environment(self, port: int) -> dict[str, str]:
        return {"INFO_PATH": str(self._info_path), "DEBUG_LOG_FILE": str(self.log), "PORT": str(port)}
