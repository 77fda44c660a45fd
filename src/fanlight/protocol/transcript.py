"""Recorded messages between a View and its host."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from fanlight.protocol.jsonrpc import JSONObject

Sender = Literal["host", "view"]


@dataclass(frozen=True)
class RecordedMessage:
    """A message between a View and its host."""

    by: Sender
    """The sender: `"view"` or `"host"`."""
    message: JSONObject
    """The JSON-RPC message."""
    at: float = 0.0
    """When it was sent, in seconds since the View was opened."""

    @property
    def method(self) -> str | None:
        """The method of a request or notification; None for a response."""
        method = self.message.get("method")
        return method if isinstance(method, str) else None

    @property
    def params(self) -> JSONObject:
        """The params of a request or notification; empty without any."""
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}


def json_lines(messages: Iterable[RecordedMessage]) -> str:
    """Return messages as JSON lines."""
    lines = ({"at": round(entry.at, 4), "by": entry.by, "message": entry.message} for entry in messages)
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
