"""JSON-RPC 2.0 as the link speaks it: what a message is, and how errors are numbered."""

from typing import Any, Final, TypeGuard

RequestId = int | str
Message = dict[str, Any]
JSONObject = dict[str, Any]

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
REFUSED: Final = -32000
"""Denied by policy or by the user, or failed: the code of the standard's own examples (LNK-02)."""


def is_id(value: object) -> TypeGuard[RequestId]:
    """Tell whether a value may be a request's id. Zero and the empty string may; null and booleans may not."""
    return isinstance(value, int | str) and not isinstance(value, bool)


def request(id: RequestId, method: str, params: dict[str, Any]) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def notification(method: str, params: dict[str, Any]) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id: RequestId, value: dict[str, Any]) -> Message:
    return {"jsonrpc": "2.0", "id": id, "result": value}


def error(id: RequestId | None, code: int, message: str, data: Any = None) -> Message:
    body: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        body["data"] = data
    return {"jsonrpc": "2.0", "id": id, "error": body}
