"""Reads the documents of Views from their servers, and caches them."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from fanlight.host.documents.view_document import UiMetadata, ViewDocument, parse_document, ui_metadata
from fanlight.host.errors import CallCancelledError, ServerError, ViewError, ViewUnavailableError
from fanlight.host.shared_lock import SharedLock
from fanlight.host.upstream.events import Listener, ResourcesChanged, ResourceUpdated, ServerEvent, StatusChanged
from fanlight.protocol.errors import sentence
from fanlight.protocol.extension import URI_SCHEME
from fanlight.protocol.jsonrpc import INVALID_PARAMS, JSONObject

_MAX_PAGES: Final = 100
_NOT_FOUND: Final = (-32002, INVALID_PARAMS)
"""The codes with which servers of different protocol versions report that a resource does not exist."""

_Key = tuple[str, str | None]
"""The connection that a document comes from: the server, and the user that the connection belongs to."""


class Source(Protocol):
    """A connection that documents can be read from."""

    name: str

    @property
    def user(self) -> str | None: ...

    async def read_resource(self, uri: str) -> JSONObject: ...

    async def list_resources(self, cursor: str | None = None) -> JSONObject: ...

    def add_listener(self, listener: Listener) -> Callable[[], None]: ...

    def watch_resource(self, uri: str) -> None: ...


class DocumentReader:
    """Reads View documents from servers, and caches each until its server reports a change.

    A document that was read with the credentials of one user is cached for that user only.
    """

    def __init__(self, *, dialects: bool = True) -> None:
        self._dialects = dialects
        self._cache: dict[tuple[_Key, str], ViewDocument] = {}
        self._locks: dict[tuple[_Key, str], SharedLock] = {}
        self._changes: dict[_Key, int] = {}
        self._sources: dict[_Key, Source] = {}

    async def read(self, source: Source, uri: str) -> ViewDocument:
        """Return the document at a URI, from the cache if possible. Raise ViewError if it cannot be shown."""
        self._listen(source)
        origin = _key(source)
        key = (origin, uri)
        async with self._locks.setdefault(key, SharedLock()).hold():
            if (cached := self._cache.get(key)) is not None:
                return cached
            source.watch_resource(uri)
            before = self._changes.get(origin, 0)
            document = await read_document(source, uri, dialects=self._dialects)
            # A document that was read during a change may be the old one, so it is not cached.
            if self._changes.get(origin, 0) == before:
                self._cache[key] = document
            return document

    def forget(self, server: str) -> None:
        """Drop the cached documents of a server, for all users."""
        for source in [each for each in self._sources if each[0] == server]:
            self._forget(source)

    def _forget(self, source: _Key, uri: str | None = None) -> None:
        """Drop the cached documents of a connection, or one of them."""
        self._changes[source] = self._changes.get(source, 0) + 1
        for key in [key for key in self._cache if key[0] == source and uri in (None, key[1])]:
            del self._cache[key]

    def _listen(self, source: Source) -> None:
        key = _key(source)
        if self._sources.get(key) is not source:
            self._sources[key] = source
            self._forget(key)
            # A read over the connection before this one may still fail, which must not be the failure of others.
            self._locks = {each: lock for each, lock in self._locks.items() if each[0] != key}
            source.add_listener(self._on_event)

    def _on_event(self, event: ServerEvent) -> None:
        key = (event.server, event.user)
        match event:
            case ResourcesChanged():
                self._forget(key)
            case ResourceUpdated():
                self._forget(key, event.uri)
            case StatusChanged() if event.status.state == "closed" and event.user is not None:
                self._forget(key)
                self._release(key)
            case StatusChanged() if event.status.state in ("retrying", "closed"):
                self._forget(key)  # the next connection may be to a newer server

    def _release(self, source: _Key) -> None:
        """Drop what is known of a user's connection that was closed. The connection itself is dropped by its owner."""
        self._changes.pop(source, None)
        self._sources.pop(source, None)
        for key in [key for key in self._locks if key[0] == source and not self._locks[key].is_held]:
            del self._locks[key]


def _key(source: Source) -> _Key:
    return source.name, source.user


async def read_document(source: Source, uri: str, *, dialects: bool = True) -> ViewDocument:
    """Read a document from its server, without a cache (DSC-02)."""
    if not uri.startswith(URI_SCHEME):
        raise ViewError(f'{source.name}: the View {uri!r} has no ui:// URI. Write "ui://clock/view".')
    try:
        item = _item((await source.read_resource(uri)).get("contents"), f"{source.name}: the View {uri}", uri)
        metadata = ui_metadata(item, dialects=dialects)
        if not metadata.ui:
            listed = await _listed_metadata(source, uri, dialects)
            metadata = UiMetadata(listed.ui, (*metadata.older, *listed.older))
    except ServerError as error:
        fix = " Register the View under exactly the URI that the tool names." if error.code in _NOT_FOUND else ""
        raise ViewError(f"{source.name} cannot give the View {uri}: {sentence(error.message)}{fix}") from error
    except CallCancelledError as error:
        raise ViewUnavailableError(f"The View {uri} could not be read from {error}", error) from error
    return parse_document(uri, item, metadata, dialects=dialects)


def _item(contents: object, subject: str, uri: str) -> JSONObject:
    """Return the item with exactly this URI, or the only one. Raise ViewError, which begins with `subject`."""
    items = [item for item in contents if isinstance(item, dict)] if isinstance(contents, list) else []
    matching = [item for item in items if item.get("uri") == uri]
    if matching:
        return matching[0]
    if len(items) == 1:
        return items[0]
    if not items:
        raise ViewError(f"{subject} came without contents. Return one item with the HTML in its text or blob.")
    raise ViewError(
        f"{subject} came with {len(items)} items, none of this very URI. Return one item with the URI asked for."
    )


async def _listed_metadata(source: Source, uri: str, dialects: bool) -> UiMetadata:
    """Return the metadata of a document's entry in `resources/list`, for contents that have none (D-RES-01)."""
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        try:
            page = await source.list_resources(cursor)
        except ServerError:
            break  # a server need not list its Views (DSC-04)
        for entry in page.get("resources") or ():
            if isinstance(entry, Mapping) and entry.get("uri") == uri:
                return ui_metadata(entry, dialects=dialects)
        before, cursor = cursor, page.get("nextCursor")
        if cursor is None or cursor == before:
            break
    return UiMetadata()
