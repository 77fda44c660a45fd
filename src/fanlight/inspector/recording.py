"""A saved conversation between a View and its host, as the inspector exports it: one JSON object a line.

{"at": 120, "from": "view", "message": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", ...}}
"""

import json
from collections import deque

from fanlight.protocol.errors import FanlightError
from fanlight.protocol.jsonrpc import JSONObject

_ASKED_OF_SERVERS = frozenset({"tools/call", "resources/read", "resources/list", "resources/templates/list"})
_INPUT = "ui/notifications/tool-input"
_RESULT = "ui/notifications/tool-result"
_CANCELLED = "ui/notifications/tool-cancelled"


class BadRecording(FanlightError):
    """What was given is no recording."""


class Recording:
    """What a View was told, and what it asked of its server, with the answers in their order."""

    def __init__(self, text: str) -> None:
        entries = [_entry(line, number) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
        if not entries:
            raise BadRecording("The recording is empty: expected one JSON object a line, as Export writes them.")
        told = [message for source, message in entries if source == "host"]
        said = [message for source, message in entries if source == "view"]
        self.arguments = _params(told, _INPUT).get("arguments") or {}
        """The tool's input."""
        self.outcome = next((message for message in told if message.get("method") in (_RESULT, _CANCELLED)), None)
        self.said = tuple(message["method"] for message in said if isinstance(message.get("method"), str))
        """The methods of what the View said, in order."""
        answers = {message["id"]: message for message in told if "method" not in message and "id" in message}
        self._answers: dict[str, deque[JSONObject]] = {}
        for message in said:
            if message.get("method") in _ASKED_OF_SERVERS and message.get("id") in answers:
                key = _key(message["method"], message.get("params") or {})
                self._answers.setdefault(key, deque()).append(answers[message["id"]])
        self._began = False

    def answer(self, method: str, params: JSONObject) -> tuple[JSONObject | None, JSONObject | None]:
        """Return the error or the result that a request got then; neither, if it was not asked then.

        The first call is that of the tool itself. The last answer of a kind is given again for more of its kind.
        """
        if method == "tools/call" and not self._began:
            self._began = True
            if self.outcome is not None and self.outcome["method"] == _RESULT:
                return None, self.outcome.get("params") or {}
            reason = ((self.outcome or {}).get("params") or {}).get("reason") or "No result was recorded."
            return {"code": -32000, "message": reason}, None
        answers = self._answers.get(_key(method, params))
        if not answers:
            return None, None
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        return answer.get("error"), answer.get("result")


def _entry(line: str, number: int) -> tuple[str, JSONObject]:
    try:
        entry = json.loads(line)
    except ValueError as error:
        raise BadRecording(f"Line {number} is not JSON ({error}): expected a line that Export wrote.") from None
    match entry:
        case {"from": "view" | "host" | "client" | "server" as source, "message": dict() as message}:
            return source, message
    raise BadRecording(f'Line {number} is no message: expected {{"from": "view" or "host", "message": {{...}}}}.')


def _params(messages: list[JSONObject], method: str) -> JSONObject:
    found = next((message for message in messages if message.get("method") == method), {})
    params = found.get("params")
    return params if isinstance(params, dict) else {}


def _key(method: str, params: JSONObject) -> str:
    what = (params.get("name"), params.get("uri"), params.get("arguments") or {})
    return f"{method} {json.dumps(what, sort_keys=True)}"
