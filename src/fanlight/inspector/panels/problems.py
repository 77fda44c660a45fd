"""The problems of Views: what their policy blocked and how to fix it, and where their scripts failed."""

import sys
from typing import Final

from starlette.routing import Route

from fanlight.dev.api import get, post, text
from fanlight.dev.csp_fixes import suggest_fix
from fanlight.host import Host
from fanlight.inspector.locations import Locations, violations_of_app
from fanlight.inspector.view_log import printable
from fanlight.protocol.jsonrpc import JSONObject

_UNCHANGED: Final = (".html", ".htm", ".js", ".mjs", ".css")
"""Files that are put into a document as they are, so that its columns are theirs."""


class ProblemsPanel:
    """Explains problems of Views by the author's files."""

    def __init__(self, host: Host, locations: Locations) -> None:
        self._host = host
        self._locations = locations
        self._printed: set[tuple[object, ...]] = set()

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [
            get("blocked", self._list_blocked),
            get("place", self._place),
            post("view-error", self._print_error),
        ]

    async def _list_blocked(self, query: JSONObject) -> list[JSONObject]:
        """Return what the policy of a View has blocked since its document was shown, and how to fix each."""
        view = text(query, "view")
        shown = await self._locations.last_document(view)
        if shown is None:
            return []
        records = [record async for record in self._host.audit(view=view, kind="violation", since=shown.at)]
        found: dict[tuple[object, ...], JSONObject] = {}
        for record in (*records, *await violations_of_app(self._host, shown)):
            data = record.data or {}
            if record.outcome != "blocked" or "blocked" not in data:
                continue
            entry: JSONObject = {
                "directive": record.name,
                "blocked": data["blocked"],
                "line": data.get("line"),
                "place": await self._find_place(view, data.get("line"), 1),
                "fix": suggest_fix(record.name, data["blocked"]),
                "count": 0,
            }
            key = (record.name, entry["fix"], entry["line"])  # one entry for all URLs of an origin
            found.setdefault(key, entry)["count"] += 1
            self._print_blocked((shown.sha256, *key), entry)
        return list(found.values())

    def _print_blocked(self, key: tuple[object, ...], entry: JSONObject) -> None:
        """Print what the policy of a View blocked to the terminal, once for each document."""
        if key in self._printed:
            return
        self._printed.add(key)
        place = entry["place"]
        where = "" if place is None else f"{place['file']}:{place['line']} "
        blocked = f"The View's policy blocked {entry['blocked']} ({entry['directive']})."
        sys.stderr.write(f"  {printable(f'{where}{blocked}')} {entry['fix']}\n")

    async def _find_place(self, view: str, line: object, column: int) -> JSONObject | None:
        place = await self._locations.find(view, line, column) if isinstance(line, int) else None
        return None if place is None else {"file": place.file, "line": place.line}

    async def _place(self, query: JSONObject) -> JSONObject:
        """Return the author's file and line of the first of several positions in a View's document that has them.

        The positions are lines and columns: `12:5,30:1`. `position` is the one that was found. `column` is known for
        files that are put into the document as they are.
        """
        for position in text(query, "positions").split(","):
            line, column = (int(number) for number in position.split(":"))
            place = await self._find_place(text(query, "view"), line, column)
            if place is not None:
                exact = {"column": column} if place["file"].endswith(_UNCHANGED) else {}
                return {**place, **exact, "position": [line, column]}
        return {}

    async def _print_error(self, body: JSONObject) -> JSONObject:
        """Print a JavaScript error, which the page has found in the author's files, to the terminal."""
        sys.stderr.write(f"  {printable(text(body, 'place'))} {printable(text(body, 'message'))}\n")
        return {}
