"""Answers that no parser takes: who waits for one learns it at once, and nobody else is disturbed."""

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client.stdio import StdioServerParameters, stdio_client
from pydantic import ValidationError

from fanlight.host.errors import CallTimeoutError, InvalidResponseError
from fanlight.host.upstream.connection import Connection
from fanlight.host.upstream.malformed import in_place_of
from support.connected import connected
from support.raw_web import Exchange, raw_web

pytestmark = pytest.mark.anyio

DEEP = "[" * 3000 + "]" * 3000
ANSWERS = {
    "half a surrogate pair": ('{"jsonrpc": "2.0", "id": ID, "result": {"a": "\\ud800"}}', "half of a surrogate pair"),
    "nested": ('{"jsonrpc": "2.0", "id": ID, "result": {"a": ' + DEEP + "}}", "nested too deep"),
    "the id at the end": ('{"result": {"id": 0, "a": "\\ud800\\"}"}, "id": ID, "jsonrpc": "2.0"}', "surrogate"),
    "cut short": ('{"jsonrpc": "2.0", "id": ID, "result": {"content', "EOF"),
    "a list": ('{"jsonrpc": "2.0", "id": ID, "result": []}', 'neither a "result" nor an "error" that is an object'),
}
answers = pytest.mark.parametrize(("line", "words"), ANSWERS.values(), ids=ANSWERS)


async def assert_told(connection: Connection, arguments: dict[str, Any], words: str) -> None:
    with anyio.fail_after(20), pytest.raises(InvalidResponseError) as bad:
        await connection.call_tool("write", arguments)
    assert str(bad.value).startswith("it: The answer of the tool write cannot be read: ")
    assert words in bad.value.message
    assert connection.status.state == "ready"


@answers
async def test_an_answer_over_stdio_that_cannot_be_read_fails_its_call_at_once(
    raw: list[str], line: str, words: str
) -> None:
    async with connected(raw) as connection:
        await assert_told(connection, {"line": line}, words)
        assert (await connection.call_tool("echo"))["content"]


@answers
async def test_so_does_one_over_a_transport_of_the_sdk(raw: list[str], line: str, words: str) -> None:
    parameters = StdioServerParameters(command=raw[0], args=raw[1:])
    async with connected(lambda: stdio_client(parameters)) as connection:
        await assert_told(connection, {"line": line}, words)


@answers
@pytest.mark.parametrize("kind", ["application/json", "text/event-stream"])
async def test_so_does_one_over_http(line: str, words: str, kind: str) -> None:
    async def write(exchange: Exchange) -> None:
        body = line.replace("ID", str(exchange.message["id"])).encode()
        await exchange.answer(200, b"data: %s\n\n" % body if "event" in kind else body, kind)

    async with raw_web(write=write) as web, connected(web.url) as connection:
        await assert_told(connection, {}, "it is no JSON-RPC message" if "neither" in words else words)


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc": "2.0", "id": ID, "method": "ping", "params": {"a": "\\ud800"}}',
        '{"jsonrpc": "2.0", "method": "x", "params": {"id": ID, "result": "\\ud800"}}',
        '{"id": ID, "words": "a log line"}',
        '{"id": [ID], "result": "\\ud800"}',
        '"id": ID, "result": 1',
        "",
    ],
)
async def test_what_is_no_answer_fails_no_call(raw: list[str], line: str) -> None:
    async with connected(raw) as connection:
        with pytest.raises(CallTimeoutError):
            await connection.call_tool("write", {"line": line}, timeout=0.3)


@pytest.mark.parametrize(("id", "read"), [('"a-1"', "a-1"), ("7", 7), ("-7", -7), ("7.5", None), ('"\\u0041"', None)])
def test_the_id_is_read_as_it_was_written(id: str, read: object) -> None:
    text = '{"jsonrpc": "2.0", "id": ID, "result": "\\ud800"}'.replace("ID", id)
    with pytest.raises(ValidationError) as failed:
        types.jsonrpc_message_adapter.validate_json(text)
    answer = in_place_of(text, failed.value)
    assert (None if answer is None else getattr(answer.message, "id", ...)) == read
