"""The host's end of one link, as a state machine: feed it what the View said, deliver what it hands back.

The states, and what passes in each:

    NEW       The document loads. `ping` is answered and `ui/initialize` leads on; any other request is
              refused. Nothing but answers is sent (SBX-09).
    GREETED   `ui/initialize` was answered. Requests are served; still nothing but answers is sent.
    READY     `ui/notifications/initialized` came. What was held back goes out: first the last partial or the
              input, then the outcome, then what changed in the context. From now on each goes out as it comes.
    CLOSING   `ui/resource-teardown` was sent. Answers pass both ways, and what a View needs to save what it has;
              nothing else does.
    CLOSED    Nothing passes.

The order of a tool call, whatever the caller does:

    partials  any number, before the input (TIP-01, TIP-04); while nothing can be sent, the last one counts
    input     once (TIN-01, TIN-02)
    outcome   once, after the input: the result (TIN-03, TRS-01) or the cancellation (TCX-01)

Our ids are integers from 1; the View's are echoed as they came, 0 and strings included.

The bridge knows no clock and does no I/O. A request that somebody has to decide on becomes an event, and
`respond` or `refuse` answers it; what the bridge can answer from what it knows, it answers itself.
"""

import itertools
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final

from fanlight.protocol import jsonrpc
from fanlight.protocol.dialects import Dialect, Speech
from fanlight.protocol.errors import LocalProtocolError
from fanlight.protocol.events import (
    Answered,
    AppToolsChanged,
    Cancelled,
    ContextUpdated,
    DisplayModeRequested,
    DownloadRequested,
    Dropped,
    Event,
    Greeted,
    LinkRequested,
    Logged,
    MessageRequested,
    Ready,
    SamplingRequested,
    ServerAsked,
    SizeChanged,
    StateKept,
    TeardownRequested,
    ToolCalled,
)
from fanlight.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, JSONObject, Message, RequestId

PROTOCOL_VERSION: Final = "2026-01-26"
KNOWN_VERSIONS: Final = frozenset({PROTOCOL_VERSION})
KEEP_STATE: Final = "fanlight/keep-state"
"""What the shim for ChatGPT's Views asks: the one word that is not of the standard, which has none for it."""

# What the server answers, and the capability that offers it (D-STD-01, SBX-11).
_SERVER_METHODS: Final[Mapping[str, str | None]] = {
    "tools/list": "serverTools",
    "resources/read": "serverResources",
    "resources/list": "serverResources",
    "resources/templates/list": "serverResources",
    "prompts/list": None,
}
_LISTS: Final[Mapping[str, str | None]] = {
    "tools": "serverTools",
    "resources": "serverResources",
    "prompts": None,
}
# What a View that is about to go may still ask: the host waits for it so that nothing is lost (TDN-03).
_LAST_REQUESTS: Final = frozenset({"tools/call", "resources/read", "ui/update-model-context"})
_LEVELS: Final = frozenset({"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"})


class State(Enum):
    NEW = auto()
    GREETED = auto()
    READY = auto()
    CLOSING = auto()
    CLOSED = auto()


class _Fault(Exception):
    """What the View asked is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class Bridge:
    """The host's end of one link.

    `tools` names the tools of the View's own server that the View may call: those that are listed there with
    "app" in their visibility. Any other name is refused (VIS-03, VIS-04, VIS-05).

    `pinned` is context that holds whatever `set_context` says of the same keys; who changes it calls `refresh`. What is
    `silent` is never sent, as by hosts that do not send it. `advertised` is what the View is told of `capabilities`,
    which are all served. `of_server` is the dialect in which its server links to the View, if it is not today's.
    """

    def __init__(
        self,
        info: JSONObject,
        capabilities: JSONObject,
        context: JSONObject,
        *,
        tools: Collection[str] = (),
        dialects: bool = True,
        pinned: Mapping[str, Any] | None = None,
        silent: Collection[str] = (),
        advertised: JSONObject | None = None,
        of_server: Dialect | None = None,
    ) -> None:
        self.state = State.NEW
        self.info = info
        self.capabilities = capabilities
        self.tools: Collection[str] = tools
        self.app_info: JSONObject = {}
        self.app_capabilities: JSONObject = {}
        self.keeps_state = False
        """Whether the View may keep a state with the host, as Views for ChatGPT do."""
        self._dialects = dialects
        self._speech = Speech(of_server)
        self.older_words: Mapping[str, str] = self._speech.older
        """Words of older dialects that this View used, with today's."""
        self._pinned = {} if pinned is None else pinned
        self._silent = silent
        self._advertised = capabilities if advertised is None else advertised
        self._own_context: JSONObject = dict(context)
        self._sent_context: JSONObject = {}
        self._outgoing: deque[Message] = deque()
        self._ids = itertools.count(1)
        self._asked: dict[int, str] = {}
        self._open: dict[RequestId, str] = {}
        self._tokens: dict[RequestId, RequestId] = {}
        self._partial: JSONObject | None = None
        self._input: JSONObject | None = None
        self._outcome: Message | None = None
        self._requests: Mapping[str, Callable[[RequestId, JSONObject], Event | None]] = {
            "ui/initialize": self._initialize,
            "ui/open-link": self._open_link,
            "ui/message": self._message,
            "ui/update-model-context": self._update_model_context,
            "ui/request-display-mode": self._request_display_mode,
            "ui/download-file": self._download_file,
            "tools/call": self._call_tool,
            "sampling/createMessage": self._create_message,
            KEEP_STATE: self._keep_state,
        }
        self._notifications: Mapping[str, Callable[[JSONObject], Event | None]] = {
            "ui/notifications/initialized": self._initialized,
            "ui/notifications/size-changed": self._size_changed,
            "ui/notifications/request-teardown": self._request_teardown,
            "notifications/message": self._log,
            "notifications/cancelled": self._cancelled,
            "notifications/tools/list_changed": self._app_tools_changed,
        }

    # What the View says

    def receive(self, message: object) -> Event | None:
        """Take what came from the View and return the news in it, if somebody has to act on it. Never raises."""
        if self.state is State.CLOSED:
            return None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return Dropped("not a JSON-RPC 2.0 message")  # SEC-02
        message, older = self._speech.from_view(message)
        if older is not None and not self._dialects:
            return self._refuse_older(message, older.older, older.today)
        method, id = message.get("method"), message.get("id")
        if self._dialects and (older is not None or method == "ui/initialize"):
            self._speech.heard(message, older)
        if isinstance(method, str):
            params = message.get("params")
            if "id" not in message:
                return self._receive_notification(method, params if isinstance(params, dict) else {})
            if not jsonrpc.is_id(id):
                return self._malformed("a request's id is a number or a string")
            return self._receive_request(id, method, params)
        if method is None and jsonrpc.is_id(id) and ("result" in message) != ("error" in message):
            return self._receive_answer(id, message)
        return self._malformed("a message is a request, a notification, or an answer with a result or an error")

    def _refuse_older(self, message: Message, older: str, today: str) -> Dropped:
        reason = f"{older} is of an older dialect, which this host refuses. Say {today}."
        id = message.get("id")
        if jsonrpc.is_id(id) and id not in self._open:
            self._outgoing.append(jsonrpc.error(id, METHOD_NOT_FOUND, reason))
        return Dropped(reason)

    def turn_away(self, message: object, reason: str) -> None:
        """Refuse a message unread, as one that is too much. What is no request is dropped."""
        if self.state is State.CLOSED or not isinstance(message, dict):
            return
        id = message.get("id")
        if isinstance(message.get("method"), str) and jsonrpc.is_id(id) and id not in self._open:
            self._outgoing.append(jsonrpc.error(id, jsonrpc.REFUSED, reason))

    def _receive_request(self, id: RequestId, method: str, params: object) -> Event | None:
        try:
            if id in self._open:
                raise _Fault(INVALID_REQUEST, f"The id {id!r} belongs to a request that is not answered yet.")
            if method == "ping":
                self._outgoing.append(jsonrpc.result(id, {}))  # INI-06: at any time
                return None
            if self.state is State.CLOSING and method not in _LAST_REQUESTS:
                raise _Fault(INVALID_REQUEST, "This View is being closed.")
            if self.state is State.NEW and method != "ui/initialize":
                raise _Fault(INVALID_REQUEST, f"{method} came before ui/initialize.")
            if not isinstance(params, dict | None):
                raise _Fault(INVALID_PARAMS, f"{method}: params is {_kind(params)}, expected an object.")
            event = self._dispatch(id, method, params or {})
        except _Fault as fault:
            self._outgoing.append(jsonrpc.error(id, fault.code, str(fault)))
            return Dropped(str(fault))
        if event is not None and not isinstance(event, Greeted):
            self._open[id] = method
            token = _object(params, "_meta").get("progressToken")
            if jsonrpc.is_id(token):
                self._tokens[id] = token
        return event

    def _dispatch(self, id: RequestId, method: str, params: JSONObject) -> Event | None:
        if method in _SERVER_METHODS:
            self._need(_SERVER_METHODS[method], method)
            return ServerAsked(id, method, _without_token(params))
        handler = self._requests.get(method)
        if handler is None:
            raise _Fault(METHOD_NOT_FOUND, f"Method not found: {method}")
        return handler(id, params)

    def _receive_notification(self, method: str, params: JSONObject) -> Event | None:
        if method.startswith("ui/notifications/sandbox-"):
            return Dropped(f"{method} is the sandbox proxy's word, not the View's")  # SBX-08
        handler = self._notifications.get(method)
        if handler is None:
            return None  # JSON-RPC: an unknown notification is ignored
        if self.state is State.NEW:
            return Dropped(f"{method} came before ui/initialize")
        return handler(params)

    def _receive_answer(self, id: RequestId, message: Message) -> Event:
        method = self._asked.pop(id, None) if isinstance(id, int) else None
        if method is None or not isinstance(id, int):
            return Dropped(f"an answer to {id!r}, which was not asked")
        if method == "ui/resource-teardown":
            self.close()  # whatever the answer: a View without a handler says "method not found", which means go ahead
        if "error" in message:
            return Answered(id, method, None, _object(message, "error"))
        return Answered(id, method, _object(message, "result"), None)

    def describe_sandbox(self, sandbox: JSONObject) -> None:
        """Set the approved domains and granted permissions that the host's capabilities describe, if they do."""
        for capabilities in (self.capabilities, self._advertised):
            if "sandbox" in capabilities:
                capabilities["sandbox"] = sandbox

    def _malformed(self, reason: str) -> Dropped:
        self._outgoing.append(jsonrpc.error(None, INVALID_REQUEST, f"Invalid request: {reason}."))
        return Dropped(reason)

    def _initialize(self, id: RequestId, params: JSONObject) -> Event:
        version = params.get("protocolVersion")
        again = self.state is not State.NEW  # answered again, with nothing sent twice: the state stays
        self.app_info = _object(params, "appInfo")
        self.app_capabilities = _object(params, "appCapabilities")
        result = {
            "protocolVersion": version if isinstance(version, str) and version in KNOWN_VERSIONS else PROTOCOL_VERSION,
            "hostInfo": self.info,
            "hostCapabilities": self._advertised,
            "hostContext": (context := self.context),
        }
        self._outgoing.append(jsonrpc.result(id, result))  # INI-02, INI-03
        self._sent_context = context
        if not again:
            self.state = State.GREETED
        return Greeted(self.app_info, self.app_capabilities, version if isinstance(version, str) else "", again)

    def _initialized(self, params: JSONObject) -> Event | None:
        if self.state is not State.GREETED:
            return None
        self.state = State.READY
        if self._input is not None:
            self._send_input()
        elif self._partial is not None:
            self._send("ui/notifications/tool-input-partial", {"arguments": self._partial})
        if self._outcome is not None:
            self._outgoing.append(self._outcome)
        self._send_context()
        return Ready()

    def _size_changed(self, params: JSONObject) -> Event | None:
        width, height = _size(params.get("width")), _size(params.get("height"))
        return None if width is None and height is None else SizeChanged(width, height)

    def _request_teardown(self, params: JSONObject) -> Event | None:
        return TeardownRequested() if self.state is not State.CLOSING else None

    def _log(self, params: JSONObject) -> Event | None:
        level = params.get("level")
        logger = params.get("logger")
        return Logged(
            level if isinstance(level, str) and level in _LEVELS else "info",
            params.get("data"),
            logger if isinstance(logger, str) else None,
        )

    def _cancelled(self, params: JSONObject) -> Event | None:
        id = params.get("requestId")
        if not jsonrpc.is_id(id) or id not in self._open:
            return None
        self._forget(id)
        reason = params.get("reason")
        return Cancelled(id, reason if isinstance(reason, str) else None)

    def _app_tools_changed(self, params: JSONObject) -> Event | None:
        return AppToolsChanged() if "tools" in self.app_capabilities else None

    def _open_link(self, id: RequestId, params: JSONObject) -> Event:
        self._need("openLinks", "ui/open-link")
        return LinkRequested(id, _text(params, "url"))

    def _message(self, id: RequestId, params: JSONObject) -> Event:
        role = _text(params, "role")
        if role != "user":
            raise _Fault(INVALID_PARAMS, f'role is {role!r}, expected "user".')
        content = params.get("content")
        # The standard's text shows one block, every peer sends a list: both are taken.
        return MessageRequested(id, role, _blocks([content] if isinstance(content, dict) else content, "content"))

    def _update_model_context(self, id: RequestId, params: JSONObject) -> Event:
        structured = params.get("structuredContent")
        if not isinstance(structured, dict | None):
            raise _Fault(INVALID_PARAMS, f"structuredContent is {_kind(structured)}, expected an object.")
        return ContextUpdated(id, _blocks(params.get("content", []), "content"), structured)

    def _request_display_mode(self, id: RequestId, params: JSONObject) -> Event | None:
        mode = _text(params, "mode")
        offered = self.context.get("availableDisplayModes", ["inline"])
        declared = self.app_capabilities.get("availableDisplayModes")
        current = self.display_mode
        unavailable = mode not in offered or (isinstance(declared, list) and bool(declared) and mode not in declared)
        if mode == current or unavailable:
            self._outgoing.append(jsonrpc.result(id, {"mode": current}))  # DSP-04 to DSP-07
            return None
        return DisplayModeRequested(id, mode)

    def _download_file(self, id: RequestId, params: JSONObject) -> Event:
        self._need("downloadFile", "ui/download-file")
        return DownloadRequested(id, _blocks(params.get("contents"), "contents"))

    def _call_tool(self, id: RequestId, params: JSONObject) -> Event:
        self._need("serverTools", "tools/call")
        name = _text(params, "name")
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict | None):
            raise _Fault(INVALID_PARAMS, f"arguments is {_kind(arguments)}, expected an object.")
        if name not in self.tools:  # VIS-03, VIS-04: fail closed
            raise _Fault(INVALID_PARAMS, f"Unknown tool, or one that a View may not call: {name!r}.")
        return ToolCalled(id, name, arguments or {}, _object(_without_token(params), "_meta"))

    def _create_message(self, id: RequestId, params: JSONObject) -> Event:
        self._need("sampling", "sampling/createMessage")
        if params.get("tools") and "tools" not in self.capabilities["sampling"]:
            raise _Fault(METHOD_NOT_FOUND, "sampling/createMessage: this host does not offer sampling with tools.")
        _blocks(params.get("messages"), "messages")
        return SamplingRequested(id, _without_token(params))

    def _keep_state(self, id: RequestId, params: JSONObject) -> Event:
        if not self.keeps_state:
            raise _Fault(METHOD_NOT_FOUND, f"Method not found: {KEEP_STATE}")
        return StateKept(id, params.get("state"))

    def _need(self, capability: str | None, method: str) -> None:
        if capability is not None and capability not in self.capabilities:
            raise _Fault(METHOD_NOT_FOUND, f"{method}: this host does not offer {capability}.")

    # What the host says

    @property
    def display_mode(self) -> str:
        mode: str = self.context.get("displayMode", "inline")
        return mode

    @property
    def context(self) -> JSONObject:
        """What the View is told of its surroundings."""
        return {**self._own_context, **self._pinned}

    def outgoing(self) -> Iterator[Message]:
        """Hand over what must be delivered to the View now, in order."""
        while self._outgoing:
            message = self._outgoing.popleft()
            if message.get("method") not in self._silent:
                yield self._speech.to_view(message)

    def tool_input_partial(self, arguments: JSONObject) -> None:
        """Send the arguments as far as the model has written them."""
        if self._input is not None:
            raise LocalProtocolError("A partial input came after the complete one (TIP-04).")
        self._partial = arguments
        if self.state is State.READY:
            self._send("ui/notifications/tool-input-partial", {"arguments": arguments})

    def tool_input(self, arguments: JSONObject) -> None:
        """Send the complete arguments, once."""
        if self._input is not None:
            raise LocalProtocolError("The tool input was given twice (TIN-02).")
        self._input, self._partial = arguments, None
        if self.state is State.READY:
            self._send_input()

    def tool_result(self, result: JSONObject) -> None:
        """Send what the tool returned, after the input."""
        self._finish("ui/notifications/tool-result", result)

    def tool_cancelled(self, reason: str | None = None) -> None:
        """Tell the View that the call will bring no result. The input may be missing, if it never was complete."""
        self._finish("ui/notifications/tool-cancelled", {} if reason is None else {"reason": reason})

    def _finish(self, method: str, params: JSONObject) -> None:
        if self._outcome is not None:
            raise LocalProtocolError("The tool call has its outcome already.")
        if method == "ui/notifications/tool-result" and self._input is None:
            raise LocalProtocolError("A result came before the tool input (TIN-03).")
        self._outcome = jsonrpc.notification(method, params)
        if self.state is State.READY:
            self._outgoing.append(self._outcome)

    def set_context(self, changes: JSONObject) -> None:
        """Change the host's context: the View is told the top-level values that differ, whole (HCC-01, DSP-08)."""
        self._own_context |= changes
        self.refresh()

    def refresh(self) -> None:
        """Tell the View what differs from the context it knows."""
        if self.state is State.READY:
            self._send_context()

    def list_changed(self, kind: str) -> None:
        """Relay that the server's tools, resources or prompts have changed."""
        capability = _LISTS[kind]
        offered = capability is None or self.capabilities.get(capability, {}).get("listChanged")
        if self.state is State.READY and offered:
            self._send(f"notifications/{kind}/list_changed", {})

    def progress(self, id: RequestId, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Relay the progress of a request of the View, under the token that the View chose."""
        token = self._tokens.get(id)
        if token is None or id not in self._open:
            return
        params = {"progressToken": token, "progress": progress, "total": total, "message": message}
        self._outgoing.append(
            jsonrpc.notification("notifications/progress", {k: v for k, v in params.items() if v is not None})
        )

    def respond(self, id: RequestId, result: JSONObject) -> None:
        """Answer a request of the View. One that the View gave up is not answered."""
        method = self._forget(id)
        if method is None:
            return
        if method == "ui/update-model-context":
            result = {}  # exactly: strict Views refuse any other key
        self._outgoing.append(jsonrpc.result(id, result))

    def refuse(self, id: RequestId, message: str, code: int = jsonrpc.REFUSED, data: Any = None) -> None:
        """Answer a request of the View with an error (LNK-02)."""
        if self._forget(id) is not None:
            self._outgoing.append(jsonrpc.error(id, code, message, data))

    def ask(self, method: str, params: JSONObject | None = None) -> int:
        """Send a request to the View and return its id; the answer comes as an `Answered`."""
        if self.state is not State.READY:
            raise LocalProtocolError(f"{method} cannot be asked: the View is {self.state.name}, not READY (SBX-09).")
        if method.startswith("tools/") and "tools" not in self.app_capabilities:
            raise LocalProtocolError(f"{method} cannot be asked: the View offers no tools (D-STD-01).")
        return self._ask(method, params or {})

    def give_up(self, id: int, reason: str | None = None) -> None:
        """Stop waiting for the answer to a request of ours, and tell the View so."""
        if self._asked.pop(id, None) is not None and self.state in (State.READY, State.CLOSING):
            params = {"requestId": id} if reason is None else {"requestId": id, "reason": reason}
            self._send("notifications/cancelled", params)

    def teardown(self, reason: str | None = None) -> int | None:
        """Ask the View to get ready to go (TDN-01, D-TDN-05). None if it never was ready, and need not be asked."""
        if self.state is not State.READY or "ui/resource-teardown" in self._silent:
            self.close()
            return None
        id = self._ask("ui/resource-teardown", {} if reason is None else {"reason": reason})
        self.state = State.CLOSING
        return id

    def close(self) -> None:
        """End the link. What is open on it will not be answered."""
        self.state = State.CLOSED
        for pending in (self._open, self._tokens, self._asked, self._outgoing):
            pending.clear()

    @property
    def open_requests(self) -> Mapping[RequestId, str]:
        """The View's requests that are not answered yet, with their methods."""
        return self._open

    def _ask(self, method: str, params: JSONObject) -> int:
        id = next(self._ids)
        self._asked[id] = method
        self._outgoing.append(jsonrpc.request(id, method, params))
        return id

    def _forget(self, id: RequestId) -> str | None:
        self._tokens.pop(id, None)
        return self._open.pop(id, None)

    def _send(self, method: str, params: JSONObject) -> None:
        self._outgoing.append(jsonrpc.notification(method, params))

    def _send_input(self) -> None:
        self._send("ui/notifications/tool-input", {"arguments": self._input})

    def _send_context(self) -> None:
        context = self.context
        changed = {
            key: value
            for key, value in context.items()
            if key not in self._sent_context or self._sent_context[key] != value
        }
        if changed:
            self._sent_context = context
            self._send("ui/notifications/host-context-changed", changed)


def _object(container: object, key: str) -> JSONObject:
    value = container.get(key) if isinstance(container, dict) else None
    return value if isinstance(value, dict) else {}


def _text(params: JSONObject, key: str) -> str:
    value = params.get(key)
    if isinstance(value, str):
        return value
    raise _Fault(INVALID_PARAMS, f"{key} is {_kind(value)}, expected a string.")


def _blocks(value: object, key: str) -> tuple[JSONObject, ...]:
    if isinstance(value, list) and all(isinstance(block, dict) for block in value):
        return tuple(value)
    raise _Fault(INVALID_PARAMS, f"{key} is {_kind(value)}, expected a list of objects.")


def _size(value: object) -> float | None:
    """A size that makes sense: finite and not negative."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max:
        return value
    return None


def _without_token(params: JSONObject) -> JSONObject:
    """The params without the View's progress token, which could clash with one of the host's own."""
    meta = _object(params, "_meta")
    if "progressToken" not in meta:
        return params
    rest = {key: value for key, value in meta.items() if key != "progressToken"}
    plain = {key: value for key, value in params.items() if key != "_meta"}
    return {**plain, "_meta": rest} if rest else plain


def _kind(value: object) -> str:
    """What JSON calls the value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "missing or null"}
    return names.get(type(value), "a number")
