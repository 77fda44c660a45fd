"""The messages between a View and the host, as tests see them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from fanlight.protocol.jsonrpc import JSONObject

__all__ = ["Said", "json_lines"]

By = Literal["host", "view"]


@dataclass(frozen=True)
class Said:
    """A message between a View and the host."""

    by: By
    """Who sent it: `"view"` or `"host"`."""
    message: JSONObject
    """The JSON-RPC message."""
    at: float
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


def json_lines(messages: Iterable[Said]) -> str:
    """Return messages as JSON lines."""
    lines = ({"at": round(said.at, 4), "by": said.by, "message": said.message} for said in messages)
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
