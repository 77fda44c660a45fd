"""Conversations: the messages of a client in each protocol version, serialized in advance."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from bench import workload
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE

Client = Literal["ui", "plain"]
Request = Literal["tools/list", "tools/call async", "tools/call def", "resources/read"]
Message = dict[str, Any]

PROTOCOLS = ("2025-11-25", "2026-07-28")
REQUESTS: tuple[Request, ...] = ("tools/list", "tools/call async", "tools/call def", "resources/read")

_INFO = {"name": "bench", "version": "1"}
_CAPABILITIES: dict[Client, Message] = {
    "ui": {"extensions": {EXTENSION_ID: {"mimeTypes": [MIME_TYPE]}}},
    "plain": {},
}


@dataclass
class Conversation:
    """One client's requests in one protocol version."""

    protocol: str
    client: Client
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def modern(self) -> bool:
        return self.protocol in MODERN_PROTOCOL_VERSIONS

    def opening(self) -> list[Message]:
        """The messages before the first request: none, since 2026-07-28."""
        if self.modern:
            return []
        hello = {
            "protocolVersion": self.protocol,
            "capabilities": _CAPABILITIES[self.client],
            "clientInfo": _INFO,
        }
        return [
            {"jsonrpc": "2.0", "id": next(self._ids), "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
        ]

    def requests(self, request: Request, count: int) -> list[Message]:
        """Return `count` requests of one kind, to one tool or View after the other."""
        return [self._request(request, number) for number in range(count)]

    def _request(self, request: Request, number: int) -> Message:
        method, params = _body(request, number)
        if self.modern:
            params["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.protocol,
                "io.modelcontextprotocol/clientCapabilities": _CAPABILITIES[self.client],
                "io.modelcontextprotocol/clientInfo": _INFO,
            }
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}


def _body(request: Request, number: int) -> tuple[str, Message]:
    if request == "tools/list":
        return "tools/list", {}
    if request == "resources/read":
        return "resources/read", {"uri": workload.view_uri(number % workload.TOOLS)}
    wanted = request == "tools/call async"
    kind = [tool for tool in range(workload.TOOLS) if workload.is_async(tool) is wanted]
    name = workload.tool_name(kind[number % len(kind)])
    return "tools/call", {"name": name, "arguments": {"place": "Oslo", "days": 3}}


def check(request: Request, answer: Message, client: Client, negotiates: bool) -> None:
    """Raise if a response is not the expected one: a server that fails fast must not win."""
    shown = client == "ui" or not negotiates
    if request == "resources/read" and not shown:
        assert "error" in answer, f"a hidden View was read: {str(answer)[:300]}"
        return
    assert "result" in answer, f"{request}: {str(answer)[:500]}"
    result = answer["result"]
    if request == "tools/list":
        assert len(result["tools"]) == workload.TOOLS
        assert all(("ui" in tool.get("_meta", {})) is shown for tool in result["tools"])
        assert all("outputSchema" in tool for tool in result["tools"])
    elif request == "resources/read":
        text = result["contents"][0]["text"]
        assert abs(len(text) / workload.VIEW_BYTES - 1) < 0.03, f"the View has {len(text)} characters"
    else:
        assert result["structuredContent"]["place"] == "Oslo"
        assert result["content"]
