"""JSON-RPC 2.0 messages and error codes."""

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
"""Denied by the policy or the user, or failed: the code in the examples of the standard (LNK-02)."""


def is_id(value: object) -> TypeGuard[RequestId]:
    """Return whether a value is a request id. Zero and the empty string are; null and booleans are not."""
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
