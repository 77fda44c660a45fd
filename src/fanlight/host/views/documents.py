"""The View of a tool: its link, who may call the tool, and the document behind the link, read with care.

ViewError (a FanlightError)      a View cannot be shown; says why in words
└── ViewUnavailableError              it could not be read just now: the connection was lost, or too slow
"""

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol
from urllib.parse import urlsplit

import anyio

from fanlight.host.errors import CallCancelledError, ServerError, ViewError, ViewUnavailableError
from fanlight.host.upstream.events import Listener, News, ResourcesChanged, ResourceUpdated, StatusChanged
from fanlight.protocol.csp import CSP_LISTS, Csp, check_host_name, check_source
from fanlight.protocol.dialects import ROWS, Row, meta_of, older_link, older_type, translate_meta
from fanlight.protocol.errors import RegistrationError
from fanlight.protocol.extension import MIME_TYPE, URI_SCHEME, is_view_uri
from fanlight.protocol.jsonrpc import JSONObject
from fanlight.protocol.metadata import PERMISSION_KEYS, UI_KEY, Permission

_MOST_PAGES: Final = 100
_PERMISSIONS: Final = {key: name for name, key in PERMISSION_KEYS.items()}


Form = Literal["standard", "mcp-ui", "openai", "external", "source"]
"""How a document is served: as it is, with a shim for another dialect, as a frame for a page, or as a text."""

_FORMS: Final[Mapping[str, Form]] = {
    "text/html": "mcp-ui",
    "text/html+skybridge": "openai",
    "text/uri-list": "external",
    "application/vnd.mcp-ui.remote-dom": "source",
}
_MCP_UI: Final = "mcpui.dev/ui-"
_MOST_HEIGHT: Final = 20_000
# What is printable and no space, quote or bracket: a page has its characters percent-encoded.
_WEB_PAGE: Final = re.compile(r"https?://[!#-;=?-_a-z~]+", re.IGNORECASE)


class Source(Protocol):
    """What is needed of a connection to read Views from it."""

    name: str

    async def read_resource(self, uri: str) -> JSONObject: ...

    async def list_resources(self, cursor: str | None = None) -> JSONObject: ...

    def listen(self, listener: Listener) -> Callable[[], None]: ...

    def follow(self, uri: str) -> None: ...


@dataclass(frozen=True)
class ViewDocument:
    """A View as its server serves it, with only such metadata as may enter a header."""

    uri: str
    html: str = field(repr=False)
    sha256: str
    """Of the document's bytes in UTF-8."""
    csp: Csp | None
    """None if the server declares none: then nothing is reachable (CSP-02)."""
    permissions: tuple[Permission, ...]
    domain: str | None
    prefers_border: bool | None
    mime_exact: bool
    """Whether the MIME type is the standard's, byte for byte; other hosts refuse what is not."""
    problems: tuple[str, ...] = ()
    """What was declared wrongly and therefore left out, for the server's author."""
    form: Form = "standard"
    older: Mapping[str, str] = field(default_factory=dict)
    """The words of other dialects in it, with today's."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """The same, where other dialects are not spoken: they were not heeded."""
    url: str | None = None
    """The page that it frames, if it does."""
    render_data: JSONObject = field(default_factory=dict)
    """What mcp-ui's metadata gives the View to begin with."""
    height: float | None = None
    """What mcp-ui's metadata prefers, in pixels."""


# Tools


def view_uri(tool: Mapping[str, Any], *, dialects: bool = True) -> str | None:
    """Return the URI of a tool's View, or None if it has none that may be shown (DSC-07: nested wins)."""
    uri = (translate_meta(meta_of(tool))[0] if dialects else _ui(tool)).get("resourceUri")
    return uri if is_view_uri(uri) else None


def link_row(tool: Mapping[str, Any]) -> Row | None:
    """Return the row of the key of another dialect that links a tool to its View, if it is not today's."""
    return older_link(meta_of(tool))


def link_problem(tool: Mapping[str, Any]) -> str | None:
    """Say what is wrong with a tool's link to its View, if it has one that cannot be followed."""
    uri = translate_meta(meta_of(tool))[0].get("resourceUri")
    if uri is None or view_uri(tool) is not None:
        return None
    return f'The tool {tool.get("name")!r} names the View {uri!r}, not a ui:// URI. Write "ui://clock/view".'


# Views


class DocumentReader:
    """Reads View documents from servers, and caches each until its server reports a change."""

    def __init__(self, *, dialects: bool = True) -> None:
        self._dialects = dialects
        self._kept: dict[tuple[str, str], ViewDocument] = {}
        self._locks: dict[tuple[str, str], anyio.Lock] = {}
        self._changes: dict[str, int] = {}
        self._followed: dict[str, Source] = {}

    async def read(self, source: Source, uri: str) -> ViewDocument:
        """Return the View at a URI, from memory if it is still good; raise `ViewError` if it cannot be shown."""
        self._follow(source)
        key = (source.name, uri)
        async with self._locks.setdefault(key, anyio.Lock()):
            if (kept := self._kept.get(key)) is not None:
                return kept
            source.follow(uri)
            before = self._changes.get(source.name, 0)
            document = await read_view(source, uri, dialects=self._dialects)
            # What changed while it was read may be older than the change.
            if self._changes.get(source.name, 0) == before:
                self._kept[key] = document
            return document

    def forget(self, server: str, uri: str | None = None) -> None:
        """Read a server's Views anew when they are next asked for; or one of them."""
        self._changes[server] = self._changes.get(server, 0) + 1
        for key in [key for key in self._kept if key[0] == server and uri in (None, key[1])]:
            del self._kept[key]

    def _follow(self, source: Source) -> None:
        if self._followed.get(source.name) is not source:
            self._followed[source.name] = source
            self.forget(source.name)
            source.listen(self._hear)

    def _hear(self, news: News) -> None:
        match news:
            case ResourcesChanged():
                self.forget(news.server)
            case ResourceUpdated():
                self.forget(news.server, news.uri)
            case StatusChanged() if news.status.state in ("retrying", "closed"):
                self.forget(news.server)  # the next connection may be to a newer server


async def read_view(source: Source, uri: str, *, dialects: bool = True) -> ViewDocument:
    """Read one View from its server, without any memory (DSC-02)."""
    if not uri.startswith(URI_SCHEME):
        raise ViewError(f'{source.name}: the View {uri!r} has no ui:// URI. Write "ui://clock/view".')
    try:
        contents = (await source.read_resource(uri)).get("contents")
        item = _chosen(contents, uri)
        meta = _described(item, dialects)
        if not meta[0]:
            listed, keys = await _listed(source, uri, dialects)
            meta = listed, (*meta[1], *keys)
    except ServerError as error:
        raise ViewError(f"{source.name} cannot give the View {uri}: {error.message}") from error
    except CallCancelledError as error:
        raise ViewUnavailableError(f"The View {uri} could not be read from {error}") from error
    except _Unreadable as error:
        raise ViewError(f"{source.name}: the View {uri} {error}") from None
    return _document(uri, item, meta, dialects)


def embedded_view(item: JSONObject) -> ViewDocument:
    """Return the View that a tool result embeds, or raise `ViewError`."""
    document = _document(item["uri"], item, _described(item, True), True)
    # Of today's type, too, it may speak mcp-ui: the type changed before the words did.
    return replace(document, form="mcp-ui" if document.form == "standard" else document.form)


class _Unreadable(Exception):
    """Why contents cannot be shown, as the rest of a sentence."""


def _chosen(contents: object, uri: str) -> JSONObject:
    """Choose the item whose URI matches byte for byte, else the only one."""
    items = [item for item in contents if isinstance(item, dict)] if isinstance(contents, list) else []
    matching = [item for item in items if item.get("uri") == uri]
    if matching:
        return matching[0]
    if len(items) == 1:
        return items[0]
    if not items:
        raise _Unreadable("came without contents. Return one item with the HTML in its text or blob.")
    raise _Unreadable(f"came with {len(items)} items, none of this very URI. Return one item with the URI asked for.")


_Described = tuple[Mapping[str, Any], tuple[str, ...]]


def _described(thing: Mapping[str, Any], dialects: bool) -> _Described:
    """Return the metadata of a View, and the older keys that say something of it; without dialects, in vain."""
    ui, keys = translate_meta(meta_of(thing))
    return (ui if dialects else _ui(thing)), keys


async def _listed(source: Source, uri: str, dialects: bool) -> _Described:
    """Return the metadata of a View's entry in the list, where a content item brings none (D-RES-01)."""
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        try:
            page = await source.list_resources(cursor)
        except ServerError:
            return {}, ()  # a server need not list anything (DSC-04)
        for entry in page.get("resources") or ():
            if isinstance(entry, Mapping) and entry.get("uri") == uri:
                return _described(entry, dialects)
        before, cursor = cursor, page.get("nextCursor")
        if cursor is None or cursor == before:
            break
    return {}, ()


def _document(uri: str, item: JSONObject, described: _Described, dialects: bool) -> ViewDocument:
    problems: list[str] = []
    mime = item.get("mimeType")
    meta, keys = described
    words = {row.older: row.today for row in ROWS if row.kind == "key" and row.older in keys}
    older, refused = (words, {}) if dialects else ({}, words)
    try:
        row = None if _is_standard(mime) else older_type(mime)
        if row is not None and not dialects:
            raise _Unreadable(
                f"has the MIME type {mime!r}, of another dialect ({row.dialect}), which this host refuses."
            )
        if row is None and not _is_standard(mime) and mime is not None:
            raise _Unreadable(f"has the MIME type {mime!r}, not HTML. Write {MIME_TYPE!r}.")
        html = _html(item)
        form: Form = "standard" if row is None else _FORMS.get(row.older, "standard")
        url = _web_page(html, form) if dialects else None
        csp = _csp(meta.get("csp"), problems) if url is None else Csp(frame_domains=(_origin(url),))
    except _Unreadable as error:
        raise ViewError(f"The View {uri} {error}") from None
    if row is not None:
        older[row.older] = row.today
    if mime != MIME_TYPE:
        problems.append(f"mimeType is {mime!r}. Other hosts want it byte for byte: {MIME_TYPE!r}.")
    if item.get("uri") != uri:
        problems.append(f"the content's uri is {item.get('uri')!r}, not the one asked for (RES-06).")
    render_data = meta_of(item).get(f"{_MCP_UI}initial-render-data")
    return ViewDocument(
        uri=uri,
        html=html,
        sha256=hashlib.sha256(html.encode()).hexdigest(),
        csp=csp,
        permissions=_permissions(meta.get("permissions"), problems),
        domain=_domain(meta.get("domain"), problems),
        prefers_border=_border(meta.get("prefersBorder"), problems),
        mime_exact=mime == MIME_TYPE,
        problems=tuple(f"{uri}: {problem}" for problem in problems),
        form="external" if url is not None else form,
        older=older,
        refused=refused,
        url=url,
        render_data=render_data if isinstance(render_data, dict) else {},
        height=_height(meta_of(item).get(f"{_MCP_UI}preferred-frame-size")),
    )


def _is_standard(mime: object) -> bool:
    """Tell whether a MIME type is the standard's, read as a MIME type: spaces, quotes and case do not matter."""
    words = "".join(mime.split()).replace('"', "").lower().split(";") if isinstance(mime, str) else [""]
    return words[0] == "text/html" and "profile=mcp-app" in words


def _web_page(text: str, form: Form) -> str | None:
    """Return the address of the page that a document is, if it is no more than that.

    A list of addresses has one in each line, and lines that begin with # say something to people. Some servers send
    such an address as if it were HTML.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if form != "external":
        return lines[0] if len(lines) == 1 and _WEB_PAGE.fullmatch(lines[0]) else None
    for line in lines:
        if _WEB_PAGE.fullmatch(line):
            return line
    raise _Unreadable("is a list of addresses without a web page. Write one that begins with https://.")


def _origin(url: str) -> str:
    parts = urlsplit(url)
    try:
        return check_source(f"{parts.scheme}://{parts.netloc}".lower(), "its origin")
    except (RegistrationError, ValueError) as error:
        raise _Unreadable(f"is a page that cannot be framed: {error}") from None


def _height(size: object) -> float | None:
    """Return the height of a size such as ["800px", "600px"], if it is in pixels."""
    height = size[1] if isinstance(size, list) and len(size) == 2 else None
    if isinstance(height, str) and height.removesuffix("px").isdecimal():
        height = int(height.removesuffix("px")[:6])
    good = isinstance(height, int | float) and not isinstance(height, bool) and 0 < height < _MOST_HEIGHT
    return height if good else None


def _html(item: JSONObject) -> str:
    text, blob = item.get("text"), item.get("blob")
    if isinstance(text, str):
        # A lone surrogate can be written in JSON but not in UTF-8; a browser would show U+FFFD as well.
        return text if text.isascii() else text.encode("utf-8", "replace").decode()
    if not isinstance(blob, str):
        raise _Unreadable("came with neither text nor blob. Return the HTML in one of them.")
    try:
        return base64.b64decode(blob, validate=False).decode("utf-8-sig")
    except ValueError as error:  # what is no base64, no ASCII, or no UTF-8
        raise _Unreadable(f"came as a blob that is not base64 of UTF-8: {error}.") from None


def _csp(declared: object, problems: list[str]) -> Csp | None:
    if not isinstance(declared, Mapping):
        if declared is not None:
            problems.append(f"csp is {declared!r}, not an object; nothing is reachable.")
        return None
    domains = {ours: _domains(declared.get(name), name, problems) for name, ours in CSP_LISTS.items()}
    return Csp(**domains)


def _domains(declared: object, name: str, problems: list[str]) -> tuple[str, ...]:
    """Keep the valid sources of one list; a bad one is never joined into a header."""
    if declared is None:
        return ()
    if not isinstance(declared, list):
        problems.append(f"{name} is {declared!r}, not a list, and is left out.")
        return ()
    good = []
    for i, value in enumerate(declared):
        try:
            good.append(check_source(value, f"{name}[{i}]"))
        except RegistrationError as error:
            problems.append(str(error))
    return tuple(good)


def _permissions(declared: object, problems: list[str]) -> tuple[Permission, ...]:
    if not isinstance(declared, Mapping):
        if declared is not None:
            problems.append(f"permissions is {declared!r}, not an object, and is left out.")
        return ()
    for unknown in sorted(declared.keys() - _PERMISSIONS.keys()):
        problems.append(f"permissions has {unknown!r}, expected some of {', '.join(_PERMISSIONS)}.")
    # An empty object asks for it, and so did `true` in older hosts; `false` and null do not.
    return tuple(ours for name, ours in _PERMISSIONS.items() if declared.get(name) not in (None, False))


def _domain(declared: object, problems: list[str]) -> str | None:
    if declared is None:
        return None
    try:
        return check_host_name(declared, "domain")
    except RegistrationError as error:
        problems.append(str(error))
        return None


def _border(declared: object, problems: list[str]) -> bool | None:
    if declared is None or isinstance(declared, bool):
        return declared
    problems.append(f"prefersBorder is {declared!r}, not true or false, and is left out.")
    return None


def _ui(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    ui = meta_of(thing).get(UI_KEY)
    return ui if isinstance(ui, Mapping) else {}
