"""Responses that cannot be parsed or are too large: their requests fail at once, and others are not affected."""

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from pydantic import ValidationError

from fanlight.host.errors import CallTimeoutError, InvalidResponseError, ServerError
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.transport.malformed import replace_malformed, replace_oversized
from support.connected import connected
from support.raw_web import Exchange, raw_web

pytestmark = pytest.mark.anyio

DEEP = "[" * 3000 + "]" * 3000
RESPONSES = {
    "half a surrogate pair": ('{"jsonrpc": "2.0", "id": ID, "result": {"a": "\\ud800"}}', "half of a surrogate pair"),
    "nested": ('{"jsonrpc": "2.0", "id": ID, "result": {"a": ' + DEEP + "}}", "nested too deep"),
    "the id at the end": ('{"result": {"id": 0, "a": "\\ud800\\"}"}, "id": ID, "jsonrpc": "2.0"}', "surrogate"),
    "cut short": ('{"jsonrpc": "2.0", "id": ID, "result": {"content', "EOF"),
    "a list": ('{"jsonrpc": "2.0", "id": ID, "result": []}', 'neither a "result" nor an "error" that is an object'),
}
responses = pytest.mark.parametrize(("line", "reason"), RESPONSES.values(), ids=RESPONSES)


async def assert_fails(connection: Connection, arguments: dict[str, Any], reason: str) -> None:
    with anyio.fail_after(20), pytest.raises(InvalidResponseError) as error:
        await connection.call_tool("write", arguments)
    assert str(error.value).startswith("it: The response of the tool write cannot be parsed: ")
    assert reason in error.value.message
    assert connection.status.state == "ready"


@responses
async def test_a_malformed_response_over_stdio_fails_its_call_at_once(raw: list[str], line: str, reason: str) -> None:
    async with connected(raw) as connection:
        await assert_fails(connection, {"line": line}, reason)
        assert (await connection.call_tool("echo"))["content"]


@responses
async def test_a_malformed_response_over_a_transport_of_the_sdk_fails_its_call_at_once(
    raw: list[str], line: str, reason: str
) -> None:
    parameters = StdioServerParameters(command=raw[0], args=raw[1:])
    async with connected(lambda: stdio_client(parameters)) as connection:
        await assert_fails(connection, {"line": line}, reason)


@responses
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_a_malformed_response_over_http_fails_its_call_at_once(line: str, reason: str, kind: str) -> None:
    async def write(exchange: Exchange) -> None:
        body = line.replace("ID", str(exchange.message["id"])).encode()
        await exchange.answer(200, b"data: %s\n\n" % body if "event" in kind else body, kind)

    async with raw_web(write=write) as web, connected(web.url) as connection:
        await assert_fails(connection, {}, "it is not a JSON-RPC message" if "neither" in reason else reason)


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": ID, "method": "ping", "params": {"a": "\\ud800"}}',
        '{"jsonrpc": "2.0", "method": "x", "params": {"id": ID, "result": "\\ud800"}}',
        '{"id": ID, "text": "a log line"}',
        '{"id": [ID], "result": "\\ud800"}',
        '"id": ID, "result": 1',
        "",
    ],
)
async def test_a_message_that_is_not_a_response_fails_no_call(raw: list[str], line: str) -> None:
    async with connected(raw) as connection:
        with pytest.raises(CallTimeoutError):
            await connection.call_tool("write", {"line": line}, timeout=0.3)


@pytest.mark.parametrize(("id", "read"), [('"a-1"', "a-1"), ("7", 7), ("-7", -7), ("7.5", None), ('"\\u0041"', None)])
def test_the_id_of_the_request_is_found_in_the_text(id: str, read: object) -> None:
    text = '{"jsonrpc": "2.0", "id": ID, "result": "\\ud800"}'.replace("ID", id)
    with pytest.raises(ValidationError) as failed:
        types.jsonrpc_message_adapter.validate_json(text)
    message = replace_malformed(text, failed.value)
    assert (None if message is None else getattr(message.message, "id", ...)) == read


LARGE = "a" * 200_000
OVERSIZED = {
    "the id first": f'{{"jsonrpc": "2.0", "id": ID, "result": {{"content": [], "a": "{LARGE}"}}}}',
    "the id at the end": f'{{"result": {{"content": [], "a": "{LARGE}"}}, "jsonrpc": "2.0", "id": ID}}',
}
oversized = pytest.mark.parametrize("line", OVERSIZED.values(), ids=OVERSIZED)


async def assert_is_refused(connection: Connection, arguments: dict[str, Any]) -> None:
    with anyio.fail_after(20), pytest.raises(InvalidResponseError) as error:
        await connection.call_tool("write", arguments)
    expected = "it: The response of the tool write is larger than 100,000 bytes, the limit of this host."
    assert str(error.value).startswith(expected)
    assert connection.status.state == "ready"


@oversized
async def test_a_response_over_stdio_that_is_too_large_fails_its_call_at_once(raw: list[str], line: str) -> None:
    async with connected(raw, max_bytes=100_000) as connection:
        await assert_is_refused(connection, {"line": line})
        assert (await connection.call_tool("echo"))["content"]


@oversized
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("status", [200, 400])
async def test_a_response_over_http_that_is_too_large_fails_its_call_at_once(line: str, kind: str, status: int) -> None:
    async def write(exchange: Exchange) -> None:
        body = line.replace("ID", str(exchange.message["id"])).encode()
        if status == 400:
            body = body.replace(b'"result"', b'"error"')
        await exchange.answer(status, b"data: %s\n\n" % body if "event" in kind else body, kind)

    async def echo(exchange: Exchange) -> None:
        await exchange.result({"content": []})

    async with raw_web(write=write, echo=echo) as web, connected(web.url, max_bytes=100_000) as connection:
        if status == 200:
            await assert_is_refused(connection, {})
        else:
            with anyio.fail_after(20), pytest.raises(ServerError, match=r"HTTP 400|larger than"):
                await connection.call_tool("write", {})
        assert (await connection.call_tool("echo"))["content"] == []


@pytest.mark.parametrize(
    "end", ['a"}, "y": {"id": 4}}', 'a"}, "id": [4]}', 'a"}}'], ids=["an id inside", "not an id", "no id"]
)
def test_a_large_message_without_the_id_of_a_request_fails_no_request(end: str) -> None:
    assert replace_oversized(b'{"result": {"a": "aaa', end.encode(), 5) is None
    assert replace_oversized(b'{"method": "x", "params": {"a": "aaa', b'a"}, "id": 4}', 5) is None
