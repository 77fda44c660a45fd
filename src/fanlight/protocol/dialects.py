"""Names of other dialects (older drafts, mcp-ui, ChatGPT) and their translation to the standard.

`ROWS` is the table of all of them, from which the host translates. The kinds of a row:

    method, key, field, type, extension   translated in this module
    result                                translated where results are read
    accepted                              understood by Views with browser/view.js only
    action, message, member               translated by browser/shim-*.js, in the View's own document
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

from mcp_types import CLIENT_CAPABILITIES_META_KEY

from fanlight.protocol.csp import CSP_LISTS
from fanlight.protocol.extension import EXTENSION_ID, MIME_TYPE, OLDER_EXTENSION_ID
from fanlight.protocol.jsonrpc import JSONObject

Message = dict[str, Any]

Dialect = Literal["first draft", "early drafts", "guides", "mcp-ui", "ChatGPT"]
Kind = Literal["method", "accepted", "key", "field", "type", "result", "extension", "action", "message", "member"]
Sender = Literal["view", "host", "server"]

EMBEDDED: Final = "embedded ui:// resource"
"""The name, in this table, of a View that a tool result embeds."""


class Row(NamedTuple):
    """One name of another dialect, and its equal in the standard."""

    kind: Kind
    dialect: Dialect
    sender: Sender
    older: str
    today: str
    """The name in the standard; "" if there is none."""
    note: str = ""


_VIEW_METHODS: Final = (
    *("ui/initialize", "ui/open-link", "ui/message", "ui/update-model-context", "ui/request-display-mode"),
    *("ui/download-file", "ui/notifications/initialized", "ui/notifications/size-changed"),
    *("ui/notifications/request-teardown",),
)
_HOST_METHODS: Final = (
    *("ui/notifications/tool-input", "ui/notifications/tool-input-partial", "ui/notifications/tool-result"),
    *("ui/notifications/tool-cancelled", "ui/notifications/host-context-changed", "ui/resource-teardown"),
)
_SHORT: Final = {
    "ui/notifications/tool-result": "mcp-ui/tool-result",
    "ui/notifications/tool-cancelled": "mcp-ui/tool-cancelled",
    "ui/notifications/host-context-changed": "mcp-ui/host-context-change",
}
_SIZE: Final = "ui/notifications/size-changed"
_CONTEXT: Final = "ui/notifications/host-context-changed"
_SANDBOX_READY: Final = "ui/notifications/sandbox-proxy-ready"
_SANDBOX_RESOURCE: Final = "ui/notifications/sandbox-resource-ready"
_NOT_THE_VIEWS: Final = "reserved for the proxy: rejected from a View"
_GUIDE_VERSION: Final = "2025-01-01"
_WIDGET_PREFIXES: Final[tuple[tuple[str, Dialect], ...]] = (("mcp-ui", "first draft"), ("openai", "ChatGPT"))


def _rows() -> Iterator[Row]:
    yield Row(
        *("method", "early drafts", "view", "initialize", "ui/initialize"),
        "with `clientInfo` and `capabilities`; the response adds `serverInfo` and `capabilities`",
    )
    yield Row("method", "early drafts", "view", "notifications/initialized", "ui/notifications/initialized")
    for method in _VIEW_METHODS:
        yield Row("method", "first draft", "view", f"mcp-{method}", method)
    yield Row("method", "first draft", "view", "mcp-ui/size-change", _SIZE)
    yield Row("method", "early drafts", "view", "ui/size-change", _SIZE)
    yield Row("method", "early drafts", "view", "ui/notifications/size-change", _SIZE)
    yield Row("method", "early drafts", "view", "ui/notifications/sandbox-ready", _SANDBOX_READY, _NOT_THE_VIEWS)
    yield Row("method", "first draft", "view", "mcp-ui/sandbox-ready", _SANDBOX_READY, _NOT_THE_VIEWS)
    yield Row("method", "first draft", "view", "mcp-ui/sandbox-resource-ready", _SANDBOX_RESOURCE, _NOT_THE_VIEWS)
    for method in _HOST_METHODS:
        yield Row("method", "first draft", "host", _SHORT.get(method, f"mcp-{method}"), method)
    yield Row("method", "early drafts", "host", "ui/host-context-change", _CONTEXT)
    yield Row("method", "early drafts", "host", "ui/tool-cancelled", "ui/notifications/tool-cancelled")
    version = f"to a View whose `protocolVersion` is {_GUIDE_VERSION}"
    yield Row("method", "guides", "host", "ui/toolInput", "ui/notifications/tool-input", version)
    yield Row("method", "guides", "host", "ui/toolResult", "ui/notifications/tool-result", version)
    yield Row("method", "guides", "host", "ui/teardown", "ui/resource-teardown", version)

    # No message of a View shows that it expects this name, so our host never sends it.
    yield Row(
        *("accepted", "early drafts", "host", "ui/notifications/host-context-change", _CONTEXT),
        "by Views with `view.js`, from older hosts, like the names of early drafts and guides above",
    )

    yield Row("field", "early drafts", "view", "clientInfo", "appInfo", "of `initialize`")
    yield Row("field", "early drafts", "view", "capabilities", "appCapabilities", "of `initialize`")
    yield Row(
        *("field", "early drafts", "host", "viewport", "containerDimensions"),
        "sent in addition, to a View of an older version",
    )

    yield Row("key", "early drafts", "server", "ui/resourceUri", "ui.resourceUri")
    yield Row(
        *("key", "first draft", "server", "mcp-ui/resourceUri", "ui.resourceUri"),
        "its View is sent the names of the first draft, if it sends `initialize`",
    )
    yield Row("key", "ChatGPT", "server", "openai/outputTemplate", "ui.resourceUri")
    yield Row(
        *("key", "ChatGPT", "server", "openai/widgetAccessible", "ui.visibility"),
        'true is "app"; without it, Views cannot call the tool',
    )
    yield Row("key", "ChatGPT", "server", "openai/visibility", "ui.visibility", '"private" is without "model"')
    for prefix, dialect in _WIDGET_PREFIXES:
        yield Row("key", dialect, "server", f"{prefix}/widgetCSP", "ui.csp", "with its lists in snake case")
        yield Row("key", dialect, "server", f"{prefix}/widgetDomain", "ui.domain")
        yield Row("key", dialect, "server", f"{prefix}/widgetPrefersBorder", "ui.prefersBorder")
    for name, field in CSP_LISTS.items():
        yield Row("field", "ChatGPT", "server", field, name, "of `widgetCSP`")
    yield Row("field", "ChatGPT", "server", "redirect_domains", "", "of `widgetCSP`; the policy decides on links")

    yield Row("type", "early drafts", "server", "text/html+mcp", MIME_TYPE)
    yield Row("type", "mcp-ui", "server", "text/html", MIME_TYPE, "gets the mcp-ui shim")
    yield Row("type", "ChatGPT", "server", "text/html+skybridge", MIME_TYPE, "gets `window.openai`")
    yield Row("type", "mcp-ui", "server", "text/uri-list", MIME_TYPE, "a View that frames the first web address in it")
    yield Row(
        *("type", "mcp-ui", "server", "application/vnd.mcp-ui.remote-dom", MIME_TYPE),
        "a View that shows the source; it is not run",
    )

    yield Row("result", "mcp-ui", "server", EMBEDDED, "ui.resourceUri", "one View each, if the tool has no link to one")

    both = "sent to servers under both names; from a client either is accepted"
    yield Row("extension", "first draft", "host", OLDER_EXTENSION_ID, EXTENSION_ID, both)
    yield Row(
        *("extension", "early drafts", "host", "capabilities.experimental", "capabilities.extensions"),
        "sent to servers in both places (in the same process: only the current one); from a client either is accepted",
    )

    yield Row("action", "mcp-ui", "view", "tool", "tools/call")
    yield Row("action", "mcp-ui", "view", "prompt", "ui/message")
    yield Row("action", "mcp-ui", "view", "intent", "ui/message", "its name and parameters as text")
    yield Row("action", "mcp-ui", "view", "link", "ui/open-link")
    yield Row("action", "mcp-ui", "view", "notify", "notifications/message", 'level "info"')
    yield Row(
        "message", "mcp-ui", "host", "ui-message-received", "", "sent at once for each action, with its `messageId`"
    )
    yield Row("message", "mcp-ui", "host", "ui-message-response", "", "the response to the request, or its error")
    yield Row("message", "mcp-ui", "view", "ui-lifecycle-iframe-ready", "", "answered with the render data")
    yield Row(
        *("message", "mcp-ui", "host", "ui-lifecycle-iframe-render-data", "ui/notifications/tool-input"),
        "also the result and the context: `toolInput`, `toolOutput` (the whole result), `theme`, `locale`, …",
    )
    yield Row("message", "mcp-ui", "view", "ui-request-render-data", "", "answered with the render data")
    yield Row(
        "message", "mcp-ui", "view", "ui-request-data", "", "one entry of the render data by its name, or an error"
    )
    yield Row("message", "mcp-ui", "view", "ui-size-change", _SIZE)
    yield Row("message", "mcp-ui", "host", "ui-lifecycle-tool-cancelled", "ui/notifications/tool-cancelled")
    yield Row("message", "mcp-ui", "host", "ui-lifecycle-teardown", "ui/resource-teardown")

    for member, today, note in (
        ("toolInput", "ui/notifications/tool-input", "also the partial one"),
        ("toolOutput", "ui/notifications/tool-result", "its `structuredContent`"),
        ("toolResponseMetadata", "ui/notifications/tool-result", "its `_meta`"),
        ("widgetState", "", "saved in the host's store for each View"),
        ("setWidgetState", "", "the model gets it only if the rule `widget_state` allows it"),
        ("theme", "hostContext.theme", ""),
        ("locale", "hostContext.locale", ""),
        ("displayMode", "hostContext.displayMode", ""),
        ("maxHeight", "hostContext.containerDimensions.maxHeight", ""),
        ("safeArea", "hostContext.safeAreaInsets", "as `insets`"),
        ("userAgent", "hostContext.platform", "and `deviceCapabilities`"),
        ("callTool", "tools/call", ""),
        ("sendFollowUpMessage", "ui/message", ""),
        ("sendFollowupTurn", "ui/message", "the former name of `sendFollowUpMessage`"),
        ("openExternal", "ui/open-link", ""),
        ("requestDisplayMode", "ui/request-display-mode", ""),
        ("notifyIntrinsicHeight", _SIZE, ""),
        ("requestClose", "ui/notifications/request-teardown", ""),
        ("openai:set_globals", _CONTEXT, "after each change of any of the above"),
    ):
        yield Row("member", "ChatGPT", "view", member, today, note)
    for member in (
        *("view", "viewMode", "viewParams", "requestModal", "setOpenInAppUrl", "uploadFile", "selectFiles"),
        *("getFileDownloadUrl", "requestCheckout", "notifyNavigation"),
    ):
        yield Row("member", "ChatGPT", "view", member, "", "undefined, so that a View can detect it")


ROWS: Final = tuple(_rows())

_FROM_VIEW: Final = {row.older: row for row in ROWS if row.kind == "method" and row.sender == "view"}
_TO_VIEW: Final[Mapping[Dialect, Mapping[str, str]]] = {
    dialect: {
        row.today: row.older for row in ROWS if (row.kind, row.sender, row.dialect) == ("method", "host", dialect)
    }
    for dialect in ("first draft", "early drafts", "guides")
}
_INITIALIZE_FIELDS: Final = {row.older: row.today for row in ROWS if (row.kind, row.sender) == ("field", "view")}
_CSP_FIELDS: Final = {row.older: row.today for row in ROWS if (row.kind, row.sender) == ("field", "server")}
_KEYS: Final = tuple((row.older, row.today.removeprefix("ui.")) for row in ROWS if row.kind == "key")
_VERSION: Final = "2026-01-26"


# Messages of Views


class Translator:
    """Translates the messages of one View to the standard, and ours to the dialect of the View.

    `server_dialect` is the dialect in which the server links to the View. It decides where a View does not show which
    draft it follows: one that sends core MCP's `initialize`.
    """

    def __init__(self, server_dialect: Dialect | None = None) -> None:
        self._server_dialect = server_dialect
        self.older_names: dict[str, str] = {}
        """The names of older dialects that this View used, with the current ones."""
        self._methods: Mapping[str, str] = {}
        self._is_older = False
        self._handshakes: dict[Any, JSONObject | None] = {}

    def snapshot(self) -> JSONObject:
        """Return what was learned about the View, as JSON."""
        return {"olderNames": dict(self.older_names), "methods": dict(self._methods), "isOlder": self._is_older}

    def restore(self, snapshot: JSONObject) -> None:
        """Continue with what another translator learned."""
        self.older_names.update(snapshot["olderNames"])
        self._methods, self._is_older = snapshot["methods"], snapshot["isOlder"]

    def from_view(self, message: Message) -> tuple[Message, Row | None]:
        """Return a View's message with current names, and the row of its method if that was an older one."""
        method = message.get("method")
        row = _FROM_VIEW.get(method) if isinstance(method, str) else None
        if row is None:
            return message, None
        translated = {**message, "method": row.today}
        params = message.get("params")
        if method == "initialize" and isinstance(params, dict):
            translated["params"] = {_INITIALIZE_FIELDS.get(key, key): value for key, value in params.items()}
        return translated, row

    def learn(self, message: Message, row: Row | None) -> None:
        """Detect the dialect of the View from a translated message and the row of its method."""
        if row is not None:
            self.older_names[row.older] = row.today
            self._is_older = True
            # Views of the guides send `initialize`, too, so it takes another message to recognize a draft.
            if row.dialect == "first draft" or row.older == "ui/size-change":
                self._methods = _TO_VIEW[row.dialect]
            elif row.older == "initialize" and self._server_dialect == "first draft":
                self._methods = _TO_VIEW["first draft"]
        if message.get("method") == "ui/initialize" and isinstance(message.get("id"), int | str):
            params = message.get("params")
            version = params.get("protocolVersion") if isinstance(params, dict) else None
            if version == _VERSION and row is None:
                return
            self._is_older = True
            bare = row is not None and row.older == "initialize"
            self._handshakes = {message["id"]: {"protocolVersion": version} if bare else None}
            if version == _GUIDE_VERSION:
                self._methods = _TO_VIEW["guides"]
                self.older_names[f"protocolVersion {version}"] = _VERSION

    def to_view(self, message: Message) -> Message:
        """Return a message of the host in the dialect of the View."""
        if not self._is_older:
            return message
        method = message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            if method == _CONTEXT and isinstance(params, dict):
                message = {**message, "params": _with_viewport(params)}
            return {**message, "method": self._methods.get(method, method)}
        if message.get("id") in self._handshakes and isinstance(message.get("result"), dict):
            return {**message, "result": _handshake(message["result"], self._handshakes.pop(message["id"]))}
        return message


def _handshake(result: JSONObject, bare: JSONObject | None) -> JSONObject:
    """Return the response to an older handshake, with the fields that it expects in addition."""
    context = result.get("hostContext")
    answer = {**result, "hostContext": _with_viewport(context if isinstance(context, dict) else {})}
    if bare is None:
        return answer
    version = bare["protocolVersion"]
    # A client of core MCP disconnects if the response has another version than its request.
    return {
        **answer,
        "protocolVersion": version if isinstance(version, str) else answer["protocolVersion"],
        "serverInfo": result["hostInfo"],
        "capabilities": {"tools": {}, "resources": {}, "logging": {}},
    }


def _with_viewport(context: JSONObject) -> JSONObject:
    dimensions = context.get("containerDimensions")
    return {**context, "viewport": dimensions} if isinstance(dimensions, dict) else context


# Requests to servers


def with_experimental(method: str, params: JSONObject) -> JSONObject:
    """Return the params of a request to a server with our extension also under `experimental`, for older servers.

    Capabilities are in `initialize` or, since 2026-07-28, in every request.
    """
    meta = params.get("_meta")
    if isinstance(meta, dict) and CLIENT_CAPABILITIES_META_KEY in meta:
        capabilities = _copy_to_experimental(meta[CLIENT_CAPABILITIES_META_KEY])
        return {**params, "_meta": {**meta, CLIENT_CAPABILITIES_META_KEY: capabilities}}
    if method == "initialize":
        return {**params, "capabilities": _copy_to_experimental(params.get("capabilities"))}
    return params


def _copy_to_experimental(capabilities: Any) -> Any:
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    ours = {id: settings for id, settings in (extensions or {}).items() if id in (EXTENSION_ID, OLDER_EXTENSION_ID)}
    return {**capabilities, "experimental": ours} if ours else capabilities


# Metadata of tools and Views

_CHATGPT_VISIBILITY: Final = ("openai/outputTemplate", "openai/widgetAccessible", "openai/visibility")


def meta_of(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata of a tool, resource or content item. Older Python servers write `meta` for `_meta`."""
    for key in ("_meta", "meta"):
        if isinstance(found := thing.get(key), Mapping):
            return found
    return {}


def translate_meta(meta: Mapping[str, Any]) -> tuple[JSONObject, tuple[str, ...]]:
    """Return the `ui` object of a `_meta` with what older keys add to it, and these keys. Current keys win."""
    nested = meta.get("ui")
    ui: JSONObject = dict(nested) if isinstance(nested, Mapping) else {}
    used: list[str] = []
    for older, today in _KEYS:
        if older in meta and today not in ui and today != "visibility":
            ui[today] = _value(today, meta[older])
            used.append(older)
    if not isinstance(nested, Mapping) and (visibility := chatgpt_visibility(meta)) is not None:
        ui["visibility"] = visibility
        used += [key for key in _CHATGPT_VISIBILITY if key in meta and key not in used]
    return ui, tuple(used)


def older_link(meta: Mapping[str, Any]) -> Row | None:
    """Return the row of the older key that links a tool to its View, or None if it has a current one."""
    used = translate_meta(meta)[1]
    return next((row for row in ROWS if row.today == "ui.resourceUri" and row.older in used), None)


def chatgpt_visibility(meta: Mapping[str, Any]) -> list[str] | None:
    """Return the visibility of a tool by ChatGPT's keys: the model by default, and Views only if they are allowed.

    Without these keys, return None.
    """
    if meta.keys().isdisjoint(_CHATGPT_VISIBILITY):
        return None
    model = [] if meta.get("openai/visibility") == "private" else ["model"]
    return [*model, "app"] if meta.get("openai/widgetAccessible") is True else model


def _value(today: str, value: Any) -> Any:
    if today == "csp" and isinstance(value, Mapping):
        return {_CSP_FIELDS[key]: domains for key, domains in value.items() if _CSP_FIELDS.get(key)}
    if today == "domain" and isinstance(value, str) and "://" in value:
        return urlsplit(value).netloc
    return value


def older_type(mime: object) -> Row | None:
    """Return the row of a MIME type of another dialect."""
    essence = str(mime).partition(";")[0].strip().lower().removesuffix("+javascript")
    return next((row for row in ROWS if row.kind == "type" and row.older == essence), None)
