"""The routes that tell a load balancer whether to send requests to this process."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from starlette.responses import JSONResponse, Response

logger = logging.getLogger(__name__)

HEALTH_ROUTES: Final = frozenset({"health", "health/live", "health/ready"})
"""The routes, below the path of the host."""

Ready = Callable[[], Awaitable[list[str]]]
"""Returns the reasons why a host cannot serve pages now; none if it can."""


async def health_response(route: str, ready: Ready, seconds: float) -> Response:
    """Return a response with the status 200, or 503 if the host is not ready and the route is not `health/live`.

    A host that cannot say so within these seconds is not ready. The reasons are for everybody who can reach the host:
    they name neither servers nor databases, which are logged.
    """
    reasons = [] if route == "health/live" else await _reasons(ready, seconds)
    status = "ready" if not reasons else "not ready"
    body = {"status": "live"} if route == "health/live" else {"status": status, "reasons": reasons}
    return JSONResponse(body, 503 if reasons else 200, {"cache-control": "no-store"})


async def _reasons(ready: Ready, seconds: float) -> list[str]:
    try:
        with anyio.fail_after(seconds):
            return await ready()
    except TimeoutError:
        return [f"The store did not answer in {seconds:g} seconds."]
    except Exception:
        logger.exception("The store failed a health check")
        return ["The store failed."]
