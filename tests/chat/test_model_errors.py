"""What a user is told when the service of a model does not answer as it should."""

import asyncio
import json
import logging
import platform
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from fanlight.chat.model_errors import CUT_SHORT, TOO_LONG
from fanlight.chat.models import OTHER_KEY
from fanlight.chat.program import ChatLimits
from support.chatting import answered, chatting

pytestmark = pytest.mark.anyio

# The client of OpenAI asks for it once, which starts a process, and a test that starts one has to be marked.
platform.processor()

STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def event(data: str) -> bytes:
    """Return an event of a stream, as a chunk of HTTP."""
    text = f"data: {data}\n\n".encode()
    return b"%x\r\n%s\r\n" % (len(text), text)


def piece(finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": finish_reason}
    return event(
        json.dumps({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})
    )


def whole(status: str, type: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n%s" % (
        status.encode(),
        type.encode(),
        len(body),
        body,
    )


END = event("[DONE]") + b"0\r\n\r\n"
PAGE = whole("200 OK", "text/html", b"<!doctype html><title>Welcome</title>")
UNKNOWN = whole("404 Not Found", "application/json", b'{"error": {"message": "model \'m\' not found"}}')
NO_ROUTE = whole("404 Not Found", "text/plain", b"404 page not found")
REJECTED = whole("401 Unauthorized", "application/json", b'{"error": {"message": "Incorrect API key"}}')


@asynccontextmanager
async def service(response: bytes, path: str = "/v1", *, is_silent: bool = False) -> AsyncIterator[str]:
    """Serve one response to every request, and close the connection unless it is to stay silent."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        writer.write(response)
        await writer.drain()
        if is_silent:
            await reader.read()  # until the client gives up
        writer.close()

    server = await asyncio.start_server(respond, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"


async def turn_with(folder: Path, base_url: str, seconds: float = 60) -> dict[str, Any]:
    """Return the turn of a chat with a service."""
    limits = ChatLimits(model_timeout=seconds)
    with chatting({}, folder / "chat.db", model="m", base_url=base_url, limits=limits) as chat:
        async with chat.client() as http:
            sent = (await http.post("/api/send", json={"text": "Hello"})).json()
            await answered(http, sent["conversation"])
            found = (await http.get("/api/conversation", params={"conversation": sent["conversation"]})).json()
            return dict(found["turns"][0])


@pytest.mark.parametrize(
    ("response", "path", "said"),
    [
        (
            STREAM + piece(),
            "/v1",
            "{} closed the connection before the answer was complete. Try again, or see its log.",
        ),
        (
            STREAM + piece() + event("{nope") + END,
            "/v1",
            "{} sent a stream that is not valid JSON. Is it compatible with OpenAI? "
            "Check the address: it often ends with /v1.",
        ),
        (
            PAGE,
            "",
            "{} sent no answer of a model. Streamed response ended without content or tool calls. "
            "Check the address: it often ends with /v1.",
        ),
        (
            NO_ROUTE,
            "",
            "{} answered with HTTP 404: 404 page not found. Check the address: it often ends with /v1.",
        ),
        (
            UNKNOWN,
            "/v1",
            "{} answered with HTTP 404: model 'm' not found. Does it have the model m? Choose another in the settings.",
        ),
        (
            REJECTED,
            "/v1",
            f"{{}} answered with HTTP 401: Incorrect API key. Check the key in {OTHER_KEY}, "
            "and start fanlight chat again.",
        ),
    ],
    ids=["cut", "invalid", "page", "no route", "unknown", "rejected"],
)
async def test_a_failure_of_the_service_is_one_sentence_with_the_address_and_a_remedy(
    response: bytes, path: str, said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with service(response, path) as address:
        turn = await turn_with(tmp_path, address)
    assert (turn["state"], turn["error"]) == ("failed", said.format(address))
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_a_service_that_is_not_there_or_silent_is_named_with_what_to_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = await turn_with(tmp_path, "http://127.0.0.1:9/v1")
    assert gone["error"] == "Nothing answers at http://127.0.0.1:9/v1. Is the service running?"
    async with service(STREAM + piece(), is_silent=True) as address:
        silent = await turn_with(tmp_path, address, seconds=0.5)
    assert silent["error"] == f"{address} was silent for 0.5 s. Try again, or give it more time with --timeout."
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize(("reason", "note"), [("stop", None), ("length", TOO_LONG), (None, CUT_SHORT)])
async def test_an_answer_that_ends_without_a_reason_or_too_early_carries_a_note(
    reason: str | None, note: str | None, tmp_path: Path
) -> None:
    async with service(STREAM + piece(reason) + END) as address:
        turn = await turn_with(tmp_path, address)
    assert (turn["state"], turn["note"], turn["blocks"][0]["text"]) == ("done", note, "Hi")


async def test_a_model_of_the_command_line_is_the_one_of_the_next_run(tmp_path: Path) -> None:
    store = tmp_path / "chat.db"
    with chatting({}, store, model="m", base_url="http://127.0.0.1:9/v1"):
        pass
    with chatting({}, store, model=None) as chat:
        assert chat.program.model_problem is None
    with closing(sqlite3.connect(store)) as database:
        kept = dict(database.execute("select name, value from chat_settings"))
    assert kept == {"model": '"m"', "base_url": '"http://127.0.0.1:9/v1"'}
