"""A process that does the server side only, so that its CPU time is the server's.

    python -m bench.server_process http|memory SUBJECT VIEWS

`http` prints its port and serves until its input ends; a line of input freezes what is on the heap by then.
`memory` runs the batches that its input names, each a JSON line, and answers with the CPU time of each.
"""

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.abc
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCNotification, JSONRPCRequest

from bench import workload
from bench.conversation import PROTOCOLS, REQUESTS, Client, Conversation, Message, Request, check
from bench.serving import freeze, say, serve
from fanlight.server.negotiation import lowlevel

CLIENTS: tuple[Client, ...] = ("ui", "plain")


def main() -> None:
    kind, subject, folder = sys.argv[1:]
    server = workload.BUILDERS[subject](sorted(Path(folder).glob("*.html")))
    logging.disable(logging.INFO)
    if kind == "http":
        anyio.run(_serve_http, server)
    else:
        anyio.run(_serve_memory, server, subject.startswith("Fanlight"))


async def _serve_http(server: Any) -> None:
    async def obey(order: Any) -> dict[str, Any]:
        freeze()
        return {"frozen": True}

    app = server.http_app() if hasattr(server, "http_app") else server.streamable_http_app()
    await serve(app, obey, ws="none")


class MemoryClient:
    """A client in the server's process. It sends prepared messages and does not parse responses."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    async def open(self, core: Server[Any], tasks: anyio.abc.TaskGroup) -> None:
        self._send: MemoryObjectSendStream[SessionMessage | Exception]
        self._receive: MemoryObjectReceiveStream[SessionMessage]
        self._send, at_server = anyio.create_memory_object_stream[SessionMessage | Exception](10)
        from_server, self._receive = anyio.create_memory_object_stream[SessionMessage](10)
        tasks.start_soon(core.run, at_server, from_server, core.create_initialization_options())
        for message in self.conversation.opening():
            await self._send.send(_session_message(message))
            if "id" in message:
                await self._receive.receive()

    async def check(self, request: Request, negotiates: bool) -> None:
        answer = await self._exchange(_session_message(self.conversation.requests(request, 1)[0]))
        wire = answer.message.model_dump(by_alias=True, mode="json", exclude_none=True)
        check(request, wire, self.conversation.client, negotiates)

    async def run(self, request: Request, count: int) -> float:
        """Return the CPU seconds that one request took, on average, after one that warms the caches."""
        first, *others = [_session_message(message) for message in self.conversation.requests(request, count + 1)]
        await self._exchange(first)
        started = time.process_time()
        for message in others:
            await self._exchange(message)
        return (time.process_time() - started) / count

    async def _exchange(self, message: SessionMessage) -> SessionMessage:
        await self._send.send(message)
        return await self._receive.receive()


async def _serve_memory(server: Any, negotiates: bool) -> None:
    clients: dict[tuple[str, Client], MemoryClient] = {}
    async with anyio.create_task_group() as tasks:
        for protocol in PROTOCOLS:
            for client in CLIENTS:
                clients[protocol, client] = MemoryClient(Conversation(protocol, client))
                await clients[protocol, client].open(lowlevel(server), tasks)
                for request in REQUESTS:
                    await clients[protocol, client].check(request, negotiates)
        freeze()
        say({"ready": True})
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            order = json.loads(line)
            chosen = clients[order["protocol"], cast("Client", order["client"])]
            say({"cpu": await chosen.run(order["request"], order["count"])})
        tasks.cancel_scope.cancel()


def _session_message(message: Message) -> SessionMessage:
    kind = JSONRPCRequest if "id" in message else JSONRPCNotification
    return SessionMessage(kind.model_validate(message))


if __name__ == "__main__":
    main()
