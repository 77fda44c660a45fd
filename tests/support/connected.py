"""Servers without any SDK, and connections to them."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.shared.dispatcher import ProgressFnT

from fanlight.host.backoff import Backoff
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.servers import Servers

modes = pytest.mark.parametrize("mode", ["auto", "legacy"])
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}

# A server of the handshake era without any SDK, so that a test knows each byte that it sends.
RAW_SERVER = """
import json, os, sys

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}

tools = [{"name": name, "inputSchema": {"type": "object"}, "x-unknown": 1} for name in ("echo", "hang", "die")]
received = []
for line in sys.stdin:
    message = json.loads(line)
    if "method" not in message:
        send(id=asked, result=text("answered", answer=message))
        continue
    method, params, id = message["method"], message.get("params", {}), message.get("id")
    if id is None:
        received.append(message)
    elif method == "initialize":
        received.append(message)
        send(id=id, result={
            "protocolVersion": params["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "raw", "version": "7"}, "instructions": "Be kind.",
        })
    elif method == "tools/list":
        at = int(params.get("cursor", 0))
        more = {"nextCursor": str(at + 1)} if at + 1 < len(tools) else {}
        send(id=id, result={"tools": tools[at:at + 1], **more})
    elif method != "tools/call":
        send(id=id, error={"code": -32601, "message": "Method not found"})
    elif params["name"] == "echo":
        send(id=id, result=text("echo", unknown={"kept": [None, 1]}, _meta={"a/b": 1}, params=params))
    elif params["name"] == "received":
        send(id=id, result=text("received", received=received))
    elif params["name"] == "ask":
        asked = id
        send(id="question", **params["arguments"])
    elif params["name"] == "pid":
        send(id=id, result=text(str(os.getpid())))
    elif params["name"] == "hang":
        token = params.get("_meta", {}).get("progressToken")
        send(method="notifications/progress", params={"progressToken": token, "progress": 1, "message": str(id)})
    elif params["name"] == "die":
        print("out of cheese", file=sys.stderr, flush=True)
        os._exit(3)
    elif params["name"] == "error_then_exit":
        send(id=id, error={"code": -32000, "message": "Connection closed"})
        os._exit(0)
    elif params["name"] == "close_stdout":
        os.close(1)
    elif params["name"] == "grow":
        tools.append({"name": "new", "inputSchema": {"type": "object"}})
        send(method="notifications/tools/list_changed")
        send(id=id, result=text("grown"))
    elif params["name"] == "noisy":
        print("Starting up...", flush=True)
        send(id=id, result=text("after noise"))
    elif params["name"] == "write":
        print(params["arguments"]["line"].replace("ID", json.dumps(id)), flush=True)
    elif params["name"] == "empty":
        send(id=id, result={})
    else:
        send(id=id, error={"code": -32000, "message": "Refused", "data": {"why": "because"}})
"""

# Answers the handshake and one call, then behaves as its arguments say.
CHILD = """
import json, os, signal, subprocess, sys

if "ignore-sigterm" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

pids = [os.getpid()]
if "leave-a-child" in sys.argv:
    ends = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    pids.append(subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], **ends).pid)

for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message["method"]
    if method == "initialize":
        send(id=id, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "child", "version": "1"}})
    elif method == "tools/list":
        send(id=id, result={"tools": [{"name": "pids", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        if "flood" in sys.argv:
            for i in range(2000):
                send(method="notifications/message", params={"level": "info", "data": "x" * 1000})
        send(id=id, result={"content": [], "pids": pids})
    elif id is not None:
        send(id=id, error={"code": -32601, "message": "Method not found"})

while "ignore-sigterm" in sys.argv:
    signal.pause()
"""


@asynccontextmanager
async def connected(given: object, **options: Any) -> AsyncIterator[Connection]:
    with anyio.fail_after(60):
        async with Servers({"it": given}, **{"backoff": Backoff(first=0.05), **options}) as servers:
            await servers["it"].ready(30)
            yield servers["it"]


def hung(event: anyio.Event) -> ProgressFnT:
    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        event.set()

    return on_progress


async def failure(given: object, **options: Any) -> str:
    """Return the reason why a connection to a server fails."""
    with anyio.fail_after(60):
        async with Servers({"it": given}, **{"slow_after": 30, **options}) as servers:
            await servers.wait_until_settled(30)
            assert servers["it"].status.state == "retrying"
            return str(servers["it"].status.reason)


def watch(pids: list[int]) -> list[int]:
    """Return descriptors that become readable when the processes end, and that survive reuse of their ids."""
    return [os.pidfd_open(pid) for pid in pids]


async def assert_gone(watched: list[int]) -> None:
    for descriptor in watched:
        # A killed process needs a moment to end.
        with anyio.fail_after(60):
            await anyio.wait_readable(descriptor)
        os.close(descriptor)


async def pids_of(servers: Servers, name: str) -> list[int]:
    pids: list[int] = (await servers[name].call_tool("pids"))["pids"]
    return pids
