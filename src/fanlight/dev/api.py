"""The JSON API behind the page of a command: its routes, the fields of its requests, and its error responses."""

from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fanlight.host.errors import UnknownToolError
from fanlight.protocol.errors import ArgumentError, FanlightError, RemoteError
from fanlight.protocol.jsonrpc import JSONObject

Handler = Callable[[JSONObject], Awaitable[Any]]
"""Takes the fields of a request, and returns what is sent back as JSON."""


class BadRequestError(RemoteError):
    """The page sent a request that cannot be carried out; the message says why."""


def get(name: str, handler: Handler) -> Route:
    """Return the route `GET /api/name`; the handler gets the query parameters."""

    async def endpoint(request: Request) -> Response:
        return await _respond(handler, dict(request.query_params))

    return Route(f"/api/{name}", endpoint)


def post(name: str, handler: Handler) -> Route:
    """Return the route `POST /api/name`; the handler gets the JSON object in the body."""

    async def endpoint(request: Request) -> Response:
        try:
            body = orjson.loads(await request.body())
        except ValueError:
            body = None
        if not isinstance(body, dict):
            return _json({"error": "Expected a JSON object."}, 400)
        return await _respond(handler, body)

    return Route(f"/api/{name}", endpoint, methods=["POST"])


def text(fields: JSONObject, key: str) -> str:
    """Return a field that must be a string."""
    value = fields.get(key)
    if isinstance(value, str):
        return value
    raise BadRequestError(f"{key} is {value!r}, expected a string.")


def number(fields: JSONObject, key: str) -> float | None:
    """Return a numeric field; None if it is missing."""
    value = fields.get(key)
    return float(value) if isinstance(value, int | float) else None


def flag(fields: JSONObject, key: str) -> bool | None:
    """Return a boolean field; None if it is missing."""
    value = fields.get(key)
    return value if isinstance(value, bool) else None


def arguments(fields: JSONObject) -> JSONObject:
    """Return the arguments of a tool call."""
    value = fields.get("arguments")
    if isinstance(value, dict):
        return value
    raise BadRequestError("The arguments must be a JSON object.")


async def _respond(handler: Handler, fields: JSONObject) -> Response:
    """Run a handler. A failing server is a normal outcome, so the page gets it with status 200."""
    try:
        return _json(await handler(fields))
    except (BadRequestError, ArgumentError, UnknownToolError) as error:
        return _json({"error": str(error)}, 400)
    except FanlightError as error:
        return _json({"error": str(error)})
    except (KeyError, ValueError) as error:
        return _json({"error": str(error)}, 400)


def _json(value: Any, status: int = 200) -> Response:
    headers = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
    return Response(orjson.dumps(value), status, media_type="application/json", headers=headers)
