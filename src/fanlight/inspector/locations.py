"""The documents that Views have shown, and their lines in the author's files."""

from typing import NamedTuple

from fanlight.dev.source_lines import Lines, Place
from fanlight.host import Host
from fanlight.host.store.base import AuditRecord


class ShownDocument(NamedTuple):
    """A document that a View has shown."""

    server: str | None
    uri: str
    sha256: str
    at: float
    """When it was shown, in seconds since 1970."""


class Locations:
    """Maps positions in the documents of Views to the author's files."""

    def __init__(self, host: Host, lines: Lines) -> None:
        self._host = host
        self._lines = lines

    async def last_document(self, view: str) -> ShownDocument | None:
        """Return the document that a View showed last."""
        last = None
        async for record in self._host.audit(view=view, kind="document"):
            if record.data and "sha256" in record.data:
                last = ShownDocument(record.server, record.data["uri"], record.data["sha256"], record.time)
        return last

    async def find(self, view: str, line: int, column: int) -> Place | None:
        """Return the author's file and line of a position in the last document of a View; None if not known."""
        document = await self.last_document(view)
        return None if document is None else self._lines.place(document.sha256, line, column)


async def violations_of_app(host: Host, shown: ShownDocument) -> list[AuditRecord]:
    """Return violations that a browser reported for an app of which several Views are open.

    Such a record names no View. Those from before this View's document was shown belong to earlier Views.
    """
    found = host.audit(kind="violation", server=shown.server, since=shown.at)
    return [record async for record in found if record.view is None and (record.data or {}).get("uri") == shown.uri]
