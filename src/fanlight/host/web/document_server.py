"""The documents of Views as they are served: each under an address that names its content and its policy."""

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from fanlight.protocol.csp import Csp
from fanlight.protocol.headers import (
    Profile,
    connection_allowlist,
    permissions_policy,
    policy,
    view_directives,
    warm_directives,
)
from fanlight.protocol.metadata import Permission

_FIXED_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "cross-origin",
    "cache-control": "private, max-age=31536000, immutable",
    "vary": "accept-encoding",
}


@dataclass(frozen=True)
class ServedDocument:
    """One document with its headers. `address` changes whenever any of them does, so it can be cached for good."""

    label: str
    address: str
    body: bytes
    compressed: bytes
    headers: dict[str, str]


def served_document(
    label: str,
    html: str,
    csp: Csp | None,
    granted: Iterable[Permission],
    ancestors: Iterable[str],
    profile: Profile = "strict",
) -> ServedDocument:
    """Make a View's HTML ready to be served at its app's origin."""
    headers = {
        **_FIXED_HEADERS,
        "content-security-policy": policy(view_directives(csp, ancestors, profile)),
        "permissions-policy": permissions_policy(granted),
        "connection-allowlist": connection_allowlist(csp),
    }
    body = html.encode("utf-8")
    digest = hashlib.sha256(repr(sorted(headers.items())).encode() + b"\0" + body).hexdigest()
    return ServedDocument(label, digest, body, gzip.compress(body, 6, mtime=0), {**headers, "etag": f'"{digest}"'})


def warm_headers(host: str) -> dict[str, str]:
    """Return the headers of an empty page at an app's origin. A View can reach into it, so it may do nothing at all."""
    return {
        **_FIXED_HEADERS,
        "content-security-policy": policy(warm_directives(host)),
        "permissions-policy": permissions_policy(()),
        "connection-allowlist": connection_allowlist(None),
    }


_Key = tuple[str, str, Csp | None, tuple[Permission, ...], tuple[str, ...], Profile]


class Documents:
    """The documents that can be asked for now. The least recently used go first when there are too many bytes."""

    def __init__(self, max_bytes: int = 256 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._documents: OrderedDict[tuple[str, str], ServedDocument] = OrderedDict()
        # What was made of what: compressing and hashing a large document again would cost milliseconds.
        self._addresses: dict[_Key, str] = {}

    def serve(
        self,
        label: str,
        html: str,
        csp: Csp | None,
        granted: tuple[Permission, ...],
        ancestors: tuple[str, ...],
        profile: Profile = "strict",
    ) -> ServedDocument:
        """Offer a View's HTML at its app's origin, and return it as it is served."""
        key = (label, html, csp, granted, ancestors, profile)
        address = self._addresses.get(key)
        known = None if address is None else self.get(label, address)
        if known is None:
            known = self._add(served_document(*key))
            self._addresses[key] = known.address
        return known

    def _add(self, document: ServedDocument) -> ServedDocument:
        self._documents[document.label, document.address] = document
        self._bytes += _weight(document)
        while self._bytes > self._max_bytes and len(self._documents) > 1:
            (label, address), oldest = self._documents.popitem(last=False)
            self._bytes -= _weight(oldest)
            self._addresses = {key: at for key, at in self._addresses.items() if (key[0], at) != (label, address)}
        return document

    def get(self, label: str, address: str) -> ServedDocument | None:
        """Find a document by its app and address; one of another app is not found."""
        document = self._documents.get((label, address))
        if document is not None:
            self._documents.move_to_end((label, address))
        return document


def _weight(document: ServedDocument) -> int:
    return len(document.body) + len(document.compressed)
