"""Responses that cannot be parsed: half a surrogate pair, nesting without end, a result that is a list.

If such a response still shows the id of its request, that request fails at once instead of running into its timeout.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[][{}:,]|[^][{}:,"\s]+', re.DOTALL)
# Some servers write the id after the result.
_ID_AT_END: Final = re.compile(
    rb'"id"\s*:\s*(-?[0-9]{1,18}|"[^"\\]{0,200}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z'
)
_METHOD_AT_START: Final = 100
_NUMBER: Final = re.compile(rb"-?[0-9]{1,18}")
_EXPLANATIONS: Final = {
    "hex escape": "half of a surrogate pair, which is not a character",
    "surrogate": "half of a surrogate pair, which is not a character",
    "recursion limit": "nested too deep",
}


@dataclass(frozen=True)
class MalformedResponse:
    """The data of an error that replaces a response that cannot be parsed."""

    reason: str


@dataclass(frozen=True)
class OversizedResponse:
    """The data of an error that replaces a response with too many bytes."""

    max_bytes: int


def oversized_error(id: types.RequestId, max_bytes: int) -> SessionMessage:
    """Return the error that a request gets in place of a response with too many bytes."""
    data = types.ErrorData(
        code=types.INTERNAL_ERROR, message="The response is too large.", data=OversizedResponse(max_bytes)
    )
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id, error=data))


def replace_oversized(start: bytes, end: bytes, max_bytes: int) -> SessionMessage | None:
    """Return an error in place of a response of which only the start and the end were kept; None if it has no id."""
    id = _find_request_id(start)
    if id is None and (found := _ID_AT_END.search(end)) is not None and b'"method"' not in start[:_METHOD_AT_START]:
        id = _parse_id(found[1])
    return None if id is None else oversized_error(id, max_bytes)


def replace_malformed(response: str | bytes, error: ValidationError) -> SessionMessage | None:
    """Return an error in place of a response that cannot be parsed; None if it shows no request id."""
    id = _find_request_id(response.encode("utf-8", "replace") if isinstance(response, str) else response)
    return None if id is None else malformed_error(id, _reason(error))


def malformed_error(id: types.RequestId, reason: str) -> SessionMessage:
    """Return the error that a request gets in place of its malformed response."""
    data = types.ErrorData(code=types.PARSE_ERROR, message=reason, data=MalformedResponse(reason))
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=id, error=data))


def replace_failure(error: ValidationError) -> SessionMessage | None:
    """Like `replace_malformed`, for the error that a transport of the SDK hands on in place of a message."""
    value = error.errors(include_url=False)[0]["input"]
    if isinstance(value, str | bytes):
        return replace_malformed(value, error)
    match value:
        case Mapping() if "method" not in value and type(value.get("id")) in (int, str):
            return malformed_error(value["id"], _reason(error))
    return None


def _reason(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] != "json_invalid":
        return 'it has neither a "result" nor an "error" that is an object'
    return explain_parser_error(str(first["ctx"]["error"]))


def explain_parser_error(message: str) -> str:
    """Translate the message of a JSON parser into plain English, where it needs that."""
    explanation = next((text for part, text in _EXPLANATIONS.items() if part in message), None)
    return message if explanation is None else f"{explanation} ({message})"


def _find_request_id(text: bytes) -> types.RequestId | None:
    """Return the id of the request that a text responds to, as far as it can be found without a parser."""
    depth, key, is_value, found, is_response = 0, b"", False, b"", False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token in (b":", b","):
            is_value = token == b":"
        elif depth == 1 and not is_value:
            key = token
            if key == b'"method"':
                return None  # a request, with an id of its own
            is_response = is_response or key in (b'"result"', b'"error"')
        elif depth == 1 and key == b'"id"':
            found = token
        if token in (b"{", b"["):
            depth += 1
    return _parse_id(found) if is_response else None


def _parse_id(found: bytes) -> types.RequestId | None:
    if _NUMBER.fullmatch(found):
        return int(found)
    return found[1:-1].decode("utf-8", "replace") if found.startswith(b'"') and b"\\" not in found else None
