"""The documents of Views as they are served: each under an address that names its content and its policy."""

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from fanlight.protocol.csp import Csp
from fanlight.protocol.headers import Profile, permissions_policy, policy, view_directives
from fanlight.protocol.metadata import Permission

_FIXED_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "cross-origin",
    "origin-agent-cluster": "?1",
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
    }
    body = html.encode("utf-8")
    digest = hashlib.sha256(repr(sorted(headers.items())).encode() + b"\0" + body).hexdigest()
    return ServedDocument(label, digest, body, gzip.compress(body, 6, mtime=0), {**headers, "etag": f'"{digest}"'})


class Documents:
    """The documents that can be asked for now. The least recently used go first when there are too many bytes."""

    def __init__(self, max_bytes: int = 256 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._documents: OrderedDict[tuple[str, str], ServedDocument] = OrderedDict()

    def add(self, document: ServedDocument) -> None:
        """Offer a document."""
        key = (document.label, document.address)
        if key in self._documents:
            self._documents.move_to_end(key)
            return
        self._documents[key] = document
        self._bytes += _weight(document)
        while self._bytes > self._max_bytes and len(self._documents) > 1:
            _, oldest = self._documents.popitem(last=False)
            self._bytes -= _weight(oldest)

    def get(self, label: str, address: str) -> ServedDocument | None:
        """Find a document by its app and address; one of another app is not found."""
        document = self._documents.get((label, address))
        if document is not None:
            self._documents.move_to_end((label, address))
        return document


def _weight(document: ServedDocument) -> int:
    return len(document.body) + len(document.compressed)
