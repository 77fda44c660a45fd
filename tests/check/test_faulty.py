"""Servers that do not answer as they should: what is found, and that the rest is checked all the same."""

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

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120), pytest.mark.process]

FAULTY = Path(__file__).parent / "faulty.py"
ALL = ("first", "second", "third")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def checked(*what: str, seconds: float = 15.0, **options: object) -> Report:
    command = [sys.executable, str(FAULTY), *what]
    return await check(None, command=command, browser=False, timeout=seconds, **options)  # type: ignore[arg-type]


def broken(report: Report) -> dict[str, str]:
    """Return what is broken that the standard demands, as text by rule."""
    return {
        each.rule.id: f"{each.problem.where}: {each.problem.message}"
        for each in report.findings
        if each.breaks_a_must and each.versions == ()
    }


async def test_a_server_that_does_nothing_wrong_breaks_nothing() -> None:
    report = await checked()
    assert report.conforms, report
    assert report.servers[0].called == ALL


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("no-schema", "tool second: has no inputSchema."),
        ("number", "tool number 2: has the name 7, where MCP wants a string."),
        ("no-list", "the list of tools: has the tools {"),
    ],
)
async def test_a_list_that_is_no_mcp_is_a_finding_in_words(what: str, said: str) -> None:
    report = await checked(what)
    (found,) = broken(report).values()
    assert found.startswith(said)
    assert "pydantic" not in str(report)


def test_a_server_with_such_a_list_fails_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", "--no-browser", "--quiet", "--", sys.executable, str(FAULTY), "no-schema"]
    assert main(words) == 1
    assert 'if only "inputSchema": {"type": "object"' in capsys.readouterr().out


async def test_the_other_tools_of_such_a_list_are_called() -> None:
    assert (await checked("number")).servers[0].called == ("first", "third")


async def test_a_result_that_is_no_mcp_is_a_finding() -> None:
    assert "number 1 is {" in broken(await checked("no-text"))["LNT-16"]


async def test_a_tool_that_ends_the_server_is_named_with_its_last_words_and_the_others_are_called() -> None:
    report = await checked("die")
    (said,) = broken(report).values()
    assert said.startswith("tool second: ends the server when it is called with {}: ")
    assert "exited with code 3. It last wrote: Traceback | out of cheese" in said
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


async def test_a_tool_that_ends_a_server_at_an_address_is_named_and_the_check_goes_on(dying: str) -> None:
    report = await check(dying, browser=False)
    (finding,) = report.named("LNT-13")
    assert finding.problem.where == "tool first"
    assert finding.problem.message.endswith("It did not restart, so nothing after that was checked.")
    assert report.servers[0].called == ("first",)


async def test_a_tool_that_leaves_without_an_error_is_not_taken_for_a_server_that_never_served() -> None:
    (said,) = broken(await checked("leave")).values()
    assert said.startswith("tool second: ends the server when it is called with {}: ")
    assert "exited with code 0." in said
    assert "before it served" not in said


async def test_a_tool_that_hangs_is_found_and_the_others_are_called() -> None:
    report = await checked("hang", seconds=1.0)
    (finding,) = report.named("LNT-14")
    assert finding.problem.where == "tool second"
    assert "no response within 1 seconds. It last wrote: waiting for cheese" in finding.problem.message
    assert "cheese" not in finding.key
    assert report.servers[0].called == ALL
    assert report.conforms


async def test_a_server_that_never_answers_is_given_up() -> None:
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


async def test_a_connection_that_fails_once_is_tried_again() -> None:
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


async def test_what_is_printed_to_stdout_is_found() -> None:
    assert broken(await checked("print")) == {
        "LNT-15": "server: writes text to its stdout that is not MCP: 'Called first'."
    }


async def test_a_name_that_two_tools_have_is_found() -> None:
    (finding,) = (await checked("twice")).named("LNT-12")
    assert finding.problem.message.startswith("is listed 2 times")


async def test_arguments_for_a_tool_that_there_is_not_name_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"no tool 'frist' to give arguments to\. The tools are first, second, third"):
        await checked(arguments={"frist": {}})


@pytest.mark.parametrize("given", ["0", "-1", "soon", "inf", "nan"])
def test_a_timeout_that_is_none_is_a_usage_error(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["check", "server.py", "--timeout", given])
    assert ended.value.code == 2
    assert "is not a number of seconds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("schema", "result", "said"),
    [
        (dict[str, list[int]], {"tools": [None]}, ["tool number 1: is null, where MCP wants something else"]),
        (dict[str, str], {"nextCursor": 7}, [": has the nextCursor 7, where MCP wants a string."]),
        (dict[str, bool], {"isError": "x" * 90}, [': has the isError "xxx']),
    ],
)
def test_a_flaw_is_told_in_words(schema: type, result: dict[str, object], said: list[str]) -> None:
    with pytest.raises(ValidationError) as failed:
        TypeAdapter(schema).validate_python(result)
    schema_errors = [f"{each.where}: {each.message}" for each in schema_errors_in(result, failed.value)]
    assert len(schema_errors) == len(said)
    for each, words in zip(schema_errors, said, strict=True):
        assert each.startswith(words)
