"""What was seen of a server and of its Views: plain data, from which the rules judge.

    Seen
    ├── looks        one for each protocol version, with and without MCP Apps
    └── views        one for each document
        └── scenes   one for each way of showing it in a browser

Whoever makes one waits and talks; whoever reads one only reads.
"""

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from fanlight.dev.source_lines import Place
from fanlight.protocol.extension import URI_SCHEME
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.metadata import FLAT_URI_KEY, UI_KEY
from fanlight.protocol.transcript import RecordedMessage

HANGS: Final = "it hangs"
"""Of a scene that did not end: a script of the View ran without end."""
LATER: Final = "later"
"""In place of a step, for an error of a timer that was set in an earlier one."""


@dataclass(frozen=True)
class Flaw:
    """What in an answer is not as MCP's schema demands: of what, what is wrong, and what to do."""

    where: str
    what: str
    fix: str = "Answer as the schema of MCP has it."


@dataclass(frozen=True)
class Answer:
    """What a request got: a result, or an error with `code` and `message`."""

    result: JSONObject | None = None
    error: JSONObject | None = None
    flaws: Sequence[Flaw] = ()
    silent: bool = False
    """Whether nothing came in time."""
    wrote: str = ""
    """What the server wrote last, if nothing came in time."""
    lost: str | None = None
    """How the server went away meanwhile."""


@dataclass(frozen=True)
class Called:
    """A call of a tool."""

    arguments: JSONObject
    answer: Answer


@dataclass(frozen=True)
class Look:
    """What one client saw, on one protocol version, with or without MCP Apps among its capabilities."""

    version: str
    ui: bool
    capabilities: JSONObject = field(default_factory=dict)
    tools: Sequence[JSONObject] = ()
    resources: Sequence[JSONObject] = ()
    templates: Sequence[JSONObject] = ()
    reads: Mapping[str, Answer] = field(default_factory=dict)
    again: Mapping[str, Answer] = field(default_factory=dict)
    """Second reads of the same Views."""
    calls: Mapping[str, Called] = field(default_factory=dict)
    missing: Answer | None = None
    """What reading a View that does not exist got."""
    failures: Sequence[str] = ()
    """Lists that could not be had, in words."""
    flaws: Sequence[Flaw] = ()
    """What is wrong with the lists."""
    noise: str | None = None
    """The first line on stdout that is not MCP."""

    def links(self) -> Iterator[tuple[JSONObject, object]]:
        """Yield the tools that name a View, with what they name (nested wins)."""
        for tool in self.tools:
            uri = ui_of(tool).get("resourceUri")
            if uri is None:
                uri = meta_of(tool).get(FLAT_URI_KEY)
            if uri is not None:
                yield tool, uri

    def view_uris(self) -> list[str]:
        """Return the URIs of all Views that tools name or the list has."""
        named = [uri for _, uri in self.links() if isinstance(uri, str)]
        listed = [entry.get("uri") for entry in self.resources]
        mine = [*named, *(uri for uri in listed if isinstance(uri, str) and uri.startswith(URI_SCHEME))]
        return list(dict.fromkeys(mine))

    def contents(self) -> Iterator[tuple[str, JSONObject]]:
        """Yield the content item of each View that could be read."""
        for uri, answer in self.reads.items():
            if (item := chosen(answer, uri)) is not None:
                yield uri, item

    def listed(self, uri: str) -> JSONObject | None:
        """Return the entry of a View in the list."""
        return next((entry for entry in self.resources if entry.get("uri") == uri), None)


@dataclass(frozen=True)
class Document:
    """A View's document, with the metadata that a host would use."""

    uri: str
    html: str = field(repr=False)
    ui: JSONObject = field(default_factory=dict)
    """Of the content item, or else of the list's entry."""
    tools: Sequence[JSONObject] = ()
    """The tools that name it."""
    file: str | None = None
    """Where it was saved, for a folder of saved Views."""
    place: Callable[[int, int], Place | None] | None = field(default=None, repr=False, compare=False)
    """Tells which line of the author's files a line and column are, as far as the server told."""

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.html.encode("utf-8", "replace")).hexdigest()

    @cached_property
    def size(self) -> int:
        """In bytes."""
        return len(self.html.encode("utf-8", "replace"))

    @property
    def csp(self) -> Mapping[str, Any]:
        csp = self.ui.get("csp")
        return csp if isinstance(csp, Mapping) else {}


@dataclass(frozen=True)
class Scene:
    """A View shown once, by one host, in one way."""

    name: str
    host: JSONObject = field(default_factory=dict)
    """What the host answered to `ui/initialize`."""
    said: Sequence[RecordedMessage] = ()
    errors: Sequence[tuple[str, str]] = ()
    """Uncaught errors, each with the step in which it came."""
    console: Sequence[str] = ()
    """Errors that the View wrote to the console."""
    violations: Sequence[str] = ()
    """What the policy blocked: directive and address."""
    unreached: Sequence[str] = ()
    """Addresses that could not be loaded from here, though the policy allows them."""
    marks: Mapping[str, JSONObject] = field(default_factory=dict)
    """Measures of the document after a step, by the step's name."""
    answers: Mapping[str, JSONObject] = field(default_factory=dict)
    """What the View answered to a request of the host, by the request's name; none if it stayed silent."""
    steps: Mapping[str, int] = field(default_factory=dict)
    """How many messages had been said when a step began."""
    unfinished: str | None = None
    """Why the scene could not be played to its end."""

    def sent(self, *methods: str, since: str | None = None, until: str | None = None) -> list[RecordedMessage]:
        """Return what the View sent: all, or some methods; between the beginnings of two steps, or all the time."""
        first = 0 if since is None else self.steps.get(since, len(self.said))
        last = len(self.said) if until is None else self.steps.get(until, len(self.said))
        mine = (said for said in self.said[first:last] if said.by == "view" and "method" in said.message)
        return [said for said in mine if not methods or said.message["method"] in methods]

    def hello(self) -> JSONObject | None:
        """Return the params of the View's `ui/initialize`."""
        for said in self.sent("ui/initialize", "initialize"):
            params = said.message.get("params")
            return params if isinstance(params, dict) else {}
        return None


@dataclass(frozen=True)
class ViewSeen:
    """A document, and how it went in a browser. Without a browser there are no scenes."""

    document: Document
    scenes: Mapping[str, Scene] = field(default_factory=dict)

    @property
    def where(self) -> str:
        return self.document.file or self.document.uri

    def played(self, *names: str) -> Iterator[Scene]:
        """Yield the scenes that were played and in which the View connected."""
        for name, scene in self.scenes.items():
            if (not names or name in names) and scene.unfinished is None:
                yield scene


@dataclass(frozen=True)
class Seen:
    """All that was seen of a server."""

    name: str
    looks: Sequence[Look] = ()
    views: Sequence[ViewSeen] = ()
    saved: bool = False
    """Whether these are saved Views, with no server behind them."""
    view_calls: Mapping[str, Called] = field(default_factory=dict)
    """Calls that Views made while they were shown, of those that were not answered as they should be."""

    def best(self, *, ui: bool = True) -> Look | None:
        """Return the look on the newest protocol version."""
        looks = [look for look in self.looks if look.ui is ui]
        return max(looks, key=lambda look: look.version, default=None)


def meta_of(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `_meta` as it is on the wire."""
    meta = thing.get("_meta")
    return meta if isinstance(meta, Mapping) else {}


def ui_of(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return `_meta.ui`."""
    ui = meta_of(thing).get(UI_KEY)
    return ui if isinstance(ui, Mapping) else {}


def chosen(answer: Answer, uri: str) -> JSONObject | None:
    """Return the content item that a host would show."""
    contents = (answer.result or {}).get("contents")
    items = [item for item in contents if isinstance(item, dict)] if isinstance(contents, list) else []
    return next((item for item in items if item.get("uri") == uri), items[0] if items else None)


def html_of(item: Mapping[str, Any]) -> str | None:
    """Return the HTML of a content item, or None if there is none that can be read."""
    if isinstance(text := item.get("text"), str):
        return text
    if not isinstance(blob := item.get("blob"), str):
        return None
    try:
        return base64.b64decode(blob, validate=False).decode("utf-8-sig")
    except ValueError:
        return None


def texts(result: Mapping[str, Any] | None) -> list[str]:
    """Return the texts in a tool's result."""
    content = (result or {}).get("content")
    blocks = content if isinstance(content, list) else []
    found = (block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text")
    return [text for text in found if isinstance(text, str)]
