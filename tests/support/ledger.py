"""A server that records each execution in a file, with a View that shows what it received and calls tools.

Over HTTP, build it with `ledger`; over stdio, run this file with the folder of the record as its argument.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp.server import MCPServer

from fanlight import Apps, View

HTML = Path(__file__).with_name("ledger.html")


class Record:
    """What servers have executed, in a file that several processes append to. Gates let a test hold an execution."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file = folder / "executions.jsonl"

    def add(self, event: str, tool: str, text: str) -> None:
        """Append an event. Each is one write, so that those of several processes do not mix."""
        line = json.dumps({"event": event, "tool": tool, "text": text, "pid": os.getpid()}) + "\n"
        with self._file.open("ab", buffering=0) as file:
            file.write(line.encode())

    @contextmanager
    def execution(self, tool: str, text: str) -> Iterator[None]:
        """Record the start of an execution, and its end unless it is cancelled."""
        self.add("start", tool, text)
        yield
        self.add("end", tool, text)

    def events(self, text: str | None = None) -> list[dict[str, Any]]:
        """Return all events, or those of executions with a text."""
        if not self._file.exists():
            return []
        lines = self._file.read_bytes().decode().splitlines()
        return [event for event in map(json.loads, lines) if text is None or event["text"] == text]

    def has(self, event: str, text: str) -> bool:
        """Return whether an event of an execution is recorded."""
        return any(each["event"] == event for each in self.events(text))

    def starts(self) -> Counter[str]:
        """Return how often each text was executed."""
        return Counter(event["text"] for event in self.events() if event["event"] == "start")

    def open_gate(self, gate: str) -> None:
        """Let the executions go on that wait at a gate."""
        (self.folder / f"gate-{gate}").touch()

    async def pass_gate(self, gate: str) -> None:
        """Wait until a gate is open; "" always is."""
        while gate and not (self.folder / f"gate-{gate}").exists():  # noqa: ASYNC110
            await anyio.sleep(0.02)


def ledger(record: Record) -> "MCPServer[Any]":
    """Return the server."""
    server: MCPServer[Any] = MCPServer("ledger")
    apps = Apps(server)
    counts: Counter[str] = Counter()
    apps.view(View(HTML, uri="ui://ledger/view"))

    @apps.tool(view="ui://ledger/view")
    async def show(text: str, gate: str = "", size: int = 0) -> dict[str, Any]:
        """Show a text, after a gate is open. The result has `size` more characters."""
        with record.execution("show", text):
            await record.pass_gate(gate)
        return {"text": text, "more": "x" * size}

    @server.tool()
    async def write(text: str, gate: str = "") -> dict[str, Any]:
        """Write a text, after a gate is open. Models see it, too."""
        with record.execution("write", text):
            await record.pass_gate(gate)
        return {"text": text}

    @server.tool()
    async def remove(text: str) -> dict[str, Any]:
        """Remove a text."""
        with record.execution("remove", text):
            return {"text": text}

    @server.tool()
    def count(text: str) -> dict[str, Any]:
        """Return how often this process has counted a text, and its id."""
        with record.execution("count", text):
            counts[text] += 1
        return {"count": counts[text], "pid": os.getpid()}

    return server


if __name__ == "__main__":
    ledger(Record(Path(sys.argv[1]))).run("stdio")
