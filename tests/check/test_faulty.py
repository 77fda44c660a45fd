"""Servers with invalid responses, crashes and timeouts: each is reported, and the rest is still checked."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp.client._memory import InMemoryTransport
from mcp.server import MCPServer
from pydantic import TypeAdapter, ValidationError

from fanlight.check import ConnectError, Report, UsageError, check
from fanlight.check.schema_errors import schema_errors_in
from fanlight.check.visit import VERSIONS
from fanlight.cli import main

pytestmark = [pytest.mark.anyio, pytest.mark.process]

FAULTY = Path(__file__).parent / "faulty.py"
ALL = ("first", "second", "third")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def checked(*faults: str, seconds: float = 15.0, **options: object) -> Report:
    command = [sys.executable, str(FAULTY), *faults]
    return await check(None, command=command, browser=False, timeout=seconds, **options)  # type: ignore[arg-type]


def broken(report: Report) -> dict[str, str]:
    """Return the violations of MUST rules that occur in every version, as text by rule id."""
    return {
        each.rule.id: f"{each.problem.where}: {each.problem.message}"
        for each in report.findings
        if each.breaks_a_must and each.versions == ()
    }


async def test_the_server_without_faults_conforms() -> None:
    report = await checked()
    assert report.conforms, report
    assert report.servers[0].called == ALL


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("no-schema", "tool second: has no inputSchema."),
        ("number", "tool number 2: has the name 7, where MCP wants a string."),
        ("no-list", "the list of tools: has the tools {"),
    ],
)
async def test_an_invalid_tool_list_is_a_readable_finding(fault: str, expected: str) -> None:
    report = await checked(fault)
    (found,) = broken(report).values()
    assert found.startswith(expected)
    assert "pydantic" not in str(report)


def test_an_invalid_tool_list_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", "--no-browser", "--quiet", "--", sys.executable, str(FAULTY), "no-schema"]
    assert main(words) == 1
    assert 'if only "inputSchema": {"type": "object"' in capsys.readouterr().out


async def test_valid_tools_of_an_invalid_list_are_called() -> None:
    assert (await checked("number")).servers[0].called == ("first", "third")


async def test_an_invalid_tool_result_is_a_finding() -> None:
    assert "number 1 is {" in broken(await checked("no-text"))["LNT-16"]


async def test_a_tool_that_crashes_the_server_is_reported_with_stderr_and_other_tools_are_called() -> None:
    report = await checked("die")
    (message,) = broken(report).values()
    assert message.startswith("tool second: ends the server when it is called with {}: ")
    assert "exited with code 3. It last wrote: Traceback | out of cheese" in message
    assert report.servers[0].called == ALL
    (finding,) = report.named("LNT-13")
    assert "out of cheese" not in finding.key


DIES = """
import os, sys
import uvicorn
from mcp.server import MCPServer
from mcp.server.apps import Apps

apps = Apps()

@apps.tool(resource_uri="ui://dies/view")
def first() -> str:
    os._exit(3)

@apps.tool(resource_uri="ui://dies/view")
def second() -> str:
    return "Fine."

apps.add_html_resource("ui://dies/view", "<!doctype html><title>x</title><p>x")
app = MCPServer("dies", extensions=[apps]).streamable_http_app()
config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error")
listener = config.bind_socket()
listener.listen()
sys.stdout.write(f"{listener.getsockname()[1]}\\n")
sys.stdout.flush()
uvicorn.Server(config).run([listener])
"""


@pytest.fixture
def dying() -> Iterator[str]:
    """Yield the address of a server that a call of its first tool ends."""
    command = [sys.executable, "-c", DIES]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp"
        finally:
            process.kill()


async def test_a_tool_that_crashes_an_http_server_is_reported_and_the_check_completes(dying: str) -> None:
    report = await check(dying, browser=False)
    (finding,) = report.named("LNT-13")
    assert finding.problem.where == "tool first"
    assert finding.problem.message.endswith("It did not restart, so nothing after that was checked.")
    assert report.servers[0].called == ("first",)


async def test_a_tool_that_exits_with_code_0_is_reported_as_ending_the_server() -> None:
    (message,) = broken(await checked("exit")).values()
    assert message.startswith("tool second: ends the server when it is called with {}: ")
    assert "exited with code 0." in message
    assert "before it served" not in message


async def test_a_tool_that_hangs_is_reported_and_other_tools_are_called() -> None:
    report = await checked("hang", seconds=1.0)
    (finding,) = report.named("LNT-14")
    assert finding.problem.where == "tool second"
    assert "no response within 1 seconds. It last wrote: waiting for cheese" in finding.problem.message
    assert "cheese" not in finding.key
    assert report.servers[0].called == ALL
    assert report.conforms


async def test_a_silent_server_raises_connect_error_after_the_timeout() -> None:
    with pytest.raises(ConnectError, match=r"did not answer as an MCP server within 1\.3 seconds.*--timeout"):
        await checked("mute", seconds=1.0)


class Unreliable:
    """Opens the connections of a server, and fails on those with the given numbers."""

    def __init__(self, *failing: int) -> None:
        self.failing = failing
        self.opened = 0

    def __call__(self) -> AbstractAsyncContextManager[tuple[Any, Any]]:
        self.opened += 1
        if self.opened in self.failing:
            raise OSError("out of cheese")
        server = MCPServer("plain")

        @server.tool()
        def first() -> str:
            return "one"

        return InMemoryTransport(server)


async def test_a_connection_that_fails_once_is_retried() -> None:
    opener = Unreliable(2)
    report = await check(opener, browser=False)
    assert report.named("LNT-08") == []
    assert len(report.servers[0].versions) == len(VERSIONS)


async def test_a_connection_that_fails_twice_is_a_finding() -> None:
    opener = Unreliable(*range(2, 100))
    report = await check(opener, browser=False)
    (finding,) = report.named("LNT-08")
    assert finding.problem.message.startswith(f"cannot be connected by every client ({VERSIONS[-1]} without MCP Apps, ")
    assert "out of cheese" in finding.problem.message


async def test_text_on_stdout_is_a_finding() -> None:
    assert broken(await checked("print")) == {
        "LNT-15": "server: writes text to its stdout that is not MCP: 'Called first'."
    }


async def test_a_duplicate_tool_name_is_a_finding() -> None:
    (finding,) = (await checked("twice")).named("LNT-12")
    assert finding.problem.message.startswith("is listed 2 times")


async def test_unknown_tool_in_args_lists_the_known_tools() -> None:
    with pytest.raises(UsageError, match=r"no tool 'frist' to give arguments to\. The tools are first, second, third"):
        await checked(arguments={"frist": {}})


@pytest.mark.parametrize("given", ["0", "-1", "soon", "inf", "nan"])
def test_an_invalid_timeout_is_a_usage_error(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "server.py", "--timeout", given])
    assert ended.value.code == 2
    assert "is not a number of seconds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("schema", "result", "expected"),
    [
        (dict[str, list[int]], {"tools": [None]}, ["tool number 1: is null, where MCP wants something else"]),
        (dict[str, str], {"nextCursor": 7}, [": has the nextCursor 7, where MCP wants a string."]),
        (dict[str, bool], {"isError": "x" * 90}, [': has the isError "xxx']),
    ],
)
def test_schema_errors_are_described_in_plain_words(
    schema: type, result: dict[str, object], expected: list[str]
) -> None:
    with pytest.raises(ValidationError) as failed:
        TypeAdapter(schema).validate_python(result)
    schema_errors = [f"{each.where}: {each.message}" for each in schema_errors_in(result, failed.value)]
    assert len(schema_errors) == len(expected)
    for each, words in zip(schema_errors, expected, strict=True):
        assert each.startswith(words)
