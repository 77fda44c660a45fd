import math
import os
import re
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import SocketAttribute, SocketStream
from mcp.server import MCPServer

from fanlight.host.backoff import Backoff
from fanlight.host.errors import ConfigError, NotConnectedError, ServerStartError, UnknownServerError
from fanlight.host.upstream.config import Command
from fanlight.host.upstream.events import ServerEvent, StatusChanged
from fanlight.host.upstream.servers import Servers
from support.connected import CHILD, pids_of
from support.shop import build

pytestmark = pytest.mark.anyio


async def test_servers_connect_in_parallel_and_list_their_tools() -> None:
    waiting = 0
    together = anyio.Event()

    class Slow(MCPServer[Any]):
        async def list_tools(self, *args: Any, **options: Any) -> Any:
            nonlocal waiting
            waiting += 1
            if waiting == 3:
                together.set()
            await together.wait()  # connecting one after the other would deadlock
            return await super().list_tools(*args, **options)

    def server(name: str) -> MCPServer[Any]:
        slow = Slow(name)
        slow.add_tool(lambda: "", name=f"tool_of_{name}")
        return slow

    with anyio.fail_after(20):
        async with Servers({name: server(name) for name in "abc"}) as servers:
            await servers.wait_until_settled()
            tools = {name: [tool["name"] for tool in each] for name, each in servers.tools().items()}
    assert tools == {"a": ["tool_of_a"], "b": ["tool_of_b"], "c": ["tool_of_c"]}


async def test_programs_start_in_turn_if_only_some_may_start_at_once() -> None:
    begun: list[str] = []
    may_start = anyio.Event()

    async def launch(command: Command, environment: Mapping[str, str]) -> None:
        begun.append(command.command)
        await may_start.wait()
        raise ServerStartError("It does not start.")

    with anyio.fail_after(20):
        servers = Servers({"memory": build("MCPServer"), **{name: f"no-such-{name}" for name in "abcd"}})
        servers.launch_with(launch)
        servers.start_in_turn(2)
        async with servers:
            await servers["memory"].wait_until_settled()  # it needs no turn
            await anyio.wait_all_tasks_blocked()
            assert begun == ["no-such-a", "no-such-b"]
            may_start.set()
            for name in "abcd":
                await servers[name].wait_until_settled()
            assert begun[:4] == ["no-such-a", "no-such-b", "no-such-c", "no-such-d"]


async def test_servers_that_wait_for_their_turn_are_closed() -> None:
    async def launch(command: Command, environment: Mapping[str, str]) -> None:
        await anyio.sleep_forever()

    with anyio.fail_after(20):
        servers = Servers({name: f"no-such-{name}" for name in "abcd"})
        servers.launch_with(launch)
        servers.start_in_turn(2)
        async with servers:
            await anyio.wait_all_tasks_blocked()
    assert {connection.status.state for connection in servers.values()} == {"closed"}


async def test_failing_and_hanging_servers_do_not_affect_others(child: list[str]) -> None:
    given = {
        "shop": build("MCPServer"),
        "child": child,
        "missing": "no-such-command",
        "refused": "http://127.0.0.1:9/mcp",
        "silent": [sys.executable, "-c", "while True: input()"],
        "exits": [sys.executable, "-c", "raise SystemExit(1)"],
    }
    with anyio.fail_after(30):
        async with Servers(given, call_wait=5) as servers:
            assert (await servers["shop"].call_tool("plain"))["content"][0]["text"] == "hello you"
            assert await pids_of(servers, "child")
            await servers.wait_until_settled(within=2)
            states = {name: connection.status.state for name, connection in servers.items()}
            assert set(servers.tools()) == {"shop", "child"}
    assert (states["shop"], states["child"], states["silent"]) == ("ready", "ready", "connecting")
    assert "ready" not in (states["missing"], states["refused"], states["exits"])


async def test_a_crashed_server_is_reported_and_restarted_while_others_respond(child: list[str]) -> None:
    news: list[ServerEvent] = []
    with anyio.fail_after(30):
        async with Servers({"dies": child, "stays": child}, backoff=Backoff(first=0.05)) as servers:
            before, other = (await pids_of(servers, "dies")), (await pids_of(servers, "stays"))
            servers.add_listener(news.append)
            back = anyio.Event()
            servers.add_listener(
                lambda news: back.set() if isinstance(news, StatusChanged) and news.status.state == "ready" else None
            )
            os.kill(before[0], signal.SIGKILL)
            await back.wait()
            assert await pids_of(servers, "dies") != before
            assert await pids_of(servers, "stays") == other
            changes = [each for each in news if isinstance(each, StatusChanged)]
    assert {each.server for each in changes} == {"dies"}
    assert any("ended by signal 9" in str(each.status.reason) for each in changes)


@pytest.mark.process
async def test_a_server_that_starts_late_is_connected(tmp_path: Path) -> None:
    script = tmp_path / "late.py"
    with anyio.fail_after(30):
        backoff = Backoff(first=0.05, maximum=0.1)
        async with Servers({"late": [sys.executable, script]}, backoff=backoff, slow_after=20) as servers:
            await servers.wait_until_settled(20)
            assert "exited with code 2" in str(servers["late"].status.reason)
            script.write_text(CHILD, encoding="utf-8")
            await servers["late"].ready(20)
            assert await pids_of(servers, "late")


@pytest.mark.parametrize("over", ["stdio", "http"])
@pytest.mark.process
async def test_a_silent_server_is_waited_for_once_and_its_status_is_connecting(over: str) -> None:
    async def hold(stream: SocketStream) -> None:
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    await stream.receive()

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    address = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/mcp"
    words = "import sys; print('loading a model', file=sys.stderr, flush=True)\nwhile True: input()"
    silent = address if over == "http" else [sys.executable, "-c", words]
    with anyio.fail_after(30):
        async with listener, anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, hold)
            async with Servers({"shop": build("MCPServer"), "silent": silent}, slow_after=1, call_wait=3) as servers:
                await servers["shop"].ready(20)
                await servers.wait_until_settled(within=math.inf)
                assert set(servers.tools()) == {"shop"}
                status = servers["silent"].status
                while over == "stdio" and "It last wrote: loading a model" not in str(status.reason):
                    await anyio.sleep(0.05)
                    status = servers["silent"].status
                await servers.wait_until_settled(within=math.inf)  # already known to be slow, so it returns immediately
                with pytest.raises(NotConnectedError, match=r"(?s)silent: not connected: .* has not answered for \d+ "):
                    await servers["silent"].call_tool("x")
            tasks.cancel_scope.cancel()
    assert (status.state, status.attempt) == ("connecting", 1)
    assert re.search(r"has not answered for \d+ seconds\.", str(status.reason))


async def test_an_exception_in_the_block_is_not_wrapped() -> None:
    async def fails() -> None:
        async with Servers({"shop": build("MCPServer")}) as servers:
            await servers.wait_until_settled()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fails()


async def test_a_call_after_the_block_raises_not_connected() -> None:
    async with Servers({"shop": build("MCPServer")}) as servers:
        await servers.wait_until_settled()
    with pytest.raises(NotConnectedError, match="shop: not connected: it is closed"):
        await servers["shop"].call_tool("plain")


async def test_servers_reconnect_in_a_second_block(child: list[str]) -> None:
    servers = Servers({"shop": build("MCPServer"), "child": child})
    pids = []
    with anyio.fail_after(30):
        for _ in range(2):
            async with servers:
                assert (await servers["shop"].call_tool("plain"))["content"]
                pids.append(await pids_of(servers, "child"))
                with pytest.raises(RuntimeError, match="running already"):
                    await servers.__aenter__()
            assert servers["child"].status.state == "closed"
    assert pids[0] != pids[1]


async def test_an_unknown_server_name_raises_with_the_known_names() -> None:
    servers = Servers({"shop": build("MCPServer")})
    with pytest.raises(UnknownServerError, match=r"There is no server 'shpo'\. The servers are: shop\."):
        servers["shpo"]
    assert "shpo" not in servers


def test_an_invalid_target_raises_on_construction() -> None:
    with pytest.raises(ConfigError, match="clock: expected a command line"):
        Servers({"clock": 3})
