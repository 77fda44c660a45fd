"""The routes that tell a load balancer whether to send requests to this process."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from starlette.responses import JSONResponse, Response

logger = logging.getLogger(__name__)

HEALTH_ROUTES: Final = frozenset({"health", "health/live", "health/ready"})
"""The routes, below the path of the host."""

_TIMEOUT: Final = 2.0

Ready = Callable[[], Awaitable[list[str]]]
"""Returns the reasons why a host cannot serve pages now; none if it can."""


async def health_response(route: str, ready: Ready) -> Response:
    """Return a response with the status 200, or 503 if the host is not ready and the route is not `health/live`.

    The reasons are for everybody who can reach the host, so they name neither servers nor databases. Those are logged.
    """
    reasons = [] if route == "health/live" else await _reasons(ready)
    status = "ready" if not reasons else "not ready"
    body = {"status": "live"} if route == "health/live" else {"status": status, "reasons": reasons}
    return JSONResponse(body, 503 if reasons else 200, {"cache-control": "no-store"})


async def _reasons(ready: Ready) -> list[str]:
    try:
        with anyio.fail_after(_TIMEOUT):
            return await ready()
    except TimeoutError:
        return [f"The store did not answer in {_TIMEOUT:g} seconds."]
    except Exception:
        logger.exception("The store failed a health check")
        return ["The store failed."]
