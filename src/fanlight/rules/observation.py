"""What was observed of a server and of its Views: plain data, from which the rules judge.

    ServerObservation
    ├── looks        one for each protocol version, with and without MCP Apps
    └── views        one for each document
        └── scenes   one for each way of showing it in a browser

Only `fanlight check` makes these objects, by connecting and waiting. The rules only read them.
"""

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fanlight.protocol.extension import URI_SCHEME
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.metadata import FLAT_URI_KEY, UI_KEY
from fanlight.protocol.transcript import RecordedMessage

if TYPE_CHECKING:
    from fanlight.dev.source_lines import Place

HANGS: Final = "it hangs"
"""The value of `Scene.unfinished` if a script of the View ran without end."""
VIEW_ORIGIN: Final = "https://view.fanlight-check.test"
"""The origin of the View in everything that is recorded of a scene."""
DENIAL: Final = "Denied by fanlight check"
"""The beginning of the error by which the scripted host denies a request of the View."""
LATER: Final = "later"
"""Stands in place of a step, for an error of a timer that was set in an earlier step."""


@dataclass(frozen=True)
class SchemaError:
    """A part of a response that MCP's schema does not allow."""

    where: str
    message: str
    fix: str = "Return what the schema of MCP requires."


@dataclass(frozen=True)
class Response:
    """What a request got: a result, or an error with `code` and `message`."""

    result: JSONObject | None = None
    error: JSONObject | None = None
    schema_errors: Sequence[SchemaError] = ()
    timed_out: bool = False
    last_output: str = ""
    """The last lines that the server wrote to stderr, if the request timed out."""
    disconnected: str | None = None
    """How the connection ended, if it ended during the request."""
    exception: str | None = None
    """The exception that the server logged during the request, such as "ValueError: no such zone"."""


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool."""

    arguments: JSONObject
    response: Response


@dataclass(frozen=True)
class Look:
    """What one client saw, on one protocol version, with or without MCP Apps among its capabilities."""

    version: str
    ui: bool
    capabilities: JSONObject = field(default_factory=dict)
    tools: Sequence[JSONObject] = ()
    resources: Sequence[JSONObject] = ()
    templates: Sequence[JSONObject] = ()
    reads: Mapping[str, Response] = field(default_factory=dict)
    rereads: Mapping[str, Response] = field(default_factory=dict)
    """Second reads of the same Views."""
    calls: Mapping[str, ToolCall] = field(default_factory=dict)
    missing_view: Response | None = None
    """The response to a read of a View that does not exist."""
    failures: Sequence[str] = ()
    """Why lists could not be read, as sentences."""
    schema_errors: Sequence[SchemaError] = ()
    """What is wrong with the lists."""
    stdout_noise: str | None = None
    """The first line on stdout that is not MCP."""

    def links(self) -> Iterator[tuple[JSONObject, object]]:
        """Yield each tool that names a View, with the URI that it names (the nested one wins)."""
        for tool in self.tools:
            uri = ui_of(tool).get("resourceUri")
            if uri is None:
                uri = meta_of(tool).get(FLAT_URI_KEY)
            if uri is not None:
                yield tool, uri

    def view_uris(self) -> list[str]:
        """Return the URIs of all Views that tools name or that are listed."""
        named = [uri for _, uri in self.links() if isinstance(uri, str)]
        listed = [entry.get("uri") for entry in self.resources]
        views = [*named, *(uri for uri in listed if isinstance(uri, str) and uri.startswith(URI_SCHEME))]
        return list(dict.fromkeys(views))

    def contents(self) -> Iterator[tuple[str, JSONObject]]:
        """Yield the URI and the content item of everything that could be read."""
        for uri, response in self.reads.items():
            if (item := content_item(response, uri)) is not None:
                yield uri, item

    def view_contents(self) -> Iterator[tuple[str, JSONObject]]:
        """Yield the content items that are meant to be Views: a tool names them, or they are listed as HTML."""
        named = [uri for _, uri in self.links()]
        for uri, item in self.contents():
            listed = self.listed(uri) or {}
            if uri in named or "html" in str(listed.get("mimeType") or item.get("mimeType")):
                yield uri, item

    def view_meta(self, uri: str, item: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a View's metadata as a host finds it: on the content item, otherwise in the list (D-RES-01)."""
        return ui_of(item) or ui_of(self.listed(uri) or {})

    def listed(self, uri: str) -> JSONObject | None:
        """Return the entry of a resource in `resources/list`."""
        return next((entry for entry in self.resources if entry.get("uri") == uri), None)


@dataclass(frozen=True)
class Document:
    """A View's document, with the metadata that a host would use."""

    uri: str
    html: str = field(repr=False)
    ui: JSONObject = field(default_factory=dict)
    """The metadata of the content item, or of the listing."""
    tools: Sequence[JSONObject] = ()
    """The tools that name it."""
    file: str | None = None
    """The file it was saved in, in a folder of saved Views."""
    place: "Callable[[int, int], Place | None] | None" = field(default=None, repr=False, compare=False)
    """Maps a line and a column to the author's own file, if the server provides a source map."""

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.html.encode("utf-8", "replace")).hexdigest()

    @cached_property
    def size(self) -> int:
        """The size in bytes."""
        return len(self.html.encode("utf-8", "replace"))

    @property
    def csp(self) -> Mapping[str, Any]:
        csp = self.ui.get("csp")
        return csp if isinstance(csp, Mapping) else {}


class PolicyViolation(NamedTuple):
    """Something that the View's policy blocked."""

    directive: str
    blocked: str
    """The address that was blocked, or a word such as "eval" or "inline"."""

    def __str__(self) -> str:
        return f"{self.directive} blocked {self.blocked}"


@dataclass(frozen=True)
class Scene:
    """A View shown once, by one host, in one way."""

    name: str
    initialize_result: JSONObject = field(default_factory=dict)
    """The host's response to `ui/initialize`."""
    messages: Sequence[RecordedMessage] = ()
    errors: Sequence[tuple[str, str]] = ()
    """Uncaught errors, each as the step in which it was thrown and its text."""
    console: Sequence[str] = ()
    """Errors that the View wrote to the console."""
    violations: Sequence[PolicyViolation] = ()
    unreached: Sequence[str] = ()
    """Addresses that the policy allows and that could not be loaded."""
    measurements: Mapping[str, JSONObject] = field(default_factory=dict)
    """Measurements of the document after a step, by the step's name."""
    responses: Mapping[str, JSONObject] = field(default_factory=dict)
    """The View's responses to requests of the host, by the request's name. A request without a response is absent."""
    steps: Mapping[str, int] = field(default_factory=dict)
    """How many messages had been sent when a step began."""
    unfinished: str | None = None
    """Why the scene could not be played to its end."""
    navigations: Sequence[str] = ()
    """Addresses that the View's frame loaded after the View. A View that reloads itself has its own address here."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where errors were thrown, by their text: the author's file and line, if the server reported them."""

    def sent(self, *methods: str, since: str | None = None, until: str | None = None) -> list[RecordedMessage]:
        """Return the requests and notifications that the View sent.

        With `methods`, only those; with `since` or `until`, only those between the beginnings of two steps.
        """
        first = 0 if since is None else self.steps.get(since, len(self.messages))
        last = len(self.messages) if until is None else self.steps.get(until, len(self.messages))
        sent = (message for message in self.messages[first:last] if message.by == "view")
        return [message for message in sent if message.method and (not methods or message.method in methods)]

    def initialize_params(self) -> JSONObject | None:
        """Return the params of the View's `ui/initialize`, or None if it sent none."""
        for message in self.sent("ui/initialize", "initialize"):
            return message.params
        return None

    def app_capabilities(self) -> Mapping[str, Any]:
        """Return the `appCapabilities` that the View declared."""
        declared = (self.initialize_params() or {}).get("appCapabilities")
        return declared if isinstance(declared, Mapping) else {}

    def host_capabilities(self) -> Mapping[str, Any]:
        """Return the `hostCapabilities` that the host advertised."""
        return self.initialize_result.get("hostCapabilities") or {}

    def app_tools(self) -> list[JSONObject]:
        """Return the tools that the View listed."""
        result = self.responses.get("list", {}).get("result")
        tools = result.get("tools") if isinstance(result, Mapping) else None
        return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []

    def ready_after(self) -> float:
        """Return after how many seconds the View sent `ui/notifications/initialized`; 0 if it never did."""
        return next((message.at for message in self.sent("ui/notifications/initialized")), 0.0)


@dataclass(frozen=True)
class ViewObservation:
    """A document, and the scenes in which a browser showed it. Without a browser there are no scenes."""

    document: Document
    scenes: Mapping[str, Scene] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.document.file or self.document.uri

    def played(self, *names: str) -> Iterator[Scene]:
        """Yield the scenes that were played to their end: all, or those with these names."""
        for name, scene in self.scenes.items():
            if (not names or name in names) and scene.unfinished is None:
                yield scene


@dataclass(frozen=True)
class ServerObservation:
    """Everything that was observed of a server."""

    name: str
    looks: Sequence[Look] = ()
    views: Sequence[ViewObservation] = ()
    saved: bool = False
    """Whether these are saved Views without a server."""
    url: str | None = None
    """The address of a server that is reached over HTTP."""
    view_calls: Mapping[str, ToolCall] = field(default_factory=dict)
    """Tool calls of Views that the server did not answer correctly."""

    def newest(self, *, ui: bool = True) -> Look | None:
        """Return the look on the newest protocol version."""
        looks = [look for look in self.looks if look.ui is ui]
        return max(looks, key=lambda look: look.version, default=None)


def meta_of(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `_meta`, as it is on the wire."""
    meta = thing.get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def ui_of(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `_meta.ui`."""
    ui = meta_of(thing).get(UI_KEY)
    return ui if isinstance(ui, Mapping) else {}


def content_item(response: Response, uri: str) -> JSONObject | None:
    """Return the content item that a host would show."""
    contents = (response.result or {}).get("contents")
    items = [item for item in contents if isinstance(item, dict)] if isinstance(contents, list) else []
    return next((item for item in items if item.get("uri") == uri), items[0] if items else None)


def html_of(item: Mapping[str, Any]) -> str | None:
    """Return the HTML of a content item, or None if it cannot be read."""
    if isinstance(text := item.get("text"), str):
        return text
    if not isinstance(blob := item.get("blob"), str):
        return None
    try:
        return base64.b64decode(blob, validate=False).decode("utf-8-sig")
    except ValueError:
        return None


def texts(result: Mapping[str, Any] | None) -> list[str]:
    """Return the text blocks in the result of a tool."""
    content = (result or {}).get("content")
    blocks = content if isinstance(content, list) else []
    found = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return [text for text in found if isinstance(text, str)]


def label_of(tool: Mapping[str, Any]) -> str:
    """Return how findings name a tool."""
    return f"tool {tool.get('name')}"
