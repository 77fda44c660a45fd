"""What the panels of the inspector have in common."""

from typing import Protocol

from starlette.routing import Route

from fanlight.dev.api import text
from fanlight.protocol.jsonrpc import JSONObject


class Panel(Protocol):
    """A part of the page, with the routes that it needs."""

    def routes(self) -> list[Route]:
        """Return the API routes of this panel."""
        ...


def conversation(fields: JSONObject) -> str:
    """Return the conversation of a request: each open page has its own."""
    return text(fields, "page") if "page" in fields else "dev"
