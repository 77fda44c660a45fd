"""Security: the audit of Views with the author's source lines, and the permissions that the user granted."""

from dataclasses import asdict
from typing import Final

from starlette.routing import Route

from fanlight.dev.source_lines import Lines, Place
from fanlight.host import Host
from fanlight.inspector.api import BadRequestError, get, post, text
from fanlight.protocol.jsonrpc import JSONObject

_MAX_RECORDS: Final = 500


class SecurityPanel:
    """Reads the audit, and maps lines of documents to lines of the author's files."""

    def __init__(self, host: Host, lines: Lines) -> None:
        self._host = host
        self._lines = lines

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [
            get("audit", self._audit),
            get("place", self._place),
            get("grants", self._grants),
            post("revoke", self._revoke),
        ]

    async def _audit(self, query: JSONObject) -> list[JSONObject]:
        """Return the audit records of one View, or of all."""
        view = query.get("view")
        records = list(self._host.audit(view=view))
        shown = self._last_document(view) if isinstance(view, str) else None
        if shown is None:
            return [record._asdict() for record in records[-_MAX_RECORDS:]]
        # A browser reports the app, not the View. If several Views of an app are open, the record has no View, so it
        # is matched by URI; records from before this View's document was shown belong to earlier Views.
        blocked = self._host.audit(kind="violation", server=shown["server"], since=shown["at"])
        records += [each for each in blocked if each.view is None and (each.data or {}).get("uri") == shown["uri"]]
        records.sort(key=lambda record: record.time)
        return [self._with_place(record._asdict(), shown["sha256"]) for record in records[-_MAX_RECORDS:]]

    def _last_document(self, view: str) -> JSONObject | None:
        """Return the audit data of the document that a View showed last."""
        shown = [record for record in self._host.audit(view=view, kind="document") if record.data]
        last = next((record for record in reversed(shown) if "sha256" in (record.data or {})), None)
        return None if last is None else {"server": last.server, "at": last.time, **(last.data or {})}

    def _with_place(self, record: JSONObject, sha256: str) -> JSONObject:
        """Add the author's file and line to a record that has a line of the document."""
        line = (record["data"] or {}).get("line")
        place = self._lines.place(sha256, line, 1) if isinstance(line, int) else None
        return {**record, "data": {**record["data"], "place": _describe(place)}} if place else record

    async def _place(self, query: JSONObject) -> JSONObject:
        """Return the author's file and line for a position in a View's document, if it is known."""
        shown = self._last_document(text(query, "view"))
        line, column = int(text(query, "line")), int(text(query, "column"))
        place = self._lines.place(shown["sha256"], line, column) if shown else None
        return _describe(place) if place else {}

    async def _grants(self, query: JSONObject) -> list[JSONObject]:
        return [asdict(grant) for grant in self._host.grants()]

    async def _revoke(self, body: JSONObject) -> JSONObject:
        for grant in self._host.grants():
            if asdict(grant) == body.get("grant"):
                self._host.revoke(grant)
                return {}
        raise BadRequestError("This permission was revoked already.")


def _describe(place: Place) -> JSONObject:
    return {"file": place.file, "line": place.line}
