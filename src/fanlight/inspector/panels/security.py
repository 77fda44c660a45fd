"""Security: the audit of Views, and what the user allowed."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from starlette.routing import Route

from fanlight.dev.api import BadRequestError, get, post
from fanlight.dev.events import Events
from fanlight.host import Host
from fanlight.host.store.base import AuditRecord
from fanlight.host.store.memory import MemoryStore
from fanlight.inspector.locations import Locations, violations_of_app
from fanlight.protocol.jsonrpc import JSONObject

_MAX_RECORDS: Final = 500


class ObservedStore(MemoryStore):
    """A store in memory that publishes each violation of a policy when it is recorded."""

    def __init__(self, events: Events) -> None:
        super().__init__()
        self._events = events

    async def record(self, records: Sequence[AuditRecord]) -> None:
        await super().record(records)
        for record in records:
            if record.kind == "violation":
                self._events.publish("violation", {"server": record.server, "uri": (record.data or {}).get("uri")})


class SecurityPanel:
    """Reads the audit, and revokes permissions."""

    def __init__(self, host: Host, locations: Locations) -> None:
        self._host = host
        self._locations = locations

    def routes(self) -> list[Route]:
        """Return the routes of this panel."""
        return [
            get("audit", self._audit),
            get("grants", self._grants),
            post("revoke", self._revoke),
        ]

    async def _audit(self, query: JSONObject) -> list[JSONObject]:
        """Return the audit records of one View, or of all."""
        view = query.get("view")
        records = [record async for record in self._host.audit(view=view)]
        shown = await self._locations.last_document(view) if isinstance(view, str) else None
        if shown is not None:
            records += await violations_of_app(self._host, shown)
            records.sort(key=lambda record: record.time)
        return [record._asdict() for record in records[-_MAX_RECORDS:]]

    async def _grants(self, query: JSONObject) -> list[JSONObject]:
        return [asdict(grant) for grant in await self._host.grants()]

    async def _revoke(self, body: JSONObject) -> JSONObject:
        for grant in await self._host.grants():
            if asdict(grant) == body.get("grant"):
                await self._host.revoke(grant)
                return {}
        raise BadRequestError("This permission was revoked already.")
