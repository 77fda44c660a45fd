"""A model that tests script: an OpenAI-compatible server on loopback, which streams in small pieces."""

import asyncio
import itertools
import json
import platform
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from support.wire import serving

# The client of OpenAI asks for it once, which starts a process, and a test that starts one has to be marked.
platform.processor()

_PIECE = 6  # characters, so that even short arguments come in several pieces


class Hold:
    """Lets a model write some pieces, and then wait until the test sets `release`."""

    def __init__(self, pieces: int) -> None:
        self._left = pieces
        self.release = asyncio.Event()

    async def __call__(self) -> None:
        self._left -= 1
        if self._left < 0:
            await self.release.wait()


@dataclass(frozen=True)
class ToolCall:
    """A step in which the model calls a tool."""

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict)
    """A string is sent as it is, also if it is not JSON."""
    between: Callable[[], Awaitable[object]] | None = None
    """Awaited in the event loop of the test before each piece of the arguments, but not before the name."""

    @property
    def text(self) -> str:
        """The JSON text that the model writes."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)


@dataclass(frozen=True)
class Text:
    """A step in which the model writes text, and the test decides when it goes on."""

    text: str
    between: Callable[[], Awaitable[object]] | None = None
    """Awaited in the event loop of the test before each piece."""


@dataclass(frozen=True)
class Failure:
    """A step in which the service answers with an error."""

    status: int
    message: str


Step = str | Text | Failure | ToolCall | list[ToolCall]
"""What the model writes in one response: text, a call, or several calls."""


class OpenAIServer:
    """Answers each request with the next step: `/v1/chat/completions` and `/v1/responses`, streamed or not."""

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self.steps = list(steps)
        self.requests: list[dict[str, Any]] = []
        """The bodies of the requests."""
        self.headers: list[Mapping[str, str]] = []
        """The headers of the requests."""
        self.url = ""
        """The base URL, which ends with `/v1`."""
        self.app = Starlette(
            routes=[
                Route("/{run}/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/{run}/v1/responses", self._responses, methods=["POST"]),
            ],
            exception_handlers={HTTPException: _failure},
        )
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)

    def tools(self, request: int = -1) -> list[str]:
        """Return the names of the tools that a request offers."""
        return [tool.get("function", tool)["name"] for tool in self.requests[request].get("tools", ())]

    async def _next(self, request: Request) -> tuple[dict[str, Any], Text, list[tuple[str, ToolCall]]]:
        """Return the body of a request, the text of the next step, and its calls with their ids."""
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        step = self.steps.pop(0) if self.steps else "(The script has no further step.)"
        if isinstance(step, Failure):
            raise HTTPException(step.status, step.message)
        if isinstance(step, str | Text):
            return body, Text(step) if isinstance(step, str) else step, []
        calls = step if isinstance(step, list) else [step]
        return body, Text(""), [(f"call_{next(self._ids)}", call) for call in calls]

    async def _pieces(self, text: str, between: Callable[[], Awaitable[object]] | None = None) -> AsyncIterator[str]:
        for piece in re.findall(f"(?s).{{1,{_PIECE}}}", text):
            if between is not None:
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_awaited(between), self._loop))
            yield piece

    async def _chat(self, request: Request) -> Response:
        body, text, calls = await self._next(request)
        reason = "tool_calls" if calls else "stop"
        if body.get("stream"):
            return _events(self._chat_chunks(text, calls, reason), end="[DONE]")
        message: dict[str, Any] = {"role": "assistant", "content": text.text or None}
        if calls:
            message["tool_calls"] = [
                {"id": id, "type": "function", "function": {"name": call.name, "arguments": call.text}}
                for id, call in calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return JSONResponse({**_CHAT, "object": "chat.completion", "choices": [choice], "usage": _CHAT_USAGE})

    async def _chat_chunks(
        self, text: Text, calls: list[tuple[str, ToolCall]], reason: str
    ) -> AsyncIterator[dict[str, Any]]:
        def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
            choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
            return {**_CHAT, "object": "chat.completion.chunk", "choices": [choice]}

        yield chunk({"role": "assistant", "content": ""})
        async for piece in self._pieces(text.text, text.between):
            yield chunk({"content": piece})
        for index, (id, call) in enumerate(calls):
            start = {"index": index, "id": id, "type": "function", "function": {"name": call.name, "arguments": ""}}
            yield chunk({"tool_calls": [start]})
            async for piece in self._pieces(call.text, call.between):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield chunk({}, reason)
        yield {**_CHAT, "object": "chat.completion.chunk", "choices": [], "usage": _CHAT_USAGE}

    async def _responses(self, request: Request) -> Response:
        body, text, calls = await self._next(request)
        response = f"resp_{next(self._ids)}"
        if body.get("stream"):
            return _events(self._response_events(response, text, calls))
        items = [_message(response, text.text)] if text.text else []
        return JSONResponse(_response(response, "completed", [*items, *(_function_call(*each) for each in calls)]))

    async def _response_events(
        self, response: str, text: Text, calls: list[tuple[str, ToolCall]]
    ) -> AsyncIterator[dict[str, Any]]:
        output: list[dict[str, Any]] = []
        yield {"type": "response.created", "response": _response(response, "in_progress", [])}
        if text.text:
            at = {"item_id": f"msg_{response}", "output_index": 0}
            part = {"type": "output_text", "text": "", "annotations": []}
            item = {**_message(response, ""), "status": "in_progress", "content": []}
            yield {"type": "response.output_item.added", "output_index": 0, "item": item}
            yield {"type": "response.content_part.added", **at, "content_index": 0, "part": part}
            async for piece in self._pieces(text.text, text.between):
                yield {"type": "response.output_text.delta", **at, "content_index": 0, "delta": piece, "logprobs": []}
            output.append(_message(response, text.text))
            yield {"type": "response.output_item.done", "output_index": 0, "item": output[0]}
        for index, (id, call) in enumerate(calls):
            at = {"item_id": f"fc_{id}", "output_index": index}
            item = {**_function_call(id, call), "arguments": "", "status": "in_progress"}
            yield {"type": "response.output_item.added", "output_index": index, "item": item}
            async for piece in self._pieces(call.text, call.between):
                yield {"type": "response.function_call_arguments.delta", **at, "delta": piece}
            yield {"type": "response.function_call_arguments.done", **at, "name": call.name, "arguments": call.text}
            output.append(_function_call(id, call))
            yield {"type": "response.output_item.done", "output_index": index, "item": output[-1]}
        yield {"type": "response.completed", "response": _response(response, "completed", output)}


_CHAT = {"id": "chatcmpl-1", "created": 1, "model": "scripted"}
_CHAT_USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


def _message(response: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "id": f"msg_{response}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _function_call(id: str, call: ToolCall) -> dict[str, Any]:
    return {
        "id": f"fc_{id}",
        "type": "function_call",
        "call_id": id,
        "name": call.name,
        "arguments": call.text,
        "status": "completed",
    }


def _response(id: str, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    return {
        "id": id,
        "object": "response",
        "created_at": 1,
        "model": "scripted",
        "status": status,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": usage if status == "completed" else None,
    }


async def _failure(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": {"message": error.detail, "type": "error"}}, error.status_code)


async def _awaited(between: Callable[[], Awaitable[object]]) -> None:
    await between()


def _events(events: AsyncIterator[dict[str, Any]], end: str | None = None) -> Response:
    """Return server-sent events, numbered as `/v1/responses` does."""

    async def lines() -> AsyncIterator[str]:
        number = 0
        async for event in events:
            kind = f"event: {event['type']}\n" if "type" in event else ""
            yield f"{kind}data: {json.dumps({**event, 'sequence_number': number})}\n\n"
            number += 1
        if end is not None:
            yield f"data: {end}\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream")


@contextmanager
def openai_server(*steps: Step) -> Iterator[OpenAIServer]:
    """Serve a script. Call it inside the event loop of the test."""
    server = OpenAIServer(steps)
    with serving(server.app) as address:
        # LangChain keeps a client for each address, also after it was closed, and ports are used again.
        server.url = f"{address}/{secrets.token_hex(4)}/v1"
        yield server
