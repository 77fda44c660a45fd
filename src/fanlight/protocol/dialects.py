"""Other dialects, in today's words: older drafts, mcp-ui, and ChatGPT's. One table, read at the edges; nothing else
knows them.

`ROWS` is the table. What stands in it as "method", "key", "field", "type" or "extension" is translated here, and
"result" where results are read; "heard" is what only Views of ours understand (browser/view.js); "action", "message"
and "member" are what the shims translate inside a View's own document (browser/shim-*.js).
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
Kind = Literal["method", "heard", "key", "field", "type", "result", "extension", "action", "message", "member"]
Speaker = Literal["view", "host", "server"]


EMBEDDED: Final = "embedded ui:// resource"
"""How a View is named that comes inside a tool's result."""


class Row(NamedTuple):
    """One word of another dialect. `today` is "" where there is no equivalent."""

    kind: Kind
    dialect: Dialect
    speaker: Speaker
    """Who says it."""
    older: str
    today: str
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
_NOT_THE_VIEWS: Final = "the proxy's word: dropped if a View says it"
_GUIDE_VERSION: Final = "2025-01-01"
_WIDGET_PREFIXES: Final[tuple[tuple[str, Dialect], ...]] = (("mcp-ui", "first draft"), ("openai", "ChatGPT"))


def _rows() -> Iterator[Row]:
    yield Row(
        *("method", "early drafts", "view", "initialize", "ui/initialize"),
        "with `clientInfo` and `capabilities`; the answer has `serverInfo` and `capabilities` beside today's",
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

    # No View gives away that it wants this word and not today's, so our host does not say it.
    yield Row(
        *("heard", "early drafts", "host", "ui/notifications/host-context-change", _CONTEXT),
        "by Views with `view.js`, from older hosts, as the words of early drafts and guides above",
    )

    yield Row("field", "early drafts", "view", "clientInfo", "appInfo", "of `initialize`")
    yield Row("field", "early drafts", "view", "capabilities", "appCapabilities", "of `initialize`")
    yield Row(
        *("field", "early drafts", "host", "viewport", "containerDimensions"),
        "beside it, to a View that speaks an older version",
    )

    yield Row("key", "early drafts", "server", "ui/resourceUri", "ui.resourceUri")
    yield Row(
        *("key", "first draft", "server", "mcp-ui/resourceUri", "ui.resourceUri"),
        "its View is taken to hear the first draft, if it says `initialize`",
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

    both = "servers are told both; from a client either counts"
    yield Row("extension", "first draft", "host", OLDER_EXTENSION_ID, EXTENSION_ID, both)
    yield Row(
        *("extension", "early drafts", "host", "capabilities.experimental", "capabilities.extensions"),
        "servers are told in both places (one in the host's own program in today's); from a client either counts",
    )

    yield Row("action", "mcp-ui", "view", "tool", "tools/call")
    yield Row("action", "mcp-ui", "view", "prompt", "ui/message")
    yield Row("action", "mcp-ui", "view", "intent", "ui/message", "its name and parameters as a text")
    yield Row("action", "mcp-ui", "view", "link", "ui/open-link")
    yield Row("action", "mcp-ui", "view", "notify", "notifications/message", 'level "info"')
    yield Row("message", "mcp-ui", "host", "ui-message-received", "", "at once, for each action with its `messageId`")
    yield Row("message", "mcp-ui", "host", "ui-message-response", "", "the answer to the request, or its error")
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
        ("widgetState", "", "kept in the host's store for each View"),
        ("setWidgetState", "", "the model is not told, unless the rule `widget_state` says so"),
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
        yield Row("member", "ChatGPT", "view", member, "", "undefined, so that a View can tell")


ROWS: Final = tuple(_rows())

_FROM_VIEW: Final = {row.older: row for row in ROWS if row.kind == "method" and row.speaker == "view"}
_TO_VIEW: Final[Mapping[Dialect, Mapping[str, str]]] = {
    dialect: {
        row.today: row.older for row in ROWS if (row.kind, row.speaker, row.dialect) == ("method", "host", dialect)
    }
    for dialect in ("first draft", "early drafts", "guides")
}
_INITIALIZE_FIELDS: Final = {row.older: row.today for row in ROWS if (row.kind, row.speaker) == ("field", "view")}
_CSP_FIELDS: Final = {row.older: row.today for row in ROWS if (row.kind, row.speaker) == ("field", "server")}
_KEYS: Final = tuple((row.older, row.today.removeprefix("ui.")) for row in ROWS if row.kind == "key")
_VERSION: Final = "2026-01-26"


# What Views say, and hear


class Speech:
    """How one View speaks: its words become today's, and ours become those that it knows.

    `of_server` is the dialect of its server's link to it. A View that greets as in core MCP says no more of itself, so
    that is taken for its own.
    """

    def __init__(self, of_server: Dialect | None = None) -> None:
        self._of_server = of_server
        self.older: dict[str, str] = {}
        """The words that this View used, with today's."""
        self._words: Mapping[str, str] = {}
        self._is_older = False
        self._greetings: dict[Any, JSONObject | None] = {}

    def from_view(self, message: Message) -> tuple[Message, Row | None]:
        """Return a View's message in today's words, and the row of the older word if it used one."""
        method = message.get("method")
        row = _FROM_VIEW.get(method) if isinstance(method, str) else None
        if row is None:
            return message, None
        translated = {**message, "method": row.today}
        params = message.get("params")
        if method == "initialize" and isinstance(params, dict):
            translated["params"] = {_INITIALIZE_FIELDS.get(key, key): value for key, value in params.items()}
        return translated, row

    def heard(self, message: Message, row: Row | None) -> None:
        """Learn from a message in today's words how the View speaks."""
        if row is not None:
            self.older[row.older] = row.today
            self._is_older = True
            # A View of the guides says `initialize`, too; a notification of its own tells the drafts apart.
            if row.dialect == "first draft" or row.older == "ui/size-change":
                self._words = _TO_VIEW[row.dialect]
            elif row.older == "initialize" and self._of_server == "first draft":
                self._words = _TO_VIEW["first draft"]
        if message.get("method") == "ui/initialize" and isinstance(message.get("id"), int | str):
            params = message.get("params")
            version = params.get("protocolVersion") if isinstance(params, dict) else None
            if version == _VERSION and row is None:
                return
            self._is_older = True
            bare = row is not None and row.older == "initialize"
            self._greetings = {message["id"]: {"protocolVersion": version} if bare else None}
            if version == _GUIDE_VERSION:
                self._words = _TO_VIEW["guides"]
                self.older[f"protocolVersion {version}"] = _VERSION

    def to_view(self, message: Message) -> Message:
        """Return a message of ours in the words that the View knows."""
        if not self._is_older:
            return message
        method = message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            if method == _CONTEXT and isinstance(params, dict):
                message = {**message, "params": _with_viewport(params)}
            return {**message, "method": self._words.get(method, method)}
        if message.get("id") in self._greetings and isinstance(message.get("result"), dict):
            return {**message, "result": _greeting(message["result"], self._greetings.pop(message["id"]))}
        return message


def _greeting(result: JSONObject, bare: JSONObject | None) -> JSONObject:
    """Return the answer to a View that greets in an older way, with what it looks for beside today's."""
    context = result.get("hostContext")
    answer = {**result, "hostContext": _with_viewport(context if isinstance(context, dict) else {})}
    if bare is None:
        return answer
    version = bare["protocolVersion"]
    # A client of core MCP leaves if it is answered with a version that it did not name.
    return {
        **answer,
        "protocolVersion": version if isinstance(version, str) else answer["protocolVersion"],
        "serverInfo": result["hostInfo"],
        "capabilities": {"tools": {}, "resources": {}, "logging": {}},
    }


def _with_viewport(context: JSONObject) -> JSONObject:
    dimensions = context.get("containerDimensions")
    return {**context, "viewport": dimensions} if isinstance(dimensions, dict) else context


# What servers are told


def in_both_places(method: str, params: JSONObject) -> JSONObject:
    """Return the params of a request to a server with our extension also where older servers look for it.

    Clients of the handshake say in `initialize` what they can do, those of 2026-07-28 with each request.
    """
    meta = params.get("_meta")
    if isinstance(meta, dict) and CLIENT_CAPABILITIES_META_KEY in meta:
        told = _also_experimental(meta[CLIENT_CAPABILITIES_META_KEY])
        return {**params, "_meta": {**meta, CLIENT_CAPABILITIES_META_KEY: told}}
    if method == "initialize":
        return {**params, "capabilities": _also_experimental(params.get("capabilities"))}
    return params


def _also_experimental(capabilities: Any) -> Any:
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    ours = {id: settings for id, settings in (extensions or {}).items() if id in (EXTENSION_ID, OLDER_EXTENSION_ID)}
    return {**capabilities, "experimental": ours} if ours else capabilities


# What servers say of tools and Views

_CHATGPT_VISIBILITY: Final = ("openai/outputTemplate", "openai/widgetAccessible", "openai/visibility")


def meta_of(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata of a tool, resource or content item. Older Python servers write `meta` for `_meta`."""
    for key in ("_meta", "meta"):
        if isinstance(found := thing.get(key), Mapping):
            return found
    return {}


def ui_of(meta: Mapping[str, Any]) -> tuple[JSONObject, tuple[str, ...]]:
    """Return the `ui` object of a `_meta` with what older keys add to it, and those keys. Today's win."""
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


def link_of(meta: Mapping[str, Any]) -> Row | None:
    """Return the row of the older key that links a tool to its View, if today's does not."""
    used = ui_of(meta)[1]
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


def type_of(mime: object) -> Row | None:
    """Return the row of a MIME type of another dialect."""
    essence = str(mime).partition(";")[0].strip().lower().removesuffix("+javascript")
    return next((row for row in ROWS if row.kind == "type" and row.older == essence), None)
