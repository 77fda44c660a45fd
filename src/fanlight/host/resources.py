"""The View of a tool: its link, who may call the tool, and the document behind the link, read with care.

ViewError (a FanlightError)      a View cannot be shown; says why in words
└── ViewUnavailable              it could not be read just now: the connection was lost, or too slow
"""

import base64
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import anyio

from fanlight.host.connection import ServerError, Unfinished
from fanlight.host.news import Listener, News, ResourcesChanged, ResourceUpdated, StatusChanged
from fanlight.host.wire import JSONObject
from fanlight.protocol.csp import Csp, check_host_name, check_source
from fanlight.protocol.errors import FanlightError, RegistrationError
from fanlight.protocol.extension import MIME_TYPE, URI_SCHEME
from fanlight.protocol.metadata import FLAT_URI_KEY, UI_KEY, Permission, Visibility

_EVERYONE: Final[frozenset[Visibility]] = frozenset({"model", "app"})
_MOST_PAGES: Final = 100
_CSP_FIELDS: Final = {
    "connectDomains": "connect_domains",
    "resourceDomains": "resource_domains",
    "frameDomains": "frame_domains",
    "baseUriDomains": "base_uri_domains",
}
_PERMISSIONS: Final[Mapping[str, Permission]] = {
    "camera": "camera",
    "microphone": "microphone",
    "geolocation": "geolocation",
    "clipboardWrite": "clipboard-write",
}


class ViewError(FanlightError):
    """A View cannot be shown."""


class ViewUnavailable(ViewError):
    """A View could not be read just now; another attempt may succeed."""


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


# Tools


def view_uri(tool: Mapping[str, Any]) -> str | None:
    """Return the URI of a tool's View, or None if it has none that may be shown (DSC-07: nested wins)."""
    uri = _declared_uri(tool)
    return uri if isinstance(uri, str) and uri.startswith(URI_SCHEME) and uri != URI_SCHEME else None


def link_problem(tool: Mapping[str, Any]) -> str | None:
    """Say what is wrong with a tool's link to its View, if it has one that cannot be followed."""
    uri = _declared_uri(tool)
    if uri is None or view_uri(tool) is not None:
        return None
    return f'The tool {tool.get("name")!r} names the View {uri!r}, not a ui:// URI. Write "ui://clock/view".'


def visibility(tool: Mapping[str, Any]) -> frozenset[Visibility]:
    """Return who may use a tool. Absent means everyone (VIS-01), empty nobody (VIS-05).

    Values that are not of the standard count for nothing, so a typing error hides a tool and never shows it.
    """
    declared = _ui(tool).get("visibility")
    if declared is None:
        return _EVERYONE
    if not isinstance(declared, list | tuple):
        return frozenset()
    return frozenset(who for who in _EVERYONE if who in declared)


def for_model(tool: Mapping[str, Any]) -> bool:
    """Tell whether the model may see and call a tool (VIS-02)."""
    return "model" in visibility(tool)


def for_app(tool: Mapping[str, Any]) -> bool:
    """Tell whether Views of the same server may call a tool (VIS-03)."""
    return "app" in visibility(tool)


def _declared_uri(tool: Mapping[str, Any]) -> object:
    nested = _ui(tool).get("resourceUri")
    return _meta(tool).get(FLAT_URI_KEY) if nested is None else nested


# Views


class Views:
    """Reads Views once, and again when their server says that they changed."""

    def __init__(self) -> None:
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
            document = await read_view(source, uri)
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


async def read_view(source: Source, uri: str) -> ViewDocument:
    """Read one View from its server, without any memory (DSC-02)."""
    if not uri.startswith(URI_SCHEME):
        raise ViewError(f'{source.name}: the View {uri!r} has no ui:// URI. Write "ui://clock/view".')
    try:
        contents = (await source.read_resource(uri)).get("contents")
        item = _chosen(contents, uri)
        meta = _ui(item) or await _listed(source, uri)
    except ServerError as error:
        raise ViewError(f"{source.name} cannot give the View {uri}: {error.message}") from error
    except Unfinished as error:
        raise ViewUnavailable(f"The View {uri} could not be read from {error}") from error
    except _Unreadable as error:
        raise ViewError(f"{source.name}: the View {uri} {error}") from None
    return _document(uri, item, meta)


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


async def _listed(source: Source, uri: str) -> Mapping[str, Any]:
    """Return the metadata of a View's entry in the list, where a content item brings none (D-RES-01)."""
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        try:
            page = await source.list_resources(cursor)
        except ServerError:
            return {}  # a server need not list anything (DSC-04)
        for entry in page.get("resources") or ():
            if isinstance(entry, Mapping) and entry.get("uri") == uri:
                return _ui(entry)
        before, cursor = cursor, page.get("nextCursor")
        if cursor is None or cursor == before:
            break
    return {}


def _document(uri: str, item: JSONObject, meta: Mapping[str, Any]) -> ViewDocument:
    problems: list[str] = []
    try:
        exact = _is_view(item.get("mimeType"))
        html = _html(item)
    except _Unreadable as error:
        raise ViewError(f"The View {uri} {error}") from None
    if not exact:
        problems.append(f"mimeType is {item.get('mimeType')!r}. Other hosts want it byte for byte: {MIME_TYPE!r}.")
    if item.get("uri") != uri:
        problems.append(f"the content's uri is {item.get('uri')!r}, not the one asked for (RES-06).")
    return ViewDocument(
        uri=uri,
        html=html,
        sha256=hashlib.sha256(html.encode()).hexdigest(),
        csp=_csp(meta.get("csp"), problems),
        permissions=_permissions(meta.get("permissions"), problems),
        domain=_domain(meta.get("domain"), problems),
        prefers_border=_border(meta.get("prefersBorder"), problems),
        mime_exact=exact,
        problems=tuple(f"{uri}: {problem}" for problem in problems),
    )


def _is_view(mime: object) -> bool:
    """Tell whether a MIME type is the standard's byte for byte; refuse what is no HTML at all."""
    if mime == MIME_TYPE:
        return True
    essence = str(mime).partition(";")[0].strip().lower()
    # Older names of the same thing; a server that says nothing is taken at its URI's word.
    if mime is None or essence in ("text/html", "text/html+mcp", "text/html+skybridge"):
        return False
    raise _Unreadable(f"has the MIME type {mime!r}, not HTML. Write {MIME_TYPE!r}.")


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
    domains = {ours: _domains(declared.get(name), name, problems) for name, ours in _CSP_FIELDS.items()}
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


def _meta(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an object's metadata; older Python servers write `meta` for `_meta`."""
    for key in ("_meta", "meta"):
        if isinstance(found := thing.get(key), Mapping):
            return found
    return {}


def _ui(thing: Mapping[str, Any]) -> Mapping[str, Any]:
    ui = _meta(thing).get(UI_KEY)
    return ui if isinstance(ui, Mapping) else {}
