"""The other programs of the benchmark `chat`: a model that streams, and a bare relay of its stream.

python -m bench.chat_process PORT

Both are in one process, so that the page of the relay and `fanlight chat` get the same stream from the same program.
The time at which the model has written something is part of what it writes.
"""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

PAGES = Path(__file__).with_name("pages")
PAUSE = 0.03
"""Seconds between two pieces, as with a fast model."""
WORDS = ["lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit"]

client = httpx2.AsyncClient(timeout=None)


def stamp() -> str:
    return f"t{time.time() * 1000:.1f}"


async def pieces(body: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """Yield the pieces of an answer: a call if the user wants a View, otherwise as many words as they ask for."""
    last = body["messages"][-1]
    prompt = str(last["content"]) if last["role"] == "user" else ""
    if "view" in prompt:
        call = {"index": 0, "id": stamp(), "type": "function"}
        yield {"tool_calls": [{**call, "function": {"name": "chat_app__show", "arguments": ""}}]}
        for piece in ('{"te', 'xt": "', "some words", '"}'):
            await asyncio.sleep(PAUSE)
            yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
        return
    count = int(prompt.rpartition(" ")[2]) if prompt.rpartition(" ")[2].isdecimal() else 1
    yield {"content": f"{stamp()} "}
    for number in range(count):
        await asyncio.sleep(PAUSE)
        yield {"content": f"{WORDS[number % len(WORDS)]} " if number % 40 else f"\n\n**{WORDS[0]}** `code` "}


async def model(request: Request) -> Response:
    body = await request.json()

    async def events() -> AsyncIterator[str]:
        async for delta in pieces(body):
            choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
            yield f"data: {json.dumps({**CHUNK, 'choices': [choice]})}\n\n"
        reason = "tool_calls" if "view" in str(body["messages"][-1]) else "stop"
        yield f"data: {json.dumps({**CHUNK, 'choices': [{'index': 0, 'delta': {}, 'finish_reason': reason}]})}\n\n"
        yield "data: [DONE]\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


CHUNK = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench"}


async def relay(request: Request) -> Response:
    """Pass the model's stream on as it is."""
    body = {"messages": [{"role": "user", "content": (await request.json())["text"]}]}

    async def stream() -> AsyncIterator[bytes]:
        async with client.stream("POST", f"http://127.0.0.1:{sys.argv[1]}/v1/chat/completions", json=body) as answer:
            async for chunk in answer.aiter_raw():
                yield chunk

    return StreamingResponse(stream(), media_type="text/event-stream")


async def page(request: Request) -> Response:
    return FileResponse(PAGES / "chat-relay.html")


async def view(request: Request) -> Response:
    return FileResponse(PAGES / "chat-view.html")


app = Starlette(
    routes=[
        Route("/", page),
        Route("/view.html", view),
        Route("/relay", relay, methods=["POST"]),
        Route("/v1/chat/completions", model, methods=["POST"]),
    ]
)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
