"""The View documents that can be requested now, each at a path that is a hash of its content and its headers.

They are kept in memory, and in the store for other processes: another worker, or one that serves the sandbox only.
"""

import gzip
import hashlib
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Final

from fanlight.host.store.base import Store, StoredDocument
from fanlight.host.web.sandbox.document_headers import view_headers
from fanlight.protocol.csp import Csp
from fanlight.protocol.headers import CspProfile
from fanlight.protocol.metadata import Permission


@dataclass(frozen=True)
class ServedDocument:
    """A document with its headers."""

    label: str
    """The DNS label of the app's origin."""
    address: str
    """The path at that origin, without its slash. A hash of body and headers, so a response can be cached forever."""
    body: bytes
    compressed: bytes
    headers: dict[str, str]
    user: str | None = None
    """The user of the app, or None in a program with one user."""


def served_document(
    label: str,
    html: str,
    csp: Csp | None,
    granted: Iterable[Permission],
    ancestors: Iterable[str],
    profile: CspProfile = "strict",
    user: str | None = None,
) -> ServedDocument:
    """Encode, compress and hash a View's HTML, and give it its headers."""
    headers = view_headers(csp, granted, ancestors, profile)
    body = html.encode("utf-8")
    digest = hashlib.sha256(repr(sorted(headers.items())).encode() + b"\0" + body).hexdigest()
    headers["etag"] = f'"{digest}"'
    return ServedDocument(label, digest, body, gzip.compress(body, 6, mtime=0), headers, user)


_ADDRESS = re.compile(r"[0-9a-f]{64}")
# A page gets an address that is valid now, and its browser loads the document at once. Later only a View that reloads
# itself requests it again.
_LIFETIME: Final = 24 * 60 * 60.0

_Key = tuple[str, str, Csp | None, tuple[Permission, ...], tuple[str, ...], CspProfile]


class DocumentCache:
    """Documents by app and address.

    Args:
        store: Has the documents that other processes serve, and those that were discarded here.
        max_bytes: How many bytes are kept in memory. Beyond that, the least recently used are discarded.
        lifetime: How many seconds a document is kept in the store after it was served last.
        clock: Returns the time in seconds since 1970.
    """

    def __init__(
        self,
        store: Store | None = None,
        max_bytes: int = 256 * 1024 * 1024,
        lifetime: float = _LIFETIME,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._max_bytes = max_bytes
        self._lifetime = lifetime
        self._clock = clock
        self._bytes = 0
        self._documents: OrderedDict[tuple[str, str], ServedDocument] = OrderedDict()
        # Compressing and hashing a large document again would cost milliseconds.
        self._addresses: dict[_Key, str] = {}
        # The Views that a document belongs to, by app and address, if it is not that of every View of the app.
        self._views: dict[tuple[str, str], set[str]] = {}
        # When a document was written to the store for the last time, by app and address.
        self._stored: dict[tuple[str, str], float] = {}

    async def serve(
        self,
        label: str,
        html: str,
        csp: Csp | None,
        granted: tuple[Permission, ...],
        ancestors: tuple[str, ...],
        profile: CspProfile = "strict",
        user: str | None = None,
        view: str | None = None,
    ) -> ServedDocument:
        """Add a View's HTML at its app's origin, and return it as it will be served.

        With `view`, it is the document of this View, and `forget_views` discards it with the View.
        """
        key = (label, html, csp, granted, ancestors, profile)
        address = self._addresses.get(key)
        document = None if address is None else await self.get(label, address)
        if document is None:
            document = self.add(served_document(*key, user))
            self._addresses[key] = document.address
        if view is not None:
            self._views.setdefault((label, document.address), set()).add(view)
        await self._save(document)
        return document

    async def _save(self, document: ServedDocument) -> None:
        """Write a document to the store, unless that was done a short time ago."""
        now, key = self._clock(), (document.label, document.address)
        if self._store is None or now - self._stored.get(key, -self._lifetime) < self._lifetime / 2:
            return
        await self._store.remove_documents(now)
        await self._store.add_document(
            StoredDocument(*key, document.compressed, document.headers, now + self._lifetime, document.user)
        )
        self._stored[key] = now

    async def _load(self, label: str, address: str) -> ServedDocument | None:
        """Return a document from the store, and keep it in memory."""
        if self._store is None or not _ADDRESS.fullmatch(address):
            return None
        stored = await self._store.document(label, address, self._clock())
        if stored is None:
            return None
        body = gzip.decompress(stored.body)
        return self.add(ServedDocument(label, address, body, stored.body, dict(stored.headers), stored.user))

    def add(self, document: ServedDocument) -> ServedDocument:
        """Keep a document in memory, and return it, or the equal one that is there already."""
        known = self._documents.get((document.label, document.address))
        if known is not None:
            return known
        self._documents[document.label, document.address] = document
        self._bytes += _size(document)
        while self._bytes > self._max_bytes and len(self._documents) > 1:
            self._discard(next(iter(self._documents)))
        return document

    def _discard(self, key: tuple[str, str]) -> None:
        self._bytes -= _size(self._documents.pop(key))
        self._addresses = {each: at for each, at in self._addresses.items() if (each[0], at) != key}
        self._stored.pop(key, None)
        self._views.pop(key, None)

    def forget(self, user: str) -> None:
        """Discard the documents of a user. The store erases its own."""
        for key in [key for key, document in self._documents.items() if document.user == user]:
            self._discard(key)

    async def forget_views(self, views: Collection[str]) -> None:
        """Discard the documents that belong to these Views and no others, here and in the store."""
        for key, owners in list(self._views.items()):
            if owners.isdisjoint(views):
                continue
            owners.difference_update(views)
            if not owners:
                document = self._documents[key]
                self._discard(key)
                if self._store is not None:
                    expired = StoredDocument(*key, document.compressed, document.headers, 0.0, document.user)
                    await self._store.add_document(expired)
                    await self._store.remove_documents(self._clock())

    async def get(self, label: str, address: str) -> ServedDocument | None:
        """Return the document of an app at an address, or None. Documents of other apps are not found."""
        document = self._documents.get((label, address))
        if document is None:
            return await self._load(label, address)
        self._documents.move_to_end((label, address))
        return document


def _size(document: ServedDocument) -> int:
    return len(document.body) + len(document.compressed)
