"""The host's end of one link, as a state machine: pass it each message of the View, and deliver what it returns.

The states, and what passes in each:

    NEW           The document loads. `ping` is answered, `ui/initialize` moves on, and any other request is rejected.
                  Only responses are sent (SBX-09).
    INITIALIZING  `ui/initialize` was answered. Requests are served, and still only responses are sent.
    READY         `ui/notifications/initialized` arrived. Queued messages go out: first the last partial or the input,
                  then the outcome, then changes of the context. From now on, messages go out at once.
    CLOSING       `ui/resource-teardown` was sent. Responses pass both ways, and the requests that a View needs to save
                  its data; nothing else does.
    CLOSED        Nothing passes.

The order of a tool call, whatever the caller does:

    partials      any number, before the input (TIP-01, TIP-04); before READY, only the last one is kept
    input         once (TIN-01, TIN-02)
    outcome       once, after the input: the result (TIN-03, TRS-01) or the cancellation (TCX-01)

Our request ids are integers from 1; the View's are echoed unchanged, 0 and strings included.

The bridge has no clock and does no I/O. A request that needs a decision becomes an event, and `respond` or
`respond_error` answers it; the bridge answers by itself what it can answer from its own state.
"""

import itertools
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final

from fanlight.protocol import jsonrpc
from fanlight.protocol.dialects import Dialect, Row, Translator
from fanlight.protocol.errors import LocalProtocolError
from fanlight.protocol.events import (
    AppToolsChanged,
    Cancelled,
    ContextUpdated,
    DisplayModeRequested,
    DownloadRequested,
    Event,
    HandshakeStarted,
    LinkRequested,
    Logged,
    MessageRequested,
    Ready,
    Rejected,
    ResponseReceived,
    SamplingRequested,
    ServerRequested,
    SizeChanged,
    StateSaved,
    TeardownRequested,
    ToolCalled,
)
from fanlight.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, JSONObject, Message, RequestId

PROTOCOL_VERSION: Final = "2026-01-26"
KNOWN_VERSIONS: Final = frozenset({PROTOCOL_VERSION})
SAVE_STATE: Final = "fanlight/save-state"
"""The one method that is not in the standard: the shim for ChatGPT's Views sends it, and the standard has no equal."""

# Requests that the server answers, with the capability that offers each (D-STD-01, SBX-11).
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
# Requests that a View may still send while it is being closed, so that it can save its data (TDN-03).
_LAST_REQUESTS: Final = frozenset({"tools/call", "resources/read", "ui/update-model-context"})
_LEVELS: Final = frozenset({"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"})


class State(Enum):
    NEW = auto()
    INITIALIZING = auto()
    READY = auto()
    CLOSING = auto()
    CLOSED = auto()


class _ErrorResponse(Exception):
    """The request of the View is answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        self.code = code
        super().__init__(message)


class Bridge:
    """The host's end of one link.

    Args:
        info: The `hostInfo` of the handshake.
        capabilities: The capabilities of the host. Requests that need another one are rejected.
        context: The `hostContext` of the handshake.
        tools: The names of tools that the View may call: those of its own server with "app" in their visibility. Calls
            of others are rejected (VIS-03, VIS-04, VIS-05).
        dialects: Whether messages of older dialects are translated. Otherwise they are rejected.
        pinned: Context that overrides `set_context`. Call `refresh_context` after changing it.
        suppressed: Methods that are never sent, to imitate hosts that do not send them.
        advertised: The `hostCapabilities` of the handshake, if they are not all of `capabilities`.
        server_dialect: The dialect in which the server links to the View, if it is an older one.
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
        suppressed: Collection[str] = (),
        advertised: JSONObject | None = None,
        server_dialect: Dialect | None = None,
    ) -> None:
        self.state = State.NEW
        self.info = info
        self.capabilities = capabilities
        self.tools: Collection[str] = tools
        self.app_info: JSONObject = {}
        self.app_capabilities: JSONObject = {}
        self._can_save_state = False
        self._dialects = dialects
        self._translator = Translator(server_dialect)
        self.older_names: Mapping[str, str] = self._translator.older_names
        """The names of older dialects that this View used, with the current ones."""
        self._pinned = {} if pinned is None else pinned
        self._suppressed = suppressed
        self._advertised = capabilities if advertised is None else advertised
        self._own_context: JSONObject = dict(context)
        self._sent_context: JSONObject = {}
        self._outgoing: list[Message] = []  # an empty deque takes 760 bytes, for each View
        self._ids = itertools.count(1)
        self._pending: dict[int, str] = {}
        self._open: dict[RequestId, str] = {}
        self._tokens: dict[RequestId, RequestId] = {}
        self._partial: JSONObject | None = None
        self._input: JSONObject | None = None
        self._outcome: Message | None = None

    # Another bridge can continue: in another process, after this one ended

    def snapshot(self) -> JSONObject:
        """Return what another bridge needs to continue with this View, as JSON. The View has to be READY."""
        if self.state is not State.READY:
            raise LocalProtocolError(f"A View that is {self.state.name} has to be loaded again.")
        return {
            "appInfo": self.app_info,
            "appCapabilities": self.app_capabilities,
            "canSaveState": self._can_save_state,
            "translator": self._translator.snapshot(),
        }

    def restore(
        self, snapshot: JSONObject, first_id: int, arguments: JSONObject | None = None, *, has_outcome: bool = False
    ) -> None:
        """Continue with a View that another bridge made READY.

        Args:
            snapshot: What `snapshot` returned.
            first_id: The id of the first request to the View. The other bridge must not have used it or later ones.
            arguments: The input, if the View has it already.
            has_outcome: Whether the View has the outcome of the call already.
        """
        self.state = State.READY
        self.app_info, self.app_capabilities = snapshot["appInfo"], snapshot["appCapabilities"]
        self._can_save_state = snapshot["canSaveState"]
        self._translator.restore(snapshot["translator"])
        self._ids = itertools.count(first_id)
        self._input = arguments
        self._outcome = jsonrpc.notification("ui/notifications/tool-result", {}) if has_outcome else None
        self._send_context()  # all of it, because what the View has is not known

    def fail_lost(self, id: RequestId, reason: str) -> None:
        """Answer a request that another bridge received and never answered with an error."""
        self._outgoing.append(jsonrpc.error(id, jsonrpc.REFUSED, reason))

    # From the View

    def receive(self, message: object) -> Event | None:
        """Process a message of the View and return the event that the host has to handle, if any. Never raises."""
        if self.state is State.CLOSED:
            return None
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return Rejected("not a JSON-RPC 2.0 message")  # SEC-02
        message, older = self._translator.from_view(message)
        if older is not None and not self._dialects:
            return self._reject_older(message, older)
        method, id = message.get("method"), message.get("id")
        if self._dialects and (older is not None or method == "ui/initialize"):
            self._translator.learn(message, older)
        if isinstance(method, str):
            params = message.get("params")
            if "id" not in message:
                return self._receive_notification(method, params if isinstance(params, dict) else {})
            if not jsonrpc.is_id(id):
                return self._malformed("a request's id is a number or a string")
            return self._receive_request(id, method, params)
        if method is None and jsonrpc.is_id(id) and ("result" in message) != ("error" in message):
            return self._receive_response(id, message)
        return self._malformed("a message is a request, a notification, or a response with a result or an error")

    def _reject_older(self, message: Message, row: Row) -> Rejected:
        reason = f"{row.older} belongs to an older dialect, which this host does not accept. Send {row.today}."
        id = message.get("id")
        if jsonrpc.is_id(id) and id not in self._open:
            self._outgoing.append(jsonrpc.error(id, METHOD_NOT_FOUND, reason))
        return Rejected(reason)

    def reject(self, message: object, reason: str) -> None:
        """Answer a request with an error without processing it, and ignore any other message; for rate limits."""
        if self.state is State.CLOSED or not isinstance(message, dict):
            return
        id = message.get("id")
        if isinstance(message.get("method"), str) and jsonrpc.is_id(id) and id not in self._open:
            self._outgoing.append(jsonrpc.error(id, jsonrpc.REFUSED, reason))

    def _receive_request(self, id: RequestId, method: str, params: object) -> Event | None:
        try:
            if id in self._open:
                raise _ErrorResponse(
                    INVALID_REQUEST, f"The id {id!r} belongs to a request that has not been answered yet."
                )
            if method == "ping":
                self._outgoing.append(jsonrpc.result(id, {}))  # INI-06: at any time
                return None
            if self.state is State.CLOSING and method not in _LAST_REQUESTS:
                raise _ErrorResponse(INVALID_REQUEST, "This View is being closed.")
            if self.state is State.NEW and method != "ui/initialize":
                raise _ErrorResponse(INVALID_REQUEST, f"{method} came before ui/initialize.")
            if not isinstance(params, dict | None):
                raise _ErrorResponse(INVALID_PARAMS, f"{method}: params is {_kind(params)}, expected an object.")
            event = self._dispatch(id, method, params or {})
        except _ErrorResponse as fault:
            self._outgoing.append(jsonrpc.error(id, fault.code, str(fault)))
            return Rejected(str(fault))
        if event is not None and not isinstance(event, HandshakeStarted):
            self._open[id] = method
            token = _object(params, "_meta").get("progressToken")
            if jsonrpc.is_id(token):
                self._tokens[id] = token
        return event

    def _dispatch(self, id: RequestId, method: str, params: JSONObject) -> Event | None:
        if method in _SERVER_METHODS:
            self._require(_SERVER_METHODS[method], method)
            return ServerRequested(id, method, _without_token(params))
        handler = _REQUESTS.get(method)
        if handler is None:
            raise _ErrorResponse(METHOD_NOT_FOUND, f"Method not found: {method}")
        return handler(self, id, params)

    def _receive_notification(self, method: str, params: JSONObject) -> Event | None:
        if method.startswith("ui/notifications/sandbox-"):
            return Rejected(f"{method} is reserved for the sandbox proxy")  # SBX-08
        handler = _NOTIFICATIONS.get(method)
        if handler is None:
            return None  # JSON-RPC: an unknown notification is ignored
        if self.state is State.NEW:
            return Rejected(f"{method} came before ui/initialize")
        return handler(self, params)

    def _receive_response(self, id: RequestId, message: Message) -> Event:
        method = self._pending.pop(id, None) if isinstance(id, int) else None
        if method is None or not isinstance(id, int):
            return Rejected(f"a response to {id!r}, which is not the id of a pending request")
        if method == "ui/resource-teardown":
            self.close()  # also after an error: a View without a handler answers "method not found"
        if "error" in message:
            return ResponseReceived(id, method, None, _object(message, "error"))
        return ResponseReceived(id, method, _object(message, "result"), None)

    def describe_sandbox(self, sandbox: JSONObject) -> None:
        """Set the approved domains and granted permissions that the host's capabilities describe, if they do."""
        for capabilities in (self.capabilities, self._advertised):
            if "sandbox" in capabilities:
                capabilities["sandbox"] = sandbox

    def allow_state(self) -> None:
        """Let the View save a state with the host, as Views for ChatGPT do."""
        self._can_save_state = True

    def _malformed(self, reason: str) -> Rejected:
        self._outgoing.append(jsonrpc.error(None, INVALID_REQUEST, f"Invalid request: {reason}."))
        return Rejected(reason)

    def _initialize(self, id: RequestId, params: JSONObject) -> Event:
        version = params.get("protocolVersion")
        again = self.state is not State.NEW  # a repeated handshake is answered, and leaves the state alone
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
            self.state = State.INITIALIZING
        return HandshakeStarted(
            self.app_info, self.app_capabilities, version if isinstance(version, str) else "", again
        )

    def _initialized(self, params: JSONObject) -> Event | None:
        if self.state is not State.INITIALIZING:
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
        self._close_request(id)
        reason = params.get("reason")
        return Cancelled(id, reason if isinstance(reason, str) else None)

    def _app_tools_changed(self, params: JSONObject) -> Event | None:
        return AppToolsChanged() if "tools" in self.app_capabilities else None

    def _open_link(self, id: RequestId, params: JSONObject) -> Event:
        self._require("openLinks", "ui/open-link")
        return LinkRequested(id, _text(params, "url"))

    def _message(self, id: RequestId, params: JSONObject) -> Event:
        role = _text(params, "role")
        if role != "user":
            raise _ErrorResponse(INVALID_PARAMS, f'role is {role!r}, expected "user".')
        content = params.get("content")
        # The standard shows one block, every peer sends a list: accept both.
        return MessageRequested(id, role, _blocks([content] if isinstance(content, dict) else content, "content"))

    def _update_model_context(self, id: RequestId, params: JSONObject) -> Event:
        structured = params.get("structuredContent")
        if not isinstance(structured, dict | None):
            raise _ErrorResponse(INVALID_PARAMS, f"structuredContent is {_kind(structured)}, expected an object.")
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
        self._require("downloadFile", "ui/download-file")
        return DownloadRequested(id, _blocks(params.get("contents"), "contents"))

    def _call_tool(self, id: RequestId, params: JSONObject) -> Event:
        self._require("serverTools", "tools/call")
        name = _text(params, "name")
        arguments = params.get("arguments", {})
        if not isinstance(arguments, dict | None):
            raise _ErrorResponse(INVALID_PARAMS, f"arguments is {_kind(arguments)}, expected an object.")
        if name not in self.tools:  # VIS-03, VIS-04: fail closed
            raise _ErrorResponse(INVALID_PARAMS, f"Unknown tool, or one that Views may not call: {name!r}.")
        return ToolCalled(id, name, arguments or {}, _object(_without_token(params), "_meta"))

    def _create_message(self, id: RequestId, params: JSONObject) -> Event:
        self._require("sampling", "sampling/createMessage")
        if params.get("tools") and "tools" not in self.capabilities["sampling"]:
            raise _ErrorResponse(
                METHOD_NOT_FOUND, "sampling/createMessage: this host does not offer sampling with tools."
            )
        _blocks(params.get("messages"), "messages")
        return SamplingRequested(id, _without_token(params))

    def _keep_state(self, id: RequestId, params: JSONObject) -> Event:
        if not self._can_save_state:
            raise _ErrorResponse(METHOD_NOT_FOUND, f"Method not found: {SAVE_STATE}")
        return StateSaved(id, params.get("state"))

    def _require(self, capability: str | None, method: str) -> None:
        if capability is not None and capability not in self.capabilities:
            raise _ErrorResponse(METHOD_NOT_FOUND, f"{method}: this host does not offer {capability}.")

    # To the View

    @property
    def has_input(self) -> bool:
        """Whether `tool_input` was called."""
        return self._input is not None

    @property
    def has_outcome(self) -> bool:
        """Whether `tool_result` or `tool_cancelled` was called."""
        return self._outcome is not None

    @property
    def display_mode(self) -> str:
        mode: str = self.context.get("displayMode", "inline")
        return mode

    @property
    def context(self) -> JSONObject:
        """The `hostContext`, with pinned values."""
        return {**self._own_context, **self._pinned}

    @property
    def has_outgoing(self) -> bool:
        """Whether `outgoing` has messages."""
        return bool(self._outgoing)

    def outgoing(self) -> Iterator[Message]:
        """Yield the messages to deliver to the View now, in order."""
        while self._outgoing:
            message = self._outgoing.pop(0)
            if message.get("method") not in self._suppressed:
                yield self._translator.to_view(message)

    def tool_input_partial(self, arguments: JSONObject) -> None:
        """Send the arguments that the model has written so far."""
        if self._input is not None:
            raise LocalProtocolError("A partial input was sent after the complete input (TIP-04).")
        self._partial = arguments
        if self.state is State.READY:
            self._send("ui/notifications/tool-input-partial", {"arguments": arguments})

    def tool_input(self, arguments: JSONObject) -> None:
        """Send the complete arguments, once."""
        if self._input is not None:
            raise LocalProtocolError("The tool input was sent twice (TIN-02).")
        self._input, self._partial = arguments, None
        if self.state is State.READY:
            self._send_input()

    def tool_result(self, result: JSONObject) -> None:
        """Send the result of the tool, after the input."""
        self._finish("ui/notifications/tool-result", result)

    def tool_cancelled(self, reason: str | None = None) -> None:
        """Notify the View that the call has no result. The input may be missing, if it was never complete."""
        self._finish("ui/notifications/tool-cancelled", {} if reason is None else {"reason": reason})

    def _finish(self, method: str, params: JSONObject) -> None:
        if self._outcome is not None:
            raise LocalProtocolError("The tool call already has an outcome.")
        if method == "ui/notifications/tool-result" and self._input is None:
            raise LocalProtocolError("A tool result was sent before the tool input (TIN-03).")
        self._outcome = jsonrpc.notification(method, params)
        if self.state is State.READY:
            self._outgoing.append(self._outcome)

    def set_context(self, changes: JSONObject) -> None:
        """Change the host's context, and send the top-level values that differ (HCC-01, DSP-08)."""
        self._own_context |= changes
        self.refresh_context()

    def refresh_context(self) -> None:
        """Send what differs from the context that the View has."""
        if self.state is State.READY:
            self._send_context()

    def list_changed(self, kind: str) -> None:
        """Notify the View that the server's tools, resources or prompts have changed."""
        capability = _LISTS[kind]
        offered = capability is None or self.capabilities.get(capability, {}).get("listChanged")
        if self.state is State.READY and offered:
            self._send(f"notifications/{kind}/list_changed", {})

    def progress(self, id: RequestId, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send the progress of a View's request, with the token that the View chose."""
        token = self._tokens.get(id)
        if token is None or id not in self._open:
            return
        params = {"progressToken": token, "progress": progress, "total": total, "message": message}
        self._outgoing.append(
            jsonrpc.notification("notifications/progress", {k: v for k, v in params.items() if v is not None})
        )

    def respond(self, id: RequestId, result: JSONObject) -> None:
        """Answer a request of the View. Do nothing if the View has cancelled it."""
        method = self._close_request(id)
        if method is None:
            return
        if method == "ui/update-model-context":
            result = {}  # strict Views reject any other key
        self._outgoing.append(jsonrpc.result(id, result))

    def respond_error(self, id: RequestId, message: str, code: int = jsonrpc.REFUSED, data: Any = None) -> None:
        """Answer a request of the View with an error (LNK-02). Do nothing if the View has cancelled it."""
        if self._close_request(id) is not None:
            self._outgoing.append(jsonrpc.error(id, code, message, data))

    def request(self, method: str, params: JSONObject | None = None) -> int:
        """Send a request to the View and return its id. The response comes as a `ResponseReceived` event."""
        if self.state is not State.READY:
            raise LocalProtocolError(f"{method} cannot be sent: the View is {self.state.name}, not READY (SBX-09).")
        if method.startswith("tools/") and "tools" not in self.app_capabilities:
            raise LocalProtocolError(f"{method} cannot be sent: the View offers no tools (D-STD-01).")
        return self._request(method, params or {})

    def cancel_request(self, id: int, reason: str | None = None) -> None:
        """Cancel a request to the View, and notify the View."""
        if self._pending.pop(id, None) is not None and self.state in (State.READY, State.CLOSING):
            params = {"requestId": id} if reason is None else {"requestId": id, "reason": reason}
            self._send("notifications/cancelled", params)

    def teardown(self, reason: str | None = None) -> int | None:
        """Request teardown and return the request's id (TDN-01, D-TDN-05).

        If the View was never ready, close the link and return None.
        """
        if self.state is not State.READY or "ui/resource-teardown" in self._suppressed:
            self.close()
            return None
        id = self._request("ui/resource-teardown", {} if reason is None else {"reason": reason})
        self.state = State.CLOSING
        return id

    def close(self) -> None:
        """Close the link. Open requests get no response."""
        self.state = State.CLOSED
        for pending in (self._open, self._tokens, self._pending, self._outgoing):
            pending.clear()

    @property
    def open_requests(self) -> Mapping[RequestId, str]:
        """The View's requests that have not been answered yet, with their methods."""
        return self._open

    def _request(self, method: str, params: JSONObject) -> int:
        id = next(self._ids)
        self._pending[id] = method
        self._outgoing.append(jsonrpc.request(id, method, params))
        return id

    def _close_request(self, id: RequestId) -> str | None:
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


_REQUESTS: Final[Mapping[str, Callable[[Bridge, RequestId, JSONObject], Event | None]]] = {
    "ui/initialize": Bridge._initialize,
    "ui/open-link": Bridge._open_link,
    "ui/message": Bridge._message,
    "ui/update-model-context": Bridge._update_model_context,
    "ui/request-display-mode": Bridge._request_display_mode,
    "ui/download-file": Bridge._download_file,
    "tools/call": Bridge._call_tool,
    "sampling/createMessage": Bridge._create_message,
    SAVE_STATE: Bridge._keep_state,
}
_NOTIFICATIONS: Final[Mapping[str, Callable[[Bridge, JSONObject], Event | None]]] = {
    "ui/notifications/initialized": Bridge._initialized,
    "ui/notifications/size-changed": Bridge._size_changed,
    "ui/notifications/request-teardown": Bridge._request_teardown,
    "notifications/message": Bridge._log,
    "notifications/cancelled": Bridge._cancelled,
    "notifications/tools/list_changed": Bridge._app_tools_changed,
}


def _object(container: object, key: str) -> JSONObject:
    value = container.get(key) if isinstance(container, dict) else None
    return value if isinstance(value, dict) else {}


def _text(params: JSONObject, key: str) -> str:
    value = params.get(key)
    if isinstance(value, str):
        return value
    raise _ErrorResponse(INVALID_PARAMS, f"{key} is {_kind(value)}, expected a string.")


def _blocks(value: object, key: str) -> tuple[JSONObject, ...]:
    if isinstance(value, list) and all(isinstance(block, dict) for block in value):
        return tuple(value)
    raise _ErrorResponse(INVALID_PARAMS, f"{key} is {_kind(value)}, expected a list of objects.")


def _size(value: object) -> float | None:
    """Return a size that is finite and not negative, else None."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max:
        return value
    return None


def _without_token(params: JSONObject) -> JSONObject:
    """Return params without the View's progress token, which could clash with one of the host's own."""
    meta = _object(params, "_meta")
    if "progressToken" not in meta:
        return params
    rest = {key: value for key, value in meta.items() if key != "progressToken"}
    plain = {key: value for key, value in params.items() if key != "_meta"}
    return {**plain, "_meta": rest} if rest else plain


def _kind(value: object) -> str:
    """Return what JSON calls a value."""
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "missing or null"}
    return names.get(type(value), "a number")
