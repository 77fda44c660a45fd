"""What the host relies on in the `mcp` SDK beyond its documented API: each test fails if the SDK changes it."""

import inspect
import subprocess
import sys

import anyio
import mcp_types as types
import pytest
from mcp.client import ClientRequestContext
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.os.win32 import utilities as win32
from mcp.shared.message import SessionMessage

from fanlight.host.upstream.transport.sdk import (
    is_http_failure,
    is_oversized_event,
    parse_failure,
    release_process,
    terminate_process_tree,
)
from support.connected import assert_gone, watch
from support.raw_web import Exchange, Tool, raw_web

pytestmark = pytest.mark.anyio


async def sdk_error(respond: Tool) -> types.ErrorData:
    """Return the error that the SDK's HTTP client hands on for a response."""
    async with raw_web(it=respond) as web, streamable_http_client(web.url) as (read, write):
        request = types.JSONRPCRequest(jsonrpc="2.0", id=7, method="tools/call", params={"name": "it"})
        await write.send(SessionMessage(request))
        with anyio.fail_after(20):
            received = await read.receive()
    assert isinstance(received, SessionMessage)
    assert isinstance(received.message, types.JSONRPCError)
    assert received.message.id == 7
    return received.message.error


async def json_that_is_cut(exchange: Exchange) -> None:
    await exchange.answer(200, b'{"jsonrpc": "2.0", "id": 7, "result": {')


async def json_that_is_not_jsonrpc(exchange: Exchange) -> None:
    await exchange.answer(200, b"[1, 2]")


async def an_event_that_is_cut(exchange: Exchange) -> None:
    await exchange.begin("text/event-stream")
    await exchange.more(b'data: {"jsonrpc": "2.0", "id": 7, "result": {\n\n')
    await exchange.finish()


async def an_event_that_is_too_large(exchange: Exchange) -> None:
    await exchange.begin("text/event-stream")
    await exchange.more(b'data: {"jsonrpc": "2.0", "id": 7, "result": {"a": "%s"}}\n\n' % (b"a" * 2_000_000))


async def test_the_sdk_reports_an_event_that_is_too_large_in_these_words() -> None:
    assert is_oversized_event(await sdk_error(an_event_that_is_too_large))


@pytest.mark.parametrize(
    ("respond", "reason"),
    [
        (json_that_is_cut, "EOF while parsing"),
        (json_that_is_not_jsonrpc, "it is not a JSON-RPC message"),
        (an_event_that_is_cut, "EOF while parsing"),
    ],
)
async def test_the_sdk_reports_a_response_that_it_cannot_parse_in_these_words(respond: Tool, reason: str) -> None:
    error = await sdk_error(respond)
    found = parse_failure(error)
    assert found is not None
    assert found.startswith(reason)
    assert not is_http_failure(error)


@pytest.mark.parametrize("status", [400, 413, 500, 503])
async def test_the_sdk_reports_an_http_error_status_in_these_words(status: int) -> None:
    async def respond(exchange: Exchange) -> None:
        await exchange.answer(status, b"no", "text/plain")

    error = await sdk_error(respond)
    assert is_http_failure(error)
    assert parse_failure(error) is None


async def test_a_servers_own_error_is_neither() -> None:
    async def respond(exchange: Exchange) -> None:
        await exchange.error(-32603, "Failed to parse JSON response: of the bank", status=500)

    error = await sdk_error(respond)
    assert not is_http_failure(error)
    assert parse_failure(error) is None


@pytest.mark.process
async def test_the_sdk_terminates_a_process_group() -> None:
    sleep = "import signal; signal.pause()"
    code = (
        f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {sleep!r}]).pid, flush=True); {sleep}"
    )
    process = await anyio.open_process([sys.executable, "-c", code], stderr=subprocess.DEVNULL, start_new_session=True)
    assert process.stdout is not None
    watched = watch([process.pid, int(await process.stdout.receive())])
    await terminate_process_tree(process, 5)
    await process.wait()
    release_process(process)
    await process.aclose()
    await assert_gone(watched)


def test_the_sdk_has_its_functions_for_windows() -> None:
    assert list(inspect.signature(win32.create_windows_process).parameters) == [
        "command",
        "args",
        "env",
        "errlog",
        "cwd",
    ]
    assert list(inspect.signature(win32.get_windows_executable_command).parameters) == ["command"]
    assert list(inspect.signature(win32.terminate_windows_process_tree).parameters) == ["process"]
    assert {"wait", "kill", "terminate", "returncode"} <= set(dir(win32.FallbackProcess))


def test_the_sdk_sends_requests_with_any_type_of_result_and_dispatches_input_requests() -> None:
    assert {"request", "result_type", "progress_callback"} <= set(
        inspect.signature(ClientSession.send_request).parameters
    )
    assert list(inspect.signature(ClientSession.dispatch_input_request).parameters)[1:] == ["ctx", "request"]
    assert {"session", "request_id"} <= set(inspect.signature(ClientRequestContext).parameters)
