"""A recorded conversation between a View and its host, as *Export* writes it: one JSON object per line.

{"at": 120, "from": "view", "message": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", ...}}
"""

import json
from collections import deque
from typing import Final

from fanlight.protocol.errors import LocalError
from fanlight.protocol.jsonrpc import JSONObject

_SERVER_METHODS: Final = frozenset({"tools/call", "resources/read", "resources/list", "resources/templates/list"})
_INPUT: Final = "ui/notifications/tool-input"
_RESULT: Final = "ui/notifications/tool-result"
_CANCELLED: Final = "ui/notifications/tool-cancelled"


class RecordingError(LocalError):
    """A file is not a recording."""


class Recording:
    """The input and outcome of a recorded tool call, and the server's responses to the View's requests, in order."""

    def __init__(self, text: str) -> None:
        entries = [_entry(line, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if not entries:
            raise RecordingError("The recording is empty: expected one JSON object per line, as Export writes them.")
        from_host = [message for source, message in entries if source == "host"]
        from_view = [message for source, message in entries if source == "view"]
        self.arguments = _params(from_host, _INPUT).get("arguments") or {}
        """The tool's input."""
        self.outcome = next((message for message in from_host if message.get("method") in (_RESULT, _CANCELLED)), None)
        self.view_methods = tuple(message["method"] for message in from_view if isinstance(message.get("method"), str))
        """The methods of the View's messages, in order."""
        responses = {message["id"]: message for message in from_host if "method" not in message and "id" in message}
        self._responses: dict[str, deque[JSONObject]] = {}
        for message in from_view:
            if message.get("method") in _SERVER_METHODS and message.get("id") in responses:
                key = _key(message["method"], message.get("params") or {})
                self._responses.setdefault(key, deque()).append(responses[message["id"]])
        self._started = False

    def answer(self, method: str, params: JSONObject) -> tuple[JSONObject | None, JSONObject | None]:
        """Return the recorded error or result of a request; neither if no such request was recorded.

        The first `tools/call` is the call of the tool itself. The last response to a request is repeated.
        """
        if method == "tools/call" and not self._started:
            self._started = True
            if self.outcome is not None and self.outcome["method"] == _RESULT:
                return None, self.outcome.get("params") or {}
            reason = ((self.outcome or {}).get("params") or {}).get("reason") or "No result was recorded."
            return {"code": -32000, "message": reason}, None
        responses = self._responses.get(_key(method, params))
        if not responses:
            return None, None
        response = responses.popleft() if len(responses) > 1 else responses[0]
        return response.get("error"), response.get("result")


def _entry(line: str, number: int) -> tuple[str, JSONObject]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise RecordingError(f"Line {number} is not JSON ({error}): expected a line that Export wrote.") from None
    match entry:
        case {"from": "view" | "host" | "client" | "server" as source, "message": dict() as message}:
            return source, message
    raise RecordingError(f'Line {number} is not a message: expected {{"from": "view" or "host", "message": {{...}}}}.')


def _params(messages: list[JSONObject], method: str) -> JSONObject:
    found = next((message for message in messages if message.get("method") == method), {})
    params = found.get("params")
    return params if isinstance(params, dict) else {}


def _key(method: str, params: JSONObject) -> str:
    target = (params.get("name"), params.get("uri"), params.get("arguments") or {})
    return f"{method} {json.dumps(target, sort_keys=True)}"
