import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server import MCPServer

from fanlight.host.config import ConfigError
from fanlight.host.connection import STOP_LIMIT, Backoff, ConnectionLost, News, NotConnected, StatusChanged
from fanlight.host.servers import Servers, UnknownServer
from support.shop import build

pytestmark = pytest.mark.anyio

# Answers the handshake and one call, then does as its arguments say.
CHILD = """
import json, os, signal, subprocess, sys

if "ignore-sigterm" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

pids = [os.getpid()]
if "leave-a-child" in sys.argv:
    ends = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    pids.append(subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], **ends).pid)

for line in sys.stdin:
    message = json.loads(line)
    id, method = message.get("id"), message["method"]
    if method == "initialize":
        say(id=id, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "child", "version": "1"}})
    elif method == "tools/list":
        say(id=id, result={"tools": [{"name": "pids", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        if "flood" in sys.argv:
            for i in range(2000):
                say(method="notifications/message", params={"level": "info", "data": "x" * 1000})
        say(id=id, result={"content": [], "pids": pids})
    elif id is not None:
        say(id=id, error={"code": -32601, "message": "Method not found"})

while "ignore-sigterm" in sys.argv:
    signal.pause()
"""


@pytest.fixture
def child(tmp_path: Path) -> list[str]:
    script = tmp_path / "child.py"
    script.write_text(CHILD, encoding="utf-8")
    return [sys.executable, str(script)]


def watch(pids: list[int]) -> list[int]:
    """Return descriptors that become readable when the processes end; they hold for these very processes."""
    return [os.pidfd_open(pid) for pid in pids]


async def assert_gone(watched: list[int]) -> None:
    for descriptor in watched:
        # A killed process needs a moment to go; one that was not killed never would.
        with anyio.fail_after(1):
            await anyio.wait_readable(descriptor)
        os.close(descriptor)


async def pids_of(servers: Servers, name: str) -> list[int]:
    pids: list[int] = (await servers[name].call_tool("pids"))["pids"]
    return pids


async def test_servers_connect_in_parallel_and_give_their_tools() -> None:
    waiting = 0
    together = anyio.Event()

    class Slow(MCPServer[Any]):
        async def list_tools(self, *args: Any, **options: Any) -> Any:
            nonlocal waiting
            waiting += 1
            if waiting == 3:
                together.set()
            await together.wait()  # one after the other would wait for ever
            return await super().list_tools(*args, **options)

    def server(name: str) -> MCPServer[Any]:
        slow = Slow(name)
        slow.add_tool(lambda: "", name=f"tool_of_{name}")
        return slow

    with anyio.fail_after(20):
        async with Servers({name: server(name) for name in "abc"}) as servers:
            await servers.settled()
            tools = {name: [tool["name"] for tool in each] for name, each in servers.tools().items()}
    assert tools == {"a": ["tool_of_a"], "b": ["tool_of_b"], "c": ["tool_of_c"]}


async def test_servers_that_fail_or_hang_leave_the_others_alone(child: list[str]) -> None:
    given = {
        "shop": build("MCPServer"),
        "child": child,
        "missing": "no-such-command",
        "refused": "http://127.0.0.1:9/mcp",
        "silent": [sys.executable, "-c", "while True: input()"],
        "exits": [sys.executable, "-c", "raise SystemExit(1)"],
    }
    with anyio.fail_after(30):
        async with Servers(given, patience=5) as servers:
            assert (await servers["shop"].call_tool("plain"))["content"][0]["text"] == "hello you"
            assert await pids_of(servers, "child")
            await servers.settled(within=2)
            states = {name: connection.status.state for name, connection in servers.items()}
            assert set(servers.tools()) == {"shop", "child"}
    assert (states["shop"], states["child"], states["silent"]) == ("ready", "ready", "connecting")
    assert "ready" not in (states["missing"], states["refused"], states["exits"])


async def test_a_server_that_dies_is_reported_and_comes_back_while_others_answer(child: list[str]) -> None:
    news: list[News] = []
    with anyio.fail_after(30):
        async with Servers({"dies": child, "stays": child}, backoff=Backoff(first=0.05)) as servers:
            before, other = (await pids_of(servers, "dies")), (await pids_of(servers, "stays"))
            servers.listen(news.append)
            back = anyio.Event()
            servers.listen(
                lambda news: back.set() if isinstance(news, StatusChanged) and news.status.state == "ready" else None
            )
            os.kill(before[0], signal.SIGKILL)
            await back.wait()
            assert await pids_of(servers, "dies") != before
            assert await pids_of(servers, "stays") == other
            told = [each for each in news if isinstance(each, StatusChanged)]
    assert {each.server for each in told} == {"dies"}
    assert any("ended by signal 9" in str(each.status.reason) for each in told)


async def test_a_server_that_cannot_start_yet_is_connected_once_it_can(tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    with anyio.fail_after(30):
        async with Servers({"late": [sys.executable, script]}, backoff=Backoff(first=0.05, most=0.1)) as servers:
            await servers.settled()
            assert "exited with code 2" in str(servers["late"].status.reason)
            script.write_text(CHILD, encoding="utf-8")
            await servers["late"].ready(20)
            assert await pids_of(servers, "late")


@pytest.mark.parametrize("behaviour", [[], ["ignore-sigterm"], ["leave-a-child"], ["ignore-sigterm", "leave-a-child"]])
async def test_stopping_ends_every_child_process(child: list[str], behaviour: list[str]) -> None:
    with anyio.fail_after(30):
        async with Servers({"a": [*child, *behaviour], "b": [*child, *behaviour]}) as servers:
            watched = watch([*(await pids_of(servers, "a")), *(await pids_of(servers, "b"))])
            began = anyio.current_time()
        assert anyio.current_time() - began < STOP_LIMIT
        await assert_gone(watched)


async def test_a_cancelled_block_ends_every_child_process_too(child: list[str]) -> None:
    watched: list[int] = []
    with anyio.fail_after(30), anyio.CancelScope() as scope:
        async with Servers({"a": [*child, "ignore-sigterm"]}) as servers:
            watched += watch(await pids_of(servers, "a"))
            scope.cancel()
            await anyio.sleep_forever()
    assert len(watched) == 1
    await assert_gone(watched)


async def test_stopping_while_servers_still_connect_ends_them_too() -> None:
    with anyio.fail_after(30):
        async with Servers({"silent": [sys.executable, "-c", "import signal; signal.pause()"]}) as servers:
            with pytest.raises(NotConnected, match="it is connecting"):
                await servers["silent"].ready(0.3)
        assert servers["silent"].status.state == "closed"


async def test_a_child_that_writes_much_is_not_stuck_when_it_is_stopped(child: list[str]) -> None:
    with anyio.fail_after(30):
        async with Servers({"a": [*child, "flood"]}) as servers, anyio.create_task_group() as tasks:
            watched = watch(await pids_of(servers, "a"))
            tasks.start_soon(lost, servers)
            await anyio.lowlevel.checkpoint()
            servers["a"].close()
    await assert_gone(watched)


async def lost(servers: Servers) -> None:
    with pytest.raises(ConnectionLost):
        await servers["a"].call_tool("pids")


async def test_an_error_in_the_block_comes_out_as_it_is() -> None:
    async def fails() -> None:
        async with Servers({"shop": build("MCPServer")}) as servers:
            await servers.settled()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()


async def test_calls_after_the_end_fail_clearly() -> None:
    async with Servers({"shop": build("MCPServer")}) as servers:
        await servers.settled()
    with pytest.raises(NotConnected, match="shop: not connected: it is closed"):
        await servers["shop"].call_tool("plain")
    with pytest.raises(RuntimeError, match="Make new Servers"):
        await servers.__aenter__()


async def test_a_server_that_nobody_gave_is_refused_with_those_that_are_known() -> None:
    servers = Servers({"shop": build("MCPServer")})
    with pytest.raises(UnknownServer, match=r"There is no server 'shpo'\. The servers are: shop\."):
        servers["shpo"]
    assert "shpo" not in servers


def test_what_cannot_be_connected_to_is_refused_where_it_is_given() -> None:
    with pytest.raises(ConfigError, match="clock: expected a command line"):
        Servers({"clock": 3})
