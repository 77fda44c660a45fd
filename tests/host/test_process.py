import sys
from pathlib import Path

import anyio
import pytest

from fanlight.host import Host, Timeouts
from fanlight.host.errors import ConnectionLostError, NotConnectedError
from fanlight.host.upstream.servers import Servers
from fanlight.host.upstream.transport.process import KILL_TIMEOUT
from support.chat import eventually
from support.connected import assert_gone, connected, failure, pids_of, watch

pytestmark = [pytest.mark.anyio, pytest.mark.process]


async def test_a_missing_command_is_named_and_calls_fail_immediately() -> None:
    with anyio.fail_after(30):
        async with Servers({"it": "no-such-command --now"}, call_wait=60) as servers:
            await servers.wait_until_settled()
            with pytest.raises(
                NotConnectedError, match="it: not connected: The command 'no-such-command' was not found"
            ):
                await servers["it"].call_tool("echo")


async def test_the_error_for_a_missing_python_names_the_running_one(tmp_path: Path) -> None:
    reason = await failure({"command": "python", "env": {"PATH": str(tmp_path)}})
    assert f"The command 'python' was not found. Write {sys.executable!r}" in reason


async def test_a_missing_working_directory_is_named(tmp_path: Path) -> None:
    reason = await failure({"command": sys.executable, "cwd": str(tmp_path / "nowhere")})
    assert f"The folder {tmp_path / 'nowhere'} does not exist" in reason


async def test_a_file_that_is_not_executable_is_explained(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("no program")
    assert "cannot be started: [Errno 13] Permission denied" in await failure([tmp_path / "data"])


async def test_lines_on_stdout_that_are_not_json_are_ignored(raw: list[str]) -> None:
    async with connected(raw) as connection:
        assert (await connection.call_tool("noisy"))["content"][0]["text"] == "after noise"


@pytest.mark.parametrize("behaviour", [[], ["ignore-sigterm"], ["leave-a-child"], ["ignore-sigterm", "leave-a-child"]])
async def test_stopping_ends_every_child_process(child: list[str], behaviour: list[str]) -> None:
    with anyio.fail_after(30):
        async with Servers({"a": [*child, *behaviour], "b": [*child, *behaviour]}, exit_timeout=2.0) as servers:
            watched = watch([*(await pids_of(servers, "a")), *(await pids_of(servers, "b"))])
            began = anyio.current_time()
        assert anyio.current_time() - began < 2.0 + KILL_TIMEOUT
        await assert_gone(watched)


SLOW_TO_STOP = """
import pathlib, sys, time
pathlib.Path("started").touch()
sys.stdin.read()
time.sleep(2.5)
pathlib.Path("stopped").touch()
"""


async def test_a_process_may_take_as_long_to_exit_as_the_host_allows(tmp_path: Path) -> None:
    """Goes red with the default of two seconds, after which the process is terminated."""
    server = {"command": sys.executable, "args": ["-c", SLOW_TO_STOP], "cwd": str(tmp_path)}
    with anyio.fail_after(60):
        async with Host({"slow": server}, timeouts=Timeouts(exit=30.0)):
            await eventually((tmp_path / "started").exists)
    assert (tmp_path / "stopped").exists()


async def test_an_attempt_to_connect_may_take_as_long_as_the_host_allows() -> None:
    silent = [sys.executable, "-c", "import signal; signal.pause()"]
    reason = "did not answer as an MCP server within 0.2 seconds"
    with anyio.fail_after(60):
        async with Host({"silent": silent}, timeouts=Timeouts(start=0.2, exit=0.0)) as host:
            await eventually(lambda: reason in str(host.servers["silent"].status.reason))


async def test_cancelling_the_block_ends_every_child_process(child: list[str]) -> None:
    watched: list[int] = []
    with anyio.fail_after(30), anyio.CancelScope() as scope:
        async with Servers({"a": [*child, "ignore-sigterm"]}) as servers:
            watched += watch(await pids_of(servers, "a"))
            scope.cancel()
            await anyio.sleep_forever()
    assert len(watched) == 1
    await assert_gone(watched)


async def test_stopping_ends_servers_that_are_still_connecting() -> None:
    with anyio.fail_after(30):
        async with Servers({"silent": [sys.executable, "-c", "import signal; signal.pause()"]}) as servers:
            with pytest.raises(NotConnectedError, match="it is connecting"):
                await servers["silent"].ready(0.3)
        assert servers["silent"].status.state == "closed"


async def test_a_process_that_writes_much_output_can_be_stopped(child: list[str]) -> None:
    with anyio.fail_after(30):
        async with Servers({"a": [*child, "flood"]}) as servers, anyio.create_task_group() as tasks:
            watched = watch(await pids_of(servers, "a"))
            tasks.start_soon(lost, servers)
            await anyio.lowlevel.checkpoint()
            servers["a"].close()
    await assert_gone(watched)


async def lost(servers: Servers) -> None:
    with pytest.raises(ConnectionLostError):
        await servers["a"].call_tool("pids")
