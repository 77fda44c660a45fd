"""The View documents that can be requested now, each at a path that is a hash of its content and its headers."""

import gzip
import hashlib
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

from fanlight.host.web.document_headers import view_headers
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


def served_document(
    label: str,
    html: str,
    csp: Csp | None,
    granted: Iterable[Permission],
    ancestors: Iterable[str],
    profile: CspProfile = "strict",
) -> ServedDocument:
    """Encode, compress and hash a View's HTML, and give it its headers."""
    headers = view_headers(csp, granted, ancestors, profile)
    body = html.encode("utf-8")
    digest = hashlib.sha256(repr(sorted(headers.items())).encode() + b"\0" + body).hexdigest()
    return ServedDocument(label, digest, body, gzip.compress(body, 6, mtime=0), {**headers, "etag": f'"{digest}"'})


_Key = tuple[str, str, Csp | None, tuple[Permission, ...], tuple[str, ...], CspProfile]


class DocumentCache:
    """Documents by app and address. Beyond `max_bytes`, the least recently used are discarded."""

    def __init__(self, max_bytes: int = 256 * 1024 * 1024) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._documents: OrderedDict[tuple[str, str], ServedDocument] = OrderedDict()
        # Compressing and hashing a large document again would cost milliseconds.
        self._addresses: dict[_Key, str] = {}

    def serve(
        self,
        label: str,
        html: str,
        csp: Csp | None,
        granted: tuple[Permission, ...],
        ancestors: tuple[str, ...],
        profile: CspProfile = "strict",
    ) -> ServedDocument:
        """Add a View's HTML at its app's origin, and return it as it will be served."""
        key = (label, html, csp, granted, ancestors, profile)
        address = self._addresses.get(key)
        document = None if address is None else self.get(label, address)
        if document is None:
            document = self._add(served_document(*key))
            self._addresses[key] = document.address
        return document

    def _add(self, document: ServedDocument) -> ServedDocument:
        self._documents[document.label, document.address] = document
        self._bytes += _size(document)
        while self._bytes > self._max_bytes and len(self._documents) > 1:
            (label, address), oldest = self._documents.popitem(last=False)
            self._bytes -= _size(oldest)
            self._addresses = {key: at for key, at in self._addresses.items() if (key[0], at) != (label, address)}
        return document

    def get(self, label: str, address: str) -> ServedDocument | None:
        """Return the document of an app at an address, or None. Documents of other apps are not found."""
        document = self._documents.get((label, address))
        if document is not None:
            self._documents.move_to_end((label, address))
        return document


def _size(document: ServedDocument) -> int:
    return len(document.body) + len(document.compressed)
